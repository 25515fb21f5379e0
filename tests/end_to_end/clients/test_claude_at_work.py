"""Claude Code with the hooks of `satchel setup`, at edits and commands of its own: no tool of Satchel is called."""

from __future__ import annotations

import pytest

from end_to_end.clients.client_programs import Seen, Workplace
from end_to_end.clients.clients_set_up import CLAUDE, let_work
from end_to_end.clients.dialects import Call

pytestmark = pytest.mark.referee

NOTE = "a change of LIMIT needs a restart of the worker"
FIX = "install PyYAML, its module is called yaml"
TEXT = "the API of the worker changed"
BROKEN = """python3 -c 'raise ModuleNotFoundError("No module named \\"yaml\\"")'"""

WRITE = Call("Write", {"file_path": "{project}/new.py", "content": "LIMIT = 1\n"})
READ = Call("Read", {"file_path": "{project}/open.py"})
EDIT = Call("Edit", {"file_path": "{project}/open.py", "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"})
READ_HELD = Call("Read", {"file_path": "{project}/held.py"})
EDIT_HELD = Call("Edit", {"file_path": "{project}/held.py", "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"})
FAIL = Call("Bash", {"command": BROKEN, "description": "Fail"})
CALLS = (WRITE, READ, EDIT, READ_HELD, EDIT_HELD, FAIL)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    workplace = Workplace.make(tmp_path_factory.mktemp("work"))
    for name in ("open.py", "held.py"):
        (workplace.project / name).write_text("LIMIT = 1\n")
    workplace.run(["satchel", "file", "claim", "held.py", "--why", "release freeze"])
    workplace.run(["satchel", "write", "discovery", NOTE, "--file", "open.py"])
    workplace.run(["satchel", "error", "report", "ModuleNotFoundError", 'No module named "yaml"', "--solution", FIX])
    workplace.run(["satchel", "message", "send", TEXT])
    script = tuple(
        Call(call.tool, {k: v.replace("{project}", str(workplace.project)) for k, v in call.arguments.items()})
        for call in CALLS
    )
    return let_work(CLAUDE, workplace, script, "--permission-mode", "acceptEdits", "--allowedTools", "Bash(python3 *)")


def test_an_edit_is_recorded(worked: Seen) -> None:
    changes = worked.workplace.satchel("file", "list")["changes"]
    assert {change["file"]: change["change"] for change in changes} == {"new.py": "created", "open.py": "modified"}


def test_an_edit_of_a_file_that_a_person_has_claimed_is_not_made(worked: Seen) -> None:
    answer = worked.given(worked.script[4])
    assert answer.is_error
    assert 'for "release freeze"' in answer.text
    assert (worked.workplace.project / "held.py").read_text() == "LIMIT = 1\n"


def test_notes_come_before_the_edit_of_the_file_that_they_cite(worked: Seen) -> None:
    assert NOTE in worked.told


def test_a_failed_command_brings_the_known_fix(worked: Seen) -> None:
    assert FIX in worked.told


def test_a_message_arrives_once(worked: Seen) -> None:
    assert worked.told.count(TEXT) == 1


def test_the_session_is_one(worked: Seen) -> None:
    (session,) = worked.sessions
    assert session["client"] == "claude"
