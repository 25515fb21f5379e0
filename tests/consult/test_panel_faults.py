"""Several models at once, with faults at every step of one of them: what is recorded is what was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from consult.answered_turns import stores_left
from consult.consulted import ENVIRON, HUGE, SMALL, WINDOW, Consulted
from consult.providers.asking import LASTING, Details, Pauses, silence_until
from consult.providers.chat_completions import ChatCompletions, Said
from consult.providers.openai_api import OpenAIApi
from consult.providers.server import FakeProvider
from satchel import Satchel
from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult.vector_stores import VectorStores

pytestmark = pytest.mark.slow

CHAT, HOSTED = ("compatible:a", "ollama:b"), "openai:gpt-test"
MODELS = (*CHAT, HOSTED)
STEPS = ("create_store", "upload", "add_batch", "poll", "respond", "chat")


@pytest.fixture
def openai() -> Iterator[OpenAIApi]:
    with OpenAIApi() as provider:
        yield provider


@pytest.fixture
def panel(
    open_in: Callable[..., Satchel], project: Path, pauses: Pauses, direct: None, openai: OpenAIApi
) -> Iterator[Consulted]:
    """A project whose conversations with three models at two providers have a turn, and files that changed since."""
    with ChatCompletions(Said(("It is so.",) * 8)) as chat:
        satchel = open_in(
            project,
            environ={**ENVIRON, "OPENAI_BASE_URL": openai.url},
            settings={"consult.base_url": chat.url, **WINDOW},
        )
        one = Consulted(satchel, chat, CHAT[0], project, pauses)
        one.be_quick()
        one.write("src/huge.py", HUGE)
        one.write("src/small.py", SMALL)
        satchel.consulting.consult_many(MODELS, "Why?", conversation="s", context=["src"])
        one.write("src/small.py", SMALL + SMALL)
        yield one


def turns(panel: Consulted) -> dict[str, int]:
    return {one.key.assistant: one.turns for one in panel.satchel.consulting.conversations.list(conversation="s")}


def answers(panel: Consulted) -> dict[str, str]:
    """Return the last recorded answer of each model."""
    conversations = panel.satchel.consulting.conversations
    return {
        one.key.assistant: next(iter(conversations.read(one.id).turns)).answer
        for one in conversations.list(conversation="s")
    }


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_after_a_fault_each_conversation_has_the_turns_that_were_answered(
    panel: Consulted, openai: OpenAIApi, step: str, kind: str, details: Details, reason: str
) -> None:
    failing: FakeProvider = panel.provider if step == "chat" else openai
    panel.be_quick(silence=silence_until(kind))
    failing.fail(step, kind, times=1_000, **details)
    failed = set(CHAT) if step == "chat" else {HOSTED}
    done = panel.satchel.consulting.consult_many(MODELS, "And now?", conversation="s", context=["src"])
    assert {one.assistant for one in done.failures} == failed
    assert turns(panel) == {name: 1 if name in failed else 2 for name in MODELS}
    recorded = answers(panel)
    assert all(recorded[one.assistant] == one.answer for one in done.answers)
    is_dropped = step == "upload" and reason in {"refused", "too_long"}
    wanted = "not_indexed" if is_dropped else reason
    assert {one.error.reason for one in done.failures if isinstance(one.error, AssistantFailed)} == {wanted}
    assert panel.leases() == []
    assert (openai.stores, openai.files) == ({}, {})
    assert len(stores_left(VectorStores(panel.satchel.workplace))) <= (step == "create_store")
    failing.faults.clear()
    panel.be_quick()
    panel.satchel.consulting.consult_many(MODELS, "And then?", conversation="s", context=["src"])
    assert turns(panel) == {name: 2 if name in failed else 3 for name in MODELS}


@pytest.mark.parametrize("step", STEPS)
def test_a_call_cancelled_at_a_step_records_what_was_answered_by_then(
    panel: Consulted, openai: OpenAIApi, step: str
) -> None:
    provider: FakeProvider = panel.provider if step == "chat" else openai
    provider.fail(step, "cancel", times=2)
    with pytest.raises(Interrupted):
        panel.satchel.consulting.consult_many(
            MODELS, "And now?", conversation="s", context=["src"], is_cancelled=provider.cancelled.is_set
        )
    recorded = turns(panel)
    cancelled = set(CHAT) if step == "chat" else {HOSTED}
    assert all(recorded[name] == 1 for name in cancelled)
    assert all(count in {1, 2} for count in recorded.values())
    assert panel.leases() == []
    assert (openai.stores, openai.files) == ({}, {})
