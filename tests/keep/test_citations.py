"""What entries cite, written and read in one project without a repository: marks, order, bounds, what is never read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import Entry, InvalidInput, Satchel
from satchel.base import cited
from satchel.base.cited import File
from satchel.keep import citations
from satchel.keep.citations import Citation

CODE = "import os\n\ndef a():\n    return 1\n\ndef b():\n    return 2\n"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests compared counts in none."""
    monkeypatch.setattr(citations, "_comparisons", {})


@pytest.fixture(autouse=True)
def code(project: Path) -> Path:
    """A file with two functions."""
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text(CODE)
    return project / "src" / "a.py"


def noted(satchel: Satchel, file: str, content: str = "a is what returns one") -> Entry:
    return satchel.entries.write("discovery", content, file=file)


def state(satchel: Satchel, entry: Entry) -> tuple[object, ...]:
    found = next(one for one in satchel.entries.read() if one.id == entry.id)
    citation = found.citation
    return () if citation is None else (citation.state, citation.line, *citation.marks)


class TestStates:
    @pytest.mark.parametrize(("place", "line"), [("src/a.py", None), ("src/a.py:3", 3), ("src/a.py:3-4", 3)])
    def test_of_what_stands_as_it_did_nothing_is_said(self, satchel: Satchel, place: str, line: int | None) -> None:
        assert state(satchel, noted(satchel, place)) == ("unchanged", line)

    def test_lines_that_moved_are_told_with_their_place(self, satchel: Satchel, code: Path) -> None:
        entry = noted(satchel, "src/a.py:3-4")
        code.write_text(f"import sys\n{CODE}")
        assert state(satchel, entry) == ("moved", 4, "moved to line 4")

    def test_an_edit_elsewhere_in_the_file_is_none_of_the_cited_lines(self, satchel: Satchel, code: Path) -> None:
        entry = noted(satchel, "src/a.py:3-4")
        code.write_text(CODE.replace("2", "3"))
        assert state(satchel, entry) == ("unchanged", 3)

    @pytest.mark.parametrize("place", ["src/a.py", "src/a.py:4", "src/a.py:3-4"])
    def test_an_edit_of_what_is_cited_is_told(self, satchel: Satchel, code: Path, place: str) -> None:
        entry = noted(satchel, place)
        code.write_text(CODE.replace("1", "7"))
        assert state(satchel, entry) == ("changed", None, "file changed since")

    def test_an_edit_that_keeps_size_and_time_is_told(self, satchel: Satchel, code: Path) -> None:
        os.utime(code, ns=(1, 1))
        entry = noted(satchel, "src/a.py:4")
        assert state(satchel, entry) == ("unchanged", 4)
        code.write_text(CODE.replace("1", "7"))
        os.utime(code, ns=(1, 1))
        assert state(satchel, entry)[0] == "changed"

    def test_a_file_that_is_gone_is_told_and_one_that_comes_back_is_not(self, satchel: Satchel, code: Path) -> None:
        entry = noted(satchel, "src/a.py:4")
        code.rename(code.with_name("b.py"))
        assert state(satchel, entry) == ("gone", None, "file gone")
        code.with_name("b.py").rename(code)
        assert state(satchel, entry) == ("unchanged", 4)

    def test_a_folder_in_the_place_of_a_file_says_nothing(self, satchel: Satchel, code: Path) -> None:
        entry = noted(satchel, "src/a.py")
        code.unlink()
        code.mkdir()
        assert state(satchel, entry) == ()

    def test_each_type_of_entry_cites(self, satchel: Satchel, code: Path) -> None:
        entry = satchel.entries.write("review_issue", {"description": "a is wrong"}, file="src/a.py:4", task_id="T")
        code.unlink()
        assert state(satchel, entry)[0] == "gone"

    @pytest.mark.parametrize("place", ["src/none.py", "src/none.py:3", "src/a.py:2", "src/"])
    def test_what_is_not_there_when_it_is_written_is_not_compared(
        self, satchel: Satchel, code: Path, place: str
    ) -> None:
        entry = noted(satchel, place)
        (code.parent / "none.py").write_text("x")
        code.unlink()
        assert state(satchel, entry) == ()

    def test_a_line_that_the_file_does_not_have_is_refused(self, satchel: Satchel) -> None:
        with pytest.raises(InvalidInput, match=r"src/a\.py has 7 lines, so line 99 is not there"):
            noted(satchel, "src/a.py:99")
        assert satchel.entries.read().total == 0

    def test_the_range_is_kept_whatever_the_file_holds(self, satchel: Satchel) -> None:
        entry = noted(satchel, "src/none.py:3-9")
        assert [(one.line, one.last_line) for one in (entry, *satchel.entries.read())] == [(3, 9)] * 2

    def test_outside_a_repository_nothing_is_known_of_commits(self, satchel: Satchel) -> None:
        noted(satchel, "src/a.py")
        assert satchel.entries.read().entries[0].citation == Citation("unchanged", None, None, None, None)


