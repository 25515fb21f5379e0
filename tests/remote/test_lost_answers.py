"""Connections that are cut: what was acknowledged is kept once, and what is said of the rest is true."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from accepting import FIN, RST
from cutting_proxy import AFTER_REQUEST, BEFORE_ANSWER, DONE, PLACES, UNHEARD, Cut, Proxy, proxy_to
from http_serving import Served
from satchel import Satchel
from satchel.base.errors import AnswerLost, Interrupted, NotFound, Unreachable
from satchel.interfaces.http.calls import Answers, Calls
from satchel.interfaces.http.public import operation_named
from satchel.remote import calls
from server_process import ServerProcess, token_for
from tables import in_one_test

Opens = Callable[..., Satchel]
Count = Callable[[str], int]

CUTS = [Cut(*one) for one in itertools.product(PLACES, (FIN, RST))]


def write(satchel: Satchel, text: str) -> None:
    operation_named("send_message").bound(satchel)(message=text, to="ben")


def written(satchel: Satchel, text: str) -> str:
    """Write a note; return what the local program made of it."""
    try:
        write(satchel, text)
    except AnswerLost as error:
        return "kept" if "done, but the answer was lost" in str(error) else str(error)
    except Unreachable as error:
        return "unknown" if "whether anything was kept is not known" in str(error) else "unsent"
    return "answered"


@in_one_test("cut", CUTS)
def test_a_write_whose_connection_is_cut_is_kept_once_and_answered(
    cut: Cut, proxy: Proxy, open_at: Opens, times_kept: Count
) -> None:
    satchel = open_at(proxy.url)
    texts, asked_before = (f"one {cut}", f"two {cut}"), proxy.requests
    proxy.plan.clear()
    proxy.plan.extend([cut, None, cut])
    assert [written(satchel, text) for text in texts] == ["answered"] * 2
    assert [times_kept(text) for text in texts] == [1, 1]
    assert proxy.requests > asked_before + 2


@pytest.mark.parametrize("where", PLACES)
def test_where_every_answer_is_cut_it_is_not_known_whether_anything_was_kept(
    where: str, proxy: Proxy, open_at: Opens, times_kept: Count
) -> None:
    proxy.plan.extend([Cut(where)] * 20)
    assert written(open_at(proxy.url), "text") == "unknown"
    assert times_kept("text") <= (0 if where in UNHEARD else 1)
    if where in DONE:
        assert times_kept("text") == 1


def test_where_nothing_listens_it_is_said_that_nothing_was_sent(open_at: Opens, server: Served) -> None:
    with proxy_to(server.port) as proxy:
        url = proxy.url
    with pytest.raises(Unreachable, match="Nothing was sent"):
        write(open_at(url), "text")


def test_a_server_that_stays_away_after_a_lost_answer_leaves_it_unknown(
    proxy: Proxy, open_at: Opens, times_kept: Count
) -> None:
    proxy.plan.append(Cut(BEFORE_ANSWER, first=proxy.leave))
    assert written(open_at(proxy.url), "text") == "unknown"
    assert times_kept("text") == 1


def test_an_error_of_a_lost_answer_is_told_on_the_retry(proxy: Proxy, open_at: Opens) -> None:
    proxy.plan.append(Cut(BEFORE_ANSWER))
    with pytest.raises(NotFound):
        operation_named("retract").bound(open_at(proxy.url))(ref="e999", reason="none")


def test_a_retry_with_a_token_that_was_revoked_meanwhile_says_that_it_is_not_known(
    proxy: Proxy, open_at: Opens, server: Served, times_kept: Count
) -> None:
    satchel = open_at(proxy.url)
    proxy.plan.append(Cut(BEFORE_ANSWER, first=server.serving.tokens._accesses.clear))  # type: ignore[attr-defined]
    assert written(satchel, "text") == "unknown"
    assert times_kept("text") == 1


def test_an_old_connection_that_the_server_has_closed_costs_nothing(
    proxy: Proxy, open_at: Opens, times_kept: Count
) -> None:
    satchel = open_at(proxy.url)
    write(satchel, "first")
    proxy.drop()
    assert written(satchel, "second") == "answered"
    assert times_kept("second") == 1


def test_a_retry_while_the_first_attempt_runs_is_one_with_it(
    proxy: Proxy, open_at: Opens, times_kept: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    retried = threading.Event()
    run, ran = Calls._run, []

    def run_slowly(self: Calls, *given: object) -> object:
        ran.append(given)
        assert retried.wait(60)
        return run(self, *given)  # type: ignore[arg-type]

    once = Answers.once
    asked: list[object] = []

    def come(self: Answers, *given: object) -> object:
        asked.append(given)
        if len(asked) == 2:
            retried.set()
        return once(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Calls, "_run", run_slowly)
    monkeypatch.setattr(Answers, "once", come)
    # the first attempt has arrived before it is cut
    proxy.plan.append(Cut(AFTER_REQUEST, first=lambda: _until(lambda: bool(ran))))
    assert written(open_at(proxy.url), "text") == "answered"
    assert times_kept("text") == 1
    assert len(asked) == 2


def _until(is_so: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(6_000):
        if is_so():
            return
        waiting.wait(0.01)
    raise AssertionError("it does not come")


def test_a_call_that_is_cancelled_ends_at_once(proxy: Proxy, open_at: Opens) -> None:
    satchel = open_at(proxy.url)
    proxy.plan.append(Cut(BEFORE_ANSWER, first=lambda: end[0]()))  # noqa: PLW0108 -- it is not there yet
    end = [satchel.interrupter()]
    with pytest.raises(Interrupted, match="cancelled"):
        write(satchel, "text")
    write(satchel, "another")


@pytest.mark.slow
def test_of_many_writes_over_a_bad_connection_each_is_kept_once(
    proxy: Proxy, open_at: Opens, times_kept: Count
) -> None:
    satchel, dice = open_at(proxy.url), random.Random(19)
    became: dict[str, str] = {}
    for number in range(80):
        proxy.plan.clear()
        proxy.plan.extend(dice.choice([None, *CUTS, *CUTS]) for _ in range(dice.randrange(9)))
        became[f"text {number}"] = written(satchel, f"text {number}")
    kept = {text: times_kept(text) for text in became}
    assert {kept[text] for text, what in became.items() if what in {"answered", "kept"}} == {1}
    assert all(count <= 1 for count in kept.values())
    assert not any(kept[text] for text, what in became.items() if what == "unsent")


@pytest.mark.slow
def test_what_a_killed_server_had_kept_is_reported_as_kept_by_the_next(
    open_at: Opens, store: Path, times_kept: Count
) -> None:
    token = token_for(store, "theirs")
    with ServerProcess() as process, proxy_to(process.port, process.proxy_port) as proxy:
        satchel = open_at(proxy.url, token)
        for number, how in enumerate((FIN, RST) * 2):
            proxy.plan.append(Cut(BEFORE_ANSWER, how, process.restart))
            assert written(satchel, f"text {number}") == "kept"
            assert times_kept(f"text {number}") == 1
        proxy.plan.append(Cut(AFTER_REQUEST, FIN, process.restart))
        assert written(satchel, "text") in {"kept", "answered"}
        assert times_kept("text") == 1
        proxy.plan.append(Cut(BEFORE_ANSWER, FIN, process.kill))
        assert written(satchel, "last") == "unknown"
        assert times_kept("last") == 1
        process.start()
        away = store.with_name("away.db")

        def restart_without_store() -> None:
            process.kill()
            store.rename(away)
            process.start()

        proxy.plan.append(Cut(BEFORE_ANSWER, FIN, restart_without_store))
        assert written(satchel, "lookless") == "unknown"
        away.rename(store)
        assert times_kept("lookless") == 1
        assert written(satchel, "after") == "answered"


@pytest.mark.slow
def test_a_briefing_whose_answer_was_lost_is_given_whole_by_the_next_server(open_at: Opens, store: Path) -> None:
    token = token_for(store, "theirs")
    with ServerProcess() as process, proxy_to(process.port, process.proxy_port) as proxy:
        satchel = open_at(proxy.url, token)
        operation_named("add_constraint").bound(satchel)(text="Never log a token", category="security", priority="high")
        proxy.plan.append(Cut(BEFORE_ANSWER, FIN, process.restart))
        assert "Never log a token" in satchel.brief(agent="ben").text


def test_hooks_send_nothing_again_and_end_in_their_time(proxy: Proxy, open_at: Opens) -> None:
    from satchel.keep.sessions.caller import HOOK

    satchel = open_at(proxy.url, caller=HOOK)
    assert isinstance(satchel.remote, calls.Calls)
    proxy.plan.extend([Cut(BEFORE_ANSWER)] * 3)
    with pytest.raises(Unreachable):
        satchel.brief()
    assert proxy.requests == 1
