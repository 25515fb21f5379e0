from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from consult.providers.asking import LASTING, PASSING, Details, Pauses, content, quick
from consult.providers.chat_completions import ChatCompletions, Said
from consult.providers.server import Answer, Request, as_events
from satchel.base.errors import AssistantFailed, Interrupted, Unavailable
from satchel.base.tokens import estimate
from satchel.consult.models import Ask, Model
from satchel.consult.providers import OpenAICompatible
from satchel.consult.records import Exchange, Window

pytestmark = pytest.mark.usefixtures("direct")

WINDOW = Window(tokens=32_000, output=4_000)
SEARCH = ("file_search", '{"query": "refresh the token"}')


FILES = {
    "src/auth.py": content("def refresh_token(user):\n    return sign(user)\n"),
    "src/mail.py": content("def send_mail(to):\n    return smtp(to)\n"),
}


@pytest.fixture
def provider() -> Iterator[ChatCompletions]:
    with ChatCompletions() as server:
        yield server


def assistant(provider: ChatCompletions, pauses: Pauses, **options: Any) -> OpenAICompatible:
    timing = quick(pauses, **options.pop("timing", {}))
    settings: dict[str, Any] = {"base_url": provider.url, "timing": timing, **options}
    return OpenAICompatible(
        Model("compatible", "tiny", settings.pop("window", WINDOW)), "SATCHEL_CONSULT_KEY", **settings
    )


def test_an_answer_arrives_in_pieces_and_whole(provider: ChatCompletions, pauses: Pauses) -> None:
    pieces: list[str] = []
    reply = assistant(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert pieces == ["Hello", ", ", "world"]
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Hello, world", 100, 10)
    assert (reply.provider_ref, reply.notes) == (None, ())


def test_no_key_is_needed_and_none_of_another_provider_is_sent(
    provider: ChatCompletions, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "theirs-alone")
    assistant(provider, pauses).ask(Ask("Why?"))
    assert "theirs-alone" not in str(provider.requests[0].headers)


def test_a_key_is_sent_where_there_is_one(pauses: Pauses) -> None:
    with ChatCompletions(key="right") as provider:
        assert assistant(provider, pauses, key="right").ask(Ask("Why?")).text == "Hello, world"


def test_the_history_stands_before_the_question(provider: ChatCompletions, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("And now?", history=(Exchange("First?", "Yes."), Exchange("Then?", "No."))))
    messages = [(message["role"], message["content"]) for message in provider.requests[0].json["messages"]]
    assert messages == [
        ("user", "First?"),
        ("assistant", "Yes."),
        ("user", "Then?"),
        ("assistant", "No."),
        ("user", "And now?"),
    ]


def test_the_prompt_arrives_byte_for_byte(provider: ChatCompletions, pauses: Pauses) -> None:
    prompt = 'tabs\t, CRLF\r\n, \u2028, emoji \U0001f600, {"json": null} and <|endoftext|>'
    assistant(provider, pauses).ask(Ask(prompt))
    assert provider.requests[0].json["messages"][-1]["content"] == prompt


def test_the_output_limit_and_the_model_are_sent(provider: ChatCompletions, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    assert (provider.requests[0].json["model"], provider.requests[0].json["max_tokens"]) == ("tiny", 4_000)


def test_no_tool_is_offered_without_files_to_search(provider: ChatCompletions, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    assert "tools" not in provider.requests[0].json


@pytest.mark.parametrize("with_place", [True, False], ids=["in pieces", "whole and without a place"])
def test_a_model_searches_before_it_answers(pauses: Pauses, with_place: bool) -> None:
    said = (Said(("Let me look.",), (SEARCH,), with_place=with_place), Said(("It signs.",), usage=(300, 5)))
    with ChatCompletions(*said) as provider:
        pieces: list[str] = []
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES, on_text=pieces.append))
    assert reply.text == "".join(pieces) == "Let me look.\n\nIt signs."
    assert (reply.queries, reply.input_tokens, reply.output_tokens) == (("refresh the token",), 400, 15)
    result = json.loads(provider.requests[1].json["messages"][-1]["content"])
    assert [found["path"] for found in result["passages"]] == ["src/auth.py"]
    assert result["passages"][0] == {"path": "src/auth.py", "lines": "1-2", "text": FILES["src/auth.py"].text}


def test_several_searches_of_one_round_are_all_answered(pauses: Pauses) -> None:
    calls = (SEARCH, ("file_search", '{"query": "mail"}'))
    with ChatCompletions(Said(calls=calls), Said(("Both.",))) as provider:
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert reply.queries == ("refresh the token", "mail")
    results = [message for message in provider.requests[1].json["messages"] if message["role"] == "tool"]
    assert ["src/mail.py" in result["content"] for result in results] == [False, True]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("file_search", "{not json"), "JSON object"),
        (("file_search", "[]"), "JSON object"),
        (("file_search", '{"query": ""}'), "at least one word"),
        (("file_search", '{"query": 7}'), "at least one word"),
        (("rm_rf", '{"query": "x"}'), "no tool 'rm_rf'"),
    ],
)
def test_a_call_that_makes_no_sense_is_answered_with_what_is_wrong(
    pauses: Pauses, call: tuple[str, str], problem: str
) -> None:
    with ChatCompletions(Said(calls=(call,)), Said(("Well.",))) as provider:
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert problem in json.loads(provider.requests[1].json["messages"][-1]["content"])["error"]
    assert (reply.text, reply.queries) == ("Well.", ())


