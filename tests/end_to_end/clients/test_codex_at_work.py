"""Codex with the hooks of `satchel setup`, at edits and commands of its own: no tool of Satchel is called."""

from __future__ import annotations

import pytest

from end_to_end.clients.client_programs import Seen, Workplace
from end_to_end.clients.clients_set_up import CODEX, let_work
from end_to_end.clients.dialects import Call

pytestmark = pytest.mark.referee

NOTE = "a change of LIMIT needs a restart of the worker"
FIX = "install PyYAML, its module is called yaml"
TEXT = "the API of the worker changed"
BROKEN = """python3 -c 'raise ModuleNotFoundError("No module named \\"yaml\\"")'"""


def patch(file: str, old: str = "LIMIT = 1", new: str = "LIMIT = 2") -> Call:
    """Return an edit of one line by the tool of Codex."""
    change = f"*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch"
    return Call("apply_patch", {"input": change})


WRITE = Call("apply_patch", {"input": "*** Begin Patch\n*** Add File: new.py\n+LIMIT = 1\n*** End Patch"})
EDIT, EDIT_HELD, EDIT_IN_VAIN = patch("open.py"), patch("held.py"), patch("idle.py", old="no such line")
FAIL = Call("exec_command", {"cmd": BROKEN})
SCRIPT = (WRITE, EDIT, EDIT_HELD, EDIT_IN_VAIN, FAIL)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    workplace = Workplace.make(tmp_path_factory.mktemp("work"))
    for name in ("open.py", "held.py", "idle.py"):
        (workplace.project / name).write_text("LIMIT = 1\n")
    workplace.run(["satchel", "file", "claim", "held.py", "--why", "release freeze"])
    workplace.run(["satchel", "write", "discovery", NOTE, "--file", "open.py"])
    workplace.run(["satchel", "error", "report", "ModuleNotFoundError", 'No module named "yaml"', "--solution", FIX])
    workplace.run(["satchel", "message", "send", TEXT])
    return let_work(CODEX, workplace, SCRIPT, "--sandbox", "danger-full-access")


def test_an_edit_is_recorded_and_one_that_failed_is_not(worked: Seen) -> None:
    changes = worked.workplace.satchel("file", "list")["changes"]
    assert {change["file"]: change["change"] for change in changes} == {"new.py": "created", "open.py": "modified"}


def test_an_edit_of_a_file_that_a_person_has_claimed_is_not_made(worked: Seen) -> None:
    assert 'for "release freeze"' in worked.given(EDIT_HELD).text
    assert (worked.workplace.project / "held.py").read_text() == "LIMIT = 1\n"


def test_notes_come_before_the_edit_of_the_file_that_they_cite(worked: Seen) -> None:
    assert worked.told.index(NOTE) < worked.told.index("M open.py")


def test_a_failed_command_brings_the_known_fix(worked: Seen) -> None:
    assert FIX in worked.told


def test_a_message_arrives_once(worked: Seen) -> None:
    assert worked.told.count(TEXT) == 1


def test_the_session_is_one(worked: Seen) -> None:
    (session,) = worked.sessions
    assert session["client"] == "codex"
