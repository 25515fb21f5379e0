"""What clients tell of their tools: the fields are those of real events, of the versions that docs/clients names."""

from __future__ import annotations

from typing import Any

import pytest

from satchel.interfaces.hooks import tools
from tables import in_one_test

PATCH = (
    "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: a.py\n-x\n+y\n*** Delete File: old.py\n*** End Patch"
)
PATCHED = [("new.py", "created"), ("a.py", "modified"), ("old.py", "deleted")]

EDITS = [
    ("gemini", {"tool_name": "write_file", "tool_input": {"file_path": "/p/a.py", "content": "x"}}, [("/p/a.py", "")]),
    (
        "gemini",
        {
            "tool_name": "replace",
            "tool_input": {"file_path": "/p/a.py", "old_string": "x", "new_string": "y", "instruction": "z"},
        },
        [("/p/a.py", "")],
    ),
    ("qwen", {"tool_name": "write_file", "tool_input": {"file_path": "/p/a.py", "content": "x"}}, [("/p/a.py", "")]),
    ("qwen", {"tool_name": "edit", "tool_input": {"file_path": "/p/a.py", "old_string": "x"}}, [("/p/a.py", "")]),
    ("copilot", {"toolName": "create", "toolArgs": {"path": "/p/a.py", "file_text": "x"}}, [("/p/a.py", "created")]),
    ("copilot", {"toolName": "edit", "toolArgs": {"path": "/p/a.py", "old_str": "x"}}, [("/p/a.py", "")]),
    ("copilot", {"toolName": "apply_patch", "toolArgs": PATCH}, PATCHED),
    ("opencode", {"tool_name": "edit", "tool_input": {"filePath": "/p/a.py", "oldString": "x"}}, [("/p/a.py", "")]),
    ("opencode", {"tool_name": "apply_patch", "tool_input": {"patchText": PATCH}}, PATCHED),
]


@in_one_test(("client", "fields", "edits"), EDITS)
def test_each_client_names_the_files_of_an_edit(client: str, fields: dict[str, Any], edits: list[object]) -> None:
    call = tools.read(fields, client, is_failure=False)
    assert call is not None
    assert list(call.edits) == edits


@pytest.mark.parametrize(
    ("client", "fields"),
    [
        ("gemini", {"tool_name": "read_file", "tool_input": {"file_path": "/p/a.py"}}),
        ("copilot", {"toolName": "view", "toolArgs": {"path": "/p/a.py"}}),
        ("opencode", {"tool_name": "read", "tool_input": {"filePath": "/p/a.py"}}),
    ],
)
def test_to_read_a_file_is_no_edit(client: str, fields: dict[str, Any]) -> None:
    call = tools.read(fields, client, is_failure=False)
    assert call is not None
    assert (list(call.edits), list(call.reads)) == ([], [("/p/a.py", "")])


def test_gemini_says_in_the_answer_that_an_edit_failed() -> None:
    answer = {
        "llmContent": "Could not find",
        "error": {"message": "Could not find", "type": "edit_no_occurrence_found"},
    }
    fields = {"tool_name": "replace", "tool_input": {"file_path": "/p/a.py"}, "tool_response": answer}
    call = tools.read(fields, "gemini", is_failure=False)
    assert call is not None
    assert call.has_failed


def ran(client: str, output: str, command: str = "make", exit_status: int | None = None) -> tools.Command:
    """Return what is read of a command that ended without its tool failing."""
    fields: dict[str, Any] = {"tool_name": "run_shell_command", "tool_input": {"command": command}}
    if client == "copilot":
        result = {"resultType": "success", "textResultForLlm": output}
        fields = {"toolName": "bash", "toolArgs": {"command": command}, "toolResult": result}
    elif client == "opencode":
        fields["tool_name"] = "bash"
        fields["tool_response"] = {"output": output, "metadata": {"exit": exit_status}}
    else:
        fields["tool_response"] = {"llmContent": output, "returnDisplay": "shown"}
    call = tools.read(fields, client, is_failure=False)
    assert call is not None
    assert call.command is not None
    return call.command


GEMINI = "<untrusted_context>\nOutput: {}{}\nProcess Group PGID: 12426\n</untrusted_context>"
QWEN = (
    "Command: {}\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: (none)\n"
    "Process Group PGID: (none)"
)
MENTIONS = "the worker exited with code 3"


@in_one_test(
    ("ran_in", "expected"),
    [
        (("gemini", GEMINI.format("Error: x", "\nExit Code: 3")), (True, 3, "Error: x")),
        (("gemini", GEMINI.format(MENTIONS, "")), (False, 0, MENTIONS)),
        (("gemini", GEMINI.format("(empty)", "\nSignal: 9")), (True, None, "")),
        (("gemini", f"Command was automatically cancelled: {MENTIONS}"), (None, None, None)),
        (("qwen", QWEN.format("make", MENTIONS, 0)), (False, 0, MENTIONS)),
        (("qwen", QWEN.format("echo 'Output: '", "fine", 0), "echo 'Output: '"), (False, 0, "fine")),
        (("qwen", "Background shell started"), (None, None, None)),
        (("copilot", "hi\n<shellId: 0 completed with exit code 3>"), (True, 3, "hi")),
        (("copilot", f"{MENTIONS}\n<shellId: 1 completed with exit code 0>"), (False, 0, MENTIONS)),
        (("copilot", f"{MENTIONS}\n<shellId: 1 is still running>"), (None, None, None)),
        (("opencode", "hi\n", "make", 3), (True, 3, "hi\n")),
        (("opencode", MENTIONS, "make", 0), (False, 0, MENTIONS)),
        (("opencode", MENTIONS), (None, None, MENTIONS)),
        (("vscode", MENTIONS), (None, None, MENTIONS)),
        (("cursor", MENTIONS), (False, None, MENTIONS)),
    ],
)
def test_how_a_command_ended_is_told_by_its_client_not_by_what_it_printed(
    ran_in: tuple[Any, ...], expected: tuple[bool | None, int | None, str | None]
) -> None:
    command, (has_failed, status, output) = ran(*ran_in), expected
    assert (command.has_failed, command.status) == (has_failed, status)
    assert output is None or command.output == output


def test_in_claude_code_the_first_line_of_the_error_is_its_status() -> None:
    fields = {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": f"Exit code 2\n{MENTIONS}"}
    call = tools.read(fields, "claude", is_failure=True)
    assert call is not None
    assert call.command is not None
    assert (call.command.has_failed, call.command.status) == (True, 2)


def test_qwen_tells_of_a_command_that_failed_in_an_event_of_its_own() -> None:
    error = QWEN.format("make", "hi", 3)
    fields = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}, "error": error}
    call = tools.read(fields, "qwen", is_failure=True)
    assert call is not None
    assert call.command == tools.Command("make", True, 3, "hi")


@in_one_test(
    ("name", "given"),
    [
        ("Write", {"file_path": "/p/a.py", "content": "x" * 3_000_000}),
        ("Edit", {"file_path": "/p/a.py", "old_string": "x" * 2_000_000, "new_string": "y" * 1_000_000}),
        ("Bash", {"command": "x" * 3_000_000}),
        ("ExitPlanMode", {"plan": "x" * 3_000_000}),
    ],
)
def test_a_large_event_leaves_little_to_send_to_a_server(name: str, given: dict[str, Any]) -> None:
    fields = {"tool_name": name, "tool_input": given, "tool_response": {"stdout": "z" * 3_000_000}}
    call = tools.read(fields, "claude", is_failure=False)
    assert call is not None
    assert len(repr(call)) < 350_000
