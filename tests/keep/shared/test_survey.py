"""Acceptance of texts that are new at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base.records import replace
from satchel.keep.shared.markdown import SharedText, file_name, render
from sharing_clones import Team

SHARED = ".satchel/shared"
UIDS = ("1" * 32, "5" * 32, "9" * 32)
ORDERS = tuple(permutations(UIDS))
Order = tuple[str, ...]

in_any_order = pytest.mark.parametrize(
    "orders", [ORDERS[1::2], pytest.param(ORDERS[::2], marks=pytest.mark.slow)], ids=["each first", "the others"]
)


@pytest.fixture
def clone(tmp_path: Path, from_template: None) -> Iterator[Callable[..., Team]]:
    """A function that returns a team of one, whose branch ``main`` has the given texts, all of them new to it."""
    teams: list[Team] = []

    def make(texts: tuple[SharedText, ...], *, accepts: bool = False) -> Team:
        folder = tmp_path / f"team-{len(teams)}"
        team = Team(folder, ("cy",), accepts=accepts)
        teams.append(team)
        (team.top("cy") / SHARED).mkdir(parents=True)
        for text in texts:
            (team.top("cy") / SHARED / file_name(text)).write_bytes(render(text))
        team.commit("cy")
        return team

    yield make
    for team in teams:
        team.close()
        shutil.rmtree(team.folder, ignore_errors=True)


def _decisions(times: tuple[int, ...]) -> tuple[SharedText, ...]:
    return tuple(
        SharedText("decision", uid, f"agent-{uid[0]}", 1_790_000_000_000 + time, {"key": "db", "status": "active"}, uid)
        for uid, time in zip(UIDS, times, strict=True)
    )


def _errors(times: tuple[int, ...]) -> tuple[SharedText, ...]:
    fields = {"error_type": "ValueError", "message": "bad thing", "hash": "ab" * 32}
    return tuple(
        SharedText(
            "error_pattern",
            uid,
            f"agent-{uid[0]}",
            1_790_000_000_000 + time,
            {**fields, "solutions": [uid[::-1]]},
            f"ValueError: bad thing {uid[0]}",
            (f"solution {uid[0]}",),
        )
        for uid, time in zip(UIDS, times, strict=True)
    )


def _state(team: Team) -> object:
    satchel: Satchel = team.clones["cy"]
    satchel.shared.sync()
    items: list[object] = []
    for decision in satchel.decisions.find(limit=50).items:
        history = satchel.decisions.get(decision.key).history.items
        items.append((decision.value, decision.agent, sorted(str(one.value) for one in history)))
    items += [(error.example, sorted(one.text for one in error.solutions)) for error in satchel.patterns.find().items]
    return items, team.files("cy"), [(one.uid, one.state) for one in satchel.shared.standing(all=True).items]


@in_any_order
@pytest.mark.parametrize(
    ("make", "times"),
    [
        (_decisions, (3, 1, 2)),
        (_decisions, (1, 1, 1)),
        (_errors, (3, 1, 2)),
    ],
)
def test_texts_of_one_key_end_in_the_same_state_in_any_order(
    clone: Callable[..., Team],
    make: Callable[[tuple[int, ...]], tuple[SharedText, ...]],
    times: tuple[int, ...],
    orders: tuple[Order, ...],
) -> None:
    _check_orders(clone, orders, make(times))


@in_any_order
@pytest.mark.parametrize("seconds", [-3_600, 3_600], ids=["older", "newer"])
def test_texts_with_the_key_of_a_local_decision_end_in_the_same_state_in_any_order(
    clone: Callable[..., Team], seconds: int, orders: tuple[Order, ...]
) -> None:
    texts = _decisions((1, 2, 3))
    _check_orders(clone, orders, texts, local_time=texts[0].time + seconds * 1_000)


def _check_orders(
    clone: Callable[..., Team],
    orders: tuple[Order, ...],
    texts: tuple[SharedText, ...],
    local_time: int | None = None,
) -> None:
    def prepare(*, accepts: bool = False) -> Team:
        team = clone(texts, accepts=accepts)
        if local_time is not None:
            after, team.now = team.now, local_time
            team.set("cy", "db", "local")
            team.now = after
        return team

    team = prepare()
    assert len(team.clones["cy"].shared.sync().waiting) == 3
    team.accept("cy")
    expected = _state(team)
    automatic = prepare(accepts=True)
    automatic.sync("cy")
    assert _state(automatic) == expected
    for order in orders:
        team = prepare()
        for uid in order:
            assert not team.clones["cy"].shared.accept([uid]).failed
        assert _state(team) == expected


def test_a_session_accepts_one_of_several_texts_of_a_key(clone: Callable[..., Team]) -> None:
    """Nobody would notice that the others were merged into it."""
    team = clone(_decisions((1, 2, 3)), accepts=True)
    team.clones["cy"].shared.read_news()
    assert team.clones["cy"].decisions.find().total == 1
    standing = team.clones["cy"].shared.standing()
    assert [(one.why or "")[:27] for one in standing.items] == ["another item has this key: "] * 2


def test_a_text_with_the_key_of_another_item_changes_neither(clone: Callable[..., Team]) -> None:
    one, other, _ = _decisions((1, 2, 3))
    other = replace(other, fields={**other.fields, "key": "cache"})
    team = clone((one, other))
    team.accept("cy")
    path = team.top("cy") / SHARED / file_name(other)
    path.write_bytes(render(replace(other, fields=one.fields)))
    done = team.clones["cy"].shared.accept(all=True)
    assert [reason for _, reason in done.failed] == ["its key is that of d1: change the key"]
    decisions = team.clones["cy"].decisions.find(limit=50).items
    assert {decision.key: decision.value for decision in decisions} == {"db": one.body, "cache": other.body}
