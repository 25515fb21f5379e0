"""Each command, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from consult.answered_turns import take_turn
from satchel import open_satchel
from satchel.interfaces.cli.group import COMMANDS, satchel_command

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]

CASES: dict[str, tuple[tuple[str, ...], str, set[str]]] = {
    # arguments, a part of the text, fields of the JSON
    "init": ((), "project project: ", {"store", "project", "existed"}),
    "run start": (("r2", "--title", "More"), "export SATCHEL_RUN=r2\n", {"run_id", "title", "status", "created_at"}),
    "run end": (("r1",), "run r1 is completed", {"run_id", "status", "ended_at", "proposals"}),
    "run list": ((), "r1     active   2", {"runs", "total", "next_offset"}),
    "run use": (("r1",), "export SATCHEL_RUN=r1\n", {"run_id", "line"}),
    "run state": (("--run", "r1"), "run r1, active", {"run_id", "run", "discoveries", "verdicts", "left_out"}),
    "who": ((), "", {"sessions", "total", "earlier", "asked_at", "notes"}),
    "write": (
        ("discovery", "x"),
        "saved e3 discovery by human; shown in briefings, searches",
        {"entries", "id", "uid", "type", "content", "created_at"},
    ),
    "read": (("sessions",), "\n Sessions live in src/auth.py", {"run_id", "entries", "total", "next_offset", "seq"}),
    "search": (("sessions",), "\n Sessions live in src/auth.py", {"results", "total", "next_offset", "notes"}),
    "show": (("c1", "e1"), "\n Sessions live in src/auth.py", {"items", "id", "kind"}),
    "brief": (("sessions",), "e1: Sessions live in src/auth.py", {"text", "tokens", "budget", "items", "left_out"}),
    "decide": (("size", "10", "--agent", "planner"), "set d2 size (new)", {"decisions", "id", "value"}),
    "decisions": (("ttl",), "d1   ttl   300", {"decisions", "total", "next_offset", "seq", "notes"}),
    "rule add": (("Be quick",), "added c2 general medium by human", {"id", "text", "category", "active"}),
    "rule list": ((), "Be kind", {"constraints", "total", "next_offset", "seq", "notes"}),
    "retract": (("c1",), "retracted c1; lists and searches hide it", {"id", "kind", "done", "text"}),
    "confirm": (("c1", "--agent", "mia"), "c1: confirmed by mia", {"id", "kind", "by", "text"}),
    "pin": (("e1",), "e1 is pinned by human", {"ref", "kind", "text", "by", "pinned_at", "already"}),
    "message send": (("hi", "--agent", "planner"), "sent m2 to all", {"id", "from", "thread"}),
    "message list": (("--agent", "builder"), "pull first", {"agent", "unread", "messages", "total", "seq"}),
    "message sent": (("--agent", "planner"), "pull first", {"agent", "unread", "messages", "total", "seq"}),
    "message read": (("m1", "--agent", "builder"), "1 marked read: m1", {"marked", "already", "unknown", "foreign"}),
    "file record": (("src/b.py", "created"), "recorded f2 src/b.py created", {"id", "file", "change", "expires_at"}),
    "file list": ((), "src/a.py   modified", {"changes", "total", "next_offset", "seq", "notes"}),
    "file check": (("src/new.py",), "src/new.py is free", {"agent", "checked_at", "files", "notes"}),
    "file claim": (
        ("x.py", "--agent", "planner"),
        "claimed x.py (not there yet) until ",
        {"agent", "claims", "renewed"},
    ),
    "file claims": ((), "docs/**   planner   exclusive", {"claims", "total", "next_offset"}),
    "file release": (("docs/", "--agent", "planner"), "released docs/**", {"agent", "released", "wished"}),
    "error report": (("KeyError", "'x'"), "x2 KeyError, new", {"pattern", "is_new", "recorded", "notes"}),
    "error list": ((), "y1 tentative, confidence 5 of 10", {"patterns", "total", "next_offset", "seq", "notes"}),
    "error outcome": (
        ("y1",),
        "recorded y1 for x1: tentative, confidence 5 of 10 (7 counts as known; each agent it helps adds 1)",
        {"id", "pattern", "confidence"},
    ),
    "strategy save": (("imports", "Look first"), "saved s2 imports by human", {"id", "topic", "insight", "helped"}),
    "strategy list": ((), "s1   retries   Wait longer", {"strategies", "total", "next_offset", "seq", "notes"}),
    "package save": (
        ("More", "--content", "x"),
        "saved p2 research medium by human bytes:1",
        {"id", "run_id", "created_at"},
    ),
    "package list": ((), "p1   medium     research   Sessions", {"run_id", "packages", "by_priority", "total", "seq"}),
    "package show": (("p1",), "They live in src", {"packages"}),
    "package priority": (("p1", "low"), "p1 is low", {"id", "priority", "updated_at"}),
    "consult": (
        ("ollama:tiny", "Why?", "--dry-run"),
        "nothing was sent; ollama:tiny default turn 1 would send ",
        {"assistant", "conversation", "answer", "inline", "overflow", "held_back", "sent_tokens", "window_tokens"},
    ),
    "clear": (
        ("--messages-hours", "0", "--dry-run"),
        "would remove 1 message; nothing was removed",
        {"messages", "done"},
    ),
    "stats": ((), "2 notes, 0 of them superseded", {"project", "entries", "size_bytes", "runs"}),
    "forget": (("e1", "--dry-run"), "Nothing was removed; this would be", {"ref", "kind", "text", "still_in", "done"}),
    "backup": ((), "/backup-", {"file", "size_bytes", "created_at"}),
    "trust": ((), "It holds 9 items of 1 project by 3 agents", {"store", "how", "items", "copy_of"}),
    "restore": (("copy.db", "--yes"), "restored ", {"source", "previous", "previous_was_damaged"}),
    "pause": (("--off",), "hooks are on", {"paused"}),
    "config": ((), "store.durability = full  (default)", {"file", "warnings", "settings"}),
}
ELSEWHERE = {
    *(
        "config set",
        "config unset",
        "doctor",
        "edit",
        "export",
        "import",
        "hook",
        "import docs",
        "mcp",
        "open",
        "serve",
        "setup",
        "status",
        "tour",
        "undo",
    ),
    *("guard check", "guard install", "guard remove", "guard run", "share", "accept", "reject", "sync"),
    *("token list", "token new", "token revoke"),
}
"""doctor answers with a list; mcp and serve run on; open needs a server, and undo what can be undone; the others have
their own tests."""


def all_commands() -> list[str]:
    names = []
    for name in COMMANDS:
        command = satchel_command.get_command(click.Context(satchel_command), name)
        inner = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
        names += [f"{name} {word}" for word in inner]
        names += [] if inner and not getattr(command, "invoke_without_command", False) else [name]
    return names


GROUPS = sorted({name.split()[0] for name in all_commands() if " " in name})


@pytest.fixture
def store(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run r1 with a discovery and an error, one of each thing that the ledger keeps, and a backup of it all."""
    monkeypatch.setenv("SATCHEL_CONSULT_WINDOW_TOKENS", "16000")
    assert cli("run", "start", "r1")[0] == 0
    assert cli("write", "discovery", "Sessions live in src/auth.py", "--agent", "planner")[0] == 0
    assert cli("write", "error", "pytest cannot find tests", "--agent", "builder")[0] == 0
    assert cli("decide", "ttl", "300")[0] == 0
    assert cli("rule", "add", "Be kind")[0] == 0
    assert cli("message", "send", "--to", "builder", "pull", "first", "--agent", "planner")[0] == 0
    assert cli("file", "record", "src/a.py", "modified")[0] == 0
    assert cli("file", "claim", "docs/", "--agent", "planner")[0] == 0
    assert cli("error", "report", "TypeError", "x is undefined", "--solution", "import it")[0] == 0
    assert cli("strategy", "save", "retries", "Wait longer")[0] == 0
    assert cli("package", "save", "Sessions", "--content", "They live in src")[0] == 0
    with open_satchel(cwd=folder, environ={}) as satchel:
        take_turn(satchel.consulting.conversations)
    assert cli("backup", "copy.db")[0] == 0


