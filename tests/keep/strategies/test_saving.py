"""What a saved strategy is, which others it is like, and what is refused without a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kept_bytes import kept_bytes
from satchel import InvalidInput, ReadOnly, Satchel, Strategy, TooLarge
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

SECRET = "ghp_" + "a1B2" * 9
INSIGHT = "Queue the writes while offline and replay them in order"


def say_nothing(done: int, total: int) -> None:
    """Nobody watches the progress."""


def reread(satchel: Satchel, strategy: Strategy) -> Strategy:
    (found,) = [one for one in satchel.strategies.find(limit=500) if one.id == strategy.id]
    return found


def everything(satchel: Satchel) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that a refused call could have left behind."""
    with satchel.workplace.engine.read() as transaction:
        tables = ("projects", "agents", "strategies", "documents", "likenesses")
        return {table: transaction.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


def test_every_field_comes_back_as_it_was_given(satchel: Satchel, clock: ManualClock) -> None:
    saved = satchel.strategies.save("offline-sync", f" {INSIGHT}\n", lang="typescript", framework="react", agent="Ann")
    assert (saved.topic, saved.insight) == ("offline-sync", INSIGHT)
    assert (saved.lang, saved.framework, saved.agent) == ("typescript", "react", "Ann")
    assert (saved.helped, saved.not_helped) == (0, 0)
    assert (saved.last_seen, saved.created_at, saved.notes) == (clock.now, clock.now, ())
    assert (saved.ref, len(bytes.fromhex(saved.uid))) == (f"s{saved.id}", 16)
    assert saved.seq == satchel.strategies.find().seq
    assert reread(satchel, saved) == saved


def test_what_is_left_out_takes_its_default(satchel: Satchel) -> None:
    saved = satchel.strategies.save("x", "y")
    assert (saved.lang, saved.framework, saved.agent) == (None, None, None)


def test_the_default_agent_saves_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner")
    assert satchel.strategies.save("x", "y").agent == "planner"
    assert satchel.strategies.save("x", "z", agent="qa").agent == "qa"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("React Native offline", "react-native-offline"),
        ("  snake_case__name ", "snake-case-name"),
        ("API / rate limits!", "api-rate-limits"),
        ("-dashed--", "dashed"),
        ("C++ Templates", "c++-templates"),
        ("C#", "c#"),
        ("Node.js streams.", "node.js-streams"),
        ("Überprüfung", "überprüfung"),
        ("データ 同期", "データ-同期"),
    ],
)
def test_a_topic_is_kept_in_lower_case_and_hyphenated_and_that_is_said(satchel: Satchel, given: str, kept: str) -> None:
    saved = satchel.strategies.save(given, "y")
    assert (saved.topic, saved.notes) == (kept, (f"the topic is stored as {kept!r}",))
    again = satchel.strategies.save(kept, "something else")
    assert (again.topic, again.notes) == (kept, ())


def test_language_and_framework_are_kept_in_lower_case(satchel: Satchel) -> None:
    saved = satchel.strategies.save("x", "y", lang=" TypeScript", framework="React Native ")
    assert (saved.lang, saved.framework) == ("typescript", "react native")


def test_an_insight_of_five_hundred_characters_is_kept_whole(satchel: Satchel) -> None:
    saved = satchel.strategies.save("x", "ä" * 500)
    assert (saved.insight, saved.notes) == ("ä" * 500, ())


def test_a_longer_insight_is_refused_with_the_limit(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="has 501 characters, 500 at most"):
        satchel.strategies.save("x", "ä" * 501)
    assert satchel.strategies.find().total == 0


def test_an_insight_may_have_lines(satchel: Satchel) -> None:
    assert satchel.strategies.save("x", "one\ntwo").insight == "one\ntwo"


