"""Results as text for agents and as JSON for machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from satchel import Satchel
from satchel.find.snippets import Snippet
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import single_lines, utc
from satchel.interfaces.text.search import explanation_text, result_line, results_text
from satchel.keep.finding import Explanation, Found, FoundPage, TermShare
from tables import in_one_test

BARE = Found(
    kind="entry",
    ref="e7",
    type="discovery",
    snippet=Snippet("Sessions expire", ((0, 8),)),
    score=3.25,
    by_surroundings=False,
    agent=None,
    run_id=None,
    task_id=None,
    loop_id=None,
    file=None,
    line=None,
    last_line=None,
    status="live",
    created_at=1_795_000_000_000,
)
FULL = replace(
    BARE,
    by_surroundings=True,
    agent="Ann Lee",
    run_id="r1",
    task_id="T1",
    loop_id="L 1",
    file="src/a.py",
    status="superseded",
)
EXPLAINED = Explanation((TermShare("session", 1.5, 2.0, 0.25), TermShare("absent", 4.0, 0.0, 0.0)), 0.5, 1.5, 0.25)


def page(*results: Found, total: int = 1, notes: tuple[str, ...] = ()) -> FoundPage:
    return FoundPage(results, total, 0, 20, notes)


def line_of(result: Found) -> str:
    return single_lines(result_line(result, result.snippet.text), utc("2026"))[0]


def test_a_result_is_a_line_that_names_it_and_its_snippet_below() -> None:
    assert results_text(page(BARE)) == (
        "1 result, best first, UTC times of 2026\ne7 discovery 11-18 11:06\n Sessions expire"
    )


def test_everything_that_is_known_of_a_result_is_said_once() -> None:
    assert line_of(FULL) == (
        'e7 discovery by "Ann Lee" run:r1 task:T1 loop:"L 1" file:src/a.py superseded (next to a match) 11-18 11:06'
    )


@in_one_test(
    ("kind", "type_", "label"),
    [
        ("entry", "error", "error"),
        ("entry", "decision", "entry decision"),
        ("message", "decision", "message decision"),
        ("message", "warning", "message warning"),
        ("file_change", "modified", "file_change modified"),
        ("decision", None, "decision"),
        ("constraint", None, "constraint"),
    ],
)
def test_what_a_result_is_cannot_be_mistaken(kind: str, type_: str | None, label: str) -> None:
    assert line_of(replace(BARE, kind=kind, type=type_)).startswith(f"{BARE.ref} {label} 11-18")


@in_one_test(("status", "shown"), [("live", False), ("active", False), ("draft", True), ("inactive", True)])
def test_a_state_is_said_unless_it_is_the_usual_one(status: str, shown: bool) -> None:
    assert (f" {status} " in line_of(replace(BARE, status=status))) is shown


def test_the_head_says_what_comes_next() -> None:
    head, *_ = results_text(page(BARE, total=3)).split("\n")
    assert head == "1 of 3 results, best first, UTC times of 2026, next: offset=1"


def test_without_results_the_head_stands_alone_with_the_notes() -> None:
    assert results_text(page(total=0, notes=("'?' holds no word to search for",))) == (
        "0 results\nnote: '?' holds no word to search for"
    )


def test_an_explanation_stands_below_its_result() -> None:
    _, line, _, *below = results_text(page(replace(BARE, explanation=EXPLAINED))).splitlines()
    assert line.endswith(" score:3.25")
    assert below == [
        " session: 2 own + 0.25 around (idf 1.5)",
        " loop or task: 0.5",
        " author named: 1.5",
        " meaning: 0.25",
    ]


def test_what_gave_nothing_is_left_out_of_an_explanation() -> None:
    assert explanation_text(Explanation((TermShare("x", 1.0, 2.0, 0.0),), 0.0, 0.0)) == "x: 2 own (idf 1)"


@in_one_test(
    "stored",
    ["x\ne9 discovery by root score:9", "x\u2028e9 discovery", "x\u2029e9 discovery", "e9 discovery by root score:9"],
)
def test_a_stored_text_cannot_pass_for_a_result(stored: str) -> None:
    text = results_text(page(replace(BARE, snippet=Snippet(stored, ()))))
    lines = [line for part in text.split("\n") for chunk in part.split("\u2028") for line in chunk.split("\u2029")]
    assert [line for line in lines[1:] if not line.startswith(" ")] == [line_of(BARE)]


@in_one_test("field", ["agent", "run_id", "task_id", "loop_id", "file"])
@in_one_test("value", ["x score:9 e9", 'x" by root', "x file:b"])
def test_a_value_cannot_pass_for_another_field(field: str, value: str) -> None:
    changes: dict[str, Any] = {field: value}
    line = line_of(replace(BARE, **changes))
    prefix = {"agent": "by ", "run_id": "run:", "task_id": "task:", "loop_id": "loop:", "file": "file:"}[field]
    assert f'{prefix}"' in line
    assert line.endswith('" 11-18 11:06')


def test_the_fields_are_json_without_what_is_not_set() -> None:
    assert fields_of(page(BARE, total=3, notes=("a note",)), "results") == {
        "results": [
            {
                "id": "e7",
                "kind": "entry",
                "type": "discovery",
                "snippet": "Sessions expire",
                "marks": [[0, 8]],
                "score": 3.25,
                "by_surroundings": False,
                "status": "live",
                "created_at": "2026-11-18T11:06:40.000Z",
            }
        ],
        "total": 3,
        "next_offset": 1,
        "notes": ["a note"],
    }


def test_every_field_that_is_set_is_in_the_json() -> None:
    results: Any = fields_of(page(replace(FULL, explanation=EXPLAINED)), "results")["results"]
    assert {
        "agent": "Ann Lee",
        "run_id": "r1",
        "task_id": "T1",
        "loop_id": "L 1",
        "file": "src/a.py",
        "status": "superseded",
        "by_surroundings": True,
        "explanation": {
            "terms": [
                {"term": "session", "idf": 1.5, "own": 2.0, "around": 0.25},
                {"term": "absent", "idf": 4.0, "own": 0.0, "around": 0.0},
            ],
            "segment": 0.5,
            "author": 1.5,
            "meaning": 0.25,
        },
    }.items() <= results[0].items()


def test_changes_that_were_recorded_with_one_description_stand_together(satchel: Satchel) -> None:
    for file in ("src/a.py", "src/b.py", "src/c d.py"):
        satchel.files.record(file, "modified", description="every limit is in seconds", agent="ann")
    head, first, *below = results_text(satchel.finding.search(None, kinds=["file_change"])).split("\n")
    assert head.startswith("3 results")
    assert first.startswith("f3 file_change modified")
    assert below == [" every limit is in seconds", " same text: f2 src/b.py, f1 src/a.py"]
