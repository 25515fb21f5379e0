"""``satchel consult`` and ``satchel consult --list``; the other model says back what it is sent."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cli_asking import Cli, asked, options_of
from consult.answered_turns import Placement, known, take_turn
from consult.providers.chat_completions import Said
from consult.providers.parrot import Parrot
from satchel import open_satchel
from satchel.base.clock import system_clock
from satchel.consult.records import ConversationKey

pytestmark = pytest.mark.slow

MODEL = "compatible:tiny"
CONSULT = ("consult", MODEL, "Why?")
LIST = ("consult", "--list")
PROGRAM = (sys.executable, "-c", "from satchel.interfaces.cli import main; main()")
COMMON = {"--db", "--project", "--json", "--detail"}
"""Tested for all commands at once; what ``--json`` prints is tested with the commands."""

Look = Callable[[dict[str, Any]], object]


def functions(count: int) -> str:
    return "".join(f"def number_{line}():\n    return {line}\n" for line in range(count))


def sent(part: str) -> Look:
    """Return what tells whether the other model was sent a text."""
    return lambda answer: part in (answer.get("answer") or "")


def sent_before(first: str, second: str) -> Look:
    """Return what tells whether the other model was sent one text before another."""
    return lambda answer: 0 <= (answer.get("answer") or "").find(first) < (answer.get("answer") or "").find(second)


def of(name: str) -> Look:
    return lambda answer: answer.get(name)


def inline(answer: dict[str, Any]) -> list[str]:
    return [file["path"] for file in answer["inline"]]


def sessions(answer: dict[str, Any]) -> list[str]:
    return [f"{one['conversation']} {one['assistant']}" for one in answer["conversations"]]


OPTIONS: list[tuple[tuple[str, ...], str, tuple[str, ...], Look, object]] = [
    # command, option, what is given for it, what is looked at, what is seen
    (CONSULT, "--file", ("--file", "src", "--file", "short.py"), inline, ["short.py", "src/auth.py"]),
    (
        (*CONSULT, "--file", "short.py", "--file", "long.py"),
        "--priority",
        ("--priority", "long.py"),
        inline,
        ["long.py"],
    ),
    (CONSULT, "--attach", ("--attach", "src/auth.py"), sent("src/: auth.py"), True),
    (CONSULT, "--conversation", ("--conversation", "auth"), of("conversation"), "auth"),
    (CONSULT, "--briefing", ("--briefing",), sent("refresh tokens early"), True),
    ((*CONSULT, "--briefing"), "--role", ("--role", "developer"), sent("how to test it"), False),
    ((*CONSULT, "--briefing"), "--task", ("--task", "T1"), sent_before("of a task", "how to test it"), True),
    ((*CONSULT, "--file", ".env"), "--force", ("--force",), inline, [".env"]),
    (CONSULT, "--dry-run", ("--dry-run",), of("answer"), None),
    (CONSULT, "--keep", ("--keep", "discovery"), of("kept"), "e2"),
    (CONSULT, "--decide", ("--decide", "why"), of("kept"), "d1"),
    (
        LIST,
        "--conversation",
        ("--conversation", "review"),
        sessions,
        [f"review {MODEL}", "review openai:gpt-6"],
    ),
    (LIST, "MODEL", ("openai:gpt-6",), sessions, ["review openai:gpt-6"]),
    (("consult",), "--reset", ("--reset", "other"), of("conversation"), "other"),
    (("consult", "--reset", "other"), "--yes", ("--yes",), of("done"), True),
    (LIST, "--limit", ("--limit", "1"), sessions, [f"other {MODEL}"]),
    (
        (*LIST, "--offset", "1"),
        "--since",
        ("--since", "2000-01-01"),
        sessions,
        [f"review {MODEL}", "review openai:gpt-6"],
    ),
    (LIST, "--offset", ("--offset", "2"), sessions, ["review openai:gpt-6"]),
]

ALONE = {
    *(("consult", name) for name in ("MODEL", "QUESTION", "--run", "--agent")),
    *(("consult", f"--{name}") for name in ("list", "show", "also", "synthesis", "reuse", "take-over")),
    *(("consult", f"--{name}") for name in ("allow-root", "effort", "temperature", "schema", "web")),
}
"""Those with a test of their own."""


@pytest.fixture
def provider(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parrot]:
    """A provider that the configuration names, and a few files to show it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Parrot() as server:
        monkeypatch.setenv("SATCHEL_CONSULT_BASE_URL", server.url)
        monkeypatch.setenv("SATCHEL_CONSULT_WINDOW_TOKENS", "18000")
        monkeypatch.setenv("SATCHEL_CONSULT_REMEMBER", "false")
        monkeypatch.setenv("SATCHEL_CONSULT_OUTPUT_TOKENS", "2000")
        (folder / "src").mkdir()
        (folder / "src" / "auth.py").write_text("def refresh(token):\n    return token\n")
        (folder / "long.py").write_text(functions(520))
        (folder / "short.py").write_text(functions(500))
        (folder / ".env").write_text("MODE=test\n")
        yield server