def test_secrets_in_an_insight_are_redacted_and_that_is_said(satchel: Satchel) -> None:
    saved = satchel.strategies.save("x", "y" * 440 + f" {SECRET}\x00")
    assert "ghp_" not in saved.insight
    assert "a secret was redacted (github-token)" in saved.notes
    assert "1 control character removed" in saved.notes
    assert SECRET[:12].encode() not in kept_bytes(satchel)


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "empty topic": ({"topic": " "}, InvalidInput, "topic is empty"),
    "topic without a word": ({"topic": "-?!-"}, InvalidInput, "topic '-?!-' contains no word"),
    "topic of signs": ({"topic": "+#"}, InvalidInput, "contains no word"),
    "long topic": ({"topic": "t" * 201}, InvalidInput, "topic has 201 characters"),
    "topic of another type": ({"topic": None}, InvalidInput, "topic must be text"),
    "secret as a topic": ({"topic": SECRET}, InvalidInput, "topic looks like a secret"),
    "empty insight": ({"insight": " \n"}, InvalidInput, "insight is empty"),
    "insight of another type": ({"insight": ["a"]}, InvalidInput, "insight must be text"),
    "huge insight": ({"insight": "x" * 1_025}, TooLarge, "insight has"),
    "blank language": ({"lang": " "}, InvalidInput, "lang is empty"),
    "secret as a language": ({"lang": SECRET}, InvalidInput, "lang looks like a secret"),
    "blank framework": ({"framework": ""}, InvalidInput, "framework is empty"),
    "secret as a framework": ({"framework": SECRET}, InvalidInput, "framework looks like a secret"),
    "placeholder as agent": ({"agent": "{{agent}}"}, InvalidInput, "agent .* placeholder"),
}


@in_one_test("case", REFUSED)
def test_what_is_not_acceptable_is_refused_and_leaves_nothing(
    open_in: Callable[..., Satchel], project: Path, case: str
) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    satchel.housekeeping.initialise()
    before = everything(satchel)
    given, error, problem = REFUSED[case]
    with pytest.raises(error, match=problem.replace("?", r"\?").replace("+", r"\+")):
        satchel.strategies.save(**{"topic": "x", "insight": INSIGHT, "agent": "new", **given})
    assert everything(satchel) == before


def test_a_reader_cannot_save(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(ReadOnly):
        open_in(project, read_only=True).strategies.save("x", "y")


def test_one_that_says_nearly_the_same_is_pointed_out_and_kept_beside_it(satchel: Satchel) -> None:
    first = satchel.strategies.save("offline", INSIGHT)
    second = satchel.strategies.save("sync", "queue writes while offline; replay them in order!", lang="go")
    assert second.id != first.id
    (note,) = second.notes
    assert note.startswith(f"{first.ref} says nearly the same (")
    assert note.endswith(f"% alike): offline: {INSIGHT}")
    assert satchel.strategies.find().total == 2


def test_a_short_insight_is_pointed_out_too(satchel: Satchel) -> None:
    first = satchel.strategies.save("packages", "use pnpm")
    assert satchel.strategies.save("packages", "Use pnpm.").notes == (
        f"{first.ref} says nearly the same (100 % alike): packages: use pnpm",
    )
    assert satchel.strategies.save("packages", "avoid npm").notes == ()


def test_one_that_says_something_else_on_the_same_topic_is_not(satchel: Satchel) -> None:
    satchel.strategies.save("offline", INSIGHT)
    assert satchel.strategies.save("offline", "Show stale data with its age instead of a spinner").notes == ()


def test_one_of_another_project_is_not_pointed_out(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    for insight in (INSIGHT, "use pnpm"):
        one.strategies.save("offline", insight)
        assert other.strategies.save("offline", insight).notes == ()


@pytest.mark.parametrize("insight", [INSIGHT, "use pnpm"])
def test_a_forgotten_one_leaves_no_marks(satchel: Satchel, insight: str) -> None:
    satchel.housekeeping.forget(satchel.strategies.save("offline", insight).ref)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT * FROM likenesses") == []
    assert satchel.strategies.save("offline", insight).notes == ()


@pytest.mark.parametrize("word", ["heliotropes", "marmosets", "typescript", "svelte"])
def test_a_strategy_is_found_by_its_insight_topic_language_and_framework(satchel: Satchel, word: str) -> None:
    saved = satchel.strategies.save(
        "marmosets", "water heliotropes", lang="typescript", framework="svelte", agent="ann"
    )
    (found,) = satchel.finding.search(word, kinds=["strategy"]).results
    assert (found.ref, found.kind, found.status, found.agent, found.run_id) == (
        saved.ref,
        "strategy",
        "live",
        "ann",
        None,
    )


def test_the_index_can_be_made_anew(satchel: Satchel) -> None:
    satchel.strategies.save("marmosets", "water heliotropes", lang="typescript", agent="ann")
    before = satchel.finding.search("heliotropes typescript")
    assert before.total == 1
    satchel.finding.rebuild(say_nothing)
    assert satchel.finding.search("heliotropes typescript") == before
    assert [check.status for check in satchel.housekeeping.doctor() if check.name == "index"] == ["ok"]
