from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from consult.providers.asking import Log, Pauses
from consult.providers.openai_api import OpenAIApi
from consult.providers.openai_asking import FILES, assert_nothing_is_left, openai
from satchel.base.errors import AssistantFailed, Unavailable
from satchel.consult.models import Ask, ThreadLost
from satchel.consult.records import Content

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.usefixtures("direct")


@pytest.fixture
def provider() -> Iterator[OpenAIApi]:
    with OpenAIApi() as server:
        yield server


def test_an_answer_arrives_in_pieces_and_whole(provider: OpenAIApi, pauses: Pauses) -> None:
    pieces: list[str] = []
    reply = openai(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert pieces == ["It ", "is ", "so."]
    assert (reply.text, reply.provider_ref) == ("It is so.", "resp_000001")
    assert (reply.input_tokens, reply.output_tokens, reply.notes) == (1_200, 30, ())


def test_a_thread_goes_on_where_it_ended(provider: OpenAIApi, pauses: Pauses) -> None:
    first = openai(provider, pauses).ask(Ask("One?"))
    second = openai(provider, pauses).ask(Ask("Two?", provider_ref=first.provider_ref))
    assert second.provider_ref is not None
    assert [text for _, text in provider.threads[second.provider_ref]] == ["One?", "It is so.", "Two?", "It is so."]
    assert provider.requests[1].json["input"] == "Two?"


@pytest.mark.parametrize("files", [{}, FILES], ids=["without files", "with files"])
def test_a_lost_thread_is_told_and_nothing_is_answered(
    provider: OpenAIApi, pauses: Pauses, log: Log, files: Mapping[str, Content]
) -> None:
    with pytest.raises(ThreadLost, match="forgotten the thread"):
        openai(provider, pauses).ask(Ask("Why?", provider_ref="resp_gone", searchable=files, stores=log))
    assert (pauses.seconds[:1], len(provider.seen("respond"))) == ([0.5] if files else [], 1)
    assert_nothing_is_left(provider, log)


def test_the_output_limit_and_the_model_are_sent(provider: OpenAIApi, pauses: Pauses) -> None:
    openai(provider, pauses).ask(Ask("Why?"))
    body = provider.requests[0].json
    assert (body["model"], body["max_output_tokens"], "tools" in body) == ("gpt-test", 50_000, False)


ENDINGS = [
    (("incomplete", "max_output_tokens"), "the answer ends at the output limit and is not whole"),
    (("incomplete", "content_filter"), "the provider's content filter ended the answer"),
]


@pytest.mark.parametrize(("ending", "note"), ENDINGS)
def test_an_answer_that_is_not_whole_says_so(
    provider: OpenAIApi, pauses: Pauses, ending: tuple[str, str], note: str
) -> None:
    provider.ending = ending
    reply = openai(provider, pauses).ask(Ask("Why?"))
    assert (reply.text, reply.notes) == ("It is so.", (note,))


@pytest.mark.parametrize("kind", ["failed", "error"])
@pytest.mark.parametrize(("code", "attempts"), [("server_error", 3), ("rate_limit_exceeded", 3), ("invalid_prompt", 1)])
def test_a_failure_inside_the_stream_is_tried_again_if_it_passes(
    provider: OpenAIApi, pauses: Pauses, kind: str, code: str, attempts: int
) -> None:
    provider.pieces = ()
    provider.ending = (kind, code)
    with pytest.raises(AssistantFailed, match="had an accident"):
        openai(provider, pauses).ask(Ask("Why?"))
    assert len(provider.requests) == attempts


@pytest.mark.parametrize("kind", ["failed", "error"])
def test_a_failure_after_text_is_never_tried_again(provider: OpenAIApi, pauses: Pauses, kind: str) -> None:
    provider.ending = (kind, "server_error")
    with pytest.raises(AssistantFailed, match="had an accident"):
        openai(provider, pauses).ask(Ask("Why?"))
    assert len(provider.requests) == 1


def test_input_that_does_not_fit_is_told(provider: OpenAIApi, pauses: Pauses) -> None:
    body = {"error": {"message": "Your input exceeds the context window", "code": "context_length_exceeded"}}
    provider.fail("respond", "status", status=400, body=body)
    with pytest.raises(AssistantFailed, match="another conversation") as failed:
        openai(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "too_long"


@pytest.mark.parametrize("pieces", [(), (" ", "\n")])
def test_an_answer_without_a_word_fails(provider: OpenAIApi, pauses: Pauses, pieces: tuple[str, ...]) -> None:
    provider.pieces = pieces
    with pytest.raises(AssistantFailed) as failed:
        openai(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "empty"


def test_without_the_sdk_the_extra_is_named(
    provider: OpenAIApi, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(Unavailable, match=r"\[openai\]"):
        openai(provider, pauses).ask(Ask("Why?"))
