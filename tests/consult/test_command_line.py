"""Installed clients as assistants: what they are given, and that none hangs, floods or asks on."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consult.consultation_folder import enter_consultation
from consult.consulted import Consulted
from consult.providers.asking import content
from satchel.base.errors import AssistantFailed, Interrupted, InvalidInput, Refused, Unavailable
from satchel.consult import MARK
from satchel.consult.command_line import CLIENTS, CommandLineAssistant, find_program
from satchel.consult.models import Ask, Timing, find_model
from satchel.consult.providers import open_assistant, providers
from satchel.consult.records import Exchange, Settings

_PROGRAM = """#!{python}
import json, os, pathlib, sys, time
from satchel.consult import is_consulted
told = sys.stdin.read()
here = {{str(one): one.read_text() for one in pathlib.Path(".").rglob("*") if one.is_file()}}
seen = {{"argv": sys.argv[1:], "told": told, "here": here, "env": dict(os.environ), "cwd": os.getcwd()}}
seen["is_consulted"] = is_consulted(os.environ)
if "list" in sys.argv:
    sys.exit(print('[{{"name": "satchel"}}]'))
{body}
text = json.dumps(seen)
if "-o" in sys.argv:
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(text)
usage = {{"input_tokens": 7, "output_tokens": 3}}
print("a warning\\n" + json.dumps({{"result": text, "response": text, "usage": usage}}))
"""

Install = Callable[..., CommandLineAssistant]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Install a client that answers with what it was given, after doing something."""

    def make(name: str = "claude", body: str = "", total: float = 60, **environ: str) -> CommandLineAssistant:
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(_PROGRAM.format(python=sys.executable, body=body))
        program.chmod(0o755)
        return CommandLineAssistant(
            find_model(f"cli:{name}"), {"PATH": str(program.parent), **environ}, Timing(total=total)
        )

    return make


def seen(assistant: CommandLineAssistant, ask: Ask) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(assistant.ask(ask).text)
    return given


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_the_prompt_and_the_files_to_search_in_a_folder_that_is_gone_afterwards(
    install: Install, name: str
) -> None:
    files = {"src/a.py": content("a = 1"), "etc/b": content("ours"), "/etc/b": content("b")}
    given = seen(install(name), Ask("Why?\n", searchable=files))
    assert given["told"].startswith("Why?\n")
    assert given["here"] == {"files/src/a.py": "a = 1", "files/etc/b": "ours", "outside/etc/b": "b"}
    assert "below the folder files" in given["told"]
    assert not Path(given["cwd"]).exists()


def test_the_thread_so_far_is_told_with_a_mark_that_occurs_in_none_of_it(install: Install) -> None:
    told = seen(install(), Ask("And now?", history=(Exchange("Why?", "So. </answer-"),)))["told"]
    mark = told.split("<message-")[1].split(">")[0]
    assert [told.count(f"<{kind}-{mark}") for kind in ("message", "answer")] == [2, 1]
    assert told.index("Why?") < told.index("So. </answer-") < told.index("And now?")


def test_nothing_of_satchel_reaches_it_but_the_mark_that_it_is_consulted(install: Install) -> None:
    environ = {"SATCHEL_TOKEN": "t", "CLAUDECODE": "1", "ANTHROPIC_API_KEY": "k"}
    given = seen(install(**environ), Ask("Why?"))["env"]
    assert {name for name in given if name.startswith(("SATCHEL_", "CLAUDECODE"))} == {MARK}
    assert given["ANTHROPIC_API_KEY"] == "k"


def test_it_knows_that_it_is_consulted(install: Install) -> None:
    assert seen(install(SATCHEL_CONSULTED="1"), Ask("Why?"))["is_consulted"]


def test_settings_are_passed_on_or_named_as_not_taken(install: Install) -> None:
    assert seen(install(), Ask("Why?", settings=Settings(effort="high")))["argv"][-2:] == ["--effort", "high"]
    assert install("codex").unsupported == {"temperature", "web_search"}
    assert install("gemini").unsupported == {"temperature", "web_search", "effort"}


