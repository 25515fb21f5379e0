from __future__ import annotations

import socket
import threading
from types import SimpleNamespace

import pytest

from consult.providers.asking import Pauses, quick
from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult import sdk
from satchel.consult.models import Timing
from satchel.consult.wire import Wire, pause_after, persist, retry_after
from tables import in_one_test


def failure(*, is_passing: bool = True, retry_after: float | None = None) -> AssistantFailed:
    return AssistantFailed("it failed", is_passing=is_passing, retry_after=retry_after)


@in_one_test(
    ("attempt", "failed", "least", "most"),
    [
        (1, failure(), 0.25, 0.5),
        (2, failure(), 0.5, 1.0),
        (5, failure(), 4.0, 8.0),
        (6, failure(), 4.0, 8.0),
        (7, failure(), None, None),
        (1, failure(is_passing=False), None, None),
        (1, failure(retry_after=0.0), 0.0, 0.25),
        (2, failure(retry_after=60.0), 60.0, 60.5),
        (1, failure(retry_after=60.5), None, None),
    ],
)
def test_pauses_grow_up_to_a_limit_and_end_and_are_partly_left_to_chance(
    attempt: int, failed: AssistantFailed, least: float | None, most: float | None
) -> None:
    never, always = Timing(attempts=7, chance=lambda: 0.0), Timing(attempts=7, chance=lambda: 1.0)
    assert (pause_after(attempt, failed, never), pause_after(attempt, failed, always)) == (least, most)


def test_those_who_failed_together_do_not_come_back_together() -> None:
    pauses = {pause_after(3, failure(), Timing()) for _ in range(20)}
    assert len(pauses) > 15
    assert all(pause is not None and 1.0 <= pause <= 2.0 for pause in pauses)


@in_one_test(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Sun, 22 Nov 2026 05:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 04:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_what_a_provider_asks_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: 1_795_323_600.0) == seconds


def test_what_must_not_be_repeated_is_not() -> None:
    def work() -> None:
        raise failure()

    pauses = Pauses()
    with Wire(quick(pauses), lambda: False) as wire, pytest.raises(AssistantFailed):
        persist(wire, work, lambda: False)
    assert pauses.seconds == []


def test_a_pause_that_ends_after_the_time_is_up_is_not_begun() -> None:
    def work() -> None:
        raise failure(retry_after=40.0)

    pauses = Pauses()
    with Wire(quick(pauses, total=30.0), lambda: False) as wire, pytest.raises(AssistantFailed, match="it failed"):
        persist(wire, work)
    assert pauses.seconds == []


def test_a_pause_is_cut_short_by_a_cancellation() -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.1, cancelled.set)
    with Wire(Timing(), cancelled.is_set) as wire:
        timer.start()
        with pytest.raises(Interrupted):
            wire.pause(60.0)
    timer.join()


def test_a_cancellation_is_remembered() -> None:
    answers = iter([True, False, False])
    wire = Wire(Timing(), lambda: next(answers))
    for _ in range(2):
        with pytest.raises(Interrupted):
            wire.check()


def test_a_connection_that_opens_after_the_end_is_shut() -> None:
    class Stream:
        def __init__(self, opened: socket.socket) -> None:
            self.opened = opened

        def get_extra_info(self, name: str) -> socket.socket:
            assert name == "socket"
            return self.opened

    class Request:
        def __init__(self) -> None:
            self.extensions: dict[str, object] = {}
            self.headers: dict[str, str] = {}
            self.url = SimpleNamespace(scheme="http", raw_host=b"localhost", port=None)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = Request()
        cancelled = threading.Event()
        with Wire(Timing(), cancelled.is_set) as wire:
            (follow,) = wire.event_hooks()["request"]
            follow(request)
            cancelled.set()
            wire._watcher.join()
            trace = request.extensions["trace"]
            assert callable(trace)
            trace("connection.connect_tcp.complete", {"return_value": Stream(ours)})
        assert theirs.recv(1) == b""


def test_what_a_provider_says_is_repeated_without_secrets_and_in_part() -> None:
    said = sdk.excerpt("bad key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF\n" + "x" * 1_000)
    assert "abcdefghijkl" not in said
    assert "\n" not in said
    assert len(said) == 300
