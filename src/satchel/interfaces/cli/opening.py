"""Opening the store of a command or server, with warnings on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from satchel.base.errors import SatchelError
from satchel.client import Satchel
from satchel.interfaces.cli import outcome
from satchel.keep.sessions.caller import COMMAND, Caller
from satchel.remote.where import open_anywhere
from satchel.store.engine import back_up_when_due

__all__ = ["done", "open_anywhere", "opened", "warn"]


@contextmanager
def opened(
    db: str | None,
    project: str | None,
    *,
    run_id: str | None = None,
    agent: str | None = None,
    here: bool = False,
    read_only: bool = False,
    caller: str | Caller = COMMAND,
) -> Iterator[Satchel]:
    """Open the store of a command; warnings about the configuration go to stderr."""
    with open_anywhere(db, project, agent, run_id, here=here, read_only=read_only, caller=caller) as satchel:
        warn(satchel.config.warnings)
        try:
            yield satchel
        finally:
            caller_note = None if satchel.workplace.caller is None else satchel.workplace.caller.pop_warning()
            if caller_note is not None:
                warn((caller_note,))
        done(satchel)
        if satchel.workplace.engine.commits and satchel.remote is None:
            sys.stdout.flush()  # print the answer first
            try:
                back_up_when_due(satchel.workplace.engine)
            except SatchelError as error:
                warn((f"the automatic backup failed: {error}",))


def done(satchel: Satchel) -> None:
    """Mark the command's work as done: from now on a failure affects only the answer."""
    if satchel.workplace.engine.commits:
        outcome.has_kept = True


def warn(warnings: tuple[str, ...]) -> None:
    for text in warnings:
        import click  # slow to import, and needed only for warnings

        click.echo(f"{click.style('warning', fg='yellow')}: {text}", err=True)
