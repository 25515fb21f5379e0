"""Hooks on a busy machine: what a start or an edit misses, the next hook of the session says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks import load

pytestmark = pytest.mark.slow

_HOOK = [sys.executable, "-m", "satchel", "hook", "claude"]
_TIMES = 5


def test_no_start_and_no_edit_of_a_claimed_file_is_lost(own_state: None, tmp_path: Path) -> None:
    project = tmp_path / "project"
    load.fill(project)
    own = ("SATCHEL_HOOKS_DEADLINE_MS", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if name not in own}
    environ |= {"HOME": str(tmp_path), "SATCHEL_TRUST": "1"}
    with load.busy(10):
        begun = load.starts(project, _HOOK, environ, _TIMES)
        edited = load.edits(project, _HOOK, environ, _TIMES)
    assert [(one.at_once + one.late, one.lost) for one in (begun, edited)] == [(_TIMES, 0)] * 2
