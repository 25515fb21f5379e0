"""Bodies of requests: limited in size, depth and number of values, and parsed while others are answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from http_serving import FixedTokens, Served, served
from satchel.base.errors import InvalidInput, TooLarge
from satchel.interfaces.hooks import events
from satchel.interfaces.http import bodies
from satchel.interfaces.http.bodies import MAX_VALUES, check_shape
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.mcp.jsonrpc import MAX_DEPTH

_SECURITY = Path(__file__).parents[3] / "SECURITY.md"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Served]:
    """A server that tests of this module share."""
    with served(FixedTokens(store)) as running:
        yield running


def test_others_are_answered_while_a_large_body_is_parsed(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, is_answered = threading.Event(), threading.Event()

    def check_slowly(body: bytes) -> None:
        if len(body) > 100_000:
            begun.set()
            assert is_answered.wait(60)

    monkeypatch.setattr(bodies, "check_shape", check_slowly)
    answers = []
    body = json.dumps({"query": "x" * 200_000}).encode()
    large = threading.Thread(target=lambda: answers.append(server.ask("/api/search", method="POST", body=body)))
    large.start()
    assert begun.wait(60)
    assert server.ask("/api/read_context", token="agent-token").status == 200
    assert answers == []
    is_answered.set()
    large.join(60)
    assert [answer.status for answer in answers] == [413]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"query":"' + b"x" * Settings().body_bytes + b'"}', 413),
        (b'{"types":[' + b"1," * MAX_VALUES + b"1]}", 413),
        (b'{"types":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", 400),
        (b'{"query":"' + b"[,{" * 50_000 + b'"}', 413),  # a query of that length, and no more values than one
        ('{"query": "x"}'.encode("utf-16"), 400),
    ],
)
@pytest.mark.parametrize("path", ["/api/read_context", "/mcp"])
def test_a_body_beyond_a_limit_is_refused(server: Served, path: str, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = server.ask(path, method="POST", headers=headers, body=body)
    assert answer.status == status or (path == "/mcp" and answer.status == 400)
    assert answer.json()["error"]


def _depth(value: object) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


_TEXT = st.text(st.sampled_from('[]{},"\\a\u225c'), max_size=8)
_NESTED = st.recursive(
    st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=30,
)


@given(value=_NESTED, limit=st.integers(1, 6), is_ascii=st.booleans())
@settings(max_examples=examples(120))
def test_the_depth_of_a_text_is_that_of_its_value(value: object, limit: int, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "MAX_DEPTH", limit)
        try:
            check_shape(text)
        except InvalidInput:
            assert _depth(value) > limit
        else:
            assert _depth(value) <= limit


@given(text=st.binary(max_size=30) | st.text(st.sampled_from('"\\[,'), max_size=30).map(str.encode))
@settings(max_examples=examples(60))
def test_no_bytes_are_too_odd_to_be_looked_at(text: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "MAX_DEPTH", 1)
        patch.setattr(bodies, "MAX_VALUES", 2)
        with suppress(InvalidInput, TooLarge):
            check_shape(text)


def test_the_page_about_security_names_the_limits_of_bodies_and_events() -> None:
    page = _SECURITY.read_text(encoding="utf-8")
    assert f"`satchel hook` reads at most {events.MAX_BYTES >> 20} MiB" in page
    assert f"at most {Settings().body_bytes >> 20} MiB, {MAX_VALUES:,} values and {MAX_DEPTH} levels" in page
