"""The documents of the project, and the blocks in them that the tests run."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

_RUN = re.compile(
    r"^<!-- the tests run this block -->\n```(?P<language>sh|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def runnable(document: str = "README.md") -> list[tuple[str, str]]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [(found["language"], found["text"]) for found in _RUN.finditer(text)]


def run_example(language: str, text: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run what a document shows, in the folder ``project`` of somebody's home."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    if language == "sh":
        own["SATCHEL_PERSON"] = getpass.getuser()
    path = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", "")])
    return subprocess.run(
        ["sh", "-eu", "-c", text] if language == "sh" else [sys.executable, "-W", "error", "-c", text],
        check=False,
        cwd=home / "project",
        env=own | {"PATH": path, "HOME": str(home), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
