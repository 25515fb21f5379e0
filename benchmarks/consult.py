"""Consulting: what a conversation about a project that changes takes of the window, beside sending all of it again.

30 commits of a git repository are 30 turns; the model answers a fixed text, and nothing leaves the machine.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.gathering import gathering_figures, walk_and_stat
from benchmarks.harness import ROOT, Bench, Figure, NotMeasuredError, Section, interleave, timed
from satchel import open_satchel
from satchel.base.tokens import TokenCounter, token_counter
from satchel.consult.conversation_records import ConversationKey, TurnResult
from satchel.consult.conversations import Conversations
from satchel.consult.gathering import gather
from satchel.consult.planning import TurnRequest, plan_turn
from satchel.consult.reading import read_content
from satchel.consult.records import Content, ConversationState, FoundFile, Gathering, HeldBack, Stat, TurnPlan, Window
from satchel.consult.window import WindowFull

_TURNS = 30
_GROWTH = (11, 21)
_ANSWER_TOKENS = 500
_WINDOW, _OUTPUT = 200_000, 16_000
_KEY = ConversationKey("benchmark", "replay")
_QUESTION = "What do you make of the last change?"
_STATE_BYTES = 100_000
_ROOM_OF_SOURCE = 1.6
"""The room of the window beside the source's tokens: half of it is for files, so that a fifth of them overflows."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What 30 turns of one conversation took.

    Attributes:
        turns: how many there were before the window was full.
        sent: tokens added by prompts.
        resent: tokens that sending every inline file with every turn would have added.
        moved: files whose place changed.
        idle: files that an unchanged turn sent again, one after every turn.
        overflow: files that the window did not take.
    """

    turns: int
    sent: int
    resent: int
    moved: int
    idle: int
    overflow: int


def run(bench: Bench) -> Section:
    """Replay repositories, and prepare an unchanged turn again and again."""
    repositories = find_repositories(bench.data)
    figures: list[Figure] = []
    counter = token_counter("o200k_base")
    for repository in repositories:
        bench.progress.say(f"replaying {repository.name}")
        commits = history(repository, bench.choose(_TURNS, 8))
        figures += _replay_figures(repository.name, commits, counter)
    figures += gathering_figures(replace(bench, folder=_sub(bench, "gathering")))
    figures += _unchanged_figures(replace(bench, folder=_sub(bench, "unchanged")), counter)
    return Section(
        "Consulting",
        tuple(figures),
        (
            f"Commits of each repository as turns, oldest first, until the window is full: {_WINDOW:,} tokens, or as "
            "little as makes files overflow. The source folder is in the context from turn 1, half of all others from "
            f"turn {_GROWTH[0]}, all from turn {_GROWTH[1]}. Without diffs, what changed is sent whole. The baseline "
            "sends every file of the prompt again in every turn. Tokens are counted "
            f"{'exactly' if counter.exact else 'by an estimate'}.",
        ),
    )


def find_repositories(data: Path | None) -> list[Path]:
    """Return the git repositories in a folder of data, or the project's own where it holds none."""
    found = [one.parent for one in sorted(data.glob("**/.git"))] if data is not None else []
    return found or [ROOT]