@pytest.fixture
def known_things(provider: Parrot, folder: Path) -> None:
    """One run with what a briefing shows, and conversations; the newest is called other."""
    # two things of one millisecond would be in no order of time
    clock = itertools.count(system_clock()).__next__
    with open_satchel(cwd=folder, environ={}, clock=clock) as satchel:
        satchel.runs.start("r1")
        satchel.entries.write("discovery", "refresh tokens early")
        satchel.packages.save("of a task", content="x", task_id="T1")
        satchel.packages.save("how to test it", content="x", consumers=["qa_expert"])
        for assistant, session in (("openai:gpt-6", "review"), (MODEL, "review"), (MODEL, "other")):
            take_turn(
                satchel.consulting.conversations,
                known("src/auth.py"),
                known("gone.py", None),
                known("big.py", placement=Placement.OVERFLOW),
                key=ConversationKey(assistant, session),
            )


def test_every_option_has_a_test() -> None:
    tested = {(command[0], option) for command, option, _, _, _ in OPTIONS} | ALONE
    every = {(name, option) for name, option in options_of(("consult",)) if option not in COMMON}
    assert every == tested


@pytest.mark.usefixtures("known_things")
@pytest.mark.parametrize(
    ("command", "given", "look", "expected"),
    [(command, given, look, expected) for command, _, given, look, expected in OPTIONS],
    ids=[f"{command[0]} {option}" for command, option, _, _, _ in OPTIONS],
)
def test_an_option_counts(
    cli: Cli, command: tuple[str, ...], given: tuple[str, ...], look: Look, expected: object
) -> None:
    # in a conversation of its own, which a turn before it does not change
    own = () if command[0] != "consult" or "--conversation" in given else ("--conversation", "without")
    assert look(asked(cli, command, *own)) != expected
    assert look(asked(cli, command, *given)) == expected


@pytest.mark.usefixtures("provider")
def test_several_models_answer_at_once_beside_one_that_fails(cli: Cli) -> None:
    status, out, err = cli(*CONSULT, "--also", "ollama:tiny", "--also", "openai:gpt-6", "--synthesis", "ollama:big")
    assert status != 0
    assert [line for line in out.split("\n") if line.startswith("## ") and ":" in line and "answer" not in line] == [
        "## compatible:tiny",
        "## ollama:tiny",
        "## Synthesis by ollama:big",
    ]
    assert "openai:gpt-6 gave no answer [unavailable]: there is no key for openai:gpt-6" in err


