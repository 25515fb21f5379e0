"""Consultations on the terminal: streamed answers, their cost, and stored conversations."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.base.errors import SatchelError
from satchel.interfaces.cli.common import warn_notes
from satchel.interfaces.text.consultations import cost_line, failure_lines, rest_lines

if TYPE_CHECKING:
    from types import TracebackType

    from satchel.client import Satchel
    from satchel.consult.consultation import Consultation, Panel

# The signals by which a process is asked to end, besides Ctrl-C's; not every system has both.
_ENDING = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]

_PATHS = ("context", "priority", "attachments", "allow_roots")


def ask(satchel: Satchel, ask_models: Callable[..., Any], *, quiet: bool, **request: Any) -> Consultation | Panel:
    """Ask one model and print its answer as it arrives, or several; paths are relative to the current folder."""
    base = satchel.workplace.files_root
    request |= {name: _from_project(request.get(name, ()), base) for name in _PATHS}
    printer = _Printer()
    with _ended_by_signals(), printer:
        done: Consultation | Panel = ask_models(
            satchel,
            **request,
            on_text=None if quiet else printer.arrived,
            on_progress=None if quiet else printer.step,
        )
        if not quiet and getattr(done, "answer", None) is not None:
            printer.end()
    return done


def show_consultation(done: Consultation | Panel) -> None:
    """Print the cost of an answer to stderr; for a dry run, the cost and the plan.

    The answers of several models, which were not printed as they arrived, are printed first.
    """
    from satchel.consult.consultation import Panel

    if isinstance(done, Panel):
        for one in (*done.answers, done.synthesis):
            if one is not None:
                by = f"## {'Synthesis by ' if one is done.synthesis else ''}{one.assistant}"
                click.echo(by if one.answer is None else f"{by}\n\n{_clean(one.answer).rstrip()}\n")
                show_consultation(one)
        warn_notes(failure_lines(done))
        return
    if done.answer is None:
        click.echo(cost_line(done))
        _show_plan(done)
        warn_notes(done.notes)
    else:
        warn_notes([cost_line(done), *rest_lines(done)])


def _show_plan(done: Consultation) -> None:
    from satchel.interfaces.text.lists import show_table

    rows: list[tuple[str, str, str | None, str | None]] = []
    for place, files in (("inline", done.inline), ("overflow", done.overflow)):
        rows += [(file.path, place, f"{file.tokens:,}", file.why) for file in files]
    rows += [(path, "attachment", None, None) for path in done.attachments]
    rows += [(one.path, "held back", None, f"{one.reason}: {one.detail}") for one in done.held_back]
    if rows:
        show_table(("file", "place", "tokens", "why"), rows)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    # a signal that is ignored, as under nohup, stays ignored
    numbers = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class _Printer:
    """Printer of a streamed answer, with progress messages above it on a terminal.

    On exit it ends an unfinished line, so that an error starts on its own.
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
        # a paid answer is recorded even if nobody reads it any more
        if not self._has_reader:
            return
        try:
            click.echo(text, nl=newline)
        except BrokenPipeError:
            self._has_reader = False
            # unwritten output must not be retried at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _clean(text: str) -> str:
    from satchel.base.text import clean_content

    return clean_content(text).text


def _from_project(paths: Iterable[str], base: str | None) -> tuple[str, ...]:
    names: list[str] = []
    for path in paths:
        if not path:
            # an empty variable of a script, which would become the folder that the shell is in; gathering refuses it
            names.append(path)
            continue
        # normalised as text: gathering the files resolves links, and refuses those that lead outside
        full = os.path.abspath(path)  # noqa: PTH100 -- Path.absolute would leave the steps upwards in
        inside = base is not None and Path(full).is_relative_to(base)
        names.append(os.path.relpath(full, base) if inside else full)
    return tuple(names)