def history(repository: Path, turns: int) -> list[dict[str, bytes]]:
    """Return what the last commits of a repository hold, the oldest first: contents by path.

    Raises:
        NotMeasuredError: it is no repository, or has too few commits.
    """
    commits = _git(repository, "rev-list", "--first-parent", f"--max-count={turns}", "HEAD").decode().split()[::-1]
    if len(commits) < 2:
        raise NotMeasuredError(f"{repository.name} has too few commits")
    blobs: dict[str, bytes] = {}
    trees: list[dict[str, bytes]] = []
    for commit in commits:
        tree: dict[str, bytes] = {}
        for entry in _git(repository, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
            about, _, raw = entry.partition(b"\t")
            mode, _, number = about.decode().split()
            if mode not in {"100644", "100755"}:
                continue
            if number not in blobs:
                blobs[number] = _git(repository, "cat-file", "blob", number)
            tree[raw.decode(errors="replace")] = blobs[number]
        trees.append(tree)
    return trees


def replay(trees: list[dict[str, bytes]], counter: TokenCounter, window: Window, *, with_diffs: bool) -> Replay:
    """Take a turn of one conversation for every commit, and plan an unchanged one after each."""
    state, kept = ConversationState(), dict[bytes, str]()
    source, *others = _folders(trees)
    sent = resent = moved = idle = turns = 0
    for number, tree in enumerate(trees, 1):
        grown = sum(number >= growth for growth in _GROWTH)
        taken = {source, *others[: len(others) * grown // len(_GROWTH)]}
        files = {path: raw for path, raw in tree.items() if path.partition("/")[0] in taken}
        texts = _texts(files, number)
        plan = _planned(state, texts, counter, window, kept.get if with_diffs else _nothing, number)
        if plan is None:
            break
        moved += sum(plan.files[path].placement is not known.placement for path, known in state.files.items())
        sent, resent, turns = sent + plan.tokens, resent + plan.resent_tokens, number
        kept |= plan.new_contents
        held = state.held_tokens + plan.tokens + _ANSWER_TOKENS
        state = ConversationState(number, plan.files, held, plan.has_overflowed, f"r{number}")
        again = _planned(state, texts, counter, window, kept.get, number)
        idle += 0 if again is None else again.prompt.count("<file-") + again.prompt.count("<diff-")
    overflow = sum(file.placement.name == "OVERFLOW" for file in state.files.values())
    return Replay(turns, sent, resent, moved, idle, overflow)


def _folders(trees: list[dict[str, bytes]]) -> list[str]:
    """Return the top-level names: the folder of the source first, the others in their order."""
    sizes: dict[str, int] = {}
    for path, raw in trees[0].items():
        top, slash, _ = path.partition("/")
        if slash and not top.startswith((".", "test", "doc")):
            sizes[top] = sizes.get(top, 0) + len(raw)
    source = "src" if "src" in sizes else max(sizes, key=lambda top: sizes[top], default="")
    return [source, *sorted({path.partition("/")[0] for tree in trees for path in tree} - {source})]


def _nothing(_: bytes) -> None:
    return None


def _sub(bench: Bench, name: str) -> Path:
    folder = bench.folder / name
    folder.mkdir()
    return folder


def _git(repository: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise NotMeasuredError(f"git {arguments[0]} failed in {repository.name}")
    return done.stdout


def _texts(files: Mapping[str, bytes], turn: int) -> dict[str, Content]:
    texts: dict[str, Content] = {}
    for path, raw in files.items():
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            texts[path] = Content(text, hashlib.sha256(raw).digest(), Stat(len(raw), turn))
    return texts


def _planned(
    state: ConversationState,
    texts: Mapping[str, Content],
    counter: TokenCounter,
    window: Window,
    read_old: Callable[[bytes], str | None],
    turn: int,
) -> TurnPlan | None:
    """Plan a turn; None where the window is full."""
    found = tuple(FoundFile(path, path, "/", texts[path].stat) for path in sorted(texts))
    try:
        return plan_turn(
            state,
            Gathering(found, ()),
            lambda one: texts[one.path],
            counter,
            window,
            TurnRequest("replay", _QUESTION, turn * 1_000_000),
            read_old=read_old,
            is_gone=lambda path: path not in texts,
        )
    except WindowFull:
        return None


def _replay_figures(name: str, trees: list[dict[str, bytes]], counter: TokenCounter) -> Iterator[Figure]:
    source = f"{_folders(trees)[0]}/"
    first = {path: raw for path, raw in trees[0].items() if path.startswith(source)}
    total = sum(counter.count(content.text) for content in _texts(first, 1).values())
    window = Window(min(_WINDOW, int(_ROOM_OF_SOURCE * total) + _OUTPUT), _OUTPUT)
    for with_diffs, target in ((True, 0.1), (False, 0.25)):
        done = replay(trees, counter, window, with_diffs=with_diffs)
        how = "with diffs" if with_diffs else "without diffs"
        what = f"{name}, {done.turns} of {len(trees)} turns, {how}"
        yield Figure(
            f"{what}: tokens added",
            done.sent,
            "tokens",
            baseline=done.resent,
            beside="resending all",
            # the first turn alone is more than that of a few
            ratio_at_most=target if len(trees) == _TURNS else None,
        )
        yield Figure(f"{what}: files moved", done.moved, at_most=0)
        yield Figure(f"{what}: files resent on unchanged turns", done.idle, at_most=0)
        yield Figure(f"{what}: files that overflow", done.overflow, at_least=1)


def _unchanged_figures(bench: Bench, counter: TokenCounter, files: int = 1_000) -> list[Figure]:
    """Time what a turn takes before anything is sent, with the state loaded from the store."""
    root = bench.folder.resolve() / "project"
    (root / ".git").mkdir(parents=True)
    for number in range(files):
        folder = root / "src" / f"package_{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"module_{number}.py"
        file.write_text(f"x = {number}\n" * 20)
        os.utime(file, (1_700_000_000, 1_700_000_000))
    with open_satchel(cwd=root, environ={}) as satchel:
        conversations = Conversations(satchel.workplace)
        window = Window(1_000_000, 10_000)
        reads: list[str] = []

        def read(found: FoundFile) -> Content | HeldBack:
            reads.append(found.path)
            return read_content(found)

        def prepare(_: int) -> TurnPlan:
            return plan_turn(
                conversations.state(_KEY),
                gather(["src"], [str(root)], base=str(root)),
                read,
                counter,
                window,
                TurnRequest("replay", _QUESTION, time.time_ns() // 1_000_000),
                read_old=conversations.reader(),
                is_gone=lambda path: not (root / path).exists(),
            )

        plan = prepare(0)
        conversations.commit(conversations.acquire(_KEY), TurnResult(plan, "So.", _ANSWER_TOKENS, None))
        reads.clear()
        with satchel.workplace.engine.read() as transaction:
            rows = transaction.all(
                "SELECT f.* FROM conversation_files f JOIN conversation_folders d ON d.id = f.folder_id"
            )
            folders = transaction.all("SELECT * FROM conversation_folders")
        state_bytes = sum(_row_bytes(row) for row in (*rows, *folders))
        candidates: dict[str, Callable[[int], object]] = {
            "prepare": prepare,
            "walk": lambda _: walk_and_stat(root / "src"),
        }
        taken = interleave(candidates, bench.choose(100, 20), warm_up=2)
        return [
            Figure("state of a conversation of 1,000 files, values alone", state_bytes, "bytes", at_most=_STATE_BYTES),
            Figure("files read on an unchanged turn", len(reads), at_most=0),
            timed(
                f"prepare an unchanged turn over {files:,} files",
                taken["prepare"],
                taken["walk"],
                "os.walk and os.stat",
                ratio_at_most=2,
            ),
        ]


def _row_bytes(row: tuple[object, ...]) -> int:
    """Return what the values of a row take: whole numbers as SQLite keeps them."""
    size = 0
    for value in row:
        if isinstance(value, int):
            size += (value.bit_length() + 8) // 8
        elif isinstance(value, (str, bytes)):
            size += len(value.encode() if isinstance(value, str) else value)
    return size
