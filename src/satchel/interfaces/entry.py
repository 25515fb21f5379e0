"""Start of the program: hooks and servers at once, all other commands by click, which is slow to load."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command that this process was started with, and leave with its exit status."""
    # what a start loads stays: looking for garbage in it takes 10 of 345 million instructions of a server
    gc.disable()
    if not os.environ.get("HOME"):
        from satchel.base.folders import home_path

        # everything that asks for it, in this process and its children, gets one answer
        os.environ["HOME"] = home_path()
    arguments = sys.argv[1:]
    if sys.getfilesystemencoding() != "utf-8" and not "".join(arguments).isascii():
        _start_in_utf8(arguments)
    if arguments[:1] == ["hook"] and os.environ.get("SATCHEL_CONSULTED"):
        from satchel.consult import is_consulted

        if is_consulted(os.environ):
            os._exit(0)  # a client that answers a question for somebody is no session
    if arguments[:1] == ["hook"] and not any(one.startswith("-") for one in arguments):
        try:
            from satchel.interfaces.hooks.command import run

            status = run(arguments[1:])
        except Exception:  # noqa: BLE001 -- a client would show it as a failure, also while Satchel is being upgraded
            status = 0
        # what it prints is written; tearing the interpreter down takes 13 of 121 million instructions of a silent hook
        os._exit(status)
    if arguments == ["guard", "run"]:
        from satchel.interfaces.guard import run as guard

        os._exit(guard())
    if arguments == ["who", "--line"]:
        from satchel.interfaces.line import run as print_line

        os._exit(print_line(os.environ))
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 -- as long as the process
    from satchel.interfaces import cli

    if arguments[:1] == ["mcp"]:
        from satchel.interfaces.cli.options import OF_SERVER, read

        values = read(OF_SERVER, arguments[1:])
        if values is not None:
            from satchel.interfaces.mcp.server import run as serve

            cli.main(arguments, lambda: serve(**values))
    cli.main(arguments)


def _start_in_utf8(arguments: list[str]) -> None:
    try:
        for one in arguments:
            os.fsencode(one).decode("utf-8")
    except UnicodeError:
        return
    # what is printed stays in the encoding of the terminal
    environ = {"PYTHONIOENCODING": f"{sys.stdout.encoding}:backslashreplace", **os.environ}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environ)  # noqa: S606 -- itself
