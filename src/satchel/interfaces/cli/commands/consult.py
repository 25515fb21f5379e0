"""``satchel consult``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.base.errors import InvalidInput, SatchelError
from satchel.consult.keeping import KEPT_TYPES
from satchel.interfaces.cli.common import (
    agent_option,
    given_or_read,
    json_option,
    opened,
    run_option,
    show_json,
    store_options,
    tell,
    warn_notes,
)

if TYPE_CHECKING:
    from types import TracebackType

    from satchel.consult.consultation import Consultation

_ENDING = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
"""The signals by which a process is asked to end, besides Ctrl-C's; not every system has both."""


@click.command()
@click.argument("model")
@click.argument("question", required=False)
@click.option("--file", "context", multiple=True, metavar="PATH", help="A file or folder it is about; repeatable.")
@click.option("--priority", multiple=True, metavar="PATH", help="One to put into the prompt first; repeatable.")
@click.option("--attach", "attachments", multiple=True, metavar="PATH", help="One to search this time; repeatable.")
@click.option("--session", "session_id", metavar="NAME", help="The conversation. Default: default.")
@click.option("--briefing", is_flag=True, help="Put what the store knows before the files.")
@click.option("--role", metavar="NAME", help="Whose briefing, as for packages.")
@click.option("--task", "task_id", metavar="ID", help="The task of the briefing.")
@click.option("--force", is_flag=True, help="Send files that hold secrets too.")
@click.option("--dry-run", is_flag=True, help="Send nothing: show the split, the tokens and what is held back.")
@click.option("--keep", type=click.Choice(KEPT_TYPES), help="Keep the answer as a note of this type.")
@click.option("--decide", "key", metavar="KEY", help="Keep the answer as the decision of this key.")
@run_option
@agent_option
@store_options
@json_option
def command(
    model: str,
    question: str | None,
    context: tuple[str, ...],
    priority: tuple[str, ...],
    attachments: tuple[str, ...],
    session_id: str | None,
    briefing: bool,
    role: str | None,
    task_id: str | None,
    force: bool,
    dry_run: bool,
    keep: str | None,
    key: str | None,
    run_id: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> int | None:
    """Ask MODEL a question; without QUESTION, or with -, it is read from standard input.

    The answer is printed as it arrives; what it cost goes to stderr. A conversation remembers which files the model
    has: the next question sends only what changed.

    \b
    Examples:
      satchel consult gpt-6-sol "Is the refresh of tokens safe?" --file src/auth --dry-run
      satchel consult ollama:qwen3:8b "Is the refresh of tokens safe?" --file src/auth --session auth
    """
    from satchel.consult.service import DEFAULT_SESSION
    from satchel.interfaces.consulting.consultations_text import cost_line, rest_lines
    from satchel.interfaces.consulting.to_json import consultation_fields

    if keep is not None and key is not None:
        raise InvalidInput("--keep and --decide were given", "Leave one of them out")
    if not briefing and (role is not None or task_id is not None):
        raise InvalidInput("--role and --task are for a briefing", "Give --briefing, or leave them out")
    instructions = given_or_read(question, "question")
    if not instructions.strip():
        raise InvalidInput("the question is empty", "Give it as an argument or on standard input")
    printer = _Printer()
    with _ended_by_signals(), opened(db, project, run_id=run_id, agent=agent) as satchel, printer:
        base = satchel.workplace.files_root
        done = satchel.consulting.consult(
            model,
            instructions,
            session_id=DEFAULT_SESSION if session_id is None else session_id,
            context=_from_project(context, base),
            priority=_from_project(priority, base),
            attachments=_from_project(attachments, base),
            briefing=briefing,
            role=role,
            task_id=task_id,
            keep_as=keep if key is None else f"decision:{key}",
            force=force,
            dry_run=dry_run,
            on_text=None if as_json else printer.arrived,
            on_progress=None if as_json else printer.step,
        )
        if as_json:
            show_json(consultation_fields(done))
        elif done.answer is None:
            click.echo(cost_line(done))
            _show_plan(done)
            warn_notes(done.notes)
        else:
            printer.end()
            warn_notes([cost_line(done), *rest_lines(done)])
        tell(satchel, done.paths)
    return None if done.kept is None or done.kept.failure is None else done.kept.failure.kind.exit_status


def _show_plan(done: Consultation) -> None:
    """Show where each file would go, and what would not."""
    from satchel.interfaces.cli.tables import show_table

    rows: list[tuple[str, str, str | None, str | None]] = []
    for place, files in (("inline", done.inline), ("overflow", done.overflow)):
        rows += [(file.path, place, f"{file.tokens:,}", file.why) for file in files]
    rows += [(path, "attachment", None, None) for path in done.attachments]
    rows += [(one.path, "held back", None, f"{one.reason}: {one.detail}") for one in done.held_back]
    if rows:
        show_table(("file", "place", "tokens", "why"), rows)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let what ends a process unheard end a call as Ctrl-C does: nothing stays locked, or left at the provider."""

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    # one that is ignored, as under nohup, stays so
    numbers = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class _Printer:
    """Prints an answer as it arrives, and above it on a terminal what is being done.

    As a context manager it ends the line of an answer that an error breaks off, so that the error has its own.
    """

    def __init__(self) -> None:
        self._has_begun = False
        self._has_reader = True

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._has_begun and isinstance(error, SatchelError):
            self.end()

    def step(self, what: str) -> None:
        if not self._has_begun and sys.stderr.isatty():
            click.echo(click.style(f"{_clean(what)} ...", dim=True), err=True)

    def arrived(self, text: str) -> None:
        self._has_begun = True
        self._print(_clean(text), newline=False)

    def end(self) -> None:
        self._print("")

    def _print(self, text: str, *, newline: bool = True) -> None:
        """Print for as long as somebody reads: an answer that is paid for is recorded and kept for nobody too."""
        if not self._has_reader:
            return
        try:
            click.echo(text, nl=newline)
        except BrokenPipeError:
            self._has_reader = False
            # what was not taken must not be tried again when the process leaves
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _clean(text: str) -> str:
    """Take out what could steer a terminal."""
    from satchel.base.text import clean_content

    return clean_content(text).text


def _from_project(paths: Iterable[str], base: str | None) -> tuple[str, ...]:
    """Name paths from the project's folder, where a shell's are from its own; one outside of it stays absolute."""
    named: list[str] = []
    for path in paths:
        if not path:
            # an empty variable of a script, which would become the folder that the shell is in; gathering refuses it
            named.append(path)
            continue
        # normalised as text: links are resolved, and what leads out is refused, where files are gathered
        full = os.path.abspath(path)  # noqa: PTH100 -- Path.absolute would leave the steps upwards in
        inside = base is not None and Path(full).is_relative_to(base)
        named.append(os.path.relpath(full, base) if inside else full)
    return tuple(named)
