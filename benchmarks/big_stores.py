"""Stores of up to a million entries in which every filter matches the same thousand, built once and kept."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import apsw

from benchmarks.content import Note, batches, notes, open_store, sqlite_of
from benchmarks.harness import WORKSHOP, Bench
from satchel.base.clock import Clock, system_clock
from satchel.client import Satchel

MATCHES = 1_000
"""How many entries each filter matches in every store."""

WIDE, NARROW = "wide", "narrow"
"""The run that holds nearly all entries, and the run that holds a thousand of its own."""

TYPE, TASK, LOOP, FILE = "error", "T-match", "loop-match", "src/match.py"
RARE_WORD, FREQUENT_WORD = "quasar", "lantern"
"""A word of only the matching entries of the wide run; a word of every narrow and every second wide entry."""

Fill = Callable[[Satchel, int, Callable[[int], None]], object]
"""Fills an empty store with so many entries, and says how many are written."""

START = 1_760_000_000_000
"""When the first of a kept store was written, in milliseconds UTC."""


def open_big(size: int, bench: Bench) -> Satchel:
    """Open the store whose wide run has so many entries, built where it is not kept from an earlier run."""
    return open_kept("entries", size, bench, _fill)


def open_kept(kind: str, size: int, bench: Bench, fill: Fill, clock: Clock = system_clock) -> Satchel:
    """Open a store of a kind and size; it is filled where none is kept from an earlier run.

    Args:
        kind: what tells it from other kept stores.
        size: how many entries are asked of ``fill``.
        bench: where it is built.
        fill: writes the entries, a second at least after each other; nothing it writes is synced to the disk.
        clock: what the open store takes for the time; what was written begins at :data:`START`.
    """
    folder = WORKSHOP / f"{kind}-{size}-{_fingerprint(kind, bench, fill)}"
    if not folder.is_dir():
        for outdated in WORKSHOP.glob(f"{kind}-{size}-*"):
            shutil.rmtree(outdated)
        draft = bench.folder / folder.name
        draft.mkdir()
        with open_store(draft / "store.db", clock=_ticking()) as satchel:
            with sqlite_of(satchel).exclusive() as connection:
                connection.pragma("synchronous", "OFF")
            fill(satchel, size, lambda done: bench.progress.say(f"building a store of {size:,} entries: {done:,}"))
        draft.rename(folder)
    return open_store(folder / "store.db", clock)


def _fill(satchel: Satchel, size: int, say: Callable[[int], None]) -> None:
    for run in (WIDE, NARROW):
        satchel.runs.start(run)
    narrow = _narrow()
    written = 0
    for batch in batches(_wide(size)):
        satchel.entries.write_many([note.entry() for note in batch], run_id=WIDE)
        # as many of the narrow run as matched, so that they lie as evenly as those that match
        due = [next(narrow).entry() for note in batch if note.file == FILE]
        if due:
            satchel.entries.write_many(due, run_id=NARROW)
        written += len(batch)
        say(written)


def _wide(size: int) -> Iterator[Note]:
    made = notes(5_000, "wide")
    every = size // MATCHES
    for place in range(size):
        note = made[place % len(made)]
        # each says something of its own: those that say the same are one note
        content = f"{note.content} {place}"
        if place % every == 0:
            content = f"{content} {RARE_WORD}"
            yield replace(note, type=TYPE, content=content, task_id=TASK, loop_id=LOOP, file=FILE)
        else:
            kind = "decision" if place % 2 else "discovery"
            yield replace(note, type=kind, content=f"{content} {FREQUENT_WORD}" if place % 2 else content)


def _narrow() -> Iterator[Note]:
    for note in notes(MATCHES, "narrow"):
        yield replace(note, content=f"{note.content} {FREQUENT_WORD}")


def _ticking() -> Callable[[], int]:
    ticks = count(START, 1_000)
    return lambda: next(ticks)


def _fingerprint(kind: str, bench: Bench, fill: Fill) -> str:
    """Tell the schema and what is indexed: a store kept from another version of either is of no use."""
    file = bench.folder / f"sample-{kind}.db"
    if not file.exists():
        with open_store(file, clock=_ticking()) as satchel:
            fill(satchel, MATCHES, lambda _: None)
    connection = apsw.Connection(str(file))
    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab (main, documents_fts, col)")
    digest = hashlib.sha256()
    for query in ("SELECT sql FROM sqlite_schema", "SELECT * FROM terms"):
        for row in connection.execute(query):
            digest.update(repr(row).encode())
    connection.close()
    return digest.hexdigest()[:12]
