"""Commits of a git repository as turns of one conversation: what they add to the window and take of the wire."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.harness import NotMeasuredError
from satchel.base.tokens import TokenCounter
from satchel.consult.models import WindowFull
from satchel.consult.planning import plan_turn
from satchel.consult.records import (
    Content,
    ConversationState,
    Gathering,
    SourceFile,
    Stat,
    TurnPlan,
    TurnRequest,
    Window,
    digest_of,
)

QUESTION = "What do you make of the last change?"
ANSWER_TOKENS = 500
GROWTH = (11, 21)
"""The turns from which on more than the source is in the context: half of all else, then all of it."""

_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Replay:
    """What the turns of one conversation took, before the window was full or there were no more commits.

    Attributes:
        sent: tokens added by prompts; ``resent``, by sending every file of the prompt with every turn.
        uploaded: tokens of the contents that were searched, once for every turn.
        whole: tokens sent to a provider that keeps no thread: all that was said so far, with every turn.
        whole_resent: the same, had every turn sent the files as they are, and what was asked and answered before.
        moved: files whose place changed.
        idle: files that an unchanged turn sent again, one after every turn.
        overflow: files that the window did not take.
        is_full: whether it ended for the window.
    """

    turns: int = 0
    sent: int = 0
    resent: int = 0
    uploaded: int = 0
    whole: int = 0
    whole_resent: int = 0
    moved: int = 0
    idle: int = 0
    overflow: int = 0
    is_full: bool = False


Tree = Mapping[str, Content]
"""What a commit holds: the texts in it, by path."""


def find_repositories(data: Path) -> Iterator[Path]:
    """Yield the git repositories, bare ones too, that a folder is or holds a few folders deep."""
    if _is_repository(data):
        yield data
        return
    for at, folders, _ in os.walk(data):
        folders.sort()
        here = Path(at)
        yield from (here / name for name in folders if _is_repository(here / name))
        is_deep = len(here.relative_to(data).parts) + 1 >= _DEEPEST
        folders[:] = [] if is_deep else [name for name in folders if not _is_repository(here / name)]


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def history(repository: Path, turns: int) -> list[Tree]:
    """Return what the last commits of a repository hold, the oldest first.

    Raises:
        NotMeasuredError: it is no repository, or has too few commits.
    """
    commits = _git(repository, "rev-list", "--first-parent", f"--max-count={turns}", "HEAD").decode().split()[::-1]
    if len(commits) < 2:
        raise NotMeasuredError(f"{repository.name} has too few commits")
    trees = [list(_entries(repository, commit)) for commit in commits]
    contents = _contents(repository, sorted({number for tree in trees for _, number in tree}))
    return [{path: contents[number] for path, number in tree if number in contents} for tree in trees]


def _entries(repository: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of ordinary files of a commit, each with the number of its content."""
    for entry in _git(repository, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
        about, _, raw = entry.partition(b"\t")
        mode, _, number = about.decode().split()
        if mode in {"100644", "100755"}:
            yield raw.decode(errors="replace"), number


def _contents(repository: Path, numbers: list[str]) -> dict[str, Content]:
    """Return contents that are texts, by number, each with a time of its own."""
    told = _git(repository, "cat-file", "--batch", fed="".join(f"{number}\n" for number in numbers).encode())
    contents: dict[str, Content] = {}
    at = 0
    for order, number in enumerate(numbers, 1):
        line = told.index(b"\n", at)
        size = int(told[at:line].split()[-1])
        raw = told[line + 1 : line + 1 + size]
        at = line + size + 2
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            contents[number] = Content(text, digest_of(raw), Stat(size, order))
    return contents


def _git(repository: Path, *arguments: str, fed: bytes = b"") -> bytes:
    done = subprocess.run(["git", "-C", str(repository), *arguments], input=fed, capture_output=True, check=False)
    if done.returncode:
        raise NotMeasuredError(f"git {arguments[0]} failed in {repository.name}")
    return done.stdout


def source_of(trees: list[Tree]) -> str:
    """Return the top-level folder that holds the source: ``src``, or the largest beside tests and documents."""
    sizes: dict[str, int] = {}
    for path, content in trees[0].items():
        top, slash, _ = path.partition("/")
        if slash and not top.startswith((".", "test", "doc")):
            sizes[top] = sizes.get(top, 0) + content.stat.size
    return "src" if "src" in sizes else max(sizes, key=lambda top: sizes[top], default="")


def replay(trees: list[Tree], counter: TokenCounter, window: Window, *, with_diffs: bool) -> Replay:
    """Take a turn of one conversation for every commit, and plan an unchanged one after each."""
    source = source_of(trees)
    others = sorted({path.partition("/")[0] for tree in trees for path in tree} - {source})
    state, done, kept, counts = ConversationState(), Replay(), dict[bytes, str](), dict[bytes, int]()
    talk = counter.count(QUESTION) + ANSWER_TOKENS
    for turn, tree in enumerate(trees, 1):
        grown = sum(turn >= growth for growth in GROWTH)
        taken = {source, *others[: len(others) * grown // len(GROWTH)]}
        texts = {path: content for path, content in tree.items() if path.partition("/")[0] in taken}
        plan = _planned(state, texts, counter, window, kept.get if with_diffs else _nothing, turn)
        if plan is None:
            return replace(done, is_full=True)
        for content in plan.overflow.values():
            if content.digest not in counts:
                counts[content.digest] = counter.count(content.text)
        moved = sum((plan.files[path].why is None) != (known.why is None) for path, known in state.files.items())
        held = state.held_tokens
        kept |= {digest: text for digest, text in plan.new_contents.items() if isinstance(text, str)}
        state = ConversationState(turn, plan.files, held + plan.tokens + ANSWER_TOKENS, plan.has_overflowed, "r")
        again = _planned(state, texts, counter, window, kept.get, turn)
        done = Replay(
            turns=turn,
            sent=done.sent + plan.tokens,
            resent=done.resent + plan.resent_tokens,
            uploaded=done.uploaded + sum(counts[content.digest] for content in plan.overflow.values()),
            whole=done.whole + held + plan.tokens,
            whole_resent=done.whole_resent + plan.resent_tokens + talk * (turn - 1),
            moved=done.moved + moved,
            idle=done.idle + (0 if again is None else again.prompt.count("<file-") + again.prompt.count("<diff-")),
            overflow=sum(known.why is not None for known in plan.files.values()),
        )
    return done


def _nothing(_: bytes) -> None:
    return None


def _planned(
    state: ConversationState,
    texts: Tree,
    counter: TokenCounter,
    window: Window,
    read_old: Callable[[bytes], str | None],
    turn: int,
) -> TurnPlan | None:
    """Plan a turn; None where the window is full."""
    stats = ((path, texts[path].stat) for path in sorted(texts))
    found = tuple(SourceFile(path, path, "/", stat.size, stat.mtime_ns) for path, stat in stats)
    try:
        return plan_turn(
            state,
            Gathering(found, ()),
            lambda one: texts[one.path],
            counter,
            window,
            TurnRequest("replay", QUESTION, turn * 1_000_000),
            read_old=read_old,
            is_gone=lambda path: path not in texts,
        )
    except WindowFull:
        return None