def test_every_command_is_tested() -> None:
    assert sorted(all_commands()) == sorted(CASES.keys() | ELSEWHERE)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", CASES)
def test_a_command_prints_text_without_colour_where_nobody_sees_it(cli: Cli, name: str) -> None:
    arguments, part, _ = CASES[name]
    status, out, err = cli(*name.split(), *arguments)
    assert status == 0
    assert part in out
    assert "\x1b" not in out + err


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", CASES)
def test_a_command_prints_json(cli: Cli, name: str) -> None:
    arguments, _, fields = CASES[name]
    status, out, err = cli(*name.split(), *arguments, "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    items = [item for value in answer.values() if isinstance(value, list) for item in value if isinstance(item, dict)]
    assert fields <= answer.keys() | {key for item in items for key in item}


def commands_in(help_text: str) -> list[str]:
    lines = help_text.partition("--help  Show this message")[2].splitlines()[1:]
    return [line.split()[0] for line in lines if line.startswith("  ")]


def test_help_shows_fifteen_commands_with_setup_first(cli: Cli) -> None:
    shown = commands_in(cli("--help")[1])
    assert shown[0] == "setup"
    assert len(shown) == len(COMMANDS.keys() & {*shown}) == 15


@pytest.mark.parametrize("words", [("--help", "--all"), ("--all",), ("help", "--all")])
def test_help_for_all_shows_every_command(cli: Cli, words: tuple[str, ...]) -> None:
    status, out, _ = cli(*words)
    assert (status, commands_in(out)) == (0, list(COMMANDS))
    assert len(COMMANDS) <= 46


@pytest.mark.parametrize("name", ["write", "rule", "rule add"])
def test_help_and_a_command_is_the_help_of_it(cli: Cli, name: str) -> None:
    assert cli("help", *name.split()) == cli(*name.split(), "--help")


@pytest.mark.parametrize("name", [*all_commands(), *GROUPS, ""])
def test_help_shows_an_example(cli: Cli, name: str) -> None:
    status, out, _ = cli(*name.split(), "--help")
    assert status == 0
    lines = out.splitlines()
    heading = next(n for n, line in enumerate(lines) if line.strip() in {"Example:", "Examples:", "Begin with:"})
    assert "satchel " in lines[heading + 1]


@pytest.mark.parametrize("name", all_commands())
def test_every_option_has_help(name: str) -> None:
    command: click.Command | None = satchel_command
    for part in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), part)
    assert command is not None
    silent = [
        option.name
        for option in command.params
        if isinstance(option, click.Option) and not option.help and not isinstance(option.type, click.Choice)
    ]
    assert set(silent) <= {"limit", "offset"}


