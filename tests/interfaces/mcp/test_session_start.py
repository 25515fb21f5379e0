"""What a server does when a session starts: the shared text is read, and nothing fails for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base.errors import Busy
from satchel.interfaces.mcp.server import shared_text_read
from satchel.keep.shared.service import SharedTexts


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pause that lets a client have its first answers."""
    monkeypatch.setattr("satchel.interfaces.mcp.server._PAUSE_SECONDS", 0)


def test_the_shared_text_is_read_when_a_session_starts(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    """What others wrote is counted from then on."""
    (tmp_path / "plain").mkdir()
    satchel = open_in(tmp_path / "plain", here=True, caller="command")
    satchel.decisions.set("db", "SQLite")
    satchel.shared.share(["d1"])
    (file,) = (tmp_path / "plain/.satchel/shared").glob("*.md")
    changed = file.read_text().replace("SQLite", "DuckDB")
    file.unlink()
    file.write_text(changed)
    with shared_text_read(satchel):
        pass
    assert "1 shared text waits" in satchel.brief(budget=1_000).text


def test_a_reading_that_fails_fails_nothing_else(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Satchel sync says why."""
    satchel.decisions.set("db", "SQLite")
    asked = []

    def fail(self: SharedTexts) -> None:
        asked.append(self)
        raise Busy("locked")

    monkeypatch.setattr(SharedTexts, "read_news", fail)
    with shared_text_read(satchel):
        pass
    assert len(asked) == 1
