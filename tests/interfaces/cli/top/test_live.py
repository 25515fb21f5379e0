"""`satchel top` in a terminal of its own, while a real agent works: what comes is shown, and keys act on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pseudo_terminal import ENTER, LEAVE, InTerminal
from satchel.interfaces.http.access import PERSON
from server_process import ServerProcess, token_for

pytestmark = pytest.mark.slow

SATCHEL = [sys.executable, "-m", "satchel"]
CTRL_D, ENTER_KEY = "\x04", "\r"


class Agent:
    """An agent at work: a process of `satchel mcp`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [*SATCHEL, "mcp", "--toolsets", "all", "--agent", "builder"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
        self._ask("initialize", hello)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        stdin.flush()
        result: dict[str, Any] = json.loads(stdout.readline())["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and return its text."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def end(self) -> None:
        """Let its client end."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


class World:
    """A project, and what works in it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment

    def run(self, *arguments: str) -> str:
        """Run a command of another person."""
        done = subprocess.run(
            [*SATCHEL, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = tmp_path.resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    one = World(folder, own | {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")})
    one.run("init")
    return one


@pytest.fixture
def agent(world: World) -> Iterator[Agent]:
    one = Agent(world.folder, world.environment)
    yield one
    one.end()


@pytest.fixture
def top(world: World) -> Iterator[Callable[..., InTerminal]]:
    """Start `satchel top` in a terminal."""
    started: list[InTerminal] = []

    def start(*arguments: str, size: tuple[int, int] = (80, 24), **variables: str) -> InTerminal:
        command = [*SATCHEL, "top", *arguments]
        started.append(InTerminal(command, world.folder, world.environment | variables, size))
        return started[-1]

    yield start
    for one in started:
        one.close()


Top = Callable[..., InTerminal]


def test_what_an_agent_asks_appears_and_is_answered_by_a_key(top: Top, agent: Agent) -> None:
    screen = top("--as", "ann")
    screen.expect("nothing needs you", "Needs me", "Since I looked", "Who is where", "Collisions")
    agent.call("send_message", message="May I drop \x1b[31mthe table?", to="human")
    screen.expect("1 needs you", "builder: May I drop", "d set aside")
    screen.press("a")
    screen.expect("Your answer to m1", "An empty line sends it", "> ")
    screen.press("No,\rkeep it\r\r")
    screen.expect("m1 was answered: m2", "nothing needs you")
    told = agent.call("get_messages")
    assert "human:ann" in told
    assert "keep it" in told
    screen.press("q")
    assert screen.end() == 0
    assert screen.is_as_before()


def test_an_answer_is_left_without_sending(top: Top, agent: Agent) -> None:
    agent.call("send_message", message="Which port?", to="human")
    screen = top()
    screen.expect("Which port?")
    screen.press("a")
    screen.expect("> ")
    screen.press(f"80\r{CTRL_D}")
    screen.expect("Nothing was sent.", "1 needs you")
    assert agent.call("get_messages").startswith("0 messages")


def test_an_answer_is_written_in_an_editor_and_a_message_set_aside(top: Top, agent: Agent, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("""#!/bin/sh\nsed -i '1s/.*/It is 7347/' "$1"\n""")
    editor.chmod(0o755)
    agent.call("send_message", message="Which port?", to="human")
    screen = top(EDITOR=str(editor))
    screen.expect("Which port?")
    screen.press("A")
    screen.expect("m1 was answered: m2.")
    told = agent.call("get_messages")
    assert "It is 7347" in told
    assert "not sent" not in told
    agent.call("send_message", message="For your information", to="human")
    screen.expect("For your information")
    screen.press("d")
    screen.expect("m3 was set aside.", "nothing needs you")


def test_what_another_has_answered_meanwhile_is_said_before_it_is_answered_again(
    top: Top, agent: Agent, world: World
) -> None:
    agent.call("send_message", message="Which port?", to="human")
    screen = top("--as", "ann")
    screen.expect("Which port?")
    screen.press("a")
    screen.expect("> ")
    world.run("message", "send", "7347", "--reply-to", "m1", "--agent", "human:ben")
    screen.press("80, please\r\r")
    screen.expect("human:ben has answered m1 meanwhile, with m2", "7347", "Send yours all the same?")
    screen.press("n\r")
    screen.expect("Nothing was sent: human:ben has answered m1 meanwhile")
    assert "80, please" not in agent.call("get_messages")


def test_a_claim_is_released_once_it_is_confirmed_and_its_holder_told(top: Top, agent: Agent) -> None:
    agent.call("claim_files", paths=["src/a.py"])
    screen = top()
    screen.expect("holds src/a.py")
    screen.press("3")
    screen.expect("a tell")
    screen.press("j")
    screen.expect("x release")
    screen.press("x")
    screen.expect("y releases the claim of builder on src/a.py")
    screen.press("n")
    screen.expect("Nothing was changed.", "holds src/a.py")
    screen.press("x")
    screen.expect("y releases the claim")
    screen.press("y")
    screen.expect("The claim on src/a.py was released, and builder told.")
    assert "I released your claim on src/a.py" in agent.call("get_messages")


def test_changes_are_seen_one_by_one_and_all(top: Top, agent: Agent) -> None:
    for key in ("one", "two", "three"):
        agent.call("set_decision", key=key, value="1")
    screen = top()
    screen.expect("2 Since I looked 3")
    screen.press("2")
    screen.expect("S all seen")
    screen.press("s")
    screen.expect("d3 was marked as seen.", "2 Since I looked 2")
    screen.press("S")
    screen.expect("2 Since I looked 0", "Nothing has changed since")


def test_an_item_is_shown_whole_and_the_keys_are_explained(top: Top, agent: Agent) -> None:
    agent.call("send_message", message="line\n" * 40 + "the last line", to="human")
    screen = top()
    screen.expect("line line")
    screen.press(ENTER_KEY)
    screen.expect("m1", "q back")
    screen.press("   ")
    screen.expect("the last line")
    screen.press("q")
    screen.expect("Since I looked")
    screen.press("?")
    screen.expect("release a claim, and tell its holder")
    screen.press("q")
    screen.expect("1 needs you")


def test_it_fits_what_the_terminal_becomes(top: Top, agent: Agent) -> None:
    agent.call("send_message", message="Which port?", to="human")
    screen = top()
    screen.expect("Which port?")
    screen.press("")
    screen.resize(200, 50)
    screen.expect(" │ ", "Which port?")


def test_while_it_is_stopped_the_terminal_is_as_it_was(top: Top) -> None:
    screen = top()
    screen.expect("nothing needs you")
    screen.press("")
    screen.process.send_signal(signal.SIGTSTP)  # which without a shell around it goes on at once
    screen.expect("nothing needs you")
    assert re.findall(rb"\x1b\[\?1049[hl]", screen.written) == [ENTER, LEAVE, ENTER]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(top: Top, number: signal.Signals) -> None:
    screen = top()
    screen.expect("nothing needs you")
    screen.process.send_signal(number)
    assert screen.end() == (0 if number == signal.SIGINT else 128 + number)
    assert screen.is_as_before()


def test_a_store_that_vanishes_is_said_in_the_terminal_as_it_was(top: Top, agent: Agent, world: World) -> None:
    agent.call("send_message", message="Which port?", to="human")
    screen = top()
    screen.expect("Which port?")
    shutil.rmtree(world.folder / ".satchel")
    assert screen.end() != 0
    assert screen.is_as_before()
    assert "error [store_missing]" in screen.expect("store_missing")


def test_a_terminal_that_cannot_be_drawn_on_gets_it_once(top: Top) -> None:
    screen = top(TERM="dumb")
    screen.expect("cannot be drawn on", "4 Collisions 0")
    assert screen.end() == 0
    assert ENTER not in screen.written


def test_it_works_over_a_server_and_outlives_it(
    top: Top, world: World, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", world.environment["XDG_STATE_HOME"])
    token = token_for(world.folder / ".satchel" / "satchel.db", "project", role=PERSON)
    with ServerProcess(world.environment) as server:
        screen = top("--as", "ann", SATCHEL_URL=f"http://127.0.0.1:{server.port}", SATCHEL_TOKEN=token)
        screen.expect("nothing needs you")
        agent.call("send_message", message="Which port?", to="human")
        screen.expect("Which port?")
        screen.press("a")
        screen.expect("> ")
        screen.press("7347\r\r")
        screen.expect("m1 was answered: m2", "nothing needs you")
        screen.press("")
        server.kill()
        screen.expect("cannot be reached")
        server.start()
        agent.call("send_message", message="And which host?", to="human")
        screen.expect("And which host?")
        screen.press("q")
        assert screen.end() == 0
