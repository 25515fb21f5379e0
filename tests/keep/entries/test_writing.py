from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kept_bytes import kept_bytes
from satchel import InvalidInput, NewEntry, Satchel, TooLarge
from satchel.keep.entries.structured import ISSUE_TYPES
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

# a token of a published format, with the length and alphabet of a real one
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

CONTENTS: dict[str, str | dict[str, object]] = {
    "discovery": "Auth lives in src/auth.py\n\twith a tab",
    "error": 'Traceback: "boom"',
    "decision": "use sqlite",
    "review_issue": {
        "issue_type": "dead-code",
        "description": "unused branch",
        "suggestion": "remove it",
        "severity": 3,
        "extra": {"list": [1, 2.5, None, True, "x"]},
    },
    "review_verdict": {"passed": False, "summary": "two issues", "intent_satisfied": True},
    "scratchpad": {
        "iteration": 4,
        "done": False,
        "test_status": "3 red",
        "next_step": "fix",
        "blockers": ["network"],
        "attempted": ["a", "b"],
    },
    "codebase_analysis": {
        "project_type": "cli",
        "tech_stack": ["python"],
        "directory_structure": "src/",
        "existing_features": ["login"],
        "entry_points": ["main.py"],
        "patterns": ["repository"],
        "summary": "small",
    },
}


@pytest.mark.parametrize(
    ("file", "notes"), [("srcc/a.py:12", ("srcc/a.py is not there: check its name",)), ("src", ())]
)
def test_a_file_that_is_not_there_is_remarked_on(
    satchel: Satchel, project: Path, file: str, notes: tuple[str, ...]
) -> None:
    (project / "src").mkdir()
    assert satchel.entries.write("discovery", "exports are cp1252", file=file).notes == notes


@pytest.mark.parametrize("kind", list(CONTENTS))
def test_every_field_of_every_type_comes_back(satchel: Satchel, clock: ManualClock, kind: str) -> None:
    satchel.runs.start("r1")
    content = CONTENTS[kind]
    written = satchel.entries.write(
        kind, content, task_id="T1", loop_id="L1", file="./src/a.py", line=42, run_id="r1", agent="dev"
    )
    (read,) = satchel.entries.read()
    assert read == replace(written, notes=())
    assert (json.loads(read.content) if isinstance(content, dict) else read.content) == content
    assert (read.type, read.task_id, read.loop_id, read.file, read.line) == (kind, "T1", "L1", "src/a.py", 42)
    assert (read.run_id, read.agent, read.superseded_by, read.created_at) == ("r1", "dev", None, clock.now)
    assert read.ref == f"e{read.id}"
    assert len(bytes.fromhex(read.uid)) == 16
    assert read.seq == satchel.entries.read().seq


def test_what_is_left_out_comes_back_as_null(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    (read,) = satchel.entries.read()
    assert (read.task_id, read.loop_id, read.file, read.line, read.agent, read.score) == (None,) * 6
    assert read.notes == ()


@pytest.mark.parametrize("kind", ["review_issue", "review_verdict", "scratchpad", "codebase_analysis"])
def test_an_object_and_its_json_are_kept_alike(satchel: Satchel, kind: str) -> None:
    one = satchel.entries.write(kind, CONTENTS[kind])
    other = satchel.entries.write(kind, json.dumps(CONTENTS[kind], indent=2))
    assert one.content == other.content


def test_several_entries_are_written_in_order(satchel: Satchel) -> None:
    written = satchel.entries.write_many([NewEntry("discovery", f"n{number}") for number in range(5)], agent="dev")
    assert [entry.seq for entry in written] == list(range(written[0].seq, written[0].seq + 5))
    read = satchel.entries.read(order="asc")
    assert [entry.uid for entry in read] == [entry.uid for entry in written]
    assert {entry.agent for entry in read} == {"dev"}


@pytest.mark.no_store
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (NewEntry("discovery", ""), r"entries\[2\]: .* is empty"),
        (NewEntry("discovry", "x"), r"entries\[2\]: unknown entry type 'discovry'"),
        (NewEntry("discovery", "x" * 300_000), r"entries\[2\]: the content has"),
        (NewEntry("discovery", "x", task_id="{{taskId}}"), r"entries\[2\]: task_id .*placeholder"),
    ],
)
def test_a_batch_is_written_whole_or_not_at_all_and_names_the_place(
    satchel: Satchel, project: Path, bad: NewEntry, problem: str
) -> None:
    good = NewEntry("discovery", "fine")
    with pytest.raises((InvalidInput, TooLarge), match=f"^{problem}"):
        satchel.entries.write_many([good, good, bad, good])
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_the_error_of_a_single_entry_names_no_place(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match=r"^the content of the discovery is empty"):
        satchel.entries.write("discovery", " \n")