def test_after_eight_searches_the_model_has_to_answer(pauses: Pauses) -> None:
    with ChatCompletions(*[Said(calls=(SEARCH,))] * 8, Said(("At last.",))) as provider:
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert (reply.text, len(reply.queries)) == ("At last.", 8)
    assert [request.json["tool_choice"] for request in provider.requests] == ["auto"] * 8 + ["none"]


def test_a_model_that_searches_where_it_has_to_answer_fails(pauses: Pauses) -> None:
    stubborn = Said(calls=(SEARCH,), finish="stubborn")
    with ChatCompletions(stubborn) as provider, pytest.raises(AssistantFailed, match="where it was to answer"):
        assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert len(provider.requests) == 9


def test_search_results_never_take_more_room_than_there_is(pauses: Pauses) -> None:
    big = {f"f{number}.py": content("refresh the token\n" * 80) for number in range(40)}
    with ChatCompletions(*[Said(calls=(SEARCH,))] * 7, Said(("Done.",))) as provider:
        full = WINDOW.tokens - WINDOW.output
        assistant(provider, pauses).ask(Ask("How?", searchable=big, tokens=full - 1_000))
    results = [m["content"] for m in provider.requests[-1].json["messages"] if m["role"] == "tool"]
    assert 0 < sum(map(estimate, results)) <= 1_000
    assert provider.requests[-1].json["tool_choice"] == "none"
    assert len(provider.requests) < 8


def test_an_answer_cut_at_the_output_limit_says_so(pauses: Pauses) -> None:
    with ChatCompletions(Said(("Half an",), finish="length")) as provider:
        reply = assistant(provider, pauses).ask(Ask("Why?"))
    assert (reply.text, reply.notes) == ("Half an", ("the answer ends at the output limit and is not whole",))


def test_input_that_the_endpoint_cut_is_noticed(pauses: Pauses) -> None:
    with ChatCompletions(Said(("Yes",), usage=(4_096, 1))) as provider:
        reply = assistant(provider, pauses).ask(Ask("Why?", tokens=20_000))
    assert [note.split(":")[0] for note in reply.notes] == ["compatible"]
    assert "took 4,096 tokens of about 20,000" in reply.notes[0]


@pytest.mark.parametrize("said", [Said(), Said((" ", "\n")), Said(reasoning="hmm")], ids=["none", "blank", "thoughts"])
def test_an_answer_without_a_word_fails(pauses: Pauses, said: Said) -> None:
    with ChatCompletions(said) as provider, pytest.raises(AssistantFailed, match="without a word") as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "empty"


def test_a_limit_that_thinking_used_up_is_named(pauses: Pauses) -> None:
    thoughts = Said(reasoning="hmm", finish="length")
    with ChatCompletions(thoughts) as provider, pytest.raises(AssistantFailed, match="a higher output limit"):
        assistant(provider, pauses).ask(Ask("Why?"))


