"""Codex as a referee of trust: what it does with the hooks of ``satchel setup`` before and after it trusts them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import Workplace, texts
from end_to_end.clients.clients_set_up import BYPASS, CODEX
from end_to_end.clients.dialects import Json
from end_to_end.clients.scripted_model import FAREWELL, ScriptedModel
from end_to_end.clients.test_setup import RULE, keep_rule

pytestmark = pytest.mark.referee

UNTRUSTED_STATUS = 3


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A project with a rule, and Codex on the search path."""
    made = Workplace.make(tmp_path)
    (program,) = CODEX.program()
    made.environment["PATH"] = f"{Path(program).parent}:{made.environment['PATH']}"
    keep_rule(made)
    return made


def hooks(workplace: Workplace) -> list[Json]:
    """Return the hooks that Codex sees, with its trust in them."""
    asked = (
        ("initialize", {"clientInfo": {"name": "referee", "version": "1"}}),
        ("hooks/list", {"cwds": [str(workplace.project)]}),
    )
    with subprocess.Popen(
        ["codex", "app-server"],
        cwd=workplace.project,
        env=workplace.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answer: Json = {}
        for number, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            answer = next(one for one in map(json.loads, process.stdout) if one.get("id") == number)
        process.terminate()
    found: list[Json] = answer["result"]["data"][0]["hooks"]
    return found


def trust(workplace: Workplace) -> None:
    """Trust all hooks as they are, in the form in which Codex keeps what a person said in its dialog."""
    said = [f'[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks(workplace)]
    with (workplace.home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + "\n".join(said))


def first_request(workplace: Workplace, options: Sequence[str], *, is_trusted: bool) -> str:
    """Return all the text of the first request of a session, once ``satchel setup`` has run."""
    with ScriptedModel(CODEX.dialect, CODEX.scripts) as model:
        CODEX.configure(workplace, model.url)
        workplace.run(["satchel", "setup", "codex", "--yes"])
        if is_trusted:
            trust(workplace)
        workplace.run(["codex", "exec", *options, FAREWELL], model.environment)
    return "\n".join(texts(model.asked_for(FAREWELL)[0]))


def check(workplace: Workplace) -> tuple[int, str]:
    """Return the status with which ``satchel setup --check`` leaves, and what it says."""
    status, printed, _ = workplace.try_to_run(["satchel", "setup", "codex", "--check"])
    return status, printed


def test_untrusted_hooks_stay_silent(workplace: Workplace) -> None:
    request = first_request(workplace, [], is_trusted=False)
    assert RULE not in request
    assert CODEX.tool("").rstrip(".") in request


def test_untrusted_hooks_speak_where_trust_is_bypassed(workplace: Workplace) -> None:
    assert RULE in first_request(workplace, [BYPASS], is_trusted=False)


def test_trusted_hooks_speak(workplace: Workplace) -> None:
    assert RULE in first_request(workplace, [], is_trusted=True)


def test_setup_says_that_the_hooks_are_not_trusted(workplace: Workplace) -> None:
    workplace.run(["satchel", "setup", "codex", "--yes"])
    status, said = check(workplace)
    assert status == UNTRUSTED_STATUS
    assert 'choose "Trust all and continue" for Satchel' in said


def test_setup_finds_the_hooks_trusted(workplace: Workplace) -> None:
    workplace.run(["satchel", "setup", "codex", "--yes"])
    trust(workplace)
    assert check(workplace) == (0, "codex     works\n")


def test_hooks_that_are_set_up_again_stay_trusted(workplace: Workplace) -> None:
    workplace.run(["satchel", "setup", "codex", "--yes"])
    trust(workplace)
    workplace.run(["satchel", "setup", "codex", "--yes"])
    assert {hook["trustStatus"] for hook in hooks(workplace)} == {"trusted"}
