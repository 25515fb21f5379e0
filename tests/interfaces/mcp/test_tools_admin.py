"""The tools of the toolset ``admin``, called as an agent calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from consult.answered_turns import take_turn
from satchel.base.config_keys import KEYS
from satchel.consult.conversations import Conversations
from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, untested

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000

CASES = [
    Case("clear_old_data", "messages_hours", {"messages_hours": 2}, field("messages"), 1),
    Case("clear_old_data", "file_changes_hours", {"file_changes_hours": 2}, field("file_changes"), 1),
    Case("clear_old_data", "conversations_days", {"conversations_days": 0}, field("conversations"), 1),
    Case("clear_old_data", "confirm", {"confirm": True}, field("done"), True),
    Case(
        "get_stats",
        "by",
        {"by": "tag"},
        lambda answer: [one["name"] for one in answer.get("names", ())],
        ["data", "general"],
    ),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of a message and an edit three hours old, of the same an instant old, of a rule, of two decisions, and of
    a conversation.
    """

    def make() -> Asker:
        ask = new_asker()
        for age in (3 * HOUR, 0):
            ask.text("send_message", message="x", to="ben", agent="ann")
            ask.text("record_file_change", file="a.py", change="modified", layer="data")
            clock.advance(age)
        ask.text("set_decision", key="ttl", value=300, layer="data")
        ask.text("set_decision", key="old", value=1, status="deprecated")
        ask.text("add_constraint", text="a rule")
        take_turn(Conversations(ask.satchel.workplace), prompt="What of it?")
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("admin", CASES) == set()


@pytest.mark.parametrize("tool", ["get_layer_summary", "get_stats", "clear_old_data", "get_config"])
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str) -> None:
    check_format(world(), tool, {})


def test_the_summary_counts_layer_by_layer(world: Callable[[], Asker]) -> None:
    summary = world().fields("get_layer_summary")
    counts = {
        layer["layer"]: (layer["active_decisions"], layer["active_constraints"], layer["recent_file_changes"])
        for layer in summary["layers"]
    }
    assert counts == {
        "presentation": (0, 0, 0),
        "business": (0, 0, 0),
        "data": (1, 0, 1),
        "infrastructure": (0, 0, 0),
        "cross-cutting": (0, 0, 0),
        None: (0, 1, 0),
    }
    assert summary["changes_since"] == "2026-11-18T13:06:40.000Z"


def test_the_text_of_the_summary_has_every_count(world: Callable[[], Asker]) -> None:
    ask = world()
    lines = ask.text("get_layer_summary").split("\n")
    assert lines[1:] == [
        "presentation: 0 decisions, 0 rules, 0 file changes",
        "business: 0 decisions, 0 rules, 0 file changes",
        "data: 1 decision, 0 rules, 1 file change",
        "infrastructure: 0 decisions, 0 rules, 0 file changes",
        "cross-cutting: 0 decisions, 0 rules, 0 file changes",
        "no layer: 0 decisions, 1 rule, 0 file changes",
    ]
    assert lines[0] == "6 layers: what is active in each, and file changes since 11-18 13:06 UTC"


def test_the_statistics_count_every_kind(world: Callable[[], Asker]) -> None:
    counted = world().fields("get_stats")
    expected = {
        "messages": 2,
        "file_changes": 2,
        "claims": 0,
        "decisions": {"active": 1, "deprecated": 1, "draft": 0},
        "constraints": {"active": 1, "inactive": 0},
        "conversations": 1,
        "turns": 1,
        "content_bytes": 0,
        "sent_tokens": 100,
        "saved_tokens": 300,
        "vector_stores": 0,
    }
    assert expected.items() <= counted.items()


def test_the_text_of_the_statistics_has_every_field(world: Callable[[], Asker]) -> None:
    ask = world()
    lines = ask.text("get_stats").split("\n")
    assert [line.partition(": ")[0] for line in lines] == list(ask.fields("get_stats"))
    assert "decisions: active 1, deprecated 1, draft 0" in lines
    assert "entries: -" in lines


def test_clearing_is_a_preview_unless_confirmed(world: Callable[[], Asker]) -> None:
    ask = world()
    assert ask.text("clear_old_data", messages_hours=2, file_changes_hours=2) == (
        "would remove 1 message, 1 file change; nothing was removed: give confirm=true"
    )
    assert ask.fields("get_stats")["messages"] == 2


def test_what_is_confirmed_is_removed(world: Callable[[], Asker]) -> None:
    ask = world()
    told = ask.text("clear_old_data", messages_hours=2, file_changes_hours=0, conversations_days=0, confirm=True)
    assert told == "removed 1 message, 2 file changes, 1 conversation"
    counted = ask.fields("get_stats")
    assert (counted["messages"], counted["file_changes"], counted["conversations"]) == (1, 0, 0)


@in_one_test(
    ("arguments", "told"),
    [
        ({"messages_hours": -1}, "messages_hours -1 is out of range"),
        ({"file_changes_hours": 87_601}, "file_changes_hours 87601 is out of range"),
        ({"conversations_days": 3_651}, "conversations_days 3651 is out of range"),
        ({"messages_hours": "two"}, "messages_hours must be a whole number"),
        ({"confirm": "yes"}, "confirm must be true or false"),
        ({"dry_run": False}, "unknown clear_old_data argument 'dry_run'"),
    ],
)
def test_a_faulty_call_is_refused(made: Asker, arguments: dict[str, Any], told: str) -> None:
    before = made.fields("get_stats")
    assert told in made.refused("clear_old_data", **arguments)
    assert made.fields("get_stats") == before


def test_every_setting_is_shown_with_value_source_and_meaning(new_asker: Callable[..., Asker]) -> None:
    ask = new_asker(settings={"claims.minutes": 45}, environ={"SATCHEL_LAYERS_OPEN": "true"})
    settings = ask.fields("get_config")["settings"]
    assert list(settings) == [key.name for key in KEYS]
    assert all(settings[key.name]["help"] == key.help for key in KEYS)
    assert (settings["claims.minutes"]["value"], settings["claims.minutes"]["source"]) == (45, "argument")
    assert settings["layers.open"]["source"] == "environment SATCHEL_LAYERS_OPEN"
    assert settings["context.max_per_loop"]["value"] is None


def test_the_text_of_the_configuration_has_every_setting(new_asker: Callable[..., Asker]) -> None:
    ask = new_asker(settings={"claims.minutes": 45})
    settings = ask.fields("get_config")["settings"]
    lines = ask.text("get_config").split("\n")
    assert len(lines) == len(settings)
    assert f"claims.minutes = 45 (argument): {settings['claims.minutes']['help']}" in lines
    assert f"context.max_per_loop = null (default): {settings['context.max_per_loop']['help']}" in lines


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_stands_in_the_configuration(new_asker: Callable[..., Asker], form: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    ask = new_asker(environ={"SATCHEL_STORE_DURABILITY": secret})
    told = ask.text("get_config", format=form)
    assert "SATCHEL_STORE_DURABILITY" in told
    assert secret not in told


def test_reading_about_an_empty_store_makes_none(empty: Asker) -> None:
    for tool in ("get_layer_summary", "get_stats", "clear_old_data", "get_config"):
        empty.text(tool)
    assert not empty.satchel.place.file.exists()
