"""The commands of the ledger: values, conflicts, locks, inboxes, what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tables import in_one_test

Cli = Callable[..., tuple[int, str, str]]


def asked(cli: Cli, *arguments: str) -> Any:
    status, out, err = cli(*arguments, "--json")
    assert status in {0, 4}, err
    return json.loads(out)


def decided(cli: Cli, *arguments: str) -> Any:
    (decision,) = asked(cli, "decide", *arguments)["decisions"]
    return decision


@in_one_test(
    ("typed", "kept"),
    [
        ("300", 300),
        ("0", 0),
        ("2.5", 2.5),
        ("7e10", "7e10"),
        ("1.0", "1.0"),
        ("12345678901234567890", "12345678901234567890"),
        ("9007199254740991", 2**53 - 1),
        ("007", "007"),
        ("1_000", "1_000"),
        ("1,000", "1,000"),
        ("+1", "+1"),
        ("0x10", "0x10"),
        (".5", ".5"),
        ("NaN", "NaN"),
        ("true", "true"),
        ("٣", "٣"),
        ("redis", "redis"),
    ],
)
def test_a_value_is_a_number_where_it_is_written_as_one(cli: Cli, typed: str, kept: object) -> None:
    value = decided(cli, "key", typed)["value"]
    assert (value, type(value)) == (kept, type(kept))


@pytest.mark.parametrize(("typed", "kept"), [("-1", -1), ("-2.5", -2.5), ("--verbose", "--verbose"), ("-", "-")])
def test_a_value_that_begins_with_a_dash_stands_behind_two(cli: Cli, typed: str, kept: object) -> None:
    status, out, _ = cli("decide", "key", "--json", "--", typed)
    assert (status, json.loads(out)["decisions"][0]["value"]) == (0, kept)


def test_a_negative_number_without_the_dashes_is_refused_and_the_help_says_how(cli: Cli) -> None:
    status, _, err = cli("decide", "key", "-1")
    assert status == 2
    assert "See `satchel decide --help`" in err
    help_text = " ".join(cli("decide", "--help")[1].split())
    assert "Before a VALUE that begins with a dash put --" in help_text
    assert "satchel decide --agent planner utc_offset -- -1" in help_text


@pytest.mark.parametrize("option", ["--min", "--max"])
def test_a_bound_may_be_negative(cli: Cli, option: str) -> None:
    cli("decide", "low", "--", "-5")
    cli("decide", "high", "5")
    page = asked(cli, "decisions", option, "-1")
    assert [decision["key"] for decision in page["decisions"]] == [{"--min": "high", "--max": "low"}[option]]


def test_a_text_of_digits_is_told_from_the_number(cli: Cli) -> None:
    cli("decide", "name", "300", "--text")
    cli("decide", "size", "300")
    rows = {line.split()[1]: line.split()[2] for line in cli("decisions")[1].splitlines()[2:]}
    assert rows == {"name": '"300"', "size": "300"}


@pytest.mark.parametrize(
    ("field", "cleared"),
    [("tags", None), ("scopes", None), ("layer", None), ("rationale", None), ("version", "1.0.0")],
)
def test_clear_empties_one_field_and_leaves_the_others(cli: Cli, field: str, cleared: str | None) -> None:
    full = ("--tag", "a", "--scope", "s", "--layer", "data", "--why", "w", "--version", "2.0.0")
    before = decided(cli, "key", "1", *full)
    after = decided(cli, "key", "--clear", field)
    names = ("tags", "scopes", "layer", "rationale", "version")
    assert {name: after.get(name) for name in names} == {name: before[name] for name in names} | {field: cleared}


@in_one_test(
    ("arguments", "problem"),
    [
        (("decide", "key", "--tag", "a", "--clear", "tags"), "tags cannot be given and cleared at once"),
        (("decide", "key", "--text"), "--text is about VALUE"),
        (("decide", "new"), "value"),
        (("decide", "key", "1", "--layer", "dta"), "Did you mean 'data'? Valid: presentation, business, data"),
        (("decide", "key", "1", "--status", "activ"), "'activ' is not one of 'active', 'deprecated', 'draft'"),
        (("decide", "key", "1", "--expect", "x"), "'x' is not a valid integer"),
        (("decide", " ", "1"), "key"),
        (("decide", "k" * 10_000, "1"), "key"),
        (("decide", "key", "1", "--tag", ""), "tags"),
        (("decisions", "--min", "lots"), "'lots' is not a number"),
        (("decisions", "--limit", "501"), "limit 501 is out of range"),
        (("decisions", "--key", "ttl", "--status", "draft"), "--status cannot be combined with --key"),
        (("decisions", "--key", "ttl", "sessions"), "WORDS cannot be combined with --key"),
        (("rule", "list", "a.py", "--layer", "data"), "--layer cannot be combined with FILE"),
        (("decisions", "--since", "soon"), "since 'soon' is not a time"),
        (("rule", "add", " "), "text is empty"),
        (("rule", "add", "x", "--priority", "urgent"), "'urgent' is not one of 'low', 'medium'"),
        (("confirm", "d1"), "d1 is a decision, which cannot be confirmed"),
        (("message", "send", "x", "--agent", "a", "--payload", "{"), "--payload is no JSON"),
        (("message", "send", "x", "--agent", "a", "--reply-to", "x1"), "'x1'"),
        (("message", "read", "--agent", "a"), "or give --all"),
        (("message", "read", "m1", "--all", "--agent", "a"), "or give --all"),
        (("file", "record", "../x", "created"), "names no file of the project"),
        (("file", "record", "x", "renamed"), "'renamed' is not one of 'created', 'modified', 'deleted'"),
        (("file", "check", "x", "--window", "-1"), "--window -1 is out of range"),
        (("file", "claim", "--agent", "a"), "nothing to claim was named"),
        (("file", "claim", "x", "--agent", "a", "--minutes", "0"), "minutes 0"),
        (("file", "release", "--agent", "a"), "or give --all"),
        (("clear", "--messages-hours", "-1"), "--messages-hours -1 is out of range"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line_and_nothing_is_written(
    cli: Cli, arguments: tuple[str, ...], problem: str
) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error [invalid_input]: ")
    assert problem in err
    assert err.count("\n") == 1
    assert asked(cli, "stats")["seq"] == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("decisions", "--key", "sesion_ttl"), "Did you mean 'session_ttl'?"),
        (("retract", "c9"), "c9"),
        (("message", "send", "x", "--agent", "a", "--reply-to", "m9"), "m9"),
    ],
)
def test_what_is_not_there_is_not_found(cli: Cli, arguments: tuple[str, ...], problem: str) -> None:
    cli("decide", "session_ttl", "300")
    status, out, err = cli(*arguments)
    assert (status, out) == (3, "")
    assert problem in err
    assert err.count("\n") == 1


def test_a_stale_revision_is_a_conflict_that_says_what_stands(cli: Cli) -> None:
    cli("decide", "ttl", "300", "--agent", "planner")
    cli("decide", "ttl", "600", "--agent", "builder")
    status, out, err = cli("decide", "ttl", "900", "--expect", "1")
    assert (status, out) == (4, "")
    assert "ttl has revision 2, not 1: builder set it to 600" in err
    assert decided(cli, "ttl", "900", "--expect", "2")["revision"] == 3


def test_zero_is_expected_of_a_new_decision(cli: Cli) -> None:
    assert cli("decide", "ttl", "300", "--expect", "0")[0] == 0
    assert cli("decide", "ttl", "300", "--expect", "0")[0] == 4


def test_a_change_says_what_was_before_and_who_had_set_it(cli: Cli) -> None:
    cli("decide", "ttl", "300", "--tag", "b", "--tag", "a", "--agent", "planner")
    lines = cli("decide", "ttl", "600", "--clear", "tags", "--agent", "builder")[1].splitlines()
    (line,) = lines
    assert re.fullmatch(
        r"set d1 ttl, revision 2; binds everywhere; was revision 1: 300 by planner #a b \d{4}-\d\d-\d\d \d\d:\d\d", line
    )


def test_a_decision_that_looks_like_another_is_pointed_out(cli: Cli) -> None:
    cli("decide", "session_timeout_seconds", "300")
    out = cli("decide", "session_timeout_second", "600")[1]
    assert "similar: d1 session_timeout_seconds=300 (its key " in out
    similar = decided(cli, "seconds_session_timeout", "600")["similar"]
    assert similar[0].keys() == {"id", "key", "value", "by", "likeness"}


def test_one_decision_is_shown_with_its_history(cli: Cli) -> None:
    for value in ("60", "30", "45"):
        cli("decide", "ttl", value)
    out, err = cli("decisions", "--key", "ttl")[1:]
    assert [line.split(": ")[1].split()[0] for line in out.splitlines()] == ["45", "30", "60"]
    assert err == "2 of 2 earlier states\n"
    history = asked(cli, "decisions", "--key", "d1", "--limit", "1", "--offset", "1")
    assert (history["decision"]["value"], [state["value"] for state in history["history"]]) == (45, [60])
    assert (history["total"], history["next_offset"]) == (2, None)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_check_leaves_with_four_where_the_file_is_anothers(cli: Cli, how: tuple[str, ...]) -> None:
    assert cli("file", "check", "src/a.py", "--agent", "builder", *how)[0] == 4
    assert cli("file", "check", "src/new.py", "--agent", "builder", *how)[0] == 0


def test_check_says_who_and_since_when_and_until_when(cli: Cli) -> None:
    cli("file", "claim", "src/", "--agent", "planner", "--why", "tokens")
    cli("file", "record", "src/a.py", "modified", "--agent", "planner", "--description", "begun")
    status, out, err = cli("file", "check", "src/a.py", "--agent", "builder")
    assert (status, err) == (4, "")
    held, changed = out.splitlines()
    assert re.fullmatch(
        r'src/a\.py is held by planner as src/\*\* until 2\d{3}-\d\d-\d\d \d\d:\d\d \(\d+ min left\): "tokens"', held
    )
    assert re.fullmatch(r' hint: changed by planner, recorded \d+ s ago \(f1\): "begun"', changed)


def test_what_is_ones_own_holds_nothing_up(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    status, out, _ = cli("file", "check", "src/a.py", "--agent", "planner")
    assert status == 0
    assert out.startswith("src/a.py is yours until 2")


def test_without_files_all_that_is_claimed_is_checked(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "issue:311", "--agent", "planner")
    status, out, _ = cli("file", "check", "--agent", "planner")
    assert (status, [line.split()[0] for line in out.splitlines()]) == (0, ["issue:311", "src/a.py"])
    assert cli("file", "check", "--agent", "builder") == (0, "", "you have claimed nothing\n")


def test_several_files_are_checked_at_once(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    status, out, _ = cli("file", "check", "src/b.py", "src/a.py", "--agent", "builder")
    assert (status, [line.split()[:3] for line in out.splitlines()]) == (
        4,
        [["src/b.py", "is", "free"], ["src/a.py", "is", "held"]],
    )


@pytest.mark.usefixtures("ledger")
def test_the_window_says_how_long_a_change_is_a_hint(cli: Cli) -> None:
    status, out, _ = cli("file", "check", "src/b.py", "--agent", "planner")
    assert (status, out.count(" hint: ")) == (0, 1)
    status, out, _ = cli("file", "check", "src/b.py", "--agent", "planner", "--window", "0")
    assert (status, out) == (0, "src/b.py is free\n")


def test_a_refused_claim_says_how_to_wait(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    status, _, err = cli("file", "claim", "src/a.py", "--agent", "builder", "--wait", "1")
    assert status == 4
    assert "nothing was claimed within 1 s: src/a.py is held by planner" in err
    assert "You can wait for it with --wait (1 to 45)" in cli("file", "claim", "src/a.py", "--agent", "builder")[2]
    status, out, _ = cli("file", "release", "--all", "--agent", "planner")
    assert (status, out.splitlines()[0]) == (0, "released src/a.py")
    assert re.fullmatch(
        r"builder was refused src/a\.py at 2\S+ \d\d:\d\d, and is notified that it is free", out.splitlines()[1]
    )


def test_a_claim_lasts_for_its_minutes(cli: Cli) -> None:
    (claim,) = asked(cli, "file", "claim", "src/a.py", "--agent", "planner", "--minutes", "7")["claims"]
    made, ends = (datetime.fromisoformat(claim[name]) for name in ("created_at", "expires_at"))
    assert (ends - made).total_seconds() == 7 * 60


def test_a_refused_claim_names_the_holder_and_claims_nothing(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner", "--why", "tokens")
    status, out, err = cli("file", "claim", "src/b.py", "src/a.py", "--agent", "builder")
    assert (status, out) == (4, "")
    assert "src/a.py is held by planner" in err
    assert '(29 min left): "tokens"' in err
    assert asked(cli, "file", "claims", "--author", "builder")["total"] == 0


def test_a_claim_of_ones_own_is_renewed(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    assert cli("file", "claim", "src/a.py", "--agent", "planner")[1].startswith(
        "renewed src/a.py (not there yet) until 2"
    )


def test_who_shares_a_path_is_named(cli: Cli) -> None:
    cli("file", "claim", "--shared", "src/", "--agent", "planner", "--why", "reading")
    out = cli("file", "claim", "--shared", "src/a.py", "--agent", "builder")[1]
    assert out.splitlines()[0].endswith("(30 min left), shared")
    assert "src/** is shared with planner until 2" in out
    assert out.endswith(': "reading"\n')


def test_a_constraint_that_ended_says_so_with_its_reason(cli: Cli) -> None:
    cli("rule", "add", "Be\nkind")
    cli("retract", "c1", "--why", "tired")
    row = cli("rule", "list", "--status", "inactive")[1].splitlines()[2]
    assert row.split()[-2:] == ["human", "tired"]


def test_two_agents_have_two_inboxes(cli: Cli) -> None:
    cli("message", "send", "for one", "--to", "builder", "--agent", "planner")
    cli("message", "send", "for all", "--agent", "planner")
    seen = {
        agent: [message["message"] for message in asked(cli, "message", "list", "--agent", agent)["messages"]]
        for agent in ("planner", "builder", "reviewer")
    }
    assert seen == {"planner": [], "builder": ["for all", "for one"], "reviewer": ["for all"]}
    assert asked(cli, "message", "read", "--all", "--agent", "builder")["unread"] == 0
    assert asked(cli, "message", "list", "--agent", "reviewer")["unread"] == 1


def test_the_agent_may_come_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_AGENT", "planner")
    assert asked(cli, "message", "send", "hi")["from"] == "planner"


@pytest.mark.parametrize("payload", ["[]", "0", "false", '"text"', '{"a": {"b": [1.5]}}'])
def test_any_json_goes_with_a_message(cli: Cli, payload: str) -> None:
    cli("message", "send", "x", "--agent", "planner", "--payload", payload)
    (message,) = asked(cli, "message", "list", "--agent", "builder")["messages"]
    assert message["payload"] == json.loads(payload)


def test_marking_read_reports_what_was_not_marked(cli: Cli) -> None:
    cli("message", "send", "one", "--to", "builder", "--agent", "planner")
    cli("message", "send", "two", "--to", "planner", "--agent", "builder")
    marked = asked(cli, "message", "read", "m1", "m2", "m9", "--agent", "builder")
    assert marked == {
        "agent": "builder",
        "marked": ["m1"],
        "already": [],
        "unknown": ["m9"],
        "foreign": ["m2"],
        "unread": 0,
    }
    assert cli("message", "read", "m1", "--agent", "builder")[1] == "already read: m1\n0 unread left for builder\n"


def test_what_one_sent_is_listed_with_who_has_read_it(cli: Cli) -> None:
    cli("message", "send", "pull first", "--to", "builder", "--agent", "planner")
    cli("message", "send", "done", "--to", "planner", "--agent", "builder")
    assert "not read yet" in cli("message", "sent", "--agent", "planner")[1]
    cli("message", "read", "--all", "--agent", "builder")
    status, out, _ = cli("message", "sent", "--agent", "planner")
    assert status == 0
    assert "read by builder" in out
    assert "pull first" in out
    assert "done" not in out
    assert "messages sent by planner" in out


def test_a_message_to_a_misspelt_name_is_not_sent(cli: Cli) -> None:
    cli("write", "hi", "--agent", "builder")
    status, _, err = cli("message", "send", "hi", "--to", "buildr", "--agent", "planner")
    assert (status, "nobody is called 'buildr' here. Did you mean 'builder'? Nothing was sent" in err) == (1, True)
    assert json.loads(cli("message", "sent", "--agent", "planner", "--json")[1])["total"] == 0
    status, out, err = cli("message", "send", "hi", "--to", "zoe", "--agent", "planner")
    assert (status, out.startswith("sent m1 to zoe"), "nobody of that name is here yet" in err) == (0, True, True)


@pytest.mark.parametrize(("answer", "sent_to"), [(True, ["builder"]), (False, [])])
def test_a_person_at_a_terminal_is_asked_whom_a_misspelt_name_means(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: bool, sent_to: list[str]
) -> None:
    cli("write", "hi", "--agent", "builder")
    monkeypatch.setattr("satchel.interfaces.operations.as_command._is_terminal", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: answer)
    cli("message", "send", "hi", "--to", "buildr", "--agent", "planner")
    sent = json.loads(cli("message", "sent", "--agent", "planner", "--json")[1])["messages"]
    assert [one["to"] for one in sent] == sent_to


def test_an_undo_of_something_older_says_what_it_takes_back(cli: Cli) -> None:
    def offered() -> str:
        return cli("undo")[2].partition(" takes back ")[2].partition(", your last")[0]

    cli("decide", "k", "1", "--why", "a")
    cli("decide", "k", "2", "--why", "b", "--agent", "builder")
    cli("reject", "d2")
    cli("file", "claim", "a.py")
    assert offered() == 'your rejection of d2 "k_draft: 2"'
    cli("decide", "k", "3", "--why", "c")
    cli("file", "release", "a.py")
    assert offered() == 'your change of d1 "k: 3"'


@pytest.mark.parametrize(("answer", "status"), [(True, 0), (False, 0)])
def test_a_person_at_a_terminal_is_asked_before_an_older_change_is_undone(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: bool, status: int
) -> None:
    cli("write", "the note")
    cli("error", "report", "KeyError", "no key b")
    monkeypatch.setattr("satchel.interfaces.operations.as_command._is_terminal", lambda: True)
    questions: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        questions.append(text)
        return answer

    monkeypatch.setattr("click.confirm", confirm)
    done, _, err = cli("undo")
    assert (done, "error" in err) == (status, False)
    assert questions == [
        'you reported x1: undo cannot take that back. Take back your note e1 "the note", your last change before that?'
    ]
    assert asked(cli, "read")["total"] == (0 if answer else 1)


def test_what_binds_a_file_is_listed_by_its_name_and_words_are_searched_for(cli: Cli) -> None:
    cli("rule", "add", "All endpoints check the token", "--path", "src/api/**", "--path", "*.sql")
    cli("decide", "orm", "none", "--path", "*.py", "--why", "one way")
    listed = asked(cli, "rule", "list", "src/api/db.py")["bindings"]
    assert [(one["id"], one["by"]) for one in listed] == [("c1", "src/api/**"), ("d1", "*.py")]
    assert [one["id"] for one in asked(cli, "rule", "list", "a.sql")["bindings"]] == ["c1"]
    assert [one["paths"] for one in asked(cli, "rule", "list", "endpoints")["constraints"]] == [["src/api/**", "*.sql"]]
    assert asked(cli, "rule", "list")["total"] == 1
    assert "1 of 1 rules" in cli("rule", "list")[2]
    assert asked(cli, "decide", "orm", "--clear", "paths")["decisions"][0].get("paths") is None


def test_metadata_is_given_as_a_pair_or_an_object_and_filtered_by(cli: Cli) -> None:
    cli("decide", "cache", "redis", "--metadata", "risk=3")
    cli("rule", "add", "no floats", "--metadata", '{"owner": "core"}')
    assert "risk=3" in cli("decisions", "--metadata", "risk=3")[1]
    assert "owner=core" in cli("rule", "list", "--metadata", "owner")[1]
    assert "0 of 0" in cli("rule", "list", "--metadata", "owner=ann")[2]
    assert "Give key=value" in cli("decide", "cache", "--metadata", "risk")[2]
    assert "is no JSON" in cli("decide", "cache", "--metadata", "{risk}")[2]
    assert cli("decide", "cache", "--clear", "metadata")[0] == 0
    assert "risk" not in cli("decisions")[1]


def test_a_decision_that_was_set_as_it_was_is_unchanged(cli: Cli) -> None:
    cli("decide", "ttl", "60")
    assert cli("decide", "ttl", "60") == (0, "unchanged d1 ttl, revision 1: 60\n", "")


def test_a_list_of_rules_says_behind_which_no_person_stands(cli: Cli) -> None:
    cli("rule", "add", "No prints", "--agent", "human:ann")
    cli("rule", "add", "Push to main", "--agent", "ben")
    listed = cli("rule", "list")[1]
    assert ("satchel confirm c2" in listed, "satchel confirm c1" in listed) == (True, False), listed
    assert "New rules: `satchel rule list`" in cli("status")[1]
    cli("confirm", "c2", "--agent", "human:ann")
    assert "by no person" not in cli("rule", "list")[1]
    assert "New rules" not in cli("status")[1]
