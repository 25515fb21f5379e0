"""A day of hooks at work: what they put in at prompts, edits and failures, and how much of it the day's key calls for.

The day, its store's items and its key stand in ``data/day``; thousands of made-up items about other subjects stand
beside them. Every event goes through the entry that clients call, in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.content import sqlite_of
from benchmarks.harness import ROOT, Bench, Figure, Section
from satchel import Satchel, open_satchel
from satchel.base.clock import DAY_MS, system_clock
from satchel.base.tokens import token_counter
from satchel.interfaces.hooks import command, state
from satchel.keep.entries.records import NewEntry

DAY = ROOT / "benchmarks" / "data" / "day" / "day.json"
_ITEMS, _QUICK_ITEMS = 10_000, 1_000
_MOST_TOKENS = 2_500
_LEAST_SHARE = 0.5
_BATCH = 500
_REF = re.compile(r"\b[ecdxs]\d+\b")

_THINGS = [
    thing.strip()
    for thing in """
    depot calendar, route planner, pallet manifest, invoice run, tariff table, shift roster, vehicle register, fuel
    card import, customs declaration, returns portal, damage claim form, warehouse scanner, address book, monthly
    report, permission matrix, audit trail, order import, EDI adapter, API key page, holiday calendar, support chat,
    help centre, nightly backup, metrics dashboard, alert rules, email templates, SMS gateway, push notification
    service, signature pad, dock scheduler, pickup window picker, contract archive, credit note, dunning run,
    loyalty programme, partner portal, cost centre sync, ERP bridge, weighbridge driver, camera feed, temperature
    logger, cold chain alarm, driver training module, incident form, lost and found desk, locker terminal, QR
    poster, map tiles, traffic feed, toll calculator, carbon report, packaging catalogue, stock count, replenishment
    job, goods receipt, forklift tracker, badge reader, visitor log, ticket triage, survey mailer, newsletter job,
    cookie banner, landing page, onboarding tour
    """.split(",")
]
_FACTS = (
    "The {a} loads the {b} at start, which adds {n} ms to the first request.",
    "When the {a} is empty the {b} shows a blank page instead of a message.",
    "{n} tests of the {a} were slow because each built the {b} anew; they share a fixture now.",
    "The {a} caches what the {b} returns for {n} minutes; clear it by hand after a change.",
    "The vendor of the {a} drops fields that it does not know, so the {b} sends them twice.",
    "The {a} was written by a contractor, and nobody knows why it polls the {b} every {n} seconds.",
    "Deleting a user leaves rows of the {a} behind; the {b} then fails with a missing key.",
    "The {a} must be restarted after a change of the {b}: it reads its settings once.",
    "An error in the {a} is swallowed by the {b}; look into the worker's log on host {n}.",
    "The {a} sorts by name in the locale C, the {b} by the user's locale: lists differ.",
    "Build {n} of the {a} broke the {b} on Windows, because of backslashes in a path.",
    "The {a} counts a cancelled order as open until the {b} has run at night.",
    "The endpoint of the {a} answers 200 with an error text; the {b} takes that for success.",
    "Uploads to the {a} are limited to {n} MB by the proxy, to more by the {b}.",
    "The {a} needs two migrations to be applied in order, the one of the {b} first.",
    "The team agreed to freeze the {a} until the {b} is replaced in quarter {n}.",
    "On retries the {a} writes a second row; the {b} filters them by their date.",
    "The {a} is the only caller of the old client of the {b}; it can go with version {n}.",
    "The mock of the {a} returns strings where the real {b} returns numbers.",
    "The page of the {a} flickers in dark mode, since the {b} brings its own colours.",
    "In the {a} every button needs a test id; the {b}'s tests click by them.",
    "The {a} writes its files as root in the container, and the {b} cannot remove them.",
    "Log lines of the {a} lack the request id that the {b} would need to join them.",
    "Changing the {a} asks for a review by the team of the {b}: {n} customers use both.",
)
_RULES = (
    "The {a} never calls the {b} directly",
    "Changes to the {a} are announced {n} days before in the channel of the {b}",
    "Every field of the {a} is documented beside the {b}",
    "The {a} stays usable while the {b} is down",
)


@dataclass(slots=True)
class _Counted:
    """What one moment has put in over the day."""

    times: int = 0
    spoke: int = 0
    tokens: int = 0
    shown: int = 0
    relevant: int = 0


@dataclass(slots=True)
class Played:
    """What hooks put in over a day.

    Attributes:
        moments: by the kind of event.
        wanted, met: the pairs of moment and item that the key names and that were still open, and those put in.
        missed, needless: the events with what was not put in, and with what was although it is not relevant.
    """

    moments: dict[str, _Counted] = field(default_factory=dict)
    wanted: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, str]] = field(default_factory=list)
    needless: list[tuple[str, str]] = field(default_factory=list)

    def tokens(self) -> int:
        """Return the tokens of all moments but the briefings."""
        return sum(one.tokens for kind, one in self.moments.items() if kind != "briefing")

    def precision(self, *kinds: str) -> float:
        """Return the share of what was put in that is relevant."""
        some = [self.moments[kind] for kind in kinds]
        return sum(one.relevant for one in some) / max(1, sum(one.shown for one in some))

    def recall(self, *kinds: str) -> float:
        """Return the share of what was wanted that was put in."""
        return sum(self.met[kind] for kind in kinds) / max(1, sum(self.wanted[kind] for kind in kinds))


def run(bench: Bench) -> Section:
    """Play the day in a store of many items."""
    counter = token_counter()
    size = bench.choose(_ITEMS, _QUICK_ITEMS)
    played = play(bench.folder, size)
    figures = [
        Figure(
            f"a day in a project of {size:,} items, besides the briefings",
            played.tokens(),
            "tokens",
            at_most=_MOST_TOKENS,
        ),
        Figure(
            "at prompts and edits: relevant, of what was put in",
            played.precision("prompt", "edit"),
            at_least=_LEAST_SHARE,
        ),
        Figure(
            "at prompts and edits: put in, of what is relevant", played.recall("prompt", "edit"), at_least=_LEAST_SHARE
        ),
    ]
    for kind, one in played.moments.items():
        figures.append(Figure(f"{kind}: tokens, of {one.times} times", one.tokens, "tokens"))
        if kind in {"prompt", "edit"}:
            figures += [
                Figure(f"{kind}: times that something was put in", one.spoke),
                Figure(f"{kind}: relevant, of {one.shown} items put in", played.precision(kind)),
                Figure(f"{kind}: put in, of {played.wanted[kind]} items relevant", played.recall(kind)),
            ]
    return Section(
        "A day of hooks at work",
        tuple(figures),
        (
            "One session of Claude Code with 60 prompts, 40 edits, 10 failing commands and 2 compactions; the key of "
            "what is relevant was written first. What the window has got before, from a briefing too, counts neither "
            f"as wanted nor as put in. Tokens by {'o200k_base' if counter.exact else 'estimate'}.",
        ),
    )


def play(folder: Path, size: int, day: Mapping[str, Any] | None = None) -> Played:
    """Build the project of a day in a folder and play it.

    Args:
        size: how many items the store holds, with those of the day.
        day: as ``data/day/day.json`` has it; None is that.
    """
    day = json.loads(DAY.read_text(encoding="utf-8")) if day is None else day
    project = folder / "harbour"
    (project / ".git").mkdir(parents=True)
    (project / ".satchel").mkdir(mode=0o700)
    _write_files(project, day["files"])
    with mock.patch.dict(os.environ, environ_of_hooks(folder), clear=True):
        refs = _fill(project, day, size)
        _write_files(project, day["changed_before_the_day"])
        return _Player(project, refs).play(day["day"])


def _write_files(project: Path, files: Mapping[str, list[str]]) -> None:
    for name, lines in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fill(project: Path, day: Mapping[str, Any], size: int) -> dict[str, str]:
    """Write the store: thousands of other items, and those of the day among them; return their refs by their names."""
    now = system_clock()
    ticks = count(now - 20 * DAY_MS, max(1, 19 * DAY_MS // size))
    refs: dict[str, str] = {}
    with open_satchel(project / ".satchel" / "satchel.db", cwd=project, clock=lambda: next(ticks)) as satchel:
        with sqlite_of(satchel).exclusive() as connection:
            connection.pragma("synchronous", "OFF")
        others = _others(size - len(day["items"]))
        part = max(1, len(others) // len(day["items"]))
        for number, item in enumerate(day["items"]):
            _write_others(satchel, others[number * part : (number + 1) * part])
            refs[item["id"]] = _write(satchel, item, refs)
        _write_others(satchel, others[len(day["items"]) * part :])
    return refs


def _others(size: int) -> list[tuple[str, str]]:
    """Return items about other subjects: each its kind and its text."""
    chance = random.Random("a day")
    made: dict[str, str] = {}
    while len(made) < size:
        kind = chance.choices(("note", "decision", "rule", "error"), (80, 8, 4, 8))[0]
        first, second = chance.sample(_THINGS, 2)
        text = chance.choice(_RULES if kind == "rule" else _FACTS).format(a=first, b=second, n=chance.randrange(2, 900))
        made[text] = kind
    return [(kind, text) for text, kind in made.items()]


def _write_others(satchel: Satchel, others: list[tuple[str, str]]) -> None:
    notes = [NewEntry("discovery", text) for kind, text in others if kind == "note"]
    for start in range(0, len(notes), _BATCH):
        satchel.entries.write_many(notes[start : start + _BATCH], agent="dev")
    for kind, text in others:
        if kind == "decision":
            key = "_".join(_words(text)[:6])
            satchel.decisions.set(f"other.{key}", text, agent="dev")
        elif kind == "rule":
            satchel.constraints.add(text, agent="dev")
        elif kind == "error":
            satchel.patterns.report("RuntimeError", text, solution=f"Restarted the {_words(text)[1]}.", agent="dev")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _write(satchel: Satchel, item: Mapping[str, Any], refs: Mapping[str, str]) -> str:
    agent = item.get("agent", "mira")
    if "note" in item:
        entry = satchel.entries.write(
            item["note"],
            item["text"],
            agent=agent,
            file=item.get("file"),
            line=item.get("line"),
            supersedes=refs.get(item.get("supersedes", "")),
        )
        if "retracted" in item:
            satchel.corrections.retract(entry.ref, item["retracted"], agent=agent)
        return entry.ref
    if "decision" in item:
        return satchel.decisions.set(item["decision"], item["value"], rationale=item["rationale"], agent=agent).ref
    if "constraint" in item:
        return satchel.constraints.add(
            item["constraint"], category=item["category"], priority=item["priority"], agent=agent
        ).ref
    return satchel.patterns.report(item["error"], item["message"], solution=item["solution"], agent=agent).pattern.ref


class _Player:
    """Plays the events of a day and counts what hooks put in."""

    def __init__(self, project: Path, refs: Mapping[str, str]) -> None:
        self._project = project
        self._names = {ref: name for name, ref in refs.items()}
        self._numbers = count()
        self._got: set[str] = set()
        self._counter = token_counter()
        self.played = Played()

    def play(self, events: list[Mapping[str, Any]]) -> Played:
        """Play all of a day, from the start of its session to its end."""
        self._hear("briefing", "SessionStart", set(), source="startup")
        for event in events:
            wanted = set(event.get("relevant", ()))
            if "prompt" in event:
                self._hear("prompt", "UserPromptSubmit", wanted, prompt=event["prompt"])
            elif "edit" in event:
                given = {"file_path": str(self._project / event["edit"]), "old_string": "a", "new_string": "b"}
                self._hear("edit", "PreToolUse", wanted, tool_name="Edit", tool_input=given)
                self._hear("after an edit", "PostToolUse", set(), tool_name="Edit", tool_input=given, tool_response={})
            elif "command" in event:
                given = {"command": event["command"]}
                said = event["output"]
                self._hear(
                    "failed command", "PostToolUseFailure", set(), tool_name="Bash", tool_input=given, error=said
                )
            else:
                self._got.clear()
                self._hear("briefing", "SessionStart", set(), source="compact")
        given = {"command": "git commit -am 'End of the day'"}
        self._hear("commit", "PostToolUse", set(), tool_name="Bash", tool_input=given, tool_response={"stdout": ""})
        return self.played

    def _hear(self, kind: str, name: str, wanted: set[str], **fields: Any) -> None:
        text = answer_of(self._project, "day", name, {"tool_use_id": f"t{next(self._numbers)}", **fields})
        counted = self.played.moments.setdefault(kind, _Counted())
        counted.times += 1
        counted.tokens += self._counter.count(text) if text else 0
        shown = {self._names.get(ref, ref) for ref in _REF.findall(text)}
        if kind in {"prompt", "edit"}:
            wanted = wanted - self._got
            counted.spoke += bool(text)
            counted.shown += len(shown)
            counted.relevant += len(shown & wanted)
            self.played.wanted[kind] += len(wanted)
            self.played.met[kind] += len(wanted & shown)
            about = str(fields.get("prompt") or fields["tool_input"]["file_path"])
            self.played.missed += [(about, one) for one in sorted(wanted - shown)]
            self.played.needless += [(about, one) for one in sorted(shown - wanted)]
        self._got |= shown


def answer_of(project: Path, session: str, name: str, fields: Mapping[str, Any]) -> str:
    """Call a hook of Claude Code as the client does, in this process; return what it puts in."""
    event = {"session_id": session, "cwd": str(project), "hook_event_name": name, **fields}
    printed: list[str] = []
    with (
        mock.patch.object(command, "_read", return_value=json.dumps(event).encode()),
        mock.patch.object(command, "_print", printed.append),
        mock.patch.object(state, "_SAME_MS", 0),  # a day's events follow each other at once here
        _in(project),
    ):
        assert command.run(["claude", name]) == 0
    return text_of("".join(printed))


def text_of(printed: str) -> str:
    """Return what a hook's answer to Claude Code puts in."""
    answer = json.loads(printed or "{}")
    said = answer.get("hookSpecificOutput", {})
    return str(said.get("additionalContext") or said.get("permissionDecisionReason") or answer.get("reason") or "")


def environ_of_hooks(folder: Path) -> dict[str, str]:
    """Return the environment of hooks that have time and a folder of their own for their state."""
    return {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "SATCHEL_TRUST": "1",
        "SATCHEL_HOOKS_DEADLINE_MS": "60000",
        "PATH": os.environ.get("PATH", ""),
    }


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
