"""``python -m benchmarks.commits CLONE COMMIT``: the commits up to one, as JSON lines, the oldest first.

They are read from a local clone and kept outside this repository; :mod:`benchmarks.repositories` measures with them.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

COMMITS = 600
AGENTS = ("ada", "ben", "cleo", "dora", "emil")
"""Who stands for the authors, each for those whose address has one hash."""

_BODY = 600
_HASH = 10
_FORMAT = "%x1e%H%x1f%ct%x1f%ae%x1f%s%x1f%b%x1f"
_CHOSEN = ("--no-merges", "--reverse", f"--max-count={COMMITS}", "--name-only")
_TRAILER = re.compile(r"^(?:[A-Z][a-z]+-)+by: .*$", re.MULTILINE | re.IGNORECASE)
_ADDRESS = re.compile(r"<?[\w.+-]+@[\w-]+(?:\.[\w-]+)+>?")


def commits(clone: Path, last: str) -> Iterator[dict[str, str | int]]:
    """Yield the last 600 commits up to one that are no merges, by time.

    Each has its ``hash``, the ``time`` in Unix seconds, the ``agent`` that stands for its author, the ``title``, up to
    600 characters of the ``body``, both without addresses, and the first ``file`` it changes.
    """
    told = subprocess.run(
        ["git", "-C", str(clone), "-c", "core.quotePath=false", "log", *_CHOSEN, f"--format={_FORMAT}", last],
        capture_output=True,
        check=True,
    ).stdout.decode(errors="replace")
    parts = [one.split("\x1f") for one in told.split("\x1e")[1:]]
    for number, time, author, title, body, files in sorted(parts, key=lambda one: int(one[1])):
        yield {
            "hash": number[:_HASH],
            "time": int(time),
            "agent": AGENTS[hashlib.sha256(author.lower().encode()).digest()[0] % len(AGENTS)],
            "title": _ADDRESS.sub("", title).strip(),
            "body": _ADDRESS.sub("", _TRAILER.sub("", body)).strip()[:_BODY].rstrip(),
            "file": files.strip("\n").partition("\n")[0],
        }


if __name__ == "__main__":
    for commit in commits(Path(sys.argv[1]), sys.argv[2]):
        print(json.dumps(commit, ensure_ascii=False))