@pytest.mark.parametrize("count", [0, 501])
def test_a_batch_has_1_to_500_entries(satchel: Satchel, count: int) -> None:
    with pytest.raises(InvalidInput, match=f"{count} entries were given"):
        satchel.entries.write_many([NewEntry("discovery", "x")] * count)


def test_an_unknown_type_is_answered_with_the_nearest_and_the_list(satchel: Satchel) -> None:
    with pytest.raises(
        InvalidInput, match=r"'discover'. Did you mean 'discovery'. Valid: discovery, error, .*analysis"
    ):
        satchel.entries.write("discover", "x")


@in_one_test("line", [0, -1, True, 2.5, "3", 2**31, 10**30])
def test_what_is_no_line_number_is_refused(satchel: Satchel, line: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^line {line!r} "):
        satchel.entries.write("discovery", "x", file="a.py", line=line)
    assert satchel.entries.read().total == 0


def test_a_line_without_a_file_is_refused(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="line is given without file"):
        satchel.entries.write("discovery", "x", line=3)


@pytest.mark.parametrize(
    "content",
    [
        "x" * 10_000_000,
        "é" * 5_000_000,
        {"description": "password=" * 1_200_000},
        {"description": "x", "more": ["y" * 100] * 100_000},
    ],
    ids=["text", "two bytes a character", "one field", "many texts"],
)
def test_ten_megabytes_are_refused_before_they_are_searched_for_secrets(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch, content: str | dict[str, object]
) -> None:
    def never(text: str) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr("satchel.keep.texts.redact", never)
    with pytest.raises(TooLarge, match=r"the content has .* KiB or more, the limit is 256\. .*max_content_kib"):
        satchel.entries.write("discovery" if isinstance(content, str) else "review_issue", content)


@pytest.mark.parametrize(("character", "size"), [("x", 1), ("é", 2), ("漢", 3), ("🎒", 4)])
def test_the_limit_counts_utf8_bytes(open_in: Callable[..., Satchel], project: Path, character: str, size: int) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    fits = character * (1024 // size)
    assert satchel.entries.write("discovery", fits).content == fits
    with pytest.raises(TooLarge):
        satchel.entries.write("discovery", fits + character)


def test_the_limit_holds_for_structured_content_too(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    with pytest.raises(TooLarge):
        satchel.entries.write("review_issue", {"description": "x" * 1_010})
    assert len(satchel.entries.write("review_issue", {"description": "x" * 1_000}).content) == 1_018


def test_what_is_cleaned_in_content_is_said(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    written = satchel.entries.write("discovery", "a\0b\x1b\ud800c")
    assert written.content == "ab\ufffdc"
    assert written.notes == ("2 control characters removed", "1 lone surrogate replaced by U+FFFD")
    assert satchel.entries.read().entries[0].content == "ab\ufffdc"


def test_what_is_cleaned_in_the_texts_of_structured_content_is_said(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    written = satchel.entries.write("scratchpad", {"iteration": 1, "blockers": ["a\0"], "own": {"deep": ["\udfff"]}})
    assert json.loads(written.content) == {"iteration": 1, "blockers": ["a"], "own": {"deep": ["\ufffd"]}}
    assert written.notes == ("1 control character removed", "1 lone surrogate replaced by U+FFFD")


@pytest.mark.no_store
@in_one_test("field", ["task_id", "loop_id", "file", "run_id", "agent"])
@in_one_test("name", ["a\0b", "a\nb", "\ud800", "", "  ", "{{loopId}}", "x" * 201, TOKEN, f"src/{TOKEN}/a"])
def test_what_must_not_stand_in_a_name_is_refused_and_nothing_is_written(
    satchel: Satchel, project: Path, field: str, name: str
) -> None:
    named: dict[str, Any] = {field: name}
    with pytest.raises(InvalidInput, match=f"^{field} "):
        satchel.entries.write("discovery", "x", **named)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@in_one_test("path", ["/etc/passwd", "../other/a.py", "src/../../a.py"])
def test_a_file_outside_the_project_is_refused(satchel: Satchel, path: str) -> None:
    with pytest.raises(InvalidInput, match=r"^file "):
        satchel.entries.write("discovery", "x", file=path)


def test_an_absolute_path_inside_the_project_becomes_relative(satchel: Satchel, project: Path) -> None:
    assert satchel.entries.write("discovery", "x", file=str(project / "src" / "a.py")).file == "src/a.py"


def test_a_secret_in_content_is_redacted_and_said(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    written = satchel.entries.write("discovery", f"the token is {TOKEN}, rotate it")
    assert written.content == "the token is [redacted:github-token], rotate it"
    assert written.notes == ("a secret was redacted (github-token)",)
    assert satchel.entries.read(query=TOKEN).total == 0
    assert TOKEN.encode() not in kept_bytes(satchel)


@pytest.mark.parametrize("as_json", [False, True])
def test_every_text_of_structured_content_is_redacted_and_it_stays_json(satchel: Satchel, as_json: bool) -> None:
    satchel.runs.start("r1")
    content = {
        "description": f'curl -H "Authorization: token {TOKEN}"',
        "suggestion": 'password="hunter2-Zq8#kLw93x"',
        "own": {"log": [f"saw {TOKEN}"], "count": 2},
    }
    written = satchel.entries.write("review_issue", json.dumps(content) if as_json else content)
    kept = json.loads(written.content)
    assert TOKEN not in written.content
    assert "hunter2" not in written.content
    assert (list(kept), kept["own"]["count"]) == (list(content), 2)
    assert written.notes == ("a secret was redacted (github-token)", "a secret was redacted (password)")


def test_names_that_would_become_one_when_redacted_are_refused(satchel: Satchel) -> None:
    content = {"iteration": 1, f"{TOKEN}": "a", f"{TOKEN[:-1]}9": "b"}
    with pytest.raises(InvalidInput, match=r"both '.redacted:github-token.'"):
        satchel.entries.write("scratchpad", content)


def test_only_structured_types_take_an_object(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match=r"content of a discovery must be text. Only .*review_issue"):
        satchel.entries.write("discovery", {"description": "x"})


def test_each_change_takes_the_next_number(satchel: Satchel) -> None:
    first = satchel.entries.write("codebase_analysis", {"summary": "one"})
    second = satchel.entries.write("codebase_analysis", {"summary": "two"})
    (changed,) = satchel.entries.read(status="superseded")
    assert changed.id == first.id
    assert first.seq < second.seq < changed.seq == satchel.entries.read().seq


def test_a_limit_per_loop_prunes_on_write(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_per_loop": 2})
    for number in range(4):
        satchel.entries.write("discovery", f"a{number}", loop_id="A")
        satchel.entries.write("discovery", f"n{number}")
    satchel.entries.write("error", "kept", loop_id="A")
    assert [entry.content for entry in satchel.entries.read(loop_id="A", order="asc")] == ["a2", "a3", "kept"]
    assert satchel.entries.read(types=["discovery"]).total == 4


def test_without_a_limit_nothing_is_pruned_on_write(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x")] * 500)
    satchel.entries.write("discovery", "x")
    assert satchel.entries.read().total == 501


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("half of it works, the lexer is next", {"summary": "half of it works, the lexer is next"}),
        ("[x] parser", {"summary": "[x] parser"}),
        ({"status": "half", "todo": "the lexer"}, {"status": "half", "todo": "the lexer"}),
    ],
)
def test_a_scratchpad_in_another_form_is_kept_with_what_later_attempts_are_told_from(
    satchel: Satchel, content: str | dict[str, object], kept: dict[str, object]
) -> None:
    entry = satchel.entries.write("scratchpad", content, task_id="T1", agent="ann")
    assert (json.loads(entry.content), entry.notes) == (
        kept,
        ("later attempts are shown only done, attempted and next_step: give content as an object with these",),
    )
    assert str(next(iter(kept.values()))) in satchel.brief(agent="ann", task_id="T1").text


@pytest.mark.parametrize("content", [{"next_step": "x", "todo": "y"}, '{"done": true}', {"approved_plan": "first x"}])
def test_one_that_says_how_far_it_came_or_is_a_plan_gets_no_note(satchel: Satchel, content: object) -> None:
    assert satchel.entries.write("scratchpad", content).notes == ()  # type: ignore[arg-type] # several forms


def test_a_scratchpad_that_begins_like_an_object_and_is_none_is_refused(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="is not JSON"):
        satchel.entries.write("scratchpad", '{"done": true')


def test_an_issue_has_one_of_six_types_and_others_are_refused_with_the_list(satchel: Satchel) -> None:
    for issue_type in (*ISSUE_TYPES, None):
        satchel.entries.write("review_issue", {"description": f"it is {issue_type}", "issue_type": issue_type})
    with pytest.raises(InvalidInput, match="cannot be 'bogus-type'") as caught:
        satchel.entries.write("review_issue", {"description": "d", "issue_type": "bogus-type"})
    assert ", ".join(ISSUE_TYPES) in str(caught.value.remedy)
