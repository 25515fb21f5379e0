"""Splitting Markdown into parts: what belongs together, what is a rule, and that nothing is lost."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.keep.documents.splitting import BEGIN, END, blocks_of, split

_DOCUMENT = """\
# Agents

A shop in Python.

## Tests

Always run `pytest`:

```sh
pytest -n 2
```

- Name tests after behaviour.
  They are read aloud.

  More on that.
- Fast ones only
   - a second at most

Before a release:

1. Bump the version.
2. Tag it.

| a | b |
|---|---|
| 1 | 2 |

<!-- nobody
     sees this -->
***
Setext
------
last words
"""


def test_a_document_is_split_by_its_structure() -> None:
    assert [(one.line, one.kind, one.text) for one in split(_DOCUMENT)] == [
        (3, "note", "A shop in Python."),
        (7, "rule", "Tests: Always run `pytest`:\n\n```sh\npytest -n 2\n```"),
        (13, "rule", "Tests:\nName tests after behaviour.\nThey are read aloud.\n\nMore on that."),
        (17, "rule", "Tests:\nFast ones only\n - a second at most"),
        (22, "note", "Tests: Before a release:\n1. Bump the version.\n2. Tag it."),
        (25, "note", "Tests:\n| a | b |\n|---|---|\n| 1 | 2 |"),
        (29, "note", "Tests:\n<!-- nobody\n     sees this -->"),
        (34, "note", "Setext: last words"),
    ]


def test_headings_that_only_call_rules_by_that_name_are_left_out() -> None:
    titles = ("## Rules", "## Coding conventions for agents", "**Rules:**\n", "## Our guidelines\n\nRules:\n")
    for title in titles:
        assert [(one.kind, one.text) for one in split(f"# Shop\n\n{title}\n- Money is cents.\n")] == [
            ("rule", "Money is cents.")
        ]
    # the only title of a document says what it is of, unless it calls all of it rules
    assert [one.kind for one in split("# Rules for agents\n\n- Every new function gets a test.\n")] == ["rule"]
    assert [one.kind for one in split("# Shop\n\n- Every new function gets a test.\n")] == ["note"]
    tests = "# Shop\n\n## Rules\n\n### Rules for tests\n\n- They are fast.\n\n## Agents\n\n- Ask first.\n"
    assert [one.text for one in split(tests)] == ["Rules for tests: They are fast.", "Agents: Ask first."]


def test_beside_a_rule_what_holds_of_all_is_a_rule_and_nothing_else_is() -> None:
    items = "- Money is cents.\n- Every public function has a docstring.\n"
    assert [one.kind for one in split(f"# Shop\n\n- Never push to main.\n{items}")] == ["rule", "note", "rule"]
    assert [one.kind for one in split(f"# Shop\n\nOf it:\n\n{items}- Use tabs.\n")] == ["note", "rule", "rule"]
    assert [one.kind for one in split(f"# Shop\n\n{items}\nNever push to main.\n")] == ["note", "note", "rule"]


def test_a_fence_in_an_item_is_of_it_to_its_end() -> None:
    text = "- Run it:\n  ```sh\n- no item\n\nno note\n  ```\n- Read on.\n"
    assert [(one.kind, len(one.lines)) for one in blocks_of(text)] == [("item", 6), ("item", 1)]


def test_the_block_of_satchel_is_no_part_of_a_document() -> None:
    text = "- Use tabs.\n\n<!-- satchel: begin -->\n- Never push.\n<!-- satchel: end -->\n- Use LF.\n"
    assert [one.text for one in split(text)] == ["Use tabs.", "Use LF."]


def test_a_marker_without_its_other_hides_no_text() -> None:
    text = f"{BEGIN}\n- Mine.\n\n{BEGIN}\n- Not.\n{END}\n- Mine too.\n{END}\n- And mine.\n"
    assert [piece.text for piece in split(text)] == ["Mine.", "Mine too.", "And mine."]


def test_an_example_of_the_block_in_a_fence_is_code() -> None:
    text = f"```\n{BEGIN}\n{END}\n```"
    assert [(block.kind, block.text) for block in blocks_of(text)] == [("code", text)]


_LINE = st.sampled_from(
    "|text w|## Head w|- item w|  more w|1. step w|2. step w|```|    code w|lead w:|<!-- w -->|> quote w|---"
    "|Title w|===|  - inner w".split("|")
)


@settings(max_examples=200, deadline=None)
@given(lines=st.lists(_LINE, max_size=25))
def test_every_line_is_in_one_part_or_above_it(lines: list[str]) -> None:
    # each line has a word of its own
    text = "\n".join(line.replace("w", f"w{place}w") for place, line in enumerate(lines))
    pieces = split(text)
    headings = " ".join(block.text for block in blocks_of(text) if block.kind == "heading")
    for word in re.findall(r"w\d+w", text):
        holders = [one for one in pieces if word in one.source]
        assert holders or word in headings
        assert len(holders) <= 1 or "lead" in holders[0].source
