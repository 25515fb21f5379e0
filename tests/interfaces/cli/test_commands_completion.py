"""What a shell completes."""

from __future__ import annotations

import pytest

from satchel.interfaces.cli.group import satchel_command


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
