"""What fills the stores of the benchmarks still does, shown with a handful of records."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks import big_stores, briefing, ledger, room, search_quality, search_speed
from benchmarks.content import notes, open_store
from benchmarks.harness import Bench

NOW = 1_795_000_000_000
TALK = {"sample_id": "talk", "conversation": {"session_1": [{"text": "Hello.", "speaker": "Ann", "dia_id": "D1:1"}]}}
FILLS: dict[str, tuple[big_stores.Fill, int]] = {
    "entries": (big_stores._fill, 2),
    "project": (briefing.fill, 6),
    "errors": (briefing._report_all, 0),
    "search-many-runs": (search_speed._fill_many_runs, 10),
    "search-one-run": (search_speed.fill_one_run, 1),
    "small": (lambda satchel, *_: briefing._write_small(satchel, Random("small")), 1),
    "conversation": (lambda satchel, *_: search_quality.write_conversation(satchel, TALK), 1),
    "file-changes": (lambda satchel, size, _: ledger._record_changes(satchel, size), 0),
    "messages": (lambda satchel, size, _: ledger._send_messages(satchel, size), 0),
}
"""What fills a store of each kind, and among how many runs it spreads what belongs to one."""


@pytest.fixture
def few_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks make 5,000 notes that differ, which take longer than to write some of them."""
    monkeypatch.setattr(big_stores, "notes", lambda count, seed: notes(min(count, 50), seed))


@pytest.mark.parametrize("kind", FILLS)
@pytest.mark.usefixtures("from_template", "few_notes")
def test_a_store_is_filled(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(big_stores, "WORKSHOP", tmp_path)
    monkeypatch.setattr(big_stores, "MATCHES", 8)
    monkeypatch.setattr(search_speed, "PER_RUN", 8)
    (tmp_path / "run").mkdir()
    fill, runs = FILLS[kind]
    with (
        big_stores.open_kept(kind, 80, Bench(tmp_path / "run"), fill) as satchel,
        satchel.workplace.engine.read() as transaction,
    ):
        assert transaction.one("SELECT count(DISTINCT run_id), count(*) > 0 FROM documents") == (runs, 1)


@pytest.mark.usefixtures("from_template")
def test_a_store_for_a_persons_looks_is_filled(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db", clock=lambda: NOW) as satchel:
        room.fill(satchel, 800, NOW)
        needs, since = satchel.room.needs(room._PERSON), satchel.room.since(room._PERSON)
        assert needs.total > len(needs.items) == 50
        assert {one.kind for one in since.items} == {"decision", "rule", "fix", "files", "correction"}
        assert (len(satchel.room.where().timeline), satchel.room.conflicts().total > 0) == (40, True)


@pytest.mark.usefixtures("few_notes")
def test_a_big_store_holds_as_many_entries_as_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also more than there are notes that differ."""
    monkeypatch.setattr(big_stores, "MATCHES", 8)
    with open_store(tmp_path / "store.db", clock=big_stores._ticking()) as satchel:
        big_stores._fill(satchel, 120, lambda _: None)
        assert satchel.entries.read(run_id=big_stores.WIDE, limit=0).total == 120
