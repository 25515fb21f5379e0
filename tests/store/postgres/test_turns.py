"""Turns at a project: who waits writes in one transaction with others, and each keeps or loses what is its own."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accepting import FIN
from examples import examples
from postgres_proxy import BEFORE, CutHere, Message, PostgresProxy
from satchel.base.errors import Busy, Interrupted, InvalidInput
from satchel.store.postgres import engine as engine_module
from satchel.store.postgres.engine import PostgresEngine, Writers
from satchel.store.transaction import Transaction
from store.postgres.notes import note, notes, write_note
from store.postgres.places import Place
from store.postgres.waiting import Body, queue, writes


@pytest.fixture(autouse=True)
def _slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no shared transaction end early on a slow machine."""
    monkeypatch.setattr(engine_module, "LONGEST_SECONDS", 60.0)


@pytest.fixture
def engine(place: Place) -> PostgresEngine:
    """An engine on a project of its own."""
    return place.engine().of_project(place.new_project())


def _transactions(place: Place, engine: PostgresEngine) -> int:
    """Return how many there were since the one that made the project."""
    found: int = place.ask("SELECT writes FROM projects WHERE name = %(name)s", name=engine.project)[0][0]
    return found - 1


def _fails(_: Transaction) -> None:
    raise ValueError("a fault of the body")


def _fails_in_the_database(transaction: Transaction) -> None:
    transaction.run("UPDATE projects SET name = NULL")


def test_writes_that_wait_share_a_transaction_in_the_order_of_coming(place: Place, engine: PostgresEngine) -> None:
    texts = [f"note {number}" for number in range(9)]
    with queue(engine, 9) as waiting:
        for text in texts:
            waiting.add(writes(engine, text))
    assert [write.result() for write in waiting.writes] == [None] * 9
    assert notes(engine) == texts
    assert _transactions(place, engine) == 1
    assert engine.commits == 9


@pytest.mark.parametrize(("most", "longest", "transactions"), [(3, 60.0, 3), (60, 0.0, 7)])
def test_a_shared_transaction_takes_so_many_and_so_long(
    place: Place,
    engine: PostgresEngine,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    longest: float,
    transactions: int,
) -> None:
    monkeypatch.setattr(engine_module, "MOST_TOGETHER", most)
    monkeypatch.setattr(engine_module, "LONGEST_SECONDS", longest)
    with queue(engine, 7) as waiting:
        for number in range(7):
            waiting.add(writes(engine, str(number)))
    assert notes(engine) == [str(number) for number in range(7)]
    assert _transactions(place, engine) == transactions


_TURN = "turn"  # the kind of what these writes remember
FAILING = ("fails", "fails after writing", "fails in the database", "cannot be sent")
KINDS = ("writes", *FAILING, "fails in a part", "remembers", "reads")
_NAMES = itertools.count()


@settings(max_examples=examples(25))
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=7))
def test_each_member_keeps_or_loses_its_own_and_sees_no_memory_of_what_was_lost(
    shared_place: Place, kinds: list[str]
) -> None:
    engine = shared_place.engine().of_project(shared_place.new_project())
    project = engine.project or ""
    wrong: list[object] = []

    def in_a_part(transaction: Transaction, text: str, number: int) -> None:
        with transaction.savepoint():
            note(transaction, project, text)
            transaction.memo[_TURN, number] = text
            _fails(transaction)

    def body(number: int, kind: str) -> Body:
        text = f"{number} {kind}"

        def run(transaction: Transaction) -> None:
            remembered = [key for key in transaction.memo if key[0] == _TURN]
            seen = {
                name
                for (name,) in transaction.all(
                    "SELECT t.name FROM tags t JOIN projects p ON p.id = t.project_id WHERE p.name = :name",
                    {"name": project},
                )
            }
            wrong.extend(transaction.memo[key] for key in remembered if transaction.memo[key] not in seen)
            match kind:
                case "fails":
                    _fails(transaction)
                case "fails after writing":
                    note(transaction, project, text)
                    transaction.memo[_TURN, number] = text
                    _fails(transaction)
                case "fails in the database":
                    note(transaction, project, text)
                    transaction.memo[_TURN, number] = text
                    _fails_in_the_database(transaction)
                case "cannot be sent":
                    note(transaction, project, text)
                    note(transaction, project, f"{text} \0")
                case "fails in a part":
                    note(transaction, project, text)
                    with pytest.raises(ValueError, match="a fault"):
                        in_a_part(transaction, f"{text} part", number)
                case "reads":
                    pass
                case _:
                    note(transaction, project, text)
                    if kind == "remembers":
                        transaction.memo[_TURN, number] = text

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "LONGEST_SECONDS", 60.0)
        with queue(engine, len(kinds)) as waiting:
            for number, kind in enumerate(kinds):
                waiting.add(body(number, kind))
    failed = {number for number, write in enumerate(waiting.writes) if write.exception() is not None}
    assert failed == {number for number, kind in enumerate(kinds) if kind in FAILING}
    assert notes(engine) == [
        f"{number} {kind}" for number, kind in enumerate(kinds) if kind in {"writes", "fails in a part", "remembers"}
    ]
    assert wrong == []
    engine.close()