@pytest.mark.usefixtures("provider")
def test_who_is_asked_what(cli: Cli) -> None:
    answered = asked(cli, ("consult", "ollama:small", "Is it so?"))
    assert answered["assistant"] == "ollama:small"
    assert "\nIs it so?\n" in answered["answer"]


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("dash", [(), ("-",)])
def test_a_question_may_come_from_standard_input(cli: Cli, dash: tuple[str, ...]) -> None:
    status, out, _ = cli("consult", MODEL, *dash, stdin=b"from a pipe\n")
    assert status == 0
    assert "\nfrom a pipe\n" in out


@pytest.mark.usefixtures("known_things")
def test_the_run_counts(cli: Cli) -> None:
    command = (*CONSULT, "--briefing")
    assert cli(*command, "--run", "r9")[0] == 3
    assert "refresh tokens early" in asked(cli, command, "--run", "r1")["answer"]


@pytest.mark.usefixtures("provider")
def test_the_agent_keeps_the_answer(cli: Cli) -> None:
    asked(cli, CONSULT, "--keep", "discovery", "--agent", "ann")
    (entry,) = asked(cli, ("read",))["entries"]
    assert entry["agent"] == "ann"


@pytest.mark.usefixtures("provider")
def test_who_asks_learns_of_critical_messages(cli: Cli) -> None:
    cli("message", "send", "stop", "--to", "ann", "--priority", "critical", "--agent", "ben")
    assert cli(*CONSULT)[2].count("notice") == 0
    assert cli(*CONSULT, "--agent", "ann")[2].endswith(
        "notice: 1 unread message for ann from ben, 1 critical: satchel message list\n"
    )


def test_an_answer_is_printed_as_it_arrives(cli: Cli, provider: Parrot, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []

    def echo(text: str = "", **how: bool) -> None:
        printed.extend([] if how.get("err") else [text])

    monkeypatch.setattr(click, "echo", echo)
    provider.says = Said(("Hello", ", ", "world"))
    cli(*CONSULT)
    assert printed == ["Hello", ", ", "world", ""]


def test_only_the_answer_goes_to_stdout_and_nothing_in_it_steers_a_terminal(
    cli: Cli, provider: Parrot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Parrot, "answer", lambda self, request: super(Parrot, self).answer(request))
    provider.model.script = [
        Said(
            (
                "red: \x1b",
                "[31mred\x07",
            )
        )
    ]
    status, out, err = cli(*CONSULT)
    assert (status, out) == (0, "red: [31mred\n")
    assert err.startswith("compatible:tiny default turn 1: sent ")


@pytest.mark.usefixtures("folder")
def test_paths_are_those_of_the_shell(
    cli: Cli, provider: Parrot, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "src")
    planned = asked(cli, CONSULT, "--file", "auth.py", "--file", "../short.py", "--dry-run")
    assert inline(planned) == ["short.py", "src/auth.py"]
    assert "outside the folders" in cli(*CONSULT, "--file", "../../..")[2]
    assert provider.requests == []


def test_the_address_is_named_without_its_password_wherever_it_is_asked(
    cli: Cli, provider: Parrot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_CONSULT_BASE_URL", provider.url.replace("http://", "http://ann:hunter2@"))
    monkeypatch.setenv("SATCHEL_CONSULT_KEY", "key-of-the-endpoint")
    planned, answered = cli(*CONSULT, "--dry-run"), cli(*CONSULT)
    assert planned[1].splitlines()[0].endswith(f"; address {provider.url}")
    assert f"; address {provider.url}\n" in answered[2]
    as_json = asked(cli, CONSULT, "--dry-run"), asked(cli, CONSULT)
    assert [one["address"] for one in as_json] == [provider.url] * 2
    provider.fail("chat", "status", status=400, times=2)
    failed = cli(*CONSULT), cli(*CONSULT, "--json")
    assert all(f"{MODEL} at {provider.url} answered 400" in err for _, _, err in failed)
    said = str((planned, answered, as_json, failed))
    assert "hunter2" not in said
    assert "SATCHEL_CONSULT_KEY" not in said


def test_a_dry_run_shows_the_plan_and_sends_nothing(cli: Cli, provider: Parrot) -> None:
    files = ("--file", "long.py", "--file", "short.py", "--file", ".env", "--attach", "src/auth.py")
    status, out, err = cli(*CONSULT, *files, "--dry-run")
    assert status == 0
    cost, *table = out.splitlines()
    assert cost.startswith("nothing was sent; compatible:tiny default turn 1 would send ")
    assert [line.split("  ")[0] for line in table if ".py" in line or ".env" in line] == [
        "short.py",
        "long.py",
        "src/auth.py",
        ".env",
    ]
    assert all(word in out for word in ("inline", "overflow", "attachment", "held back", "secret_name: "))
    assert "can be searched, not read whole" in err
    assert provider.requests == []


@pytest.mark.usefixtures("known_things")
def test_an_answer_that_cannot_be_kept_is_printed_all_the_same(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_CONTEXT_MAX_CONTENT_KIB", "1")
    status, out, err = cli(*CONSULT, "--keep", "discovery")
    assert status == 7
    assert "\nWhy?\n" in out
    assert "the answer was not kept: " in err


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*CONSULT, "--keep", "discovery", "--decide", "k"), "--keep and --decide were given"),
        ((*CONSULT, "--keep", "scratchpad"), "'scratchpad' is not one of"),
        ((*CONSULT, "--keep", "discovery", "--dry-run"), "a dry run has no answer to keep"),
        ((*CONSULT, "--role", "developer"), "--role and --task are for a briefing"),
        ((*CONSULT, "--task", "T1"), "--role and --task are for a briefing"),
        ((*CONSULT, "--file", "nowhere.py"), "nowhere.py"),
        ((*CONSULT, "--file", ""), "'' is no path"),
        (("consult", MODEL, " "), "the question is empty"),
        (("consult", "gpt-6", "Why?"), "OPENAI_API_KEY"),
        (("consult", "--reset", "nobody"), "there is no conversation 'nobody'"),
        (
            ("consult", "--reset", "a", "--conversation", "a"),
            "--conversation cannot be combined with --reset",
        ),
        (("consult", MODEL, "--yes"), "--yes needs --reset"),
    ],
)
def test_a_faulty_command_is_refused(cli: Cli, provider: Parrot, arguments: tuple[str, ...], told: str) -> None:
    status, _, err = cli(*arguments)
    assert status in {2, 3, 13}
    assert told in err
    assert provider.requests == []


