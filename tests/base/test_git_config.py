"""Git's configuration is read as git reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.asking_git import at_home, git, write_all
from examples import examples
from satchel.base.git_config import read_config

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
_NAMES = ("excludesFile =", "excludesfile=", "other =", "[core]", '[core "x"]', "[core] excludesFile =", "\ufeff", "")
_LINE = st.builds(
    lambda name, signs: name + "".join(signs), st.sampled_from(_NAMES), st.lists(st.sampled_from(_SIGNS), max_size=6)
)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of our own, for git and for us."""
    with at_home(tmp_path_factory.mktemp("home")) as home:
        yield home


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository without anything in it."""
    git(tmp_path, "init", "--quiet", "--template=")
    return tmp_path


def asked(repository: Path) -> str | None:
    """Return what git takes for the file of rules where one is configured."""
    answer = git(repository, "config", "--null", "--type=path", "--get", "core.excludesFile", may_fail=True)
    return answer.removesuffix("\0") or None


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\texcludesFile = /rules\n",
        "[CORE]\nEXCLUDESFILE=/rules",
        "[core] excludesFile = /rules # a comment\n",
        '[core]\nexcludesFile = "/ru;les # " ; a comment\n',
        '[core]\nexcludesFile = /a" b "c\n',
        '[core]\nexcludesFile = "/a\\\\b\\"c\\td"\n',
        "[core]\nexcludesFile = /ru\\\nles\n",
        "[core]\r\nexcludesFile = /rules\r\n",
        "\ufeff[core]\nexcludesFile = /rules\n",
        "[core]\nexcludesFile = ~/rules\n",
        "[core]\nexcludesFile = /first\n[core]\nexcludesFile = /last\n",
        "# excludesFile\n; [core]\n[core]\n\n  # nothing\nexcludesFile = /rules\n",
        '[remote "a \\"b\\" ]"]\nurl = x\n[core]\nexcludesFile = /rules\n',
        "[core]\nbare\nexcludesFile = /rules\n",
    ],
)
def test_a_value_is_what_git_reads(repository: Path, text: str) -> None:
    (repository / ".git" / "config").write_bytes(text.encode())
    answer = asked(repository)
    assert answer is not None
    assert read_config(str(repository / ".git")).excludes_file == answer


@pytest.mark.parametrize(
    "text", ['[core "x"]\nexcludesFile = /rules\n', "[core.x]\nexcludesFile = /rules\n", "[core]\n"]
)
def test_without_a_value_the_file_is_the_usual_one(repository: Path, home: Path, text: str) -> None:
    (repository / ".git" / "config").write_text(text)
    assert asked(repository) is None
    assert read_config(str(repository / ".git")).excludes_file == f"{home}/.config/git/ignore"


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(_LINE, max_size=4))
def test_whatever_the_file_says_a_value_that_git_reads_is_ours(repository: Path, home: Path, lines: list[str]) -> None:
    (repository / ".git" / "config").write_bytes("\n".join(["[core]", *lines]).encode())
    answer = asked(repository)
    if answer is not None:
        assert read_config(str(repository / ".git")).excludes_file == answer


_USUAL = {
    "home/.gitconfig": "[core]\nexcludesFile = /from/home\n",
    "home/.config/git/config": "[core]\nexcludesFile = /from/config\n",
    "xdg/git/config": "[core]\nexcludesFile = /from/xdg\n",
    "other": "[core]\nexcludesFile = /from/other\n",
    "here/.git/config": "[core]\nexcludesFile = /from/here\n",
}


@pytest.mark.parametrize(
    "variables", [{}, {"XDG_CONFIG_HOME": "xdg"}, {"GIT_CONFIG_GLOBAL": "other"}, {"XDG_CONFIG_HOME": ""}]
)
@pytest.mark.parametrize("without", [(), ("here/.git/config",), ("here/.git/config", "home/.gitconfig")])
def test_the_files_are_those_of_git_and_the_same_one_wins(
    tmp_path: Path, variables: dict[str, str], without: tuple[str, ...]
) -> None:
    (tmp_path / "here").mkdir()
    whole = {name: value and str(tmp_path / value) for name, value in variables.items()}
    with at_home(tmp_path / "home", **whole):
        git(tmp_path / "here", "init", "--quiet", "--template=")
        write_all(tmp_path, {path: text for path, text in _USUAL.items() if path not in without})
        answer = asked(tmp_path / "here")
        assert answer is not None
        assert read_config(str(tmp_path / "here" / ".git")).excludes_file == answer


def test_the_file_of_the_system_is_read_unless_that_is_forbidden(tmp_path: Path) -> None:
    write_all(tmp_path, {"system": "[core]\nexcludesFile = /from/system\n"})
    environ = {"GIT_CONFIG_SYSTEM": str(tmp_path / "system")}
    assert read_config(None, environ).excludes_file == "/from/system"
    assert read_config(None, {**environ, "GIT_CONFIG_NOSYSTEM": "true"}).excludes_file is None


def test_an_empty_value_is_no_file(tmp_path: Path) -> None:
    write_all(tmp_path, {"config": "[core]\nexcludesFile =\n"})
    assert read_config(str(tmp_path), {"HOME": "/home/of", "GIT_CONFIG_NOSYSTEM": "1"}).excludes_file is None


def test_without_a_home_there_is_no_file(tmp_path: Path) -> None:
    write_all(tmp_path, {"config": "[core]\nexcludesFile = ~/rules\n"})
    assert read_config(str(tmp_path), {"GIT_CONFIG_NOSYSTEM": "1"}).excludes_file is None
    assert read_config(None, {"GIT_CONFIG_NOSYSTEM": "1"}).excludes_file is None


@pytest.mark.parametrize("said", ["true", "TRUE", "yes", "on", "1", "2", "false", "no", "off", "0", ""])
def test_whether_case_makes_a_difference_is_what_git_says(repository: Path, said: str) -> None:
    (repository / ".git" / "config").write_text(f"[core]\nignoreCase = {said}\n")
    answer = git(repository, "config", "--type=bool", "--get", "core.ignoreCase").strip()
    assert read_config(str(repository / ".git")).any_case is (answer == "true")


def test_a_name_without_a_value_is_a_yes(repository: Path) -> None:
    (repository / ".git" / "config").write_text("[core]\nignoreCase\n")
    assert read_config(str(repository / ".git")).any_case


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    assert not read_config(str(tmp_path)).any_case
