"""Files of lines: whatever is wrong with one, what is right in it arrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from keep.moving.stores import added, export
from kept_bytes import kept_bytes
from satchel import Satchel
from satchel.base.errors import NotFound, StoreForeign, StoreNewer
from satchel.keep.moving.files import read_lines
from satchel.keep.moving.records import Imported

Open = Callable[..., Satchel]


@pytest.fixture
def lines(open_in: Open, tmp_path: Path) -> list[bytes]:
    """The lines of an export: a header, an agent, a run, a decision, two notes, and the end."""
    folder = tmp_path.resolve() / "there"
    (folder / ".git").mkdir(parents=True)
    there = open_in(folder)
    there.decisions.set("store", "redis", agent="ann")
    for text in ("exports are cp1252", "the gateway allows 40 calls"):
        there.entries.write("discovery", text, agent="ann")
    return export(there, tmp_path / "export.jsonl").read_bytes().splitlines(keepends=True)


def bring(satchel: Satchel, tmp_path: Path, content: bytes, *, dry_run: bool = False) -> Imported:
    """Import a file of this content."""
    file = tmp_path / "lines.jsonl"
    file.write_bytes(content)
    return satchel.moving.import_file(file, dry_run=dry_run)


def said(result: Imported) -> list[tuple[str, str, bool]]:
    """Return what was wrong: the row, the reason, and whether it was left out."""
    return [(one.row, one.reason, one.left_out) for one in result.troubles]


def test_a_whole_file_arrives_without_trouble(satchel: Satchel, tmp_path: Path, lines: list[bytes]) -> None:
    result = bring(satchel, tmp_path, b"".join(lines))
    assert (added(result), said(result)) == ({"agent": 1, "run": 1, "decision": 1, "entry": 2}, [])
    assert not result.is_incomplete


def test_a_file_that_is_cut_between_two_lines_is_told_by_its_missing_end(
    satchel: Satchel, tmp_path: Path, lines: list[bytes]
) -> None:
    result = bring(satchel, tmp_path, b"".join(lines[:-2]))
    assert (added(result)["entry"], result.is_incomplete) == (1, True)
    assert said(result) == [("its end", "the file is truncated: the end line is missing after 4 lines", True)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"kind": "entry", "content": "\xff\xfe"}\n', "byte 31 is not UTF-8"),
        (b"{not json}\n", "it cannot be read"),
        (b"[1, 2]\n", "it is not an object"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b'{"kind": "entry", "uid": "' + b"0" * 32 + b'", "content": NaN}\n', ""),
    ],
)
def test_a_line_that_cannot_be_read_costs_itself_alone(
    satchel: Satchel, tmp_path: Path, lines: list[bytes], bad: bytes, reason: str
) -> None:
    result = bring(satchel, tmp_path, b"".join([*lines[:2], bad, *lines[2:]]))
    ((row, told, left_out),) = said(result)
    assert (row, reason in told, left_out, added(result)["decision"]) == ("line 3", True, True, 1)


def test_a_file_with_a_mark_of_byte_order_and_other_line_ends_is_read(
    satchel: Satchel, tmp_path: Path, lines: list[bytes]
) -> None:
    content = b"\xef\xbb\xbf" + b"".join(line.replace(b"\n", b"\r\n") + b"\r\n" for line in lines)
    assert said(bring(satchel, tmp_path, content)) == []


@pytest.mark.no_store
def test_a_newer_schema_is_refused_and_nothing_is_taken(satchel: Satchel, tmp_path: Path, lines: list[bytes]) -> None:
    header = json.loads(lines[0]) | {"schema": 2}
    with pytest.raises(StoreNewer, match="schema 2"):
        bring(satchel, tmp_path, b"".join([json.dumps(header).encode() + b"\n", *lines[1:]]))
    assert not satchel.workplace.engine.exists()


def test_what_is_no_export_is_refused(satchel: Satchel, tmp_path: Path, lines: list[bytes]) -> None:
    with pytest.raises(StoreForeign, match="is not an export"):
        bring(satchel, tmp_path, b"".join(lines[1:]))
    with pytest.raises(NotFound):
        satchel.moving.import_file(tmp_path / "nowhere.jsonl")


def test_lines_of_another_project_arrive_in_this_one(satchel: Satchel, tmp_path: Path, lines: list[bytes]) -> None:
    result = bring(satchel, tmp_path, b"".join(lines))
    assert (result.source_project, satchel.housekeeping.statistics().project) == ("there", "project")


def test_an_export_is_named_by_the_uid_of_its_project(tmp_path: Path, lines: list[bytes]) -> None:
    header = json.loads(lines[0])
    named = {header["project"]["uid"]: f"export of {header['project']['uid']}", "x" * 33: "export", 7: "export"}
    for uid, name in named.items():
        (tmp_path / "lines.jsonl").write_text(json.dumps(header | {"project": {"name": "there", "uid": uid}}))
        assert read_lines(tmp_path / "lines.jsonl").name == name


def test_a_preview_foresees_what_happens_and_writes_nothing(
    satchel: Satchel, tmp_path: Path, lines: list[bytes]
) -> None:
    satchel.decisions.set("store", "sqlite")
    before = kept_bytes(satchel)
    foreseen = bring(satchel, tmp_path, b"".join(lines), dry_run=True)
    assert kept_bytes(satchel) == before
    done = bring(satchel, tmp_path, b"".join(lines))
    assert (foreseen.kinds, foreseen.conflicts, foreseen.done) == (done.kinds, done.conflicts, False)


def test_what_was_left_out_is_named_the_important_first(satchel: Satchel, tmp_path: Path, lines: list[bytes]) -> None:
    bad = [
        {"kind": "file_change", "uid": "1" * 32},
        {"kind": "entry", "uid": "2" * 32},
        {"kind": "decision", "uid": "3" * 32},
    ]
    content = b"".join([*lines[:-1], *(json.dumps(line).encode() + b"\n" for line in bad), lines[-1]])
    assert [one.table for one in bring(satchel, tmp_path, content).troubles] == ["decision", "entry", "file_change"]


def test_an_older_export_that_was_never_taken_changes_nothing_back(
    open_in: Open, satchel: Satchel, tmp_path: Path
) -> None:
    satchel.entries.write("discovery", "exports are cp1252")
    old = export(satchel, tmp_path / "old.jsonl")
    satchel.workplace.clock.advance(1_000)  # type: ignore[attr-defined] # the test's clock
    satchel.corrections.retract("e1", agent="human")
    new = export(satchel, tmp_path / "new.jsonl")
    folder = tmp_path.resolve() / "other"
    (folder / ".git").mkdir(parents=True)
    other = open_in(folder)
    other.moving.import_file(new)
    other.moving.import_file(old)
    assert other.entries.read().total == 0
