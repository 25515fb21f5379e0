"""Settings of a question: refused before anything is sent, and answers that do not match their schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from consult.consulted import Consulted
from consult.providers.openai_api import OpenAIApi
from satchel.base.errors import InvalidInput

SCHEMA = {"type": "object", "properties": {"safe": {"type": "boolean"}}, "required": ["safe"]}


def says(consulted: Consulted, text: str) -> None:
    """Let the model answer with a text."""
    assert isinstance(consulted.provider, OpenAIApi)
    consulted.provider.pieces = (text,)


@pytest.mark.parametrize("consulted", ["openai"], indirect=True)
class TestSchema:
    def test_an_answer_that_matches_is_kept_without_its_fence(self, consulted: Consulted) -> None:
        says(consulted, '```json\n{"safe": true}\n```')
        done = consulted.ask("Safe?", schema=SCHEMA, keep_as="discovery")
        assert (done.answer, done.mismatch, done.failure) == ('{"safe": true}', None, None)
        assert done.kept is not None
        assert '"required": ["safe"]' in consulted.prompts()[0]

    def test_an_answer_that_does_not_match_is_given_and_not_kept(self, consulted: Consulted) -> None:
        says(consulted, '{"safe": "yes"}')
        done = consulted.ask("Safe?", schema=SCHEMA, keep_as="discovery")
        assert (done.answer, done.kept, done.turn) == ('{"safe": "yes"}', None, 1)
        assert done.failure is not None
        assert "the answer.safe is not of type boolean" in str(done.failure)
        assert consulted.satchel.entries.read().total == 0

    def test_a_schema_that_cannot_be_checked_sends_nothing(self, consulted: Consulted) -> None:
        with pytest.raises(InvalidInput, match="it has an unknown 'pattern'"):
            consulted.ask("Safe?", schema={**SCHEMA, "pattern": "a"})
        with pytest.raises(InvalidInput, match="instructions"):
            consulted.ask(" ", schema=SCHEMA)
        assert consulted.provider.requests == []


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("model", "options", "name"),
    [
        ("anthropic:claude-opus-5", {"temperature": 0.0}, "temperature"),
        ("compatible:tiny", {"web_search": True}, "web_search"),
    ],
)
@pytest.mark.parametrize("consulted", ["compatible"], indirect=True)
def test_a_setting_that_the_model_does_not_take_is_refused_before_anything_is_sent(
    consulted: Consulted, model: str, options: Mapping[str, Any], name: str, dry_run: bool
) -> None:
    consulted.satchel.consulting._environ = {"ANTHROPIC_API_KEY": "k"}
    with pytest.raises(InvalidInput, match=f"{model} takes no {name}"):
        consulted.satchel.consulting.consult(model, "Why?", dry_run=dry_run, **options)
    assert consulted.provider.requests == []


@pytest.mark.parametrize("consulted", ["openai"], indirect=True)
def test_a_dry_run_says_that_web_searches_are_billed(consulted: Consulted) -> None:
    assert any("bills web searches" in note for note in consulted.ask(web_search=True, dry_run=True).notes)
