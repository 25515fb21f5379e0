"""Rebuilding the index: what it mends, what it keeps, and what others do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from satchel import NewEntry, Satchel
from satchel.find import documents
from satchel.find.index import index_of
from satchel.keep.housekeeping.checks import index_problems


def untold(done: int, total: int) -> None:
    """Take the progress of a rebuild and say nothing of it."""


def problems(satchel: Satchel) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        return index_problems(transaction)


def change(satchel: Satchel, *statements: str | Mapping[str, str]) -> None:
    """Run statements, in the words of both databases or of each."""
    with satchel.workplace.engine.write() as transaction:
        for told in statements:
            statement = told if isinstance(told, str) else told[transaction.database]
            for one in statement.split(";"):
                transaction.run(one)


def texts_lost(condition: str) -> Mapping[str, str]:
    """Return what takes texts out of the index, by a condition on the number of their documents."""
    return {
        "sqlite": f"DELETE FROM documents_fts WHERE {condition.format('rowid')}",
        "postgresql": f"DELETE FROM documents_words WHERE {condition.format('document')}",
    }


ALL_TEXTS_LOST = {
    "sqlite": "INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')",
    "postgresql": "DELETE FROM documents_words",
}


def stray(verb: str, number: int) -> Mapping[str, str]:
    """Return what gives a document another text, or one to a document that is not there; a stem is ``strai``."""
    return {
        "sqlite": f"{verb} INTO documents_fts (rowid, text, parts, scope) VALUES ({number}, 'stray', '', 'p1 r1 k1')",
        "postgresql": f"""
            DELETE FROM documents_words WHERE document = {number};
            INSERT INTO documents_words (project_id, document, place, length, words, parts)
            VALUES (1, {number}, 65536 + 256, 1, ' strai ', '')
        """,
    }


def spine(satchel: Satchel) -> list[tuple[object, ...]]:
    with satchel.workplace.engine.read() as transaction:
        return [tuple(row) for row in transaction.all("SELECT * FROM documents ORDER BY id")]


def found(satchel: Satchel, text: str) -> list[str]:
    return [one.snippet.text for one in satchel.finding.search(text, status="all", limit=500).results]


@pytest.fixture
def kept(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """48 entries, more than two steps of a rebuild of 20, one of them superseded, and one pruned."""
    monkeypatch.setattr(documents, "_PER_STEP", 20)
    satchel.entries.write("error", "gone")
    satchel.entries.write("error", "stays")
    satchel.entries.prune(keep=1)
    for summary in ("zebra first", "zebra second"):
        satchel.entries.write("review_verdict", {"passed": True, "summary": summary}, task_id="T1")
    for start in (0, 23):
        satchel.entries.write_many(
            [
                NewEntry("discovery", f"note {number} {'needle' if number == 33 else 'hay'}", None, "L1", "a.py")
                for number in range(start, start + 22)
            ]
        )
    return satchel


def test_of_a_sound_index_nothing_changes(kept: Satchel) -> None:
    before = spine(kept)
    total = kept.finding.search("hay", limit=0).total
    assert kept.finding.rebuild(untold) == len(before) == 47
    assert spine(kept) == before
    assert kept.finding.search("hay", limit=0).total == total
    assert problems(kept) == []


def test_a_second_rebuild_changes_nothing_either(kept: Satchel) -> None:
    change(kept, "DELETE FROM documents WHERE id % 3 = 0", texts_lost("{} % 5 = 0"))
    counts = [kept.finding.rebuild(untold)]
    before = spine(kept)
    counts.append(kept.finding.rebuild(untold))
    assert counts == [47, 47]
    assert spine(kept) == before


def test_the_progress_goes_on_to_the_end(kept: Satchel) -> None:
    told: list[tuple[int, int]] = []
    kept.finding.rebuild(lambda done, total: told.append((done, total)))
    assert told == [(20, 47), (40, 47), (47, 47)]


def test_an_empty_store_is_rebuilt_to_nothing(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    told: list[tuple[int, int]] = []
    assert satchel.finding.rebuild(lambda done, total: told.append((done, total))) == 0
    assert told == []


@pytest.mark.parametrize(
    "damage",
    [
        ("DELETE FROM documents",),
        ("DELETE FROM documents WHERE id % 2 = 0",),
        (texts_lost("{} % 2 = 0"),),
        (ALL_TEXTS_LOST,),
        ("DELETE FROM documents", ALL_TEXTS_LOST),
        (stray("INSERT", 9999),),
        (stray("INSERT OR REPLACE", 43),),
        ("UPDATE documents SET item_id = item_id + 10000 WHERE id > 30",),
        ("UPDATE documents SET status = 1, loop_id = 'x', file = NULL, segment = NULL, run_id = NULL, seq = 0",),
    ],
    ids=lambda damage: (damage[0] if isinstance(damage[0], str) else damage[0]["sqlite"])[:60],
)
def test_damage_is_mended(kept: Satchel, damage: tuple[str | Mapping[str, str], ...]) -> None:
    good = [row[1:] for row in spine(kept)]
    change(kept, *damage)
    assert kept.finding.rebuild(untold) == 47
    assert sorted(row[1:] for row in spine(kept)) == sorted(good)
    assert problems(kept) == []
    assert found(kept, "needle") == ["note 33 needle"]
    assert found(kept, "stray") == []
    assert [one.status for one in kept.finding.search("zebra", status="all").results] == ["live", "superseded"]
    assert kept.finding.search("hay", limit=0, loop_id="L1", file="a.py").total == 43


def test_a_text_that_was_merged_into_another_is_told_apart_again(kept: Satchel) -> None:
    change(kept, stray("INSERT", 43))
    assert len(found(kept, "stray")) == 1, "a plain INSERT on a living number merges two texts"
    kept.finding.rebuild(untold)
    assert found(kept, "stray") == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10",
        "UPDATE documents_fts_data SET block = randomblob(40) WHERE id > 10",
        "DELETE FROM documents_fts_data WHERE id > 10",
    ],
)
def test_an_index_whose_structure_is_damaged_is_made_from_nothing(kept: Satchel, damage: str) -> None:
    change(kept, damage)
    with kept.workplace.engine.write() as transaction:
        assert not index_of(transaction).is_sound()
    kept.finding.rebuild(untold)
    with kept.workplace.engine.write() as transaction:
        assert index_of(transaction).is_sound()
    assert problems(kept) == []
    assert found(kept, "needle") == ["note 33 needle"]


def test_an_answer_beside_its_question_is_still_found_after_a_rebuild(satchel: Satchel) -> None:
    question = "how long do sessions stay valid"
    satchel.entries.write("discovery", question)
    satchel.entries.write("discovery", "a quarter of an hour")
    before = satchel.finding.search(question).results
    satchel.finding.rebuild(untold)
    assert [one.ref for one in before] == ["e1", "e2"]
    assert satchel.finding.search(question).results == before


def test_what_is_written_and_pruned_between_the_steps_is_in_the_index(kept: Satchel) -> None:
    wrote: list[str] = []

    def write_meanwhile(done: int, total: int) -> None:
        wrote.append(kept.entries.write("discovery", f"meanwhile {'bcd'[len(wrote)] * 5}").ref)
        kept.entries.prune(keep=38 - len(wrote))

    kept.finding.rebuild(write_meanwhile)
    assert len(wrote) == 3
    assert problems(kept) == []
    assert sorted(found(kept, "meanwhile")) == ["meanwhile bbbbb", "meanwhile ccccc", "meanwhile ddddd"]
    assert kept.finding.search("hay", limit=0).total == 34


def test_a_writer_that_never_rests_does_not_keep_a_rebuild_from_its_end(kept: Satchel) -> None:
    told: list[int] = []

    def write_meanwhile(done: int, total: int) -> None:
        told.append(done)
        assert len(told) < 10, "it follows what is written"
        kept.entries.write_many([NewEntry("discovery", "meanwhile")] * 20)

    kept.finding.rebuild(write_meanwhile)
    assert told == [20, 40, 60]


def test_the_progress_counts_what_is_kept_even_where_the_spine_lost_it(kept: Satchel) -> None:
    change(kept, "DELETE FROM documents")
    told: list[tuple[int, int]] = []
    kept.finding.rebuild(lambda done, total: told.append((done, total)))
    assert told[0] == (20, 47)


def test_searches_find_everything_while_the_index_is_made_anew(kept: Satchel) -> None:
    totals: list[int] = []

    def search_meanwhile(done: int, total: int) -> None:
        totals.append(kept.finding.search("hay", limit=0).total)

    kept.finding.rebuild(search_meanwhile)
    assert totals == [43] * 3


def test_two_rebuilds_and_a_writer_at_once_end_in_a_true_index(
    kept: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    failures: list[BaseException] = []
    written: list[str] = []
    stop = threading.Event()

    def guarded(work: Callable[[Satchel], None]) -> threading.Thread:
        other = open_in(project)

        def run() -> None:
            try:
                work(other)
            except BaseException as error:  # noqa: BLE001 -- told below, on the test's own thread
                failures.append(error)

        return threading.Thread(target=run)

    def write(satchel: Satchel) -> None:
        while not stop.is_set():
            written.append(satchel.entries.write("discovery", f"beside the rebuild {len(written)}").ref)
            assert satchel.finding.search("beside the rebuild", limit=0).total >= len(written)

    def rebuild(satchel: Satchel) -> None:
        satchel.finding.rebuild(untold)

    writer, rebuilders = guarded(write), [guarded(rebuild), guarded(rebuild)]
    for thread in (writer, *rebuilders):
        thread.start()
    for thread in rebuilders:
        thread.join()
    stop.set()
    writer.join()
    assert failures == []
    assert problems(kept) == []
    assert {one.ref for one in kept.finding.search("beside", limit=500).results} >= set(written[-400:])
