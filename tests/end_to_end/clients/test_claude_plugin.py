"""Claude Code as a referee of the plugin: it accepts, installs and runs what this repository offers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import CLAUDE_WAITS, ROOT, WRITE, Seen, Workplace, program, texts
from end_to_end.clients.dialects import Call, Messages
from end_to_end.clients.scripted_model import LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

SERVER = "mcp__plugin_satchel_satchel"
LOADED = Call("ToolSearch", {"query": f"select:{SERVER}__{WRITE.tool}"})
WRITTEN = Call(f"{SERVER}__{WRITE.tool}", WRITE.arguments)
USED = Call("Skill", {"skill": "satchel:satchel"})
SCRIPT = (LOADED, WRITTEN, USED)

RECORDER = """\
#!/bin/sh
if [ "$1" = hook ]; then cat >/dev/null; echo "$@" >>"$HOME/hooks"; else exec '{satchel}' "$@"; fi
"""
"""A ``satchel`` that notes which hooks call it, and leaves everything else to the real one."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A home in which the plugin is installed, and a session that used it."""

    claude: Path
    environment: dict[str, str]
    seen: Seen
    hooks: list[str]

    def say(self, *arguments: str | Path) -> str:
        """Return what a command of Claude Code says."""
        return self.seen.workplace.run([self.claude, *arguments], self.environment)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    claude = program("Claude Code", "@anthropic-ai/claude-code", "claude")
    workplace = Workplace.make(tmp_path_factory.mktemp("plugin"))
    programs = tmp_path_factory.mktemp("programs")
    satchel = workplace.run(["sh", "-c", "command -v satchel"]).strip()
    (programs / "satchel").write_text(RECORDER.format(satchel=satchel))
    (programs / "satchel").chmod(0o755)
    with ScriptedModel(Messages(), {PROMPT: SCRIPT}) as model:
        environment = model.environment | {
            "PATH": f"{programs}:{workplace.environment['PATH']}",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **CLAUDE_WAITS,
        }
        workplace.run([claude, "plugin", "marketplace", "add", ROOT], environment)
        workplace.run([claude, "plugin", "install", "satchel@satchel"], environment)
        allowed = ["--allowedTools", SERVER, "Skill"]
        said = workplace.run([claude, "--print", PROMPT, "--model", "scripted", *allowed], environment)
    assert said.strip() == LAST_WORDS
    hooks = (workplace.home / "hooks").read_text().splitlines()
    return Installed(claude, environment, Seen.after(workplace, SCRIPT, model), hooks)


@pytest.mark.parametrize("path", ["plugin", "."])
def test_it_finds_no_fault_with_the_files(installed: Installed, path: str) -> None:
    assert "Validation passed" in installed.say("plugin", "validate", ROOT / path, "--strict")


def test_its_health_check_reaches_the_server(installed: Installed) -> None:
    assert "plugin:satchel:satchel: satchel mcp - ✔ Connected" in installed.say("mcp", "list")


def test_its_model_is_told_of_the_skill(installed: Installed) -> None:
    assert any("satchel:satchel: Shared memory of this project" in text for text in texts(installed.seen.asked[0]))


def test_its_model_reads_the_skill(installed: Installed) -> None:
    read = [text for body in installed.seen.asked for text in texts(body)]
    assert any("## In a shell" in text for text in read)


def test_its_model_writes_through_the_server_of_the_plugin(installed: Installed) -> None:
    answer = installed.seen.given(WRITTEN)
    assert not answer.is_error, answer.text
    (note,) = installed.seen.workplace.satchel("read")["entries"]
    assert note["content"] == WRITE.arguments["content"]


def test_a_session_calls_its_hooks(installed: Installed) -> None:
    assert installed.hooks == [
        f"hook claude {event}" for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    ]
