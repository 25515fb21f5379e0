"""The tools of the toolset ``decisions``, called as an agent calls them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, ids, untested

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
FULL: dict[str, Any] = {
    "key": "session_ttl",
    "value": 300,
    "tags": ["api", "security"],
    "scopes": ["gateway"],
    "layer": "data",
    "version": "2.1.0",
    "status": "draft",
    "rationale": "matches the gateway",
}


def history_of(ask: Asker, key: str) -> dict[str, Any]:
    (item,) = ask.fields("get_items", ids=[f"decision:{key}"])["items"]
    assert isinstance(item, dict)
    return item


def found(parameter: str, value: object, *expected: str, **others: object) -> Case:
    return Case("find_decisions", parameter, {parameter: value, **others}, ids("decisions"), list(expected))


def kept(parameter: str, value: object) -> Case:
    arguments = {"key": "new", "value": "x", parameter: value}
    return Case("set_decision", parameter, arguments, field("decisions", 0, parameter), value)


CASES = [
    Case("set_decision", "key", {"key": "new", "value": 1}, field("decisions", 0, "key"), "new"),
    Case("set_decision", "value", {"key": "ttl", "value": 0.5}, field("decisions", 0, "value"), 0.5),
    kept("tags", ["api", "web"]),
    kept("scopes", ["gateway"]),
    kept("paths", ["src/api/**", "*.py"]),
    kept("metadata", {"owner": "core", "risk": 3}),
    kept("until", "2027-01-31")._replace(look=lambda answer: answer["decisions"][0].get("metadata", {}).get("until")),
    kept("layer", "data"),
    kept("version", "2.0.0"),
    kept("status", "deprecated"),
    kept("rationale", "why not"),
    kept("agent", "ann"),
    Case(
        "set_decision",
        "expected_revision",
        {"key": "ttl", "value": 1, "expected_revision": 1},
        field("error"),
        "conflict",
    ),
    Case(
        "set_decision",
        "decisions",
        {"decisions": [{"key": "a", "value": 1}, {"key": "b", "value": "x"}]},
        lambda answer: [(one["key"], one["value"]) for one in answer["decisions"]],
        [("a", 1), ("b", "x")],
    ),
    found("query", "which region?", "d2"),
    found("status", "draft", "d2"),
    found("layer", "data", "d1"),
    found("tags", ["api"], "d2", "d1"),
    found("match", "all", "d1", tags=["api", "security"]),
    found("scopes", ["client", "gateway"], "d3", "d1"),
    found("metadata", "owner"),
    found("minimum", 100, "d1"),
    found("maximum", 299.5, "d3"),
    found("author", "ben", "d2"),
    found("since", "90s", "d3"),
    found("after_seq", 0, "d1", "d2", "d3"),
    found("order", "asc", "d1", "d2", "d3"),
    found("limit", 1, "d3"),
    found("offset", 1, "d2", "d1"),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of three decisions: ttl of ann with two earlier states, region of ben, retries of ann, a minute apart."""

    def make() -> Asker:
        ask = new_asker()
        for value in (100, 200):
            ask.text("set_decision", key="ttl", value=value, agent="ann")
            clock.advance(MINUTE)
        named = {"tags": ["api", "security"], "scopes": ["gateway"], "layer": "data"}
        ask.text("set_decision", key="ttl", value=300, **named, agent="ann")
        clock.advance(MINUTE)
        ask.text("set_decision", key="region", value="eu west", tags=["api"], status="draft", agent="ben")
        clock.advance(MINUTE)
        ask.text("set_decision", key="retries", value=5, tags=["security"], scopes=["client"], agent="ann")
        clock.advance(MINUTE)
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("decisions", CASES) == set()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("set_decision", {"key": "ttl", "value": 1}), ("find_decisions", {})],
)
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    ask = world()
    ask.text("set_decision", key="ttl", value=1)
    check_format(ask, tool, arguments)


def test_every_field_comes_back(empty: Asker) -> None:
    (kept,) = empty.fields("set_decision", **FULL, agent="ann")["decisions"]
    assert (FULL | {"agent": "ann", "revision": 1, "id": "d1"}).items() <= kept.items()
    assert history_of(empty, "session_ttl")["decision"] == kept
    assert empty.fields("find_decisions")["decisions"] == [kept]


