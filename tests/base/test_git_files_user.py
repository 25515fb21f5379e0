"""The user's name is what git reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.asking_git import at_home, git, write_all
from examples import examples
from satchel.base.git_files import user_name

_SIGNS = (
    '"',
    "\\",
    '\\"',
    "\\\\",
    "\\t",
    "\\n",
    "\\\n",
    "#",
    ";",
    "a",
    "/b c",
    "~/d",
    "[",
    "]",
    "1",
    "=",
)
_NAMES = ("name =", "name=", "other =", "[user]", '[user "x"]', "[user] name =", "\ufeff", "")
_LINE = st.builds(
    lambda name, signs: name + "".join(signs), st.sampled_from(_NAMES), st.lists(st.sampled_from(_SIGNS), max_size=6)
)


def name_in(file: Path) -> str | None:
    return user_name({"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": str(file)})


def name_of_git(file: Path) -> str | None:
    """Return what git reads from a file."""
    answer = git(file.parent, "config", "--file", str(file), "--null", "--get", "user.name", may_fail=True)
    return answer.removesuffix("\0") or None


@pytest.mark.parametrize(
    "text",
    [
        "[user]\n\tname = /rules\n",
        "[USER]\nNAME=/rules",
        "[user] name = /rules # a comment\n",
        '[user]\nname = "/ru;les # " ; a comment\n',
        '[user]\nname = /a" b "c\n',
        '[user]\nname = "/a\\\\b\\"c\\td"\n',
        "[user]\nname = /ru\\\nles\n",
        "[user]\r\nname = /rules\r\n",
        "\ufeff[user]\nname = /rules\n",
        "[user]\nname = ~/rules\n",
        "[user]\nname = /first\n[user]\nname = /last\n",
        "# name\n; [user]\n[user]\n\n  # nothing\nname = /rules\n",
        '[remote "a \\"b\\" ]"]\nurl = x\n[user]\nname = /rules\n',
        "[user]\nbare\nname = /rules\n",
    ],
)
def test_a_value_is_what_git_reads(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    assert name_in(file) == name_of_git(file) is not None


@pytest.mark.parametrize(
    "text",
    ['[user "x"]\nname = ann\n', "[user.x]\nname = ann\n", "[user]\n", "[user]\nname =\n", "[other]\nname = ann\n"],
)
def test_without_a_value_there_is_no_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    assert name_in(file) is name_of_git(file) is None


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(_LINE, max_size=4))
def test_whatever_the_file_holds_a_value_that_git_reads_is_ours(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "config"
    file.write_bytes("\n".join(["[user]", *lines]).encode())
    name = name_of_git(file)
    if name is not None:
        assert name_in(file) == name


_USUAL = {
    "home/.gitconfig": "[user]\nname = home\n",
    "home/.config/git/config": "[user]\nname = config\n",
    "xdg/git/config": "[user]\nname = xdg\n",
    "other": "[user]\nname = other\n",
}


@pytest.mark.parametrize(
    "variables", [{}, {"XDG_CONFIG_HOME": "xdg"}, {"GIT_CONFIG_GLOBAL": "other"}, {"XDG_CONFIG_HOME": ""}]
)
@pytest.mark.parametrize("without", [(), ("home/.gitconfig",)])
def test_the_files_are_those_of_git_and_the_same_one_wins(
    tmp_path: Path, variables: dict[str, str], without: tuple[str, ...]
) -> None:
    whole = {name: value and str(tmp_path / value) for name, value in variables.items()}
    with at_home(tmp_path / "home", **whole):
        write_all(tmp_path, {path: text for path, text in _USUAL.items() if path not in without})
        assert user_name(os.environ) == git(tmp_path, "config", "--get", "user.name").strip()


def test_the_file_of_the_system_is_read_unless_that_is_forbidden(tmp_path: Path) -> None:
    write_all(tmp_path, {"system": "[user]\nname = system\n"})
    environ = {"GIT_CONFIG_SYSTEM": str(tmp_path / "system")}
    assert user_name(environ) == "system"
    assert user_name({**environ, "GIT_CONFIG_NOSYSTEM": "true"}) is None


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    assert name_in(tmp_path / "config") is None
