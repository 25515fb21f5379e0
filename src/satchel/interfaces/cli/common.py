"""Shared options of the commands, and printing for people or programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from satchel.base.errors import InvalidInput, SatchelError
from satchel.client import Satchel, open_satchel
from satchel.interfaces.cli import opening
from satchel.interfaces.cli.opening import done
from satchel.interfaces.cli.options import AGENT, DB, PROJECT, Option
from satchel.keep.sessions.caller import COMMAND

if TYPE_CHECKING:
    from satchel.store.backups import Progress


Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(*options: Option) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command, in their order."""

    def add(command: Command) -> Command:
        for one in reversed(options):
            command = click.option(one.flag, one.name, metavar=one.metavar, help=one.help, is_flag=one.metavar is None)(
                command
            )
        return command

    return add


store_options = with_options(DB, PROJECT)

agent_option = with_options(AGENT)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(command)


def require_person_here(action: str) -> None:
    """Refuse an action that belongs to no store, as in "make a token", to agents."""
    import os

    from satchel.keep.names import local_person
    from satchel.keep.sessions.caller import Caller
    from satchel.keep.sessions.standing import require_person

    remedy = "Ask your user to do it in a terminal"
    require_person(Caller(COMMAND, os.environ), action, remedy, lambda: local_person(os.environ))


def is_terminal() -> bool:
    """Return whether a person can be asked: both input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str) -> bool:
    """Ask a person on stderr whether to go on; the default is no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError):
            raise
        remedy = "Add --yes to go on without a question; a script also sets SATCHEL_PERSON to your name"
        raise InvalidInput("nothing was changed, since nobody can be asked", remedy) from None


def choose_among(question: str, names: Sequence[str]) -> Sequence[str]:
    """Ask which of some names a person wants: all with Enter, none, or those that they type."""
    if len(names) < 2:
        return names if click.confirm(question, default=True) else ()

    def choose(answer: str) -> Sequence[str]:
        words = answer.lower().replace(",", " ").split()
        if words in (["y"], ["yes"]):
            return names
        if words in (["n"], ["no"]):
            return ()
        if not words or not set(words) <= set(names):
            raise click.UsageError(f"answer y, n, or some of: {' '.join(names)}")
        return [name for name in names if name in words]

    choice: Sequence[str] = click.prompt(
        f"{question} y, n, or names such as {names[0]}", default="y", value_proc=choose
    )
    return choice


def leave_trace(what: str) -> None:
    """Record in this folder's project, if any, an action that only persons may do or that ends a protection."""
    with suppress(SatchelError), open_satchel(caller=COMMAND) as satchel:
        satchel.housekeeping.record_action(what)


def mark_shown(answer: Any, db: str | None, project: str | None) -> None:
    """Mark the messages that an answer has shown to the person they are to as read; questions wait for their answer."""
    from satchel.keep.messages.records import Message
    from satchel.keep.names import is_persons

    reader = getattr(answer, "agent", None) or getattr(answer, "reader", None)
    if not is_persons(reader):
        return
    messages = [one for one in (getattr(item, "record", item) for item in answer.items) if isinstance(one, Message)]
    unread = [one.ref for one in messages if one.read_at is None and one.sender != reader and not one.awaits_answer]
    if unread:
        # opened again for writing, since reading works in a store that cannot be written
        with suppress(SatchelError), opening.open_anywhere(db, project, None, None, caller=COMMAND) as satchel:
            satchel.messages.mark_read(unread)


def waiting_texts(root: str | None) -> str | None:
    """Return a note on the texts that others have shared in a project whose store knows none, or None."""
    from satchel.keep.shared.folder import Folder

    count = 0 if root is None else len(Folder(root).list().names)
    if not count:
        return None
    texts = "text waits" if count == 1 else "texts wait"
    return f"{count} shared {texts} here: `satchel sync` reads, and `satchel share --list` lists what to accept"


def shown_by(*, lists_messages: bool) -> str | None:
    """Return the command that lists messages; None if the answer does."""
    return None if lists_messages else "satchel message list"


def tell(
    satchel: Satchel, files: Sequence[str], db: str | None, project: str | None, *, lists_messages: bool = False
) -> None:
    """Print the notice for the acting agent, if any, to stderr; a person gets one of a message once."""
    done(satchel)
    shown, work = shown_by(lists_messages=lists_messages), satchel.workplace
    try:
        notice = satchel.notices.line(files=files, shown_by=shown)
        is_person = work.caller is not None and work.caller.is_person
        if notice is not None and is_person and work.engine.read_only and satchel.remote is None:
            # opened again for writing, since reading works in a store that cannot be written
            with suppress(SatchelError), opening.open_anywhere(db, project, None, None, caller=COMMAND) as writable:
                notice = writable.notices.line(files=files, shown_by=shown)
    except Exception as error:  # noqa: BLE001 - what was asked for is done, and stands without it
        notice = f"claims and messages of others could not be looked up ({error})"
    if notice is not None:
        click.echo(click.style(notice, fg="yellow"), err=True)


def warn_notes(notes: Iterable[str]) -> None:
    for note in notes:
        click.echo(note, err=True)


def given_or_read(text: str | None, name: str) -> str:
    """Return a text argument; if it is missing or a dash, read standard input."""
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"there is no {name}", "Give it as an argument or on standard input")
    return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")


def show_json(value: object) -> None:
    import json

    from satchel.interfaces.text.json import fields_of

    # JSON escapes are readable in any encoding
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(fields_of(value), ensure_ascii=not is_utf8, indent=2))


def show(value: object, *lines: str, as_json: bool) -> None:
    if as_json:
        show_json(value)
    elif lines:
        click.echo("\n".join(lines))


def show_command(command: str, note: str, *, as_json: bool) -> None:
    show({"command": command}, command, as_json=as_json)
    if not as_json:
        rest = "The password comes from ~/.pgpass, PGPASSFILE or a service file."
        click.echo(f"Run this command. {note} {rest}", err=True)


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[Progress]:
    """Draw a progress bar on stderr during a long task; nothing without a terminal.

    The bar pulses until the total is known, then counts.
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
    """Render a setting in TOML, text without its quotes; ``not set`` for None."""
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
