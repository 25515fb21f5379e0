"""Endpoints that send more than any answer takes, or lead elsewhere: each ends in an error that says why."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from consult.providers.asking import Log, Pauses, content
from consult.providers.every_kind import KINDS, Line, line_to
from consult.providers.openai_api import OpenAIApi
from consult.providers.openai_asking import openai
from satchel.base.errors import AssistantFailed
from satchel.consult import wire
from satchel.consult.models import Ask
from satchel.consult.wire import Limits

pytestmark = [pytest.mark.usefixtures("direct"), pytest.mark.slow]

MIB = 1024 * 1024
IN_FLIGHT = 24 * MIB
"""What a server may have sent beyond a limit: the buffers of both ends of a connection."""


def events(*given: dict[str, Any]) -> bytes:
    """Return server-sent events, named by their type where they have one."""
    return b"".join(
        (f"event: {one['type']}\n" if "type" in one else "").encode() + b"data: " + json.dumps(one).encode() + b"\n\n"
        for one in given
    )


def chunk(**delta: Any) -> dict[str, Any]:
    common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    return {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def part(**fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [fields]}, "index": 0}]}


MESSAGE: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [],
    "stop_reason": None,
}
USAGE = {"input_tokens": 1, "output_tokens": 1}
ANTHROPIC_HEAD = events({"type": "message_start", "message": {**MESSAGE, "stop_sequence": None, "usage": USAGE}})
BLOCK = {"type": "content_block_start", "index": 0}
ANTHROPIC_THINKING = events({**BLOCK, "content_block": {"type": "thinking", "thinking": "", "signature": ""}})
ANTHROPIC_TEXT = events({**BLOCK, "content_block": {"type": "text", "text": ""}})
DELTA = {"type": "content_block_delta", "index": 0}
PLACE = {"item_id": "m", "output_index": 0, "content_index": 0, "sequence_number": 1}
LONG = "All work and no play. " * 400

THINKING = {
    "compatible": (b"", events(chunk(reasoning="hm"))),
    "openai": (b"", events({"type": "response.reasoning_text.delta", "delta": "hm", **PLACE})),
    "anthropic": (
        ANTHROPIC_HEAD + ANTHROPIC_THINKING,
        events({**DELTA, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
    ),
    "gemini": (b"", events(part(text="hm", thought=True))),
}
TALKING = {
    "compatible": (b"", events(chunk(content=LONG))),
    "openai": (b"", events({"type": "response.output_text.delta", "delta": LONG, "logprobs": [], **PLACE})),
    "anthropic": (ANTHROPIC_HEAD + ANTHROPIC_TEXT, events({**DELTA, "delta": {"type": "text_delta", "text": LONG}})),
    "gemini": (b"", events(part(text=LONG))),
}
SHAPES = {
    "a line": (b"data: ", b"x", "a line or an event of more than 1,048,576 bytes"),
    "a line of blanks": (b"", b" ", "a line or an event of more than 1,048,576 bytes"),
    "an event of many lines": (b"", b"data: {" + b" " * 4_000 + b"\r\n", "an event of more than 1,048,576 bytes"),
    "short lines": (b"data: {}", b"\rdata: 1", "more than 36,000 lines"),
}
EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture(params=KINDS)
def line(request: pytest.FixtureRequest, pauses: Pauses) -> Iterator[Line]:
    with line_to(request.param, pauses) as one:
        yield one


def kind_of(line: Line) -> str:
    return {"tiny": "compatible", "gpt-test": "openai", "claude-test": "anthropic"}.get(line.model, "gemini")


def refused(line: Line) -> AssistantFailed:
    """Return the error of a call, which is not made twice and says where it was made."""
    with pytest.raises(AssistantFailed) as failed:
        line.ask()
    assert (len(line.provider.requests), line.pauses.seconds) == (1, [])
    assert f" at {line.provider.url}" in failed.value.problem
    assert failed.value.remedy
    return failed.value


@EVERY_SHAPE
def test_a_stream_without_an_end_is_cut(line: Line, shape: str) -> None:
    raw, endless, said = SHAPES[shape]
    line.provider.fail(line.step, "raw", raw=raw, endless=endless, times=1_000)
    failed = refused(line)
    assert (failed.reason, said in failed.problem) == ("too_much", True)
    assert line.provider.sent < MIB + IN_FLIGHT


def test_keep_alives_do_not_go_on_for_ever(line: Line) -> None:
    line.provider.fail(line.step, "raw", endless=b": still here\n\n", times=1_000)
    # one vendor's SDK takes a comment for an answer, and a wrong one
    assert refused(line).reason == ("nonsense" if kind_of(line) == "gemini" else "too_much")


def test_a_model_that_thinks_for_ever_is_cut(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_LEAST_LINES", 1_000)
    monkeypatch.setattr(wire, "_STREAM_LINES", 0)
    raw, endless = THINKING[kind_of(line)]
    line.provider.fail(line.step, "raw", raw=raw, endless=endless, times=1_000)
    failed = refused(line)
    assert (failed.reason, "more than 1,000 lines" in failed.problem) == ("too_much", True)


def test_an_answer_longer_than_the_model_may_give_is_cut(line: Line) -> None:
    raw, endless = TALKING[kind_of(line)]
    line.provider.fail(line.step, "raw", raw=raw, endless=endless, times=1_000)
    shown: list[str] = []
    with pytest.raises(AssistantFailed, match="more than 1,048,576 bytes of text") as failed:
        line.assistant().ask(Ask("Why?", on_text=shown.append))
    assert failed.value.reason == "too_much"
    assert MIB - len(LONG) < len("".join(shown)) <= MIB
    assert "consult.output_tokens" in str(failed.value.remedy)


@pytest.mark.parametrize(
    ("kind", "raw", "endless"),
    [
        ("gemini", b"", events(part(text=""))),
        ("anthropic", ANTHROPIC_HEAD, b""),
        ("compatible", b"", b""),
    ],
    ids=["gemini", "anthropic", "compatible"],
)
def test_an_answer_of_too_many_parts_is_cut(
    kind: str, raw: bytes, endless: bytes, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Limits(MIB, MIB, 16 * MIB, 100_000, parts=50)
    monkeypatch.setattr(Limits, "of", classmethod(lambda *_: few))
    if kind == "anthropic":
        block = {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}
        raw += b"".join(events({**block, "index": place}) for place in range(60))
    if kind == "compatible":
        call = {"type": "function", "function": {"name": "file_search", "arguments": "{}"}}
        raw = b"".join(events(chunk(tool_calls=[{"index": place, "id": f"c{place}", **call}])) for place in range(60))
    with line_to(kind, pauses) as line:
        line.provider.fail(line.step, "raw", raw=raw, endless=endless, times=1_000)
        failed = refused(line)
    assert (failed.reason, "more than 50 parts" in failed.problem) == ("too_much", True)


@pytest.mark.parametrize("kind", ["anthropic", "compatible"])
def test_arguments_without_an_end_are_cut(kind: str, pauses: Pauses) -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "file_search", "arguments": "x" * 4_000}}
    use = {"type": "tool_use", "id": "t", "name": "file_search", "input": {}}
    pieces = {"type": "input_json_delta", "partial_json": ',"x"' * 1_000}
    raw, endless = {
        "anthropic": (
            ANTHROPIC_HEAD
            + events({**BLOCK, "content_block": use}, {**DELTA, "delta": {**pieces, "partial_json": '["x"'}}),
            events({**DELTA, "delta": pieces}),
        ),
        "compatible": (b"", events(chunk(tool_calls=[call]))),
    }[kind]
    with line_to(kind, pauses) as line:
        line.provider.fail(line.step, "raw", raw=raw, endless=endless, times=1_000)
        failed = refused(line)
    assert (failed.reason, "more than 65,536 characters of arguments" in failed.problem) == ("too_much", True)


def test_thoughts_without_an_end_are_cut(pauses: Pauses) -> None:
    thought = events({**DELTA, "delta": {"type": "thinking_delta", "thinking": LONG}})
    with line_to("anthropic", pauses) as line:
        line.provider.fail(line.step, "raw", raw=ANTHROPIC_HEAD + ANTHROPIC_THINKING, endless=thought, times=1_000)
        failed = refused(line)
    assert (failed.reason, "characters of thoughts" in failed.problem) == ("too_much", True)


def test_what_is_compressed_is_not_unpacked(line: Line) -> None:
    bomb = gzip.compress(b" " * (16 * MIB))
    line.provider.fail(line.step, "raw", raw=bomb, headers={"content-encoding": "gzip"})
    failed = refused(line)
    assert (failed.reason, "'gzip'" in failed.problem) == ("compressed", True)
    assert line.provider.requests[0].headers["accept-encoding"] == "identity"


def test_an_error_that_is_compressed_is_told_by_its_status(line: Line) -> None:
    line.provider.fail(line.step, "status", status=404, headers={"content-encoding": "gzip"})
    assert refused(line).reason == "not_found"


def test_headers_without_an_end_are_cut(line: Line) -> None:
    many = {f"x-{number}": "y" * 20 for number in range(10_000)}
    line.provider.fail(line.step, "raw", headers=many)
    failed = refused(line)
    assert (failed.reason, "bytes of headers" in failed.problem) == ("too_much", True)


def test_a_body_of_an_error_without_an_end_is_cut(line: Line) -> None:
    line.provider.fail(line.step, "status", status=400, body=[{}] * MIB)
    failed = refused(line)
    assert (failed.reason, "a response of more than 1,048,576 bytes" in failed.problem) == ("too_much", True)


def test_redirects_without_an_end_are_not_followed_for_ever(line: Line) -> None:
    line.provider.fail(line.step, "status", status=307, headers={"location": ""}, times=1_000)
    with pytest.raises(AssistantFailed, match="redirects") as failed:
        line.ask()
    assert (failed.value.reason, line.pauses.seconds) == ("unreachable", [])
    assert len(line.provider.requests) < 30


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_server_is_not_followed_and_no_key_goes_there(
    line: Line, pauses: Pauses, status: int
) -> None:
    with line_to(kind_of(line), pauses) as stranger:
        target = stranger.provider.url.replace("http://", "http://ann:hunter2-of-the-redirect@")
        line.provider.fail(line.step, "status", status=status, headers={"location": f"{target}/x?key=abc"})
        failed = refused(line)
        assert stranger.provider.requests == []
    assert (failed.reason, f"{stranger.provider.url}/x" in failed.problem) == ("redirected", True)
    assert "hunter2" not in str(failed)
    assert "abc" not in str(failed)


def test_a_redirect_on_the_same_server_is_followed(line: Line) -> None:
    with line_to(kind_of(line), line.pauses) as known:
        # where the request would have gone is learnt from one that went well
        known.ask()
        path = known.provider.requests[0].path
        query = "&".join(f"{name}={value}" for name, value in known.provider.requests[0].query.items())
    location = path.partition("?")[0] + (f"?{query}" if query else "")
    line.provider.fail(line.step, "status", status=307, headers={"location": location})
    assert line.ask() == "It is so."
    assert len(line.provider.requests) == 2


def test_a_call_ends_in_its_time_whatever_is_sent_meanwhile(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Limits(*[10**12] * 6)
    monkeypatch.setattr(Limits, "of", classmethod(lambda *_: endless))
    raw, again = THINKING[kind_of(line)]
    line.provider.fail(line.step, "raw", raw=raw, endless=again, times=1_000)
    assistant = line.assistant(total=30.0)
    # the time is up as soon as the provider has been asked
    assistant._timing = replace(assistant._timing, clock=lambda: 60.0 if line.provider.requests else 0.0)
    with pytest.raises(AssistantFailed, match=f" at {line.provider.url} was not done within 30 seconds") as failed:
        assistant.ask(Ask("Why?"))
    assert (failed.value.reason, "consult.total_seconds" in str(failed.value.remedy)) == ("timed_out", True)
    assert (len(line.provider.requests), line.pauses.seconds) == (1, [])


@pytest.mark.parametrize("step", ["create_store", "upload", "add_batch", "poll"])
def test_a_response_about_a_vector_store_has_its_limit_and_nothing_is_left(pauses: Pauses, log: Log, step: str) -> None:
    with OpenAIApi() as provider:
        provider.fail(
            step, "raw", raw=b"[", endless=b"{},       \n", headers={"content-type": "application/json"}, times=20
        )
        with pytest.raises(AssistantFailed, match="a response of more than 1,048,576 bytes") as failed:
            openai(provider, pauses).ask(Ask("Why?", searchable={"a.py": content("x = 1\n")}, stores=log))
        assert failed.value.reason == "too_much"
        assert (provider.stores, provider.files) == ({}, {})


def test_a_list_of_files_without_an_end_is_read_as_far_as_there_are_files(pauses: Pauses, log: Log) -> None:
    class Endless(OpenAIApi):
        def _list_batch(self, request: Any) -> Any:
            answer = super()._list_batch(request)
            page = json.loads(answer.parts[0])
            row = {"object": "vector_store.file", "created_at": 1, "usage_bytes": 1, "vector_store_id": "v"}
            number = len(self.requests)
            page["data"] += [{**row, "id": f"file_x{number}", "status": "completed", "last_error": None}]
            page["has_more"] = True
            return type(answer)(200, (json.dumps(page).encode(),))

    with Endless() as provider:
        provider.unreadable = {"bad"}
        files = {f"{name}.py": content("x = 1\n") for name in ("a", "b", "bad")}
        openai(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
        assert len(provider.seen("list_batch")) < 10
