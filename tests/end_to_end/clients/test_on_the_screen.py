"""What a person sees of Satchel on the screen of a real, interactive client: two sessions from start to end."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from end_to_end.clients import clients_set_up
from end_to_end.clients.client_programs import INSTALLED, SECONDS, Workplace
from end_to_end.clients.client_screens import ClientScreen
from end_to_end.clients.clients_set_up import PATIENT, SATCHEL, Client
from end_to_end.clients.dialects import Call
from end_to_end.clients.scripted_model import GO_ON, LAST_WORDS, PROMPT, ScriptedModel
from end_to_end.clients.test_codex_at_work import patch
from end_to_end.clients.test_setup import keep_rule

pytestmark = pytest.mark.referee

DOWN, ENTER = "\x1b[B", "\r"
FAILING = "python3 -c 'import absent'"
COMMIT = "git add open.py && git -c user.name=ann -c user.email=ann@example.org commit -qm 'Raise LIMIT'"
FAILURE = re.compile(
    r"\b(hook|satchel|execution|request)\b.*(error|fail|problem|block|stopped)"
    r"|(error|fail|problem|block)\w*\b.*\b(hook|satchel)",
    re.IGNORECASE,
)
"""How clients report that a hook, a server or a request went wrong."""
_AT_WORK = re.compile(r"\(running \w+ hook\b")
"""How Claude Code names the hook that runs; one is called PostToolUseFailure."""


@dataclass(frozen=True, slots=True)
class Interactive:
    """A client as a person starts it.

    Attributes:
        arguments: with which it asks nobody before an edit or a command.
        ready: what it shows once it takes a prompt.
        dialogs: the keys that answer its questions at a first start, by a text in each.
        leave: the command that ends a session.
        edit, shell: its model's calls.
        step: what `satchel setup --check` says is left before its first start; empty for nothing.
        refuses: what it writes itself before or above the reason of every hook that stops an edit.
        variables: that differ from those of a client without a person.
    """

    client: Client
    arguments: Sequence[str]
    ready: str
    dialogs: Mapping[str, Sequence[str]]
    leave: str
    edit: Callable[[Path], Sequence[Call]]
    shell: Callable[[str], Call]
    step: str
    refuses: str
    variables: Mapping[str, str] = field(default_factory=dict)


def _claude_edit(file: Path) -> Sequence[Call]:
    change = {"file_path": str(file), "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"}
    return [Call("Read", {"file_path": str(file)}), Call("Edit", change)]


def _gemini_edit(file: Path) -> Sequence[Call]:
    change = {"file_path": str(file), "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"}
    return [Call("replace", {**change, "instruction": "Raise LIMIT"})]


_WELCOMED = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"]}}

CLIENTS = {
    "claude": Interactive(
        replace(clients_set_up.CLAUDE, files={".claude.json": json.dumps(_WELCOMED)}),
        ["--model", "scripted", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
        ready="accept edits on",
        dialogs={"Yes, I trust this folder": [DOWN, ENTER]},
        leave="/exit",
        edit=_claude_edit,
        shell=lambda command: Call("Bash", {"command": command, "description": "Run it"}),
        step="",
        refuses="PreToolUse:Edit hook error: Satchel: not edited",
    ),
    "codex": Interactive(
        clients_set_up.CODEX,
        ["--sandbox", "danger-full-access", "--ask-for-approval", "never"],
        ready="Ask Codex to do anything",
        dialogs={
            "Trust and continue": [ENTER],
            "Trust all and continue": [DOWN, ENTER],
            "Use existing model": [DOWN, ENTER],
        },
        leave="/quit",
        edit=lambda file: [patch(file.name)],
        shell=lambda command: Call("exec_command", {"cmd": command}),
        step='choose "Trust and continue", then choose "Trust all and continue" for Satchel',
        refuses="Blocked by hook",
    ),
    "gemini": Interactive(
        clients_set_up.GEMINI,
        ["--approval-mode", "yolo"],
        ready="1 MCP server",
        dialogs={"Trust folder (project)": [ENTER]},
        leave="/quit",
        edit=_gemini_edit,
        shell=lambda command: Call("run_shell_command", {"command": command, "description": "Run it"}),
        step='choose "Trust folder"',
        refuses="Satchel: not edited",
        variables={"GEMINI_CLI_TRUST_WORKSPACE": ""},
    ),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a person has seen of two sessions in one project.

    Attributes:
        checks: what `satchel setup --check` said before the first start, and after it.
        work: the screen of a session that edits, fails a command and commits.
        refusal: the screen of a session that edits a file which a person has claimed.
        states: of the agents of both at the end of their turn.
    """

    client: Interactive
    workplace: Workplace
    checks: tuple[str, str]
    work: str
    refusal: str
    states: tuple[str, str]

    @classmethod
    def of(cls, one: Interactive, folder: Path) -> Seen:
        """Let a client work in a folder."""
        workplace = Workplace.make(folder)
        keep_rule(workplace)
        for name in ("open.py", "held.py"):
            (workplace.project / name).write_text("LIMIT = 1\n")
        workplace.run(["satchel", "file", "claim", "held.py", "--why", "release freeze"])
        work = [*one.edit(workplace.project / "open.py"), one.shell(FAILING), one.shell(COMMIT)]
        scripts = {PROMPT: work, GO_ON: [*one.edit(workplace.project / "held.py")]}
        with ScriptedModel(one.client.dialect, scripts) as model:
            one.client.configure(workplace, model.url)
            workplace.run([*SATCHEL, "setup", one.client.name, *one.client.options, "--yes"])
            workplace.environment.update(
                model.environment | one.client.environment(model.url) | PATIENT | dict(one.variables)
            )
            programs = [str(Path(one.client.program()[-1]).parent), str(INSTALLED / "node_modules" / ".bin")]
            workplace.environment["PATH"] = os.pathsep.join([*programs, workplace.environment["PATH"]])
            check = [*SATCHEL, "setup", one.client.name, "--check"]
            _, before, _ = workplace.try_to_run(check)
            working, idle = cls._session(one, workplace, PROMPT)
            _, after, _ = workplace.try_to_run(check)
            refusal, waiting = cls._session(one, workplace, GO_ON)
        return cls(one, workplace, (before, after), working, refusal, (idle, waiting))

    @staticmethod
    def _session(one: Interactive, workplace: Workplace, prompt: str) -> tuple[str, str]:
        """Return all that is shown in a session with one prompt, and the state of its agent before the end."""
        screen = started(one, workplace)
        try:
            screen.enter(prompt)
            screen.answer_until(LAST_WORDS, one.dialogs, is_entered=True)
            state = state_at_prompt(workplace, screen)
            screen.enter(one.leave)
            assert screen.end() == 0
        finally:
            screen.close()
        return screen.transcript, state


