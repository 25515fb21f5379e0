"""The tour itself: starts the real server twice, has two agents write, find, decide and learn, and says each step."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from satchel.base.errors import InvalidInput
from satchel.base.tokens import TokenCounter, token_counter
from satchel.base.vocabulary import MAIN_RUN
from satchel.interfaces.cli.tour.client import ToolClient, must_call
from satchel.interfaces.cli.tour.history import Choice, choose_history
from satchel.interfaces.cli.tour.lesson import LessonResult, learn
from satchel.interfaces.cli.tour.story import Note, Question, tell
from satchel.interfaces.cli.tour.team import Member, TeamResult, busiest_file, work_as_team

Say = Callable[[str], None]

_BUILDER, _REVIEWER = "builder", "reviewer"
_COLOURS = {_BUILDER: "cyan", _REVIEWER: "magenta"}
_PER_CALL = 100
_SHOWN_NOTES = 3
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reviewer asked and got.

    Attributes:
        place: where the note that answers it stood among the hits, from 1; None when it was not among them.
    """

    question: str
    expected: str
    hits: tuple[str, ...]
    place: int | None


@dataclass(frozen=True, slots=True)
class TourResult:
    """What happened on the tour.

    Attributes:
        source: the repository's name; ``sample_because`` says why it is the bundled sample, if it is.
        team: how they decided and coordinated.
        lesson: how one failed, and the other was warned.
        written: pairs of entry type and how many were written.
        tokens_kept: what all notes together would cost an agent to read.
        tokens_read: what the answers cost.
        counter: how tokens were counted; ``estimate`` is not exact.
        seconds: the whole tour.
        store: where the store was kept, or None.
    """

    source: str
    sample_because: str | None
    run_id: str
    team: TeamResult
    lesson: LessonResult
    written: tuple[tuple[str, int], ...]
    answers: tuple[Answer, ...]
    tokens_kept: int
    tokens_read: int
    counter: str
    seconds: float
    store: Path | None


def silent(_text: str) -> None:
    """Say nothing, for machines."""


def guide(repository: Path | None, here: Path, commits: int, keep: Path | None, say: Say) -> TourResult:
    """Run the tour.

    Args:
        repository: the repository given, or None.
        here: the folder the tour stands in.
        commits: how many commits to read.
        keep: a new file that keeps the tour's store; None removes it.
        say: gets each step as text.

    Raises:
        SatchelError: the repository cannot be read, or a server fails.
    """
    started = time.monotonic()
    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep} exists already", "Name a new file for the tour's store")
    choice = choose_history(repository, here, commits)
    story = tell(choice.history)
    _say_source(choice, say)
    counter = token_counter()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-tour-"))
        store = keep.absolute() if keep is not None else Path(folder) / "tour.db"
        say(_step(2, "Two agents start, each with a server of its own over one store."))
        agents = {name: stack.enter_context(_start(name, store, say)) for name in (_BUILDER, _REVIEWER)}
        say(_step(3, "They write what they learned: the history tells them."))
        kept = _write(agents[_BUILDER], _BUILDER, (story.analysis, *story.notes_by_builder), say)
        kept += _write(agents[_REVIEWER], _REVIEWER, story.notes_by_reviewer, say)
        say(_step(4, f"The {_REVIEWER} asks in its own words, and finds what the {_BUILDER} wrote."))
        answers, read = _ask(agents[_REVIEWER], story.questions, say)
        read.append(_look_up(agents[_REVIEWER], kept, say))
        everything = _read_everything(agents[_REVIEWER])
        say(_step(6, "They work as a team: decisions with their history, a rule, and a file that only one may edit."))
        builder, reviewer = (Member(name, client) for name, client in agents.items())

        def say_step(name: str, what: str, answer: str) -> None:
            say(f"   {_who(name)}{what}\n{_wrapped(answer)}")

        team = work_as_team(builder, reviewer, busiest_file(choice.history), say_step)
        say(_step(7, f"The {_BUILDER} fails at something new; the {_REVIEWER} is warned before it fails the same way."))
        lesson = learn(builder, reviewer, Path(folder), say_step)
    result = TourResult(
        source=choice.history.name,
        sample_because=choice.sample_because,
        run_id=MAIN_RUN,
        team=team,
        lesson=lesson,
        written=tuple(Counter(kept).items()),
        answers=tuple(answers),
        tokens_kept=_tokens(counter, everything),
        tokens_read=_tokens(counter, read),
        counter=counter.name,
        seconds=round(time.monotonic() - started, 1),
        store=keep.absolute() if keep is not None else None,
    )
    _say_end(result, say)
    return result


def _say_source(choice: Choice, say: Say) -> None:
    history = choice.history
    if choice.sample_because is not None:
        say(_step(1, f"No history to tell of here ({choice.sample_because}), so this is a bundled sample."))
    else:
        say(_step(1, f"The history of {history.name}: the newest {len(history.commits)} of {history.total_commits}."))