def test_codex_starts_none_of_its_servers(install: Install) -> None:
    given = seen(install("codex"), Ask("Why?"))["argv"]
    assert given[-2:] == ["-c", "mcp_servers.satchel.enabled=false"]


def test_what_it_took_is_counted_where_it_tells(install: Install) -> None:
    reply = install().ask(Ask("Why?"))
    assert (reply.input_tokens, reply.output_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ("sys.exit('not signed in')", "failing", "ended with status 1: not signed in.*Run `claude` yourself"),
        ("print('{'); sys.exit(0)", "nonsense", "its protocol does not know"),
        ('print(\'{"is_error": true, "result": "no"}\'); sys.exit(0)', "nonsense", "its protocol does not know"),
        ('print(\'{"result": " "}\'); sys.exit(0)', "empty", "without a word"),
        ("sys.stdout.write('x' * 9_000_000); sys.stdout.flush(); time.sleep(60)", "too_much", "printed more than"),
        ("time.sleep(60)", "timed_out", "may have waited for an answer"),
    ],
)
def test_a_client_that_fails_or_hangs_is_ended_and_told(install: Install, body: str, reason: str, words: str) -> None:
    total = 0.5 if reason == "timed_out" else 60
    with pytest.raises(AssistantFailed, match=words) as failed:
        install(body=body, total=total).ask(Ask("Why?"))
    assert failed.value.reason == reason


def test_a_cancelled_client_is_ended_with_what_it_started(install: Install, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    child = (
        f"import subprocess; open({str(mark)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid)); time.sleep(60)"
    )
    with pytest.raises(Interrupted):
        install(body=child, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}").ask(
            Ask("Why?", is_cancelled=lambda: mark.exists() and bool(mark.read_text()))
        )
    pid = int(mark.read_text())
    until = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < until:
        os.sched_yield()
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_in_the_current_folder_is_not_taken(install: Install, tmp_path: Path) -> None:
    install()
    assert find_program("claude", {"PATH": f".{os.pathsep}bin{os.pathsep}"}) is None
    with pytest.raises(Unavailable, match="claude is not installed"):
        open_assistant("cli:claude", {"PATH": str(tmp_path)})
    with pytest.raises(InvalidInput, match="there is no client cli:vi"):
        open_assistant("cli:vi", {"PATH": str(tmp_path)})
    states = {one.provider: one.missing for one in providers({"PATH": str(tmp_path / "bin")})}
    assert (states["cli:claude"], states["cli:codex"]) == (None, "not installed")


@pytest.mark.parametrize("consulted", ["compatible"], indirect=True)
class TestService:
    def test_a_conversation_goes_on(self, consulted: Consulted, install: Install) -> None:
        consulted.satchel.consulting._environ = {"PATH": str(Path(install().address).parent)}
        consulted.write("a.py", "a = 1\n")
        consulted.model = "cli:claude"
        first, second = consulted.ask("Why?", context=["a.py"]), consulted.ask("And now?", context=["a.py"])
        assert first.answer is not None
        assert second.answer is not None
        assert "a = 1" in json.loads(first.answer)["told"]
        assert second.saved_tokens > 0
        assert "<message-" in json.loads(second.answer)["told"]
        assert any("counts against the account" in note for note in consulted.ask(dry_run=True).notes)

    def test_a_client_that_is_consulted_asks_nobody(
        self, consulted: Consulted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        consulted.satchel.consulting._environ = {MARK: enter_consultation(tmp_path, monkeypatch)}
        with pytest.raises(Refused, match="asks no other model"):
            consulted.ask()

    def test_a_server_asks_no_client_for_others(self, consulted: Consulted, install: Install) -> None:
        from satchel.base.records import replace

        consulting = consulted.satchel.consulting
        consulting._environ = {"PATH": str(Path(install().address).parent)}
        consulting._workplace = replace(consulting._workplace, is_confined=True)
        consulted.model = "cli:claude"
        with pytest.raises(Refused, match="not asked for others"):
            consulted.ask()
