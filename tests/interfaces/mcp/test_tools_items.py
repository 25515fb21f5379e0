"""The tool get_items, called as an agent calls it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import over_server
from satchel import Satchel
from satchel.base.tokens import token_counter
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.keep.sessions.caller import SERVER, Caller
from tool_asking import Asker

if TYPE_CHECKING:
    from conftest import ManualClock

EVERY = ["e1", "d1", "c1", "m1", "f1", "p1", "x1", "y1", "s1"]


@pytest.fixture
def ask(satchel: Satchel) -> Asker:
    """A store with something of every kind, by ann."""
    satchel.runs.start("night")
    satchel.entries.write(
        "discovery", "sessions live\nin src/auth.py", task_id="T1", file="src/auth.py", agent="ann", run_id="night"
    )
    satchel.decisions.set("session_ttl", 300, rationale="matches the gateway", tags=["auth"], agent="ann")
    satchel.constraints.add("never log a token", category="security", priority="high", agent="ann")
    satchel.messages.send("rebase first", to="ben", payload={"branch": "main"}, agent="ann")
    satchel.files.record("src/auth.py", "modified", description="reads the key once", agent="ann")
    satchel.packages.save("why it failed", content="all of it", agent="ann", run_id="night")
    satchel.patterns.report("KeyError", "no key", solution="give a default", agent="ann")
    satchel.strategies.save("tokens", "refresh them early", lang="python", agent="ann")
    return Asker(satchel)


def test_every_kind_is_shown_with_all_that_it_has(ask: Asker) -> None:
    ask.satchel.decisions.set("session_ttl", 600)
    ask.satchel.corrections.retract("c1", "the log is off", agent="ben")
    text = re.sub(r"\d\d-\d\d \d\d:\d\d", "WHEN", ask.text("get_items", ids=EVERY, agent="ben"))
    assert text.splitlines() == [
        "9 items, UTC times of 2026",
        "e1 discovery by ann run:night task:T1 file:src/auth.py WHEN",
        " sessions live",
        " in src/auth.py",
        "d1 session_ttl=600 revision 2 #auth WHEN",
        'c1 security high by ann WHEN inactive since 11:06 by ben because "the log is off"',
        " never log a token",
        "m1 from ann to me payload new WHEN",
        " rebase first",
        ' {"branch":"main"}',
        "f1 src/auth.py modified by ann WHEN",
        " reads the key once",
        "p1 run:night research medium by ann bytes:9 WHEN",
        " why it failed",
        " all of it",
        "x1 KeyError, met 1 time since WHEN",
        " no key",
        "y1 tentative, confidence 5 of 10 by ann WHEN",
        " give a default",
        "s1 tokens lang:python by ann WHEN",
        " refresh them early",
    ]


def test_a_bug_is_opened_field_by_field_by_its_id_and_on_its_file(ask: Asker) -> None:
    bug = {"description": "the key is read\ntwice", "severity": "high"}
    ask.text("write_context", type="bug", content=bug, file="src/a.py", agent="ann")
    fields = ["description: the key is read", " twice", " severity: high"]
    for ref in ("e2", "file:src/a.py"):
        assert "\n " + "\n".join(fields) in ask.text("get_items", ids=[ref])


def test_json_is_each_record_with_its_id_and_kind(ask: Asker) -> None:
    answered = ask.fields("get_items", ids=[*EVERY, "e9"], agent="ben")
    assert [(one["id"], one["kind"]) for one in answered["items"]] == list(
        zip(
            EVERY,
            [
                "entry",
                "decision",
                "constraint",
                "message",
                "file_change",
                "package",
                "error_pattern",
                "solution",
                "strategy",
            ],
            strict=True,
        )
    )
    by_id: dict[str, dict[str, Any]] = {one["id"]: one for one in answered["items"]}
    assert (by_id["d1"]["value"], by_id["p1"]["text"], by_id["x1"]["solutions"][0]["id"]) == (300, "all of it", "y1")
    assert answered["notes"] == ["the project has no 'e9'"]


def test_what_is_unknown_is_named_and_an_error_only_if_it_is_all(ask: Asker) -> None:
    assert ask.text("get_items", ids=["e9", "e1"]).splitlines()[-1] == ("note: the project has no 'e9'")
    assert ask.refused("get_items", ids=["e9", "what"]).startswith("error [not_found]: the project has no 'e9', 'what'")


def test_a_message_to_another_is_opened_and_stays_unread(ask: Asker) -> None:
    assert "m1 from ann to ben payload new" in ask.text("get_items", ids=["m1"], agent="eve")
    assert ask.satchel.messages.inbox(agent="ben").unread == 1


def test_one_id_may_come_as_text(ask: Asker) -> None:
    assert ask.text("get_items", ids="d1") == ask.text("get_items", ids=["d1"])


def test_a_long_answer_is_cut_and_the_calls_it_names_give_the_rest(ask: Asker) -> None:
    long = "".join(f"line {number} of a long text\n" for number in range(1_200)).strip()
    ask.satchel.entries.write("discovery", long)
    ask.satchel.entries.write("discovery", " ".join(f"word{number}" for number in range(4_000)))
    call: dict[str, Any] = {"ids": ["d1", "e2", "c1", "e3"]}
    pages = []
    while True:
        text = ask.text("get_items", **call)
        assert len(text) < 20_000
        first, _, page = text.partition("\n")
        pages.append(page)
        if "continues" not in first:
            break
        named = re.search(r"get_items\((\[.*\]), offset=(\d+)\) continues", first)
        assert named is not None
        call = {"ids": json.loads(named[1]), "offset": int(named[2])}
        assert len(pages) < 10
    whole = "".join(pages)
    assert call["ids"] == ["e3"]
    assert (whole.count("line 7 of"), whole.count("word3999"), "never log" in whole) == (1, 1, True)
    for number in range(1_200):
        assert f"line {number} of a long text" in whole
    assert set(re.findall(r"word\d+", whole)) == {f"word{number}" for number in range(4_000)}


def test_no_continued_text_can_pass_for_an_item(ask: Asker) -> None:
    ask.satchel.entries.write("discovery", "c9 security critical " * 2_000)
    second = ask.text("get_items", ids=["e2"], offset=19_000).splitlines()[1]
    assert second.startswith(" ")


def test_beyond_the_end_there_is_nothing(ask: Asker) -> None:
    first, rest = ask.text("get_items", ids=["d1"], offset=10**6).split("\n", 1)
    assert ("of" in first, rest.strip()) == (True, "")


def test_a_key_opens_a_decision_with_its_history_and_a_file_with_all_about_it(ask: Asker) -> None:
    ask.satchel.decisions.set("session_ttl", 600, paths=["src/**"])
    ask.text("claim_files", paths=["src/auth.py"], reason="keys", agent="ann")
    text = re.sub(
        r"\d\d-\d\d \d\d:\d\d", "WHEN", ask.text("get_items", ids=["decision:session_ttl", "file:src/auth.py:3"])
    )
    assert text.splitlines() == [
        "2 items, UTC times of 2026",
        "decision with 1 earlier state, newest first, each says what differs from the one above",
        "d1 session_ttl revision 2: 600 #auth paths:src/** WHEN",
        "revision 1: 300 by ann paths:- WHEN",
        " because: matches the gateway",
        'src/auth.py is held by ann until WHEN (30 min left): "keys"',
        "f1 src/auth.py modified by ann WHEN",
        " reads the key once",
        "1 item binds src/auth.py",
        "d1 decided session_ttl for src/**:",
        " 600",
        "1 note on it",
        "e1 discovery by ann run:night task:T1 file:src/auth.py WHEN",
        " sessions live",
        " in src/auth.py",
    ]
    ask.text("record_file_change", file="src/b.py", change="modified", description="mine", agent="ben")
    ask.text("write_context", type="bug", content="it leaks", file="src/b.py", agent="ben")
    about = ask.text("get_items", ids=["file:src/b.py", "e2"])
    assert (about.count("it leaks"), about.count("f2 src/b.py")) == (1, 1)
    assert "also in this answer: e2" in about
    listed = ask.text("get_items", ids=["file:src/b.py", "f2"]).splitlines()
    assert [line.split()[0] for line in listed if line.startswith("f2")] == ["f2,", "f2"]
    assert "f2, also in this answer" in listed
    assert "there is no decision 'session'" in ask.refused("get_items", ids=["decision:session"])
    assert "note: the project has no 'decision:x'" in ask.text("get_items", ids=["d1", "decision:x"])


@pytest.mark.skipif(over_server.is_asked_for, reason="a server makes the notice before the answer is text")
def test_a_notice_repeats_nothing_that_the_answer_shows(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    reader = Asker(open_in(project, environ={"SATCHEL_AGENT": "ben"}, caller=Caller(SERVER, {})))
    other = open_in(project, environ={"SATCHEL_AGENT": "ann"})
    other.decisions.set("vat", 19, paths=["src/**"])
    reader.text("get_briefing")
    reader.text("claim_files", paths=["src/a.py"])
    clock.advance(60_000)
    other.decisions.set("vat", 20)
    other.entries.write("discovery", "keys rotate", file="src/a.py")
    shown = reader.text("get_items", ids=["file:src/a.py"])
    assert (shown.count("keys rotate"), "notice:" in shown) == (1, False)
    # a search may cut what binds
    other.decisions.set("vat", 21)
    other.entries.write("discovery", "keys rotate daily", file="src/a.py")
    found = reader.text("search", file="src/a.py")
    assert (found.count("keys rotate daily"), "notice: d1 vat is now 21, set by ann" in found) == (1, True)


def test_its_description_and_schema_cost_little() -> None:
    (listed,) = (one for one in Registry(ALL_TOOLS).listing() if one["name"] == "get_items")
    text = json.dumps({"description": listed["description"], "inputSchema": listed["inputSchema"]})
    assert token_counter("o200k_base").count(text, "json") <= 150
