"""The trial with two agents: its log is summed up, its bridge keeps a server for each, its plan can be followed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trial
from satchel.base.tokens import token_counter
from tables import in_one_test
from trial_log import Line, Row, read_log, retries_of, rows_of, summary

SCRIPT = Path(trial.__file__)
MISSING = "error [invalid_input]: search needs query"


def call(
    tool: str, text: str = "kept e1", *, agent: str = "ann", error: bool = False, **arguments: object
) -> dict[str, Any]:
    """Return a line of a log: a call of a tool."""
    return {"agent": agent, "asked": "call", "tool": tool, "arguments": arguments, "error": error, "text": text}


def log_of(*lines: dict[str, Any]) -> list[Line]:
    return read_log("".join(json.dumps(line) + "\n" for line in lines))


WROTE = call("write_context", content="Sessions expire after 300 s")
FAILED = call("search", MISSING, error=True, words="when do sessions expire")
MENDED = call("search", "1 of 1 results", query="when do sessions expire")


def test_a_log_is_summed_up_by_tool_those_with_the_most_tokens_first() -> None:
    said: dict[str, Any] = {
        "agent": "ben",
        "asked": "instructions",
        "error": False,
        "text": "Begin with get_briefing. " * 20,
    }
    nothing = call("search", "0 of 0 results", agent="ben", query="tokens")
    rows = rows_of(log_of(said, WROTE, FAILED, MENDED, nothing))
    count = token_counter().count
    found = count(MISSING) + count("1 of 1 results") + count("0 of 0 results")
    read, kept = count(said["text"]), count("kept e1")
    assert rows == [
        Row("(instructions)", 1, 0, 0, 0, read),
        Row("search", 3, 1, 1, 1, found),
        Row("write_context", 1, 0, 0, 0, kept),
        Row("in all", 5, 1, 1, 1, read + found + kept),
    ]


def test_a_summary_shows_who_asked_and_what_failed() -> None:
    lines = summary(log_of(WROTE, FAILED, MENDED, call("search", "0 of 0 results", agent="ben"))).splitlines()
    assert lines[0].startswith("asked: ann 3, ben 1; tokens of the answers: ")
    assert [line.split()[:5] for line in lines if line.startswith("search")] == [["search", "3", "1", "1", "1"]]
    assert lines[-3:] == ["errors:", 'ann search {"words": "when do sessions expire"}', f"  {MISSING}"]


def test_an_empty_log_is_summed_up() -> None:
    assert summary(read_log("\n")) == "nobody asked anything"


def test_a_log_is_summed_up_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    monkeypatch.setattr(sys, "argv", ["trial.py", "sum", str(log)])
    with pytest.raises(SystemExit, match=r"no log can be read: .*No such file"):
        trial.main()
    log.write_text(json.dumps(MENDED) + "\n")
    assert trial.main() == 0
    assert capsys.readouterr().out == summary(log_of(MENDED)) + "\n"


@in_one_test(
    ("others", "last", "is_retry"),
    [
        ([], MENDED, True),
        ([WROTE, WROTE], MENDED, True),
        ([WROTE, WROTE, WROTE], MENDED, False),
        ([{**WROTE, "agent": "ben"}] * 3, MENDED, True),
        ([], {**MENDED, "agent": "ben"}, False),
        ([], {**MENDED, "tool": "read_context"}, False),
        ([], call("search", query="README"), False),
        ([], {**FAILED, "arguments": {"word": "when do sessions expire"}}, True),
    ],
)
def test_a_retry_asks_alike_soon_after_an_error(
    others: list[dict[str, Any]], last: dict[str, Any], is_retry: bool
) -> None:
    lines = log_of(FAILED, *others, last)
    assert retries_of(lines) == (lines[-1:] if is_retry else [])


def test_a_call_like_one_that_succeeded_is_no_retry() -> None:
    assert retries_of(log_of(MENDED, MENDED)) == []


@in_one_test(
    ("text", "is_error", "is_nothing"),
    [
        ("0 of 12 results", False, True),
        ("0 decisions, seq 4", False, True),
        ("no messages", False, True),
        ("Reports of other agents: check them\nnote: nothing was written for this project yet", False, True),
        ('{"entries": [], "total": 0}', False, True),
        ('{"entries": [{}], "total": 1}', False, False),
        ("1 of 1 results\n there is nothing is kept", False, False),
        ("noted e1", False, False),
        ("no such tool", True, False),
    ],
)
def test_an_empty_list_is_known(text: str, is_error: bool, is_nothing: bool) -> None:
    (line,) = log_of(call("search", text, error=is_error))
    assert line.gave_nothing() is is_nothing


def test_a_listing_is_no_empty_list() -> None:
    (line,) = log_of({"agent": "ann", "asked": "list", "error": False, "text": '{"name": "x", "total": 0}'})
    assert not line.gave_nothing()


def test_the_plan_can_be_followed(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    text = trial.plan(clone)
    commands = [
        shlex.split(line.strip().removesuffix("&"))
        for line in text.splitlines()
        if line.strip().startswith(trial.COMMAND)
    ]
    given = [trial._parser().parse_args(command[2:]) for command in commands]
    assert {one.project for one in given if one.action == "host"} == {clone}
    asked = {(one.agent, one.asked) for one in given if one.action == "as"}
    assert asked == {(agent, asked) for agent in trial.TASKS for asked in ("instructions", "list", "call", "stop")}


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run a command of the trial, after a host for each agent has been started."""
    environment = os.environ | {"HOME": str(tmp_path)}
    folder = tmp_path / ("long" * 30)

    def command(*arguments: str) -> list[str]:
        return [sys.executable, str(SCRIPT), *arguments]

    def ask(action: str, agent: str, *rest: str) -> subprocess.CompletedProcess[str]:
        options = ["--folder", str(folder), *(["--project", str(project)] if action == "host" else [])]
        return subprocess.run(
            command(action, agent, *options, *rest),
            check=False,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    hosts = [
        subprocess.Popen(
            command("host", agent, "--project", str(project), "--folder", str(folder)),
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for agent in trial.TASKS
    ]
    try:
        for host in hosts:
            assert host.stdout is not None
            assert host.stdout.readline().endswith(f" has a server in {project}\n")
        yield ask
        for agent, host in zip(trial.TASKS, hosts, strict=True):
            assert ask("as", agent, "stop").returncode == 0
            assert host.wait(60) == 0
    finally:
        for host in hosts:
            host.kill()
            host.communicate()


@pytest.mark.slow
def test_two_agents_ask_real_servers_that_are_kept(
    run: Callable[..., subprocess.CompletedProcess[str]], project: Path, tmp_path: Path
) -> None:
    def ask(agent: str, *rest: str) -> str:
        done = run("as", agent, *rest)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    assert "get_briefing" in ask("ann", "instructions")
    listed = [json.loads(line) for line in ask("ann", "list").splitlines()]
    assert {"name", "description", "inputSchema"} == set(listed[0])
    assert "write_context" in {tool["name"] for tool in listed}
    ask("ann", "call", "write_context", json.dumps({"type": "discovery", "content": "Sessions expire after 300 s"}))
    ask("ann", "call", "write_context", json.dumps({"type": "discovery", "content": 'Tokens are "salted" – twice'}))
    assert '"salted" – twice' in ask("ben", "call", "search", '{"query": "tokens"}')
    ask("ben", "call", "search", '{"query": "unheard"}')
    ask("ben", "call", "write_context", '{"type": "discovery", "content": "The README is older"}')

    refused = run("as", "ben", "call", "search", '{"words": "tokens"}')
    assert (refused.returncode, refused.stdout[:6]) == (1, "error ")
    assert "not JSON" in run("as", "ben", "call", "search", "{query: tokens}").stderr
    assert "has a host already" in run("host", "ben").stderr
    assert "eve has no host" in run("as", "eve", "list").stderr

    who = subprocess.run(
        [sys.executable, "-m", "satchel", "who", "--json"], check=True, cwd=project, capture_output=True, text=True
    )
    assert sorted(one["agents"] for one in json.loads(who.stdout)["sessions"]) == [["ann"], ["ben"]]
    (log,) = tmp_path.glob("*/log.jsonl")
    rows = {row.name: row for row in rows_of(read_log(log.read_text(encoding="utf-8")))}
    assert (rows["search"].calls, rows["search"].errors, rows["search"].nothing) == (3, 1, 1)
    assert (rows["write_context"].calls, rows["in all"].calls) == (3, 8)


@pytest.mark.slow
def test_a_host_takes_the_place_of_one_that_was_killed(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "host", "ann", "--project", str(project), "--folder", str(tmp_path / "t")]
    for _ in range(2):
        with subprocess.Popen(command, env=os.environ | {"HOME": str(tmp_path)}, stdout=subprocess.PIPE) as host:
            assert host.stdout is not None
            assert host.stdout.readline().startswith(b"ann has a server")
            host.kill()
