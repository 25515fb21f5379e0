"""Reading sqlew databases of every format."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.base.errors import Conflict, InvalidInput, NotFound, StoreForeign
from satchel.keep.importing.records import ForeignDecision, SqlewStore, Trouble
from satchel.keep.importing.sqlew import read_sqlew
from sqlew_databases import FORMATS, SqlewDatabase, sample

NOW = 1_795_000_000
Made = Callable[..., SqlewDatabase]
HAVE_AGENTS = ("1.0", "documented", "3.5", "3.6", "3.9")


def only(store: SqlewStore) -> ForeignDecision:
    (decision,) = store.decisions
    return decision


def values(decision: ForeignDecision) -> list[str | float]:
    return [state.value for state in decision.states]


@pytest.mark.parametrize("release", FORMATS)
def test_a_decision_comes_with_all_of_its_states_in_order(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    first = store.decisions[0]
    assert (first.key, values(first)) == ("session_store", ["memory", "postgres", "redis"])
    assert [state.version for state in first.states] == ["1.0.0", "1.1.0", "2.0.0"]
    assert [state.set_at for state in first.states] == [(NOW - ago) * 1_000 for ago in (600, 300, 60)]
    assert first.created_at == (NOW - 600) * 1_000


@pytest.mark.parametrize("release", FORMATS)
def test_what_history_does_not_record_is_as_in_the_oldest_state_known(tmp_path: Path, release: str) -> None:
    first = read_sqlew(sample(tmp_path / "s.db", release, NOW)).decisions[0]
    assert {(state.status, state.layer) for state in first.states} == {(3, "data")}
    assert (first.tags, first.scopes) == (("security", "gateway-limits"), ("gateway",))


@pytest.mark.parametrize("release", FORMATS)
def test_a_number_comes_as_a_number(tmp_path: Path, release: str) -> None:
    second = read_sqlew(sample(tmp_path / "s.db", release, NOW)).decisions[1]
    assert (second.key, values(second)) == ("session_ttl", [300.0])


@pytest.mark.parametrize("release", FORMATS)
def test_constraints_come_with_everything(tmp_path: Path, release: str) -> None:
    held, dropped = read_sqlew(sample(tmp_path / "s.db", release, NOW)).constraints
    assert (held.text, held.category, held.priority, held.layer) == ("tokens are never logged", "security", 4, "data")
    assert (held.tags, held.active, held.created_at) == (("security",), True, (NOW - 40) * 1_000)
    assert (dropped.active, dropped.tags, dropped.priority) == (False, (), 1)


@pytest.mark.parametrize("release", HAVE_AGENTS)
def test_agents_come_where_the_format_has_them(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert [state.agent for state in store.decisions[0].states] == ["builder", "planner", "planner"]
    assert [constraint.agent for constraint in store.constraints] == ["planner", "builder"]


@pytest.mark.parametrize("release", ["4", "5"])
def test_a_format_without_agents_says_so(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert {state.agent for decision in store.decisions for state in decision.states} == {None}
    assert "this sqlew records no agents, so what came along has no authors" in store.notes


@pytest.mark.parametrize("release", ["documented", "3.6"])
def test_messages_come_with_everything(tmp_path: Path, release: str) -> None:
    (message,) = read_sqlew(sample(tmp_path / "s.db", release, NOW)).messages
    assert (message.sender, message.to, message.type, message.priority) == ("planner", "builder", 2, 3)
    assert (message.text, message.payload, message.read) == ("keep off auth", {"file": "src/auth.py"}, True)
    assert message.created_at == (NOW - 30) * 1_000


@pytest.mark.parametrize("release", ["1.0", "3.5"])
def test_messages_of_early_formats_have_no_text_and_that_is_said(tmp_path: Path, release: str) -> None:
    store = read_sqlew(sample(tmp_path / "s.db", release, NOW))
    assert [(message.text, message.payload) for message in store.messages] == [(None, {"file": "src/auth.py"})]
    assert any("text sqlew did not keep" in note for note in store.notes)


@pytest.mark.parametrize("release", [name for name in FORMATS if name != "5"])
def test_file_changes_come_with_everything(tmp_path: Path, release: str) -> None:
    (change,) = read_sqlew(sample(tmp_path / "s.db", release, NOW)).file_changes
    assert (change.file, change.change, change.layer) == ("src/auth.py", 2, "data")
    assert (change.description, change.created_at) == ("refresh tokens", (NOW - 20) * 1_000)


@pytest.mark.parametrize("release", ["3.5", "3.6", "3.9", "4", "5"])
def test_a_rationale_comes_with_its_alternatives_and_trade_offs(tmp_path: Path, release: str) -> None:
    *_, current = read_sqlew(sample(tmp_path / "s.db", release, NOW)).decisions[0].states
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


def test_a_rationale_belongs_to_the_state_of_its_time(made: Made) -> None:
    database = made("3.5")
    database.add("decision_history", key_id=1, version="1", value="memory", ts=NOW)
    database.add("decisions", key_id=1, value="redis", version="2", ts=NOW + 100)
    database.add("decision_context", decision_key_id=1, rationale="quick to do", ts=NOW + 10)
    database.add("decision_context", decision_key_id=1, rationale="survives", ts=NOW + 110)
    database.add("decision_context", decision_key_id=1, rationale="and is shared", ts=NOW + 120)
    states = only(read_sqlew(database.close())).states
    assert [state.rationale for state in states] == ["quick to do", "survives\n\nand is shared"]


def test_a_state_without_a_rationale_of_its_own_keeps_the_one_before(made: Made) -> None:
    database = made("3.5")
    database.add("decision_history", key_id=1, version="1", value="memory", ts=NOW)
    database.add("decisions", key_id=1, value="redis", version="2", ts=NOW + 100)
    database.add("decision_context", decision_key_id=1, rationale="it has to be fast", ts=NOW)
    assert {state.rationale for state in only(read_sqlew(database.close())).states} == {"it has to be fast"}


def test_history_that_the_next_state_repeats_is_dropped_and_counted(made: Made) -> None:
    database = made()
    for ts in (NOW, NOW + 10):
        database.add("decision_history", key_id=1, version="1.0.0", value="redis", agent_id=1, ts=ts)
    database.add("decisions", key_id=1, value="redis", agent_id=1, version="1.0.0", ts=NOW + 20)
    store = read_sqlew(database.close())
    decision = only(store)
    assert [(state.value, state.set_at) for state in decision.states] == [("redis", (NOW + 20) * 1_000)]
    assert decision.created_at == NOW * 1_000
    assert "earlier states of decisions that the next one repeats, and that were dropped: 2" in store.notes


def test_history_of_one_second_is_in_the_order_it_was_written(made: Made) -> None:
    database = made()
    for value in ("zebra", "ant", "mole"):
        database.add("decision_history", key_id=1, version="1", value=value, ts=NOW)
    database.add("decisions", key_id=1, value="owl", version="2", ts=NOW)
    assert values(only(read_sqlew(database.close()))) == ["zebra", "ant", "mole", "owl"]


def test_the_history_of_a_number_holds_numbers(made: Made) -> None:
    database = made()
    for place, value in enumerate(("60", "1e+3", "unlimited")):
        database.add("decision_history", key_id=2, version="1", value=value, ts=NOW + place)
    database.add("decisions_numeric", key_id=2, value=300, version="2", ts=NOW + 10)
    assert values(only(read_sqlew(database.close()))) == [60.0, 1000.0, "unlimited", 300.0]


def test_digits_in_the_history_of_a_text_stay_text(made: Made) -> None:
    database = made()
    database.add("decision_history", key_id=1, version="1", value="007", ts=NOW)
    database.add("decisions", key_id=1, value="bond", version="2", ts=NOW + 10)
    assert values(only(read_sqlew(database.close()))) == ["007", "bond"]


@pytest.mark.parametrize(
    ("text_at", "number_at", "order"), [(0, 10, ["sum", 7.0]), (10, 0, [7.0, "sum"]), (0, 0, [7.0, "sum"])]
)
def test_of_a_text_and_a_number_of_one_key_the_newer_is_current(
    made: Made, text_at: int, number_at: int, order: list[str | float]
) -> None:
    database = made()
    database.add("decisions", key_id=1, value="sum", version="1", ts=NOW + text_at)
    database.add("decisions_numeric", key_id=1, value=7, version="1", ts=NOW + number_at)
    store = read_sqlew(database.close())
    assert values(only(store)) == order
    (trouble,) = store.troubles
    assert "has both a number and a text" in trouble.reason
    assert not trouble.left_out


def test_the_empty_text_beside_a_number_is_no_second_value(made: Made) -> None:
    database = made("3.9")
    database.add("decisions", key_id=2, value="", version="1", ts=NOW)
    database.add("decisions_numeric", key_id=2, value=300, version="1", ts=NOW)
    store = read_sqlew(database.close())
    assert (values(only(store)), store.troubles, store.rows[0]) == ([300.0], (), 1)


@pytest.mark.parametrize(("status", "name"), [(4, "in_progress"), (5, "in_review"), (6, "implemented")])
def test_the_later_statuses_are_active_and_reported(made: Made, status: int, name: str) -> None:
    database = made("5")
    database.add("decisions", key_id=1, value="redis", status=status, ts=NOW)
    store = read_sqlew(database.close())
    assert [state.status for state in only(store).states] == [1]
    assert store.troubles == (
        Trouble("t_decisions", "key_id 1", f"its status is {name}, which is active here", left_out=False),
    )


BAD_ROWS = {
    "status out of range": ("decisions", {"key_id": 1, "value": "x", "status": 9, "ts": NOW}, "its status is 9"),
    "dangling key": ("decisions", {"key_id": 77, "value": "x", "ts": NOW}, "its key_id is 77, which m_context_keys"),
    "no time": ("decisions", {"key_id": 1, "value": "x", "ts": None}, "its time is missing"),
    "time before 1970": ("decisions", {"key_id": 1, "value": "x", "ts": -5}, "its time is -5"),
    "milliseconds": ("decisions", {"key_id": 1, "value": "x", "ts": NOW * 1_000}, "not seconds since 1970"),
    "empty text": ("decisions", {"key_id": 1, "value": " ", "ts": NOW}, "its value is empty"),
    "blob": ("decisions", {"key_id": 1, "value": b"\x00\xff", "ts": NOW}, "its value is no readable text"),
    "infinity": ("decisions_numeric", {"key_id": 2, "value": float("inf"), "ts": NOW}, "its value is inf"),
    "text as number": ("decisions_numeric", {"key_id": 2, "value": "many", "ts": NOW}, "its value is 'many'"),
    "orphaned history": ("decision_history", {"key_id": 2, "version": "1", "value": "x", "ts": NOW}, "no decision any"),
    "priority": (
        "constraints",
        {"category_id": 1, "constraint_text": "x", "priority": 0, "ts": NOW},
        "its priority is 0, not one of 1 to 4",
    ),
    "category": ("constraints", {"category_id": 99, "constraint_text": "x", "ts": NOW}, "its category_id is 99"),
    "active": ("constraints", {"category_id": 1, "constraint_text": "x", "active": 7, "ts": NOW}, "its active is 7"),
    "message type": (
        "agent_messages",
        {"from_agent_id": 1, "msg_type": 5, "message": "x", "ts": NOW},
        "its msg_type is 5",
    ),
    "addressee": (
        "agent_messages",
        {"from_agent_id": 1, "to_agent_id": 50, "msg_type": 1, "message": "x", "ts": NOW},
        "its to_agent_id is 50",
    ),
    "nothing said": (
        "agent_messages",
        {"from_agent_id": 1, "msg_type": 1, "message": "", "ts": NOW},
        "neither a text nor a payload",
    ),
    "change": ("file_changes", {"file_id": 1, "agent_id": 1, "change_type": 4, "ts": NOW}, "its change_type is 4"),
    "file": ("file_changes", {"file_id": 9, "agent_id": 1, "change_type": 1, "ts": NOW}, "its file_id is 9"),
}


@pytest.mark.parametrize(("table", "row", "reason"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_row_that_cannot_be_read_is_listed_and_hides_no_other(
    made: Made, table: str, row: dict[str, object], reason: str
) -> None:
    database = made()
    database.add("context_keys", id=3, key="sound")
    database.add("decisions", key_id=3, value="yes", ts=NOW)
    database.add(table, **row)
    store = read_sqlew(database.close())
    assert [decision.key for decision in store.decisions] == ["sound"]
    assert (store.constraints, store.messages, store.file_changes) == ((), (), ())
    (trouble,) = store.troubles
    assert trouble.table == database.name(table)
    assert reason in trouble.reason
    assert trouble.left_out


def test_text_that_is_not_utf_8_is_listed(made: Made) -> None:
    database = made()
    database.sql("INSERT INTO t_decisions (key_id, value, ts) VALUES (1, CAST(x'ff41' AS TEXT), ?)", (NOW,))
    store = read_sqlew(database.close())
    assert [trouble.reason for trouble in store.troubles] == ["its value is no readable text"]


def test_a_blank_tag_is_left_out_and_said_once(made: Made) -> None:
    database = made()
    for key in (1, 2):
        database.add("decisions", key_id=key, value="x", ts=NOW)
        database.add("decision_tags", decision_key_id=key, tag_id=3)
        database.add("decision_tags", decision_key_id=key, tag_id=1)
    store = read_sqlew(database.close())
    assert [decision.tags for decision in store.decisions] == [("security",), ("security",)]
    (trouble,) = store.troubles
    assert (trouble.table, trouble.row, trouble.left_out) == ("m_tags", "id 3", False)


def test_a_dangling_layer_costs_the_layer_alone(made: Made) -> None:
    database = made()
    database.add("decisions", key_id=1, value="x", layer_id=42, ts=NOW)
    store = read_sqlew(database.close())
    assert only(store).states[0].layer is None
    (trouble,) = store.troubles
    assert (trouble.row, trouble.left_out) == ("key_id 1", False)
    assert "its layer_id is 42" in trouble.reason


@pytest.mark.parametrize("payload", ["{not json", '{"share": NaN}'])
def test_a_payload_that_is_no_json_is_kept_as_text_and_reported(made: Made, payload: str) -> None:
    database = made()
    database.add("agent_messages", from_agent_id=1, msg_type=4, message="see", payload=payload, ts=NOW)
    store = read_sqlew(database.close())
    assert [message.payload for message in store.messages] == [payload]
    assert [trouble.reason for trouble in store.troubles] == ["its payload is no JSON; it was kept as text"]


def test_a_message_to_all_that_was_read_is_noted_once(made: Made) -> None:
    database = made()
    for text in ("one", "two"):
        database.add("agent_messages", from_agent_id=1, msg_type=4, message=text, read=1, ts=NOW)
    notes = read_sqlew(database.close()).notes
    assert notes == ("messages to all that somebody has read; sqlew does not say who, so nobody counts: 2",)


def two_projects(made: Made) -> SqlewDatabase:
    database = made("3.9")
    database.add("projects", id=2, name="blog")
    for project, value in ((1, "redis"), (2, "files")):
        database.add("decisions", key_id=1, value=value, project_id=project, ts=NOW)
        database.add("constraints", category_id=1, constraint_text=value, project_id=project, ts=NOW)
        database.add("constraint_tags", constraint_id=project, tag_id=1)
    return database


def test_several_projects_and_no_choice_are_refused_with_their_names(made: Made) -> None:
    with pytest.raises(Conflict, match=r"2 projects: shop, blog.*--source-project"):
        read_sqlew(two_projects(made).close())


@pytest.mark.parametrize(("name", "value", "number"), [("shop", "redis", 1), ("blog", "files", 2)])
def test_only_the_project_that_was_named_is_read(made: Made, name: str, value: str, number: int) -> None:
    store = read_sqlew(two_projects(made).close(), name)
    assert (store.project, store.project_id, store.rows) == (name, number, (1, 1, 0, 0))
    assert values(only(store)) == [value]
    assert [(one.text, one.tags) for one in store.constraints] == [(value, ("security",))]
    assert store.troubles == ()


def test_a_project_without_rows_needs_no_choice(made: Made) -> None:
    database = made("3.9")
    database.add("projects", id=2, name="empty")
    database.add("decisions", key_id=1, value="redis", project_id=1, ts=NOW)
    assert read_sqlew(database.close()).project == "shop"


def test_an_unknown_project_is_refused_with_the_nearest(made: Made) -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'shop'"):
        read_sqlew(two_projects(made).close(), "shopp")


def test_a_project_of_a_format_that_has_none_is_refused(made: Made) -> None:
    with pytest.raises(InvalidInput, match="knows no projects"):
        read_sqlew(made("3.5").close(), "shop")


def test_a_constraint_says_why_where_the_format_knows(made: Made) -> None:
    database = made("5")
    database.add("constraints", category_id=1, constraint_text="no floats", reason="money is whole cents", ts=NOW)
    assert [one.reason for one in read_sqlew(database.close()).constraints] == ["money is whole cents"]


def test_an_older_set_of_tables_beside_is_passed_over_and_said(made: Made) -> None:
    database = made("4")
    database.add("decisions", key_id=1, value="new", ts=NOW)
    database.sql("CREATE TABLE m_context_keys (id INTEGER PRIMARY KEY, key TEXT)")
    database.sql("CREATE TABLE t_decisions (key_id INTEGER PRIMARY KEY, value TEXT, ts INTEGER)")
    database.sql("INSERT INTO t_decisions VALUES (1, 'old', 1)")
    store = read_sqlew(database.close())
    assert values(only(store)) == ["new"]
    assert "tables of an older sqlew stand beside those that were read, and were passed over" in store.notes


def test_tables_that_nothing_here_corresponds_to_are_counted(made: Made) -> None:
    database = made("3.5")
    database.sql("CREATE TABLE t_tasks (id INTEGER PRIMARY KEY, title TEXT)")
    database.sql("INSERT INTO t_tasks (title) VALUES ('a'), ('b')")
    database.sql("CREATE TABLE t_task_tags (task_id INTEGER)")
    assert read_sqlew(database.close()).not_taken == (("t_tasks", 2),)


def test_missing_tables_and_columns_are_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "small.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE context_keys (id INTEGER PRIMARY KEY, key TEXT)")
        connection.execute("CREATE TABLE decisions (key_id INTEGER, value TEXT, ts INTEGER)")
        connection.execute("INSERT INTO context_keys VALUES (1, 'k')")
        connection.execute("INSERT INTO decisions VALUES (1, 'v', ?)", (NOW,))
    connection.close()
    store = read_sqlew(file)
    assert values(only(store)) == ["v"]
    assert (store.rows, store.troubles) == ((1, 0, 0, 0), ())


def test_another_database_is_refused_with_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.close()
    with pytest.raises(StoreForeign, match="is no sqlew database: it has the tables invoices"):
        read_sqlew(file)


def test_a_view_is_no_table_of_sqlew(tmp_path: Path) -> None:
    file = tmp_path / "views.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE context_keys (id INTEGER PRIMARY KEY, key TEXT)")
        connection.execute("CREATE VIEW decisions AS SELECT 1 AS key_id, 'v' AS value, 1 AS ts")
    connection.close()
    with pytest.raises(StoreForeign, match="it has the tables context_keys"):
        read_sqlew(file)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_sqlew(tmp_path / "nowhere.db")
