"""One program that writes notes to a store by itself: ``python -m benchmarks.own_writer URL PROJECT AGENT``.

For each line ``COUNT SEED`` on its input it makes so many notes and says that it is ready; after one more line it
writes them, and says, as JSON on a line, how long each took in milliseconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.content import notes
from satchel import open_satchel


def main() -> None:
    """Write as asked, until the input ends."""
    url, project, agent = sys.argv[1:]
    with open_satchel(url, project, agent, project, cwd=Path("/"), environ={}) as satchel:
        satchel.entries.read(limit=1)
        print("ready", flush=True)
        for line in sys.stdin:
            count, _, seed = line.partition(" ")
            made, waits = notes(int(count), seed.strip()), []
            print("ready", flush=True)
            sys.stdin.readline()
            for note in made:
                began = time.perf_counter()
                satchel.entries.write(**note.arguments())
                waits.append((time.perf_counter() - began) * 1_000)
            print(json.dumps(waits), flush=True)


if __name__ == "__main__":
    main()
