"""The ledger: setting decisions beside bare apsw, and reading from a hundred thousand of everything."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import apsw

from benchmarks.content import notes, open_store, sqlite_of
from benchmarks.harness import Bench, Figure, Section, interleave, timed
from satchel.client import Satchel
from satchel.find.index_sqlite import scope_tokens
from satchel.find.kind import Kind
from satchel.find.words import parts_text
from satchel.keep.decisions.records import NewDecision
from satchel.keep.decisions.tables import bands_of

_AGENTS = 20
_TAGS = ("api", "security", "database", "performance", "caching", "logging", "validation", "testing")
_SCOPES = ("gateway", "billing", "worker", "auth-service", "shared")
_LAYERS = ("presentation", "business", "data", "infrastructure", "cross-cutting", None)
_AREAS = ("session", "cache", "token", "queue", "search", "report", "upload", "invoice", "webhook", "export", "login")
_THINGS = ("ttl", "limit", "backend", "format", "retries", "encoding", "owner", "timeout", "policy", "schema")


@dataclass(frozen=True, slots=True)
class Made:
    """One decision to be set: three tags, two scopes, and all else that a decision may say."""

    key: str
    value: str | int
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    layer: str | None

    def decision(self) -> NewDecision:
        """Return it as the library takes it."""
        return NewDecision(self.key, self.value, tags=self.tags, scopes=self.scopes, layer=self.layer)


def decisions(count: int, seed: str) -> list[Made]:
    """Return so many decisions with different keys."""
    chance = random.Random(seed)
    texts = [" ".join(note.content.split()[:8]) for note in notes(5_000, seed)]
    return [
        Made(
            key=f"{chance.choice(_AREAS)}_{chance.choice(_THINGS)}_{seed}{number}",
            value=chance.randrange(1_000) if chance.random() < 0.5 else chance.choice(texts),
            tags=tuple(chance.sample(_TAGS, 3)),
            scopes=tuple(chance.sample(_SCOPES, 2)),
            layer=chance.choice(_LAYERS),
        )
        for number in range(count)
    ]


def run(bench: Bench) -> Section:
    """Set decisions in turn with a bare connection, then read pages and summaries of a large ledger."""
    figures = [*_setting(bench), *_reading(bench)]
    return Section(
        "The ledger",
        tuple(figures),
        (
            "A decision has three tags, two scopes and mostly a layer. The same bare transaction writes every row that "
            "`set` writes: the decision, five rows of tags and scopes, the row and text for searching, the change "
            "counter, the counts by tag, scope and layer, and the bands of near-duplicates, into the same tables with "
            "the same indexes and foreign keys, worked out beforehand. What only Satchel keeps beside the decision, "
            "its tags and scopes, and its text is left out in the second line, the text too in the third. `set` also "
            "finds secrets, resolves names, and looks for near-duplicates.",
            "Messages: 20 agents, a tenth of the messages to everyone; each page comes with its total and the count "
            "of unread messages.",
        ),
    )


def _setting(bench: Bench) -> list[Figure]:
    size, rounds, warm_up = bench.choose(2_000, 200), bench.choose(1_000, 100), 30
    held, fresh = decisions(size, "held"), decisions(warm_up + rounds, "fresh")
    with ExitStack() as stack:
        bench.progress.say(f"filling two stores with {size:,} decisions each")
        files = [bench.folder / f"set-{name}.db" for name in ("ours", "bare")]
        stores = [stack.enter_context(_filled(file, held)) for file in files]
        ours = stores[0]
        stores[1].close()
        bare = _Bare(files[1], fresh)

        def set_one(number: int) -> None:
            made = fresh[number]
            ours.decisions.set(made.key, made.value, tags=made.tags, scopes=made.scopes, layer=made.layer)

        bench.progress.say(f"setting {rounds:,} decisions in each")
        taken = interleave(
            {
                "ours": set_one,
                "same": lambda number: bare.set(fresh[number], "same"),
                "text": lambda number: bare.set(fresh[number], "text"),
                "rows": lambda number: bare.set(fresh[number], "rows"),
            },
            rounds,
            warm_up,
        )
        bare.connection.close()
    return [
        timed("set a decision", taken["ours"], taken["same"], "the same bare transaction", ratio_at_most=2.0),
        timed("set a decision, beside its rows and text", taken["ours"], taken["text"], "bare rows and text"),
        timed("set a decision, beside its rows alone", taken["ours"], taken["rows"], "bare rows"),
    ]


def _filled(file: Path, held: list[Made]) -> Satchel:
    satchel = open_store(file)
    for first in range(0, len(held), 200):
        satchel.decisions.set_many([made.decision() for made in held[first : first + 200]])
    return satchel


class _Bare:
    """The same transaction, with nothing around it."""

    def __init__(self, file: Path, made: list[Made]) -> None:
        self.connection = apsw.Connection(str(file))
        for name, value in (("journal_mode", "wal"), ("synchronous", "FULL"), ("foreign_keys", "ON")):
            self.connection.pragma(name, value)
        self._names = {
            table: dict(self.connection.execute(f"SELECT name, id FROM {table}"))
            for table in ("tags", "scopes", "layers")
        }
        self._scope = scope_tokens(1, None, Kind.DECISION.number)
        self._seq = 1_000_000
        self._marks = {one.key: bands_of(1, f"{one.key}_same", one.value).recorded for one in made}

    def set(self, made: Made, how: str) -> None:
        """Set a decision under a key of its own: all that ``set`` writes, its rows and text, or its rows."""
        execute, many = self.connection.execute, self.connection.executemany
        self._seq += 1
        now = time.time_ns() // 1_000_000
        key = f"{made.key}_{how}"
        text, number = (made.value, None) if isinstance(made.value, str) else (None, made.value)
        layer = self._names["layers"].get(made.layer)
        execute("BEGIN IMMEDIATE")
        execute(
            "INSERT INTO decisions (uid, seq, project_id, key, value_text, value_number, agent_id, layer_id, version, "
            "revision, status, created_at, updated_at) VALUES (?, ?, 1, ?, ?, ?, 1, ?, '1.0.0', 1, 1, ?, ?)",
            (os.urandom(16), self._seq, key, text, number, layer, now, now),
        )
        decision = self.connection.last_insert_rowid()
        many(
            "INSERT INTO decision_tags VALUES (?, 1, ?, ?)",
            [(self._names["tags"][tag], now, decision) for tag in made.tags],
        )
        many(
            "INSERT INTO decision_scopes VALUES (?, 1, ?, ?)",
            [(self._names["scopes"][scope], now, decision) for scope in made.scopes],
        )
        if how != "rows":
            execute(
                "INSERT INTO documents (seq, project_id, kind, item_id, agent_id, created_at) "
                "VALUES (?, 1, 2, ?, 1, ?)",
                (self._seq, decision, now),
            )
            text = f"{made.key}: {made.value}\n{' '.join((*made.tags, *made.scopes, made.layer or ''))}"
            execute(
                "INSERT INTO documents_fts (rowid, text, parts, scope) VALUES (?, ?, ?, ?)",
                (self.connection.last_insert_rowid(), text, parts_text(text), self._scope),
            )
        if how == "same":
            execute("UPDATE projects SET seq = ? WHERE id = 1", (self._seq,))
            many("INSERT INTO likenesses VALUES (1, ?, 2, ?)", [(mark, decision) for mark in self._marks[made.key]])
            many(_COUNT, [(dimension, name) for dimension, name in self._counted(made, layer)])
        execute("COMMIT")

    def _counted(self, made: Made, layer: int | None) -> list[tuple[int, int]]:
        names = [(0, 0), (1, layer or 0), *((2, self._names["tags"][tag]) for tag in made.tags)]
        return [*names, *((3, self._names["scopes"][scope]) for scope in made.scopes)]


_COUNT = """
    INSERT INTO decision_counts VALUES (1, ?, ?, 1, 1)
    ON CONFLICT DO UPDATE SET decisions = decisions + 1
