"""What the commands share: options, opening the store, and printing for people or for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from satchel.base.errors import InvalidInput, SatchelError
from satchel.client import Satchel, open_satchel
from satchel.interfaces.cli import outcome
from satchel.keep.sessions.caller import COMMAND
from satchel.store.daily import back_up_when_due

if TYPE_CHECKING:
    from satchel.keep.entries import Entry
    from satchel.store.backups import Progress

Command = TypeVar("Command", bound=Callable[..., Any])


def store_options(command: Command) -> Command:
    """Add the options that say which store and project a command works on."""
    command = click.option(
        "--project", metavar="NAME", help="The project, where a store holds several. [env: SATCHEL_PROJECT]"
    )(command)
    return click.option(
        "--db",
        metavar="PATH",
        help="The store's file. Default: found as git finds its own. [env: SATCHEL_DB]",
    )(command)


def run_option(command: Command) -> Command:
    """Add ``--run``."""
    return click.option(
        "--run", "run_id", metavar="ID", help="The run. Default: main to write, all to read. [env: SATCHEL_RUN]"
    )(command)


def agent_option(command: Command) -> Command:
    """Add ``--agent``, for commands that act as someone."""
    return click.option("--agent", metavar="NAME", help="Who acts. [env: SATCHEL_AGENT]")(command)


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(command)


@contextmanager
def opened(
    db: str | None,
    project: str | None,
    *,
    run_id: str | None = None,
    agent: str | None = None,
    here: bool = False,
    read_only: bool = False,
    caller: str = COMMAND,
) -> Iterator[Satchel]:
    """Open the store of a command; warnings about the configuration go to stderr."""
    with open_satchel(db, project, agent, run_id, here=here, read_only=read_only, caller=caller) as satchel:
        warn(satchel.config.warnings)
        try:
            yield satchel
        finally:
            caller_note = None if satchel.workplace.caller is None else satchel.workplace.caller.take_note()
            if caller_note is not None:
                warn((caller_note,))
        done(satchel)
        note = satchel.workplace.engine.take_note()
        if note is not None:
            warn((note,))
        if satchel.workplace.engine.commits:
            sys.stdout.flush()  # the answer comes first
            try:
                back_up_when_due(satchel.workplace.engine)
            except SatchelError as error:
                warn((f"the daily backup failed: {error}",))


def done(satchel: Satchel) -> None:
    """Note that what a command was to do is done: what was written stays, whatever befalls the answer."""
    if satchel.workplace.engine.commits:
        outcome.has_kept = True


def warn(warnings: tuple[str, ...]) -> None:
    """Print warnings to stderr."""
    for text in warnings:
        click.echo(f"{click.style('warning', fg='yellow')}: {text}", err=True)


def tell(satchel: Satchel, files: Sequence[str] = (), *, lists_messages: bool = False) -> None:
    """Print to stderr what the acting agent should know beside the answer, if anything.

    Args:
        files: canonical paths that the answer names.
        lists_messages: the answer shows which messages wait.
    """
    done(satchel)
    try:
        shown_by = None if lists_messages else "satchel message list"
        notice = satchel.notices.line(files=files, shown_by=shown_by)
    except Exception as error:  # noqa: BLE001 - what was asked for is done, and stands without it
        notice = f"claims and messages of others could not be looked up ({error})"
    if notice is not None:
        click.echo(click.style(notice, fg="yellow"), err=True)


def warn_notes(notes: Sequence[str]) -> None:
    """Print the notes of an answer to stderr."""
    for note in notes:
        click.echo(note, err=True)


def show_kept(entries: Sequence[Entry]) -> None:
    """Print what was kept, with what its writer should know."""
    from satchel.interfaces.compact import written_text

    click.echo(written_text(entries))


def given_or_read(text: str | None, name: str) -> str:
    """Return a text that was given, or without one, or for a dash, what stands on standard input.

    Args:
        name: what the text is called, for the error.

    Raises:
        InvalidInput: nothing was given, and standard input is a terminal.
    """
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"there is no {name}", "Give it as an argument or on standard input")
    return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")


def show_json(value: object) -> None:
    """Print a record or JSON value to stdout."""
    import json

    from satchel.interfaces.to_json import fields_of

    # where the reader's encoding is another, JSON's own escapes are what it can read
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(fields_of(value), ensure_ascii=not is_utf8, indent=2))


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[Progress]:
    """Draw a progress bar on stderr while something long runs; nothing where stderr is no terminal.

    The bar turns from pulsing to counting as soon as the work says how much there is.
    """
    if quiet or not sys.stderr.isatty():
        yield _say_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say_nothing(_done: int, _total: int) -> None:
    pass


def setting_text(value: object) -> str:
    """Write a setting as the configuration file wants it, text without its quotes; ``not set`` for nothing."""
    if value is None or value == ():
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def size_text(size: int) -> str:
    """Render a number of bytes for people, as in ``1.4 MB``."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1_000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} GB"