def test_every_field_of_an_earlier_state_comes_back(empty: Asker) -> None:
    empty.text("set_decision", **FULL, agent="ann")
    empty.text("set_decision", key="session_ttl", value="long", agent="ben")
    (state,) = history_of(empty, "session_ttl")["history"]
    expected = {name: value for name, value in FULL.items() if name != "key"} | {"agent": "ann", "revision": 1}
    assert expected.items() <= state.items()


def test_every_field_of_a_batch_comes_back(empty: Asker) -> None:
    kept = empty.fields("set_decision", decisions=[FULL, FULL | {"key": "other"}], agent="ann")["decisions"]
    assert (FULL | {"agent": "ann"}).items() <= kept[0].items()
    assert (FULL | {"agent": "ann", "key": "other"}).items() <= kept[1].items()


CLEARED: list[tuple[str, object]] = [
    ("tags", None),
    ("tags", []),
    ("scopes", None),
    ("scopes", []),
    ("layer", None),
    ("layer", ""),
    ("version", None),
    ("version", ""),
    ("rationale", None),
    ("rationale", ""),
]


@in_one_test(("name", "nothing"), CLEARED)
@in_one_test("in_a_batch", [False, True])
def test_an_explicit_nothing_clears(empty: Asker, name: str, nothing: object, in_a_batch: bool) -> None:
    empty.text("set_decision", **FULL)
    given = {"key": "session_ttl", name: nothing}
    empty.text("set_decision", **({"decisions": [given]} if in_a_batch else given))
    decision = history_of(empty, "session_ttl")["decision"]
    assert decision.get(name) == ("1.0.0" if name == "version" else None)
    assert {key: value for key, value in FULL.items() if key != name}.items() <= decision.items()


@pytest.mark.parametrize("in_a_batch", [False, True])
def test_what_is_left_out_stays(empty: Asker, in_a_batch: bool) -> None:
    empty.text("set_decision", **FULL)
    given = {"key": "session_ttl", "value": 60}
    empty.text("set_decision", **({"decisions": [given]} if in_a_batch else given))
    decision = history_of(empty, "session_ttl")["decision"]
    assert {name: decision.get(name) for name in FULL} == FULL | {"value": 60, "rationale": None, "version": "1.0.0"}


def test_null_where_nothing_can_be_cleared_is_as_left_out(empty: Asker) -> None:
    empty.text("set_decision", **FULL)
    empty.text("set_decision", key="session_ttl", value=None, status=None, expected_revision=None)
    assert FULL.items() <= history_of(empty, "session_ttl")["decision"].items()


@pytest.mark.parametrize(
    ("value", "kept"),
    [(300, 300), (0.5, 0.5), ("300", "300"), ("1.0", "1.0"), ("12345678901234567890",) * 2, ("[1]", "[1]")],
)
def test_a_number_is_a_number_and_a_text_stays_text(empty: Asker, value: object, kept: object) -> None:
    empty.text("set_decision", key="k", value=value)
    read = history_of(empty, "k")["decision"]["value"]
    assert (read, type(read)) == (kept, type(kept))


@in_one_test(("name", "empty_one"), [("layer", ""), ("rationale", ""), ("tags", []), ("scopes", [])])
def test_what_is_empty_clears(empty: Asker, name: str, empty_one: object) -> None:
    empty.text("set_decision", **FULL)
    empty.text("set_decision", key=FULL["key"], **{name: empty_one})
    assert name not in history_of(empty, FULL["key"])["decision"]


@pytest.mark.parametrize("tags", [["api", "security"], '["api", "security"]'])
def test_a_list_may_be_its_json_text(empty: Asker, tags: object) -> None:
    empty.text("set_decision", key="k", value=1, tags=tags, scopes=tags)
    (decision,) = empty.fields("find_decisions", tags=tags, scopes=tags, match="all")["decisions"]
    assert (decision["tags"], decision["scopes"]) == (["api", "security"], ["api", "security"])


def test_a_batch_may_be_its_json_text(empty: Asker) -> None:
    empty.text("set_decision", decisions=json.dumps([FULL]))
    assert empty.fields("find_decisions")["total"] == 1


def test_a_single_word_is_a_list_of_one(empty: Asker) -> None:
    empty.text("set_decision", key="k", value=1, tags="api", scopes="src/auth")
    decision = history_of(empty, "k")["decision"]
    assert (decision["tags"], decision["scopes"]) == (["api"], ["src/auth"])


