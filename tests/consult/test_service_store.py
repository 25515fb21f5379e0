"""Consultations and the store: what it knows goes before the files, and what is answered can be kept in it."""

from __future__ import annotations

import pytest

from consult.consulted import LONG, SMALL, Consulted, names
from consult.providers.chat_completions import ChatCompletions, Said
from consulting import blocks_of
from satchel import NewEntry, Satchel
from satchel.base.errors import NotFound, StoreFull

pytestmark = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)


def test_a_briefing_stands_before_the_files(consulted: Consulted) -> None:
    consulted.satchel.entries.write("discovery", "refresh tokens early")
    consulted.write("a.py", SMALL)
    consulted.ask("How are tokens refreshed?", context=["a.py"], briefing=True)
    assert names(consulted)[-1] == ["briefing", "map", "file", "request"]
    assert "refresh tokens early" in blocks_of(consulted.prompts()[-1])[0].body


def test_a_briefing_counts_as_delivered_to_nobody(consulted: Consulted) -> None:
    consulted.satchel.entries.write("discovery", "refresh tokens early")
    for _ in range(2):
        consulted.ask("How are tokens refreshed?", briefing=True)
        assert "refresh tokens early" in consulted.prompts()[-1]
    assert "refresh tokens early" in consulted.satchel.brief(query="tokens").text


def test_a_briefing_is_for_a_role_and_a_task(consulted: Consulted) -> None:
    consulted.satchel.packages.save("how to test it", content="x", consumers=["qa_expert"])
    consulted.ask(briefing=True, role="qa_expert")
    assert "how to test it" in consulted.prompts()[-1]
    consulted.ask(briefing=True, role="developer")
    assert "how to test it" not in consulted.prompts()[-1]


def test_a_briefing_takes_a_part_of_a_small_window(consulted: Consulted) -> None:
    texts = (f"what was found in place {number}: " + f"word{number} " * 60 for number in range(200))
    consulted.satchel.entries.write_many([NewEntry("discovery", text) for text in texts])
    done = consulted.ask(briefing=True)
    # the rest of a first turn takes 317, and what stands around the briefing 15
    assert 0 < done.sent_tokens < (8_000 - 1_000) // 4 + 350


def test_an_answer_is_kept_as_a_note_of_the_run(consulted: Consulted) -> None:
    consulted.satchel.runs.start("r1")
    done = consulted.ask("Why?", keep_as="discovery", run_id="r1", agent="bob")
    entry = consulted.satchel.entries.read().entries[0]
    assert done.kept is not None
    assert (done.kept.ref, entry.run_id, entry.agent) == (entry.ref, "r1", "bob")
    assert entry.content == f"{consulted.model} on: Why?\n\n{done.answer}"


def test_an_answer_is_kept_as_a_decision(consulted: Consulted) -> None:
    done = consulted.ask("Why?", keep_as="decision:clock")
    decision = consulted.satchel.decisions.get("clock").decision
    assert (decision.value, decision.rationale) == (done.answer, f"{consulted.model} on: Why?")


def test_an_answer_that_cannot_be_kept_is_given_with_the_reason(
    consulted: Consulted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreFull("the disk is full", "Make room")

    monkeypatch.setattr(consulted.satchel.entries, "write", refuse)
    done = consulted.ask("Why?", keep_as="discovery")
    assert done.answer
    assert done.kept is not None
    assert (done.kept.ref, done.kept.failure is None) == (None, False)
    assert done.kept.message.startswith("the answer was not kept: ")


def test_where_the_run_of_a_note_is_unknown_nothing_is_asked(consulted: Consulted) -> None:
    with pytest.raises(NotFound, match="run"):
        consulted.ask("Why?", keep_as="discovery", run_id="nowhere")
    assert consulted.provider.requests == []
    assert consulted.ask("Why?", keep_as="decision:k").kept is not None


def test_an_answer_is_remembered_until_it_is_forgotten(consulted: Consulted) -> None:
    done = consulted.ask("Why does the gadget rust? The key is AKIAIOSFODNN7EXAMPLQ.")
    assert done.kept is not None
    (note,) = consulted.satchel.entries.read(query="gadget rust").entries
    assert (note.ref, note.type) == (done.kept.ref, "discovery")
    assert done.answer is not None
    assert done.answer[:20] in note.content
    assert "AKIA" not in note.content

    def briefing() -> str:
        return consulted.satchel.brief(query="gadget rust", agent="ben", again=True).text

    assert f"{consulted.model} on: Why does the gadget rust?" in briefing()
    consulted.satchel.housekeeping.forget(note.ref)
    assert consulted.satchel.entries.read(query="gadget rust").total == 0
    assert "gadget" not in briefing()


def test_nothing_is_remembered_where_that_is_off(consulted: Consulted) -> None:
    config = consulted.satchel.config.with_changes(consult_remember=False)
    consulting = Satchel(
        consulted.satchel.workplace, consulted.satchel.place, config, consulted.satchel.environ
    ).consulting
    assert consulting.consult(consulted.model, "Why?").kept is None
    assert consulted.satchel.entries.read().total == 0


def test_an_earlier_answer_to_nearly_the_same_question_is_told_and_reused(consulted: Consulted) -> None:
    consulted.write("a.py", SMALL)
    first = consulted.ask("Why does it rust in rain, and what of it?", context=["a.py"])
    sent = len(consulted.provider.requests)
    planned = consulted.ask("Why does it rust in rain, and what of it??", context=["a.py"], dry_run=True)
    assert [note for note in planned.notes if "has an answer, turn 1 of conversation 's'" in note]
    again = consulted.ask("why does it rust in rain and what of it", context=["a.py"], conversation="t", reuse=True)
    assert (again.answer, len(consulted.provider.requests)) == (first.answer, sent)
    consulted.write("a.py", LONG)
    consulted.ask("why does it rust in rain and what of it", context=["a.py"], reuse=True)
    assert len(consulted.provider.requests) > sent


def test_an_earlier_answer_that_does_not_match_the_schema_is_not_reused(consulted: Consulted) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    assert isinstance(consulted.provider, ChatCompletions)
    consulted.provider.model.script = [Said(('{"a": 1}',)), Said(('{"a": 2}',))]
    consulted.ask(words, schema={"type": "object", "properties": {"a": {"maximum": 1}}})
    other = {"type": "object", "properties": {"a": {"minimum": 2}}}
    assert consulted.ask(words, schema=other, conversation="t", reuse=True).answer == '{"a": 2}'
