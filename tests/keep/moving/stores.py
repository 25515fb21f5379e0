"""Stores that hold some of everything, and what lines say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import Satchel
from satchel.base.errors import SatchelError
from satchel.keep import projects
from satchel.keep.moving import lines as moving
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.records import Imported
from satchel.keep.moving.taking import Taking, Verdict

if TYPE_CHECKING:
    from conftest import ManualClock

Line = dict[str, Any]
PERSONS = ("human:ann", "human:Bo Ñ")
AGENTS = ("ann", "Ben", "human", "claude-3f2a")
WORDS = ("gateway", "the shop's exports", "naïve 日本語", 'a "quoted" word', "line\nbreak", "token bucket", "2^53")
HOUR = 3_600_000


def dump(satchel: Satchel) -> list[Line]:
    """Return all lines of a store that a plain import takes, without short ids and what it does not trust."""
    every = (line for line in whole_dump(satchel) if not LINE_KINDS[line["kind"]].only_as_written)
    return [_without({"seq", "pinned"}, line) for line in every]


def _without(names: set[str], value: Any) -> Any:
    if isinstance(value, list):
        return [_without(names, one) for one in value]
    if isinstance(value, dict):
        return {name: _without(names, one) for name, one in value.items() if name not in names}
    return value


def whole_dump(satchel: Satchel) -> list[Line]:
    """Return all lines of a store, without short ids."""
    with satchel.workplace.engine.read() as transaction:
        project = projects.find(transaction, satchel.workplace)
        every = list(moving.all_lines(transaction, project.id, satchel.workplace.clock(), damaged=[]))
    return [{name: value for name, value in line.items() if name != "id"} for line in every]


def take(satchel: Satchel, lines: Sequence[Line], source: str = "another store", **options: Any) -> list[Verdict]:
    """Take lines in one transaction."""
    with satchel.workplace.engine.write() as transaction:
        project = projects.ensure(transaction, satchel.workplace, satchel.workplace.clock())
        return Taking(satchel.workplace, source=source, **options).take(transaction, project.id, lines)


def outcomes(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what became of lines."""
    return [verdict.outcome.value for verdict in verdicts]


def export(satchel: Satchel, file: Path) -> Path:
    """Export a store to a file."""
    target = BytesIO()
    satchel.moving.export(target)
    file.write_bytes(target.getvalue())
    return file


def added(result: Imported) -> dict[str, int]:
    """Return how many lines of each kind are new."""
    return {kind.kind: kind.added for kind in result.kinds}


def fill(satchel: Satchel, clock: ManualClock, choices: Sequence[tuple[int, int, int]]) -> None:
    """Do what choices say: the number of an action, and two that it makes its arguments of."""
    for action, first, second in choices:
        clock.advance(1 + first)
        # what is refused, such as a correction of what holds no more, is no part of the store
        with suppress(SatchelError):
            ACTIONS[action % len(ACTIONS)](satchel, first, second)


def _text(first: int, second: int) -> str:
    return f"{WORDS[first % len(WORDS)]} {WORDS[second % len(WORDS)]} {first}"


def _agent(number: int) -> str:
    return AGENTS[number % len(AGENTS)]


def _note(satchel: Satchel, first: int, second: int) -> None:
    kind = ("discovery", "error", "decision")[first % 3]
    place: dict[str, Any] = {"file": f"src/m{second % 3}.py", "line": second + 1} if first % 2 else {}
    satchel.entries.write(
        kind, _text(first, second), agent=_agent(second), task_id=f"t{first % 2}", run_id=_run(satchel, second), **place
    )


def _run(satchel: Satchel, number: int) -> str | None:
    if number % 3:
        return None
    name = f"run-{number % 2}"
    with suppress(SatchelError):
        satchel.runs.start(name, title=f"Build {number}")
    return name


def _structured(satchel: Satchel, first: int, second: int) -> None:
    kinds: tuple[tuple[str, dict[str, object]], ...] = (
        ("scratchpad", {"iteration": first, "next_step": _text(first, second), "blockers": ["none"]}),
        ("review_issue", {"description": _text(second, first)}),
        ("review_verdict", {"passed": bool(first % 2)}),
        ("codebase_analysis", {"summary": _text(first, second), "tech_stack": ["python"]}),
    )
    kind, content = kinds[second % len(kinds)]
    satchel.entries.write(kind, content, loop_id=f"l{first % 2}", agent=_agent(first))


def _decide(satchel: Satchel, first: int, second: int) -> None:
    value: str | float = (_text(first, second), first, second / 7, 2**53)[second % 4]
    given: dict[str, Any] = {"tags": ["API", f"tag{first % 3}"][: first % 3]} if second % 2 else {}
    satchel.decisions.set(
        f"key{first % 4}",
        value,
        layer="data" if first % 2 else None,
        rationale=_text(second, first) if second % 3 else None,
        status=("active", "draft", "deprecated")[second % 3],
        scopes=[f"scope{second % 2}"],
        paths=[f"src/{second % 3}/**", "*.py"][: second % 3],
        agent=_agent(first),
        **given,
    )


