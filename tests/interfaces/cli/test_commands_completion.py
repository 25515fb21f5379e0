"""``satchel completion``: the script for a shell, and what it completes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from satchel.interfaces.cli.group import satchel_command

Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_program(cli: Cli, shell: str) -> None:
    status, script, _ = cli("completion", shell)
    assert status == 0
    assert f"_SATCHEL_COMPLETE={shell}_complete" in script


@pytest.mark.parametrize(
    ("words", "at", "expected"), [("satchel conf", 1, "plain,config"), ("satchel decide --sta", 2, "plain,--status")]
)
def test_commands_and_options_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, at: int, expected: str
) -> None:
    monkeypatch.setenv("_SATCHEL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(at))
    with pytest.raises(SystemExit):
        satchel_command.main([], prog_name="satchel")
    assert expected in capsys.readouterr().out.splitlines()
