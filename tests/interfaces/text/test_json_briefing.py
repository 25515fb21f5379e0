"""What is packed as plain JSON: every field of every record, times in ISO 8601, items with their short ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from satchel.base.paging import KeptPage
from satchel.brief.briefing.records import Briefed, Briefing, LeftOut
from satchel.brief.extraction import StrategyProposal
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.packages import contents_fields
from satchel.keep.packages.records import Package, PackageContent, PackagePage
from satchel.keep.patterns.records import ErrorPattern, Reported, SimilarError, Solution
from satchel.keep.strategies import Strategy

AT = 1_767_225_600_000
ISO = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:01.500Z"

SOLUTION = Solution(7, "ab", 3, 4, "install it", 8, 4, 1, "confirmed", "ann", AT, AT + 1_500, ("a note",))
SOLUTION_FIELDS = {
    "id": "y7",
    "uid": "ab",
    "seq": 3,
    "pattern": "x4",
    "text": "install it",
    "standing": "known",
    "confidence": 8,
    "confirmed": 4,
    "failed": 1,
    "state": "confirmed",
    "agent": "ann",
    "created_at": ISO,
    "updated_at": LATER,
    "notes": ["a note"],
}
PATTERN = ErrorPattern(
    id=4,
    uid="ab",
    seq=3,
    hash="ff",
    error_type="TS2307",
    message="masked",
    example="as it came",
    lang="typescript",
    occurrences=2,
    ttl_days=90,
    last_seen=AT,
    expires_at=AT + 1_500,
    created_at=AT,
    solutions=(SOLUTION,),
    score=1.5,
)
PATTERN_FIELDS = {
    "id": "x4",
    "uid": "ab",
    "seq": 3,
    "hash": "ff",
    "error_type": "TS2307",
    "message": "masked",
    "example": "as it came",
    "lang": "typescript",
    "occurrences": 2,
    "ttl_days": 90,
    "last_seen": ISO,
    "expires_at": LATER,
    "created_at": ISO,
    "score": 1.5,
    "solutions": [SOLUTION_FIELDS],
}
NOTES = ("a note",)
STRATEGY = Strategy(
    3, "ab", 3, "token-refresh", "early", "go", "gin", 2, 1, "ann", None, AT + 1_500, AT, 1.5, ("a note",)
)
STRATEGY_FIELDS = {
    "id": "s3",
    "uid": "ab",
    "seq": 3,
    "topic": "token-refresh",
    "insight": "early",
    "lang": "go",
    "framework": "gin",
    "helped": 2,
    "not_helped": 1,
    "agent": "ann",
    "last_seen": LATER,
    "created_at": ISO,
    "score": 1.5,
    "notes": ["a note"],
}
PACKAGE = Package(
    id=7,
    uid="ab",
    seq=3,
    run_id="r1",
    type="handoff",
    priority="high",
    summary="tokens",
    path="docs/a.md",
    content_bytes=None,
    consumers=("developer",),
    task_id="T1",
    agent="ann",
    superseded_by=9,
    created_at=AT,
    updated_at=AT + 1_500,
    score=1.5,
    notes=("a note",),
)
PACKAGE_FIELDS = {
    "id": "p7",
    "uid": "ab",
    "seq": 3,
    "run_id": "r1",
    "type": "handoff",
    "priority": "high",
    "summary": "tokens",
    "path": "docs/a.md",
    "consumers": ["developer"],
    "task_id": "T1",
    "agent": "ann",
    "status": "superseded",
    "superseded_by": "p9",
    "created_at": ISO,
    "updated_at": LATER,
    "score": 1.5,
    "notes": ["a note"],
}
PAGE = {"total": 3, "next_offset": 1, "seq": 8, "notes": ["n"]}


def test_a_solution_has_all_its_fields() -> None:
    assert fields_of(SOLUTION) == SOLUTION_FIELDS


def test_an_error_has_all_its_fields_and_its_solutions() -> None:
    assert fields_of(PATTERN) == PATTERN_FIELDS


def test_an_error_without_a_solution_says_so() -> None:
    assert fields_of(replace(PATTERN, solutions=()))["solutions"] == []


def test_a_similar_error_has_its_id_and_its_likeness() -> None:
    told = Reported(PATTERN, True, similar=(SimilarError("x3", "KeyError", "'a'", 62, None, ("a",)),))
    assert fields_of(told)["similar"] == [
        {"id": "x3", "error_type": "KeyError", "message": "'a'", "likeness": 62, "solution": None, "words": ["a"]}
    ]


def test_a_report_has_all_its_fields() -> None:
    assert fields_of(Reported(PATTERN, False, SOLUTION, ("n",))) == {
        "pattern": PATTERN_FIELDS,
        "is_new": False,
        "recorded": SOLUTION_FIELDS,
        "notes": ["n"],
        "similar": [],
        "tried": [],
    }
    assert fields_of(Reported(PATTERN, True))["recorded"] is None


def test_a_strategy_has_all_its_fields() -> None:
    assert fields_of(STRATEGY) == STRATEGY_FIELDS


def test_counts_of_nothing_are_kept() -> None:
    assert fields_of(replace(STRATEGY, helped=0, not_helped=0)).items() >= {
        ("helped", 0),
        ("not_helped", 0),
    }


@pytest.mark.parametrize(("judged", "fields"), [(SOLUTION, SOLUTION_FIELDS), (STRATEGY, STRATEGY_FIELDS)])
def test_an_outcome_has_the_fields_of_what_was_judged(judged: Solution | Strategy, fields: dict[str, object]) -> None:
    assert fields_of(judged) == fields


def test_a_proposal_has_what_saving_it_takes_and_its_evidence() -> None:
    proposal = StrategyProposal("token-refresh", "early", ("e1", "e2"), "go", "gin", "r1", "T1", "L1")
    assert fields_of(proposal) == {
        "topic": "token-refresh",
        "insight": "early",
        "lang": "go",
        "framework": "gin",
        "evidence": ["e1", "e2"],
        "run_id": "r1",
        "task_id": "T1",
        "loop_id": "L1",
    }


def test_a_package_has_all_its_fields() -> None:
    assert fields_of(PACKAGE) == PACKAGE_FIELDS


def test_a_stored_text_has_its_size() -> None:
    fields = fields_of(replace(PACKAGE, path=None, content_bytes=12, superseded_by=None))
    assert (fields["content_bytes"], fields["status"], "path" in fields) == (12, "live", False)


def test_contents_have_their_package_and_text_or_the_reason_for_none() -> None:
    some = (
        PackageContent("p7", PACKAGE, "", None, ("redacted",)),
        PackageContent("p9", None, None, "there is no package p9"),
    )
    assert contents_fields(some) == {
        "packages": [
            PACKAGE_FIELDS | {"text": "", "notes": ["redacted"]},
            {"id": "p9", "reason": "there is no package p9"},
        ]
    }


@pytest.mark.parametrize(
    ("fields", "name", "items"),
    [
        (fields_of(KeptPage((PATTERN,), 3, 0, 1, 8, notes=("n",)), "patterns"), "patterns", PATTERN_FIELDS),
        (
            fields_of(KeptPage((STRATEGY,), 3, 0, 1, 8, notes=("n",)), "strategies"),
            "strategies",
            STRATEGY_FIELDS,
        ),
    ],
)
def test_a_page_says_what_comes_next(fields: dict[str, object], name: str, items: object) -> None:
    assert fields == {name: [items], **PAGE}


def test_a_page_of_packages_says_of_which_run_and_how_many_of_each_priority() -> None:
    page = PackagePage((PACKAGE,), 3, 0, 1, 8, notes=("n",), run_id="r1", by_priority=(("high", 2), ("low", 1)))
    assert fields_of(page, "packages") == {
        "run_id": "r1",
        "packages": [PACKAGE_FIELDS],
        "by_priority": {"high": 2, "low": 1},
        **PAGE,
    }


def test_a_briefing_has_all_its_fields() -> None:
    briefing = Briefing(
        text="e1: water",
        tokens=4,
        counter="o200k_base",
        budget=100,
        zone="normal",
        role="developer",
        run_id="r1",
        task_id="T1",
        loop_id="L1",
        iteration=2,
        items=(
            Briefed("e1", "entry", "entries", "medium", True, "a.py"),
            Briefed("c2", "rule", "rules", "high", False),
        ),
        left_out=(LeftOut("entries", 3, 1, "search"),),
        notes=("a note",),
        is_stuck=False,
        is_recorded=True,
    )
    told = {"section": "rules", "priority": "high", "is_shortened": False}
    assert fields_of(briefing) == {
        "text": "e1: water",
        "tokens": 4,
        "counter": "o200k_base",
        "budget": 100,
        "zone": "normal",
        "role": "developer",
        "run_id": "r1",
        "task_id": "T1",
        "loop_id": "L1",
        "iteration": 2,
        "items": [
            {
                "id": "e1",
                "kind": "entry",
                "section": "entries",
                "priority": "medium",
                "is_shortened": True,
                "file": "a.py",
            },
            {"id": "c2", "kind": "rule", **told},
        ],
        "left_out": [{"kind": "entries", "count": 3, "critical": 1, "tool": "search"}],
        "notes": ["a note"],
        "is_stuck": False,
        "is_recorded": True,
    }


def test_a_briefing_of_nothing_has_its_lists() -> None:
    fields = fields_of(Briefing("", 0, "estimate", 0, "normal", None, None, None, None, 0, (), (), (), False, False))
    assert (fields["text"], fields["items"], fields["left_out"], fields["notes"]) == ("", [], [], [])
    assert "role" not in fields
