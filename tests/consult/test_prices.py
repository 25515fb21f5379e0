"""What a question costs: by the prices that a person configured, and unknown without them."""

from __future__ import annotations

import pytest

from consult.consulted import Consulted
from consult.providers.chat_completions import ChatCompletions, Said
from satchel.base.errors import InvalidInput
from satchel.consult.models import find_price
from satchel.interfaces.text.consultations import cost_line
from tables import in_one_test

pytestmark = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)
MODEL = "compatible:tiny"


def configure(consulted: Consulted, prices: str) -> None:
    consulting = consulted.satchel.consulting
    consulting._config = consulting._config.with_changes(consult_prices=prices)


def test_the_cost_is_told_before_and_after(consulted: Consulted) -> None:
    configure(consulted, "tiny 1000 20000")
    assert isinstance(consulted.provider, ChatCompletions)
    consulted.provider.model.script = [Said(("So.",), usage=(100, 10))]
    planned, answered = consulted.ask(dry_run=True), consulted.ask()
    assert planned.cost == pytest.approx(planned.sent_tokens / 1_000)
    assert f"; ${planned.cost:.4f} and the answer; address" in cost_line(planned)
    assert answered.cost == pytest.approx(0.1 + 0.2)
    assert "the provider counted 100 in, 10 out, $0.3000; address" in cost_line(answered)
    # the thread goes again
    assert (consulted.ask(dry_run=True).cost or 0) > (planned.cost or 0)


def test_what_is_not_known_is_not_told(consulted: Consulted) -> None:
    assert "$" not in cost_line(consulted.ask(dry_run=True))
    configure(consulted, "tiny 1000 20000")
    assert isinstance(consulted.provider, ChatCompletions)
    consulted.provider.model.script = [Said(("So.",), usage=None)]
    assert consulted.ask().cost is None


def test_each_model_has_its_own_price(consulted: Consulted) -> None:
    configure(consulted, "ollama:b 2 2, a 1 1")
    panel = consulted.satchel.consulting.consult_many(["compatible:a", "ollama:b", "ollama:c"], "Why?")
    assert [one.cost for one in panel.answers] == [pytest.approx(110e-6), pytest.approx(220e-6), None]


@in_one_test("prices", ["tiny", "tiny 1", "tiny -1 1", "tiny nan 1", "tiny 1 1 1", "b 1 1,,"])
def test_a_malformed_price_is_refused_before_anything_is_sent(consulted: Consulted, prices: str) -> None:
    configure(consulted, prices)
    with pytest.raises(InvalidInput, match=r"in consult\.prices is no price"):
        consulted.ask()
    assert consulted.provider.requests == []


def test_a_price_is_found_by_the_full_name_or_the_part_after_the_provider(consulted: Consulted) -> None:
    prices = "gpt-6-sol 2 10, anthropic:claude-opus-5-5 4 20.5"
    assert find_price("openai:gpt-6-sol", prices) == (2, 10)
    assert find_price("anthropic:claude-opus-5-5", prices) == (4, 20.5)
    assert find_price("openai:gpt-6", prices) is None