def test_init_makes_the_store_and_a_configuration_that_explains_itself(cli: Cli, folder: Path) -> None:
    assert cli("init")[0] == 0
    assert (folder / ".satchel" / "satchel.db").exists()
    assert "store.durability" in (folder / ".satchel" / "config.toml").read_text()


def test_init_leaves_a_configuration_as_it_is(cli: Cli, folder: Path) -> None:
    cli("init")
    (folder / ".satchel" / "config.toml").write_text("[store]\n")
    assert "(was there already)" in cli("init")[1]
    assert (folder / ".satchel" / "config.toml").read_text() == "[store]\n"


def test_init_and_doctor_name_what_would_publish_the_store(cli: Cli, folder: Path) -> None:
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY . .\n")
    line = "the image of Dockerfile would contain .satchel: add `.satchel` to .dockerignore"
    assert f"warning: {line}" in cli("init")[2]
    assert f"warning publishing: {line}" in cli("doctor")[1]
    (folder / ".dockerignore").write_text(".satchel\n")
    assert "warning" not in cli("init")[2]
    assert "ok      publishing: " in cli("doctor", "--verbose")[1]


def test_init_makes_a_project_where_there_is_none(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli("stats")[0] == 5
    assert cli("init")[0] == 0
    assert cli("stats")[0] == 0


def test_content_may_come_from_standard_input(cli: Cli) -> None:
    cli("write", "discovery", stdin=b"from a pipe\n")
    cli("write", "discovery", "-", stdin=b"from a dash\n")
    assert [entry["content"] for entry in json.loads(cli("read", "--order", "asc", "--json")[1])["entries"]] == [
        "from a pipe",
        "from a dash",
    ]


def test_content_that_is_no_text_is_cleaned_and_said(cli: Cli) -> None:
    status, out, _ = cli("write", "discovery", stdin=b"a\0b\xff")
    assert status == 0
    assert "1 control character removed" in out
    assert cli("read")[1].endswith("\n ab\ufffd\n")


def test_content_beyond_the_limit_is_refused(cli: Cli) -> None:
    status, _, err = cli("write", "discovery", stdin=b"a" * (300 * 1024))
    assert (status, err[:18]) == (7, "error [too_large]:")


def test_every_field_of_a_note_is_kept(cli: Cli) -> None:
    cli("run", "start", "r1")
    place = ("--task", "T1", "--loop", "L1", "--file", "./src/a.py", "--line", "7")
    cli("write", "scratchpad", '{"iteration": 2}', *place, "--run", "r1", "--agent", "planner")
    (entry,) = json.loads(cli("read", "--json")[1])["entries"]
    assert {
        "type": "scratchpad",
        "content": {"iteration": 2},
        "task_id": "T1",
        "loop_id": "L1",
        "file": "src/a.py",
        "line": 7,
        "run_id": "r1",
        "agent": "planner",
    }.items() <= entry.items()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--type", "error"), "e2"),
        (("--type", "error", "--type", "decision", "--limit", "1"), "e3"),
        (("--author", "builder"), "e2"),
        (("--task", "T1"), "e1"),
        (("--loop", "L1"), "e1"),
        (("--file", "src/a.py"), "e1"),
        (("--after-seq", "0", "--limit", "1"), "e1"),
        (("--order", "asc", "--limit", "1"), "e1"),
        (("--limit", "1"), "e3"),
        (("--limit", "1", "--offset", "1"), "e2"),
        (("--status", "superseded"), None),
        (("--since", "2999-01-01"), None),
        (("pytest",), "e2"),
        (("--run", "r0"), None),
    ],
)
def test_every_filter_of_read_counts(cli: Cli, options: tuple[str, ...], found: str | None) -> None:
    cli("run", "start", "r0")
    cli("run", "end", "r0")
    cli("run", "start", "r1")
    cli("write", "discovery", "one", "--task", "T1", "--loop", "L1", "--file", "src/a.py", "--agent", "planner")
    cli("write", "error", "pytest", "--agent", "builder")
    cli("write", "decision", "three", "--agent", "planner")
    page = json.loads(cli("read", *options, "--json")[1])
    assert [entry["id"] for entry in page["entries"]] == ([] if found is None else [found])


