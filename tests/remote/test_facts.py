"""What a local program sends with its calls, so that a server knows of its machine what it needs, and no more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from http_serving import Served
from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.base.errors import InvalidInput, Refused
from satchel.base.processes import Process
from satchel.base.wire import packed, unpacked
from satchel.brief.working.service import Working
from satchel.interfaces.http.public import operation_named
from satchel.interfaces.operations.all import OPERATIONS
from satchel.keep.citations import Citing, Place
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import SERVER, Caller
from satchel.remote import calls
from satchel.remote.facts import OF_PARAMETERS, Facts

Opens = Callable[..., Satchel]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the requests that a program has sent."""
    names: list[str] = []
    exchange = calls.Calls._exchange

    def noted(self: calls.Calls, name: str, *given: Any) -> dict[str, Any]:
        names.append(name)
        return exchange(self, name, *given)

    monkeypatch.setattr(calls.Calls, "_exchange", noted)
    return names


@pytest.fixture
def url(server: Served) -> str:
    """The address of a server."""
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture
def ann(open_at: Opens, url: str) -> Satchel:
    """A program in the project's folder."""
    return open_at(url)


def run(satchel: Satchel, name: str, **arguments: Any) -> Any:
    """Run an operation over the server."""
    return operation_named(name).bound(satchel)(**arguments)


def test_every_declared_kind_of_fact_can_be_looked_up() -> None:
    declared = {one.facts for operation in OPERATIONS for one in operation.parameters if one.facts}
    assert declared == OF_PARAMETERS.keys()


def test_paths_are_resolved_where_the_program_runs(ann: Satchel, here: Path) -> None:
    (here / "src").mkdir()
    (here / "src/app.py").write_text("one\n")
    (here / "way").symlink_to("src")
    claimed = run(ann, "claim_files", paths=["way/app.py", str(here / "src/new.py")])
    assert [one.path for one in claimed.claims] == ["src/app.py", "src/new.py"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("claim_files", {"paths": ["out/secret.txt"]}),
        ("file_check", {"files": ["out/secret.txt"]}),
        ("get_items", {"refs": ["file:out/secret.txt"]}),
        ("record_file_change", {"file": "out/secret.txt", "change": "modified"}),
        ("write_context", {"type": "discovery", "content": "text", "file": "out/secret.txt"}),
        ("write_context", {"entries": [{"type": "discovery", "content": "text", "file": "out/secret.txt"}]}),
        ("read_context", {"file": "out/secret.txt"}),
        ("get_file_changes", {"file": "out/secret.txt"}),
        ("search", {"file": "out/secret.txt"}),
        ("start_run", {"run_id": "r1", "spec_path": "out/secret.txt"}),
        (
            "save_package",
            {"summary": "text", "path": "out/secret.txt", "type": "research", "priority": "medium", "consumers": []},
        ),
    ],
)
def test_a_link_that_leads_out_of_the_project_is_refused(
    ann: Satchel, here: Path, name: str, arguments: dict[str, Any]
) -> None:
    (here / "out").symlink_to(here.parent)
    with pytest.raises(Refused, match="leads out of the project"):
        run(ann, name, **arguments)


def test_a_write_about_a_file_is_one_request(ann: Satchel, here: Path, sent: list[str]) -> None:
    (here / "app.py").write_text("one\ntwo\n")
    (note,) = run(ann, "write_context", type="discovery", content="text", file="app.py:2")
    run(ann, "claim_files", paths=["app.py", "lib/"])
    assert (note.file, note.line) == ("app.py", 2)
    assert sent == ["write_context", "claim_files"]


def test_notes_of_changed_files_are_marked(ann: Satchel, here: Path) -> None:
    for name in ("kept.py", "other.py"):
        (here / name).write_text("one\n")
        run(ann, "write_context", type="discovery", content=f"retries live in {name}", file=f"{name}:1")
    (here / "kept.py").write_text("two\n")
    states = {one.file: one.citation.state for one in run(ann, "read_context").entries}
    assert states == {"kept.py": "changed", "other.py": "unchanged"}


def test_a_stale_note_sinks_in_what_a_session_searches(open_at: Opens, url: str, here: Path, sent: list[str]) -> None:
    satchel = open_at(url, caller=Caller(SERVER, {}, ()))
    for name in ("kept.py", "other.py"):
        (here / name).write_text("one\n")
        run(satchel, "write_context", type="discovery", content=f"retries are made in {name}", file=f"{name}:1")
    first = run(satchel, "search", query="retries").results[0].file
    (here / first).write_text("two\n")
    run(satchel, "get_briefing", agent="ann")
    sent.clear()
    assert run(satchel, "search", query="retries").results[-1].file == first
    assert sent == ["search"]


