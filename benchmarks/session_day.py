"""Ten hooked sessions over each store of ``data/memory``: what each moment said, what it should have said, tokens.

``python -m benchmarks.session_day [--show] [tenacity httpx express grown]`` prints a table for each store.
With ``--show``, what every moment of the main session said and what was missing by then (``--show all``: of all ten).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import memory_stores
from benchmarks.day import answer_of, environ_of_hooks, text_of
from benchmarks.harness import WORKSHOP, Bench, Figure, Section, section_text
from benchmarks.memory_stores import Item, MemoryStore
from benchmarks.start_up import satchel_command
from satchel import open_satchel
from satchel.base.tokens import token_counter
from satchel.interfaces.setup import clients

GROWN = "grown"
STORES = (*memory_stores.NAMES, GROWN)
_MOST_TOKENS, _MOST_CHARS = 4_000, 9_000
_LEAST_BINDING, _LEAST_BINDING_GROWN, _LEAST_OTHERS = 0.95, 0.75, 0.5
_BRIEFING_TOKENS, _LEAST_BRIEFED = 1_500, 0.7

_REF = re.compile(r"\b[ecx]\d+\b|\bd\d+\b")
_TOOLS = {event.name: event.matchers["claude"] for event in clients.EVENTS if event.matchers}
"""The tools of Claude Code for which setup installs a hook, by the event."""

_HEAD_CHARS = 40
"""Of a rule that has no words without which it is of no use, so many characters at its start must be shown."""

Hook = Callable[[str, str, Mapping[str, Any]], str]
"""Call a hook with the session, the name of the event and its fields, and return what it says."""


class Judge:
    """Finds which items of a store a text shows."""

    def __init__(self, store: MemoryStore, labels: Mapping[str, str]) -> None:
        self.live = store.live()
        self._labels = labels

    def tells(self, text: str, label: str) -> bool:
        """Whether a text shows an item so that it is of use: what a rule or decision says, the title of others."""
        item = self.live[label]
        return self._says(text, item) or (not is_binding(item) and label in self.names(text))

    def names(self, text: str) -> set[str]:
        """Return the labels of the items that a text shows in whole or in part."""
        flat = _flat(text)
        refs = {self._labels[ref] for ref in _REF.findall(text) if ref in self._labels}
        return refs | {label for label, item in self.live.items() if is_binding(item) and self._says(flat, item)}

    @staticmethod
    def _says(text: str, item: Item) -> bool:
        flat = _flat(text)
        if "decision" in item:
            is_named = re.search(rf"(?<![\w.]){re.escape(item['decision'])}\b", flat) is not None
            return is_named and _flat(item.get("says", item["value"][:_HEAD_CHARS])) in flat
        words = item.get("says") or (item["rule"][:_HEAD_CHARS] if "rule" in item else None)
        return words is not None and _flat(words) in flat


def is_binding(item: Item) -> bool:
    """Whether an item is a rule or a decision."""
    return "rule" in item or "decision" in item


def _flat(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class Moment:
    """One event of a session and what hooks said at it.

    Attributes:
        kind: start, prompt, small, task, read, edit, run, compact or subagent.
        about: its prompt, file or command.
        text: of its hooks, and ``after`` the text that came only after an edit.
        needed: the labels that must have been shown by now, and ``missed`` those of them that were not.
        stray: what was shown here and neither is needed in the session nor fits it.
        count: how many items were shown here.
    """

    kind: str
    about: str
    text: str = ""
    after: str = ""
    needed: Sequence[str] = ()
    missed: Sequence[str] = ()
    stray: Sequence[str] = ()
    count: int = 0


@dataclass(slots=True)
class Played:
    """A session as it was played."""

    moments: list[Moment] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The texts of all hooks."""
        return [text for moment in self.moments for text in (moment.text, moment.after) if text]


