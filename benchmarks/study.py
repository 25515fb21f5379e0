"""A store of 640 items, moment by moment: what starts, prompts and edits of a new window show, and how much of it fits.

It joins two of the stores in ``data/memory``, about a Python library and about a JavaScript library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import memory_stores
from benchmarks.day import answer_of, environ_of_hooks
from benchmarks.harness import Bench, Figure, Section
from benchmarks.session_day import Judge, is_binding
from satchel import open_satchel

LIBRARIES = ("tenacity", "express")
_LEAST_RECALL, _LEAST_PRECISION = 0.6, 0.8
_SEARCHED = 10


@dataclass(slots=True)
class _Shown:
    """What some moments of one kind showed.

    Attributes:
        needed: how many items they should have shown, and ``met`` how many of these they showed.
        items: how many items they showed, and ``fitting`` how many of these fit.
    """

    needed: int = 0
    met: int = 0
    items: int = 0
    fitting: int = 0

    def add(self, names: set[str], needed: set[str], fitting: set[str]) -> None:
        self.needed += len(needed)
        self.met += len(needed & names)
        self.items += len(names)
        self.fitting += len(names & (fitting | needed))

    def figures(self, where: str, least: float) -> Iterator[Figure]:
        """Yield the share of the needed items that was shown, and the share of the shown ones that fit."""
        yield Figure(f"{where}: shown, of {self.needed} needed", self.met / max(1, self.needed), at_least=least)
        precision = self.fitting / max(1, self.items)
        yield Figure(f"{where}: fitting, of {self.items} shown", precision, at_least=_LEAST_PRECISION)


class _Study:
    """Asks hooks at single moments."""

    def __init__(self, project: Path, store: memory_stores.MemoryStore) -> None:
        self._project = project
        self._store = store
        self._numbers = count()
        self._judge = Judge(store, memory_stores.fill(project, store))

    def rules_at_start(self) -> Figure:
        """Return how many of the rules in force a start shows."""
        rules = {label for label, item in self._judge.live.items() if "rule" in item}
        shown = self._judge.names(self._open("w")) & rules
        return Figure(f"start: rules shown, of {len(rules)}", len(shown) / len(rules), at_least=1)

    def prompts(self) -> tuple[_Shown, int, int]:
        """Return what prompts in empty windows show, the number of small ones, and how many of these are answered.

        None counts as the first of its session, which shows what the start left out whatever it is about.
        """
        shown, small, answered = _Shown(), 0, 0
        with mock.patch.dict(os.environ, {"SATCHEL_HOOKS_START": "0", "SATCHEL_HOOKS_FIRST_PROMPT": "0"}):
            for session in self._store.sessions:
                for event in session["events"]:
                    if "prompt" not in event:
                        continue
                    name = self._session()
                    self._open(name)
                    text = self._hook(name, "UserPromptSubmit", {"prompt": event["prompt"]})
                    small += bool(event.get("small"))
                    answered += bool(event.get("small") and text)
                    if event.get("needs"):
                        shown.add(self._judge.names(text), set(event["needs"]), _fitting(session))
        return shown, small, answered

    def searched(self) -> Figure:
        """Return how many of the items that prompts need are among the first ten of a search with the prompt."""
        needed = met = 0
        with open_satchel(self._project / ".satchel" / "satchel.db", cwd=self._project) as satchel:
            for session in self._store.sessions:
                for event in session["events"]:
                    if "prompt" in event and event.get("needs"):
                        hits = satchel.finding.search(event["prompt"], limit=_SEARCHED).results
                        refs = " ".join(hit.ref for hit in hits)
                        needed += len(event["needs"])
                        met += len(self._judge.names(refs) & set(event["needs"]))
        return Figure(f"search with the prompt: in its first {_SEARCHED}, of {needed} needed", met / needed)

    def edits(self, *, after_start: bool) -> _Shown:
        """Return what edits show of the rules that name the file, each in a window of its own.

        Of the rest that is shown, rules and decisions with a path that matches the file fit, and what fits the session.
        """
        shown = _Shown()
        for session in self._store.sessions:
            for file in dict.fromkeys(event["edit"] for event in session["events"] if "edit" in event):
                name = self._session()
                self._open(name, budget=2_200 if after_start else 0)
                edit = {"file_path": str(self._project / file), "old_string": "a", "new_string": "b"}
                text = self._hook(name, "PreToolUse", {"tool_name": "Edit", "tool_input": edit, "tool_use_id": name})
                live = self._judge.live
                binding = {label for label, item in live.items() if _matches(item, file)}
                rules = {label for label in binding if "rule" in live[label] and file in live[label]["paths"]}
                names = {label for label in self._judge.names(text) if self._binds(label)}
                shown.add(names, rules, binding | _fitting(session))
        return shown

    def _binds(self, label: str) -> bool:
        return label in self._judge.live and is_binding(self._judge.live[label])

    def _open(self, session: str, budget: int | None = None) -> str:
        budgets = {} if budget is None else {"SATCHEL_HOOKS_START": str(budget)}
        with mock.patch.dict(os.environ, budgets):
            return self._hook(session, "SessionStart", {"source": "startup"})

    def _session(self) -> str:
        return f"w{next(self._numbers)}"

    def _hook(self, session: str, event: str, fields: Mapping[str, Any]) -> str:
        return answer_of(self._project, session, event, fields)


def _matches(item: memory_stores.Item, file: str) -> bool:
    return any(fnmatch(file, pattern) for pattern in item.get("paths", ()))


def _fitting(session: Mapping[str, Any]) -> set[str]:
    return set(session["fits"]) | {label for event in session["events"] for label in event.get("needs", ())}


def _measure(folder: Path) -> list[Figure]:
    store = memory_stores.joined(*map(memory_stores.load, LIBRARIES))
    with mock.patch.dict(os.environ, environ_of_hooks(folder), clear=True):
        study = _Study(folder / "study", store)
        start = study.rules_at_start()
        searched = study.searched()
        prompts, small, answered = study.prompts()
        alone, later = study.edits(after_start=False), study.edits(after_start=True)
    return [
        Figure("items in the store", len(store.items)),
        start,
        *prompts.figures("prompts", _LEAST_RECALL),
        searched,
        Figure(f"prompts: answered, of {small} that are small talk", answered, at_most=0),
        *alone.figures("before an edit, without a start: rules that name the file", 1),
        *later.figures("before an edit, after a start: rules that name the file", 1),
    ]


def run(bench: Bench) -> Section:
    """Measure the joined store."""
    return Section(
        "640 items, moment by moment",
        tuple(_measure(bench.folder)),
        (
            "Two stores of a month in one, made and labelled by a model before the ranking was written. Each prompt "
            "and edit has a window of its own. Needed at a prompt is what its label names, before an edit a rule with "
            "the file among its paths. Fitting is what the session needs or was labelled as fitting it; before an edit "
            "rules and decisions are counted, and those with a path that matches the file fit.",
        ),
    )
