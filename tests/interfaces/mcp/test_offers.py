from __future__ import annotations

from collections.abc import Mapping

import pytest

from satchel.base.errors import InvalidInput
from satchel.interfaces.mcp.guidance import Prompt, PromptArgument, Resource
from tables import in_one_test

TEMPLATE = Resource("s://runs/{run}/{kind}.md", "run", "A run.", str)


def show(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())


PROMPT = Prompt(
    "brief",
    "Brief an agent.",
    show,
    (PromptArgument("role", "Who.", required=True), PromptArgument("task", "What.")),
)


@in_one_test(
    ("uri", "values"),
    [
        ("s://runs/r7/state.md", {"run": "r7", "kind": "state"}),
        ("s://runs/a%2Fb/%C3%A4.md", {"run": "a/b", "kind": "ä"}),
        ("s://runs/a.b/c.md.md", {"run": "a.b", "kind": "c.md"}),
        ("s://runs//state.md", None),
        ("s://runs/a/b/state.md", None),
        ("s://runs/r7/stateXmd", None),
        ("s://runs/r7/state.md\n", None),
        ("s://runs/r7/state.md?x=.md", None),
    ],
)
def test_a_template_matches_one_segment_per_hole(uri: str, values: dict[str, str] | None) -> None:
    assert TEMPLATE.match(uri) == values


def test_an_address_that_does_not_decode_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not UTF-8 when decoded"):
        TEMPLATE.match("s://runs/%FF/state.md")


def test_a_resource_is_listed_with_its_type() -> None:
    assert Resource("s://a", "a", "An a.", str).listing() == {
        "uri": "s://a",
        "name": "a",
        "description": "An a.",
        "mimeType": "text/plain",
    }


def test_a_prompt_is_filled_with_what_was_given() -> None:
    assert PROMPT.fill({"role": "qa", "task": None}) == "role=qa"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "brief prompt argument 'role' is missing"),
        ({"role": True}, "role must be text, not True"),
        ({"role": "qa", "tsak": "T1"}, "Did you mean 'task'"),
    ],
)
def test_a_faulty_prompt_argument_is_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        PROMPT.fill(given)
