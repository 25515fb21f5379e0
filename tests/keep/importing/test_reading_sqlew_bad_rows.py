"""Rows of a sqlew database that cannot be read, or not as they are."""

from __future__ import annotations

import pytest

from keep.importing.read import NOW, read_sqlew
from sqlew_databases import Made

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
    "orphaned history": ("decision_history", {"key_id": 2, "version": "1", "value": "x", "ts": NOW}, "no decision"),
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
    assert [decision.key for decision in store.of("decision")] == ["sound"]
    assert (store.of("constraint"), store.of("message"), store.of("file_change")) == ((), (), ())
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
    assert [decision.tags for decision in store.of("decision")] == [["security"], ["security"]]
    (trouble,) = store.troubles
    assert (trouble.table, trouble.row, trouble.left_out) == ("m_tags", "id 3", False)


def test_a_dangling_layer_costs_the_layer_alone(made: Made) -> None:
    database = made()
    database.add("decisions", key_id=1, value="x", layer_id=42, ts=NOW)
    store = read_sqlew(database.close())
    assert store.decision.states[0].layer is None
    (trouble,) = store.troubles
    assert (trouble.row, trouble.left_out) == ("key_id 1", False)
    assert "its layer_id is 42" in trouble.reason


@pytest.mark.parametrize("payload", ["{not json", '{"share": NaN}'])
def test_a_payload_that_is_no_json_is_kept_as_text_and_reported(made: Made, payload: str) -> None:
    database = made()
    database.add("agent_messages", from_agent_id=1, msg_type=4, message="see", payload=payload, ts=NOW)
    store = read_sqlew(database.close())
    assert [message.payload for message in store.of("message")] == [payload]
    assert [trouble.reason for trouble in store.troubles] == ["its payload is not JSON; it was imported as text"]


def test_a_message_to_all_that_was_read_is_noted_once(made: Made) -> None:
    database = made()
    for text in ("one", "two"):
        database.add("agent_messages", from_agent_id=1, msg_type=4, message=text, read=1, ts=NOW)
    notes = read_sqlew(database.close()).notes
    assert notes == ("messages to all that were read; sqlew does not record by whom, so they stay unread: 2",)
