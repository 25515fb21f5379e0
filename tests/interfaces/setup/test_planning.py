"""Setup and removal on files: nothing half done, nothing lost, nothing left."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config_texts import json_texts, toml_texts
from satchel.base.errors import Conflict, InvalidInput, Refused, SatchelError
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Wish
from satchel.interfaces.setup.editing import Syntax, parse
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import Plan, Way, carry_out, plan_removal, plan_setup

ALL = list(CLIENTS.values())
EVERYTHING = frozenset(CLIENTS)


def tree(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Return every file and folder below a folder with its mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        found[str(path.relative_to(folder))] = (mode, path.read_bytes() if path.is_file() else None)
    return found


def set_up(place: Place, wish: Wish, journal: Journal, *clients: Client, instructions: bool = False) -> Plan:
    plan = plan_setup(clients or ALL, place, wish, instructions=instructions)
    carry_out(plan, journal)
    return plan


def remove(
    place: Place, journal: Journal, *clients: Client, in_project: bool = False, instructions: bool = False
) -> Plan:
    plan = plan_removal(clients or ALL, place, journal, in_project=in_project, instructions=instructions)
    carry_out(plan, journal)
    return plan


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_setup_in_an_empty_home_makes_files_and_removal_leaves_nothing(
    place: Place, wish: Wish, journal: Journal
) -> None:
    before = tree(place.home)
    plan = set_up(place, replace(wish, allowed=EVERYTHING), journal)
    assert {edit.file.path for edit in plan.edits} == {path for one in plan.outcomes for path, _ in one.files}
    assert all(path.is_file() for one in plan.outcomes for path, _ in one.files)
    assert not plan_setup(ALL, place, replace(wish, allowed=EVERYTHING)).edits
    remove(place, journal)
    assert tree(place.home) == before


def test_setup_in_a_project_and_removal_leaves_nothing(place: Place, journal: Journal) -> None:
    assert place.project is not None
    wish, before = Wish("satchel", in_project=True), tree(place.home)
    plan = set_up(place, wish, journal, instructions=True)
    assert (place.project / "AGENTS.md").is_file()
    assert not plan_setup(ALL, place, wish, instructions=True).edits
    assert all(edit.file.path.is_relative_to(place.project) for edit in plan.edits)
    assert str(place.home) not in "".join(edit.after or "" for edit in plan.edits)
    remove(place, journal, in_project=True, instructions=True)
    assert tree(place.home) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_removal_gives_back_the_bytes_of_any_configuration(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, journal = Place(Path(folder) / "home", {}), Journal(Path(folder) / "state")
        place.home.mkdir()
        wish = Wish("/opt/satchel", allowed=EVERYTHING)
        for target in CLIENTS[name].targets(place, wish):
            if target.syntax is None or data.draw(st.booleans()):
                continue
            texts = toml_texts() if target.syntax is Syntax.TOML else json_texts(comments=target.syntax is Syntax.JSONC)
            bom = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
            write(target.path, bom + data.draw(texts)[0].encode())
            target.path.chmod(data.draw(st.sampled_from([0o600, 0o644])))
        before = tree(place.home)
        set_up(place, wish, journal, CLIENTS[name])
        once = tree(place.home)
        set_up(place, wish, journal, CLIENTS[name])
        assert tree(place.home) == once
        remove(place, journal, CLIENTS[name])
        assert tree(place.home) == before


@pytest.mark.parametrize("name", [name for name in CLIENTS if name != "codex"])
def test_removal_from_a_file_that_others_have_changed_takes_out_only_what_is_ours(
    name: str, place: Place, wish: Wish, journal: Journal
) -> None:
    client = CLIENTS[name]
    path = client.targets(place, wish)[0].path
    write(path, '{"mine": {"deep": [1, 2]}}\n')
    set_up(place, wish, journal, client)
    path.write_text(path.read_text().replace('"deep"', '"later": true, "deep"'))
    plan = remove(place, journal, client)
    assert Way.TAKE in {edit.way for edit in plan.edits}
    assert path.read_text() == '{"mine": {"later": true, "deep": [1, 2]}}\n'


def test_removal_from_a_file_of_codex_that_others_have_changed(place: Place, wish: Wish, journal: Journal) -> None:
    path = write(place.home / ".codex" / "config.toml", "# mine\nmodel = 'x'\n")
    set_up(place, wish, journal, CLIENTS["codex"])
    path.write_text(path.read_text() + '\n[hooks.state]\n"a" = { trusted_hash = "b" }\n')
    remove(place, journal, CLIENTS["codex"])
    assert parse(path.read_text(), Syntax.TOML) == {"model": "x", "hooks": {"state": {"a": {"trusted_hash": "b"}}}}
    assert path.read_text().startswith("# mine\nmodel = 'x'\n")


def test_files_that_setup_made_are_deleted_also_where_its_journal_is_lost(
    place: Place, wish: Wish, journal: Journal, tmp_path: Path
) -> None:
    set_up(place, wish, journal, CLIENTS["copilot"], CLIENTS["opencode"])
    remove(place, Journal(tmp_path / "another"), CLIENTS["copilot"], CLIENTS["opencode"])
    left = [path for path, (_, content) in tree(place.home).items() if content is not None]
    assert left == [".config/opencode/opencode.json", ".copilot/mcp-config.json"]  # they may be the user's
    assert (place.home / left[1]).read_text().strip() == "{}"


def test_removal_passes_over_broken_files_that_setup_never_wrote_and_refuses_those_that_it_did(
    place: Place, wish: Wish, journal: Journal
) -> None:
    never = write(place.home / ".qwen" / "settings.json", "{")
    set_up(place, wish, journal, CLIENTS["cursor"])
    broken = write(place.home / ".cursor" / "mcp.json", "{")
    with pytest.raises(InvalidInput, match="line 1"):
        remove(place, journal)
    broken.unlink()
    remove(place, journal)
    assert [path for path, (_, content) in tree(place.home).items() if content is not None] == [".qwen/settings.json"]
    write(never, '{"mcpServers": {"satchel": ')
    with pytest.raises(InvalidInput, match="line 1"):
        remove(place, journal)


def test_a_launcher_that_moved_is_replaced_and_removal_still_gives_back_the_bytes(
    place: Place, wish: Wish, journal: Journal
) -> None:
    write(place.home / ".claude.json", '{"a": 1}')
    before = tree(place.home)
    set_up(place, wish, journal)
    plan = set_up(place, replace(wish, launcher="/new place/satchel"), journal)
    assert all(one.files for one in plan.outcomes)
    assert "replaced the server: it starts /opt/satchel/bin/satchel mcp" in plan.outcomes[0].notes
    assert "/opt/satchel" not in "".join(edit.after or "" for edit in plan.edits)
    remove(place, journal)
    assert tree(place.home) == before


@pytest.mark.parametrize(
    ("path", "content", "error"),
    [
        (".codex/config.toml", "[mcp_servers\n", "line 1"),
        (".claude.json", '{"a": 1,}', "line 1"),
        (".claude/settings.json", "// a comment\n{}", "line 1"),
        (".gemini/settings.json", '{"mcpServers": [}', "line 1"),
        (".cursor/mcp.json", "[]", "object"),
        (".claude.json", '{"mcpServers": "text"}', "mcpServers"),
        (".qwen/settings.json", '{"hooks": {"SessionStart": 1}}', "SessionStart"),
        (".copilot/mcp-config.json", '{"mcpServers": {"satchel": {"url": "x"}}}', "does not start Satchel"),
        (".config/opencode/plugin/satchel.js", "export const mine = 1\n", "did not make"),
        (".cursor/hooks.json", b"\xff\xfe{\x00}\x00", "UTF-16"),
        (".cursor/hooks.json", b'{"a": "\xe9"}', "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written_anywhere(
    path: str, content: str | bytes, error: str, place: Place, wish: Wish, journal: Journal
) -> None:
    file = write(place.home / path, content)
    before = tree(place.home)
    with pytest.raises(SatchelError, match=error) as raised:
        set_up(place, wish, journal)
    assert str(file) in raised.value.problem
    assert raised.value.remedy
    assert isinstance(raised.value, (InvalidInput, Refused))
    assert tree(place.home) == before


@pytest.mark.parametrize("what", ["file", "folder", "dangling"])
def test_a_link_is_refused(what: str, place: Place, wish: Wish, journal: Journal, tmp_path: Path) -> None:
    real = write(tmp_path / "elsewhere" / "settings.json", "{}")
    (place.home / ".claude.json").write_text("{}")
    if what == "folder":
        (place.home / ".claude").symlink_to(real.parent)
    else:
        (place.home / ".claude").mkdir()
        (place.home / ".claude" / "settings.json").symlink_to(real if what == "file" else tmp_path / "nothing")
    with pytest.raises(Refused, match="is a link"):
        set_up(place, wish, journal, CLIENTS["claude"])
    assert (real.read_text(), (place.home / ".claude.json").read_text()) == ("{}", "{}")


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude"])
def test_a_file_or_folder_that_is_read_only_is_refused_before_anything_is_written(
    name: str, place: Place, wish: Wish, journal: Journal
) -> None:
    write(place.home / ".claude" / "settings.json", "{}")
    before = (place.home / name).stat().st_mode
    (place.home / name).chmod(before & ~0o222)
    try:
        with pytest.raises(Refused, match="read-only"):
            set_up(place, wish, journal, CLIENTS["claude"])
        assert not (place.home / ".claude.json").exists()
    finally:
        (place.home / name).chmod(before)


def test_a_home_that_cannot_be_written_is_refused(place: Place, wish: Wish, journal: Journal) -> None:
    place.home.chmod(0o500)
    try:
        with pytest.raises(Refused):
            set_up(place, wish, journal)
    finally:
        place.home.chmod(0o700)
    assert not (place.home / ".claude.json").exists()


def test_a_file_that_changes_while_setup_runs_is_not_overwritten(place: Place, wish: Wish, journal: Journal) -> None:
    path = write(place.home / ".claude.json", "{}")
    plan = plan_setup([CLIENTS["claude"]], place, wish)
    path.write_text('{"login": 1}')
    with pytest.raises(Conflict, match="changed since it was read"):
        carry_out(plan, journal)
    assert path.read_text() == '{"login": 1}'


def test_what_was_written_before_a_failure_is_named(place: Place, wish: Wish, journal: Journal) -> None:
    path = write(place.home / ".claude" / "settings.json", "{}")
    plan = plan_setup([CLIENTS["claude"]], place, wish)
    path.write_text('{"later": 1}')
    with pytest.raises(Conflict, match=r"written before that: .*\.claude\.json"):
        carry_out(plan, journal)


def test_a_plugin_that_brings_everything_is_left_as_it_is(place: Place, wish: Wish, journal: Journal) -> None:
    write(place.home / ".claude" / "settings.json", '{"enabledPlugins": {"satchel@market": true}}')
    write(place.home / ".claude" / "plugins" / "installed_plugins.json", '{"plugins": {"satchel@market": []}}')
    before = tree(place.home)
    plan = set_up(place, wish, journal, CLIENTS["claude"])
    assert plan.outcomes[0].notes == ("the plugin satchel@market brings server and hooks; left as it is",)
    assert tree(place.home) == before


def test_vs_code_needs_no_hooks_where_claude_code_has_them_in_the_project(place: Place, journal: Journal) -> None:
    wish = Wish("satchel", in_project=True)
    alone = plan_setup([CLIENTS["vscode"]], place, wish)
    both = plan_setup([CLIENTS["claude"], CLIENTS["vscode"]], place, wish)
    assert len(alone.outcomes[0].files) == 2
    assert len(both.outcomes[1].files) == 1
    carry_out(plan_setup([CLIENTS["claude"]], place, wish), journal)
    assert len(plan_setup([CLIENTS["vscode"]], place, wish).outcomes[0].files) == 1


def test_claude_code_and_copilot_share_the_file_of_a_project(place: Place, journal: Journal) -> None:
    assert place.project is not None
    set_up(place, Wish("satchel", in_project=True), journal, CLIENTS["claude"], CLIENTS["copilot"])
    content = parse((place.project / ".mcp.json").read_text(), Syntax.JSON)
    entry = {"type": "stdio", "command": "satchel", "args": ["mcp"], "tools": ["*"]}
    assert content == {"mcpServers": {"satchel": entry}}


def test_what_is_left_for_the_user(place: Place, wish: Wish) -> None:
    left = {one.name: " ".join(one.left) for one in plan_setup(ALL, place, wish).outcomes}
    assert "`satchel setup claude --allow`" in left["claude"]
    assert "Trust all and continue" in left["codex"]
    assert "`satchel setup gemini --trust`" in left["gemini"]
    assert "`satchel setup qwen --trust`" in left["qwen"]
    assert "--allow-tool=satchel" in left["copilot"]
    assert (left["opencode"], left["cursor"], left["vscode"]) == ("", "", "")
    assert "Claude Code" in " ".join(plan_setup([CLIENTS["vscode"]], place, wish).outcomes[0].left)
    allowed = plan_setup(ALL, place, replace(wish, allowed=EVERYTHING))
    assert not any("asks before" in text for one in allowed.outcomes for text in one.left)
