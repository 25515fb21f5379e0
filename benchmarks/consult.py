"""Consulting: what a conversation about a project that changes takes of the window, beside sending all of it again.

Commits of git repositories are turns; the model answers a fixed text, and nothing leaves the machine.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.gathering import gathering_figures, walk_and_stat
from benchmarks.harness import ROOT, Bench, Figure, Section, interleave, timed
from benchmarks.replaying import (
    ANSWER_TOKENS,
    GROWTH,
    QUESTION,
    Replay,
    Tree,
    find_repositories,
    history,
    replay,
    source_of,
)
from satchel import Satchel, open_satchel
from satchel.base.tokens import TokenCounter, token_counter
from satchel.consult.conversations import Conversations
from satchel.consult.gathering import gather
from satchel.consult.models import TOKEN_FACTORS
from satchel.consult.planning import SharedReading, plan_turn
from satchel.consult.reading import read_content
from satchel.consult.records import (
    Content,
    ConversationKey,
    Gathering,
    HeldBack,
    SourceFile,
    Stat,
    TurnPlan,
    TurnRequest,
    TurnResult,
    Window,
    digest_of_text,
)

_TURNS = 30
_MAX_TURNS = 200
_WINDOW, _OUTPUT = 200_000, 16_000
_ROOM_OF_SOURCE = 1.6
"""The room of the window beside the source's tokens: half of it is for files, so that a fifth of them overflows."""

_FACTORS = (1.0, TOKEN_FACTORS["anthropic"], 1.15, 1.0, 1.15)
"""Tokens of five models for one that is counted: with the same window, each holds other files in its prompt."""

_WIDE = Window(10_000_000, 10_000)
_KEY = ConversationKey("benchmark", "replay")
_STATE_BYTES = 100_000
_STATE_FILES = 1_000
_LONG_AGO = 1_700_000_000
_LAYOUTS: dict[str, Callable[[int], str]] = {
    "short names": lambda n: f"src/p{n // 100}/m{n:03}.py",
    "names of 24 characters": lambda n: f"src/package_{n // 40:02}/some_module_name_{n:04}.py",
    "deep folders and long names": lambda n: (
        f"packages/area-{n // 50:02}/src/main/part_{n // 10:03}/UserProfileSettings{n:04}.test.tsx"
    ),
}


def run(bench: Bench) -> Section:
    """Replay repositories, store states, and prepare an unchanged turn again and again."""
    counter = token_counter("o200k_base")
    figures: list[Figure] = []
    for repository in (list(find_repositories(bench.data)) if bench.data else []) or [ROOT]:
        name = _name(repository, bench.data)
        bench.progress.say(f"replaying {name}")
        figures += _replay_figures(bench, name, history(repository, bench.choose(_MAX_TURNS, 8)), counter)
    figures += gathering_figures(replace(bench, folder=_sub(bench, "gathering")))
    figures += [_state_figure(_sub(bench, layout), layout, counter) for layout in _LAYOUTS]
    for files in (_STATE_FILES, *(() if bench.quick else (20_000,))):
        figures += _unchanged_figures(replace(bench, folder=_sub(bench, f"unchanged-{files}")), counter, files)
    return Section(
        "Consulting",
        tuple(figures),
        (
            f"The last {_TURNS} commits of each repository are turns, oldest first, then the last {_MAX_TURNS} until "
            f"the window is full: {_WINDOW:,} tokens, or as little as makes files overflow. The source folder is in "
            f"the context from turn 1, half of all others from turn {GROWTH[0]}, all from turn {GROWTH[1]}; each "
            f"answer takes {ANSWER_TOKENS} tokens. Without diffs, what changed is sent whole. The baseline sends every "
            "file of the prompt again in every turn. Tokens are counted "
            f"{'exactly' if counter.exact else 'by an estimate'}.",
            "On the wire, a provider that keeps the thread gets the new prompt and, for each turn again, the contents "
            "to search. One that keeps none gets all that was said with every turn and searches on this machine; its "
            "baseline gets the files as they are, and what was asked and answered before. The first saves the wire as "
            "the window; the second does not, which is what prompt caches are for: all but the new part stays the "
            "same from turn to turn.",
        ),
    )


def _name(repository: Path, data: Path | None) -> str:
    inside = "" if data is None or repository == ROOT else str(repository.relative_to(data))
    return repository.absolute().name if inside in {"", "."} else inside.removesuffix(".git").removesuffix("/repo")


def _sub(bench: Bench, name: str) -> Path:
    folder = bench.folder.resolve() / name
    folder.mkdir()
    return folder


