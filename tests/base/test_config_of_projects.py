"""The configuration file of a project, which may have come with a clone: what it may set, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from base.loaded_config import MOMENTS, from_project
from satchel.base.config import documented_toml, load_config
from satchel.base.config_keys import KEYS, Key
from satchel.base.errors import Refused
from tables import in_one_test

OF_PROJECTS = {key.name for key in KEYS if key.project == "yes"}
STRICTER = {"guard.claims"}
LOWERED = {
    *("context.max_content_kib", "brief.budget", "brief.deadline_ms"),
    *(f"hooks.{moment}" for moment in MOMENTS),
}


def test_a_projects_file_may_set_only_what_cannot_send_or_delete() -> None:
    assert {
        *("layers.open", "claims.minutes", "brief.token_factor", "tokens.encoding"),
    } == OF_PROJECTS
    assert {key.name for key in KEYS if key.project == "lower"} == LOWERED
    assert {key.name for key in KEYS if key.project == "stricter"} == STRICTER


@pytest.mark.parametrize("value", ["warn", "deny"])
def test_a_projects_file_makes_the_guard_stricter(tmp_path: Path, value: str) -> None:
    config = from_project(tmp_path, f'[guard]\nclaims = "{value}"\n')
    assert (config.guard_claims, config.warnings) == (value, ())


def test_a_projects_file_does_not_switch_the_guard_off(tmp_path: Path) -> None:
    config = from_project(tmp_path, '[guard]\nclaims = "off"\n')
    (warning,) = config.warnings
    assert config.guard_claims == "warn"
    assert warning.startswith('config.toml: a project\'s file may only set guard.claims to "deny" or "warn", not to ')


@in_one_test("key", [key for key in KEYS if key.project == "no"])
def test_what_a_projects_file_may_not_set_is_passed_over_with_a_warning(tmp_path: Path, key: Key) -> None:
    table, name = key.name.split(".")
    value = key.example if key.default in (None, ()) else key.default
    config = from_project(tmp_path, f"[{table}]\n{name} = {json.dumps(value)}\n", user_file=tmp_path / "mine.toml")
    assert config.setting(key.name).source == "default"
    (warning,) = config.warnings
    assert warning.startswith(f"config.toml: {key.name} counts only in your own file ({tmp_path / 'mine.toml'})")


def test_a_projects_file_lowers_a_budget(tmp_path: Path) -> None:
    config = from_project(tmp_path, "[brief]\nbudget = 1000\n")
    assert (config.brief_budget, config.setting("brief.budget").source, config.warnings) == (1_000, "config.toml", ())


@in_one_test("name", sorted(LOWERED))
def test_a_projects_file_does_not_raise_a_budget(tmp_path: Path, name: str) -> None:
    table, key = name.split(".")
    config = from_project(tmp_path, f"[{table}]\n{key} = 9999\n")
    assert config.setting(name).source == "default"
    assert "may only lower" in config.warnings[0]


def test_the_users_file_goes_before_the_projects(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[claims]\nminutes = 5\n")
    assert from_project(tmp_path, "[claims]\nminutes = 50\n", user_file=mine).claims_minutes == 5


def test_the_users_file_has_tables_for_one_project(tmp_path: Path) -> None:
    mine, here, there = tmp_path / "mine.toml", tmp_path / "here", tmp_path / "there"
    mine.write_text(f"[claims]\nminutes = 5\n[projects.{json.dumps(str(here))}.claims]\nminutes = 7\n")
    found = [load_config(None, {}, user_file=mine, root=root).claims_minutes for root in (here, there, None)]
    assert found == [7, 5, 5]


def test_a_link_in_the_place_of_a_projects_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("[claims]\nminutes = 5\n")
    (tmp_path / "config.toml").symlink_to("elsewhere")
    with pytest.raises(Refused, match=r"config\.toml is a link"):
        load_config(tmp_path, {})


def test_a_pipe_in_the_place_of_a_projects_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(Refused, match="not a regular file"):
        load_config(tmp_path, {})


def test_a_projects_file_of_a_gigabyte_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "config.toml").open("wb") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(Refused, match="has 1073741824 bytes"):
        load_config(tmp_path, {})


def test_the_documented_file_of_a_project_names_only_what_counts_there(tmp_path: Path) -> None:
    lines = documented_toml().splitlines()
    config = from_project(tmp_path, "\n".join(line if line[:2] == "# " else line.lstrip("#") for line in lines))
    assert config.warnings == ()
    assert {
        setting.key.name for setting in config.settings if setting.source == "config.toml"
    } == OF_PROJECTS | LOWERED | STRICTER