def test_a_member_that_has_sent_nothing_yet_fails_alone(place: Place, engine: PostgresEngine) -> None:
    with queue(engine, 3) as waiting:
        waiting.add(writes(engine, "first"))
        waiting.add(_fails)
        waiting.add(writes(engine, "last"))
    assert notes(engine) == ["first", "last"]
    assert _transactions(place, engine) == 1


def test_a_member_whose_first_value_cannot_be_sent_fails_alone(place: Place, engine: PostgresEngine) -> None:
    def cannot_be_sent(transaction: Transaction) -> None:
        transaction.run("UPDATE projects SET name = name WHERE name = :name", {"name": "a\0b"})

    with queue(engine, 4) as waiting:
        waiting.add(writes(engine, "first"))
        waiting.add(cannot_be_sent)
        waiting.add(writes(engine, "third"))
        waiting.add(cannot_be_sent)
    assert [type(write.exception()) for write in waiting.writes] == [type(None), InvalidInput, type(None), InvalidInput]
    assert notes(engine) == ["first", "third"]
    assert _transactions(place, engine) == 1


def test_a_part_that_fails_before_it_was_sent_leaves_what_waits_before_it(engine: PostgresEngine) -> None:
    def write_both() -> None:
        with engine.write() as transaction:
            note(transaction, engine.project or "", "whole")
            with pytest.raises(ValueError, match="a fault"), transaction.savepoint():
                _fails(transaction)

    write_both()
    assert notes(engine) == ["whole"]


def test_who_waits_for_too_long_is_told_and_the_others_write_on(engine: PostgresEngine) -> None:
    with queue(engine, 3) as waiting:
        waiting.add(writes(engine, "first"))
        waiting.add(writes(engine, "never"), wait_ms=1)
        with pytest.raises(Busy, match="Nothing was written"):
            waiting.writes[1].result()
        waiting.add(writes(engine, "last"))
    assert notes(engine) == ["first", "last"]


@pytest.fixture
def heeds_sigint() -> Iterator[None]:
    """Handle SIGINT as Python does: a shell starts what it runs in the background with that signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_sigint")
def test_a_signal_ends_the_wait_and_the_others_write_on(engine: PostgresEngine) -> None:
    def interrupt() -> None:
        waiting.wait_for(1)
        os.kill(os.getpid(), signal.SIGINT)

    with queue(engine, 2) as waiting:
        waiting.add(writes(engine, "first"))
        sender = threading.Thread(target=interrupt)
        sender.start()
        with pytest.raises(KeyboardInterrupt), engine.write(60_000):
            pytest.fail("the block was entered")
        sender.join()
        waiting.add(writes(engine, "last"))
    assert notes(engine) == ["first", "last"]


class _Interrupted(threading.Event):
    """Event whose wait is interrupted after it was set."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def wait(self, timeout: float | None = None) -> bool:
        type(self).before()
        super().wait(timeout)
        raise KeyboardInterrupt


