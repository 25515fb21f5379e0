"""``satchel top``."""

from __future__ import annotations

import os
import sys

import click

from satchel.base.vocabulary import HUMAN
from satchel.interfaces.cli import opening
from satchel.interfaces.cli.common import json_option, show_json, store_options
from satchel.interfaces.cli.top.room import Room
from satchel.keep.names import check_person
from satchel.keep.sessions.caller import COMMAND

_PIPED_WIDTH = 160


@click.command()
@click.option("--as", "name", metavar="NAME", help="Who you are: human:NAME. Default: human, who is any person.")
@click.option("--once", is_flag=True, help="Print everything once, and leave.")
@store_options
@json_option
def command(name: str | None, once: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Watch what needs you, what has changed, who is where and what collides.

    It shows what the first page of `satchel open` shows, in the terminal, and stays up to date. The keys for answering
    agents and for releasing their claims stand at the bottom; ? lists all. Where there is no terminal, and with --json,
    it is printed once.

    \b
    Examples:
      satchel top
      satchel top --as ann
      satchel top --once
      SATCHEL_URL=https://satchel.example satchel top
    """
    person = check_person(HUMAN if name is None else f"{HUMAN}:{name}")
    with (
        opening.opened(db, project, agent=person) as actor,
        opening.open_anywhere(db, project, agent=person, read_only=True, caller=COMMAND) as looker,
    ):
        room = Room(looker, actor, person)
        if as_json:
            show_json(room.fields())
            return
        why = None if once else _why_once()
        if why is not None:
            click.echo(f"{why}: printed once", err=True)
        if once or why is not None:
            _print_once(room)
            return
        from satchel.interfaces.cli.top.live import Live
        from satchel.interfaces.cli.top.terminal import Terminal

        Live(room, Terminal()).run()


def _why_once() -> str | None:
    """Return why this terminal cannot be drawn on; None where it can."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "this is no terminal"
    if os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        return "this terminal cannot be drawn on (TERM)"
    try:
        import termios  # noqa: F401 -- Windows has none
    except ImportError:
        return "keys cannot be read here"
    return None


def _print_once(room: Room) -> None:
    from rich.console import Console
    from rich.text import Text

    from satchel.interfaces.cli.top.rows import Ages, sections_of
    from satchel.interfaces.cli.top.screen import section_lines

    looked = room.look()
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, soft_wrap=True)
    for number, section in enumerate(sections_of(looked, Ages(looked.now)), 1):
        lines = [*section_lines(section, number, None, console.width, None), Text()]
        console.print(Text("\n").join(lines))
