"""Answers as they arrive: in any pieces, with any characters, with calls of every shape, and with nothing to read."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from consult.providers import anthropic_api, gemini_api
from consult.providers.asking import Pauses, content, quick
from consult.providers.chat_completions import ChatCompletions, Said, chunks
from consult.providers.every_kind import KINDS, line_to
from consult.providers.server import Answer, Request, as_events
from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult.models import Ask, Model
from satchel.consult.providers import OpenAICompatible
from satchel.consult.records import Window
from satchel.consult.vendors import AnthropicMessages, GeminiContents

pytestmark = [pytest.mark.usefixtures("direct"), pytest.mark.slow]

WINDOW = Window(tokens=32_000, output=4_000)
FILES = {"src/auth.py": content("def refresh_token(user): ...\n"), "src/mail.py": content("def send_mail(to): ...\n")}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@EVERY_KIND
def test_characters_that_arrive_byte_by_byte_are_whole(kind: str, pauses: Pauses) -> None:
    text = ("naïve ", "日本語\u2028 ", "\U0001f600\x85\r\n", "\ttab")
    with line_to(kind, pauses, text) as line:
        line.provider.fail(line.step, "crumbs")
        assert line.ask() == "".join(text)


@EVERY_KIND
def test_a_character_that_is_split_over_two_pieces_is_whole(kind: str, pauses: Pauses) -> None:
    pieces: list[str] = []
    with line_to(kind, pauses, ("so \ud83d", "\ude00 it ", "is \udc00", "\ud83d")) as line:
        reply = line.assistant().ask(Ask("Why?", on_text=pieces.append))
    assert reply.text == "".join(pieces) == "so \U0001f600 it is \ufffd\ufffd"
    assert all(piece.encode() for piece in pieces)


@EVERY_KIND
def test_an_answer_that_ends_without_its_end_is_no_answer(kind: str, pauses: Pauses) -> None:
    shown: list[str] = []
    with line_to(kind, pauses, ("one ", "two ", "three ", "four ", "five ", "six ")) as line:
        line.provider.fail(line.step, "ends")
        with pytest.raises(AssistantFailed) as failed:
            line.assistant().ask(Ask("Why?", on_text=shown.append))
    assert (failed.value.reason, pauses.seconds) == ("cut", [])
    assert shown


@EVERY_KIND
@pytest.mark.parametrize("fault", ["cut", "ends"])
@pytest.mark.parametrize("listener", [{}, {"on_text": lambda _: None, "is_shown": False}], ids=["none", "a counter"])
def test_an_answer_that_is_cut_off_before_anybody_saw_it_is_asked_for_again(
    kind: str, pauses: Pauses, fault: str, listener: dict[str, Any]
) -> None:
    with line_to(kind, pauses, ("one ", "two ", "three ", "four ", "five ", "six ")) as line:
        line.provider.fail(line.step, fault)
        assert line.assistant().ask(Ask("Why?", **listener)).text == "one two three four five six "
    assert len(pauses.seconds) == 1


@EVERY_KIND
@pytest.mark.parametrize("head", [b"", b"data: {"], ids=["at once", "within the first event"])
def test_a_stream_that_ends_before_its_first_event_is_asked_for_again(kind: str, pauses: Pauses, head: bytes) -> None:
    with line_to(kind, pauses) as line:
        line.provider.fail(line.step, "raw", raw=head)
        assert line.ask() == "It is so."
    assert len(pauses.seconds) == 1


@EVERY_KIND
def test_a_sign_is_given_before_the_request_and_for_what_is_no_word_of_the_answer(kind: str, pauses: Pauses) -> None:
    heard: list[str] = []
    with line_to(kind, pauses) as line:
        line.assistant().ask(Ask("Why?", on_text=heard.append, on_sign=lambda: heard.append("a sign")))
    assert heard[:2] == ["a sign"] * 2
    assert heard.count("a sign") > heard.count("It ") + 3


def ask_compatible(provider: ChatCompletions, pauses: Pauses, **options: Any) -> tuple[str, ...]:
    """Ask about files; return what was searched for."""
    helper = OpenAICompatible(Model("compatible", "tiny", WINDOW), "KEY", base_url=provider.url, timing=quick(pauses))
    return helper.ask(Ask("How?", searchable=FILES, **options)).queries


def delta(**fields: Any) -> dict[str, Any]:
    """Return a piece of a call."""
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return {"type": "function", "function": function, **fields}


TOKEN, MAIL = json.dumps({"query": "token"}), json.dumps({"query": "mail"})
SHAPES = {
    "all at one place": [
        delta(index=0, id="a", name="file_search", arguments=TOKEN),
        delta(index=0, id="b", name="file_search", arguments=MAIL),
    ],
    "without ids": [
        delta(index=0, name="file_search", arguments=TOKEN),
        delta(index=1, name="file_search", arguments=MAIL),
    ],
    "without places": [
        delta(id="a", name="file_search", arguments=TOKEN),
        delta(id="b", name="file_search", arguments=MAIL),
    ],
    "without places or ids": [delta(name="file_search", arguments=TOKEN), delta(name="file_search", arguments=MAIL)],
    "without places, in pieces": [
        delta(id="a", name="file_search", arguments=TOKEN[:5]),
        delta(arguments=TOKEN[5:]),
        delta(id="b", name="file_search", arguments=MAIL[:5]),
        delta(arguments=MAIL[5:]),
    ],
    "with the name in every piece": [
        delta(index=0, id="a", name="file_search", arguments=TOKEN[:5]),
        delta(index=0, id="a", name="file_search", arguments=TOKEN[5:]),
        delta(index=1, id="b", name="file_search", arguments=MAIL),
    ],
    "in turns": [
        delta(index=0, id="a", name="file_search", arguments=TOKEN[:5]),
        delta(index=1, id="b", name="file_search", arguments=MAIL[:5]),
        delta(index=0, arguments=TOKEN[5:]),
        delta(index=1, arguments=MAIL[5:]),
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_calls_are_understood_in_every_shape(pauses: Pauses, shape: str) -> None:
    class Shaping(ChatCompletions):
        def answer(self, request: Request) -> Answer:
            if len(self.requests) > 1:
                return super().answer(request)
            head, *_, last = chunks(Said(calls=(("file_search", TOKEN),), usage=None), "tiny")
            pieces = [{**head, "choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in SHAPES[shape]]
            return as_events([head, *pieces, last], named=False, last="[DONE]")

    with Shaping(Said(("Both.",))) as provider:
        assert ask_compatible(provider, pauses) == ("token", "mail")
    called, *results = provider.requests[1].json["messages"][-3:]
    assert len({call["id"] for call in called["tool_calls"]}) == 2
    assert ["mail.py" in result["content"] for result in results] == [False, True]


def test_calls_without_ids_have_others_in_each_round(pauses: Pauses) -> None:
    class Nameless(ChatCompletions):
        def answer(self, request: Request) -> Answer:
            if len(self.requests) > 2:
                return super().answer(request)
            head, *_, last = chunks(Said(calls=(("file_search", TOKEN),), usage=None), "tiny")
            call = delta(index=0, name="file_search", arguments=TOKEN)
            one = {**head, "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
            return as_events([head, one, last], named=False, last="[DONE]")

    with Nameless(Said(("Twice.",))) as provider:
        assert ask_compatible(provider, pauses) == ("token", "token")
    ids = [call["id"] for one in provider.requests[2].json["messages"] for call in one.get("tool_calls", ())]
    assert len(set(ids)) == 2


def test_arguments_that_are_nested_without_end_are_answered_with_what_is_wrong(pauses: Pauses) -> None:
    with ChatCompletions(Said(calls=(("file_search", "[" * 60_000),)), Said(("Well.",))) as provider:
        assert ask_compatible(provider, pauses) == ()
    assert "JSON object" in provider.requests[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("told", ["indexing", "searching"])
def test_a_call_cancelled_before_files_are_indexed_or_searched_ends_there(pauses: Pauses, told: str) -> None:
    cancelled = threading.Event()

    def cancel(progress: str) -> None:
        if progress.startswith(told):
            cancelled.set()

    with ChatCompletions(Said(calls=(("file_search", TOKEN),)), Said(("Never.",))) as provider:
        with pytest.raises(Interrupted):
            ask_compatible(provider, pauses, on_progress=cancel, is_cancelled=cancelled.is_set)
        assert len(provider.requests) == (told == "searching")


def test_a_refusal_without_a_word_says_so(pauses: Pauses) -> None:
    with anthropic_api.AnthropicApi(anthropic_api.Said(stop="refusal")) as provider:
        helper = AnthropicMessages(
            Model("anthropic", "claude-test", WINDOW),
            "KEY",
            key=provider.key,
            base_url=provider.url,
            timing=quick(pauses),
        )
        with pytest.raises(AssistantFailed, match="without a word: the provider refused to continue"):
            helper.ask(Ask("Why?"))


def test_an_end_without_a_word_gives_the_providers_reason(pauses: Pauses) -> None:
    with gemini_api.GeminiApi(gemini_api.Said(stop="MALFORMED_FUNCTION_CALL")) as provider:
        helper = GeminiContents(
            Model("gemini", "gemini-test", WINDOW), "KEY", key=provider.key, base_url=provider.url, timing=quick(pauses)
        )
        with pytest.raises(AssistantFailed, match="without a word: the provider ended the answer: MALFORMED_FUNCTION"):
            helper.ask(Ask("Why?"))
