"""The tools of the toolset ``files``, called as agents that share one connection call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tool_asking import Asker, Case, check_case, check_format, field, fields, ids, named, untested

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
FULL: dict[str, Any] = {
    "file": "src/a.py",
    "change": "deleted",
    "description": "was not used",
    "layer": "business",
    "agent": "ann",
}


def recorded(parameter: str) -> Case:
    return Case("record_file_change", parameter, FULL, field(parameter), FULL[parameter])


def got(parameter: str, value: object, *expected: str) -> Case:
    return Case("get_file_changes", parameter, {parameter: value}, ids("changes"), list(expected))


def claimed(parameter: str, value: object, *path: str) -> Case:
    arguments = {"paths": ["src/new.py"], "agent": "ann", parameter: value}
    return Case("claim_files", parameter, arguments, field("claims", 0, *(path or (parameter,))), value)


def lease_minutes(answer: dict[str, Any]) -> str:
    """Until when a claim on a store of the world holds, to the minute."""
    return str(answer["claims"][0]["expires_at"])[11:16]


CASES = [
    *(recorded(name) for name in FULL),
    got("file", "src/", "f2", "f1"),
    got("change", "modified", "f2"),
    got("author", "ben", "f2"),
    got("layer", "data", "f1"),
    got("query", "the parsers", "f1"),
    got("since", "90s", "f3"),
    got("after_seq", 0, "f1", "f2", "f3"),
    got("order", "asc", "f1", "f2", "f3"),
    got("limit", 1, "f3"),
    got("offset", 1, "f2", "f1"),
    Case("check_files", "file", {"file": "src/b.py"}, fields("file", "locked"), ("src/b.py", True)),
    Case("check_files", "window_seconds", {"file": "src/b.py", "window_seconds": 0}, field("locked"), False),
    Case("check_files", "agent", {"file": "src/b.py", "agent": "ben"}, field("locked"), False),
    claimed("paths", ["src/x.py", "src/y/"])._replace(
        look=lambda answer: [claim["path"] for claim in answer["claims"]], expected=["src/x.py", "src/y/**"]
    ),
    claimed("exclusive", False),
    claimed("reason", "a new parser"),
    claimed("agent", "ann"),
    claimed("minutes", 10)._replace(look=lease_minutes, expected="11:19"),
    Case(
        "release_files",
        "paths",
        {"paths": ["src/auth/", "x"], "agent": "ben"},
        fields("released", "not_held"),
        (["src/auth/**"], ["x"]),
    ),
    Case("release_files", "agent", {"paths": ["src/auth/"], "agent": "ben"}, field("agent"), "ben"),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of three edits, a minute apart, and of two claims of ben."""
    start = clock.now

    def make() -> Asker:
        clock.now = start
        ask = new_asker()
        changes: list[dict[str, Any]] = [
            {"file": "src/a.py", "change": "created", "description": "a parser", "layer": "data", "agent": "ann"},
            {"file": "src/b.py", "change": "modified", "agent": "ben"},
            {"file": "docs/c.md", "change": "deleted", "agent": "ann"},
        ]
        for change in changes:
            ask.text("record_file_change", **change)
            clock.advance(MINUTE)
        ask.text("claim_files", paths=["src/auth/", "src/main.py"], agent="ben")
        return ask

    return make


@pytest.mark.parametrize("case", named(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], case: Case) -> None:
    check_case(world, case)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("files", CASES) == set()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_file_changes", {}),
        ("check_files", {"file": "src/b.py"}),
        ("claim_files", {"paths": ["src/main.py"], "agent": "ben"}),
        ("release_files", {"agent": "cat"}),
    ],
)
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    check_format(world(), tool, arguments)


def test_the_format_of_a_record_is_chosen(empty: Asker) -> None:
    assert empty.text("record_file_change", **FULL).startswith("recorded f1")
    assert empty.fields("record_file_change", **FULL)["id"] == "f2"
    assert "Valid: text, json" in empty.refused("record_file_change", **FULL, format="yaml")


def test_every_field_of_an_edit_comes_back(empty: Asker) -> None:
    kept = empty.fields("record_file_change", **(FULL | {"file": "./src/a.py"}))
    assert (FULL | {"id": "f1"}).items() <= kept.items()
    assert empty.fields("get_file_changes")["changes"] == [kept]


def test_every_field_of_a_claim_comes_back(empty: Asker) -> None:
    given = {"exclusive": False, "reason": "a new parser", "agent": "ann"}
    (kept,) = empty.fields("claim_files", paths=["src/a.py"], minutes=10, **given)["claims"]
    assert (given | {"path": "src/a.py"}).items() <= kept.items()
    assert (kept["created_at"], kept["expires_at"]) == ("2026-11-18T11:06:40.000Z", "2026-11-18T11:16:40.000Z")
    assert empty.fields("check_files", file="src/a.py")["claims"] == [kept]


