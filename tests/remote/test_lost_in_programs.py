"""What commands, tools and hooks make of an answer that was lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accepting import FIN
from cutting_proxy import BEFORE_ANSWER, BEFORE_REQUEST, Cut, Proxy, proxy_to
from satchel import Satchel
from satchel.base.folders import state_folder
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from server_process import ServerProcess, token_for

pytestmark = pytest.mark.slow

Count = Callable[[str], int]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def process() -> Iterator[ServerProcess]:
    with ServerProcess() as one:
        yield one


@pytest.fixture
def between(process: ServerProcess) -> Iterator[Proxy]:
    with proxy_to(process.port, process.proxy_port) as proxy:
        yield proxy


@pytest.fixture
def environ(between: Proxy, store: Path) -> dict[str, str]:
    return {**os.environ, "SATCHEL_URL": between.url, "SATCHEL_TOKEN": token_for(store, "theirs", role="person")}


@pytest.fixture
def run(here: Path, environ: dict[str, str]) -> Run:
    """Run a command in the project's folder."""

    def run_one(*arguments: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "satchel", *arguments],
            input=given,
            capture_output=True,
            text=True,
            cwd=here,
            env=environ | more,
            check=False,
        )

    return run_one


def send(run: Run, text: str) -> subprocess.CompletedProcess[str]:
    return run("message", "send", text, "--to", "ben", "--agent", "ann")


def test_a_command_whose_answer_was_cut_answers_all_the_same(run: Run, between: Proxy, times_kept: Count) -> None:
    between.plan.append(Cut(BEFORE_ANSWER))
    done = send(run, "text")
    assert done.returncode == 0
    assert "lost" not in done.stderr
    assert "m1" in done.stdout
    assert times_kept("text") == 1


def test_a_command_whose_server_was_killed_after_it_kept_says_that_it_is_done(
    run: Run, between: Proxy, process: ServerProcess, times_kept: Count
) -> None:
    between.plan.append(Cut(BEFORE_ANSWER, FIN, process.restart))
    done = send(run, "text")
    assert (done.returncode, done.stdout) == (0, "")
    assert "done, but the answer was lost" in done.stderr
    assert times_kept("text") == 1


def test_a_command_whose_server_stays_away_says_that_it_is_not_known(
    run: Run, between: Proxy, process: ServerProcess, times_kept: Count
) -> None:
    between.plan.append(Cut(BEFORE_ANSWER, FIN, process.kill))
    done = send(run, "text")
    assert done.returncode == 19
    assert "whether anything was kept is not known" in done.stderr
    assert times_kept("text") == 1


def test_a_command_that_reaches_no_server_says_that_nothing_was_sent(run: Run, between: Proxy) -> None:
    between.close()
    done = send(run, "text")
    assert done.returncode == 19
    assert "Nothing was sent" in done.stderr


def test_a_tool_whose_server_was_killed_after_it_kept_says_that_it_is_done(
    open_at: Callable[..., Satchel],
    environ: dict[str, str],
    between: Proxy,
    process: ServerProcess,
    times_kept: Count,
) -> None:
    registry, satchel = Registry(ALL_TOOLS), open_at(between.url, environ["SATCHEL_TOKEN"])
    between.plan.append(Cut(BEFORE_ANSWER, FIN, process.restart))
    outcome = registry.run(registry.tool("send_message"), {"message": "text", "to": "ben"}, Call(lambda: satchel))
    assert outcome.text.startswith("done, but the answer was lost. Read it back")
    assert not outcome.is_error
    assert times_kept("text") == 1
    process.kill()
    outcome = registry.run(registry.tool("send_message"), {"message": "more", "to": "ben"}, Call(lambda: satchel))
    assert outcome.is_error
    assert outcome.text.startswith("error [unreachable]: ")


@pytest.mark.parametrize("cut", [Cut(BEFORE_REQUEST), Cut(BEFORE_ANSWER)], ids=str)
def test_a_hook_whose_answer_was_lost_says_nothing_and_records_a_fault(
    run: Run, between: Proxy, here: Path, cut: Cut
) -> None:
    between.plan.extend([cut] * 5)
    event = {"session_id": "s1", "cwd": str(here), "hook_event_name": "SessionStart", "source": "startup"}
    done = run("hook", "claude", "SessionStart", given=json.dumps(event), SATCHEL_HOOKS_DEADLINE_MS="20000")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    faults = "".join(one.read_text() for one in state_folder().rglob("*fault*") if one.is_file())
    assert "not known" in faults