def _start(name: str, store: Path, say: Say) -> ToolClient:
    arguments = ["mcp", "--db", str(store), "--project", "tour", "--agent", name, "--toolsets", "all"]
    say(f"   {_who(name)}$ satchel {' '.join(arguments)}")
    ours = {key: value for key, value in os.environ.items() if not key.startswith("SATCHEL_")}
    return ToolClient([sys.executable, "-m", "satchel", *arguments], ours, name)


def _write(client: ToolClient, name: str, notes: Sequence[Note], say: Say) -> list[str]:
    for first in range(0, len(notes), _PER_CALL):
        entries = [_fields(note) for note in notes[first : first + _PER_CALL]]
        must_call(client, "write_context", {"entries": entries})
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(note.type for note in notes).items())
    say(f"   {_who(name)}wrote {counts}, such as")
    telling = sorted(notes, key=lambda note: ("decision", "error").index(note.type) if note.type in _TELLING else 2)
    for note in telling[:_SHOWN_NOTES]:
        text = note.content if isinstance(note.content, str) else str(note.content.get("summary", ""))
        say(f"      {note.type}: {_shortened(text)}")
    return [note.type for note in notes]


_TELLING = ("decision", "error")


def _ask(client: ToolClient, questions: Sequence[Question], say: Say) -> tuple[list[Answer], list[str]]:
    answers: list[Answer] = []
    texts: list[str] = []
    for question in questions:
        asked = {"query": question.text, "limit": 3}
        texts.append(must_call(client, "read_context", asked))
        hits = json.loads(must_call(client, "read_context", {**asked, "format": "json"}))["entries"]
        contents = [str(hit["content"]) for hit in hits]
        expected = str(question.expected.content)
        place = contents.index(expected) + 1 if expected in contents else None
        answers.append(Answer(question.text, expected, tuple(contents), place))
        say(f"   {_who(_REVIEWER)}{click.style(question.text, bold=True)}")
        if hits:
            best = hits[0]
            say(f"      {best['id']} by {best.get('agent', 'nobody')}: {_shortened(contents[0])}")
        else:
            say("      nothing was found")
    return answers, texts


def _look_up(client: ToolClient, kept: Sequence[str], say: Say) -> str:
    """Read what failed before or, where nothing did, what the code base is."""
    if "error" in kept:
        say(_step(5, f"The {_REVIEWER} looks up what has failed before, so that nobody tries it again."))
        text = must_call(client, "read_context", {"types": ["error"], "limit": 3})
    else:
        say(_step(5, f"The {_REVIEWER} reads the {_BUILDER}'s analysis instead of the whole code base."))
        text = must_call(client, "read_context", {"types": ["codebase_analysis"]})
    say(_indented(text))
    return text


def _read_everything(client: ToolClient) -> list[str]:
    texts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = json.loads(must_call(client, "read_context", {"limit": 500, "offset": offset, "format": "json"}))
        texts += [str(entry["content"]) for entry in page["entries"]]
        offset = page["next_offset"]
    return texts


def _say_end(result: TourResult, say: Say) -> None:
    exact = "" if result.counter != "estimate" else ", estimated"
    total = sum(count for _, count in result.written)
    say(
        _step(
            8,
            f"{total} notes hold {result.tokens_kept:,} tokens; the answers cost {result.tokens_read:,}{exact}. "
            f"It took {result.seconds:.0f} s.",
        )
    )
    if result.store is not None:
        say(f"   The store is kept: satchel read --db {result.store} --project tour")
    say("   Now your own agents: let your client start `satchel mcp` in your project (README, Connect your client).")


def _fields(note: Note) -> dict[str, object]:
    fields = {
        "type": note.type,
        "content": note.content,
        "file": note.file,
        "line": note.line,
        "task_id": note.task_id,
        "loop_id": note.loop_id,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tokens(counter: TokenCounter, texts: Sequence[str]) -> int:
    return sum(counter.count(text) for text in texts)


def _step(number: int, text: str) -> str:
    return click.style(f"{number}. {text}", bold=True)


def _who(name: str) -> str:
    return click.style(f"{name}: ", fg=_COLOURS[name])


def _shortened(text: str) -> str:
    return textwrap.shorten(text, _WIDTH, placeholder=" …")


def _indented(text: str) -> str:
    return "\n".join(f"      {line if len(line) <= _WIDTH else f'{line[:_WIDTH]} …'}" for line in text.splitlines())


def _wrapped(text: str) -> str:
    """Indent an answer and break its long lines, of which nothing is left out."""
    return "\n".join(
        textwrap.fill(line, _WIDTH + 6, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False)
        for line in text.splitlines()
    )
