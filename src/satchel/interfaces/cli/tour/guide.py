"""The tour itself: starts the real server twice, has two agents write, find, decide and learn, and says each step."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.base.tokens import token_counter
from satchel.interfaces.cli.tour.client import ToolClient
from satchel.interfaces.cli.tour.history import choose_history
from satchel.interfaces.cli.tour.scenes import Act, keep_apart, learn, work_as_team
from satchel.interfaces.cli.tour.serving import team_server
from satchel.interfaces.cli.tour.sessions import HookSession
from satchel.interfaces.cli.tour.story import Note, busiest_file, tell

Say = Callable[[str], None]

_AGENTS = ("builder", "reviewer")
_COLOURS = {"builder": "cyan", "reviewer": "magenta", "codex": "green", "claude": "yellow"}
_PROJECT = "tour"
_PER_CALL = 100
_WIDTH = 94
_WRAPPER = textwrap.TextWrapper(_WIDTH + 8, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the note that answers it, and its place among the hits, from 1; None when it was not there."""

    question: str
    expected: str
    place: int | None


@dataclass(frozen=True, slots=True)
class TourResult:
    """What happened on the tour.

    Attributes:
        source: the repository's name; ``sample_because`` says why it is the bundled sample, if it is.
        written: pairs of entry type and how many were written.
        tokens_kept: what all notes together would cost an agent to read.
        tokens_read: what the answers cost.
        store: where the store was kept, or None.
    """

    source: str
    sample_because: str | None
    written: tuple[tuple[str, int], ...]
    answers: tuple[Answer, ...]
    team: tuple[Act, ...]
    apart: tuple[Act, ...]
    lesson: tuple[Act, ...]
    tokens_kept: int
    tokens_read: int
    seconds: float
    store: Path | None


def guide(
    repository: Path | None, here: Path, commits: int, keep: Path | None, say: Say, database: str | None = None
) -> TourResult:
    """Run the tour.

    Args:
        repository: the repository given, or None.
        here: the folder the tour stands in.
        commits: how many commits to read.
        keep: a new file that keeps the tour's store; None removes it.
        say: gets each step as text.
        database: the URL of a PostgreSQL database, in a schema of which a server keeps the tour's store; None keeps it
            in a file.

    Raises:
        SatchelError: the repository cannot be read, or a server fails.
    """
    started = time.monotonic()
    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep} exists already", "Name a new file for the tour's store")
    if keep is not None and database is not None:
        raise InvalidInput("the store of a tour in a database goes with its schema", "Leave --keep out")
    history = choose_history(repository, here, commits)
    story = tell(history)
    notes = (story.analysis, *story.notes_by_builder, *story.notes_by_reviewer)
    if history.sample_because is not None:
        say(_step(1, f"No history to tell of here ({history.sample_because}), so this is a bundled sample."))
    else:
        say(_step(1, f"The history of {history.name}: its newest {len(history.commits)} commits without merges."))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-tour-")))
        store = (keep or folder / "tour.db").absolute()
        if database is None:
            say(_step(2, "Two agents start, each with a server of its own over one store."))
            named = ["--db", str(store), "--project", _PROJECT]
            where = {"SATCHEL_DB": str(store), "SATCHEL_PROJECT": _PROJECT}
            builder, reviewer = (stack.enter_context(_start(name, named, {}, say)) for name in _AGENTS)
        else:
            say(_step(2, "A server has the store in a schema of your database. Two agents start, and ask the server."))
            where = stack.enter_context(team_server(database, _PROJECT, folder))
            say(f"   SATCHEL_URL={where['SATCHEL_URL']}")
            builder, reviewer = (stack.enter_context(_start(name, [], where, say)) for name in _AGENTS)
        say(_step(3, "They write what they learned: the history tells them."))
        _write(builder, (story.analysis, *story.notes_by_builder), say)
        _write(reviewer, story.notes_by_reviewer, say)
        say(_step(4, "The reviewer asks in its own words, and finds what the builder wrote."))
        texts: list[str] = []
        answers = tuple(_ask(reviewer, note, texts, say) for note in story.questions)
        if any(note.type == "error" for note in notes):
            say(_step(5, "The reviewer looks up what has failed before, so that nobody tries it again."))
            texts.append(reviewer.call("read_context", {"types": ["error"], "limit": 3}))
        else:
            say(_step(5, "The reviewer reads the builder's analysis instead of the whole code base."))
            texts.append(reviewer.call("read_context", {"types": ["codebase_analysis"]}))
        for line in texts[-1].splitlines():
            say(f"      {line if len(line) <= _WIDTH else f'{line[:_WIDTH]} …'}")
        say(_step(6, "They work as a team: decisions with their history, a rule, and a message."))
        team = _play(work_as_team(builder, reviewer, busiest_file(history)), say)
        say(_step(7, "Two sessions of clients edit one file, and nothing but their hooks keeps them apart."))
        work = folder / "work"
        (work / ".git").mkdir(parents=True)  # as in a repository, paths begin here
        codex, claude = (HookSession(one, work, where, folder / "home") for one in ("codex", "claude"))
        apart = _play(keep_apart(codex, claude, busiest_file(history)), say)
        say(_step(8, "The builder fails at something new; the reviewer is warned before it fails the same way."))
        lesson = _play(learn(builder, reviewer, folder), say)
    counter = token_counter()
    result = TourResult(
        source=history.name,
        sample_because=history.sample_because,
        written=tuple(Counter(note.type for note in notes).items()),
        answers=answers,
        team=team,
        apart=apart,
        lesson=lesson,
        tokens_kept=sum(counter.count(note.content) for note in notes),
        tokens_read=sum(map(counter.count, texts)),
        seconds=round(time.monotonic() - started, 1),
        store=keep and store,
    )
    estimated = ", estimated" if counter.name == "estimate" else ""
    cost = f"{len(notes)} notes hold {result.tokens_kept:,} tokens; the answers cost {result.tokens_read:,}"
    say(_step(9, f"{cost}{estimated}. It took {result.seconds:.0f} s."))
    if keep:
        say(f"   The store is kept: satchel read --db {store} --project {_PROJECT}")
    say("   Now your own project: `satchel setup` connects your coding clients.")
    return result


