"""Reading sqlew databases of every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from keep.importing.read import NOW, at, read_sqlew, values
from sqlew_databases import FORMATS, Made, sample

HAVE_AGENTS = ("1.0", "documented", "3.5", "3.6", "3.9")


@pytest.mark.parametrize("release", FORMATS)
def test_a_decision_comes_with_all_of_its_states_in_order(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    first = store.of("decision")[0]
    assert (first.key, values(first)) == ("session_store", ["memory", "postgres", "redis"])
    assert [state.version for state in first.states] == ["1.0.0", "1.1.0", "2.0.0"]
    assert [state.set_at for state in first.states] == [at(NOW - ago) for ago in (600, 300, 60)]
    assert first.created_at == at(NOW - 600)


@pytest.mark.parametrize("release", FORMATS)
def test_what_history_does_not_record_is_not_known(tmp_path: Path, release: str) -> None:
    first = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("decision")[0]
    assert [(state.status, state.layer) for state in first.states] == [("active", None)] * 2 + [("draft", "data")]
    assert (first.tags, first.scopes) == (["security", "gateway-limits"], ["gateway"])
    assert not any("tags" in state for state in first.history)


@pytest.mark.parametrize("release", FORMATS)
def test_a_number_comes_as_a_number(tmp_path: Path, release: str) -> None:
    second = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("decision")[1]
    assert (second.key, values(second)) == ("session_ttl", [300.0])


@pytest.mark.parametrize("release", FORMATS)
def test_constraints_come_with_everything(tmp_path: Path, release: str) -> None:
    held, dropped = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("constraint")
    assert (held.text, held.category, held.priority, held.layer) == (
        "tokens are never logged",
        "security",
        "critical",
        "data",
    )
    assert (held.tags, held.status, held.created_at) == (["security"], "active", at(NOW - 40))
    assert (dropped.status, dropped.tags, dropped.priority) == ("inactive", None, "low")


@pytest.mark.parametrize("release", HAVE_AGENTS)
def test_agents_come_where_the_format_has_them(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert [state.agent for state in store.of("decision")[0].states] == ["builder", "planner", "planner"]
    assert [constraint.agent for constraint in store.of("constraint")] == ["planner", "builder"]


@pytest.mark.parametrize("release", ["4", "5"])
def test_a_format_without_agents_says_so(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert {state.agent for decision in store.of("decision") for state in decision.states} == {None}
    assert "this sqlew records no agents, so imported items have no authors" in store.notes


@pytest.mark.parametrize("release", ["documented", "3.6"])
def test_messages_come_with_everything(tmp_path: Path, release: str) -> None:
    (message,) = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("message")
    assert (message["from"], message.to, message.type, message.priority) == ("planner", "builder", "warning", "high")
    assert (message.message, message.payload) == ("keep off auth", {"file": "src/auth.py"})
    assert message.reads == [{"agent": "builder", "read_at": at(NOW - 30)}]
    assert message.created_at == at(NOW - 30)


@pytest.mark.parametrize("release", ["1.0", "3.5"])
def test_messages_of_early_formats_without_text_are_reported(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert [(message.message, message.payload) for message in store.of("message")] == [
        ("(sqlew stored no text of this message)", {"file": "src/auth.py"})
    ]
    assert any("without a stored text" in note for note in store.notes)


@pytest.mark.parametrize("release", [name for name in FORMATS if name != "5"])
def test_file_changes_come_with_everything(tmp_path: Path, release: str) -> None:
    (change,) = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("file_change")
    assert (change.file, change.change, change.layer) == ("src/auth.py", "modified", "data")
    assert (change.description, change.created_at) == ("refresh tokens", at(NOW - 20))


@pytest.mark.parametrize("release", ["3.5", "3.6", "3.9", "4", "5"])
def test_a_rationale_comes_with_its_alternatives_and_trade_offs(tmp_path: Path, release: str) -> None:
    *_, current = read_sqlew(sample(tmp_path / "s.db", release, NOW)).of("decision")[0].states
    assert current.rationale == (
        "survives a restart\nAlternatives considered: memory; postgres\nTrade-offs: cons: one more server"
    )


@pytest.mark.parametrize(
    ("release", "shown"),
    [
        ("1.0", "sqlew 1.0"),
        ("3.5", "sqlew 1.1 to 3.6"),
        ("3.9", "sqlew 3.7 to 3.9"),
        ("4", "sqlew 4"),
        ("5", "sqlew 5"),
    ],
)
def test_the_format_is_named(tmp_path: Path, release: str, shown: str) -> None:
    assert read_sqlew(sample(tmp_path / "s.db", release, NOW)).format == shown


@pytest.mark.parametrize("release", FORMATS)
def test_a_sound_database_makes_no_trouble(tmp_path: Path, release: str) -> None:
    assert read_sqlew(sample(tmp_path / "s.db", release, NOW)).troubles == ()


def test_a_constraint_says_why_where_the_format_knows(made: Made) -> None:
    database = made("5")
    database.add("constraints", category_id=1, constraint_text="no floats", reason="money is whole cents", ts=NOW)
    assert [one.text for one in read_sqlew(database.close()).of("constraint")] == [
        "no floats\n\nWhy: money is whole cents"
    ]
