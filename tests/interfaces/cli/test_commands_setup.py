"""``satchel setup``, for people and for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_asking import options_of
from satchel.base.errors import Refused
from satchel.interfaces.cli.commands import setup
from satchel.interfaces.setup import checking
from satchel.interfaces.setup.clients import CLIENTS

Cli = Callable[..., tuple[int, str, str]]

LAUNCHER = Path("/opt/satchel/bin/satchel")


def test_a_client_that_is_named_is_set_up_without_a_question(cli: Cli, home: Path) -> None:
    status, out, err = cli("setup", "codex", "claude")
    assert (status, err) == (0, "")
    claude, codex, *rest = out.splitlines()
    assert claude == "claude    made ~/.claude.json (server), made ~/.claude/settings.json (hooks)"
    assert codex == "codex     made ~/.codex/config.toml (server), made ~/.codex/hooks.json (hooks)"
    assert rest[0].startswith("This project has no store yet: ")
    assert "Left for you:" in rest
    assert rest[-1] == "- Restart the clients that run now"
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["satchel"]
    assert entry == {"type": "stdio", "command": str(LAUNCHER), "args": ["mcp"]}


def test_documents_with_rules_are_offered_while_there_are_none(cli: Cli, home: Path, folder: Path) -> None:
    (folder / "AGENTS.md").write_text("- Use tabs.\n")
    offer = "AGENTS.md can fill this project's memory: `satchel import docs`"
    assert offer in cli("setup", "codex")[1]
    cli("rule", "add", "Use spaces.")
    assert offer not in cli("setup", "codex")[1]


def test_who_declines_the_documents_is_told_how_to_come_back_to_them(
    cli: Cli, home: Path, folder: Path, answers: list[bool | str]
) -> None:
    (folder / "AGENTS.md").write_text("- Use tabs.\n")
    answers += [True, True, False]
    _, out, _ = cli("setup", "cursor")
    question, told = "Look at the rules proposed from AGENTS.md?", "AGENTS.md can fill this project's memory"
    assert 0 < out.index(question) < out.index("Left for you:")
    assert f"{told}: `satchel import docs`" in out[out.index(question) :]


def test_the_first_ten_minutes_list_every_question_of_setup_with_its_default() -> None:
    source = Path(setup.__file__).read_text(encoding="utf-8")
    for of_removal in ("Delete all of this", "Change these files back?"):
        source = source.replace(f'click.confirm("{of_removal}', "")
    source = re.sub(r'choose_among\(("[^"]+"), ', r"click.confirm(\1, default=True, ", source)
    questions = re.findall(r'click\.confirm\(f?"([^"]+)", default=(True|False)', source)
    page = (Path(__file__).parents[3] / "docs" / "first-ten-minutes.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+\?)` \| (yes|no)\b", page, re.MULTILINE))
    assert len(rows) == len(questions) == source.count("click.confirm(") == 4
    for question, default in questions:
        pattern = re.sub(r"\\\{.*?\\\}", ".+", re.escape(question))
        (row,) = [row for row in rows if re.fullmatch(pattern, row)]
        assert rows[row] == {"True": "yes", "False": "no"}[default]


def test_a_second_time_nothing_is_written(cli: Cli, home: Path) -> None:
    cli("setup", "cursor")
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*.json")}
    status, out, _ = cli("setup", "cursor")
    assert (status, out.splitlines()[0]) == (0, "cursor    set up already")
    assert "Restart" not in out
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*.json")} == before


def test_removal_leaves_nothing_and_says_so_a_second_time(cli: Cli, home: Path) -> None:
    cli("setup", *CLIENTS)
    status, out, _ = cli("setup", "--remove")
    assert status == 0
    assert out.count("deleted ") == 13
    assert [path.name for path in home.iterdir()] == [".local"]  # what is known of stores and of setup
    assert cli("setup", "--remove")[:2] == (0, "nothing of setup is there\n")


def test_removal_says_that_the_store_stays_and_what_deletes_it(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    cli("setup", "cursor")
    store = folder / ".satchel" / "satchel.db"
    assert f"left the store {store}: `satchel setup --remove --all-data` deletes it" in cli("setup", "--remove")[1]
    assert store.exists()


def test_a_dry_run_shows_the_changes_and_makes_none(cli: Cli, home: Path) -> None:
    token = "ghp_" + "0123456789abcdefghij" * 2
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(
        f'{{"mcpServers": {{"gh": {{"env": {{"GITHUB_TOKEN": "{token[:40]}"}}}}}}}}\n'
    )
    before = (home / ".cursor" / "mcp.json").read_text()
    status, out, err = cli("setup", "cursor", "--dry-run")
    summary = "cursor    would change ~/.cursor/mcp.json (server), would make ~/.cursor/hooks.json (hooks)"
    assert (status, err, out.splitlines()) == (0, "", [summary, "Add --json to see how each file would change"])
    diffs = "\n".join(diffs_of(cli("setup", "cursor", "--dry-run", "--json")[1]))
    assert f"--- {home}/.cursor/mcp.json\n+++ {home}/.cursor/mcp.json\n@@ " in diffs
    assert f"--- /dev/null\n+++ {home}/.cursor/hooks.json\n" in diffs
    assert "[redacted:" in diffs
    assert token[:40] not in diffs
    assert (home / ".cursor" / "mcp.json").read_text() == before
    assert not (home / ".cursor" / "hooks.json").exists()
    cli("setup", "cursor")
    (_, diff) = diffs_of(cli("setup", "cursor", "--remove", "--dry-run", "--json")[1])
    assert f"--- {home}/.cursor/hooks.json\n+++ /dev/null\n" in diff
    assert (home / ".cursor" / "hooks.json").exists()


def diffs_of(answer: str) -> list[str]:
    return [file["diff"] for client in json.loads(answer)["clients"] for file in client["files"]]


def test_what_a_file_of_somebody_else_says_does_not_reach_the_terminal_as_a_command(
    cli: Cli, home: Path, folder: Path
) -> None:
    entry = {"command": "/x\x1b[31m/satchel", "args": ["mcp", "\u202e"]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"satchel": entry}}, ensure_ascii=False, indent=1))
    (folder / ".mcp.json").write_bytes((folder / ".mcp.json").read_bytes().replace(b"\n", b"\r\n"))
    for arguments in (("--check",), ()):
        _, out, err = cli("setup", "claude", "--project", *arguments)
        assert not [char for char in out + err if not (char.isprintable() or char == "\n")]
        assert "\N{REPLACEMENT CHARACTER}" in out
        assert "\r" not in out


def test_without_a_client_those_that_are_found_are_shown_and_asked_for(
    cli: Cli, home: Path, answers: list[bool | str]
) -> None:
    (home / ".qwen").mkdir()
    (home / ".cursor").mkdir()
    answers += ["y", False, False]
    status, out, _ = cli("setup")
    assert (status, answers) == (0, [])
    lines = out.splitlines()
    assert lines[:2] == [
        "qwen      would make ~/.qwen/settings.json (server, hooks)",
        "cursor    would make ~/.cursor/mcp.json (server), would make ~/.cursor/hooks.json (hooks)",
    ]
    assert lines[2] == "Write these files? y, n, or names such as qwen [y]"
    assert lines[3] == "Qwen Code asks before each tool of Satchel. Allow them all? [Y/n]"
    assert lines[4].startswith("Make this project's store ")
    assert lines[5] == "qwen      made ~/.qwen/settings.json (server, hooks)"
    assert "trust" not in (home / ".qwen" / "settings.json").read_text()
    assert not (home / ".claude.json").exists()


def test_clients_are_chosen_by_name_at_the_question(cli: Cli, home: Path, answers: list[bool | str]) -> None:
    for name in (".gemini", ".qwen", ".cursor"):
        (home / name).mkdir()
    answers += ["cursor, QWEN", False, False]
    status, _, _ = cli("setup")
    assert (status, answers) == (0, [])
    assert not list((home / ".gemini").iterdir())
    assert (home / ".cursor" / "mcp.json").exists()
    assert (home / ".qwen" / "settings.json").exists()
    answers += ["emacs"]
    (home / ".cursor" / "mcp.json").unlink()
    status, _, err = cli("setup")
    assert (status, "answer y, n, or some of: gemini qwen cursor" in err) == (2, True)


def test_removal_asks_at_a_terminal(cli: Cli, home: Path, answers: list[bool | str]) -> None:
    answers += [True, False]
    cli("setup", "cursor")
    answers += [False]
    status, out, _ = cli("setup", "--remove")
    assert (status, answers, out.splitlines()[-1]) == (0, [], "nothing was changed")
    assert (home / ".cursor" / "mcp.json").exists()
    answers += [True]
    cli("setup", "--remove")
    assert not (home / ".cursor" / "mcp.json").exists()


def test_answering_no_writes_nothing(cli: Cli, home: Path, answers: list[bool | str]) -> None:
    (home / ".cursor").mkdir()
    answers.append(False)
    status, out, _ = cli("setup")
    assert (status, answers) == (0, [])
    assert out.splitlines()[-1] == "nothing was changed"
    assert list((home / ".cursor").iterdir()) == []


def test_answers_give_permissions_each_to_its_client_and_make_the_store(
    cli: Cli, home: Path, folder: Path, answers: list[bool | str]
) -> None:
    answers += ["y", True, False, True, True]
    status, out, _ = cli("setup", "claude", "gemini", "qwen")
    assert (status, answers) == (0, [])
    assert out.splitlines()[3] == "Write these files? y, n, or names such as claude [y]"
    assert json.loads((home / ".claude" / "settings.json").read_text())["permissions"] == {"allow": ["mcp__satchel"]}
    assert "trust" not in (home / ".gemini" / "settings.json").read_text()
    assert json.loads((home / ".qwen" / "settings.json").read_text())["mcpServers"]["satchel"]["trust"] is True
    assert f"made the project's store {folder}/.satchel/satchel.db" in out
    assert (folder / ".satchel" / "satchel.db").exists()


def test_who_stops_at_a_question_has_nothing_written(cli: Cli, home: Path, answers: list[bool | str]) -> None:
    answers += [True, True]
    assert cli("setup", "claude")[0] != 0
    assert (answers, list(home.iterdir())) == ([], [])


def test_a_second_time_nothing_is_asked_and_what_waits_for_the_user_is_named(
    cli: Cli, home: Path, answers: list[bool | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("init")
    monkeypatch.setattr(checking, "codex_hooks", lambda *_: [])
    answers += ["y", False]
    cli("setup", "claude", "codex")
    status, out, _ = cli("setup", "claude", "codex")
    assert (status, answers) == (0, [])
    assert "- Codex: start Codex here" in out


def test_where_nobody_can_be_asked_it_says_what_it_would_do_and_how(cli: Cli, home: Path) -> None:
    (home / ".cursor").mkdir()
    status, out, err = cli("setup")
    assert (status, out.splitlines()[0][:24]) == (2, "cursor    would make ~/.")
    assert "Add --yes, or name the clients" in err
    assert list((home / ".cursor").iterdir()) == []
    cli("setup", "cursor")
    assert cli("setup") == cli("setup", "cursor")
    assert cli("setup")[0] == 0


def test_yes_sets_up_all_that_are_found_and_the_store_but_gives_no_permission(
    cli: Cli, home: Path, folder: Path
) -> None:
    (home / ".claude").mkdir()
    status, out, _ = cli("setup", "--yes")
    assert status == 0
    assert "made the project's store" in out
    assert "permissions" not in (home / ".claude" / "settings.json").read_text()
    assert (folder / ".satchel" / "satchel.db").exists()


def test_a_client_whose_program_is_on_the_path_is_found(cli: Cli, home: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opencode").touch(mode=0o755)
    assert "opencode  would make" in cli("setup")[1]


def test_on_a_machine_without_clients_it_says_what_to_do(cli: Cli, home: Path) -> None:
    status, _, err = cli("setup")
    assert (status, "no client was found on this machine. Name one (claude, codex" in err) == (3, True)


def test_options_that_permit_do(cli: Cli, home: Path) -> None:
    cli("setup", "claude", "gemini", "--allow", "--trust")
    assert "mcp__satchel" in (home / ".claude" / "settings.json").read_text()
    assert '"trust": true' in (home / ".gemini" / "settings.json").read_text()


@pytest.mark.parametrize(("option", "hooks"), [("--no-hooks", False), ("--hooks", True), (None, True)])
def test_hooks_of_the_user(option: str | None, hooks: bool, cli: Cli, home: Path) -> None:
    assert cli("setup", "codex", "--user", *([option] if option else []))[0] == 0
    assert (home / ".codex" / "hooks.json").exists() is hooks


@pytest.mark.parametrize(("option", "hooks"), [("--no-hooks", False), ("--hooks", True), (None, False)])
def test_files_of_a_project_name_the_command_alone(
    option: str | None, hooks: bool, cli: Cli, home: Path, folder: Path
) -> None:
    status, out, _ = cli("setup", "codex", "--project", *([option] if option else []))
    assert status == 0
    assert 'command = "satchel"' in (folder / ".codex" / "config.toml").read_text()
    assert (folder / ".codex" / "hooks.json").exists() is hooks
    assert not (home / ".codex").exists()
    assert "once its folder is trusted" in out
    assert cli("setup", "codex", "--project", "--remove")[0] == 0
    assert not (folder / ".codex").exists()


def test_instructions_come_and_go(cli: Cli, home: Path, folder: Path) -> None:
    (folder / "CLAUDE.md").write_text("# Mine\n")
    status, out, _ = cli("setup", "cursor", "--instructions")
    assert status == 0
    assert f"instructions  made {folder}/AGENTS.md (instructions)" in out
    assert "CLAUDE.md does not import AGENTS.md: add a line @AGENTS.md to it" in out
    assert "<!-- satchel: begin -->" in (folder / "AGENTS.md").read_text()
    cli("setup", "--remove")
    assert (folder / "AGENTS.md").exists()
    cli("setup", "--remove", "--instructions")
    assert not (folder / "AGENTS.md").exists()


@pytest.mark.parametrize("options", [("--project",), ("--instructions",)])
def test_outside_a_project_there_are_no_files_of_one(
    options: tuple[str, ...], cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    status, _, err = cli("setup", "claude", *options)
    assert (status, "not inside a project" in err) == (5, True)
    assert cli("setup", "claude")[0] == 0


def test_check_says_what_is_there_and_what_is_missing(cli: Cli, home: Path) -> None:
    (home / ".qwen").mkdir()
    assert cli("setup", "--check")[:2] == (3, "qwen      on this machine, not set up\n`satchel setup` connects them\n")
    cli("setup", "cursor", "opencode")
    status, out, _ = cli("setup", "--check")
    assert (status, out.splitlines()) == (
        0,
        [
            "qwen      on this machine, not set up",
            "opencode  set up: there is no `opencode` on your path",
            "cursor    set up: Satchel was never tested in Cursor: ask its agent for a briefing",
        ],
    )
    (home / ".cursor" / "hooks.json").unlink()
    status, out, _ = cli("setup", "--check")
    assert status == 3
    assert "cursor    needs you: run `satchel setup cursor`: hooks missing\n" in out
    assert cli("setup", "opencode", "--check")[0] == 0
    assert cli("setup", "qwen", "--check")[:2] == (3, "qwen      not set up\n`satchel setup` connects them\n")


def test_check_of_hooks_that_are_not_trusted_says_what_the_user_does_and_nothing_of_setup(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "codex_hooks", lambda *_: [])
    cli("setup", "codex")
    status, out, _ = cli("setup", "--check")
    assert (status, out) == (
        3,
        'codex     needs you: start Codex here, choose "Trust and continue", '
        'then choose "Trust all and continue" for Satchel\'s hooks\n',
    )


def test_check_says_that_hooks_are_paused(cli: Cli, home: Path) -> None:
    cli("setup", "cursor", "opencode")
    cli("pause")
    said = cli("setup", "--check")[1].splitlines()
    assert "cursor    switched off: hooks are paused until you run `satchel pause --off`" in said
    cli("pause", "--off")
    assert "paused" not in cli("setup", "--check")[1]


def test_check_says_the_same_in_json(cli: Cli, home: Path) -> None:
    cli("setup", "cursor", "gemini")
    (home / ".cursor" / "hooks.json").unlink()
    clients = json.loads(cli("setup", "--check", "--json")[1])["clients"]
    assert {one["name"]: (one["standing"], one["step"]) for one in clients} == {
        "gemini": ("needs you", 'start Gemini CLI here once and choose "Trust folder"'),
        "cursor": ("needs you", "run `satchel setup cursor`: hooks missing"),
    }


def test_check_changes_nothing_and_starts_no_client_that_is_not_set_up(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "_output", lambda *_, **__: pytest.fail("started"))
    (home / ".codex").mkdir()
    cli("setup", "--check")
    assert [path.name for path in home.rglob("*")] == [".codex"]


def test_json_says_what_was_done(cli: Cli, home: Path) -> None:
    status, out, _ = cli("setup", "cursor", "--json")
    answer = json.loads(out)
    assert (status, answer["done"]) == (0, True)
    assert answer["clients"] == [
        {
            "name": "cursor",
            "files": [
                {"path": str(home / ".cursor" / "mcp.json"), "parts": ["server"], "change": "made"},
                {"path": str(home / ".cursor" / "hooks.json"), "parts": ["hooks"], "change": "made"},
            ],
            "notes": [],
            "left": [],
        }
    ]
    check = json.loads(cli("setup", "--check", "--json")[1])
    assert (check["ok"], [one["name"] for one in check["clients"] if one["set_up"]]) == (True, ["cursor"])
    removed = json.loads(cli("setup", "--remove", "--json")[1])
    assert [file["change"] for file in removed["clients"][0]["files"]] == ["deleted", "deleted"]
    assert cli("setup", "--json")[0] == 2


def test_what_to_write_by_hand_is_printed_for_any_client(cli: Cli, home: Path) -> None:
    status, out, _ = cli("setup", "--print", "windsurf", "codex", "opencode")
    assert status == 0
    title, text = out.split("\n", 1)
    assert title == "# windsurf: in its MCP settings"
    entry = {"mcpServers": {"satchel": {"command": str(LAUNCHER), "args": ["mcp"]}}}
    assert json.JSONDecoder().raw_decode(text)[0] == entry
    assert f"# codex: in {home}/.codex/config.toml\n[mcp_servers.satchel]\n" in out
    assert f"# opencode: in {home}/.config/opencode/plugin/satchel.js\n// Made by" in out
    assert cli("setup", "--print")[1].startswith("# your client: in its MCP settings\n")
    assert [path.name for path in home.iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("claud",), "Did you mean 'claude'?"),
        (("windsurf",), "`satchel setup --print`"),
        (("claude", "--user", "--project"), "exclude each other"),
        (("--check", "--remove"), "exclude each other"),
        (("claude", "--project", "--allow"), "each user's own"),
        (("gemini", "--remove", "--trust"), "--trust does not go with --remove"),
        (("--check", "--dry-run"), "--check changes nothing"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], error: str, cli: Cli, home: Path) -> None:
    status, out, err = cli("setup", *arguments)
    assert (status, out, error in err) == (2, "", True)
    assert list(home.iterdir()) == []


def test_from_an_environment_that_does_not_stay_nothing_is_written(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> Path:
        raise Refused(
            "this is Satchel in an environment that does not stay", "Install it with `uv tool install satchel`"
        )

    monkeypatch.setattr(setup, "find_launcher", refuse)
    status, _, err = cli("setup", "claude")
    assert (status, "uv tool install satchel" in err) == (5, True)
    assert list(home.iterdir()) == []


def test_a_store_that_is_there_is_not_offered(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    out = cli("setup", "cursor")[1]
    assert "store" not in out


def test_every_option_has_a_test() -> None:
    tested = "user project hooks instructions allow trust dry-run check remove all-data print yes json".split()
    tested += "url token token-file everywhere offline".split()  # in test_commands_setup_server.py
    assert options_of(["setup"]) == {("setup", f"--{name}") for name in tested} | {("setup", "CLIENTS")}


def test_the_check_says_that_the_store_of_the_folder_is_gone(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    cli("setup", "codex", "claude")
    assert "store" not in [line.split()[0] for line in cli("setup", "--check")[1].splitlines()]
    for file in (folder / ".satchel").glob("satchel.db*"):
        file.unlink()
    status, out, _ = cli("setup", "--check")
    assert status == 3
    assert "is gone, though there was one" in out
    assert "there is no backup. " in out
    status, out, _ = cli("doctor")
    assert status != 0
    assert "is gone, though there was one" in out
