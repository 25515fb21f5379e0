"""What `satchel setup --check` finds, and what else starts Satchel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.interfaces.setup import checking
from satchel.interfaces.setup.checking import ClientCheck, Standing, check, launcher_note, version_note
from satchel.interfaces.setup.clients import CLIENTS, Place, Wish
from satchel.interfaces.setup.guide import Verdict
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import carry_out, plan_setup

Program = Callable[[str, str], Path]

CLAUDE, CODEX = CLIENTS["claude"], CLIENTS["codex"]


@pytest.fixture
def bare(place: Place) -> Place:
    """The place with nothing on the path but what a test puts there."""
    return replace(place, environ={**place.environ, "PATH": str(place.home / "bin")})


def set_up(place: Place, wish: Wish, journal: Journal, *names: str) -> None:
    carry_out(plan_setup([CLIENTS[name] for name in names], place, wish), journal)


def found(one: ClientCheck) -> dict[str, Verdict]:
    return {finding.part: finding.verdict for finding in one.findings}


@pytest.mark.parametrize("name", CLIENTS)
def test_nothing_is_there_before_setup_and_all_after_it(name: str, bare: Place, wish: Wish, journal: Journal) -> None:
    before = check(CLIENTS[name], bare, wish)
    assert (before.is_set_up, before.is_fine, before.left) == (False, False, ())
    set_up(bare, wish, journal, name)
    after = check(CLIENTS[name], bare, wish)
    assert (after.is_set_up, after.is_fine) == (True, True)


def test_what_is_stale_missing_or_broken_is_named_with_its_file(bare: Place, wish: Wish, journal: Journal) -> None:
    set_up(bare, replace(wish, launcher="/old/satchel"), journal, "claude")
    one = check(CLAUDE, bare, wish)
    assert found(one) == {"server": Verdict.STALE, "hooks": Verdict.STALE}
    assert [finding.detail.split(":")[0] for finding in one.findings] == [
        str(bare.home / ".claude.json"),
        str(bare.home / ".claude" / "settings.json"),
    ]
    assert "/old/satchel" in one.findings[0].detail
    (bare.home / ".claude" / "settings.json").unlink()
    (bare.home / ".claude.json").write_text('{"mcpServers": {"satchel": ')
    one = check(CLAUDE, bare, wish)
    assert found(one) == {"file": Verdict.BROKEN, "hooks": Verdict.MISSING}
    assert str(bare.home / ".claude.json") in one.findings[0].detail
    assert not one.is_fine


def test_a_broken_file_in_which_setup_never_wrote_is_no_sign_of_it(bare: Place, wish: Wish) -> None:
    (bare.home / ".claude.json").write_text("{")
    one = check(CLAUDE, bare, wish)
    assert (one.is_set_up, one.is_fine) == (False, False)
    assert f"{bare.home}/.claude.json" in one.findings[0].detail


def test_an_entry_that_the_user_has_switched_off_is_said_and_no_fault(
    bare: Place, wish: Wish, journal: Journal
) -> None:
    set_up(bare, wish, journal, "opencode")
    file = bare.home / ".config" / "opencode" / "opencode.json"
    content = json.loads(file.read_text())
    content["mcp"]["satchel"]["enabled"] = False
    file.write_text(json.dumps(content))
    one = check(CLIENTS["opencode"], bare, wish)
    assert found(one)["server"] is Verdict.OFF
    assert (one.is_fine, one.standing, one.step) == (True, Standing.OFF, str(file))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("claude", {"disableAllHooks": True}),
        ("qwen", {"disableAllHooks": True}),
        ("gemini", {"hooksConfig": {"enabled": False}}),
        ("gemini", {"hooksConfig": {"disabled": ["satchel"]}}),
    ],
)
def test_hooks_that_the_user_has_switched_off_are_said(
    name: str, settings: dict[str, object], bare: Place, wish: Wish, journal: Journal
) -> None:
    set_up(bare, wish, journal, name)
    file = bare.home / f".{name}" / "settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))
    one = check(CLIENTS[name], bare, wish)
    assert found(one)["hooks"] is Verdict.OFF
    assert (one.standing, one.step) == (Standing.OFF, str(file))


def test_what_is_left_for_the_user_is_said(bare: Place, wish: Wish, journal: Journal) -> None:
    set_up(bare, wish, journal, "claude")
    assert "--allow" in " ".join(check(CLAUDE, bare, wish).left)
    set_up(bare, replace(wish, allowed=frozenset({"claude"})), journal, "claude")
    assert check(CLAUDE, bare, wish).left == ()


def test_a_client_that_is_set_up_works_where_its_program_is_there(
    bare: Place, wish: Wish, journal: Journal, program: Program
) -> None:
    set_up(bare, wish, journal, "claude", "cursor")
    assert check(CLAUDE, bare, wish).step == "there is no `claude` on your path"
    program("claude", "print('2.1.330')")
    one = check(CLAUDE, bare, wish)
    assert (one.standing, one.step) == (Standing.WORKS, "")
    assert check(CLIENTS["cursor"], bare, wish).standing is Standing.SET_UP


def test_the_first_thing_to_do_is_said_alone(bare: Place, wish: Wish, journal: Journal) -> None:
    untrusting = replace(bare, environ={**bare.environ, "GEMINI_CLI_TRUST_WORKSPACE": ""})
    set_up(untrusting, replace(wish, hooks=False), journal, "gemini")
    assert check(CLIENTS["gemini"], untrusting, wish).step == "run `satchel setup gemini`: hooks missing"
    set_up(untrusting, wish, journal, "gemini")
    one = check(CLIENTS["gemini"], untrusting, wish)
    assert (one.is_fine, one.standing) == (False, Standing.NEEDS_YOU)
    assert one.step == 'start Gemini CLI here once and choose "Trust folder"'


def test_an_entry_of_the_project_counts_where_the_user_has_none(bare: Place, wish: Wish, journal: Journal) -> None:
    set_up(bare, Wish("satchel", in_project=True, hooks=False), journal, "claude")
    one = check(CLAUDE, bare, wish)
    assert one.in_project
    assert one.step == 'start Claude Code here once and choose "Use this MCP server"'


def settings(place: Place, content: dict[str, object]) -> None:
    (place.home / ".claude" / "plugins").mkdir(parents=True, exist_ok=True)
    (place.home / ".claude" / "settings.json").write_text(json.dumps(content))
    installed = {"version": 2, "plugins": {"satchel@market": [{"scope": "user"}], "other@market": []}}
    (place.home / ".claude" / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))


def test_a_plugin_that_is_switched_on_counts_as_set_up(bare: Place, wish: Wish) -> None:
    settings(bare, {"enabledPlugins": {"satchel@market": True}})
    one = check(CLAUDE, bare, wish)
    assert (one.is_fine, one.is_set_up, one.findings[0].detail) == (
        True,
        True,
        "satchel@market brings server and hooks",
    )


@pytest.mark.parametrize("enabled", [{}, {"satchel@market": False}, {"satchel@elsewhere": True}, "text", None])
def test_a_plugin_that_is_not_switched_on_is_none(enabled: object, bare: Place, wish: Wish) -> None:
    settings(bare, {"enabledPlugins": enabled})
    assert not check(CLAUDE, bare, wish).is_set_up


def test_a_plugin_beside_what_setup_wrote_doubles_it(bare: Place, wish: Wish, journal: Journal) -> None:
    set_up(bare, wish, journal, "claude")
    content = json.loads((bare.home / ".claude" / "settings.json").read_text())
    settings(bare, {**content, "enabledPlugins": {"satchel@market": True}})
    one = check(CLAUDE, bare, wish)
    assert found(one)["plugin"] is Verdict.DOUBLED
    assert not one.is_fine


def test_a_second_entry_under_another_name_doubles_the_first(bare: Place, wish: Wish, journal: Journal) -> None:
    set_up(bare, wish, journal, "cursor")
    file = bare.home / ".cursor" / "mcp.json"
    content = json.loads(file.read_text())
    content["mcpServers"]["memory"] = {"command": "/x/satchel", "args": ["mcp"]}
    file.write_text(json.dumps(content))
    doubled = [one for one in check(CLIENTS["cursor"], bare, wish).findings if one.verdict is Verdict.DOUBLED]
    assert [one.detail for one in doubled] == [f"the server 'memory' in {file} starts Satchel too: remove one"]


def test_an_entry_of_the_local_scope_of_claude_code_is_named_with_the_command_that_removes_it(
    bare: Place, wish: Wish, journal: Journal
) -> None:
    entry = {"type": "stdio", "command": "/x/satchel", "args": ["mcp"], "env": {}}
    local = {"projects": {str(bare.project): {"mcpServers": {"satchel": entry, "gh": {"command": "gh"}}}}}
    (bare.home / ".claude.json").write_text(json.dumps(local))
    set_up(bare, wish, journal, "claude")
    doubled = [one.detail for one in check(CLAUDE, bare, wish).findings if one.verdict is Verdict.DOUBLED]
    assert len(doubled) == 1
    assert "`claude mcp remove -s local satchel`" in doubled[0]


def test_hooks_of_the_project_and_of_the_users_own_making_are_named(bare: Place, wish: Wish, journal: Journal) -> None:
    assert bare.project is not None
    set_up(bare, wish, journal, "claude")
    file = bare.home / ".claude" / "settings.json"
    content = json.loads(file.read_text())
    content["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "X=1 satchel hook claude S"}]})
    file.write_text(json.dumps(content))
    in_project = plan_setup([CLAUDE], bare, Wish("satchel", in_project=True))
    carry_out(in_project, journal)
    one = check(CLAUDE, bare, wish)
    assert [finding.detail.split(":")[0] for finding in one.findings if finding.verdict is Verdict.NOTE] == [
        f"a hook of your own in {file} calls Satchel too",
        f"{bare.project / '.claude' / 'settings.json'} calls them too; the second call of each puts nothing in",
    ]
    assert one.is_fine


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["trusted", "trusted", "managed"], Verdict.OK),
        (["trusted", "modified"], Verdict.UNTRUSTED),
        (["untrusted"] * 3, Verdict.UNTRUSTED),
        ([], Verdict.UNTRUSTED),
        (None, Verdict.UNKNOWN),
    ],
)
def test_whether_codex_trusts_the_hooks(
    states: list[str] | None,
    verdict: Verdict,
    bare: Place,
    wish: Wish,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_up(bare, wish, journal, "codex")
    row = {"sourcePath": str(bare.home / ".codex" / "hooks.json"), "command": "/x/satchel hook codex SessionStart"}
    foreign = {"sourcePath": "/elsewhere/hooks.json", "command": row["command"], "trustStatus": "untrusted"}
    rows = None if states is None else [foreign, *({**row, "trustStatus": state} for state in states)]
    monkeypatch.setattr(checking, "codex_hooks", lambda *_: rows)
    one = check(CODEX, bare, wish)
    assert found(one)["trust"] is verdict
    assert one.is_fine is (verdict is not Verdict.UNTRUSTED)


@pytest.mark.parametrize(
    ("level", "standing", "step"),
    [
        ("trusted", Standing.SET_UP, "Codex did not say whether it trusts Satchel's hooks"),
        ("untrusted", Standing.NEEDS_YOU, 'start Codex here, choose "Trust and continue", then choose "Trust all'),
    ],
)
def test_a_codex_that_does_not_answer_is_not_said_to_work(
    level: str, standing: Standing, step: str, bare: Place, wish: Wish, journal: Journal, program: Program
) -> None:
    program("codex", "raise SystemExit")
    config = bare.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[projects."{bare.project}"]\ntrust_level = "{level}"\n')
    set_up(bare, wish, journal, "codex")
    one = check(CODEX, bare, wish)
    assert one.standing is standing
    assert one.step.startswith(step)


def test_codex_is_not_asked_without_hooks(
    bare: Place, wish: Wish, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "codex_hooks", lambda *_: pytest.fail("asked"))
    without = replace(wish, hooks=False)
    set_up(bare, without, journal, "codex")
    assert check(CODEX, bare, without).is_fine


@pytest.mark.parametrize(("version", "says"), [("2.1.329", True), ("2.1.330", False), ("3.0.0", False), (None, False)])
def test_a_client_older_than_its_hooks_is_told(
    version: str | None, says: bool, bare: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "version_of", lambda *_: version)
    note = version_note(CLAUDE, bare)
    assert (note is not None and "Claude Code 2.1.329 is older than 2.1.330" in note) is says
    assert version_note(CLIENTS["cursor"], bare) is None


def test_another_installation_on_the_path_is_told(bare: Place, program: Program) -> None:
    mine = bare.home / "mine" / "satchel"
    mine.parent.mkdir()
    mine.touch()
    assert launcher_note(bare, mine, in_project=False) is None
    assert "no satchel on your path" in str(launcher_note(bare, mine, in_project=True))
    other = program("satchel", "")
    assert launcher_note(bare, other, in_project=True) is None
    told = launcher_note(bare, mine, in_project=False)
    assert told == f"Another Satchel is on your path: {other} (clients start {mine})"
    assert "which the project's files start" in str(launcher_note(bare, mine, in_project=True))


def test_vs_code_has_the_hooks_of_claude_code_in_a_project(bare: Place, journal: Journal) -> None:
    wish = Wish("satchel", in_project=True)
    set_up(bare, wish, journal, "claude", "vscode")
    one = check(CLIENTS["vscode"], bare, wish)
    assert one.is_fine
    assert [finding.detail for finding in one.findings if finding.part == "hooks"] == [
        "those of Claude Code, which VS Code reads"
    ]


def test_a_file_that_cannot_be_read_is_named_with_the_place_of_the_fault(place: Place, wish: Wish) -> None:
    client = CLIENTS["claude"]
    carry_out(plan_setup([client], place, wish), Journal())
    hooks = client.targets(place, wish)[-1].path
    hooks.write_text('{ "hooks": {')
    one = check(client, place, wish)
    assert (one.standing, str(hooks) in one.step, "not valid JSON: line 1" in one.step) == (
        Standing.NEEDS_YOU,
        True,
        True,
    )