class TestWhatIsNeverRead:
    def test_a_file_whose_name_says_secret(self, satchel: Satchel, project: Path) -> None:
        (project / ".env").write_text("a=1\n")
        entry = noted(satchel, ".env:1")
        (project / ".env").write_text("a=2\n")
        assert state(satchel, entry) == ()

    def test_a_link_that_was_put_in_the_place_since(self, satchel: Satchel, code: Path, tmp_path: Path) -> None:
        entry = noted(satchel, "src/a.py:4")
        (tmp_path / "outside.py").write_text(CODE)
        code.unlink()
        code.symlink_to(tmp_path / "outside.py")
        assert state(satchel, entry) == ()

    def test_a_pipe_that_was_put_in_the_place_since(self, satchel: Satchel, code: Path) -> None:
        entry = noted(satchel, "src/a.py:4")
        code.unlink()
        os.mkfifo(code)
        assert state(satchel, entry) == ()

    def test_a_file_that_a_write_without_one_does_not_cite(
        self, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(citations, "read_cited", None)
        satchel.entries.write("discovery", "about nothing")
        assert satchel.entries.read().total == 1


class TestBounds:
    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The paths of the files that were read, in order."""
        found: list[str] = []

        def read(root: str, path: str) -> File | None:
            found.append(path)
            return cited.read_cited(root, path)

        monkeypatch.setattr(citations, "read_cited", read)
        return found

    def test_a_file_that_rests_is_read_once(self, satchel: Satchel, code: Path, reads: list[str]) -> None:
        os.utime(code, ns=(1, 1))
        # what was written a moment ago could change again without another time
        old = time.time_ns() - 10**9
        noted(satchel, "src/a.py:4")
        reads.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time_ns", lambda: old + 10**12)
            satchel.entries.read()
            satchel.entries.read()
        assert reads == ["src/a.py"]

    def test_a_file_that_just_changed_is_read_again(self, satchel: Satchel, code: Path, reads: list[str]) -> None:
        noted(satchel, "src/a.py:4")
        reads.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time_ns", lambda: code.stat().st_mtime_ns)
            satchel.entries.read()
            satchel.entries.read()
        assert reads == ["src/a.py"] * 2

    @pytest.mark.parametrize(("limit", "value"), [("_MAX_FILES", 2), ("_MAX_READ", 2 * len(CODE))])
    def test_beyond_so_much_nothing_is_compared(
        self, satchel: Satchel, code: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch, limit: str, value: int
    ) -> None:
        for name in "bcd":
            code.with_name(f"{name}.py").write_text(CODE)
            noted(satchel, f"src/{name}.py")
        monkeypatch.setattr(citations, limit, value)
        reads.clear()
        assert [one.citation is None for one in satchel.entries.read()] == [False, False, True]
        assert len(reads) == 2

    def test_what_is_over_is_not_read(self, project: Path, reads: list[str]) -> None:
        citing = citations.Citing(str(project)).cite("src/a.py", 4, None)
        assert citing is not None
        reads.clear()
        places = {1: citations.Place("src/a.py", citing)}
        assert citations.Comparing(str(project), lambda: True).compare(places) == {}
        assert reads == []


class TestOrder:
    @pytest.fixture
    def two(self, satchel: Satchel) -> Satchel:
        """Two notes that match alike, of which the first is the better match and cites what changes."""
        noted(satchel, "src/a.py:4", "the gateway, the gateway drops tokens")
        noted(satchel, "src/a.py:1", "the gateway has a port, as everything that listens does")
        return satchel

    @pytest.mark.parametrize("how", ["read", "search"])
    def test_what_cites_a_changed_file_sinks_in_what_is_found(self, two: Satchel, code: Path, how: str) -> None:
        def found() -> list[str]:
            page: Any = two.entries.read(query="gateway") if how == "read" else two.finding.search("gateway").results
            return [one.ref for one in page]

        assert found() == ["e1", "e2"]
        code.write_text(CODE.replace("1", "7"))
        assert found() == ["e2", "e1"]

    def test_what_moved_does_not_sink(self, two: Satchel, code: Path) -> None:
        code.write_text(f"\n{CODE}")
        assert [one.ref for one in two.entries.read(query="gateway")] == ["e1", "e2"]

    def test_a_list_by_time_keeps_its_order(self, two: Satchel, code: Path) -> None:
        code.write_text(CODE.replace("1", "7"))
        assert [one.ref for one in two.entries.read(query="gateway", order="asc")] == ["e1", "e2"]

    def test_a_superseded_note_stays_below_one_that_sinks(self, two: Satchel, code: Path) -> None:
        two.entries.write("discovery", "it has no port", supersedes="e2")
        code.write_text(CODE.replace("1", "7"))
        assert [one.ref for one in two.finding.search("gateway", status="all").results] == ["e1", "e2"]

    def test_pages_fit_together(self, two: Satchel, code: Path) -> None:
        code.write_text(CODE.replace("1", "7"))
        pages = [two.finding.search("gateway", limit=1, offset=offset).results[0].ref for offset in (0, 1)]
        assert pages == ["e2", "e1"]


class TestKeeping:
    def count(self, satchel: Satchel) -> int:
        with satchel.workplace.engine.read() as transaction:
            row = transaction.one("SELECT count(*) FROM citations")
        return 0 if row is None else row[0]

    def test_what_is_forgotten_takes_its_citation_along(self, satchel: Satchel) -> None:
        noted(satchel, "src/a.py")
        assert self.count(satchel) == 1
        satchel.housekeeping.forget("e1")
        assert self.count(satchel) == 0

    def test_what_is_pruned_takes_its_citation_along(self, satchel: Satchel) -> None:
        for place in ("src/a.py:1", "src/a.py:3"):
            noted(satchel, place)
        satchel.entries.prune(keep=1)
        assert self.count(satchel) == 1

    def test_who_reads_elsewhere_compares_with_the_tree_there(
        self, satchel: Satchel, open_in: Callable[..., Satchel], tmp_path: Path
    ) -> None:
        noted(satchel, "src/a.py:4")
        other = tmp_path.resolve() / "other"
        (other / ".git").mkdir(parents=True)
        (other / "src").mkdir()
        (other / "src" / "a.py").write_text(f"\n\n{CODE}")
        satchel.place.file.parent.mkdir(exist_ok=True)  # a store in PostgreSQL has made none
        there = open_in(other, db=str(satchel.place.file), project=satchel.workplace.suggested_name)
        assert [one.citation and one.citation.state for one in there.entries.read()] == ["moved"]


def test_a_path_with_a_space_is_quoted_in_marks() -> None:
    citation = Citation("moved", 3, None, None, None, file="a (b).py")
    assert citation.marks == ('moved to "a (b).py"', "line 3")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("import os\n  def a():\n", 'a.py:2 reads "def a():"'),
        ("import os\n\x1b[31mred\x1b]0;title\x07\u202e\n", 'a.py:2 reads "\\\\u{1b}[31mred'),
        (f"import os\nkey = 'sk-ant-api03-{'x9Q' * 31}AA'\n", None),
        (f"-----BEGIN PRIVATE KEY-----\n{'MIIEvQ' * 11}\n-----END PRIVATE KEY-----\n", None),
        ("import os\ndef a(): \0\n", None),
    ],
    ids=["plain", "escapes", "secret", "in a secret", "binary"],
)
def test_the_writer_of_a_note_on_a_line_sees_that_line_but_nothing_near_a_secret(
    satchel: Satchel, project: Path, text: str, shown: str | None
) -> None:
    (project / "a.py").write_bytes(text.encode())
    notes = satchel.entries.write("discovery", "it is here", file="a.py:2").notes
    assert [note for note in notes if " reads " in note and not note.startswith(shown or "-")] == []
    assert any(" reads " in note for note in notes) is (shown is not None)
    assert not [
        note for note in satchel.entries.write("discovery", "on all of it", file="a.py").notes if "reads" in note
    ]