def _rule(satchel: Satchel, first: int, second: int) -> None:
    satchel.constraints.add(
        _text(first, second),
        category=("security", "style")[first % 2],
        priority=("low", "high")[second % 2],
        layer="business" if second % 2 else None,
        tags=["testing"] if first % 2 else [],
        paths=["src/**"] if second % 3 else [],
        agent=_agent(second),
    )


def _message(satchel: Satchel, first: int, second: int) -> None:
    satchel.messages.send(
        _text(first, second),
        to=_agent(second) if first % 3 else None,
        type=("info", "request", "warning")[second % 3],
        payload=({"n": first}, None, [1, "two"], "{no json")[second % 4],
        reply_to=f"m{1 + second % 4}" if first % 2 else None,
        agent=_agent(first),
    )


def _read(satchel: Satchel, first: int, _: int) -> None:
    satchel.messages.mark_read(everything=True, agent=_agent(first))


def _edit(satchel: Satchel, first: int, second: int) -> None:
    change = ("created", "modified", "deleted")[first % 3]
    satchel.files.record(f"src/m{second % 3}.py", change, description=_text(first, second), agent=_agent(first))


def _package(satchel: Satchel, first: int, second: int) -> None:
    satchel.packages.save(
        f"what is known of {first}",
        content=_text(first, second),
        consumers=["Developer", "qa"][: second % 3],
        priority=("low", "critical")[first % 2],
        supersedes=f"p{1 + second % 3}" if second % 2 else None,
        task_id="t1" if first % 2 else None,
        agent=_agent(second),
    )


def _error(satchel: Satchel, first: int, second: int) -> None:
    satchel.patterns.report(
        "ValueError",
        f"cannot read {WORDS[first % 3]}",
        lang="python" if second % 2 else None,
        solution=_text(second, first) if second % 3 else None,
        agent=_agent(second),
    )


def _outcome(satchel: Satchel, first: int, second: int) -> None:
    satchel.patterns.outcome(f"y{1 + first % 3}", bool(second % 2), agent=_agent(second))


def _strategy(satchel: Satchel, first: int, second: int) -> None:
    old = f"s{1 + second % 3}" if second % 2 else None
    satchel.strategies.save(f"topic {first % 3}", _text(first, second), supersedes=old, agent="human")


def _tried(satchel: Satchel, first: int, second: int) -> None:
    satchel.strategies.outcome(f"s{1 + first % 3}", bool(second % 2))


def _retract(satchel: Satchel, first: int, second: int) -> None:
    satchel.corrections.retract(f"{'ecs'[second % 3]}{1 + first % 5}", "it is wrong", agent="human")


def _confirm(satchel: Satchel, first: int, second: int) -> None:
    satchel.corrections.confirm(f"{'ecs'[second % 3]}{1 + first % 5}", agent=_agent(first))


def _undo(satchel: Satchel, _first: int, _second: int) -> None:
    satchel.corrections.undo(agent="human")


def _replace(satchel: Satchel, first: int, second: int) -> None:
    satchel.entries.write("discovery", _text(first, second), supersedes=f"e{1 + first % 5}", agent="human")


def _brief(satchel: Satchel, first: int, second: int) -> None:
    satchel.brief("developer", task_id=f"t{first % 2}", iteration=second % 2, agent=_agent(first))


def _end(satchel: Satchel, first: int, _: int) -> None:
    satchel.runs.end(f"run-{first % 2}")


def _pin(satchel: Satchel, first: int, second: int) -> None:
    pins = satchel.pins.pin if first % 7 else satchel.pins.unpin
    pins(f"{'edcsp'[second % 5]}{1 + first % 2}", agent=PERSONS[first % 2])


def _see(satchel: Satchel, first: int, second: int) -> None:
    refs = (None, ["rule"], [f"d{1 + first % 3}"], ["files:Ben"], ["files:?"], [f"m{1 + first % 4}"], ["y1"], ["x1"])
    up_to = None if second % 2 else 1 + first
    satchel.room.see(refs[second % len(refs)], up_to=up_to, person=PERSONS[first % 2])


def _overlook(satchel: Satchel, first: int, second: int) -> None:
    satchel.room.unsee(f"d{1 + first % 3}", person=PERSONS[second % 2])


ACTIONS: tuple[Callable[[Satchel, int, int], None], ...] = (
    *(_note, _structured, _decide, _decide, _rule, _message, _read, _edit, _package, _error, _outcome),
    *(_strategy, _tried, _retract, _confirm, _undo, _replace, _brief, _end, _pin, _pin, _see, _see, _overlook),
)
