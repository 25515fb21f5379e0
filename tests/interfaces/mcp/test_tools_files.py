"""The tools of the toolset ``files``, called as agents that share one connection call them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel.keep.files import claiming
from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, fields, ids, untested

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


def checked(ask: Asker, path: str, **who: str) -> dict[str, Any]:
    (item,) = ask.fields("get_items", ids=[f"file:{path}"], **who)["items"]
    (file,) = item["checked"]["files"]
    assert isinstance(file, dict)
    return file


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
    claimed("paths", ["src/x.py", "src/y/"])._replace(
        look=lambda answer: [claim["path"] for claim in answer["claims"]], expected=["src/x.py", "src/y/**"]
    ),
    claimed("shared", ["src/z.py"])._replace(
        look=lambda answer: [claim["exclusive"] for claim in answer["claims"]], expected=[True, False]
    ),
    claimed("reason", "a new parser"),
    claimed("agent", "ann"),
    claimed("minutes", 10)._replace(look=lease_minutes, expected="11:19"),
    Case(
        "claim_files",
        "wait_seconds",
        {"paths": ["src/main.py"], "agent": "ann", "wait_seconds": 20},
        lambda answer: answer.get("agent"),
        "ann",
    ),
    Case(
        "release_files",
        "paths",
        {"paths": ["src/auth/", "x"], "agent": "ben"},
        fields("released", "not_held"),
        (["src/auth/**"], ["x"]),
    ),
    Case("release_files", "agent", {"paths": ["src/auth/"], "agent": "ben"}, field("agent"), "ben"),
    Case(
        "release_files",
        "descriptions",
        {"agent": "ben", "descriptions": {"src/main.py": "split"}},
        lambda answer: [change["description"] for change in answer["changes"]],
        ["split"],
    ),
    Case(
        "release_files",
        "description",
        {"paths": ["src/main.py"], "agent": "ben", "description": "split"},
        lambda answer: [change["description"] for change in answer["changes"]],
        ["split"],
    ),
]


@pytest.fixture(autouse=True)
def claims_that_expire_while_others_wait(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits sleeps for half an hour at once."""

    class Time:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(_seconds: float) -> None:
            clock.advance(30 * MINUTE)

    monkeypatch.setattr(claiming, "time", Time)


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of three edits, a minute apart, and of two claims of ben."""
    start = clock.now

    def make() -> Asker:
        clock.now = start
        ask = new_asker()
        main = Path(str(ask.satchel.workplace.root)) / "src/main.py"
        main.parent.mkdir(exist_ok=True)
        main.touch()
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


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("files", CASES) == set()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_file_changes", {}),
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
    given = {"reason": "a new parser", "agent": "ann"}
    (kept,) = empty.fields("claim_files", shared=["src/a.py"], minutes=10, **given)["claims"]
    assert (given | {"path": "src/a.py", "exclusive": False, "automatic": False}).items() <= kept.items()
    assert (kept["created_at"], kept["expires_at"]) == ("2026-11-18T11:06:40.000Z", "2026-11-18T11:16:40.000Z")
    assert checked(empty, "src/a.py")["claims"] == [kept]


def test_a_claim_keeps_another_agent_off_and_says_who_and_until_when(world: Callable[[], Asker]) -> None:
    refusal = world().refused("claim_files", paths=["src/new.py", "src/auth/token.py"], agent="ann")
    assert refusal.startswith("error [conflict]")
    assert all(part in refusal for part in ("src/auth/**", "ben", "11-18 11:39 UTC (30 min left)"))


def test_claiming_is_all_or_nothing(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.refused("claim_files", paths=["src/new.py", "src/main.py"], agent="ann")
    assert checked(ask, "src/new.py", agent="cat")["state"] == "free"


def test_the_holder_is_exempt_and_another_is_told_who_and_why(world: Callable[[], Asker]) -> None:
    ask = world()
    own = checked(ask, "src/main.py", agent="ben")
    assert (own["state"], len(own["own"]), own["claims"]) == ("yours", 1, [])
    other = checked(ask, "src/main.py", agent="ann")
    assert (other["state"], other["claims"][0]["agent"]) == ("held", "ben")
    (item,) = ask.fields("get_items", ids=["file:src/b.py"], agent="ann")["items"]
    assert [change["agent"] for change in item["changes"]] == ["ben"]


def test_an_expired_claim_is_said_to_have_expired_and_its_release_still_records(
    empty: Asker, clock: ManualClock
) -> None:
    (Path(str(empty.satchel.workplace.root)) / "a.py").touch()
    empty.text("claim_files", paths=["a.py"], minutes=1, agent="ann")
    clock.advance(5 * MINUTE)
    text = empty.text("get_items", ids=["file:a.py"], agent="ann")
    assert "a.py is free; your claim expired 4 min ago; nobody has taken it" in text
    released = empty.text("release_files", paths=["a.py"], description="typed", agent="ann")
    assert "recorded f1 a.py modified" in released
    assert "note: your claim on a.py had expired 4 min ago" in released


def test_a_release_takes_a_description_for_each_file(empty: Asker) -> None:
    project = Path(str(empty.satchel.workplace.root))
    (project / "a.py").touch()
    assert "b.py (not there yet)" in empty.text("claim_files", paths=["a.py"], shared=["b.py"], agent="ann")
    (project / "b.py").touch()
    given = {"a.py": "typed", "b.py": "new", "c.py": "odd"}
    released = empty.fields("release_files", descriptions=given, agent="ann")
    made = [(change["file"], change["change"], change["description"]) for change in released["changes"]]
    assert made == [("a.py", "modified", "typed"), ("b.py", "created", "new")]
    assert released["notes"] == ["no change was recorded of c.py: not yours"]


def test_a_change_that_fixes_a_bug_closes_it(empty: Asker) -> None:
    empty.text("write_context", type="bug", content="off by one", file="a.py", agent="ann")
    assert "e1" in empty.text("search", types=["bug"])
    recorded = empty.text("record_file_change", file="a.py", change="modified", description="Fixes e1", agent="ben")
    assert "bug e1 is closed: fixed by f1" in recorded
    assert empty.text("search", types=["bug"]).startswith("0 results")


def test_who_was_refused_is_told_with_its_next_answer_that_it_is_free(world: Callable[[], Asker]) -> None:
    ask = world()
    assert "wait_seconds (1 to 45)" in ask.refused("claim_files", paths=["src/main.py"], agent="ann")
    assert "free now" not in ask.text("get_constraints")
    freed = ask.text("release_files", paths=["src/main.py"], agent="ben")
    assert freed.splitlines()[1] == "ann was refused src/main.py at 11-18 11:09 UTC, and is notified that it is free"
    told = ask.text("write_context", type="discovery", content="x", agent="ann").splitlines()[-1]
    assert told.startswith("notice: src/main.py is free now (you were refused it less than 1 min ago)")
    assert "free now" not in ask.text("write_context", type="discovery", content="y", agent="ann")


def test_releasing_says_what_was_not_held(world: Callable[[], Asker]) -> None:
    released = world().fields("release_files", paths=["src/main.py", "src/a.py"], agent="ben")
    assert released == {
        "agent": "ben",
        "released": ["src/main.py"],
        "not_held": ["src/a.py"],
        "wished": [],
        "changes": [],
        "notes": [],
        "by_others": [],
        "still": [],
    }


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


@in_one_test(
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
        ("claim_files", {"paths": ["a.py"], "agent": "ann", "wait_seconds": 46}, "wait_seconds 46 is out of range"),
        ("claim_files", {"paths": ["a.py"] * 10_000, "agent": "ann"}, "paths has 10,000 paths"),
        ("claim_files", {"agent": "ann"}, "nothing to claim was named"),
        ("claim_files", {"paths": [], "agent": "ann"}, "nothing to claim was named"),
        ("claim_files", {"paths": ["../x"], "agent": "ann"}, "error [invalid_input]"),
        ("claim_files", {"paths": ["a.py"], "agent": "ann", "minutes": 0}, "minutes 0"),
        ("claim_files", {"paths": ["a.py"], "agent": "ann", "shared": ["a.py"]}, "a.py is in paths and in shared"),
    ],
)
def test_a_faulty_call_is_refused_and_nothing_is_written(
    empty: Asker, tool: str, arguments: dict[str, Any], told: str
) -> None:
    assert told in empty.refused(tool, **arguments)
    counted = empty.fields("get_stats")
    assert (counted["file_changes"], counted["claims"]) == (0, 0)


@in_one_test(("tool", "arguments"), [("claim_files", {"paths": ["a.py"]}), ("release_files", {})])
def test_a_call_of_nobody_is_refused(empty: Asker, tool: str, arguments: dict[str, Any]) -> None:
    assert "agent" in empty.refused(tool, **arguments)
    assert empty.fields("get_stats")["claims"] == 0


def test_the_texts_name_files_and_agents(world: Callable[[], Asker]) -> None:
    ask = world()
    assert "f2 " in ask.text("get_file_changes", file="src/b.py")
    assert "\nsrc/new.py is free\n" in ask.text("get_items", ids=["file:src/new.py"])
    assert "\nsrc/main.py is held by ben until " in ask.text("get_items", ids=["file:src/main.py"])
    assert "src/new.py" in ask.text("claim_files", paths=["src/new.py"], agent="ann")
    assert ask.text("release_files", agent="ann") == "released src/new.py"