def test_a_signal_in_the_moment_when_the_turn_comes_loses_nothing_of_the_others(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_interrupted() -> None:
        with engine.write(60_000):
            pytest.fail("the block was entered")

    with queue(engine, 2) as waiting:
        waiting.add(writes(engine, "first"))
        with monkeypatch.context() as patch:
            patch.setattr(_Interrupted, "before", staticmethod(waiting.release))
            patch.setattr("satchel.store.postgres.engine.threading.Event", _Interrupted)
            with pytest.raises(KeyboardInterrupt):
                wait_interrupted()
    assert waiting.writes[0].result() is None
    assert notes(engine) == ["first"]
    write_note(engine, "after")


def test_a_signal_while_the_queue_is_joined_leaves_nobody_in_it(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(deque[threading.Event]):
        def append(self, item: threading.Event, /) -> None:
            super().append(item)
            raise KeyboardInterrupt

    writers = Writers(engine.database, engine.project)
    monkeypatch.setattr(writers, "_queue", Interrupting([threading.Event()]))
    with pytest.raises(KeyboardInterrupt), writers.write(time.monotonic() + 60):
        pytest.fail("the block was entered")
    assert writers.awaited == 0


def test_a_commit_whose_answer_is_lost_is_asked_about_for_all_its_members(
    place: Place, proxy: PostgresProxy, proxied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "LONGEST_SECONDS", 60.0)
    engine = place.engine(proxied).of_project(place.new_project())

    def decide(message: Message) -> CutHere | None:
        is_it = message.is_answer and message.kind == b"C" and b"COMMIT" in message.body
        return CutHere(BEFORE, FIN) if is_it and not proxy.cuts else None

    with queue(engine, 3) as waiting:
        for number in range(3):
            waiting.add(writes(engine, str(number)))
        proxy.decide = decide
    assert [write.result() for write in waiting.writes] == [None] * 3
    assert proxy.cuts == 1
    assert notes(engine) == ["0", "1", "2"]


def test_members_whose_transaction_is_lost_before_the_commit_are_told_that_nothing_was_kept(
    place: Place, engine: PostgresEngine
) -> None:
    def ends_the_session(transaction: Transaction) -> None:
        row = transaction.one("SELECT pg_backend_pid()")
        assert row is not None
        note(transaction, engine.project or "", "lost")
        place.ask("SELECT pg_terminate_backend(%(pid)s, 60000)", pid=row[0])

    with queue(engine, 4) as waiting:
        waiting.add(writes(engine, "first"))
        waiting.add(writes(engine, "second"))
        waiting.add(ends_the_session)
        waiting.add(writes(engine, "kept"))
    for write in waiting.writes[:2]:
        with pytest.raises(Busy, match="Nothing was written"):
            write.result()
    assert waiting.writes[2].exception() is not None
    assert notes(engine) == ["kept"]


def test_a_member_is_told_of_a_failed_commit_that_another_one_has_made(own_place: Place) -> None:
    engine = own_place.engine().of_project(own_place.new_project())
    own_place.do("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$no$$; END'")
    own_place.do(
        "CREATE CONSTRAINT TRIGGER refusing AFTER INSERT ON tags DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    with queue(engine, 2) as waiting:
        waiting.add(writes(engine, "lost"))
        waiting.add(_fails)  # which commits what the first one has written
    with pytest.raises(Busy, match="Nothing was written"):
        waiting.writes[0].result()
    assert notes(engine) == []


def test_who_may_take_long_shares_no_transaction(place: Place, engine: PostgresEngine) -> None:
    def alone() -> None:
        with engine.without_deadline():
            write_note(engine, "alone")

    with queue(engine, 3) as waiting, ThreadPoolExecutor(1) as other:
        waiting.add(writes(engine, "first"))
        asked = other.submit(alone)
        waiting.wait_for(1)
        waiting.add(writes(engine, "last"))
        waiting.release()
        asked.result()
    assert notes(engine) == ["first", "alone", "last"]
    assert _transactions(place, engine) == 3


def test_an_interrupt_ends_one_member_and_no_other(engine: PostgresEngine) -> None:
    interrupters: list[Callable[[], None]] = []

    def interrupted(transaction: Transaction) -> None:
        interrupters.append(engine.interrupter())
        note(transaction, engine.project or "", "lost")
        interrupters[0]()
        transaction.one("SELECT 1")

    with queue(engine, 3) as waiting:
        waiting.add(writes(engine, "first"))
        waiting.add(interrupted)
        waiting.add(writes(engine, "last"))
    assert isinstance(waiting.writes[1].exception(), Interrupted)
    assert notes(engine) == ["first", "last"]