def _start(name: str, named: Sequence[str], where: Mapping[str, str], say: Say) -> ToolClient:
    arguments = ["mcp", *named, "--agent", name, "--toolsets", "all"]
    say(f"   {_who(name)}$ satchel {' '.join(arguments)}")
    ours = {key: value for key, value in os.environ.items() if not key.startswith("SATCHEL_")}
    return ToolClient([sys.executable, "-m", "satchel", *arguments], {**ours, **where}, name)


def _write(agent: ToolClient, notes: Sequence[Note], say: Say) -> None:
    who = _who(agent.name)
    for first in range(0, len(notes), _PER_CALL):
        entries = [_arguments(note, agent.name) for note in notes[first : first + _PER_CALL]]
        agent.call("write_context", {"entries": entries})
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(note.type for note in notes).items())
    say(f"   {who}wrote {counts}, such as")
    for note in sorted(notes, key=lambda note: note.type not in {"decision", "error"})[:3]:
        say(f"      {note.type}: {textwrap.shorten(note.content, _WIDTH, placeholder=' …')}")


def _arguments(note: Note, agent: str) -> dict[str, object]:
    content = {"summary": note.content} if note.type == "codebase_analysis" else note.content
    place = {"file": note.file} if note.file else {}
    return {"type": note.type, "content": content, "task_id": "read-history", "loop_id": f"{agent}-1", **place}


def _ask(agent: ToolClient, wanted: Note, texts: list[str], say: Say) -> Answer:
    """Ask as an agent does, which is what it costs, and once more for JSON."""
    asked = {"query": wanted.question, "limit": 3}
    texts.append(agent.call("read_context", asked))
    hits = json.loads(agent.call("read_context", {**asked, "format": "json"}))["entries"]
    say(f"   {_who(agent.name)}{click.style(wanted.question, bold=True)}")
    for hit in hits[:1]:
        found = textwrap.shorten(hit["content"], _WIDTH, placeholder=" …")
        say(f"      {hit['id']} by {hit.get('agent', 'nobody')}: {found}")
    place = next((place for place, hit in enumerate(hits, 1) if hit["content"] == wanted.content), None)
    return Answer(wanted.question, wanted.content, place)


def _play(scene: Iterable[Act], say: Say) -> tuple[Act, ...]:
    acts: list[Act] = []
    for act in scene:
        acts.append(act)
        say(f"   {_who(act.agent)}{act.what}")
        for line in act.answer.splitlines():
            say(_WRAPPER.fill(line))
    return tuple(acts)


def _step(number: int, text: str) -> str:
    return click.style(f"{number}. {text}", bold=True)


def _who(name: str) -> str:
    return click.style(f"{name}: ", fg=_COLOURS[name])
