"""What setup puts into clients' files, and takes out: for any configuration, and for those that need care."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config_texts import json_texts, toml_texts
from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.clients import CLIENTS, Place, Target, Wish
from satchel.interfaces.setup.editing import Append, Change, Put, Syntax, applied, edited, is_same, parse
from satchel.interfaces.setup.entries import Server
from satchel.interfaces.setup.parts import Fixed, Hook, Hooks, State, hook_command, hook_of
from satchel.interfaces.setup.texts import TextPart

LAUNCHERS = st.sampled_from(["/opt/satchel/bin/satchel", "/home/ann b/.local/bin/satchel", "/o'brien/$x/satchel"])
TARGETS = [
    (name, number)
    for name, client in CLIENTS.items()
    for number, target in enumerate(client.targets(Place(Path("/h"), {}), Wish("satchel", allowed=frozenset(CLIENTS))))
    if target.syntax is not None
]


def target_of(name: str, number: int, launcher: str = "/opt/satchel/bin/satchel") -> Target:
    return CLIENTS[name].targets(Place(Path("/h"), {}), Wish(launcher, allowed=frozenset(CLIENTS)))[number]


def put_all(text: str, target: Target) -> str:
    for part in target.parts:
        text = target.put(text, part)
    return text


def take_all(text: str, target: Target) -> str:
    for part in reversed(target.parts):
        text = target.take(text, part)
    return text


def of_others(target: Target) -> list[Change]:
    """Return what a user may have of their own where setup writes."""
    changes: list[Change] = []
    for part in target.parts:
        if isinstance(part, Server):
            changes.append(Put((*part.place, "other"), {"command": "other", "args": ["mcp"]}))
        elif isinstance(part, Hooks):
            handler = {"type": "command", part.command_key: "notify-send 'satchel hook'", "timeout": 5}
            element = {"matcher": "startup", "hooks": [handler]} if part.grouped else handler
            changes += [Append((*part.place, event), element) for event in [*part.handlers, "Other"]]
    return changes


def without_empty(value: object) -> object:
    """Return a value without the empty objects and lists in it, which setup may leave or remove."""
    if isinstance(value, Mapping):
        kept = {key: without_empty(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner not in ({}, [])}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


@st.composite
def configurations(draw: st.DrawFn, target: Target) -> str:
    """Make a client's file in any style, with what others have put where setup writes."""
    texts = {
        Syntax.JSON: json_texts(comments=False),
        Syntax.JSONC: json_texts(comments=True),
        Syntax.TOML: toml_texts(),
    }
    assert target.syntax is not None
    text, _ = draw(texts[target.syntax])
    chosen = draw(st.lists(st.sampled_from(of_others(target)), unique_by=repr)) if of_others(target) else []
    return edited(text, target.syntax, chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), TARGETS)
@given(data=st.data())
def test_any_configuration_survives(name: str, number: int, data: st.DataObject) -> None:
    target = target_of(name, number, data.draw(LAUNCHERS))
    assert target.syntax is not None
    before = data.draw(configurations(target))
    after = put_all(before, target)
    assert [one.state for _, one in target.found(after)] == [State.CURRENT] * len(target.parts)
    assert put_all(after, target) == after
    taken = take_all(after, target)
    left, had = parse(taken, target.syntax), parse(before, target.syntax)
    for part in target.parts:
        if isinstance(part, Fixed):  # goes with the file alone
            left.pop(part.path[0], None)
            had.pop(part.path[0], None)
    assert is_same(without_empty(left), without_empty(had))
    assert all(line in after.splitlines() for line in before.splitlines() if line.lstrip().startswith(("//", "#")))


@pytest.mark.parametrize(("name", "number"), TARGETS)
def test_what_is_put_in_is_taken_out_to_the_byte(name: str, number: int) -> None:
    target = target_of(name, number)
    if target.syntax is Syntax.TOML:
        texts = ["model = 'x'\n\n[mcp_servers.other]\ncommand = 'other'\n", "# mine\r\n[a]\r\nb = 1\r\n"]
    else:
        texts = [
            "{}",
            '{\n  "a": 1\n}\n',
            '{"a": [1, 2],\r\n\t"b": {}}\r\n',
            '{"version": 1, "hooks": {"Other": [{}]}}',
        ]
    fixed = [part for part in target.parts if isinstance(part, Fixed)]
    if fixed:
        texts = texts[1:] if fixed[0].only_new else ['{\n  "version": 2,\n  "hooks": {"Other": [{}]}\n}\n']
    for text in texts:
        assert take_all(put_all(text, target), target) == text