def test_an_edit_is_claimed_and_recorded_with_one_request_each(
    open_at: Opens, url: str, here: Path, sent: list[str]
) -> None:
    hook = open_at(url, caller=Caller.of_hook({}, "claude-code", "conversation-1", begins=False))
    (here / "app.py").write_text("one\n")
    edits = [("app.py", "")]
    hook.working.before_edit(str(here), edits)
    (here / "app.py").write_text("two\n")
    hook.working.after_edit(str(here), edits)
    assert sent == ["working.before_edit", "working.after_edit"]
    other = open_at(url)
    assert [one.path for one in run(other, "file_claims")] == ["app.py"]
    assert [(one.file, one.change) for one in run(other, "get_file_changes")] == [("app.py", "modified")]


def test_everything_that_hooks_do_at_work_is_served() -> None:
    # last_error is for --explain alone; record is what a receipt stands for
    names = {name for name in vars(Working) if not name.startswith("_")} - {"last_error", "record"}
    assert {f"working.{name}" for name in names} <= calls.SERVED


def test_what_a_hook_could_not_check_is_checked_later(ann: Satchel, open_at: Opens, url: str, here: Path) -> None:
    (here / "app.py").write_text("one\n")
    run(ann, "claim_files", paths=["app.py"], agent="ben")
    hook = open_at(url, caller=Caller.of_hook({}, "claude-code", "conversation-1", begins=False))
    answer = hook.working.unchecked_edit("", [(str(here / "app.py"), "")])
    assert "app.py is claimed by ben" in answer.text


def test_what_a_hook_has_said_is_said_once(ann: Satchel, open_at: Opens, url: str, here: Path) -> None:
    (here / "app.py").write_text("one\n")
    run(ann, "write_context", type="discovery", content="retries are made here", file="app.py:1", agent="ben")
    hook = open_at(url, caller=Caller.of_hook({}, "claude-code", "conversation-1", begins=False))
    first = hook.working.before_edit(str(here), [("app.py", "")])
    assert "retries are made here" in first.text
    # what has not reached the client is said again
    assert hook.working.before_edit(str(here), [("app.py", "")]).text == first.text
    hook.working.record(first)
    assert hook.working.before_edit(str(here), [("app.py", "")]).text == ""


def test_what_is_released_without_names_is_recorded_as_changed(ann: Satchel, here: Path) -> None:
    (here / "app.py").write_text("one\n")
    run(ann, "claim_files", paths=["app.py"])
    released = run(ann, "release_files", description="text")
    assert [(one.file, one.change) for one in released.changes] == [("app.py", "modified")]


def test_a_key_is_one_for_all_machines(ann: Satchel, store: Path) -> None:
    run(ann, "claim_files", paths=["issue:311"])
    with open_satchel(store, agent="ben", environ={}) as satchel:
        (state,) = satchel.files.check(["issue:311"]).files
    assert state.state == "held"


def workplace_at(here: Path, caller: Caller | None) -> Workplace:
    with open_satchel(cwd=here, environ={}, caller=caller) as satchel:
        return satchel.workplace


def recording(here: Path) -> Facts:
    return Facts(workplace_at(here, None))


def answers(facts: list[Any]) -> list[Any]:
    return [unpacked(said["answer"]) for _, _, said in facts]


def test_a_server_learns_nothing_of_files_outside_of_the_project(here: Path) -> None:
    outside = here.parent / "theirs.txt"
    outside.write_text("a secret of others\n")
    (here / "way").symlink_to(here.parent)
    cited = Citing(str(here.parent)).cite("theirs.txt", 1, None)
    assert cited is not None
    paths = ["../theirs.txt", str(outside), "way/theirs.txt", "a/../../theirs.txt", "..", "/", "x\0y"]
    places = tuple((number, Place(path, cited)) for number, path in enumerate(paths))
    assert recording(here).compared(((), places), lambda: False) == []


ANYTHING: Any = "../../x"


@pytest.mark.parametrize(
    "recorded",
    [
        *(None, 5, (), ((1,), ()), ((), (1,)), ((), ((1, "x"),))),
        ((Process(ANYTHING, 1),), ()),
        ((), (([], Place("a", ANYTHING)),)),
    ],
)
def test_a_malformed_record_of_a_server_is_refused(here: Path, recorded: object) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        recording(here).compared(recorded, lambda: False)


def test_a_process_that_is_over_is_told_from_one_that_runs(here: Path) -> None:
    own = processes.find(os.getpid())
    assert own is not None
    facts = recording(here).compared(((own, Process(own.pid, own.started - 1)), ()), lambda: False)
    assert answers(facts) == [True, False]
    assert facts[0][1] == packed([own])


def test_a_program_that_stays_says_with_each_call_which_recorded_processes_run(here: Path) -> None:
    facts = Facts(workplace_at(here, Caller(SERVER, {}, ())))
    own = processes.find(os.getpid())
    assert own is not None
    facts.of_caller()
    facts.compared(((own,), ()), lambda: False)
    assert ["is_alive", packed([own]), {"answer": True}] in facts.of_caller()
