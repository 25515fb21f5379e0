"""What the ledger's lists cost, measured on the committed pages of twenty and on others made the same way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from interfaces.text.fixture.generate import FOLDER, MAKERS, SEED, as_json
from satchel.base.clock import iso
from satchel.base.paging import KeptPage
from satchel.base.tokens import TokenCounter, token_counter
from satchel.interfaces.text.decisions import decisions_text
from satchel.interfaces.text.files import changes_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.messages import messages_text
from satchel.interfaces.text.rules import constraints_text
from satchel.keep.decisions.records import Decision
from tables import in_one_test

OTHER_SEEDS = range(SEED + 1, SEED + 9)
RENDERINGS: dict[str, Callable[[Any], str]] = {
    "decisions": decisions_text,
    "constraints": constraints_text,
    "messages": messages_text,
    "file_changes": changes_text,
}


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    found = token_counter()
    assert found.exact, found.reason
    return found


def usual_json(page: KeptPage[Decision]) -> dict[str, object]:
    """Return decisions as a server without compact text would: less than the text says, no id, revision or cursor."""
    return {
        "decisions": [
            {
                "key": decision.key,
                "value": decision.value,
                "tags": decision.tags,
                "scopes": decision.scopes,
                "layer": decision.layer,
                "version": decision.version,
                "agent": decision.agent,
                "status": decision.status,
                "updated": iso(decision.updated_at),
            }
            for decision in page
        ],
        "total": page.total,
        "has_more": page.next_offset is not None,
    }


def said_in_json(fields: Mapping[str, object]) -> dict[str, object]:
    """Return JSON without what the text does not say."""
    unsaid = {"uid", "seq"} | ({"expires_at"} if "messages" in fields else set())
    return {
        name: [{key: item[key] for key in item if key not in unsaid} for item in value]
        if isinstance(value, list)
        else value
        for name, value in fields.items()
    }


def saved(counter: TokenCounter, text: str, said: Mapping[str, object]) -> float:
    """Return by how many percent a text is under pretty JSON."""
    pretty = counter.count(json.dumps(said, indent=2, ensure_ascii=False))
    return 100 - 100 * counter.count(text) / pretty


@in_one_test("name", MAKERS)
def test_the_committed_page_is_what_its_seed_gives(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == as_json(MAKERS[name](SEED))


def test_every_committed_decision_has_tags_scopes_a_layer_and_an_agent() -> None:
    decisions = json.loads((FOLDER / "decisions.json").read_text(encoding="utf-8"))
    assert len(decisions) == 20
    assert all(item["tags"] and item["scopes"] and item["layer"] and item["agent"] for item in decisions)


def test_the_committed_decisions_cost_72_percent_less_than_pretty_json(counter: TokenCounter) -> None:
    page = MAKERS["decisions"](SEED)
    assert isinstance(page, KeptPage)
    assert saved(counter, decisions_text(page), usual_json(page)) >= 72


def test_other_decisions_cost_about_as_much_less(counter: TokenCounter) -> None:
    figures = []
    for seed in OTHER_SEEDS:
        page = MAKERS["decisions"](seed)
        assert isinstance(page, KeptPage)
        figures.append(saved(counter, decisions_text(page), usual_json(page)))
    assert min(figures) >= 71.5
    assert sum(figures) / len(figures) >= 72


@in_one_test("seed", [SEED, *OTHER_SEEDS])
@in_one_test(
    ("name", "all_fields", "same_fields"),
    [("decisions", 82, 78.5), ("constraints", 76, 69), ("messages", 78, 68), ("file_changes", 81, 76)],
)
def test_a_list_costs_far_less_than_our_pretty_json(
    counter: TokenCounter, name: str, all_fields: float, same_fields: float, seed: int
) -> None:
    page: KeptPage[Any] = MAKERS[name](seed)
    text, fields = RENDERINGS[name](page), fields_of(page, name.removeprefix("file_"))
    assert saved(counter, text, fields) >= all_fields
    assert saved(counter, text, said_in_json(fields)) >= same_fields
