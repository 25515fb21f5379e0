"""What holds for the tools as a whole: which are served, what they cost, and how their answers end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import over_server
from consult.answered_turns import take_turn
from default_tools import DEFAULT_TOOLS
from satchel.base.tokens import token_counter
from satchel.base.vocabulary import LIVENESS
from satchel.consult import consultation
from satchel.find.query import SYNTAXES
from satchel.interfaces.mcp.guidance import PROMPTS, Prompt, instructions
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.constraints import STATUSES as CONSTRAINT_STATUSES
from satchel.keep.decisions.records import STATUSES as DECISION_STATUSES
from satchel.keep.entries.records import ENTRY_TYPES
from satchel.keep.files.records import CHANGES
from satchel.keep.kinds import KINDS
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.packages.records import EVENTS
from satchel.keep.packages.records import TYPES as PACKAGE_TYPES
from tables import in_one_test
from tool_asking import Asker

READING = {
    "briefing": ["get_briefing"],
    "files": [],
    "changes": ["get_file_changes"],
    "context": ["get_items"],
    "lists": ["read_context", "find_decisions", "get_constraints"],
    "search": ["search"],
    "messages": ["get_team"],
    "decisions": [],
    "constraints": [],
    "errors": [],
    "packages": ["get_packages"],
    "consult": ["get_consultation", "list_conversations"],
    "runs": ["get_runs"],
    "admin": ["get_layer_summary", "get_stats", "get_config"],
}
WRITING = {
    "context": ["write_context", "review_item"],
    "search": [],
    "lists": [],
    "decisions": ["set_decision"],
    "constraints": ["add_constraint"],
    "briefing": [],
    "errors": ["report_error", "report_outcome"],
    "packages": ["save_package", "save_strategy"],
    "messages": ["send_message", "get_messages"],
    "files": ["claim_files", "release_files"],
    "changes": ["record_file_change"],
    "consult": ["consult", "reset_conversation"],
    "runs": ["start_run", "end_run"],
    "admin": ["clear_old_data"],
}
DESTRUCTIVE = {"clear_old_data", "reset_conversation"}


def cost(*toolsets: str) -> int:
    """Tokens of the tools as a model sees them: names, descriptions and input schemas."""
    shown = [
        {name: listed[name] for name in ("name", "description", "inputSchema")}
        for listed in Registry(ALL_TOOLS, toolsets).listing()
    ]
    return token_counter("o200k_base").count(json.dumps(shown, ensure_ascii=False, separators=(",", ":")), "json")


def choices(tool: str, parameter: str) -> tuple[str, ...]:
    (declared,) = (one for one in ALL_TOOLS if one.name == tool)
    schema: Mapping[str, Any] = declared.parameters["properties"][parameter]
    return tuple(schema.get("items", schema)["enum"])


def test_the_tools_are_in_the_order_of_the_design() -> None:
    assert list(dict.fromkeys(tool.toolset for tool in ALL_TOOLS)) == list(READING)
    for toolset, reading in READING.items():
        assert {tool.name for tool in ALL_TOOLS if tool.toolset == toolset} == {*reading, *WRITING[toolset]}


def test_the_default_tools() -> None:
    assert list(Registry(ALL_TOOLS, DEFAULT_TOOLSETS).tools) == DEFAULT_TOOLS


def test_a_read_only_server_has_only_what_reads() -> None:
    assert set(Registry(ALL_TOOLS, read_only=True).tools) == {name for names in READING.values() for name in names}


def test_only_what_deletes_is_called_destructive() -> None:
    assert {tool.name for tool in ALL_TOOLS if tool.destructive} == DESTRUCTIVE


def test_every_tool_has_a_name_of_its_own() -> None:
    assert len({tool.name for tool in ALL_TOOLS}) == len(ALL_TOOLS)


def test_what_a_tool_declares_is_checked() -> None:
    for tool in ALL_TOOLS:
        assert not (tool.read_only and tool.destructive), tool.name
        assert tool.parameters["additionalProperties"] is False, tool.name
        assert {*tool.parameters.get("required", ())} <= tool.parameters["properties"].keys(), tool.name
        for name, schema in tool.parameters["properties"].items():
            assert schema.keys() <= {"type", "enum", "items", "description", "default"}, (tool.name, name)
            assert schema.get("items", {}).keys() <= {"type", "enum"}, (tool.name, name)


def test_the_default_tools_cost_little() -> None:
    assert len(DEFAULT_TOOLS) <= 14
    assert cost(*DEFAULT_TOOLSETS) <= 2_500


def test_all_tools_cost_little() -> None:
    assert cost("all") <= 4_500


LISTED = Registry(ALL_TOOLS).listing()

PLAIN = {
    *("query", "author", "task_id", "limit", "offset", "tags", "scopes", "priority", "change", "category", "key"),
    *("content", "summary", "text", "message", "description", "type", "types", "kinds", "types", "status", "from"),
    *("unread", "reason", "minutes", "force", "session", "stack", "title", "conversation", "assistant"),
}
"""Parameters whose names say what they are where they have no description."""

TERMS = ("loop", "run", "layer", "seq", "iteration", "scope", "window")
"""What an agent cannot know: it is explained wherever a parameter is called so."""


@in_one_test("listed", LISTED)
def test_a_tool_is_understandable_alone(listed: dict[str, Any]) -> None:
    properties: dict[str, Any] = listed["inputSchema"]["properties"]
    silent = [name for name, schema in properties.items() if not schema.get("description")]
    assert [name for name in silent if name not in PLAIN and "enum" not in properties[name]] == []
    assert [name for name in silent if any(term in name for term in TERMS) and name != "scopes"] == []
    assert [name for name, schema in properties.items() if not isinstance(schema["type"], str)] == []


@in_one_test("listed", LISTED)
def test_a_tool_has_a_title_words_to_find_it_and_all_hints(listed: dict[str, Any]) -> None:
    assert listed["title"][0].isupper()
    assert listed["_meta"]["anthropic/searchHint"]
    hints = {name: value for name, value in listed["annotations"].items() if name != "title"}
    assert sorted(hints) == ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"]
    assert not (hints["readOnlyHint"] and (hints["destructiveHint"] or not hints["idempotentHint"]))
    assert hints["openWorldHint"] == (listed["name"] == "consult")


def test_three_tools_are_shown_by_hosts_that_show_names_alone() -> None:
    shown = [listed["name"] for listed in LISTED if "anthropic/alwaysLoad" in listed["_meta"]]
    assert shown == ["get_briefing", "write_context", "search"]


@in_one_test(
    ("words", "tools"),
    [
        ("remember", {"write_context", "read_context", "get_items"}),
        ("memory", {"write_context", "read_context", "search", "get_briefing", "get_items"}),
        ("notes", {"write_context", "read_context", "search", "get_items"}),
        ("what did the others do", {"read_context", "get_briefing", "search", "get_team"}),
        ("context from other agents", {"read_context", "get_briefing", "get_team"}),
        ("rules", {"add_constraint", "get_constraints", "get_items"}),
        ("who is editing", {"get_team", "get_items"}),
        ("this error again", {"report_error"}),
    ],
)
def test_the_words_that_models_search_with_find_a_tool(words: str, tools: set[str]) -> None:
    assert {one["name"] for one in LISTED if words in one["_meta"]["anthropic/searchHint"]} == tools


EVERY_SET = [[name] for name in READING] + [list(DEFAULT_TOOLSETS), ["all"]]


@in_one_test("read_only", [False, True])
@in_one_test("toolsets", EVERY_SET)
def test_the_instructions_name_only_what_is_served(toolsets: list[str], read_only: bool) -> None:
    served = Registry(ALL_TOOLS, toolsets, read_only=read_only).tools
    said = set(re.findall(r"[a-z]+(?:_[a-z]+)*", instructions(served)))
    assert {tool.name for tool in ALL_TOOLS if tool.name != "search"} & said <= set(served)


def test_the_instructions_are_short_and_their_first_line_says_what_to_do() -> None:
    said = instructions(DEFAULT_TOOLS)
    assert token_counter("o200k_base").count(said) <= 200
    first = said.split("\n")[0]
    assert first.startswith("Call get_briefing before you start")
    assert "write_context" in first


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_the_calls_that_a_prompt_shows_take_those_parameters(prompt: Prompt) -> None:
    text = prompt.fill({argument.name: "it" for argument in prompt.arguments})
    shown = 0
    for tool in ALL_TOOLS:
        for call in re.findall(rf"\b{tool.name}((?: [a-z_]+=\S+)+)", text):
            shown += 1
            assert set(re.findall(r" ([a-z_]+)=", call)) <= tool.parameters["properties"].keys()
    assert shown


@in_one_test(
    ("tool", "parameter", "valid"),
    [
        ("read_context", "status", LIVENESS),
        ("search", "status", LIVENESS),
        ("search", "syntax", SYNTAXES),
        ("set_decision", "status", DECISION_STATUSES),
        ("find_decisions", "status", DECISION_STATUSES),
        ("get_constraints", "status", (*CONSTRAINT_STATUSES, "all")),
        ("save_package", "type", PACKAGE_TYPES),
        ("save_package", "event", EVENTS),
        ("get_packages", "status", LIVENESS),
        ("send_message", "type", MESSAGE_TYPES),
        ("get_messages", "types", MESSAGE_TYPES),
        ("read_context", "types", ENTRY_TYPES),
        ("search", "kinds", tuple(spec.name for spec in KINDS.values())),
        ("record_file_change", "change", CHANGES),
        ("get_file_changes", "change", CHANGES),
    ],
)
def test_the_choices_offered_are_those_that_are_taken(tool: str, parameter: str, valid: tuple[str, ...]) -> None:
    assert sorted(choices(tool, parameter)) == sorted(valid)


def test_every_answer_can_be_json() -> None:
    assert [tool.name for tool in ALL_TOOLS if "format" not in tool.parameters["properties"]] == []


CLAIMED = "notice: src/a.py is claimed by ben until "
WAITING = "notice: 1 unread message for ben from ann, 1 critical: get_messages"
NAMING: list[tuple[str, dict[str, Any]]] = [
    ("write_context", {"type": "discovery", "content": "x", "file": "src/a.py"}),
    ("read_context", {}),
    ("search", {"query": "parser"}),
    ("get_briefing", {"again": True}),
    ("record_file_change", {"file": "src/a.py", "change": "modified"}),
    ("get_file_changes", {}),
]
"""Calls whose answers name a file that ben has claimed."""


@pytest.fixture
def claimed(new_asker: Callable[..., Asker]) -> Callable[..., Asker]:
    """Stores in which ben has claimed a file that a note and an edit name."""

    def make(**options: object) -> Asker:
        ask = new_asker(**options)
        ask.text("write_context", type="discovery", content="a parser", file="src/a.py", agent="ben")
        ask.text("record_file_change", file="src/a.py", change="created", description="a parser", agent="ben")
        ask.text("claim_files", paths=["src/a.py"], agent="ben")
        return ask

    return make


@pytest.mark.parametrize(("tool", "arguments"), NAMING)
def test_an_answer_that_names_a_claimed_file_says_so(
    claimed: Callable[..., Asker], tool: str, arguments: dict[str, Any]
) -> None:
    ask = claimed(agent="ann")
    assert ask.text(tool, **arguments).split("\n")[-1].startswith(CLAIMED)
    assert ask.fields(tool, **arguments)["notice"].startswith(CLAIMED)


@pytest.mark.parametrize(("tool", "arguments"), NAMING)
def test_the_holder_of_the_claim_is_told_nothing(
    claimed: Callable[..., Asker], tool: str, arguments: dict[str, Any]
) -> None:
    ask = claimed(agent="ben")
    assert "notice" not in ask.text(tool, **arguments)
    assert "notice" not in ask.fields(tool, **arguments)


@pytest.mark.parametrize("tool", ["write_context", "record_file_change"])
def test_the_holder_named_in_a_call_is_told_nothing(claimed: Callable[..., Asker], tool: str) -> None:
    arguments = dict(NAMING)[tool]
    assert "notice" not in claimed(agent="ann").text(tool, **arguments, agent="ben")


@pytest.mark.parametrize("tool", ["read_context", "get_file_changes"])
def test_an_author_looked_for_is_not_the_one_who_reads(claimed: Callable[..., Asker], tool: str) -> None:
    assert claimed(agent="ann").text(tool, author="ben").split("\n")[-1].startswith(CLAIMED)


def test_an_answer_that_names_no_claimed_file_has_no_notice(claimed: Callable[..., Asker]) -> None:
    assert "notice" not in claimed(agent="ann").text("read_context", file="src/b.py")


ANSWERING: list[tuple[str, dict[str, Any]]] = [
    ("write_context", {"type": "discovery", "content": "x"}),
    ("set_decision", {"key": "k", "value": 1}),
    ("add_constraint", {"text": "a rule"}),
    ("review_item", {"id": "c1", "verdict": "confirm"}),
    ("get_briefing", {}),
    ("report_error", {"error_type": "KeyError", "message": "x"}),
    ("report_outcome", {"id": "y1"}),
    ("get_items", {"ids": ["c1"]}),
    ("save_package", {"summary": "x", "content": "x"}),
    ("save_strategy", {"topic": "t", "insight": "x"}),
    ("send_message", {"message": "x", "to": "ann"}),
    ("get_messages", {"limit": 0}),
    ("record_file_change", {"file": "a.py", "change": "created"}),
    ("claim_files", {"paths": ["a.py"]}),
    ("release_files", {}),
    ("consult", {"assistant": "ollama:tiny", "instructions": "x", "dry_run": True}),
]
"""A call of every tool that acts as the agent it names."""

FOR_THE_DEFAULT: list[tuple[str, dict[str, Any]]] = [
    ("read_context", {}),
    ("search", {"query": "x"}),
    ("find_decisions", {}),
    ("get_constraints", {}),
    ("get_packages", {}),
    ("get_file_changes", {}),
    ("get_consultation", {"handle": "h"}),
    ("list_conversations", {}),
    ("reset_conversation", {"conversation": "review"}),
    ("start_run", {"run_id": "r2"}),
    ("end_run", {"run_id": "r1"}),
    ("get_runs", {}),
    ("get_team", {}),
    ("get_layer_summary", {}),
    ("get_stats", {}),
    ("clear_old_data", {}),
    ("get_config", {}),
]
"""A call of every other tool."""


@pytest.fixture
def waiting(new_asker: Callable[..., Asker], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asker]:
    """Stores in which a critical message waits for ben, and where a conversation can be had."""

    def make(**options: object) -> Asker:
        ask = new_asker(**options, settings={"consult.window_tokens": 16_000})
        take_turn(ask.satchel.consulting.conversations)
        monkeypatch.setitem(consultation._jobs, "h", consultation._Job(ask.satchel.consulting._owner))
        ask.satchel.runs.start("r1")
        ask.text("send_message", message="stop", to="ben", priority="critical", agent="ann")
        ask.text("set_decision", key="old", value=1, agent="ann")
        ask.text("add_constraint", text="an old rule", agent="ann")
        ask.text("report_error", error_type="OldError", message="x", solution="an old fix", agent="ann")
        return ask

    return make


def test_every_tool_is_called_below() -> None:
    assert {name for name, _ in ANSWERING + FOR_THE_DEFAULT} == {tool.name for tool in ALL_TOOLS}


_HERE = {"consult", "get_consultation", "list_conversations", "reset_conversation"} if over_server.is_asked_for else ()
"""Tools whose calls the local program answers itself, and asks no server."""

# which shows the message itself
BUT_A_BRIEFING = [call for call in ANSWERING if call[0] not in {"get_briefing", *_HERE}]


@pytest.fixture
def nobodys(waiting: Callable[..., Asker]) -> Asker:
    """Such a store, without a default agent."""
    return waiting()


@pytest.fixture
def bens(waiting: Callable[..., Asker]) -> Asker:
    """Such a store, whose default agent is ben."""
    return waiting(agent="ben")


@in_one_test(("tool", "arguments"), BUT_A_BRIEFING)
def test_who_acts_learns_of_unread_messages(nobodys: Asker, tool: str, arguments: dict[str, Any]) -> None:
    assert nobodys.text(tool, **arguments, agent="ben").split("\n")[-1] == WAITING
    assert nobodys.fields(tool, **arguments, agent="ben")["notice"] == WAITING


@in_one_test(("tool", "arguments"), BUT_A_BRIEFING + [call for call in FOR_THE_DEFAULT if call[0] not in _HERE])
def test_the_default_agent_learns_of_unread_messages(bens: Asker, tool: str, arguments: dict[str, Any]) -> None:
    assert bens.text(tool, **arguments).split("\n")[-1] == WAITING


@in_one_test(("tool", "arguments"), [call for call in ANSWERING if call[0] not in _HERE])
def test_another_agent_is_told_nothing(bens: Asker, tool: str, arguments: dict[str, Any]) -> None:
    assert "notice" not in bens.text(tool, **arguments, agent="cat")


def test_once_read_a_message_is_not_told_of_again(waiting: Callable[..., Asker]) -> None:
    ask = waiting(agent="ben")
    assert "notice" not in ask.text("get_messages")
    assert "notice" not in ask.text("read_context")


def test_a_message_that_a_briefing_showed_is_not_told_of_again(waiting: Callable[..., Asker]) -> None:
    ask = waiting(agent="ben")
    assert "stop" in ask.text("get_briefing")
    assert "notice" not in ask.text("read_context")
    assert ask.fields("get_messages", unread=True)["total"] == 1


def test_senders_are_named_the_busiest_first(new_asker: Callable[..., Asker]) -> None:
    ask = new_asker(agent="ben")
    for name in ("ann", "cat", "cat", "dan", "eve"):
        ask.text("send_message", message="x", to="ben", agent=name)
    told = ask.text("read_context").split("\n")[-1]
    assert told == "notice: 5 unread messages for ben from cat, ann, dan and 1 more: get_messages"


def test_a_note_of_a_decision_points_to_what_binds_the_project(empty: Asker) -> None:
    notes = [
        {"type": "decision", "content": "x"},
        {"type": "error", "content": "y"},
        {"type": "decision", "content": "z"},
    ]
    assert empty.text("write_context", entries=notes).count("set_decision") == 1
    assert len(empty.fields("write_context", entries=notes)["notes"]) == 1


def test_other_notes_point_to_nothing(empty: Asker) -> None:
    assert "set_decision" not in empty.text("write_context", type="discovery", content="x")
    assert "notes" not in empty.fields("write_context", type="discovery", content="x")


def test_the_fields_of_a_note_are_named_where_an_agent_reads_them() -> None:
    (listed,) = (tool for tool in ALL_TOOLS if tool.name == "write_context")
    said = listed.parameters["properties"]["content"]["description"]
    named = ("description", "issue_type", "suggestion", "passed", "summary", "intent_satisfied", "iteration", "done")
    assert [name for name in (*named, "next_step", "test_status", "blockers", "attempted") if name not in said] == []
