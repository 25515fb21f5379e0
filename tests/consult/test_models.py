from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from satchel.base.errors import InvalidInput, Unavailable
from satchel.consult.models import FAMILIES, PROVIDER_NAMES, find_model
from satchel.consult.providers import PROVIDERS, AssistantSettings, open_assistant, providers
from satchel.consult.records import Window
from satchel.consult.rounds import search_reserve
from tables import in_one_test

KEYS = {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "GEMINI_API_KEY": "c"}


@in_one_test(
    ("name", "provider", "model", "window"),
    [
        ("gpt-6-astra", "openai", "gpt-6-astra", Window(1_050_000, 128_000)),
        ("openai:gpt-6-astra", "openai", "gpt-6-astra", Window(1_050_000, 128_000)),
        ("gpt-5", "openai", "gpt-5", Window(400_000, 100_000)),
        ("gpt-5.4-2026-03-05", "openai", "gpt-5.4-2026-03-05", Window(1_050_000, 128_000)),
        ("gpt-5.4-mini-2026-03-17", "openai", "gpt-5.4-mini-2026-03-17", Window(400_000, 100_000)),
        ("claude-haiku-5-5", "anthropic", "claude-haiku-5-5", Window(1_000_000, 128_000)),
        ("gemini-3.5-flash-lite", "gemini", "gemini-3.5-flash-lite", Window(1_048_576, 65_536)),
        ("o3-2025-04-16", "openai", "o3-2025-04-16", Window(200_000, 50_000)),
        ("claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5-20251001", Window(200_000, 50_000)),
        ("gemini-4-argon", "gemini", "gemini-4-argon", Window(1_048_576, 65_536)),
    ],
)
def test_a_model_is_known_with_its_window(name: str, provider: str, model: str, window: Window) -> None:
    found = find_model(name)
    assert (found.provider, found.name) == (provider, model)
    assert (found.window.tokens, found.window.output) == (window.tokens, window.output)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [("ollama:qwen3:8b", "ollama", "qwen3:8b"), ("compatible:org/model", "compatible", "org/model")],
)
def test_any_model_of_a_named_provider_can_be_asked_with_a_configured_window(
    name: str, provider: str, model: str
) -> None:
    found = find_model(name, window=8_192)
    assert (found.provider, found.name) == (provider, model)
    assert (found.window.tokens, found.window.output) == (8_192, 2_048)


def test_configuration_overrides_the_table() -> None:
    assert find_model("gpt-5", window=50_000).window == Window(50_000, 12_500)
    assert find_model("gpt-5", output=1_000).window == Window(400_000, 1_000)


@in_one_test(
    ("name", "problem"),
    [
        ("gtp-5", "unknown model 'gtp-5'. Did you mean 'gpt-5'?"),
        ("llama", "give provider:model"),
        ("opnai:gpt-5", "unknown provider 'opnai'. Did you mean 'openai'?"),
        ("ollama:qwen3", "`ollama ps` shows it as CONTEXT"),
        ("openai:gpt-9", "how much openai:gpt-9 can hold is not known"),
        ("gpt-55", "unknown model 'gpt-55'"),
        ("", "model"),
        ("openai:", "model"),
        (7, "model"),
    ],
)
def test_an_unknown_model_is_refused_with_what_would_be_right(name: object, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find_model(name)
    assert problem in str(refused.value)


@in_one_test(("window", "output"), [(100, None), (10**9, None), (8_192, 8_192), (8_192, 0)])
def test_limits_that_make_no_sense_are_refused(window: int, output: int | None) -> None:
    with pytest.raises(InvalidInput, match=r"out of range|does not fit"):
        find_model("ollama:qwen3", window=window, output=output)


@pytest.mark.parametrize(
    ("provider", "package", "module"),
    [
        ("openai", "openai", "shared/chat_model.py"),
        ("anthropic", "anthropic", "model.py"),
    ],
)
def test_every_name_is_one_that_the_vendors_sdk_knows_or_what_some_begin_with(
    provider: str, package: str, module: str
) -> None:
    found = find_spec(package)  # which does not load it: that takes a second
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).with_name("types").joinpath(module).read_text(encoding="utf-8")
    known = {name + "-" for name in re.findall(r'"([a-z0-9.-]+)"', source)}
    ours = {family.name for family in FAMILIES if family.provider == provider}
    assert {name for name in ours if not any(one.startswith(f"{name}-") for one in known)} == set()


