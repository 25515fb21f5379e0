"""Several models asked at once: what they share, and that one's failure is its own."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from consult.consulted import Consulted
from consult.providers.chat_completions import ChatCompletions, Said
from satchel.base.errors import InvalidInput, SatchelError, Unavailable
from satchel.base.text import MAX_NAME_CHARS
from satchel.consult import consultation, planning, reading
from satchel.consult.records import TurnPlan
from tables import in_one_test

pytestmark = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)
MODELS = ["compatible:a", "compatible:b", "ollama:c"]


def test_each_model_has_a_conversation_of_its_own(consulted: Consulted) -> None:
    consulted.write("a.py", "print()")
    panel = consulted.satchel.consulting.consult_many(MODELS, "Why?", conversation="s", context=["a.py"])
    assert [one.assistant for one in panel.answers] == MODELS
    listed = consulted.satchel.consulting.conversations.list(conversation="s")
    assert {(one.key.assistant, one.turns, len(one.inline)) for one in listed} == {(name, 1, 1) for name in MODELS}


def test_files_are_gathered_read_and_counted_once(consulted: Consulted, monkeypatch: pytest.MonkeyPatch) -> None:
    consulted.write("a.py", "print()")
    reads, counts = [], []
    read, count = reading.read_content, consulted.satchel.consulting.counter._count

    def read_once(found: object, **options: object) -> object:
        reads.append(found)
        return read(found, **options)  # type: ignore[arg-type]

    def count_once(text: str, kind: str | None) -> int:
        counts.extend([kind] if kind == "py" else [])
        return count(text, kind)

    monkeypatch.setattr(planning, "read_content", read_once)
    object.__setattr__(consulted.satchel.consulting.counter, "_count", count_once)
    consulted.satchel.consulting.consult_many(MODELS, "Why?", context=["a.py"])
    object.__setattr__(consulted.satchel.consulting.counter, "_count", count)
    assert (len(reads), len(counts)) == (1, 1)


def test_a_model_that_fails_does_not_spoil_the_others(consulted: Consulted) -> None:
    names = [*MODELS, "anthropic:claude-opus-5", "nonsense"]
    panel = consulted.satchel.consulting.consult_many(names, "Why?")
    assert [one.assistant for one in panel.answers] == MODELS
    assert [(one.assistant, one.error.code) for one in panel.failures] == [
        ("anthropic:claude-opus-5", "unavailable"),
        ("nonsense", "invalid_input"),
    ]


def test_two_without_a_key_an_unknown_a_slow_and_a_flooding_one_cost_the_others_nothing(consulted: Consulted) -> None:
    with ChatCompletions() as slow, ChatCompletions(Said(("x" * 20_000_000,))) as flooding:
        slow.fail("chat", "hang", times=9)
        consulted.satchel.consulting._environ = {"LMSTUDIO_BASE_URL": slow.url, "VLLM_BASE_URL": flooding.url}
        consulted.be_quick(silence=2)
        bad = ["anthropic:claude-opus-5", "gpt-6", "nonsense", "lmstudio:slow", "vllm:flooding"]
        panel = consulted.satchel.consulting.consult_many([*bad, MODELS[0]], "Why?")
    assert [one.assistant for one in panel.answers] == [MODELS[0]]
    assert [getattr(one.error, "reason", one.error.code) for one in panel.failures] == [
        *("unavailable", "unavailable", "invalid_input", "timed_out", "too_much")
    ]
    (recorded,) = consulted.satchel.consulting.conversations.list().items
    assert (recorded.key.assistant, recorded.turns) == (MODELS[0], 1)


def test_where_every_model_fails_the_first_error_is_told(consulted: Consulted) -> None:
    with pytest.raises(Unavailable, match="anthropic:claude-opus-5"):
        consulted.satchel.consulting.consult_many(["claude-opus-5", "nonsense"], "Why?")


def test_a_synthesis_gets_the_question_and_every_answer_and_is_kept(consulted: Consulted) -> None:
    panel = consulted.satchel.consulting.consult_many(
        MODELS[:2], "Why is it so?", synthesis=MODELS[2], keep_as="decision:why"
    )
    assert panel.synthesis is not None
    assert panel.synthesis.kept is not None
    compared = consulted.prompts()[-1]
    assert "Why is it so?" in compared
    assert all(f"The answer of {one.assistant}\n\n{one.answer}" in compared for one in panel.answers)


def test_a_comparison_that_fails_leaves_the_answers(consulted: Consulted) -> None:
    consulted.satchel.consulting._environ = {"LMSTUDIO_BASE_URL": "http://127.0.0.1:9/v1"}
    panel = consulted.satchel.consulting.consult_many(MODELS[:2], "Why?", synthesis="lmstudio:c")
    assert (len(panel.answers), panel.synthesis) == (2, None)
    assert [(one.assistant, getattr(one.error, "reason", "")) for one in panel.failures] == [
        ("lmstudio:c", "unreachable")
    ]


def test_a_dry_run_plans_for_each_and_sends_nothing(consulted: Consulted) -> None:
    panel = consulted.satchel.consulting.consult_many(MODELS, "Why?", dry_run=True, synthesis="ollama:d")
    assert [(one.assistant, one.answer) for one in panel.answers] == [(name, None) for name in MODELS]
    assert consulted.provider.requests == []


def test_the_longest_name_of_a_conversation_leaves_room_for_a_comparison(consulted: Consulted) -> None:
    name = "n" * MAX_NAME_CHARS
    panel = consulted.satchel.consulting.consult_many(MODELS[:2], "Why?", conversation=name, synthesis=MODELS[2])
    assert panel.synthesis is not None


def test_comparisons_go_on_where_their_conversation_is_full(consulted: Consulted) -> None:
    assert isinstance(consulted.provider, ChatCompletions)
    consulted.provider.model.script = [Said(("".join(f" word{number}" for number in range(700)),))]
    for _ in range(2):
        panel = consulted.satchel.consulting.consult_many(MODELS[:2], "Why?", conversation="s", synthesis=MODELS[2])
    assert panel.failures == ()
    listed = consulted.satchel.consulting.conversations.list(assistant=MODELS[2])
    assert {one.key.conversation: one.turns for one in listed} == {"s synthesis": 1, "s synthesis-2": 1}


@pytest.mark.parametrize(("options", "most"), [({"dry_run": True}, 1), ({}, consultation.MAX_RUNNING)], ids=str)
def test_threads_are_few(
    consulted: Consulted, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], most: int
) -> None:
    # plans wait for each other, and a list of models may be long
    threads, plan = set(), planning.plan_turn

    def planned(*arguments: Any, **named: Any) -> TurnPlan:
        threads.add(threading.get_ident())
        return plan(*arguments, **named)

    monkeypatch.setattr(planning, "plan_turn", planned)
    names = [f"compatible:m{number}" for number in range(12)]
    assert len(consulted.satchel.consulting.consult_many(names, "Why?", **options).answers) == 12
    assert len(threads) <= most


@in_one_test(
    ("names", "options", "error"),
    [
        (["gpt-6", "openai:gpt-6"], {}, "named twice"),
        (MODELS[:1], {"synthesis": "ollama:d"}, "one answer cannot be compared"),
        (MODELS, {"keep_as": "discovery"}, "cannot be kept as one"),
        (MODELS, {"synthesis": "nonsense"}, "unknown model 'nonsense'"),
        (MODELS, {"synthesis": "nonsense", "dry_run": True}, "unknown model 'nonsense'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    consulted: Consulted, names: list[str], options: dict[str, object], error: str
) -> None:
    with pytest.raises(InvalidInput, match=error):
        consulted.satchel.consulting.consult_many(names, "Why?", **options)  # type: ignore[arg-type]
    assert consulted.provider.requests == []


def test_a_cancelled_call_records_nothing(consulted: Consulted) -> None:
    with pytest.raises(SatchelError, match="cancelled"):
        consulted.satchel.consulting.consult_many(MODELS, "Why?", is_cancelled=lambda: True)
    assert consulted.satchel.consulting.conversations.list().total == 0