@pytest.mark.parametrize("usage", [None, (0, 0), (-1, -1), (10**30, 10**30)])
def test_without_usage_the_tokens_are_unknown(pauses: Pauses, usage: tuple[int, int] | None) -> None:
    with ChatCompletions(Said(("Yes",), usage=usage)) as provider:
        reply = assistant(provider, pauses).ask(Ask("Why?"))
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_is_tried_again(
    provider: ChatCompletions, pauses: Pauses, kind: str, details: Details, pause: float
) -> None:
    provider.fail("chat", kind, **details)
    assert assistant(provider, pauses).ask(Ask("Why?")).text == "Hello, world"
    assert (len(provider.requests), pauses.seconds) == (2, [pause])


def test_a_stream_that_was_cut_before_any_text_is_asked_for_again(pauses: Pauses) -> None:
    with ChatCompletions(Said(reasoning="a"), Said(("Fine",))) as provider:
        provider.fail("chat", "cut")
        assert assistant(provider, pauses).ask(Ask("Why?")).text == "Fine"


def test_a_wait_in_milliseconds_is_understood(provider: ChatCompletions, pauses: Pauses) -> None:
    provider.fail("chat", "status", status=429, headers={"retry-after-ms": "250"})
    assistant(provider, pauses).ask(Ask("Why?"))
    assert pauses.seconds == [0.25 + 0.25]


def test_waiting_grows_and_ends(provider: ChatCompletions, pauses: Pauses) -> None:
    provider.fail("chat", "status", status=500, times=100)
    with pytest.raises(AssistantFailed, match="answered 500: something with 500"):
        assistant(provider, pauses, timing={"attempts": 7}).ask(Ask("Why?"))
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for(provider: ChatCompletions, pauses: Pauses) -> None:
    provider.fail("chat", "status", status=429, headers={"retry-after": "3600"})
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert (failed.value.reason, failed.value.retry_after, pauses.seconds) == ("rate_limited", 3_600.0, [])


def test_text_that_was_delivered_is_never_asked_for_again(pauses: Pauses) -> None:
    with ChatCompletions(Said(("One ", "two ", "three ", "four"))) as provider:
        provider.fail("chat", "cut")
        pieces: list[str] = []
        with pytest.raises(AssistantFailed) as failed:
            assistant(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert (failed.value.reason, len(provider.requests), pauses.seconds) == ("cut", 1, [])
    assert pieces == ["One ", "two ", "three "]


def test_a_later_round_is_tried_again_though_an_earlier_one_delivered_text(pauses: Pauses) -> None:
    with ChatCompletions(Said(("Let me look.",), (SEARCH,)), Said(("Found.",))) as provider:
        provider.fail("chat", "status", status=500, skip=1)
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert reply.text == "Let me look.\n\nFound."
    assert len(provider.requests) == 3


@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_what_lasts_is_told(
    provider: ChatCompletions, pauses: Pauses, kind: str, details: Details, reason: str
) -> None:
    provider.fail("chat", kind, times=1_000, **details)
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses, timing={"silence": 0.2, "attempts": 2}).ask(Ask("Why?"))
    assert failed.value.reason == reason


SAID = [("context_length_exceeded", 400, "too_long"), ("insufficient_quota", 429, "no_credit")]


@pytest.mark.parametrize(("code", "status", "reason"), SAID)
def test_what_the_provider_names_is_not_tried_again(
    provider: ChatCompletions, pauses: Pauses, code: str, status: int, reason: str
) -> None:
    provider.fail("chat", "status", status=status, body={"error": {"message": "no", "code": code}})
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert (failed.value.reason, pauses.seconds) == (reason, [])


@pytest.mark.parametrize(
    "body",
    [b"null", b"[]", b'"text"', b'{"choices": null}', b'{"choices": [{}]}', b'{"choices": [{"delta": 7}]}', b"{}"],
)
def test_chunks_of_a_wrong_shape_are_nonsense(pauses: Pauses, body: bytes) -> None:
    class Nonsense(ChatCompletions):
        def answer(self, request: Request) -> Answer:
            assert request.step == "chat"
            return Answer(200, (b"data: " + body + b"\n\n", b"data: [DONE]\n\n"), "text/event-stream")

    with Nonsense() as provider, pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses, timing={"attempts": 1}).ask(Ask("Why?"))
    assert failed.value.reason in {"nonsense", "cut"}


