"""``satchel status``."""

from __future__ import annotations

import shutil
import sys
from time import monotonic, sleep
from typing import Any

import click

from satchel.base.errors import Busy, Unreachable
from satchel.client import Satchel
from satchel.interfaces.cli import common
from satchel.interfaces.cli.common import json_option, store_options
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.operations.room import OPERATIONS

_OPERATIONS = {one.name: one for one in OPERATIONS}

_PIPED_COLUMNS, _PIPED_LINES = 200, 60  # where there is no terminal

_PAUSE_SECONDS = 2.0

# When ``--watch`` reads again although nothing was written: times have passed, and processes may be gone.
_REDRAW_SECONDS = 30.0

_STYLES: dict[str, dict[str, Any]] = {
    "heading": {"bold": True},
    "quiet": {"dim": True},
    "critical": {"fg": "red", "bold": True},
    "high": {"fg": "red"},
    "stuck": {"fg": "red", "bold": True},
    "waiting": {"fg": "yellow"},
    "working": {"fg": "green"},
}


@click.command()
@click.option("--watch", is_flag=True, help="Redraw when something changes, until interrupted.")
@store_options
@json_option
def status_command(watch: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Show what needs you, who is at work and in which state, conflicts, and what changed since your last visit.

    Nothing is marked as seen or read.

    \b
    Examples:
      satchel status
      satchel status --watch
      satchel status --json
      SATCHEL_URL=https://satchel.example satchel status
    """
    with opened(db, project, read_only=True) as satchel:
        if not watch:
            click.echo(_read(satchel, as_json=as_json))
            return
        try:
            _follow(satchel, as_json=as_json)
        except KeyboardInterrupt:
            click.echo()


def _read(satchel: Satchel, *, as_json: bool) -> str:
    operation = _OPERATIONS["room_status"]
    status = operation.bound(satchel)()
    if as_json:
        import json

        return json.dumps(operation.json_maker()(status), ensure_ascii=False, indent=2)
    from satchel.interfaces.hooks.state import is_paused
    from satchel.interfaces.text.status import is_empty, status_text

    width, height = shutil.get_terminal_size((_PIPED_COLUMNS, _PIPED_LINES))
    paused = is_paused("")
    note = common.waiting_texts(satchel.workplace.files_root) if is_empty(status) else None
    screen = status_text(status, width, height - paused, lambda text, name: click.style(text, **_STYLES.get(name, {})))
    screen += f"\n{note}" if note else ""
    return f"{screen}\nHooks are paused here. `satchel pause --off` turns them on again." if paused else screen


def _follow(satchel: Satchel, *, as_json: bool) -> None:
    reached: object = None
    read_at = float("-inf")
    while True:
        try:
            before, reached = reached, _OPERATIONS["room_reached"].bound(satchel)()
            if reached != before or monotonic() - read_at >= _REDRAW_SECONDS:
                _draw(_read(satchel, as_json=as_json))
                read_at = monotonic()
        except (Busy, Unreachable) as error:
            _draw(f"{error.problem}; trying again")
            reached = None
        sleep(_PAUSE_SECONDS)


def _draw(text: str) -> None:
    if not sys.stdout.isatty():
        click.echo(f"{text}\n")
        return
    lines = "".join(f"{line}\x1b[K\n" for line in text.split("\n"))
    click.echo(f"\x1b[H{lines}\x1b[J", nl=False)
    sys.stdout.flush()