class Player:
    """Plays sessions through hooks."""

    def __init__(self, hook: Hook, judge: Judge, project: Path) -> None:
        self._hook = hook
        self._judge = judge
        self._project = project
        self._numbers = count()

    def play(self, number: int, session: Mapping[str, Any]) -> Played:
        """Play one session from its start to its end."""
        played = Played()
        needed = {label for event in session["events"] for label in event.get("needs", ())}
        fitting = needed | set(session["fits"])
        name = f"s{number}"
        window = [self._hook(name, "SessionStart", {"source": "startup"})]
        played.moments.append(self._moment("start", "", window[0], "", (), window, fitting))
        for event in session["events"]:
            kind, about, text, after = self._hear(name, event)
            if kind == "compact":
                window.clear()
            before = [text] if kind == "subagent" else [*window, text]
            played.moments.append(self._moment(kind, about, text, after, event.get("needs", ()), before, fitting))
            if kind != "subagent":
                window += [text, after]
        if session.get("end") != "kill":
            self._hook(name, "SessionEnd", {"reason": "other"})
        return played

    def _hear(self, session: str, event: Mapping[str, Any]) -> tuple[str, str, str, str]:
        """Return an event's kind and subject, and the texts at it and after it."""
        used = {"tool_use_id": f"t{next(self._numbers)}"}
        if "prompt" in event:
            kind = "task" if event.get("task") else "small" if event.get("small") else "prompt"
            return kind, event["prompt"], self._hook(session, "UserPromptSubmit", {"prompt": event["prompt"]}), ""
        if "compact" in event:
            return "compact", "", self._hook(session, "SessionStart", {"source": "compact"}), ""
        if "subagent" in event:
            fields = {"agent_type": event["subagent"], "agent_id": f"a{next(self._numbers)}"}
            return "subagent", event["subagent"], self._hook(session, "SubagentStart", fields), ""
        if "run" in event:
            fields = {"tool_name": "Bash", "tool_input": {"command": event["run"]}, **used}
            if "fails" in event:
                text = self._hook(session, "PostToolUseFailure", fields | {"error": event["fails"]})
            else:
                text = self._hook(session, "PostToolUse", fields | {"tool_response": {"stdout": event["ok"]}})
            return "run", event["run"], text, ""
        kind = "read" if "read" in event else "edit"
        fields = {"tool_name": kind.capitalize(), "tool_input": {"file_path": str(self._project / event[kind])}, **used}
        if kind == "edit":
            fields["tool_input"] |= {"old_string": event["old"], "new_string": event["new"]}
        before = self._hook(session, "PreToolUse", fields)
        after = self._hook(session, "PostToolUse", fields | {"tool_response": {}})
        # what comes with a file that is read comes in time
        return (kind, event[kind], before, after) if kind == "edit" else (kind, event[kind], f"{before}\n{after}", "")

    def _moment(
        self, kind: str, about: str, text: str, after: str, needed: Sequence[str], window: list[str], fitting: set[str]
    ) -> Moment:
        whole = "\n".join(window)
        names = self._judge.names(f"{text}\n{after}")
        return Moment(
            kind,
            about,
            text.strip(),
            after,
            needed,
            [label for label in needed if not self._judge.tells(whole, label)],
            sorted(names - fitting),
            len(names),
        )


def play(folder: Path, name: str, *, only_main: bool = False, in_processes: bool = False) -> tuple[list[Played], Judge]:
    """Write a store into a folder and play its sessions.

    Args:
        name: one of :data:`STORES`.
        only_main: the main session alone.
        in_processes: call ``satchel hook`` as clients do, not the same code in this process.
    """
    store = _store(name)
    project = folder / store.name.partition(",")[0]
    environ = environ_of_hooks(folder)

    def call(session: str, event: str, fields: Mapping[str, Any]) -> str:
        if "tool_name" in fields and not re.fullmatch(_TOOLS[event], fields["tool_name"]):
            return ""
        if not in_processes:
            return answer_of(project, session, event, fields)
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
        done = subprocess.run(
            [satchel_command(), "hook", "claude", event],
            input=json.dumps(payload).encode(),
            capture_output=True,
            cwd=project,
            env=environ,
            check=True,
        )
        return text_of(done.stdout.decode())

    with mock.patch.dict(os.environ, environ, clear=True):
        judge = Judge(store, memory_stores.fill(project, store))
        player = Player(call, judge, project)
        sessions = store.sessions[:1] if only_main else store.sessions
        return [player.play(number, session) for number, session in enumerate(sessions)], judge


def _store(name: str) -> MemoryStore:
    return memory_stores.grown(memory_stores.load(memory_stores.GROWN)) if name == GROWN else memory_stores.load(name)


def figures(folder: Path, name: str) -> tuple[list[Figure], list[Played]]:
    """Play a store's sessions and return the figures on them."""
    folder.mkdir()
    played, judge = play(folder, name)
    counter = token_counter()
    store = _store(name)
    least = _LEAST_BINDING_GROWN if name == GROWN else _LEAST_BINDING
    tokens = [sum(counter.count(text) for text in one.texts) for one in played]
    rows = []
    for whose, some in (("main session", played[:1]), ("ten sessions", played)):
        for what, binding, target in (("rules and decisions", True, least), ("fixes and notes", False, _LEAST_OTHERS)):
            reached, of = _count_met(some, judge, binding=binding)
            rows.append(Figure(f"{store.name}: {whose}: {what}, of {of} needed", reached / max(1, of), at_least=target))
    task, others = _at(played, "task"), _at(played, "prompt", "edit", "read")
    small = _at(played, "small")
    longest = max(len(text) for one in played for text in one.texts)
    rows += [
        Figure(f"{store.name}: tokens of the main session", tokens[0], "tokens", at_most=_MOST_TOKENS),
        Figure(f"{store.name}: tokens of the longest session", max(tokens), "tokens", at_most=_MOST_TOKENS),
        Figure(f"{store.name}: tokens of ten sessions, the mean", sum(tokens) / len(tokens), "tokens"),
        Figure(f"{store.name}: tokens of starts, the mean", _mean(counter.count(m.text) for m in _at(played, "start"))),
        Figure(f"{store.name}: the longest answer, characters", longest, at_most=_MOST_CHARS),
        Figure(f"{store.name}: fitting, of {sum(one.count for one in task)} items at task prompts", _precision(task)),
        Figure(
            f"{store.name}: fitting, of {sum(one.count for one in others)} items at other prompts, reads and edits",
            _precision(others),
        ),
        Figure(
            f"{store.name}: answered, of {len(small)} that are small talk", sum(bool(m.text) for m in small), at_most=0
        ),
        *_briefed(folder, store, judge, name),
    ]
    return rows, played