def test_a_refusal_of_the_provider_has_its_own_status(cli: Cli, provider: Parrot) -> None:
    provider.fail("chat", "status", status=401)
    status, out, err = cli(*CONSULT)
    assert (status, out) == (14, "")
    assert "error [assistant_failed]" in err
    assert asked(cli, LIST)["total"] == 0


def test_an_answer_that_breaks_off_leaves_the_error_a_line_of_its_own(cli: Cli, provider: Parrot) -> None:
    provider.says = Said(("It ", "is ", "so", "."))
    provider.fail("chat", "garbage")
    status, out, _ = cli(*CONSULT)
    assert (status, out) == (14, "It is so\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_leaves_the_conversation_free(
    cli: Cli, provider: Parrot, number: signal.Signals
) -> None:
    provider.fail("chat", "cancel")
    with subprocess.Popen([*PROGRAM, *CONSULT], stderr=subprocess.PIPE, text=True) as process:
        provider.cancelled.wait(60)
        process.send_signal(number)
        told = process.communicate(timeout=60)[1]
    provider.released.set()
    assert (process.returncode, told) == (130, "\nerror [interrupted]: stopped\n")
    assert asked(cli, CONSULT)["turn"] == 1


def test_an_answer_that_nobody_reads_to_its_end_is_recorded_and_kept(cli: Cli, provider: Parrot) -> None:
    provider.says = Said(("It ", "is ", "so", "."))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*PROGRAM, *CONSULT, "--decide", "k"], stdout=write, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, ["kept as decision d1 k"])
    assert [one["turns"] for one in asked(cli, LIST)["conversations"]] == [1]