def server(**entry: object) -> Server:
    return Server(("mcpServers",), "/new/satchel", entry or {"type": "stdio"})


def after(part: Server | Hooks, data: dict[str, object]) -> dict[str, object]:
    return applied(data, part.put(data))


def test_an_entry_of_another_launcher_is_replaced_and_keeps_what_the_user_added() -> None:
    had = {"type": "stdio", "command": "/old/satchel", "args": ["mcp", "--toolsets", "all"], "env": {"A": "1"}}
    found = server().found({"mcpServers": {"satchel": had}})
    assert (found.state, found.detail) == (State.STALE, "it starts /old/satchel mcp --toolsets all")
    data = after(server(), {"mcpServers": {"satchel": had}})
    assert data == {"mcpServers": {"satchel": {**had, "command": "/new/satchel"}}}


def test_an_entry_that_runs_satchel_through_a_runner_is_replaced() -> None:
    had = {"command": "uvx", "args": ["--from", "satchel", "satchel", "mcp"], "timeout": 9}
    data = after(server(), {"mcpServers": {"satchel": had}})
    new = {"command": "/new/satchel", "args": ["mcp"], "timeout": 9, "type": "stdio"}
    assert data == {"mcpServers": {"satchel": new}}


@pytest.mark.parametrize(
    "entry", [{"type": "http", "url": "https://satchel.example"}, {"command": "postman", "args": ["mcp"]}, "text", None]
)
def test_an_entry_of_the_name_that_starts_something_else_is_refused_and_never_removed(entry: object) -> None:
    data: dict[str, object] = {"mcpServers": {"satchel": entry}}
    if entry is not None:
        with pytest.raises(Refused, match="does not start Satchel"):
            server().put(data)
    assert server().take(data) == []


def test_a_value_that_the_user_has_set_in_the_entry_is_theirs() -> None:
    part = server(tools=["*"])
    data: dict[str, object] = {
        "mcpServers": {"satchel": {"command": "/new/satchel", "args": ["mcp"], "tools": ["search"]}}
    }
    assert part.found(data).state is State.CURRENT
    assert part.put(data) == []


def test_a_list_of_variables_is_extended() -> None:
    part = Server(("s",), "satchel", {"env_vars": ["A", "B"]}, united=frozenset({"env_vars"}))
    data = after(part, {"s": {"satchel": {"command": "satchel", "args": ["mcp"], "env_vars": ["B", "MINE"]}}})
    assert data == {"s": {"satchel": {"command": "satchel", "args": ["mcp"], "env_vars": ["B", "MINE", "A"]}}}


def test_command_and_arguments_are_one_list_where_the_client_wants_it() -> None:
    part = Server(("mcp",), "/new/satchel", {"type": "local"}, in_one_list=True)
    had = {"type": "local", "command": ["/old/satchel", "mcp", "--read-only"], "enabled": False}
    data = after(part, {"mcp": {"satchel": had}})
    assert data == {"mcp": {"satchel": {**had, "command": ["/new/satchel", "mcp", "--read-only"]}}}
    assert part.is_switched_off(data)


def test_other_entries_that_start_satchel_are_named() -> None:
    ours: dict[str, object] = {"command": "/x/satchel", "args": ["mcp"]}
    data = {"mcpServers": {"satchel": ours, "memory": ours, "gh": {"command": "gh", "args": ["mcp"]}, "odd": 1}}
    assert server().others(data) == ["memory"]


HOOKS = Hooks({"SessionStart": {"hooks": [{"type": "command", "command": "/new/satchel hook claude SessionStart"}]}})


def group(*commands: str, **more: object) -> dict[str, object]:
    return {**more, "hooks": [{"type": "command", "command": command} for command in commands]}


def test_hooks_of_another_launcher_are_replaced_and_those_of_others_stay() -> None:
    old, other = group("'/old place/satchel' hook claude SessionStart"), group("say hello", matcher="startup")
    had: dict[str, object] = {"hooks": {"SessionStart": [old, other], "Stop": [other]}}
    assert HOOKS.found(had).state is State.STALE
    assert after(HOOKS, had) == {"hooks": {"SessionStart": [other, HOOKS.handlers["SessionStart"]], "Stop": [other]}}


def test_a_hook_that_the_user_has_tuned_is_current() -> None:
    tuned = {
        "matcher": "startup",
        "hooks": [{"type": "command", "command": "/new/satchel hook claude SessionStart", "timeout": 60}],
    }
    assert HOOKS.put({"hooks": {"SessionStart": [tuned]}}) == []


