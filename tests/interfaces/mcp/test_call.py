from __future__ import annotations

import threading
from typing import Any

import pytest

from satchel.base.errors import Interrupted
from satchel.interfaces.mcp.call import Call
from tables import in_one_test


class Client:
    """Keeps the notifications a call sends."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def notify(self, method: str, params: dict[str, Any]) -> None:
        assert method == "notifications/progress"
        self.told.append(params)


@in_one_test("token", ["t", "", 0, 7])
def test_progress_carries_the_token(token: str | int) -> None:
    client = Client()
    Call(lambda: None, {"progressToken": token}, client.notify).progress(1)
    assert client.told == [{"progressToken": token, "progress": 1}]


@in_one_test("token", [None, True, 1.5, ["t"]])
def test_without_a_usable_token_no_progress_is_sent(token: object) -> None:
    client = Client()
    Call(lambda: None, {"progressToken": token}, client.notify).progress(1)
    assert client.told == []


@pytest.mark.parametrize("end", ["cancel", "finish"])
def test_no_progress_is_sent_once_the_call_is_over(end: str) -> None:
    client = Client()
    call = Call(lambda: None, {"progressToken": 1}, client.notify)
    getattr(call, end)()
    call.progress(1)
    assert client.told == []


def test_progress_that_does_not_increase_is_not_sent() -> None:
    client = Client()
    call = Call(lambda: None, {"progressToken": 1}, client.notify)
    for done in (0, 2, 2, 1, float("nan"), 3):
        call.progress(done)
    assert [params["progress"] for params in client.told] == [0, 2, 3]


def test_cancellation_runs_the_callbacks_once() -> None:
    call = Call(lambda: None)
    struck: list[str] = []
    with call.on_cancel(lambda: struck.append("a")), call.on_cancel(lambda: struck.append("b")):
        call.cancel()
        call.cancel()
    assert (struck, call.cancelled()) == (["a", "b"], True)


def test_a_callback_that_was_taken_back_does_not_run() -> None:
    call = Call(lambda: None)
    struck: list[str] = []
    with call.on_cancel(lambda: struck.append("a")):
        pass
    call.cancel()
    assert struck == []


def test_the_same_callback_can_be_registered_in_nested_blocks() -> None:
    call = Call(lambda: None)
    struck: list[str] = []

    def strike() -> None:
        struck.append("a")

    with call.on_cancel(strike):
        with call.on_cancel(strike):
            pass
        call.cancel()
    assert struck == ["a"]


def test_a_block_is_not_left_while_its_callback_runs() -> None:
    call = Call(lambda: None)
    running, raise_if_cancelled = threading.Event(), threading.Event()
    order: list[str] = []

    def strike() -> None:
        running.set()
        raise_if_cancelled.wait()
        order.append("struck")

    canceller = threading.Thread(target=call.cancel)
    with call.on_cancel(strike):
        canceller.start()
        running.wait()
        threading.Thread(target=raise_if_cancelled.set).start()
    order.append("left")
    canceller.join()
    assert order == ["struck", "left"]


def test_a_finished_call_interrupts_nothing() -> None:
    call = Call(lambda: None)
    struck: list[str] = []
    with call.on_cancel(lambda: struck.append("a")):
        call.finish()
        call.cancel()
    assert (struck, call.cancelled()) == ([], False)


def test_a_cancelled_call_registers_no_callback() -> None:
    call = Call(lambda: None)
    call.cancel()
    with pytest.raises(Interrupted), call.on_cancel(lambda: None):
        pass


def test_a_failing_callback_is_logged_and_the_next_one_runs(capsys: pytest.CaptureFixture[str]) -> None:
    call = Call(lambda: None)
    struck: list[str] = []

    def fail() -> None:
        raise RuntimeError("closed")

    with call.on_cancel(fail), call.on_cancel(lambda: struck.append("b")):
        call.cancel()
    assert struck == ["b"]
    assert "RuntimeError: closed" in capsys.readouterr().err
