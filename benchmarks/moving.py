"""Export and import: lines of a hundred thousand notes beside bare SQL, and taking them beside writing them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw

from benchmarks.content import Note, notes, open_store
from benchmarks.harness import Bench, Figure, Samples, Section, interleave, timed
from satchel.client import Satchel
from satchel.keep import projects
from satchel.keep.moving import lines as moving
from satchel.keep.moving.taking import PER_TRANSACTION, Taking

_PER_BATCH = 500
_EXPORTED_A_SECOND = 20_000
_IMPORTED_BESIDE_WRITTEN = 1 / 0.8


def run(bench: Bench) -> Section:
    """Export a store, then take its lines into another one in turn with writing as many notes."""
    size = bench.choose(100_000, 2_000)
    batches = bench.choose(40, 4)
    file = bench.folder / "moving.db"
    with open_store(file) as store:
        bench.progress.say(f"filling a store with {size:,} notes")
        held = notes(size, "moving")
        for first in range(0, size, _PER_BATCH):
            store.entries.write_many([note.entry() for note in held[first : first + _PER_BATCH]])
        bench.progress.say("exporting")
        exported, bare = _exporting(bench, store, file)
        lines = _lines_of(store, batches * PER_TRANSACTION)
    return Section(
        "Export and import",
        (
            Figure(
                f"lines of an export of {size:,} notes, a second",
                size / min(exported.values) * 1_000,
                at_least=_EXPORTED_A_SECOND,
            ),
            timed(f"export {size:,} notes", exported, bare, "bare SELECT and JSON of the same columns"),
            *_importing(bench, lines, notes(batches * PER_TRANSACTION, "written"), batches),
        ),
        (
            "The bare export selects the columns of the notes and writes each row as JSON. Importing takes lines of "
            f"those, {PER_TRANSACTION} in a transaction, into a store of its own, in turn with `write_many` of "
            f"as many others into another one. The second import finds all of them here.",
        ),
    )


def _exporting(bench: Bench, store: Satchel, file: Path) -> tuple[Samples, Samples]:
    target = bench.folder / "moving.jsonl"

    def export(_: int) -> None:
        with target.open("wb") as stream:
            store.moving.export(stream)

    def bare(_: int) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        columns = ("uid", "type", "content", "task_id", "loop_id", "file", "line", "created_at")
        with closing(apsw.Connection(str(file))) as connection, target.open("wb") as stream:
            for uid, *rest in connection.execute(f"SELECT {', '.join(columns)} FROM context ORDER BY id"):
                row = dict(zip(columns, (uid.hex(), *rest), strict=True))
                stream.write(encode(row).encode() + b"\n")

    taken = interleave({"export": export, "bare": bare}, bench.choose(5, 2), 1)
    return taken["export"], taken["bare"]


def _lines_of(store: Satchel, count: int) -> list[str]:
    with store.workplace.engine.read() as transaction:
        project = projects.find(transaction, store.workplace)
        assert project is not None
        every = moving.all_lines(transaction, project.id, 0, ("entry",), damaged=[])
        return [json.dumps(line) for line, _ in zip(every, range(count), strict=False)]


def _importing(bench: Bench, lines: Sequence[str], fresh: Sequence[Note], batches: int) -> list[Figure]:
    with open_store(bench.folder / "taken.db") as taker, open_store(bench.folder / "written.db") as writer:
        taking = Taking(taker.workplace, source="benchmark", now=time.time_ns() // 1_000_000)

        def take(number: int) -> None:
            batch = lines[number * PER_TRANSACTION : (number + 1) * PER_TRANSACTION]
            with taker.workplace.engine.write() as transaction:
                project = projects.ensure(transaction, taker.workplace, 0)
                # a line is read from its text, as it is in a file
                taking.take(transaction, project.id, list(map(json.loads, batch)))

        def write(number: int) -> None:
            for first in range(number * PER_TRANSACTION, (number + 1) * PER_TRANSACTION, _PER_BATCH):
                writer.entries.write_many([note.entry() for note in fresh[first : first + _PER_BATCH]])

        bench.progress.say(f"taking and writing {batches} times {PER_TRANSACTION}")
        first = interleave({"take": take, "write": write}, batches - 2, 2)
        again = interleave({"again": take}, batches - 2, 2)
    return [
        timed(
            f"import {PER_TRANSACTION} notes",
            first["take"],
            first["write"],
            "write_many, 500 at once",
            ratio_at_most=_IMPORTED_BESIDE_WRITTEN,
        ),
        timed(
            f"import {PER_TRANSACTION} notes that are here", again["again"], first["write"], "write_many, 500 at once"
        ),
    ]
