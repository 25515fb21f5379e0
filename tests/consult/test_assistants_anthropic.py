from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from consult.providers.anthropic_api import SIGNATURE, AnthropicApi, Said
from consult.providers.asking import LASTING, PASSING, Details, Pauses, content, quick, silence_until
from satchel.base.errors import AssistantFailed, Interrupted, Unavailable
from satchel.consult.models import Ask, Model
from satchel.consult.records import Exchange, Window
from satchel.consult.vendors import AnthropicMessages

pytestmark = pytest.mark.usefixtures("direct")

WINDOW = Window(tokens=200_000, output=50_000)
SEARCH = ("file_search", '{"query": "refresh the token"}')
FILES = {"src/auth.py": content("def refresh_token(user):\n    return sign(user)\n"), "b.py": content("pass\n")}


@pytest.fixture
def provider() -> Iterator[AnthropicApi]:
    with AnthropicApi() as server:
        yield server


def assistant(provider: AnthropicApi, pauses: Pauses, attempts: int = 3, **times: float) -> AnthropicMessages:
    timing = quick(pauses, attempts=attempts, **times)
    model = Model("anthropic", "claude-test", WINDOW)
    return AnthropicMessages(model, "ANTHROPIC_API_KEY", key="sk-ant-test", base_url=provider.url, timing=timing)


def test_an_answer_arrives_in_pieces_and_whole(provider: AnthropicApi, pauses: Pauses) -> None:
    pieces: list[str] = []
    reply = assistant(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert pieces == ["It ", "is ", "so."]
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("It is so.", 100, 10)
    assert (reply.provider_ref, reply.notes) == (None, ())


def test_the_history_stands_before_the_question(provider: AnthropicApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("And now?", history=(Exchange("First?", "Yes."),)))
    first, second, third = provider.requests[0].json["messages"]
    assert (first["content"], second["content"], third["content"][0]["text"]) == ("First?", "Yes.", "And now?")


def test_what_comes_again_may_be_cached(provider: AnthropicApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    assert provider.requests[0].json["messages"][-1]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_the_output_limit_and_the_model_are_sent(provider: AnthropicApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    body = provider.requests[0].json
    assert (body["model"], body["max_tokens"], "tools" in body) == ("claude-test", 50_000, False)


def test_a_model_thinks_and_searches_before_it_answers(pauses: Pauses) -> None:
    with AnthropicApi(Said(("Let me look.",), (SEARCH,), thoughts="hmm"), Said(("It signs.",))) as provider:
        pieces: list[str] = []
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES, on_text=pieces.append))
    assert reply.text == "".join(pieces) == "Let me look.\n\nIt signs."
    assert (reply.queries, reply.output_tokens) == (("refresh the token",), 20)
    *_, called, answered = provider.requests[1].json["messages"]
    assert called["content"][0] == {"type": "thinking", "thinking": "hmm", "signature": SIGNATURE}
    result = json.loads(answered["content"][0]["content"])
    assert [found["path"] for found in result["passages"]] == ["src/auth.py"]


def test_after_eight_searches_the_model_has_to_answer(pauses: Pauses) -> None:
    with AnthropicApi(*[Said(calls=(SEARCH,))] * 8, Said(("At last.",))) as provider:
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert (reply.text, len(reply.queries)) == ("At last.", 8)
    assert provider.requests[-1].json["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("stop", "note"),
    [
        ("max_tokens", "the answer ends at the output limit and is not whole"),
        ("refusal", "the provider refused to continue"),
    ],
)
def test_an_answer_that_is_not_whole_says_so(pauses: Pauses, stop: str, note: str) -> None:
    with AnthropicApi(Said(("Half an",), stop=stop)) as provider:
        reply = assistant(provider, pauses).ask(Ask("Why?"))
    assert (reply.text, reply.notes) == ("Half an", (note,))


@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_is_tried_again(
    provider: AnthropicApi, pauses: Pauses, kind: str, details: Details, pause: float
) -> None:
    provider.fail("chat", kind, **details)
    assert assistant(provider, pauses).ask(Ask("Why?")).text == "It is so."
    assert (len(provider.requests), pauses.seconds) == (2, [pause])


@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_what_lasts_is_told(provider: AnthropicApi, pauses: Pauses, kind: str, details: Details, reason: str) -> None:
    provider.fail("chat", kind, times=1_000, **details)
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses, silence=silence_until(kind)).ask(Ask("Why?"))
    assert failed.value.reason == reason


@pytest.mark.parametrize(
    ("error", "pieces", "attempts"),
    [("overloaded_error", (), 3), ("invalid_request_error", (), 1), ("overloaded_error", ("Half",), 1)],
)
def test_an_error_inside_the_stream_is_tried_again_if_it_passes_and_nothing_was_delivered(
    pauses: Pauses, error: str, pieces: tuple[str, ...], attempts: int
) -> None:
    with AnthropicApi(Said(pieces, error=error)) as provider, pytest.raises(AssistantFailed, match="had an accident"):
        assistant(provider, pauses).ask(Ask("Why?"))
    assert len(provider.requests) == attempts


@pytest.mark.parametrize("said", [Said(), Said((" ",)), Said(thoughts="hmm")], ids=["none", "blank", "thoughts"])
def test_an_answer_without_a_word_fails(pauses: Pauses, said: Said) -> None:
    with AnthropicApi(said) as provider, pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "empty"


def test_a_prompt_that_is_too_long_is_told(provider: AnthropicApi, pauses: Pauses) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long: 300000 tokens > 200000 maximum"}
    provider.fail("chat", "status", status=400, body={"type": "error", "error": error})
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "too_long"


def test_a_cancelled_call_ends_at_once(provider: AnthropicApi, pauses: Pauses) -> None:
    provider.fail("chat", "cancel")
    with pytest.raises(Interrupted):
        assistant(provider, pauses).ask(Ask("Why?", is_cancelled=provider.cancelled.is_set))
    assert len(provider.requests) == 1


def test_a_wrong_key_is_told_with_its_variable(pauses: Pauses) -> None:
    with AnthropicApi(key="another") as provider, pytest.raises(AssistantFailed, match="ANTHROPIC_API_KEY"):
        assistant(provider, pauses).ask(Ask("Why?"))


def test_without_the_sdk_the_extra_is_named(
    provider: AnthropicApi, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(Unavailable, match=r"\[anthropic\]"):
        assistant(provider, pauses).ask(Ask("Why?"))
