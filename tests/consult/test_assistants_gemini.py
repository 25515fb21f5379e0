from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from consult.providers.asking import LASTING, PASSING, Details, Pauses, content, quick, silence_until
from consult.providers.gemini_api import SIGNATURE, GeminiApi, Said
from satchel.base.errors import AssistantFailed, Interrupted, Unavailable
from satchel.consult.models import Ask, Model
from satchel.consult.records import Exchange, Window
from satchel.consult.vendors import GeminiContents

pytestmark = [pytest.mark.usefixtures("direct"), pytest.mark.slow]

WINDOW = Window(tokens=200_000, output=50_000)
SEARCH = ("file_search", '{"query": "refresh the token"}')
FILES = {"src/auth.py": content("def refresh_token(user):\n    return sign(user)\n"), "b.py": content("pass\n")}


@pytest.fixture
def provider() -> Iterator[GeminiApi]:
    with GeminiApi() as server:
        yield server


def assistant(provider: GeminiApi, pauses: Pauses, attempts: int = 3, **times: float) -> GeminiContents:
    timing = quick(pauses, attempts=attempts, **times)
    model = Model("gemini", "gemini-test", WINDOW)
    return GeminiContents(model, "GEMINI_API_KEY", key="gemini-test-key", base_url=provider.url, timing=timing)


def test_an_answer_arrives_in_pieces_and_whole(provider: GeminiApi, pauses: Pauses) -> None:
    pieces: list[str] = []
    reply = assistant(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert pieces == ["It ", "is ", "so."]
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("It is so.", 100, 10)
    assert (reply.provider_ref, reply.notes) == (None, ())


def test_the_history_stands_before_the_question(provider: GeminiApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("And now?", history=(Exchange("First?", "Yes."),)))
    contents = provider.requests[0].json["contents"]
    assert [content["parts"][0]["text"] for content in contents] == ["First?", "Yes.", "And now?"]


def test_the_output_limit_is_sent(provider: GeminiApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    body = provider.requests[0].json
    assert (body["generationConfig"]["maxOutputTokens"], "tools" in body) == (50_000, False)


def test_a_model_thinks_and_searches_before_it_answers(pauses: Pauses) -> None:
    with GeminiApi(Said(("Let me look.",), (SEARCH,), thoughts="hmm"), Said(("It signs.",))) as provider:
        pieces: list[str] = []
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES, on_text=pieces.append))
    assert reply.text == "".join(pieces) == "Let me look.\n\nIt signs."
    assert (reply.queries, reply.output_tokens) == (("refresh the token",), 20)
    *_, called, answered = provider.requests[1].json["contents"]
    assert called["parts"][2]["thoughtSignature"] == SIGNATURE
    result = json.loads(answered["parts"][0]["functionResponse"]["response"]["output"])
    assert [found["path"] for found in result["passages"]] == ["src/auth.py"]


def test_after_eight_searches_the_model_has_to_answer(pauses: Pauses) -> None:
    with GeminiApi(*[Said(calls=(SEARCH,))] * 8, Said(("At last.",))) as provider:
        reply = assistant(provider, pauses).ask(Ask("How?", searchable=FILES))
    assert (reply.text, len(reply.queries)) == ("At last.", 8)
    assert provider.requests[-1].json["toolConfig"]["functionCallingConfig"]["mode"] == "NONE"


@pytest.mark.parametrize(
    ("stop", "note"),
    [
        ("MAX_TOKENS", "the answer ends at the output limit and is not whole"),
        ("SAFETY", "the provider ended the answer: SAFETY"),
    ],
)
def test_an_answer_that_is_not_whole_says_so(pauses: Pauses, stop: str, note: str) -> None:
    with GeminiApi(Said(("Half an",), stop=stop)) as provider:
        reply = assistant(provider, pauses).ask(Ask("Why?"))
    assert (reply.text, reply.notes) == ("Half an", (note,))


@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_is_tried_again(
    provider: GeminiApi, pauses: Pauses, kind: str, details: Details, pause: float
) -> None:
    provider.fail("chat", kind, **details)
    assert assistant(provider, pauses).ask(Ask("Why?")).text == "It is so."
    assert (len(provider.requests), pauses.seconds) == (2, [pause])


@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_what_lasts_is_told(provider: GeminiApi, pauses: Pauses, kind: str, details: Details, reason: str) -> None:
    provider.fail("chat", kind, times=1_000, **details)
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses, silence=silence_until(kind)).ask(Ask("Why?"))
    assert failed.value.reason == reason


def test_a_question_that_is_blocked_is_told(pauses: Pauses) -> None:
    with GeminiApi(Said(blocked="SAFETY")) as provider, pytest.raises(AssistantFailed, match="blocked the question"):
        assistant(provider, pauses).ask(Ask("Why?"))


def test_a_wait_that_is_asked_for_in_the_body_is_kept(provider: GeminiApi, pauses: Pauses) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "14s"}]
    error = {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": details}
    provider.fail("chat", "status", status=429, body={"error": error})
    assistant(provider, pauses).ask(Ask("Why?"))
    assert pauses.seconds == [14.25]


@pytest.mark.parametrize("said", [Said(), Said((" ",)), Said(thoughts="hmm")], ids=["none", "blank", "thoughts"])
def test_an_answer_without_a_word_fails(pauses: Pauses, said: Said) -> None:
    with GeminiApi(said) as provider, pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "empty"


def test_a_prompt_that_is_too_long_is_told(provider: GeminiApi, pauses: Pauses) -> None:
    message = "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."
    body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    provider.fail("chat", "status", status=400, body=body)
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "too_long"


def test_a_cancelled_call_ends_at_once(provider: GeminiApi, pauses: Pauses) -> None:
    provider.fail("chat", "cancel")
    with pytest.raises(Interrupted):
        assistant(provider, pauses).ask(Ask("Why?", is_cancelled=provider.cancelled.is_set))
    assert len(provider.requests) == 1


def test_a_wrong_key_is_told_with_its_variable(pauses: Pauses) -> None:
    with GeminiApi(key="another") as provider, pytest.raises(AssistantFailed, match="GEMINI_API_KEY"):
        assistant(provider, pauses).ask(Ask("Why?"))


def test_without_the_sdk_the_extra_is_named(
    provider: GeminiApi, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(Unavailable, match=r"\[gemini\]"):
        assistant(provider, pauses).ask(Ask("Why?"))
