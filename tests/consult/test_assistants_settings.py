"""Settings of a question reach each provider in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from consult.providers.anthropic_api import AnthropicApi
from consult.providers.anthropic_api import Said as AnthropicSaid
from consult.providers.asking import Pauses, quick
from consult.providers.every_kind import KINDS, line_to
from consult.providers.gemini_api import GeminiApi
from consult.providers.gemini_api import Said as GeminiSaid
from consult.providers.openai_api import OpenAIApi
from satchel.consult.models import Ask, Model
from satchel.consult.providers import OpenRouter
from satchel.consult.records import Settings, Window

SENT: dict[str, dict[str, Any]] = {
    "compatible": {"reasoning_effort": "high", "temperature": 0.5},
    "openai": {"reasoning": {"effort": "high"}, "temperature": 0.5},
}
SETTINGS = {"reasoning_effort", "reasoning", "output_config", "temperature", "generationConfig"}


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", SENT)
def test_effort_and_temperature_are_sent(kind: str, pauses: Pauses) -> None:
    with line_to(kind, pauses) as line:
        line.assistant().ask(Ask("Why?", settings=Settings(effort="high", temperature=0.5)))
        line.assistant().ask(Ask("Why?"))
        given, left_out = (request.json for request in line.provider.seen(line.step))
    assert {name: given[name] for name in SETTINGS & given.keys()} == SENT[kind]
    assert SETTINGS & left_out.keys() == set()


@pytest.mark.usefixtures("direct")
def test_effort_is_sent_to_anthropic_and_temperature_is_not_taken(pauses: Pauses) -> None:
    with line_to("anthropic", pauses) as line:
        assert line.assistant().unsupported == {"temperature"}
        line.assistant().ask(Ask("Why?", settings=Settings(effort="high")))
        (sent,) = line.provider.seen(line.step)
    assert sent.json["output_config"] == {"effort": "high"}


@pytest.mark.usefixtures("direct")
def test_effort_and_temperature_are_sent_to_gemini(pauses: Pauses) -> None:
    with line_to("gemini", pauses) as line:
        line.assistant().ask(Ask("Why?", settings=Settings(effort="high", temperature=0.5)))
        config = line.provider.seen(line.step)[0].json["generationConfig"]
    assert (config["temperature"], config["thinkingConfig"]) == (0.5, {"thinking_level": "HIGH"})


SCHEMA = {"type": "object", "properties": {"safe": {"type": "boolean"}}, "required": ["safe"]}


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_reaches_every_provider(kind: str, pauses: Pauses) -> None:
    with line_to(kind, pauses) as line:
        line.assistant().ask(Ask("Why?", settings=Settings(schema=SCHEMA)))
        sent = line.provider.seen(line.step)[0].json
    named = {"name": "answer", "schema": SCHEMA}
    assert {
        "compatible": lambda: sent["response_format"] == {"type": "json_schema", "json_schema": named},
        "openai": lambda: sent["text"] == {"format": {"type": "json_schema", **named}},
        "anthropic": lambda: sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}},
        "gemini": lambda: sent["generationConfig"]["responseJsonSchema"] == SCHEMA,
    }[kind]()


QUERY, URL = "is it so", "https://example.org/so"


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_what_was_searched_in_the_web_and_cited_is_told(kind: str, pauses: Pauses) -> None:
    with line_to(kind, pauses) as line:
        if isinstance(line.provider, OpenAIApi):
            line.provider.web = QUERY, URL
        elif isinstance(line.provider, AnthropicApi):
            line.provider.script = [AnthropicSaid(("So.",), web=(QUERY, URL))]
        elif isinstance(line.provider, GeminiApi):
            line.provider.script = [GeminiSaid(("So.",), web=(QUERY, URL))]
        reply = line.assistant().ask(Ask("Why?", settings=Settings(web_search=True)))
    assert (reply.queries, reply.cited) == ((QUERY,), (URL,))


@pytest.mark.usefixtures("direct")
def test_an_answer_that_pauses_to_search_the_web_goes_on(pauses: Pauses) -> None:
    with line_to("anthropic", pauses) as line:
        assert isinstance(line.provider, AnthropicApi)
        line.provider.script = [
            AnthropicSaid((), web=(QUERY, URL), stop="pause_turn"),
            AnthropicSaid(("So.",), web=("and why", URL)),
        ]
        reply = line.assistant().ask(Ask("Why?", settings=Settings(web_search=True)))
        messages = line.provider.seen(line.step)[1].json["messages"]
    assert (reply.text, reply.queries) == ("So.", (QUERY, "and why"))
    assert [message["role"] for message in messages] == ["user", "assistant"]


@pytest.mark.usefixtures("direct")
def test_openrouter_searches_the_web_with_its_plugin(pauses: Pauses) -> None:
    with line_to("compatible", pauses) as line:
        model = Model("openrouter", "m", Window(32_000, 4_000))
        assistant = OpenRouter(model, "THE_KEY", key="none", base_url=line.provider.url, timing=quick(pauses))
        assistant.ask(Ask("Why?", settings=Settings(web_search=True)))
        sent = line.provider.seen(line.step)[0].json
    assert sent["plugins"] == [{"id": "web"}]
    assert assistant.unsupported == set()
    assert line.assistant().unsupported == {"web_search"}