def test_an_error_inside_the_stream_is_told(pauses: Pauses) -> None:
    class Failing(ChatCompletions):
        def answer(self, request: Request) -> Answer:
            assert request.step == "chat"
            return as_events([{"error": {"message": "the model crashed", "code": "oom"}}], named=False)

    with Failing() as provider, pytest.raises(AssistantFailed, match="failed: the model crashed"):
        assistant(provider, pauses).ask(Ask("Why?"))


def test_a_provider_that_does_not_listen_is_named(pauses: Pauses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    nobody = OpenAICompatible(
        Model("ollama", "tiny", WINDOW),
        "KEY",
        base_url=f"http://127.0.0.1:{port}/v1",
        timing=quick(pauses, attempts=2),
    )
    with pytest.raises(AssistantFailed, match=f"ollama:tiny at http://127.0.0.1:{port}/v1 cannot be reached") as failed:
        nobody.ask(Ask("Why?"))
    assert (failed.value.reason, pauses.seconds) == ("unreachable", [0.5])


def test_a_wrong_key_is_told_with_its_variable_and_never_repeated(pauses: Pauses) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
    with ChatCompletions() as provider:
        said = {"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}}
        provider.fail("chat", "status", status=401, body=said)
        with pytest.raises(AssistantFailed, match="Check that SATCHEL_CONSULT_KEY is a valid key") as failed:
            assistant(provider, pauses, key=key).ask(Ask("Why?"))
    assert key not in str(failed.value)


def test_a_call_that_takes_too_long_in_all_is_ended(provider: ChatCompletions, pauses: Pauses) -> None:
    provider.fail("chat", "hang")
    with pytest.raises(AssistantFailed, match=r"not done within 0\.3 seconds") as failed:
        assistant(provider, pauses, timing={"total": 0.3}).ask(Ask("Why?"))
    assert failed.value.reason == "timed_out"


@pytest.mark.parametrize("skip", [0, 1], ids=["the first request", "the one after a search"])
def test_a_cancelled_call_ends_at_once(pauses: Pauses, skip: int) -> None:
    with ChatCompletions(Said(calls=(SEARCH,)), Said(("Done.",))) as provider:
        provider.fail("chat", "cancel", skip=skip)
        with pytest.raises(Interrupted):
            assistant(provider, pauses).ask(Ask("How?", searchable=FILES, is_cancelled=provider.cancelled.is_set))
    assert len(provider.requests) == skip + 1


def test_a_call_cancelled_between_pieces_ends_at_once(pauses: Pauses) -> None:
    cancelled = threading.Event()
    with ChatCompletions(Said(("a", "b", "c")), Said(("never",))) as provider:
        provider.fail("chat", "cut")
        with pytest.raises(Interrupted):
            assistant(provider, pauses).ask(
                Ask("Why?", on_text=lambda _: cancelled.set(), is_cancelled=cancelled.is_set)
            )


def test_a_call_cancelled_before_it_begins_sends_nothing(provider: ChatCompletions, pauses: Pauses) -> None:
    with pytest.raises(Interrupted):
        assistant(provider, pauses).ask(Ask("Why?", is_cancelled=lambda: True))
    assert provider.requests == []


def test_a_call_cancelled_while_it_waits_ends_at_once(provider: ChatCompletions) -> None:
    cancelled = threading.Event()
    provider.fail("chat", "status", status=429, headers={"retry-after": "50"})
    patient = OpenAICompatible(Model("compatible", "tiny", WINDOW), "KEY", base_url=provider.url)
    timer = threading.Timer(0.2, cancelled.set)
    timer.start()
    with pytest.raises(Interrupted):
        patient.ask(Ask("Why?", is_cancelled=cancelled.is_set))
    timer.join()


def test_an_error_of_the_caller_is_the_callers(provider: ChatCompletions, pauses: Pauses) -> None:
    def broken(_: str) -> None:
        raise ValueError("the terminal is gone")

    with pytest.raises(ValueError, match="the terminal is gone"):
        assistant(provider, pauses).ask(Ask("Why?", on_text=broken))


def test_without_the_sdk_the_extra_is_named(
    provider: ChatCompletions, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(Unavailable, match=r"\[openai\]"):
        assistant(provider, pauses).ask(Ask("Why?"))


def test_no_thread_is_left_behind(provider: ChatCompletions, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    assert not [thread for thread in threading.enumerate() if thread.name == "satchel-wire"]
