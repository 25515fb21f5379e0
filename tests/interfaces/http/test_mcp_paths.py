"""No path that a caller names is read, looked at or followed on the server's disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_over_http import Served, served
from satchel import Satchel
from satchel.base.clock import system_clock

SECRET = "the planted words zebra-quartz-9"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as one:
        yield one


@pytest.fixture
def planted(project: Path) -> Path:
    """A file in the project's folder on the server, and the same beside it."""
    (project / "src").mkdir()
    for file in (project / "src" / "planted.py", project.parent / "outside.py"):
        file.write_text(f"{SECRET}\n", encoding="utf-8")
    (project / "link.py").symlink_to(project / "src" / "planted.py")
    return project / "src" / "planted.py"


@pytest.fixture
def store(open_in: Callable[..., Satchel], project: Path, planted: Path) -> Satchel:
    """A store whose local agents have cited the file, saved it as a package and claimed it."""
    satchel = open_in(project, clock=system_clock)
    satchel.entries.write("discovery", "it is cited", file="src/planted.py:1", agent="ann")
    satchel.packages.save("a file", path="src/planted.py", agent="ann")
    return satchel


_seen: list[str] | None = None
_is_hooked = False


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event in {"open", "os.listdir", "os.scandir", "os.readlink"}:
        _seen.append(str(arguments[0]))


@contextmanager
def disk_watched() -> Iterator[list[str]]:
    """Tell which files the server opens, lists, follows or asks for.

    Opening and listing are told by the interpreter itself; asking for a file's state it tells nobody, so the functions
    that ask are replaced.
    """
    global _seen, _is_hooked  # noqa: PLW0603 -- a hook of the interpreter is there for good
    if not _is_hooked:
        sys.addaudithook(_hear)
        _is_hooked = True
    _seen = seen = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((os, "stat"), (os, "lstat"), (os, "readlink"), (os.path, "lexists"), (os.path, "isdir")):
            asked = getattr(owner, name)

            def told(path: Any, *more: Any, _asked: Any = asked, **named: Any) -> Any:
                seen.append(os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else "")
                return _asked(path, *more, **named)

            patch.setattr(owner, name, told)
        yield seen
    _seen = None


def spellings(planted: Path) -> list[str]:
    project = planted.parent.parent
    return [
        "src/planted.py",
        "src/planted.py:1",
        "./src/../src/planted.py",
        "link.py",
        "src/",
        "../outside.py",
        "src/../../outside.py",
        str(planted),
        f"{planted}:1",
        str(project.parent / "outside.py"),
        planted.as_uri(),
        f"file:{planted}",
        "~/outside.py",
        "file:src/planted.py",
        f"{project.name}/src/planted.py",
    ]


def calls(path: str) -> list[tuple[str, dict[str, object]]]:
    """Every tool that takes a path, in each place where it does."""
    return [
        ("claim_files", {"paths": [path], "reason": "x"}),
        ("get_items", {"ids": [f"file:{path}"]}),
        ("release_files", {"paths": [path], "description": "mended"}),
        ("record_file_change", {"file": path, "change": "modified"}),
        ("get_file_changes", {"file": path}),
        ("write_context", {"type": "discovery", "content": "seen", "file": path}),
        ("read_context", {"file": path, "detail": "full"}),
        ("search", {"query": "zebra", "file": path}),
        ("search", {"like": path}),
        ("report_error", {"error_type": "E", "message": f"in {path}", "stack": f'  File "{path}", line 1, in run'}),
        ("save_package", {"summary": "a file", "path": path}),
        ("start_run", {"run_id": "r1", "spec_path": path}),
        *(
            ("consult", {"assistant": "ollama:none", "instructions": "why?", "dry_run": True, place: [path]})
            for place in ("context", "priority", "attachments")
        ),
    ]


READING: list[tuple[str, dict[str, object]]] = [
    ("get_briefing", {"query": "it is cited"}),
    ("get_items", {"ids": ["e1", "p1"]}),
    ("get_packages", {"packages": ["p1"]}),
    ("search", {"query": "cited", "detail": "full"}),
    ("get_team", {}),
    ("list_conversations", {}),
]


@pytest.mark.slow
def test_no_path_of_a_caller_is_looked_at_on_the_disk(
    server: Served, store: Satchel, project: Path, planted: Path
) -> None:
    token = server.give(store)
    server.call(token, "search", {"query": "zebra"})  # what the server opens once
    for path in spellings(planted):
        for tool, arguments in [*calls(path), *READING]:
            with disk_watched() as seen:
                said = server.call(token, tool, arguments, query="?toolsets=all")
            assert SECRET not in said, (tool, path)
            touched = [one for one in seen if "planted" in one or "outside" in one or "link.py" in one]
            touched += [one for one in seen if one.rstrip("/") in {str(project / "src"), "src"}]
            assert touched == [], (tool, path, touched)


@pytest.mark.parametrize(
    ("tool", "name"), [("claim_files", "paths"), ("release_files", "paths"), ("write_context", "file")]
)
def test_an_absolute_path_is_refused_with_a_remedy(
    server: Served, store: Satchel, planted: Path, tool: str, name: str
) -> None:
    value: object = [str(planted)] if name == "paths" else str(planted)
    more = {"type": "discovery", "content": "x"} if tool == "write_context" else {}
    said = server.call(server.give(store), tool, {**more, name: value})
    assert said.startswith("error [invalid_input]")
    assert "Give a path relative to the project's root" in said


def test_a_consultation_with_files_names_the_local_program(server: Served, store: Satchel) -> None:
    arguments = {"assistant": "ollama:none", "instructions": "why?", "context": ["src/planted.py"]}
    said = server.call(server.give(store), "consult", arguments, query="?toolsets=consult")
    assert said.startswith("error [refused]: the server does not see your files.")
    assert "ask with the local program (satchel consult, satchel mcp)" in said


def test_checking_files_says_that_the_disk_is_not_seen(server: Served, store: Satchel) -> None:
    said = server.call(server.give(store), "get_items", {"ids": ["file:src/planted.py"]})
    assert "the server cannot see your disk" in said


def test_what_a_file_of_a_package_holds_is_not_read(server: Served, store: Satchel) -> None:
    said = server.call(server.give(store), "get_packages", {"packages": ["p1"]}, query="?toolsets=packages")
    assert "src/planted.py starts from no folder" in said


def test_a_note_whose_file_differs_on_the_server_is_not_marked(server: Served, store: Satchel, planted: Path) -> None:
    planted.write_text("other words\n", encoding="utf-8")
    (note,) = store.entries.read()
    assert note.citation is not None
    assert note.citation.is_stale
    said = server.call(
        server.give(store), "read_context", {"detail": "full", "format": "json"}, query="?toolsets=lists"
    )
    assert "it is cited" in said
    assert note.citation.state not in said