def started(one: Interactive, workplace: Workplace, tries: int = 3) -> ClientScreen:
    """Return the screen of a client that takes a prompt.

    A client that does not get ready is started again, as a person would: Gemini CLI, once it was told on a busy machine
    to trust the folder, may stay without its servers.
    """
    screen = ClientScreen([*one.client.program(), *one.arguments], workplace.project, workplace.environment)
    try:
        screen.answer_until(one.ready, one.dialogs)
    except AssertionError:
        screen.close()
        if tries == 1:
            raise
        return started(one, workplace, tries - 1)
    return screen


def state_at_prompt(workplace: Workplace, screen: ClientScreen) -> str:
    """Return the state of the agent once the hook at the end of its turn, which may run still, has told of it."""
    deadline = time.monotonic() + SECONDS
    while True:
        screen.settle(1.0)  # a screen that nobody reads holds the client up
        state = str(workplace.satchel("who")["sessions"][0]["state"]["name"])
        if state != "working":
            return state
        assert time.monotonic() < deadline, "its turn does not end"


@pytest.fixture(scope="module", params=CLIENTS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The screens of a client."""
    return Seen.of(CLIENTS[request.param], tmp_path_factory.mktemp(request.param))


def failures(screen: str) -> list[str]:
    """Return the lines by which a client reports a failure of Satchel."""
    return [line for line in screen.splitlines() if FAILURE.search(_AT_WORK.sub("", line))]


def test_the_check_names_the_one_thing_left_before_the_first_start_and_then_says_that_it_works(seen: Seen) -> None:
    before, after = (lines.splitlines()[0].split(maxsplit=1)[1] for lines in seen.checks)
    assert before == "works" if not seen.client.step else seen.client.step in before
    assert after == "works"


def test_nothing_looks_like_a_failure_but_the_command_that_failed(seen: Seen) -> None:
    assert failures(seen.work) == []


def test_an_agent_at_its_prompt_is_idle_or_waits_for_what_it_was_refused(seen: Seen) -> None:
    assert seen.states == ("idle", "waiting")


def test_one_line_at_the_start_says_that_satchel_is_there(seen: Seen) -> None:
    is_shown = seen.client is not CLIENTS["codex"]  # which would call it a warning
    assert (re.search(r"Satchel: \d+ item", seen.work) is not None) == is_shown


def test_the_edit_of_a_claimed_file_is_refused_with_its_holder_and_the_way_out(seen: Seen) -> None:
    assert "held.py is claimed by human" in seen.refusal
    assert "or wait for it" in " ".join(seen.refusal.split())
    assert (seen.workplace.project / "held.py").read_text() == "LIMIT = 1\n"


def test_a_refusal_looks_like_a_failure_no_more_than_the_client_makes_it(seen: Seen) -> None:
    assert seen.client.refuses in seen.refusal
    assert [line for line in failures(seen.refusal) if seen.client.refuses not in line] == []