def test_every_family_finds_itself() -> None:
    assert {find_model(family.name).provider for family in FAMILIES} <= set(PROVIDER_NAMES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@in_one_test("name", ["gpt-5", "claude-opus-5", "gemini-4-argon", "ollama:qwen3", "compatible:x"])
def test_an_assistant_is_named_by_provider_and_model(name: str) -> None:
    settings = AssistantSettings(base_url="http://127.0.0.1:1/v1", window=32_000)
    assistant = open_assistant(name, KEYS, settings)
    assert assistant.name.partition(":")[2] == name.rpartition(":")[2]
    assert (assistant.window.tokens, assistant.window.output) == (32_000, 8_000)
    assert assistant.keeps_history == (name == "gpt-5")


@in_one_test(
    ("name", "variable"),
    [("gpt-5", "OPENAI_API_KEY"), ("claude-opus-5", "ANTHROPIC_API_KEY"), ("gemini-4-argon", "GEMINI_API_KEY")],
)
@in_one_test("value", [None, "", " "])
def test_a_missing_key_is_named(name: str, variable: str, value: str | None) -> None:
    environ: Mapping[str, str] = {} if value is None else {variable: value}
    with pytest.raises(Unavailable, match=f"Set {variable} in the environment"):
        open_assistant(name, environ)


def test_an_endpoint_without_an_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"Set consult\.base_url"):
        open_assistant("compatible:x", {}, AssistantSettings(window=8_192))


def test_who_could_be_asked_is_listed_with_what_is_missing() -> None:
    states = {state.provider: state.missing for state in providers({"OPENAI_API_KEY": "a"})}
    clients = {"cli:claude", "cli:codex", "cli:gemini"}
    assert set(states) == {*PROVIDER_NAMES, *clients} - {"cli"}
    assert {name for name, missing in states.items() if missing is None} == {"openai", "ollama", "lmstudio", "vllm"}
    assert states["groq"] == "GROQ_API_KEY"
    assert states["azure"] == "AZURE_OPENAI_API_KEY, AZURE_OPENAI_BASE_URL"
    assert states["compatible"] == "consult.base_url"


@in_one_test("name", ["openrouter", "grok", "mistral", "deepseek", "groq"])
def test_a_key_goes_to_the_address_of_its_own_provider_only(name: str) -> None:
    row, settings = PROVIDERS[name], AssistantSettings(base_url="http://127.0.0.1:1/v1", window=8_192)
    assert open_assistant(f"{name}:m", {row.key: "k"}, settings).address == row.url
    assert row.url_variable is not None
    moved = {row.key: "k", row.url_variable: "http://127.0.0.1:2/v1"}
    assert open_assistant(f"{name}:m", moved, settings).address == "http://127.0.0.1:2/v1"
    with pytest.raises(Unavailable, match=f"Set {row.key} in the environment"):
        open_assistant(f"{name}:m", {"SATCHEL_CONSULT_KEY": "k", "OPENAI_API_KEY": "k"}, settings)


def test_no_sdk_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, satchel.consult.providers; "
        "print([name for name in ('openai', 'anthropic', 'google.genai', 'httpx', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_room_is_left_for_searching() -> None:
    assert (search_reserve(Window(10_000, 2_000)), search_reserve(Window(1_000_000, 1))) == (1_000, 16_000)
    assert search_reserve(Window(1_024, 900)) == 15


@in_one_test(
    ("name", "factor"),
    [
        ("gpt-6-sol", 1.0),
        ("claude-opus-4-6", 1.3),
        ("claude-opus-5-5", 1.75),
        ("anthropic:claude-of-tomorrow", 1.75),
        ("gemini-3.8-flash", 1.15),
        ("ollama:qwen3:8b", 1.15),
    ],
)
def test_tokens_of_a_model_are_counted_as_many_as_they_may_be(name: str, factor: float) -> None:
    assert find_model(name, window=100_000).window.token_factor == factor


@in_one_test("key", ["sk-\nsecond", "sk-schlüssel", "sk-\x1b[31m"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY holds characters") as refused:
        open_assistant("gpt-6-sol", {"OPENAI_API_KEY": key})
    assert "sk-" not in str(refused.value)
