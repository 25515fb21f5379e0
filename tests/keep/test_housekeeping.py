from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from index_tables import lose_text
from kept_bytes import kept_bytes
from satchel import InvalidInput, NewEntry, NotFound, Satchel
from satchel.store.upkeep import Check
from tables import in_one_test


def checks(satchel: Satchel, warnings: tuple[str, ...] = ()) -> dict[str, Check]:
    return {check.name: check for check in satchel.housekeeping.doctor(warnings)}


def soundness(satchel: Satchel) -> str:
    """Return how the database itself was found."""
    return checks(satchel)[satchel.workplace.engine.upkeep.soundness[0]].status


def test_statistics_count_what_the_project_holds(satchel: Satchel) -> None:
    satchel.runs.start("ended")
    satchel.entries.write_many(
        [NewEntry("error", "x"), NewEntry("discovery", "y"), NewEntry("error", "z")], agent="dev", run_id="ended"
    )
    satchel.runs.end("ended")
    satchel.entries.write("codebase_analysis", {"summary": "a"}, agent="DEV")
    satchel.entries.write("codebase_analysis", {"summary": "b"}, agent="qa")
    counted = satchel.housekeeping.statistics()
    assert (counted.project, counted.runs, counted.active_runs, counted.agents) == ("project", 2, 1, 2)
    assert counted.entries == (("discovery", 1), ("error", 2), ("codebase_analysis", 2))
    assert (counted.total_entries, counted.superseded, counted.other_projects) == (5, 1, 0)
    assert counted.seq == satchel.entries.read().seq
    assert counted.location == satchel.workplace.engine.location
    assert counted.size_bytes
    assert counted.bytes_per_item == round(counted.size_bytes / 5)
    assert counted.schema_version