def test_a_claim_keeps_another_agent_off_and_says_who_and_until_when(world: Callable[[], Asker]) -> None:
    refusal = world().refused("claim_files", paths=["src/new.py", "src/auth/token.py"], agent="ann")
    assert refusal.startswith("error [conflict]")
    assert all(part in refusal for part in ("src/auth/**", "ben", "2026-11-18T11:39:40"))


def test_claiming_is_all_or_nothing(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.refused("claim_files", paths=["src/new.py", "src/main.py"], agent="ann")
    assert not ask.fields("check_files", file="src/new.py", agent="cat")["locked"]


def test_the_holder_is_exempt_and_another_is_told_who_and_why(world: Callable[[], Asker]) -> None:
    ask = world()
    own = ask.fields("check_files", file="src/main.py", agent="ben")
    assert (own["locked"], len(own["own"]), own["claims"]) == (False, 1, [])
    other = ask.fields("check_files", file="src/main.py", agent="ann")
    assert (other["locked"], other["claims"][0]["agent"]) == (True, "ben")
    recent = ask.fields("check_files", file="src/b.py", agent="ann")["recent"]
    assert [change["agent"] for change in recent] == ["ben"]


def test_releasing_says_what_was_not_held(world: Callable[[], Asker]) -> None:
    released = world().fields("release_files", paths=["src/main.py", "src/a.py"], agent="ben")
    assert released == {"agent": "ben", "released": ["src/main.py"], "not_held": ["src/a.py"]}


def test_what_was_released_can_be_claimed(world: Callable[[], Asker]) -> None:
    ask = world()
    assert sorted(ask.fields("release_files", agent="ben")["released"]) == ["src/auth/**", "src/main.py"]
    ask.text("claim_files", paths=["src/main.py"], agent="ann")


def test_a_claim_can_be_renewed(world: Callable[[], Asker]) -> None:
    assert world().fields("claim_files", paths=["src/main.py"], agent="ben")["renewed"] == ["src/main.py"]


@pytest.mark.parametrize("paths", [["src/new.py"], '["src/new.py"]', "src/new.py"])
def test_paths_may_be_a_list_its_json_text_or_one_path(empty: Asker, paths: object) -> None:
    assert empty.fields("claim_files", paths=paths, agent="ann")["claims"][0]["path"] == "src/new.py"
    assert empty.fields("release_files", paths=paths, agent="ann")["released"] == ["src/new.py"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("record_file_change", {"change": "created"}, "record_file_change argument 'file' is missing"),
        ("record_file_change", {"file": "a.py"}, "'change' is missing"),
        ("record_file_change", {"file": "a.py", "change": "modifed"}, "Did you mean 'modified'?"),
        ("record_file_change", {"file": "../x", "change": "created"}, "error [invalid_input]"),
        ("record_file_change", {"file": "a.py", "change": "created", "layer": "dta"}, "Did you mean 'data'?"),
        ("get_file_changes", {"change": "moved"}, "Valid: created, modified, deleted"),
        ("get_file_changes", {"limit": 501}, "limit 501 is out of range"),
        ("get_file_changes", {"path": "a.py"}, "unknown get_file_changes argument 'path'"),
        ("check_files", {}, "check_files argument 'file' is missing"),
        ("check_files", {"file": "a.py", "window_seconds": -1}, "window_seconds -1 is out of range"),
        ("check_files", {"file": "/etc/passwd"}, "error [invalid_input]"),
        ("claim_files", {"paths": ["a.py"]}, "agent"),
        ("claim_files", {"agent": "ann"}, "claim_files argument 'paths' is missing"),
        ("claim_files", {"paths": [], "agent": "ann"}, "paths has 0 paths"),
        ("claim_files", {"paths": ["../x"], "agent": "ann"}, "error [invalid_input]"),
        ("claim_files", {"paths": ["a.py"], "agent": "ann", "minutes": 0}, "minutes 0"),
        ("claim_files", {"paths": ["a.py"], "agent": "ann", "exclusive": "no"}, "exclusive must be true or false"),
        ("release_files", {}, "agent"),
    ],
)
def test_a_faulty_call_is_refused_and_nothing_is_written(
    empty: Asker, tool: str, arguments: dict[str, Any], told: str
) -> None:
    assert told in empty.refused(tool, **arguments)
    counted = empty.fields("get_stats")
    assert (counted["file_changes"], counted["claims"]) == (0, 0)


def test_the_texts_name_files_and_agents(world: Callable[[], Asker]) -> None:
    ask = world()
    assert "f2 " in ask.text("get_file_changes", file="src/b.py")
    assert ask.text("check_files", file="src/new.py").startswith("src/new.py is free")
    assert ask.text("check_files", file="src/main.py").startswith("src/main.py is locked until")
    assert "src/new.py" in ask.text("claim_files", paths=["src/new.py"], agent="ann")
    assert ask.text("release_files", agent="ann") == "released src/new.py"