def _replay_figures(bench: Bench, name: str, trees: list[Tree], counter: TokenCounter) -> Iterator[Figure]:
    """Replay the last commits, and all of them until the window is full, with diffs and without."""
    last = trees[-_TURNS:]
    source = f"{source_of(last)}/"
    total = sum(counter.count(content.text) for path, content in last[0].items() if path.startswith(source))
    window = Window(min(_WINDOW, int(_ROOM_OF_SOURCE * total) + _OUTPUT), _OUTPUT)
    for with_diffs, target in ((True, 0.1), (False, 0.25)):
        how = "with diffs" if with_diffs else "without diffs"
        done = replay(last, counter, window, with_diffs=with_diffs)
        ended = ", then the window was full" if done.is_full else ""
        what = f"{name}, {done.turns} of {len(last)} turns {how}{ended}"
        # the first turn alone is more than that of a few
        yield _added(what, done, None if bench.quick else target)
        yield Figure(f"{what}: files moved", done.moved, at_most=0)
        yield Figure(f"{what}: files resent on unchanged turns", done.idle, at_most=0)
        yield Figure(f"{what}: files that overflow", done.overflow, at_least=1)
        sent, resent = done.sent + done.uploaded, done.resent + done.uploaded
        yield _beside(f"{what}: on the wire, the provider keeps the thread", sent, resent)
        yield _beside(f"{what}: on the wire, it keeps none", done.whole, done.whole_resent)
        if with_diffs:
            shared = SharedReading(counter).counter
            each = [replay(last, shared.times(factor), window, with_diffs=True) for factor in _FACTORS]
            for several in (3, len(_FACTORS)):
                sent, resent = (sum(getattr(one, part) for one in each[:several]) for part in ("sent", "resent"))
                added = _beside(f"{name}, {several} models at once {how}: tokens added", sent, resent)
                yield replace(added, ratio_at_most=None if bench.quick else target)
                yield Figure(f"{added.what}: files moved", sum(one.moved for one in each[:several]), at_most=0)
        if len(trees) > len(last):
            done = replay(trees, counter, window, with_diffs=with_diffs)
            ended = f"until the window was full, after {done.turns}" if done.is_full else f"all {done.turns}"
            yield _added(f"{name}, turns {how}, {ended}", done, target)


def _added(what: str, done: Replay, target: float | None) -> Figure:
    return replace(_beside(f"{what}: tokens added", done.sent, done.resent), ratio_at_most=target)


def _beside(what: str, sent: int, resent: int) -> Figure:
    return Figure(what, sent, "tokens", baseline=resent, beside="resending all")


def _state_figure(root: Path, layout: str, counter: TokenCounter) -> Figure:
    """Return what a conversation of 1,000 files takes once each of them has changed."""
    (root / ".git").mkdir()
    texts = {_LAYOUTS[layout](number): f"{number}\n" for number in range(_STATE_FILES)}

    def read(found: SourceFile) -> Content:
        text = texts[found.path]
        return Content(text, digest_of_text(text), Stat(len(text), _LONG_AGO * 10**9 + len(text)))

    with open_satchel(cwd=root, environ={}) as satchel:
        conversations = Conversations(satchel.workplace)

        def take_turn(key: ConversationKey, paths: list[str]) -> None:
            found = tuple(SourceFile(path, path, "/", 0, 0) for path in paths)
            with conversations.acquire_lease(key) as held:
                plan = plan_turn(
                    held.state,
                    Gathering(found, ()),
                    read,
                    counter,
                    _WIDE,
                    TurnRequest("replay", QUESTION, _now()),
                    read_old=conversations.read_content,
                    is_gone=lambda _: False,
                )
                conversations.commit(held, TurnResult(plan, "So.", ANSWER_TOKENS))

        take_turn(ConversationKey("benchmark", "without files"), [])
        empty = _pages(satchel)
        for turn in range(11):
            take_turn(_KEY, sorted(texts))
            texts |= {path: f"{text}{turn}\n" for path, text in list(texts.items())[turn::10]}
        taken = _pages(satchel) - empty
    what = f"state of a conversation of {_STATE_FILES:,} files, in pages: {layout}"
    return Figure(what, taken, "bytes", at_most=_STATE_BYTES)


def _pages(satchel: Satchel) -> int:
    """Return what the tables of states and their indexes take of the file."""
    tables = "('conversations', 'conversation_paths', 'conversation_file_states')"
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one(
            f"SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN {tables})"
        )
    assert row is not None
    return int(row[0])


def _now() -> int:
    return time.time_ns() // 1_000_000


def _unchanged_figures(bench: Bench, counter: TokenCounter, files: int) -> list[Figure]:
    """Time what a turn takes before anything is sent, with the state loaded from the store each time."""
    root = bench.folder / "project"
    (root / ".git").mkdir(parents=True)
    for number in range(files):
        folder = root / "src" / f"package_{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"module_{number}.py"
        file.write_text(f"x = {number}\n" * 20)
        os.utime(file, (_LONG_AGO, _LONG_AGO))
    with open_satchel(cwd=root, environ={}) as satchel:
        conversations = Conversations(satchel.workplace)
        reads: list[str] = []

        def read(found: SourceFile) -> Content | HeldBack:
            reads.append(found.path)
            return read_content(found)

        def prepare(_: int) -> TurnPlan:
            state, taken = conversations.state(_KEY), conversations.sessions(_KEY)
            return plan_turn(
                state,
                gather(["src"], [str(root)], base=str(root)),
                read,
                counter,
                _WIDE,
                TurnRequest("replay", QUESTION, _now(), taken=taken),
                read_old=conversations.read_content,
                is_gone=lambda path: not (root / path).exists(),
            )

        plan = prepare(0)
        conversations.commit(conversations.acquire(_KEY), TurnResult(plan, "So.", ANSWER_TOKENS, None))
        reads.clear()
        tracemalloc.start()
        prepare(0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        candidates: dict[str, Callable[[int], object]] = {
            "prepare": prepare,
            "walk": lambda _: walk_and_stat(root / "src"),
        }
        taken = interleave(candidates, bench.choose(100, 20) * _STATE_FILES // files, warm_up=2)
        what = f"an unchanged turn over {files:,} files"
        return [
            Figure(f"files read for {what}", len(reads), at_most=0),
            timed(
                f"prepare {what}",
                taken["prepare"],
                taken["walk"],
                "os.walk and os.stat",
                ratio_at_most=2 if files == _STATE_FILES else None,
            ),
            Figure(f"memory to prepare {what}", peak / 1_000_000, "MB"),
        ]
