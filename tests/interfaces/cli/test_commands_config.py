"""``satchel config``: changing the user's file, and the project's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "satchel" / "config.toml"


def test_a_value_is_set_in_the_users_file_and_counts(cli: Cli, own: Path) -> None:
    assert cli("config", "set", "brief.budget", "1000")[0] == 0
    assert own.read_text() == "[brief]\nbudget = 1000\n"
    assert "brief.budget = 1000  (your config.toml)" in cli("config")[1]


def test_comments_and_other_keys_stay(cli: Cli, own: Path) -> None:
    own.parent.mkdir(parents=True)
    before = '# mine\n[store]\ndurability = "full" # safe\nlock_wait_ms = 5\n'
    own.write_text(before)
    cli("config", "set", "store.durability", "relaxed")
    assert own.read_text() == before.replace("full", "relaxed")
    cli("config", "unset", "store.lock_wait_ms")
    assert own.read_text() == '# mine\n[store]\ndurability = "relaxed" # safe\n'


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("brief.buget", "1"), "unknown configuration key 'brief.buget'. Did you mean 'brief.budget'?"),
        (("brief.budget", "many"), "brief.budget 'many' is not a whole number"),
        (("person.name", "ann", "--shared"), "the project's file may not set person.name to 'ann'"),
        (("brief.budget", "900000", "--shared"), "the project's file may not set brief.budget to 900000"),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_written(
    cli: Cli, own: Path, folder: Path, arguments: tuple[str, ...], problem: str
) -> None:
    status, _, errors = cli("config", "set", *arguments)
    assert status != 0
    assert problem in errors
    assert not own.exists()
    assert not (folder / ".satchel" / "config.toml").exists()


def test_the_projects_file_is_changed_where_that_is_said(cli: Cli, own: Path, folder: Path) -> None:
    cli("write", "discovery", "a note")
    assert cli("config", "set", "brief.budget", "500", "--shared")[0] == 0
    assert "[brief]\nbudget = 500\n" in (folder / ".satchel" / "config.toml").read_text()
    assert not own.exists()


def test_an_agent_does_not_change_it(cli: Cli, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SATCHEL_PERSON", raising=False)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a person can change the configuration" in cli("config", "set", "store.durability", "relaxed")[2]
    assert not own.exists()


def test_a_variable_that_overrides_the_file_is_named(cli: Cli, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_BRIEF_BUDGET", "2000")
    assert "SATCHEL_BRIEF_BUDGET in the environment overrides it" in cli("config", "set", "brief.budget", "1000")[2]


def test_configuration_names_the_source_of_each_value(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_STORE_BACKUPS_KEEP", "3")
    (folder / ".satchel").mkdir()
    (folder / ".satchel" / "config.toml").write_text('[claims]\nminutes = 5\n[brief]\nbudget = "x"\n')
    _, out, err = cli("config")
    assert "store.backups_keep = 3  (environment SATCHEL_STORE_BACKUPS_KEEP)" in out
    assert "claims.minutes = 5  (config.toml)" in out
    assert "layers.open = false  (default)" in out
    assert "context.max_per_loop = not set  (default)" in out
    assert "warning: config.toml: brief.budget" in err


def test_the_template_of_a_configuration_sets_nothing(cli: Cli, folder: Path) -> None:
    (folder / ".satchel").mkdir()
    (folder / ".satchel" / "config.toml").write_text(cli("config", "--template")[1])
    _, out, err = cli("config")
    assert "(config.toml)" not in out
    assert err == ""