def test_statistics_name_the_file_and_count_all_of_it(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    counted = satchel.housekeeping.statistics()
    assert counted.location == str(satchel.place.file)
    assert counted.size_bytes is not None
    assert counted.size_bytes >= satchel.place.file.stat().st_size


@pytest.mark.no_store
def test_statistics_of_nothing_are_zero_and_make_nothing(satchel: Satchel, project: Path) -> None:
    counted = satchel.housekeeping.statistics()
    assert (counted.project, counted.seq, counted.runs, counted.agents, counted.entries) == (None, 0, 0, 0, ())
    assert (counted.size_bytes, counted.bytes_per_item) == (0, None)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@pytest.mark.no_store
def test_initialising_makes_the_store_and_the_project(satchel: Satchel) -> None:
    satchel.housekeeping.initialise()
    satchel.housekeeping.initialise()
    assert satchel.workplace.engine.exists()
    assert satchel.housekeeping.statistics().project == "project"


def test_a_healthy_store_passes_every_check(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    satchel.housekeeping.backup()
    found = checks(satchel)
    of_database = {
        "sqlite": (["wal"], ["file"], ["git", "sync", "leftovers"]),
        "postgresql": ([], ["database"], ["settings", "deleted"]),
    }
    with satchel.workplace.engine.read() as transaction:
        before, within, beside = of_database[transaction.database]
    assert list(found) == [
        *("configuration", "place", *before, "store", *within, "schema", "texts", "index", "counts", "deliveries"),
        *("corrections", "conversations", "contents", "vector stores", *beside, "backups"),
    ]
    assert {check.status for check in found.values()} == {"ok"}


@pytest.mark.no_store
def test_a_store_that_does_not_exist_is_a_warning_and_stays_so(satchel: Satchel, project: Path) -> None:
    found = checks(satchel)
    assert found["store"].status == "warning"
    assert list(found) == ["configuration", "store"]
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_missing_backups_and_configuration_faults_are_warnings(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    found = checks(satchel, ("store.nonsense is unknown",))
    assert found["backups"].status == "warning"
    assert (found["configuration"].status, found["configuration"].detail) == ("warning", "store.nonsense is unknown")


def test_a_store_that_others_can_read_is_a_warning(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    satchel.place.file.chmod(0o644)
    check = checks(satchel)["place"]
    assert check.status == "warning"
    assert "chmod 600" in check.detail


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (None, "1 documents are not indexed"),
        ("documents", "1 documents are indexed without an item"),
        ("documents", "not in the documents"),
        ("context", "in the documents but gone"),
    ],
)
def test_an_index_that_disagrees_fails_its_check(satchel: Satchel, table: str | None, problem: str) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x"), NewEntry("discovery", "y")])
    assert checks(satchel)["index"].status == "ok"
    with satchel.workplace.engine.write() as transaction:
        if table is None:
            lose_text(transaction, 1)
        else:
            transaction.run(f"DELETE FROM {table} WHERE id = 1")
    check = checks(satchel)["index"]
    assert check.status == "failed"
    assert problem in check.detail


def test_examining_changes_nothing(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    before = satchel.housekeeping.statistics().seq
    checks(satchel)
    assert satchel.housekeeping.statistics().seq == before


def test_a_healthy_store_passes_however_often_it_is_examined_between_writes(satchel: Satchel) -> None:
    # at the 16th write the index merges its segments, which a connection that examined it before does not notice
    for number in range(20):
        satchel.entries.write("discovery", f"word{number}")
        assert soundness(satchel) == "ok"


def test_what_is_forgotten_is_gone_from_the_entries_the_index_and_the_file(satchel: Satchel) -> None:
    leaked = satchel.entries.write("discovery", "the leaked word is xylophonist")
    kept = satchel.entries.write("discovery", "another word")
    assert b"xylophon" in kept_bytes(satchel)
    result = satchel.housekeeping.forget(leaked.ref)
    assert (result.ref, result.done, result.wal_emptied) == (leaked.ref, True, True)
    assert (result.still_in, result.unreadable) == ((), ())
    assert [entry.id for entry in satchel.entries.read(status="all")] == [kept.id]
    assert satchel.entries.read(query="xylophonist").total == 0
    assert satchel.entries.read(query="another").total == 1
    assert checks(satchel)["index"].status == "ok"
    assert b"xylophon" not in kept_bytes(satchel)


def test_a_preview_of_forgetting_changes_nothing(satchel: Satchel) -> None:
    written = satchel.entries.write("discovery", "x")
    result = satchel.housekeeping.forget(written.ref, dry_run=True)
    assert (result.kind, result.text, result.done) == ("entry", "x", False)
    assert satchel.entries.read().total == 1


def test_backups_that_hold_it_still_are_named(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    before = satchel.housekeeping.backup()
    leaked = satchel.entries.write("discovery", "leaked")
    after = satchel.housekeeping.backup(before.file.with_name("satchel-20261121T000000000Z.db"))
    dry_run = satchel.housekeeping.forget(leaked.ref, dry_run=True)
    assert before.file not in dry_run.still_in
    assert satchel.housekeeping.forget(leaked.ref).still_in == dry_run.still_in
    listed = [backup.file for backup in satchel.housekeeping.backups()]
    assert list(dry_run.still_in) == [file for file in listed if file == after.file]
    assert dry_run.still_in


def test_a_damaged_store_set_aside_is_searched_too(satchel: Satchel) -> None:
    leaked = satchel.entries.write("discovery", "leaked")
    satchel.close()
    aside = satchel.place.file.with_name("satchel.db.damaged-20261121T000000000Z")
    aside.write_bytes(satchel.place.file.read_bytes())
    Path(f"{aside}-wal").touch()
    junk = satchel.place.file.with_name("satchel.db.damaged-20261121T111111111Z")
    junk.write_text("no database at all" * 100)
    result = satchel.housekeeping.forget(leaked.ref)
    assert (result.still_in, result.unreadable) == ((aside,), (junk,))


@pytest.mark.parametrize("ref", ["e999", "e0"])
def test_forgetting_what_is_not_there_is_said(satchel: Satchel, ref: str) -> None:
    satchel.entries.write("discovery", "x")
    with pytest.raises(NotFound, match="there is no note e"):
        satchel.housekeeping.forget(ref)


@in_one_test("ref", ["", "e", "z1", "e-1", "e1.5", "e" + "9" * 19, "e²", "12"])
def test_what_is_no_short_id_is_refused(satchel: Satchel, ref: str) -> None:
    with pytest.raises(InvalidInput, match="is no item's id"):
        satchel.housekeeping.forget(ref)


def test_an_id_is_not_given_again_after_it_was_forgotten(satchel: Satchel) -> None:
    first = satchel.entries.write("discovery", "x")
    satchel.housekeeping.forget(f" {first.ref} ")
    assert satchel.entries.write("discovery", "y").id > first.id


def test_compacting_keeps_everything_found(satchel: Satchel) -> None:
    for number in range(30):
        satchel.entries.write("discovery", f"word{number} " * 200)
    satchel.entries.prune(keep=1)
    shrunk = satchel.housekeeping.compact()
    assert shrunk.after < shrunk.before
    assert shrunk.wal_emptied
    assert satchel.entries.read(query="word29").total == 1
    assert soundness(satchel) == "ok"


def test_a_backup_is_a_whole_store(satchel: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    satchel.entries.write("discovery", "x")
    copy = satchel.housekeeping.backup(project / "copy.db")
    satchel.entries.write("discovery", "y")
    assert [entry.content for entry in open_in(project, db=copy.file).entries.read()] == ["x"]
    with apsw.Connection(str(copy.file), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        assert connection.pragma("integrity_check") == "ok"


def test_a_damaged_index_is_to_be_made_anew_not_restored_from_a_backup(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", f"note {number}") for number in range(50)])
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE documents_fts_data SET block = zeroblob(40) WHERE id > 100")
    checks = {check.name: check for check in satchel.housekeeping.doctor()}
    assert checks["file"].status == "failed"
    assert "satchel doctor --rebuild" in checks["file"].detail
    assert "restore" not in checks["file"].detail