def _mean(values: Iterable[float]) -> float:
    some = list(values)
    return sum(some) / max(1, len(some))


def _at(played: Sequence[Played], *kinds: str) -> list[Moment]:
    return [moment for one in played for moment in one.moments if moment.kind in kinds]


def _precision(moments: Sequence[Moment]) -> float:
    total = sum(one.count for one in moments)
    return (total - sum(len(one.stray) for one in moments)) / max(1, total)


def _count_met(played: Sequence[Played], judge: Judge, *, binding: bool) -> tuple[int, int]:
    moments = [moment for one in played for moment in one.moments]
    needed = [label for one in moments for label in one.needed if is_binding(judge.live[label]) == binding]
    missed = [label for one in moments for label in one.missed if is_binding(judge.live[label]) == binding]
    return len(needed) - len(missed), len(needed)


def _briefed(folder: Path, store: MemoryStore, judge: Judge, name: str) -> list[Figure]:
    """Return what ``get_briefing`` with the task as its query shows of what the main session needs."""
    project = folder / store.name.partition(",")[0]
    with (
        mock.patch.dict(os.environ, environ_of_hooks(folder), clear=True),
        open_satchel(project / ".satchel" / "satchel.db", cwd=project) as satchel,
    ):
        text = satchel.brief(query=store.task, budget=_BRIEFING_TOKENS, agent="reader", dry_run=True).text
    needed = dict.fromkeys(label for event in store.sessions[0]["events"] for label in event.get("needs", ()))
    rows = []
    for what, binding in (("rules and decisions", True), ("fixes and notes", False)):
        some = [label for label in needed if is_binding(judge.live[label]) == binding]
        target = _LEAST_BRIEFED if binding and name != GROWN else None
        value = sum(judge.tells(text, label) for label in some) / len(some)
        rows.append(Figure(f"{store.name}: get_briefing(query=task): {what} of {len(some)}", value, at_least=target))
    return rows


def run(bench: Bench) -> Section:
    """Play the sessions of every store, and the main one of the first through real processes."""
    rows = []
    for name in STORES[: bench.choose(len(STORES), 1)]:
        bench.progress.say(name)
        rows += figures(bench.folder / name, name)[0]
    (bench.folder / "real").mkdir()
    played, judge = play(bench.folder / "real", STORES[0], only_main=True, in_processes=True)
    reached, of = _count_met(played, judge, binding=True)
    rows.append(Figure(f"{STORES[0]}: main session in real processes: rules and decisions, of {of}", reached / of))
    return Section(
        "Ten sessions over a month of memory",
        tuple(rows),
        (
            "Items and labels were made by a model before the ranking was written. Needed is what must have been shown "
            "by the moment named: the words that matter of a rule or decision, at least the title of others. Fitting "
            "is what is needed at any moment of the session or was labelled as fitting it.",
        ),
    )


def _show(played: Sequence[Played]) -> None:
    for number, one in enumerate(played):
        print(f"\n==== session {number} ====")
        for moment in one.moments:
            print(f"\n-- {moment.kind}: {moment.about.splitlines()[0] if moment.about else ''}")
            print("\n".join(filter(None, [moment.text, moment.after and f"(after it) {moment.after}"])) or "(nothing)")
            if moment.missed:
                print(f"   MISSED: {', '.join(moment.missed)}")
            if moment.stray and moment.kind not in {"start", "compact"}:
                print(f"   stray: {', '.join(moment.stray)}")


def main() -> None:
    """Print the figures of the stores that were options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.session_day", description=__doc__)
    parser.add_argument("stores", nargs="*", default=STORES, help=f"of {', '.join(STORES)}")
    parser.add_argument("--show", nargs="?", const="main", choices=("main", "all"), help="what each moment said")
    options = parser.parse_args()
    WORKSHOP.mkdir(exist_ok=True)
    for name in options.stores:
        with tempfile.TemporaryDirectory(prefix="run-", dir=WORKSHOP) as folder:
            rows, played = figures(Path(folder) / name, name)
        if options.show:
            _show(played if options.show == "all" else played[:1])
        print(section_text(Section(name, tuple(rows))))


if __name__ == "__main__":
    main()
