"""What making an entry findable costs, in bytes and in time, beside a bare FTS5 table of the same texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import apsw

from benchmarks.content import open_store, sqlite_of
from benchmarks.harness import Bench, Figure, Samples, Section, interleave
from benchmarks.search_speed import texts
from satchel.client import Satchel
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import Kind

_BATCH = 500
_WARM_UP = 2
_START = 1_760_000_000_000

_PAGES = "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name LIKE ?)"


def run(bench: Bench) -> Section:
    """Index prose and identifiers, in batches and then one by one, in turn with the bare table."""
    rounds = bench.choose(40, 8)
    singles = bench.choose(300, 50)
    figures: list[Figure] = []
    for kind, write in (("prose", list[str]), ("identifiers", _with_identifiers)):
        bench.progress.say(f"indexing {kind}")
        needed = (rounds + _WARM_UP) * _BATCH + singles + _WARM_UP
        figures += _measure(kind, write(_prose(needed)), rounds, singles, bench.folder)
    return Section(
        "What the index costs",
        tuple(figures),
        (
            "Texts are 8 to 40 made-up words, drawn by Zipf's law; as identifiers, most of the same words stand in "
            "CamelCase, in snake_case and in paths. Satchel writes a row of the documents and a row of its index, with "
            "the text, the parts of its identifiers and its scope; the bare table is contentless too, with the same "
            "tokenizer, and holds the text alone. Neither is synced to the disk. Times are per entry, with their share "
            "of the commit; bytes are whole pages after the batches.",
        ),
    )


def _prose(needed: int) -> list[str]:
    made: list[str] = []
    for block in count():
        made += texts(block)
        if len(made) >= needed:
            break
    return made[:needed]


def _with_identifiers(made: Sequence[str]) -> list[str]:
    chance = random.Random("identifiers")
    return [_identifiers(text.split(), chance) for text in made]


def _identifiers(words: list[str], chance: random.Random) -> str:
    """Put three of four words into identifiers and paths, and leave the others as they are."""
    written: list[str] = []
    while words:
        taken = [words.pop() for _ in range(min(len(words), 3))]
        shape = chance.randrange(4)
        if shape == 0:
            written += taken
        elif shape == 1:
            written.append(taken[0] + "".join(word.capitalize() for word in taken[1:]))
        elif shape == 2:
            written.append("_".join(taken) + "()")
        else:
            written.append(f"src/{'/'.join(taken)}.py:{chance.randrange(1, 900)}")
    return " ".join(written)


def _measure(kind: str, made: Sequence[str], rounds: int, singles: int, folder: Path) -> list[Figure]:
    with open_store(folder / f"{kind}.db") as satchel:
        satchel.entries.write("discovery", "the first entry makes the agent known")
        ours = _spine_writer(satchel)
        bare = _bare_table(folder / f"{kind}-bare.db")
        batched = (rounds + _WARM_UP) * _BATCH
        batches = [made[start : start + _BATCH] for start in range(0, batched, _BATCH)]
        with sqlite_of(satchel).exclusive() as connection:
            connection.pragma("synchronous", "OFF")
        together = _in_turn(ours, bare, batches, rounds)
        sizes = {part: _bytes(satchel, part) / batched for part in ("documents_fts%", "documents%")}
        bare_size = _file_size(bare) / batched
        alone = _in_turn(ours, bare, [[text] for text in made[batched:]], singles)
        bare.close()
    text_size = sum(len(text.encode()) for text in made[:batched]) / batched
    beside = "bare FTS5"
    return [
        Figure(f"{kind}: text per entry", text_size, "bytes"),
        Figure(f"{kind}: index per entry", sizes["documents_fts%"], "bytes", baseline=bare_size, beside=beside),
        Figure(
            f"{kind}: index and documents per entry", sizes["documents%"], "bytes", baseline=bare_size, beside=beside
        ),
        _per_entry(f"{kind}: an entry in a batch of {_BATCH}", together, _BATCH),
        _per_entry(f"{kind}: an entry alone", alone, 1),
    ]


def _in_turn(
    ours: Callable[[Sequence[str]], object], bare: apsw.Connection, batches: Sequence[Sequence[str]], rounds: int
) -> dict[str, Samples]:
    def write_bare(number: int) -> None:
        bare.execute("BEGIN IMMEDIATE")
        for text in batches[number]:
            bare.execute("INSERT INTO bare (text) VALUES (?)", (text,))
        bare.execute("COMMIT")

    return interleave({"ours": lambda number: ours(batches[number]), "bare": write_bare}, rounds, warm_up=_WARM_UP)


def _per_entry(what: str, taken: dict[str, Samples], size: int) -> Figure:
    ours, bare = (Samples(tuple(1_000 * value / size for value in taken[name].values)) for name in ("ours", "bare"))
    return Figure(what, ours.median, "µs", p95=ours.p95, baseline=bare.median, beside="bare FTS5")


def _spine_writer(satchel: Satchel) -> Callable[[Sequence[str]], object]:
    numbers = count(1_000)

    def write(batch: Sequence[str]) -> None:
        with satchel.workplace.engine.write() as transaction:
            for text in batch:
                number = next(numbers)
                documents.add(
                    transaction,
                    Document(
                        Kind.ENTRY,
                        number,
                        seq=number,
                        project_id=1,
                        run_id=1,
                        text=text,
                        created_at=_START + number,
                        type=1,
                        agent_id=1,
                        task_id=f"T{number // 100}",
                        loop_id=f"loop-{number // 25}",
                        file=f"src/module_{number % 100}.py",
                    ),
                    counts=True,
                )

    return write


def _bare_table(file: Path) -> apsw.Connection:
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "OFF")
    connection.execute(
        """CREATE VIRTUAL TABLE bare USING fts5 (
            text, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
        )"""
    )
    return connection


def _bytes(satchel: Satchel, tables: str) -> int:
    """Return what the tables of such names take with their indexes, in whole pages."""
    with sqlite_of(satchel).exclusive() as connection:
        size: int = connection.execute(_PAGES, (tables,)).get
    return size


def _file_size(bare: apsw.Connection) -> int:
    size: int = bare.execute(_PAGES, ("bare%",)).get
    return size