"""


def _reading(bench: Bench) -> list[Figure]:
    many, messages, rounds = (
        bench.choose(100_000, 5_000),
        bench.choose(200_000, 10_000),
        bench.choose(200, 30),
    )
    with open_store(bench.folder / "large.db") as satchel:
        with sqlite_of(satchel).exclusive() as connection:
            connection.pragma("synchronous", "OFF")
        made = decisions(many, "large")
        for first in range(0, many, 200):
            bench.progress.say(f"setting {many:,} decisions: {first:,}")
            satchel.decisions.set_many([one.decision() for one in made[first : first + 200]])
        bench.progress.say(f"recording {many:,} file changes and {messages:,} messages")
        _record_changes(satchel, many)
        _send_messages(satchel, messages)
        with satchel.workplace.engine.write() as transaction:
            transaction.execute("ANALYZE")
        reader = f"agent-{_AGENTS - 1}"
        read: dict[str, Callable[[int], object]] = {
            f"page of 20 by tag, of {many:,} decisions": lambda _: satchel.decisions.find(tags=["api"]),
            "page of 20 by tag and status": lambda _: satchel.decisions.find(tags=["api"], status="active"),
            "page of 20 by two tags, both": lambda _: satchel.decisions.find(tags=["api", "security"], match="all"),
            "page of 20 by layer": lambda _: satchel.decisions.find(layer="data"),
            f"layer summary, {many:,} decisions and file changes": lambda _: satchel.housekeeping.layer_summary(),
            f"20 messages, of {messages:,}": lambda _: satchel.messages.inbox(agent=reader),
            "20 unread messages": lambda _: satchel.messages.inbox(agent=reader, unread=True),
            "whose a file is": lambda _: satchel.files.check(["src/module_7.py"], agent=reader),
        }
        limits = {0: 1.0, 4: 5.0, 5: 5.0, 6: 5.0}
        bench.progress.say("reading")
        taken = interleave(read, rounds, warm_up=5)
    return [timed(name, samples, at_most=limits.get(place)) for place, (name, samples) in enumerate(taken.items())]


def _record_changes(satchel: Satchel, count: int) -> None:
    """Record one change of each kind through the library, then multiply their rows: all within the last hour."""
    for number in range(100):
        satchel.files.record(
            f"src/module_{number}.py", "modified", layer=_LAYERS[number % len(_LAYERS)], agent=f"agent-{number % 20}"
        )
    _multiply(satchel, "file_changes", count)


def _send_messages(satchel: Satchel, count: int) -> None:
    for number in range(200):
        to = None if number % 10 == 0 else f"agent-{(number * 7 + 1) % _AGENTS}"
        satchel.messages.send("the schema has changed, pull before you go on", to=to, agent=f"agent-{number % _AGENTS}")
    _multiply(satchel, "agent_messages", count)


def _multiply(satchel: Satchel, table: str, count: int) -> None:
    """Copy the rows of a table until there are so many, each a millisecond after the one before."""
    with satchel.workplace.engine.write() as transaction:
        columns = [row[1] for row in transaction.all(f"PRAGMA table_info({table})") if row[1] != "id"]
        chosen = ["randomblob(16)" if name == "uid" else name for name in columns]
        chosen = [f"{name} + copy.number" if name == "seq" else name for name in chosen]
        row = transaction.one(f"SELECT count(*) FROM {table}")
        assert row is not None
        times = count // int(row[0]) - 1
        transaction.execute(
            f"""
            INSERT INTO {table} ({", ".join(columns)})
            WITH RECURSIVE copy (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < :times)
            SELECT {", ".join(chosen)} FROM {table} CROSS JOIN copy
            """,
            {"times": times},
        )
