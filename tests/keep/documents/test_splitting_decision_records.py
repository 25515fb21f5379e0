"""Decision records: both forms, and only those in force."""

from __future__ import annotations

import pytest

from satchel.keep.documents.splitting import IS_RECORD, Piece, read_record
from tables import in_one_test

_NYGARD = (
    "# 3. Use Postgres\n\n## Status\n\n{status}\n\n## Context\n\nMany writers.\n\n## Decision\n\nWe use Postgres.\n"
)
_MADR = (
    "# Use Postgres\n\n## Context and Problem Statement\n\nMany writers.\n\n## Decision Outcome\n\nWe use Postgres.\n"
)


@in_one_test(
    ("front", "text"),
    [
        ("", _NYGARD.format(status="Accepted")),
        ("status: accepted\ndate: 2026-01-01", _MADR),
        ("", _MADR.replace("\n\n## Context", "\n\n* Status: accepted\n\n## Context", 1)),
        ("", _MADR.replace("\n\n## Context", "\n\n**Status**: Accepted\n\n## Context", 1)),
    ],
)
def test_an_accepted_record_becomes_a_decision(front: str, text: str) -> None:
    piece = read_record("docs/adr/0003-use-postgres.md", front, text, 1)
    assert isinstance(piece, Piece)
    assert (piece.kind, piece.key, piece.text, piece.reason) == (
        "decision",
        "0003-use-postgres",
        "We use Postgres.",
        "Many writers.",
    )


@in_one_test(
    ("status", "reason"),
    [
        ("Proposed", "that is proposed"),
        ("Superseded by [4](0004.md)", "that is superseded by"),
        ("Accepted\n\nSuperseded by [4](0004.md)", "that is accepted"),
        ("", "without a status"),
    ],
)
def test_a_record_that_is_not_in_force_is_none(status: str, reason: str) -> None:
    outcome = read_record("adr/3-x.md", "", _NYGARD.format(status=status), 1)
    assert isinstance(outcome, str)
    assert reason in outcome


@in_one_test(
    ("path", "is_record"),
    [
        ("doc/adr/0001-a.md", True),
        ("adr-012-b.md", True),
        ("docs/decisions/README.md", False),
        ("docs/0001-a.md", False),
    ],
)
def test_records_are_known_by_their_place(path: str, is_record: bool) -> None:
    assert bool(IS_RECORD(path)) is is_record


def test_a_title_is_kept_and_a_plain_paragraph_is_a_decision() -> None:
    plain = "# 1. Money in cents\nStatus: accepted\n\nWe keep amounts as integers in cents, because floats round.\n"
    piece = read_record("docs/adr/0001-cents.md", "", plain, 1)
    assert isinstance(piece, Piece)
    assert piece.text == "Money in cents: We keep amounts as integers in cents, because floats round."
    sections = "# Cents\n\n## Status\n\nAccepted\n\n## Decision\n\nNo floats.\n"
    headed = read_record("docs/adr/0001-cents.md", "", sections, 1)
    assert isinstance(headed, Piece)
    assert headed.text == "Cents: No floats."


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Status: accepted\n\nWe keep cents.\n", "without a title, such as '# Money in cents'"),
        ("# Cents\n\nStatus: accepted\n", "without a decision: a section '## Decision' or a paragraph"),
    ],
)
def test_a_record_without_a_part_says_which_and_what_would_be_right(text: str, missing: str) -> None:
    assert missing in str(read_record("docs/adr/0001-cents.md", "", text, 1))
