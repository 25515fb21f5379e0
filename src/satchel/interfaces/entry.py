"""Where the program starts: hooks and servers at once, all other commands by click, which takes 25 ms to load."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command that this process was started with, and leave with its exit status."""
    # what is loaded at the start stays: looking through it for garbage takes a tenth of the time to the first answer
    gc.disable()
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not any(one.startswith("-") for one in arguments):
        from satchel.interfaces.hooks.command import run

        # all it prints is written; tearing the interpreter down and closing the store takes a tenth of its time
        os._exit(run(arguments[1:]))
    from satchel.interfaces import cli

    if arguments[:1] == ["mcp"]:
        from satchel.interfaces.cli.options import read
        from satchel.interfaces.mcp import command

        given = read(command.OPTIONS, arguments[1:])
        if given is not None:
            cli.main(arguments, lambda: command.run(**given))
    cli.main(arguments)
