"""What tests of consultations share: a model that does what prompts say, and a desk with files to plan turns for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from satchel.base.tokens import TokenCounter
from satchel.consult.planning import plan_turn
from satchel.consult.prompts import FOLLOWING, OPENING
from satchel.consult.records import (
    Content,
    ConversationState,
    Gathering,
    HeldBack,
    SourceFile,
    Stat,
    TurnPlan,
    TurnRequest,
    Window,
    digest_of_text,
)


def by_length(text: str, _kind: str | None) -> int:
    """Count a token for every four characters."""
    return (len(text) + 3) // 4


COUNTER = TokenCounter("length", True, None, by_length)


@dataclass(frozen=True)
class Block:
    """A part of a prompt, as its first line names it."""

    name: str
    attributes: Mapping[str, str]
    body: str

    @property
    def paths(self) -> list[str]:
        """The paths of a list, one to a line."""
        return [json.loads(line) for line in self.body.splitlines()]


def blocks_of(prompt: str) -> list[Block]:
    """Read a prompt strictly: after the introduction it is nothing but parts, one after the other."""
    introduction = OPENING if prompt.startswith(OPENING) else FOLLOWING
    assert prompt.startswith(introduction)
    named = re.compile(r"The mark of this message is ([0-9]+)\.\n").match(prompt, len(introduction))
    assert named is not None
    mark = named[1]
    first = re.compile(rf"<([a-z]+)-{mark}((?: [a-z]+=\"[^\n]*\")?)>\n")
    blocks: list[Block] = []
    at = named.end()
    while at < len(prompt):
        begun = first.match(prompt, at)
        assert begun is not None, prompt[at : at + 80]
        last = f"</{begun[1]}-{mark}>\n"
        end = prompt.index(last, begun.end())
        attributes = _attributes(begun[2])
        body = prompt[begun.end() : end]
        if attributes.pop("newline", "") == "none":
            assert body.endswith("\n")
            body = body[:-1]
        blocks.append(Block(begun[1], attributes, body))
        at = end + len(last)
    assert prompt.count(mark) == 1 + 2 * len(blocks), "the mark occurs inside a part"
    return blocks


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while text:
        key, _, rest = text.removeprefix(" ").partition("=")
        value, end = json.JSONDecoder().raw_decode(rest)
        found[key] = value
        text = rest[end:]
    return found


def patched(old: str, diff: str) -> str:
    """Apply a unified diff, refusing what does not match the old text exactly."""
    before = re.findall(r"[^\n]*\n|[^\n]+", old)
    after: list[str] = []
    at = 0
    lines = re.findall(r"[^\n]*\n", diff)
    assert "".join(lines) == diff
    while lines:
        header = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n", lines.pop(0))
        assert header is not None
        low, size, new_low, new_size = map(int, header.groups())
        start = low - (size > 0)
        after += before[at:start]
        at = start
        assert len(after) == new_low - (new_size > 0)
        begun, new_begun = at, len(after)
        while lines and not lines[0].startswith("@@"):
            line = lines.pop(0)
            sign, text = line[0], line[1:]
            assert sign in " -+"
            if lines and lines[0].startswith("\\"):
                assert lines.pop(0) == "\\ No newline at end of file\n"
                text = text.removesuffix("\n")
            if sign != "+":
                assert before[at] == text
                at += 1
            if sign != "-":
                after.append(text)
        assert (at - begun, len(after) - new_begun) == (size, new_size)
    return "".join(after + before[at:])


@dataclass
class Reader:
    """A model that does what the prompts say, and holds what comes of it.

    Attributes:
        files: contents of files, by path.
        sent: paths whose content the last prompt gave, whole or as a diff.
        listed: paths that are announced as gone or withheld, until they come again.
    """

    files: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    has_heard: bool = False

    def hear(self, prompt: str, searchable: Iterable[str]) -> None:
        """Read the prompt of a turn."""
        assert prompt.startswith(FOLLOWING) == self.has_heard
        self.has_heard = True
        self.sent = []
        self.diffs = []
        blocks = blocks_of(prompt)
        order = ["briefing", "map", "files", "removed", "withheld", "said", "request"]
        kinds = {"file": "files", "diff": "files", "asked": "said", "answered": "said"}
        places = [order.index(kinds.get(block.name, block.name)) for block in blocks]
        assert places == sorted(places)
        for block in blocks:
            if block.name in {"file", "diff"}:
                path = block.attributes["path"]
                assert not self.sent or self.sent[-1] < path
                self.sent.append(path)
                self.listed.discard(path)
            if block.name == "file":
                assert (path in self.files) == (block.attributes.get("replaces") == "yes")
                self.files[path] = block.body
            elif block.name == "diff":
                self.diffs.append(path)
                self.files[path] = patched(self.files[path], block.body)
            elif block.name in {"removed", "withheld"}:
                for gone in block.paths:
                    assert gone not in self.listed
                    self.files.pop(gone, None)
                    self.listed.add(gone)
        self.listed.difference_update(searchable)


@dataclass
class OnDisk:
    """A file of the desk; one that is held back has the reason."""

    text: str
    mtime_ns: int
    reason: str | None = None

    @property
    def stat(self) -> Stat:
        return Stat(len(self.text.encode()), self.mtime_ns)


@dataclass
class Desk:
    """Files and one conversation about them, without a disk, a store or a provider."""

    now: int = 1_795_000_000_000
    disk: dict[str, OnDisk] = field(default_factory=dict)
    state: ConversationState = field(default_factory=ConversationState)
    blobs: dict[bytes, str] = field(default_factory=dict)
    reader: Reader = field(default_factory=Reader)
    reads: list[str] = field(default_factory=list)
    counter: TokenCounter = COUNTER
    window: Window = field(default_factory=lambda: Window(20_000, 1_000))

    def write(self, path: str, text: str, *, age_ms: int = 60_000) -> None:
        """Write a file, a minute ago unless said otherwise."""
        self.disk[path] = OnDisk(text, (self.now - age_ms) * 1_000_000)

    def gathered(self, paths: Iterable[str] | None = None) -> Gathering:
        """Look at files: all, or those that are named and there."""
        asked = sorted(self.disk if paths is None else set(paths) & self.disk.keys())
        stats = [(path, self.disk[path].stat) for path in asked]
        files = [SourceFile(path, f"/p/{path}", "/p", stat.size, stat.mtime_ns) for path, stat in stats]
        # names are held back when they are looked at, contents when they are read
        early = [file for file in files if self.disk[file.path].reason == "secret_name"]
        held = tuple(HeldBack(file.path, "secret_name", "its name says so") for file in early)
        return Gathering(tuple(file for file in files if file not in early), held)

    def read(self, found: SourceFile) -> Content | HeldBack:
        """Read a file as reading does."""
        self.reads.append(found.path)
        file = self.disk[found.path]
        if file.reason is not None:
            return HeldBack(found.path, file.reason, "it is held back")
        return Content(file.text, digest_of_text(file.text), file.stat)

    def plan(
        self,
        paths: Iterable[str] | None = None,
        request: TurnRequest | None = None,
        read: Callable[[SourceFile], Content | HeldBack] | None = None,
    ) -> TurnPlan:
        """Plan a turn over all files, or those that are named."""
        self.reads.clear()
        request = request or TurnRequest("s", "What is wrong here?", self.now)
        return plan_turn(
            self.state,
            self.gathered(paths),
            read or self.read,
            self.counter,
            self.window,
            replace(request, now=self.now),
            read_old=self.blobs.get,
            is_gone=lambda path: path not in self.disk,
        )

    def commit(self, plan: TurnPlan, answer_tokens: int = 20) -> TurnPlan:
        """Let the model read a planned turn and answer it."""
        self.reader.hear(plan.prompt, plan.overflow)
        self.blobs |= {digest: text for digest, text in plan.new_contents.items() if isinstance(text, str)}
        self.state = ConversationState(
            turns=self.state.turns + 1,
            files=plan.files,
            held_tokens=self.state.held_tokens + plan.tokens + answer_tokens,
            has_overflowed=plan.has_overflowed,
            provider_ref=f"r{self.state.turns}",
        )
        return plan

    def turn(self, paths: Iterable[str] | None = None, request: TurnRequest | None = None) -> TurnPlan:
        """Plan a turn, let the model read it, and let ten seconds pass."""
        plan = self.commit(self.plan(paths, request))
        self.now += 10_000
        return plan


LONG = "".join(f"line {n} of a file that is long enough\n" for n in range(60))
"""A text of about 580 tokens."""


def desk_with(*paths: str, text: str = LONG) -> Desk:
    """Make a desk with files that hold their own path and a text."""
    desk = Desk()
    for path in paths:
        desk.write(path, f"{path}\n{text}")
    return desk


def named(plan: TurnPlan, name: str) -> list[str]:
    """Return the paths of the parts of a prompt that have a name."""
    return [block.attributes["path"] for block in blocks_of(plan.prompt) if block.name == name]