def test_read_says_what_its_answer_costs(cli: Cli) -> None:
    cli("write", "discovery", "x")
    assert cli("read", "--tokens")[2].strip().endswith("tokens (o200k_base)")
    assert json.loads(cli("read", "--tokens", "--json")[1])["answer_tokens"]["tokens"] > 0


def test_use_prints_the_line_and_stores_nothing(cli: Cli, folder: Path) -> None:
    cli("run", "start", "a run")
    before = {path: path.read_bytes() for path in (folder / ".satchel").glob("*.*") if path.stat().st_size}
    assert cli("run", "use", "a run") == (0, "export SATCHEL_RUN='a run'\n", "")
    after = {path: path.read_bytes() for path in (folder / ".satchel").glob("*.*") if path.stat().st_size}
    assert {path: text for path, text in after.items() if path.suffix != ".db-shm"} == before


def test_the_line_of_use_chooses_the_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("run", "start", "r1")
    cli("run", "start", "r2")
    assert " in run " not in cli("write", "discovery", "x")[1]
    monkeypatch.setenv("SATCHEL_RUN", "r1")
    assert "in run r1" in cli("write", "discovery", "x")[1]


def test_start_prints_the_line_alone_to_standard_output(cli: Cli) -> None:
    status, out, err = cli("run", "start", "a run")
    assert (status, out) == (0, "export SATCHEL_RUN='a run'\n")
    assert "started run a run" in err


