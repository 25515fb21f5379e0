"""Settings of a question reach each provider in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from consult.providers.asking import Pauses
from consult.providers.every_kind import line_to
from satchel.base.errors import InvalidInput
from satchel.consult.models import Ask

SENT: dict[str, dict[str, Any]] = {
    "compatible": {"reasoning_effort": "high", "temperature": 0.5},
    "openai": {"reasoning": {"effort": "high"}, "temperature": 0.5},
}
SETTINGS = {"reasoning_effort", "reasoning", "output_config", "temperature", "generationConfig"}


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", SENT)
def test_effort_and_temperature_are_sent(kind: str, pauses: Pauses) -> None:
    with line_to(kind, pauses) as line:
        line.assistant().ask(Ask("Why?", effort="high", temperature=0.5))
        line.assistant().ask(Ask("Why?"))
        given, left_out = (request.json for request in line.provider.seen(line.step))
    assert {name: given[name] for name in SETTINGS & given.keys()} == SENT[kind]
    assert SETTINGS & left_out.keys() == set()


@pytest.mark.usefixtures("direct")
def test_a_setting_that_a_provider_does_not_take_is_refused(pauses: Pauses) -> None:
    with line_to("anthropic", pauses) as line:
        with pytest.raises(InvalidInput, match="takes no temperature"):
            line.assistant().ask(Ask("Why?", temperature=0.5))
        line.assistant().ask(Ask("Why?", effort="high"))
        (sent,) = line.provider.seen(line.step)
    assert sent.json["output_config"] == {"effort": "high"}


@pytest.mark.usefixtures("direct")
def test_effort_and_temperature_are_sent_to_gemini(pauses: Pauses) -> None:
    with line_to("gemini", pauses) as line:
        line.assistant().ask(Ask("Why?", effort="high", temperature=0.5))
        config = line.provider.seen(line.step)[0].json["generationConfig"]
    assert (config["temperature"], config["thinkingConfig"]) == (0.5, {"thinking_level": "HIGH"})