@pytest.mark.usefixtures("known_things")
def test_a_list_says_what_each_holds_and_who_can_be_asked(cli: Cli) -> None:
    status, out, err = cli("consult", "--list")
    assert status == 0
    assert "3 of 3 conversations" in out
    assert "other compatible:tiny turns:1" in out
    assert "not set: openai (OPENAI_API_KEY), " in err


@pytest.mark.usefixtures("provider")
def test_a_folder_outside_the_project_is_allowed_by_name(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "elsewhere"
    outside.mkdir()
    (outside / "b.py").write_text("print('outside')\n")
    assert "outside the folders that may be sent" in cli(*CONSULT, "--file", str(outside))[2]
    assert "print('outside')" in cli(*CONSULT, "--file", str(outside), "--allow-root", str(outside))[1]


@pytest.mark.usefixtures("known_things")
def test_the_turns_of_a_conversation_are_shown(cli: Cli) -> None:
    _, out, _ = cli("consult", "--show", "other")
    assert out.split("\n")[0] == f"other with {MODEL}, 1 turn:"
    assert "What of it?" in out
    assert "Nothing." in out


@pytest.mark.usefixtures("provider")
def test_an_earlier_answer_is_printed_and_kept(cli: Cli) -> None:
    _, answered, _ = cli(*CONSULT)
    _, out, err = cli(*CONSULT, "--reuse", "--keep", "discovery")
    assert out == answered
    assert "nothing was sent: this is turn 1 of conversation 'default'" in err
    assert "kept as e" in err


@pytest.mark.usefixtures("known_things")
def test_one_conversation_is_listed_with_its_files(cli: Cli) -> None:
    out = cli("consult", "--list", "--conversation", "other")[1]
    assert " overflow 1 (did not fit next to the files that go first): big.py" in out
    assert " removed 1: gone.py" in out


@pytest.mark.usefixtures("known_things")
def test_a_reset_asks_first(cli: Cli) -> None:
    _, out, err = cli("consult", "--reset", "other", stdin=b"n\n")
    assert "[y/N]" in err
    assert out.startswith("nothing was forgotten; would forget other with compatible:tiny: 1 turn, 3 files")
    assert cli("consult", "--reset", "other", stdin=b"y\n")[1].startswith("forgot other")
    assert asked(cli, LIST)["total"] == 2


@pytest.mark.usefixtures("known_things")
def test_a_reset_for_machines_only_previews(cli: Cli) -> None:
    assert asked(cli, ("consult", "--reset", "review", "gpt-6"))["done"] is False
    assert asked(cli, LIST)["total"] == 3


@pytest.mark.usefixtures("known_things")
def test_a_preview_of_a_reset_forgets_nothing(cli: Cli) -> None:
    assert asked(cli, ("consult", "--reset", "other", "--yes", "--dry-run"))["done"] is False
    assert asked(cli, LIST)["total"] == 3


def test_an_answer_that_does_not_match_its_schema_is_printed_and_fails(
    cli: Cli, provider: Parrot, folder: Path
) -> None:
    (folder / "schema.json").write_text('{"type": "object", "required": ["safe"]}')
    code, out, err = cli(*CONSULT, "--schema", "schema.json")
    assert code == 14
    assert "Why?" in out
    assert "does not match the schema: it is not JSON" in err
    (folder / "schema.json").write_text("{")
    code, _, err = cli(*CONSULT, "--schema", "schema.json")
    assert (code, "--schema is no JSON" in err) == (2, True)


def test_a_model_without_web_search_refuses_it(cli: Cli, provider: Parrot) -> None:
    code, _, err = cli(*CONSULT, "--web")
    assert (code, "takes no --web" in err, provider.requests) == (2, True, [])
