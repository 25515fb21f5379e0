"""Items as Markdown files: the same bytes each time, read back whole, and what is broken said with its line."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.markdown import HasConflict, SharedText, file_name, parse, render, sides
from tables import in_one_test

UID = "0123456789abcdef" * 2
DECISION = SharedText(
    "decision",
    UID,
    "ann",
    1_795_000_000_123,
    {"key": "db.engine", "status": "active", "tags": ["database", "to do"]},
    "SQLite, in WAL mode",
    ("One file, no server.",),
)
_LINES = st.sampled_from(
    ["", "text", "## Why", "\\## Why", "<<<<<<< HEAD", ">>>>>>> x", "=======", "---", "  code", "# é"]
)
_BODIES = st.lists(_LINES, max_size=6).map("\n".join)


def test_a_decision_reads_well() -> None:
    """The front matter is a table of what it is, and the text below is the decision and why."""
    assert render(DECISION).decode() == (
        "---\n"
        "kind: decision\n"
        f'uid: "{UID}"\n'
        "key: db.engine\n"
        "status: active\n"
        "tags: [database, to do]\n"
        "author: ann\n"
        "time: 2026-11-18T11:06:40.123Z\n"
        "---\n"
        "\n"
        "SQLite, in WAL mode\n"
        "\n"
        "## Why\n"
        "\n"
        "One file, no server.\n"
    )


@given(_BODIES, _BODIES)
def test_any_text_is_read_back_and_written_alike(body: str, why: str) -> None:
    """Headings, conflict markers and fences inside a text do not change what it is."""
    text = replace(DECISION, body=f"a{body}", sections=(f"b{why}",))
    again = parse(render(text))
    assert render(again) == render(text)
    assert again.body == text.body.rstrip()
    assert again.sections == (text.sections[0].rstrip(),)


@in_one_test(
    "text",
    [
        replace(DECISION, body="", fields={**DECISION.fields, "value": 0}),
        replace(DECISION, body="", fields={**DECISION.fields, "value": -2.5}, sections=()),
        SharedText("constraint", UID, None, 0, {"category": "security", "priority": "high"}, "no eval"),
        SharedText(
            "constraint",
            UID,
            "a b",
            1,
            {"category": "x", "priority": "low", "status": "inactive", "ended_by": "bo", "reason": "it: #1"},
            "no",
        ),
        SharedText(
            "entry", UID, "ann", 5, {"type": "discovery", "file": "a/b c.py", "line": 3, "superseded": True}, "é"
        ),
        SharedText(
            "error_pattern",
            UID,
            "ann",
            5,
            {"error_type": "E", "message": "m", "hash": "ab", "solutions": [UID, UID[::-1]]},
            "E: m",
            ("do this", "or that"),
        ),
        SharedText("strategy", UID, "ann", 5, {"topic": "async", "lang": "python"}, "await it"),
        SharedText("decision", UID, "ann", 5, is_gone=True),
    ],
)
def test_every_kind_is_read_back(text: SharedText) -> None:
    """What was written is read back, and nothing else."""
    assert parse(render(text)) == text


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    """A file that git or an editor has turned into CRLF is the same text."""
    assert parse(b"\xef\xbb\xbf" + render(DECISION).replace(b"\n", b"\r\n")) == DECISION


def test_a_section_that_a_person_adds_is_read() -> None:
    """The heading makes it one."""
    plain = render(replace(DECISION, sections=()))
    assert parse(plain + b"\n\n## Why  \nbecause\n").sections == ("because",)


@in_one_test(
    ("old", "new", "line", "problem"),
    [
        (b"kind: decision", b"kind: wish", 2, "kind is none of"),
        (UID.encode(), b"12", 3, "uid is missing or not"),
        (f'uid: "{UID}"\n'.encode(), b"", 1, "uid is missing or not"),
        (b"key: db.engine\n", b"", 8, "has no key"),
        (b"key: db.engine", b"key: [db]", 4, "key is a list"),
        (b"status: active", b"priority: high", 5, "a file of this kind has no priority"),
        (b"status: active", b"status: on", 5, "status is none of active, deprecated, draft"),
        (b"time: 2026-11-18T11:06:40.123Z\n", b"", 8, "has no time"),
        (b"time: 2026-11-18T11:06:40.123Z", b"time: yesterday", 8, "time is not a time"),
        (b"time: 2026-11-18T11:06:40.123Z", b"time: 2d", 8, "time is not a time"),
        (b"SQLite, in WAL mode", b"\xff", 11, "not UTF-8"),
        (b"SQLite, in WAL mode", b"a\0b", 11, "NUL"),
        (b"SQLite, in WAL mode\n", b"", 9, "no text below"),
        (b"status: active", b"value: 5\nstatus: active", 10, "one of them is too much"),
        (b"status: active", b"value: five\nstatus: active", 5, "value is not a number"),
        (b"One file", b"\n## Why\n\nOne file", 16, "a second ## Why"),
    ],
)
def test_what_is_broken_is_said_with_its_line(old: bytes, new: bytes, line: int, problem: str) -> None:
    """Who edits a file by hand is told where to look."""
    data = render(DECISION).replace(old, new)
    with pytest.raises(BrokenText) as error:
        parse(data)
    assert (error.value.line, problem in error.value.problem) == (line, True), error.value


def test_a_conflict_of_git_is_told_from_a_broken_file() -> None:
    """Markers that git writes are found, and each side is what one branch had."""
    ours, theirs = render(DECISION), render(replace(DECISION, body="PostgreSQL"))
    data = ours.replace(
        b"SQLite, in WAL mode\n",
        b"<<<<<<< HEAD\nSQLite, in WAL mode\n||||||| 123\nold\n=======\nPostgreSQL\n>>>>>>> side\n",
    )
    with pytest.raises(HasConflict) as error:
        parse(data)
    assert error.value.line == 11
    assert sides(data) == (ours, theirs)


def test_markers_that_are_not_whole_have_no_sides() -> None:
    """What an editor left of a conflict is no text of a branch."""
    assert sides(b"a\n<<<<<<< HEAD\nb\n") is None


@in_one_test(
    ("key", "name"),
    [
        ("db.engine", "decision-db-engine-01234567.md"),
        ("DB.Engine", "decision-db-engine-01234567.md"),
        ("../../etc/passwd", "decision-etc-passwd-01234567.md"),
        ("con", "decision-con-01234567.md"),
        ("密钥", "decision-01234567.md"),
        ("Ünïcode key", "decision-unicode-key-01234567.md"),
        ("word " * 40, "decision-word-word-word-word-word-word-word-word-01234567.md"),
        ("w" * 200, f"decision-{'w' * 40}-01234567.md"),
    ],
)
def test_names_are_safe_where_case_does_not_count(key: str, name: str) -> None:
    """A name is lower-case ASCII, never a device or a path, and the uid tells those of like words apart."""
    assert file_name(replace(DECISION, fields={"key": key, "status": "active"})) == name


_PIECES = st.sampled_from(
    [
        b"",
        b"\n",
        b"---\n",
        b"## Why\n",
        b"key: x\n",
        b"value: 1e400\n",
        b"value: 7\n",
        b"tags: []\n",
        b"\r",
        b'"',
        b"\\",
        b"#",
        b"unshared: true\n",
        b"time: 9999-12-31T23:59:59.999Z\n",
        b"line: -1\n",
        b"<<<<<<< a\n",
        b"=======\n",
        b">>>>>>> b\n",
    ]
)


@given(
    st.lists(st.tuples(st.integers(0, 240), st.integers(0, 40), st.one_of(_PIECES, st.binary(max_size=6))), max_size=4)
)
def test_whatever_is_done_to_a_file_it_is_read_whole_or_refused(edits: list[tuple[int, int, bytes]]) -> None:
    """What is read is written so that it is read alike; nothing else is raised than that it is broken."""
    data = render(DECISION)
    for place, length, piece in edits:
        data = data[:place] + piece + data[place + length :]
    sides(data)
    text = None
    with suppress(BrokenText):
        text = parse(data)
    if text is not None:
        assert parse(render(text)) == text
        file_name(text)


def test_the_mark_of_an_agent_stays_in_its_store() -> None:
    marked, bare = (replace(DECISION, author=author) for author in ("ann (agent)", "ann"))
    assert marked.digest == bare.digest
    assert b"author: ann\n" in render(marked)