@pytest.mark.parametrize("tags", ["api, security", "api security", "null", ""])
def test_a_text_that_could_be_several_is_no_list(empty: Asker, tags: str) -> None:
    assert "tags must be a list or null" in empty.refused("set_decision", key="k", value=1, tags=tags)


@in_one_test(
    ("arguments", "told"),
    [
        ({"value": 1}, "set_decision argument 'key' is missing"),
        ({"key": "new"}, "so it needs a value"),
        ({"key": "new", "value": float("nan")}, "value must be text or a number, not nan"),
        ({"key": "new", "value": True}, "value must be text or a number, not True"),
        ({"key": "new", "value": 1, "status": "activ"}, "Did you mean 'active'? Valid: active, deprecated, draft"),
        ({"key": "new", "value": 1, "layer": "busines"}, "Did you mean 'business'? Valid: presentation, business"),
        ({"key": "new", "value": 1, "tags": [" "]}, "tags[0]"),
        ({"key": "new", "value": 1, "expected_revision": 4}, "error [conflict]"),
        ({"key": "x" * 10_000, "value": 1}, "key"),
        ({"keys": "new"}, "unknown set_decision argument 'keys'. Did you mean 'key'?"),
        ({"decisions": []}, "0 decisions were given"),
        ({"decisions": [FULL], "key": "k"}, "decisions was given beside key"),
        ({"decisions": [FULL, {"key": "k", "tag": ["x"]}]}, "argument 'decisions[1].tag'. Did you mean 'tags'?"),
        ({"decisions": [FULL, {"value": 1}]}, "argument 'decisions[1].key' is missing"),
        ({"decisions": [FULL, {"key": "k"}]}, "decisions[1]"),
        ({"decisions": [FULL, {"key": "k", "value": 1, "agent": "ann"}]}, "argument 'decisions[1].agent'"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(empty: Asker, arguments: dict[str, Any], told: str) -> None:
    assert told in empty.refused("set_decision", **arguments)
    assert empty.fields("find_decisions")["total"] == 0


@in_one_test(
    ("arguments", "told"),
    [
        ({"status": "old"}, "Valid: active, deprecated, draft"),
        ({"layer": "dta"}, "Did you mean 'data'?"),
        ({"match": "none"}, "Valid: any, all"),
        ({"order": "newest"}, "Valid: desc, asc"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"offset": -1}, "offset -1 is out of range"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"query": " "}, "query is empty"),
        ({"since": "yesterday"}, "since"),
    ],
)
def test_a_faulty_filter_is_refused(made: Asker, arguments: dict[str, Any], told: str) -> None:
    assert told in made.refused("find_decisions", **arguments)


def test_an_unknown_key_names_the_nearest(world: Callable[[], Asker]) -> None:
    assert "there is no decision 'tll'. Did you mean 'ttl'?" in world().refused("get_items", ids=["decision:tll"])


def test_the_texts_name_what_they_are_about(world: Callable[[], Asker]) -> None:
    ask = world()
    told = ask.text("set_decision", key="ttl", value=60, agent="ben")
    assert told.startswith("set d1 ttl, revision 4; binds everywhere; was ")
    assert " 300 by ann " in told
    assert "\nd2 region" in ask.text("get_items", ids=["decision:region"])
    assert "\nrevision 3: 300" in ask.text("get_items", ids=["decision:ttl"])
    assert ask.text("set_decision", key="ttl", value=60, agent="ben") == "unchanged d1 ttl, revision 4"
    assert "d3 retries=5" in ask.text("find_decisions")


def test_no_limit_gives_the_total_alone(world: Callable[[], Asker]) -> None:
    page = world().fields("find_decisions", limit=0)
    assert (page["total"], page["decisions"], page["next_offset"]) == (3, [], None)


def test_the_cursor_of_an_answer_leads_to_what_is_new(world: Callable[[], Asker]) -> None:
    ask = world()
    seq = ask.fields("find_decisions")["seq"]
    assert ask.fields("find_decisions", after_seq=seq)["decisions"] == []
    ask.text("set_decision", key="region", value="us")
    assert ids("decisions")(ask.fields("find_decisions", after_seq=seq)) == ["d2"]
