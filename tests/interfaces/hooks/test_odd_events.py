"""Whatever clients send: hooks end well, answer in the client's form or not at all, and leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from interfaces.hooks.conftest import Hook
from satchel import Satchel
from satchel.interfaces.hooks import state
from satchel.keep.files.places import Place
from satchel.store.sqlite_transaction import SqliteTransaction
from tables import in_one_test

EVENTS = {
    "claude": ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd", "SubagentStart"),
    "codex": ("PreToolUse", "PostToolUse", "Stop"),
    "gemini": ("BeforeTool", "AfterTool", "SessionStart"),
    "qwen": ("PreToolUse", "PostToolUse", "PostToolUseFailure"),
    "copilot": ("preToolUse", "postToolUse"),
    "cursor": ("preToolUse", "postToolUse"),
    "opencode": ("PreToolUse", "PostToolUse"),
    "vscode": ("PreToolUse", "PostToolUse"),
}
ANSWERS: dict[str, tuple[set[str], ...]] = {
    "gemini": ({"hookSpecificOutput"}, {"hookSpecificOutput", "systemMessage"}, {"decision", "reason"}),
    "copilot": ({"additionalContext"}, {"permissionDecision", "permissionDecisionReason"}),
    "cursor": ({"additional_context"}, {"permission", "user_message", "agent_message"}),
    "opencode": ({"additionalContext"}, {"permissionDecision", "permissionDecisionReason"}),
}
USUAL = ({"hookSpecificOutput"},)

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
PATHS = TEXTS | st.sampled_from(
    [
        "../../etc/passwd",
        "/etc/passwd",
        "/dev/null",
        "/dev/zero",
        "/proc/self/mem",
        "~/.ssh/id_rsa",
        "https://example.org/x.py",
        "a\0b",
        "a.py",
        "out/secret",
        "loop/loop/loop",
        "pipe",
        ".git/config",
        ".satchel/satchel.db",
        "x" * 5_000,
        "x/" * 2_500,
        "\ud800.py",
        "a\nb",
        "src/",
        ".",
        "",
    ]
)
TOOLS = ["Edit", "Write", "apply_patch", "replace", "write_file", "Bash", "run_shell_command", "ExitPlanMode", "x"]
PATCHES = st.lists(PATHS, max_size=5).map(
    lambda paths: "*** Begin Patch\n" + "\n".join(f"*** Update File: {path}" for path in paths)
)
INPUTS = VALUES | st.dictionaries(
    st.sampled_from(["file_path", "path", "edits", "command", "plan", "content", "input", "workdir"]),
    PATHS | PATCHES | VALUES | st.lists(PATHS.map(lambda path: {"file_path": path}), max_size=3),
    max_size=4,
)
FIELDS = st.fixed_dictionaries(
    {"tool_name": st.sampled_from(TOOLS) | VALUES, "tool_input": INPUTS},
    optional={
        "tool_response": VALUES
        | st.dictionaries(st.sampled_from(["stdout", "stderr", "exit_code", "metadata", "llmContent"]), VALUES),
        "error": VALUES,
        "session_id": VALUES,
        "cwd": PATHS | VALUES,
        "agent_id": VALUES,
        "tool_use_id": VALUES,
        "hook_event_name": VALUES,
        "is_interrupt": VALUES,
    },
)


@pytest.fixture
def tricky(project: Path, tmp_path: Path) -> Path:
    """A project with links out of it and in a circle, and a pipe; return the folder of the test."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    (project / "out").symlink_to(tmp_path / "outside")
    (project / "loop").symlink_to(project / "loop")
    (project / "a.py").write_text("x")
    os.mkfifo(project / "pipe")
    return tmp_path


def everything_in(folder: Path) -> set[str]:
    """Return what is in a folder, but for the state folder and the store."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {path for path in found if not path.startswith("state/") and ".satchel/" not in path}


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), client=st.sampled_from(list(EVENTS)), fields=FIELDS)
def test_odd_events_are_answered_in_the_clients_form_or_not_at_all(
    hook: Hook, tricky: Path, data: st.DataObject, client: str, fields: dict[str, Any]
) -> None:
    name = data.draw(st.sampled_from(EVENTS[client]))
    before, faults = everything_in(tricky), state.faults(0)
    answer = hook(client, name, fields)
    assert answer is None or set(answer) in ANSWERS.get(client, USUAL)
    assert state.faults(0) == faults, "faults of an example that failed stay"
    assert everything_in(tricky) == before


@in_one_test(
    "data",
    [
        pytest.param(
            b'{"tool_name": "Bash", "tool_input": ' + b'{"a": ' * 5_000 + b"1" + b"}" * 5_000 + b"}", id="deep object"
        ),
        pytest.param(
            b'{"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": ' + b"[" * 900 + b"]" * 900 + b"}",
            id="deep output",
        ),
        b'{"tool_name": "Edit", "tool_input": {"file_path": "a\xff\xfe.py"}}',
        pytest.param(
            b'{"tool_name": "Edit", "tool_input": {"file_path": "\\ud83d.py"}, "session_id": "\\udc00"}',
            id="surrogates",
        ),
        pytest.param(
            b'{"tool_name": "Edit", "tool_input": {"file_path": "a.py"}, "cwd": "a\\u0000b"}', id="NUL in the folder"
        ),
        b'{"tool_name": "Edit", "tool_input": {"file_path": "a\\u0000b/c.py"}}',
        b'{"tool_name": "Edit", "tool_input": {"line": ' + b"9" * 10_000 + b"}}",
        b'{"tool_name": "Edit", "tool_input": {"file_path": NaN}}',
        b'\xef\xbb\xbf{"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}',
    ],
)
@in_one_test("event", ["PreToolUse", "PostToolUse"])
def test_odd_json_is_no_fault(hook: Hook, data: bytes, event: str) -> None:
    assert hook("claude", event, data) is None
    assert state.faults(0) == []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often statements are executed, and two places compared."""
    counts = {"statements": 0, "comparisons": 0}

    def count(owner: type, method: str, what: str) -> None:
        original: Callable[..., Any] = getattr(owner, method)

        def counting(*args: Any, **options: Any) -> Any:
            counts[what] += 1
            return original(*args, **options)

        monkeypatch.setattr(owner, method, counting)

    for method in ("run", "execute", "one", "all"):
        count(SqliteTransaction, method, "statements")
    count(Place, "meets", "comparisons")
    return counts


def patch_of(files: int) -> dict[str, object]:
    lines = "\n".join(f"*** Update File: f{number}.py" for number in range(files))
    return {"tool_name": "apply_patch", "tool_input": {"command": f"*** Begin Patch\n{lines}\n*** End Patch"}}


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_of_a_patch_of_ten_thousand_files_a_thousand_are_looked_at(
    hook: Hook, filled: Satchel, project: Path, counted: dict[str, int], event: str
) -> None:
    (project / "f0.py").write_text("x")
    for session in ("s1", "s2"):
        hook("codex", "SessionStart", session_id=session, source="startup")
        counted.update(statements=0, comparisons=0)
        hook("codex", event, patch_of(10_000), session_id=session, tool_use_id=session)
        assert counted["statements"] < 3_000
        assert counted["comparisons"] < 3_000
    assert filled.files.claims().total <= 1_000