AFTER_TOOLS = Hooks({"PostToolUse": group("/new/satchel hook claude PostToolUse", matcher="Edit|Read")})


def test_a_hook_for_other_tools_is_replaced_and_keeps_what_the_user_added() -> None:
    tuned = {"type": "command", "command": "/new/satchel hook claude PostToolUse", "timeout": 60}
    had: dict[str, object] = {"hooks": {"PostToolUse": [{"matcher": "Edit", "note": "mine", "hooks": [tuned]}]}}
    assert AFTER_TOOLS.found(had).detail == "they call /new/satchel; not current: PostToolUse"
    new = {"matcher": "Edit|Read", "note": "mine", "hooks": [tuned]}
    assert after(AFTER_TOOLS, had) == {"hooks": {"PostToolUse": [new]}}
    assert AFTER_TOOLS.put({"hooks": {"PostToolUse": [new]}}) == []


def test_other_tools_for_our_hook_change_nothing_for_a_hook_of_others_in_its_group() -> None:
    both = ("say hello", "/new/satchel hook claude PostToolUse")
    had: dict[str, object] = {"hooks": {"PostToolUse": [group(*both, matcher="Edit")]}}
    groups = [group("say hello", matcher="Edit"), AFTER_TOOLS.handlers["PostToolUse"]]
    assert after(AFTER_TOOLS, had) == {"hooks": {"PostToolUse": groups}}


def test_a_hook_that_stands_twice_stands_once() -> None:
    one = dict(HOOKS.handlers["SessionStart"])
    assert after(HOOKS, {"hooks": {"SessionStart": [one, one]}}) == {"hooks": {"SessionStart": [one]}}


def test_a_hook_of_an_event_that_is_no_longer_wanted_is_removed() -> None:
    had: dict[str, object] = {"hooks": {"Stop": [group("/new/satchel hook claude Stop")]}}
    assert after(HOOKS, had) == {"hooks": {"SessionStart": [HOOKS.handlers["SessionStart"]]}}


def test_a_group_that_holds_a_hook_of_others_too_keeps_it() -> None:
    mixed = group("say hello", "/old/satchel hook claude SessionStart", matcher="clear")
    had: dict[str, object] = {"hooks": {"SessionStart": [mixed]}}
    rest = group("say hello", matcher="clear")
    assert after(HOOKS, had) == {"hooks": {"SessionStart": [rest, HOOKS.handlers["SessionStart"]]}}
    assert applied(had, HOOKS.take(had)) == {"hooks": {"SessionStart": [rest]}}


def test_a_call_in_a_form_of_the_users_own_is_named_and_left() -> None:
    mine = "cd /x && satchel hook claude SessionStart"
    had: dict[str, object] = {"hooks": {"SessionStart": [group(mine)]}}
    assert HOOKS.others(had) == [mine]
    assert HOOKS.take(had) == []


@pytest.mark.parametrize("hooks", ["text", [], {"SessionStart": "text"}, {"SessionStart": {}}])
def test_hooks_of_another_shape_are_refused(hooks: object) -> None:
    data: dict[str, object] = {"hooks": hooks}
    with pytest.raises(InvalidInput, match="hooks"):
        applied(data, HOOKS.put(data))


@given(LAUNCHERS, st.booleans())
def test_a_command_is_known_again_whatever_its_launcher(launcher: str, is_guarded: bool) -> None:
    command = hook_command(launcher, "codex", "SessionStart", is_guarded=is_guarded)
    assert hook_of(command) == Hook(launcher, "codex", "SessionStart")


@pytest.mark.parametrize("command", ["", "satchel mcp", "satchel hook claude", "other hook claude X", "'", None, 3, []])
def test_what_setup_never_wrote_is_no_hook_of_its_own(command: object) -> None:
    assert hook_of(command) is None


def test_what_a_format_wants_is_put_in_once_and_what_is_there_stays() -> None:
    part, schema = Fixed(("version",), 1), Fixed(("$schema",), "x", only_new=True)
    assert applied({"a": 1}, part.put({"a": 1})) == {"a": 1, "version": 1}
    assert part.put({"version": 2}) == []
    assert applied({}, schema.put({})) == {"$schema": "x"}
    assert schema.put({"a": 1}) == []


def test_every_part_says_what_it_is() -> None:
    roles = {part.role for name, number in TARGETS for part in target_of(name, number).parts}
    assert roles == {"server", "hooks", "permission", "format"}
    assert not any(isinstance(part, TextPart) for name, number in TARGETS for part in target_of(name, number).parts)
