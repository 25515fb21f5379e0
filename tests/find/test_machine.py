"""Whatever happens to a store, its index says what its tables say."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from satchel import NewEntry, NotFound, Satchel, open_satchel
from satchel.base.errors import Unreachable
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import SUPERSEDED, Kind
from satchel.store.transaction import Transaction
from state_machines import short_and_long

RUNS = st.sampled_from(["r1", "r2"])
LOOPS = st.sampled_from([None, "L1", "L2"])
PLACES = st.integers(min_value=0, max_value=30)
DAMAGE = {
    "sqlite": (
        "DELETE FROM documents_fts WHERE rowid % :n = 0",
        "INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')",
        "UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10",
    ),
    "postgresql": (
        "DELETE FROM documents_words WHERE document % :n = 0",
        "DELETE FROM documents_words",
        "UPDATE documents_words SET place = place + :n, words = ' x ' || words",
    ),
}
DAMAGE_OF_BOTH = (
    "DELETE FROM documents WHERE id % :n = 0",
    "UPDATE documents SET item_id = item_id + 1000 WHERE id % :n = 0",
    "UPDATE documents SET status = 3 - status, run_id = NULL WHERE id % :n = 0",
)


class CrashError(Exception):
    """Ends a transaction from inside."""


def unique_word(number: int) -> str:
    """A word of consonants, which neither stemming nor the parts of identifiers make equal to another."""
    return "zz" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:04}")


def untold(done: int, total: int) -> None:
    """Take the progress of a rebuild and say nothing of it."""


class Index(RuleBasedStateMachine):
    """A store of two runs that is written, pruned, broken off, crashed, damaged and made whole."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name)
        self.crashes = 0
        self.words = 0
        self.damaged = False
        self.satchel = self.opened(self.place / "s.db")
        for run in ("r1", "r2"):
            self.satchel.runs.start(run)

    def opened(self, file: Path) -> Satchel:
        self.file = file
        return open_satchel(
            file,
            "p",
            cwd=self.place,
            environ={},
            settings={"store.durability": "relaxed"},
            clock=lambda: 1_795_000_000_000,
        )

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def new_word(self) -> str:
        self.words += 1
        return unique_word(self.words)

    @rule(run=RUNS, loop=LOOPS, count=st.integers(1, 4))
    @precondition(lambda self: not self.damaged)
    def write(self, run: str, loop: str | None, count: int) -> None:
        entries = [NewEntry("discovery", f"note {self.new_word()}", None, loop) for _ in range(count)]
        self.satchel.entries.write_many(entries, run_id=run)

    @rule(run=RUNS, loop=LOOPS, kind=st.sampled_from(["review_verdict", "codebase_analysis"]))
    @precondition(lambda self: not self.damaged)
    def supersede(self, run: str, loop: str | None, kind: str) -> None:
        content = {"passed": True, "summary": self.new_word()}
        self.satchel.entries.write(kind, content, loop_id=loop, run_id=run)

    @rule(run=RUNS, keep=st.integers(1, 4))
    @precondition(lambda self: not self.damaged)
    def prune(self, run: str, keep: int) -> None:
        self.satchel.entries.prune(keep=keep, run_id=run)

    @rule(number=PLACES)
    @precondition(lambda self: not self.damaged)
    def forget(self, number: int) -> None:
        try:
            self.satchel.housekeeping.forget(f"e{number}")
        except NotFound:
            assert number not in self.kept()

    def change_much(self, transaction: Transaction, number: int) -> None:
        document = Document(Kind.ENTRY, 900 + number, 1, 1, 1, f"never kept {self.new_word()}", 0)
        documents.add(transaction, document, counts=True)
        documents.remove(transaction, Kind.ENTRY, range(number))
        documents.set_status(transaction, Kind.ENTRY, [(number, 1), (number + 1, 1)], SUPERSEDED)
        transaction.run("UPDATE context SET content = 'never kept' WHERE id = :id", {"id": number})

    @rule(number=PLACES)
    @precondition(lambda self: not self.damaged)
    def roll_back(self, number: int) -> None:
        try:
            with self.satchel.workplace.engine.write() as transaction:
                self.change_much(transaction, number)
                raise CrashError
        except CrashError:
            pass

    @rule(number=PLACES)
    @precondition(lambda self: not self.damaged and self.crashes < 3)
    def crash(self, number: int) -> None:
        """Go on with the files as they were on the disk in the middle of a transaction, or without the connection."""
        self.crashes += 1
        if self.satchel.workplace.engine.folder is None:
            with pytest.raises(Unreachable):
                self.lose_the_connection(number)
            return
        copy = self.place / f"s{self.crashes}.db"
        try:
            with self.satchel.workplace.engine.write() as transaction:
                self.change_much(transaction, number)
                for ending in ("", "-wal"):
                    shutil.copyfile(f"{self.file}{ending}", f"{copy}{ending}")
                raise CrashError
        except CrashError:
            self.satchel.close()
        self.satchel = self.opened(copy)

    def lose_the_connection(self, number: int) -> None:
        with self.satchel.workplace.engine.write() as transaction:
            self.change_much(transaction, number)
            transaction.one("SELECT pg_terminate_backend(pg_backend_pid())")

    @rule(which=st.integers(0, 5), each=st.integers(1, 3))
    def damage(self, which: int, each: int) -> None:
        with self.satchel.workplace.engine.write() as transaction:
            sql = (*DAMAGE_OF_BOTH, *DAMAGE[transaction.database])[which]
            transaction.run(sql, {"n": each} if ":n" in sql else {})
        self.damaged = True

    @rule()
    def rebuild(self) -> None:
        count = self.satchel.finding.rebuild(untold)
        self.damaged = False
        assert count == len(self.kept())

    @rule()
    @precondition(lambda self: not self.damaged)
    def compact(self) -> None:
        self.satchel.housekeeping.compact()

    def kept(self) -> dict[int, tuple[str, str, str]]:
        """The word, run and status of every entry in the table, by its number."""
        with self.satchel.workplace.engine.read() as transaction:
            rows: list[Any] = transaction.all(
                "SELECT c.id, c.content, r.run_id, c.superseded_by FROM context c JOIN runs r ON r.id = c.run_id"
            )
        return {
            number: (content[content.index("zz") :][:6], run, "live" if heir is None else "superseded")
            for number, content, run, heir in rows
        }

    @invariant()
    @precondition(lambda self: hasattr(self, "satchel") and not self.damaged)
    def the_index_says_what_the_tables_say(self) -> None:
        there = {word: (f"e{number}", run, status) for number, (word, run, status) in self.kept().items()}
        found = {}
        for number in range(1, self.words + 1):
            word = unique_word(number)
            for one in self.satchel.finding.search(word, status="all", limit=500).results:
                assert word not in found, "it is found once"
                found[word] = (one.ref, one.run_id, one.status)
        assert found == there

    @invariant()
    @precondition(lambda self: hasattr(self, "satchel") and not self.damaged)
    def doctor_finds_nothing_wrong_with_the_index(self) -> None:
        checks = {check.name: check.detail for check in self.satchel.housekeeping.doctor() if check.status == "failed"}
        assert checks == {}


TestIndex, TestLongIndex = short_and_long(Index, examples=14, steps=25)
