"""Events over HTTP: a real server, real sockets, and another process that writes."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from event_listening import Book, EventServer, Message, Writer, access, items
from satchel.interfaces.http import followers
from satchel.interfaces.http.followers import Watcher
from satchel.interfaces.http.settings import Settings, StreamLimits
from satchel.keep import following

pytestmark = pytest.mark.slow

Serve = Callable[..., EventServer]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "store.db"


@pytest.fixture
def writer(store: Path) -> Iterator[Writer]:
    """Another process, which has written a note before anybody listens."""
    one = Writer(store, "one")
    one.note("the first")
    yield one
    one.close()


@pytest.fixture
def serve(store: Path, writer: Writer) -> Iterator[Serve]:
    """Start a server with tokens of two projects of the store."""
    with ExitStack() as stack:

        def start(grace_seconds: int = 5, **limits: float) -> EventServer:
            streams = StreamLimits(**limits)  # type: ignore[arg-type]
            settings = Settings(streams=streams, grace_seconds=grace_seconds, write_seconds=600)
            book = Book(one=access(store, "one"), other=access(store, "other", "t2"))
            return stack.enter_context(EventServer(book, settings))

        yield start


@pytest.fixture
def server(serve: Serve) -> EventServer:
    return serve()


def test_what_another_process_writes_is_told_without_its_content(server: EventServer, writer: Writer) -> None:
    with server.listen() as stream:
        writer.note("a secret plan")
        message = stream.message()
        assert message.event == "change"
        assert message.data == message.data | {"kind": "entry", "item": "e2", "agent": "ann"}
        assert set(message.data) == {"kind", "item", "seq", "agent", "at"}
        writer.call("files", "claim", ["a.py"])
        assert (stream.message().data["kind"]) == "claim"
        writer.call("files", "release", ["a.py"])
        released = stream.message()
        assert (released.event, released.data["kind"], released.data["details"]["path"]) == (
            "happening",
            "release",
            "a.py",
        )


def test_what_the_server_itself_writes_is_told_too(server: EventServer) -> None:
    with server.listen() as stream:
        server.serving.stores.satchel(server.book.known["one"]).entries.write("discovery", "one", agent="ben")
        assert stream.message().data["item"] == "e2"


@pytest.mark.parametrize("how", ["header", "parameter"])
def test_a_listener_that_returns_is_told_what_it_missed(server: EventServer, writer: Writer, how: str) -> None:
    with server.listen() as stream:
        writer.note("second")
        stream.message()
        last = stream.last
    assert last is not None
    writer.note("third")
    writer.note("fourth")
    again = server.listen(last=last) if how == "header" else server.listen(f"?cursor={last}")
    with again as stream:
        writer.note("fifth")
        assert items(stream.messages(3)) == ["e3", "e4", "e5"]


def test_the_first_message_says_where_to_go_on_before_anything_happened(server: EventServer, writer: Writer) -> None:
    with server.listen() as stream:
        begun = stream.last
    writer.note("second")
    with server.listen("?cursor=0.0", last=begun) as stream:
        assert items([stream.message()]) == ["e2"], "a browser repeats the address, the header is newer"


def test_pages_go_on_from_their_cursors(server: EventServer, writer: Writer) -> None:
    begin = server.page()
    assert begin == {"events": [], "cursor": begin["cursor"]}
    writer.note("second")
    page = server.page(f"&cursor={begin['cursor']}")
    assert [(one["event"], one["data"]["item"]) for one in page["events"]] == [("change", "e2")]
    assert page["events"][-1]["id"] == page["cursor"]
    assert server.page(f"&cursor={page['cursor']}") == {"events": [], "cursor": page["cursor"]}


def test_a_page_and_a_stream_take_one_cursor(server: EventServer, writer: Writer) -> None:
    begin = server.page()["cursor"]
    writer.note("second")
    with server.listen(f"?cursor={begin}") as stream:
        stream.message()
        assert server.page(f"&cursor={stream.last}")["events"] == []


def test_only_kinds_that_are_asked_for_are_told(server: EventServer, writer: Writer) -> None:
    with server.listen("?kinds=decision,release&cursor=0.0") as stream:
        writer.note("second")
        writer.call("decisions", "set", "a.b", "c")
        writer.call("files", "claim", ["a.py"])
        writer.call("files", "release", ["a.py"])
        assert [one.data["kind"] for one in stream.messages(2)] == ["decision", "release"]
    kinds = [one["data"]["kind"] for one in server.page("&kinds=entry&cursor=0.0")["events"]]
    assert kinds == ["entry", "entry"]


def test_a_listener_is_told_of_the_project_of_its_token_alone(server: EventServer, store: Path, writer: Writer) -> None:
    other = Writer(store, "other")
    with server.listen() as ours, server.listen(token="other") as theirs:
        writer.note("ours")
        writer.call("files", "claim", ["a.py"])
        writer.call("files", "release", ["a.py"])
        other.note("theirs")
        first = theirs.message()
        while first.data["kind"] == "run":
            first = theirs.message()
        assert items([first]) == ["e3"]
        writer.note("ours again")
        assert "e3" not in items(ours.until("e4"))
        cursor = ours.last
    assert [one["data"]["item"] for one in server.page("&cursor=0.0&kinds=entry", "other")["events"]] == ["e3"]
    with server.get(f"?wait=0&cursor={cursor}", "other") as answer:
        assert answer.status == 400, "a cursor of another project may lie in this one's future"
    other.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?cursor=12", "not a cursor"),
        ("?cursor=", "not a cursor"),
        ("?wait=0&cursor=999999.0", "has not reached"),
        ("?cursor=0.99", "has not reached"),
        ("?kinds=entries", "Did you mean 'entry'"),
        ("?kinds=", "unknown kind"),
        ("?wait=5", "wait=0"),
        ("?since=1", "unknown parameter"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_json(server: EventServer, query: str, said: str) -> None:
    with server.get(query) as answer:
        error = json.loads(answer.read())["error"]
    assert (answer.status, error["code"]) == (400, "invalid_input")
    assert said in f"{error['problem']} {error['remedy']}"
    assert server.followers.count == 0


def test_more_listeners_than_may_are_refused_until_one_leaves(serve: Serve) -> None:
    server = serve(in_all=3, of_token=2)
    with server.listen(), server.listen(token="other"):
        with server.listen():
            with server.get(token="other") as answer:
                error = json.loads(answer.read())["error"]
            assert (answer.status, error["code"], answer.headers["retry-after"]) == (503, "busy", "5")
        answer = server.get()
        while answer.status == 503:  # the server hears in a moment that one has left
            answer.close()
            answer = server.get()
        assert answer.status == 200
        answer.close()


def test_one_token_does_not_take_the_places_of_all(serve: Serve) -> None:
    server = serve(in_all=3, of_token=1)
    with server.listen():
        with server.get() as answer:
            error = json.loads(answer.read())["error"]
        assert (answer.status, error["code"]) == (429, "busy")
        with server.listen(token="other"):
            pass


def test_a_listener_hears_that_the_server_lives(serve: Serve) -> None:
    server = serve(heartbeat_seconds=0.05)
    with server.listen() as stream:
        assert [stream.line()[:1] for _ in range(4)] == [":", "\n"] * 2


def test_a_stream_ends_once_its_token_is_revoked(serve: Serve) -> None:
    server = serve(heartbeat_seconds=0.05)
    with server.listen() as stream:
        del server.book.known["one"]
        assert stream.message().data["code"] == "refused"
        assert stream.message().event == ""


def test_a_listener_that_reads_nothing_is_cut_and_the_others_go_on(serve: Serve, writer: Writer) -> None:
    server = serve(stalled_seconds=0.2)
    paths = [f"{number}.py" for number in range(100)]
    with server.listen() as reading, server.ignore() as idle:
        kinds = {"claim"}
        while not server.followers.cut:
            writer.call("files", "claim", paths)
            assert {one.data["kind"] for one in reading.messages(len(kinds) * len(paths))} == kinds
            kinds = {"claim", "extension"}
        assert (server.followers.cut, server.followers.count) == (1, 1)
        while idle.recv(65_536):
            pass  # what had been sent, and then the end of the connection


def test_more_at_once_than_a_page_is_told_in_several(
    server: EventServer, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "PAGE", 3)
    with server.listen() as stream:
        for number in range(30):
            writer.begin("entries", "write", "discovery", f"note {number}")
        for _ in range(30):
            writer.wait()
        assert items(stream.until("e31")) == [f"e{number}" for number in range(2, 32)]
    assert server.followers.cut == 0


def test_who_missed_too_much_is_told_once_to_read_anew(
    server: EventServer, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST_MISSED", 3)
    for number in range(4):
        writer.note(f"note {number}")
    with server.listen("?cursor=0.0") as stream:
        reset = stream.message()
        assert (reset.event, reset.data["cursor"]) == ("reset", reset.id)
        writer.note("after")
        assert items([stream.message()]) == ["e6"]
    (told,) = server.page("&cursor=0.0")["events"]
    assert told["event"] == "reset"
    assert [one["data"]["item"] for one in server.page(f"&cursor={reset.id}")["events"]] == ["e6"]
    assert server.page(f"&cursor={told['id']}") == {"events": [], "cursor": told["id"]}


def _remove(store: Path) -> None:
    for file in store.parent.glob("store.db*"):
        file.unlink()


def _empty(store: Path) -> None:
    with store.open("r+b") as file:
        file.truncate()


def _replace(store: Path) -> None:
    copy = store.with_name("copy.db")
    shutil.copy(store, copy)
    copy.replace(store)


def _garble(store: Path) -> None:
    copy = store.with_name("copy.db")
    copy.write_bytes(b"no store at all " * 4_096)
    copy.replace(store)


def _garble_in_place(begin: int) -> Callable[[Path], None]:
    def garble(store: Path) -> None:
        with store.open("r+b") as file:
            file.seek(begin)
            file.write(b"no page at all  " * ((store.stat().st_size - begin) // 16))

    return garble


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (_garble_in_place(0), {"store_foreign"}),
        (_garble_in_place(4_096), {"store_damaged"}),
        (_remove, {"store_missing"}),
        (_empty, {"store_missing"}),
        (_replace, {"conflict"}),
        (_garble, {"store_foreign", "store_damaged"}),
    ],
)
def test_a_store_that_is_lost_ends_its_streams_and_the_server_lives_on(
    server: EventServer, store: Path, tmp_path: Path, change: Callable[[Path], None], codes: set[str]
) -> None:
    second = tmp_path / "second.db"
    server.book.known["second"] = access(second, "two", "t3")
    other = Writer(second, "two")
    with closing(apsw.Connection(str(store))) as connection:
        # all is in the file itself, so that damage to it is damage to the store
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with server.listen() as stream, server.listen(token="second") as theirs:
        change(store)
        failed = stream.message()
        assert failed.event == "failed"
        assert failed.data["code"] in codes
        assert set(failed.data) == {"code", "problem", "remedy"}
        assert stream.message() == Message("", None, None)
        other.note("still here")
        assert theirs.until("e1")
    other.close()


def test_a_store_that_is_replaced_before_it_is_watched_ends_the_stream_too(
    server: EventServer, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Watcher._run

    def late(self: Watcher, seen: Any) -> None:
        _replace(store)
        run(self, seen)

    monkeypatch.setattr(Watcher, "_run", late)
    with server.listen() as stream:
        assert stream.message().data["code"] == "conflict"


def test_one_thread_watches_a_store_while_anybody_listens(server: EventServer) -> None:
    def watching() -> int:
        return sum(thread.name == "satchel-events" for thread in threading.enumerate())

    with server.listen(), server.listen(), server.listen(token="other"):
        assert watching() == 1
    while watching():
        threading.Event().wait(0.01)
    with server.listen() as stream:
        server.serving.stores.satchel(server.book.known["one"]).entries.write("discovery", "one", agent="ben")
        assert stream.message().data["item"] == "e2"


def test_streams_end_when_the_server_does(server: EventServer) -> None:
    with server.listen() as stream:
        server.stop()
        assert stream.message() == Message("", None, None)


def test_a_listener_that_reads_nothing_does_not_hold_up_the_end(serve: Serve, writer: Writer) -> None:
    server = serve(grace_seconds=600, stalled_seconds=600)
    paths = [f"{number}.py" for number in range(100)]
    with server.ignore():
        while not server.has_unread:
            writer.call("files", "claim", paths)
        server.stop()


def test_a_look_at_the_headers_alone_begins_no_stream(server: EventServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("HEAD", "/api/events", headers={"Authorization": "Bearer one"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    connection.close()
    assert server.followers.count == 0


def test_a_listener_that_reconnects_again_and_again_is_told_each_change_once(
    server: EventServer, store: Path, writer: Writer
) -> None:
    writers = [writer, Writer(store, "one", "ben"), Writer(store, "one", "cem")]
    rounds = 40
    with server.listen() as stream:
        begin = last = stream.last
    for number in range(rounds):
        for place, one in enumerate(writers):
            match (number + place) % 4:
                case 0:
                    one.begin("decisions", "set", f"key.{place}.{number}", "x")
                case 1:
                    one.begin("files", "claim", [f"{place}.py"])
                case 2:
                    one.begin("files", "release", [f"{place}.py"])
                case _:
                    one.begin("entries", "write", "discovery", f"note {number} of {place}")
    told: list[Message] = []
    # it leaves after 1 to 7 messages, while the others write
    while len(told) < rounds:
        with server.listen(last=last) as stream:
            told += stream.messages(1 + len(told) % 7)
            last = stream.last
    for one in writers:
        for _ in range(rounds):
            one.wait()
    writer.call("runs", "start", "the-last")
    with server.listen(last=last) as stream:
        told += stream.until("the-last")
        last = stream.last
    # what had happened before may come after it
    told += [Message(**one) for one in server.page(f"&cursor={last}")["events"]]
    seen = [(one.event, one.data["seq"]) for one in told]
    assert len(set(seen)) == len(seen), "nothing twice"
    reached = [tuple(map(int, str(one.id).split("."))) for one in told]
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(reached))
    kept = server.page(f"&cursor={begin}")["events"]
    assert {(one["event"], one["data"]["seq"]) for one in kept} <= set(seen), "no gap"
    for one in writers[1:]:
        one.close()