def test_main_is_chosen_before_its_first_use_and_never_ends(cli: Cli) -> None:
    assert cli("run", "use", "main") == (0, "export SATCHEL_RUN=main\n", "")
    status, out, err = cli("run", "end", "main")
    assert (status, out) == (4, "")
    assert "never ends" in err


def test_a_star_lists_all_runs_where_one_is_chosen(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("write", "discovery", "in main")
    cli("run", "start", "r1")
    monkeypatch.setenv("SATCHEL_RUN", "r1")
    cli("write", "discovery", "in r1")
    assert "1 of 1 entries of run r1" in cli("read")[1]
    everything = cli("read", "--run", "*")[1]
    assert everything.startswith("2 of 2 entries\n")
    assert everything.count(" run:r1 ") == 1
    assert cli("write", "discovery", "x", "--run", "*")[0] == 2
    monkeypatch.setenv("SATCHEL_RUN", "*")
    assert cli("read")[0] == 2


def test_runs_are_listed_by_status_and_page(cli: Cli) -> None:
    for name in ("r1", "r2", "r3"):
        cli("run", "start", name)
    cli("run", "end", "r2", "--status", "failed")
    assert [run["run_id"] for run in json.loads(cli("run", "list", "--status", "failed", "--json")[1])["runs"]] == [
        "r2"
    ]
    page = json.loads(cli("run", "list", "--limit", "1", "--offset", "1", "--json")[1])
    assert ([run["run_id"] for run in page["runs"]], page["total"], page["next_offset"]) == (["r2"], 3, 2)


def test_a_store_with_several_projects_keeps_them_apart(cli: Cli) -> None:
    cli("write", "discovery", "mine")
    cli("write", "discovery", "theirs", "--project", "other")
    assert "theirs" not in cli("read")[1]
    assert "theirs" in cli("read", "--project", "other")[1]


def test_mcp_prints_its_tools_as_json(cli: Cli) -> None:
    tools = json.loads(cli("mcp", "--json")[1])["tools"]
    assert [tool["name"] for tool in tools][:2] == ["get_briefing", "claim_files"]
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)


def test_mcp_prints_only_what_it_would_serve(cli: Cli) -> None:
    tools = json.loads(cli("mcp", "--json", "--read-only")[1])["tools"]
    assert "write_context" not in [tool["name"] for tool in tools]


def test_people_read_the_name_of_a_person_without_its_prefix(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_PERSON_NAME", "Ann Smith")
    done = [
        cli(*command)
        for command in (
            ("write", "tokens expire"),
            ("rule", "add", "Be quick"),
            ("decide", "port", "80"),
            ("decide", "port", "81"),
            ("pin", "e1"),
            ("confirm", "e1"),
            ("message", "send", "which port?", "--to", "dev"),
            ("error", "report", "KeyError", "'id'", "--solution", "use .get"),
            ("strategy", "save", "imports", "Look first"),
            ("search", "tokens"),
            ("show", "c1", "d1", "x1"),
            ("read",),
            ("rule", "list"),
            ("pin", "--list"),
            ("message", "list"),
            ("decisions", "--key", "port"),
            ("rule", "list", "--detail", "snippets"),
        )
    ]
    assert [(status, out) for status, out, _ in done if status or "human" in out] == []
    assert [out.splitlines()[0] for _, out, _ in done[:5]] == [
        'saved e1 discovery by "Ann Smith"; shown in briefings, searches',
        'added c1 general medium by "Ann Smith"; binds everywhere',
        "set d1 port (new); binds everywhere",
        'set d1 port, revision 2; binds everywhere; was revision 1: 80 by "Ann Smith" '
        + done[3][1].splitlines()[0][-16:],
        'e1 is pinned by "Ann Smith": every briefing has it',
    ]
    assert json.loads(cli("show", "e1", "--json")[1])["items"][0]["agent"] == "human:Ann Smith"
