"""Stats, forget and rebuild over a store that holds more than notes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from consult.answered_turns import known, take_turn
from satchel import Satchel, open_satchel
from satchel.base.tokens import token_counter
from satchel.consult.conversations import Conversations

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(folder: Path) -> None:
    """Something of every kind: of decisions, constraints and packages one each of two states."""
    with open_satchel(cwd=folder, environ={}, agent="ann") as satchel:
        satchel.decisions.set("alpha", "first", tags=["api"], scopes=["gateway"])
        satchel.decisions.set("omega", 2, status="draft")
        satchel.constraints.add("never say alpha")
        satchel.corrections.retract(satchel.constraints.add("old").ref)
        satchel.messages.send("hello", to="bob")
        satchel.files.record("src/a.py", "modified")
        satchel.files.claim(["src/a.py"])
        first = satchel.packages.save("first", content="x")
        satchel.packages.save("second", content="x", supersedes=first.ref)
        satchel.patterns.report("KeyError", "no id", solution="look again")
        satchel.strategies.save("topic", "say it twice")
        take_turn(Conversations(satchel.workplace), known("a.py"), contents=("text",), prompt="x", answer="y" * 2_000)


def opened(folder: Path) -> Satchel:
    return open_satchel(cwd=folder, environ={})


@pytest.mark.usefixtures("store")
def test_stats_show_everything_that_is_kept(cli: Cli) -> None:
    status, out, _ = cli("stats")
    assert status == 0
    assert "2 decisions (1 active, 0 deprecated, 1 draft)" in out
    assert "2 rules (1 active, 1 inactive)" in out
    assert "\n1 file change, 1 message, 1 error, 1 strategy\n" in out
    assert "1 claim, 1 solution, 0 deliveries" in out
    assert "0 own tags, 1 scope" in out
    assert "2 packages (1 live, 1 superseded)" in out
    assert (
        "1 conversation of 1 turn (2.0 kB, contents 12 B), 100 tokens sent, 300 saved, 0 vector stores recorded"
    ) in out
    assert " bytes per item" in out


@pytest.mark.usefixtures("store")
def test_stats_give_every_count_as_json(cli: Cli) -> None:
    counted = json.loads(cli("stats", "--json")[1])
    assert counted["decisions"] == {"active": 1, "deprecated": 0, "draft": 1}
    assert counted["constraints"] == {"active": 1, "inactive": 1}
    assert counted["packages"] == {"live": 1, "superseded": 1}
    names = ("messages", "file_changes", "claims", "tags", "scopes")
    assert [counted[name] for name in names] == [1, 1, 1, 0, 1]
    assert [counted[name] for name in ("error_patterns", "solutions", "strategies", "deliveries")] == [1, 1, 1, 0]
    asked = ("conversations", "turns", "content_bytes", "sent_tokens", "saved_tokens", "vector_stores")
    assert [counted[name] for name in asked] == [1, 1, 12, 100, 300, 0]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        ("d1", "d1 decision:\n alpha: first"),
        ("c1", "c1 constraint:\n never say alpha"),
        ("m1", "m1 message:\n hello"),
        ("y1", "y1 solution:\n look again"),
    ],
)
def test_forget_shows_what_it_would_remove(cli: Cli, ref: str, shown: str) -> None:
    status, out, _ = cli("forget", ref, "--dry-run")
    assert status == 0
    assert out.startswith(shown)
    assert out.endswith("Nothing was removed; this would be removed permanently.\n")


@pytest.mark.usefixtures("store")
def test_forget_removes_a_constraint(cli: Cli, folder: Path) -> None:
    status, out, _ = cli("forget", "c1", "--yes", "--json")
    assert status == 0
    assert {key: json.loads(out)[key] for key in ("ref", "kind", "done")} == {
        "ref": "c1",
        "kind": "constraint",
        "done": True,
    }
    with opened(folder) as satchel:
        assert [constraint.ref for constraint in satchel.constraints.find(status="all")] == ["c2"]


@pytest.mark.usefixtures("store")
def test_forget_removes_one_solution(cli: Cli, folder: Path) -> None:
    status, out, _ = cli("forget", "y1", "--yes", "--json")
    assert (status, json.loads(out)["kind"], json.loads(out)["done"]) == (0, "solution", True)
    with opened(folder) as satchel:
        assert [one.solutions for one in satchel.patterns.find()] == [()]


@pytest.mark.usefixtures("store")
def test_forget_wants_the_letter_of_an_id(cli: Cli) -> None:
    status, _, err = cli("forget", "1", "--yes")
    assert status == 2
    assert "'1' is no item's id" in err


@pytest.mark.usefixtures("store")
def test_rebuild_counts_anew(cli: Cli, folder: Path) -> None:
    with opened(folder) as satchel, satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM decision_counts")
    assert cli("doctor")[0] == 9
    assert cli("doctor", "--rebuild")[0] == 0
    assert cli("doctor")[0] == 0


@pytest.mark.usefixtures("store")
def test_doctor_examines_conversations(cli: Cli, folder: Path) -> None:
    assert "ok      conversations: every turn can be read, 1 in all\n" in cli("doctor", "--verbose")[1]
    with opened(folder) as satchel, satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE conversation_turns SET prompt = :bytes", {"bytes": b"no zlib"})
    status, out, _ = cli("doctor", "--json")
    assert status == 9
    assert {one["name"]: one["status"] for one in json.loads(out)}["conversations"] == "failed"


@pytest.mark.usefixtures("store")
def test_clear_removes_conversations_of_an_age(cli: Cli) -> None:
    assert cli("clear", "--conversations-days", "1")[1] == "nothing is old enough to be removed\n"
    assert cli("clear", "--conversations-days", "0", "--yes")[1] == "removed 1 conversation\n"
    assert json.loads(cli("stats", "--json")[1])["conversations"] == 0


@pytest.mark.usefixtures("store")
def test_doctor_names_the_command_that_makes_token_counts_exact(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    token_counter.cache_clear()
    try:
        _, out, _ = cli("doctor", "--verbose")
    finally:
        token_counter.cache_clear()
    line = next(line for line in out.splitlines() if "tokens: estimated" in line)
    assert "for exact counts run `" in line
    assert "[tokens]'`" in line
