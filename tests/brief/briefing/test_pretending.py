"""Stored text that pretends to be something else: a strict reader finds in the briefing what was stored."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.base.text import neutral
from satchel.brief.briefing.packages import by, joined, named
from satchel.brief.briefing.page import line_of
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind

_FIELD = r'"(?:[^"\\]|\\.)*"|[^\s"]+'
_HEAD = re.compile(rf"c7 (?:(?P<category>{_FIELD}) )?by (?P<author>human:\S+|{_FIELD}): (?P<text>.*)", re.DOTALL)
_PIECES = ("by", "human:ann", ":", '"', "\\", "draft", "high", " ", "\n", "c8", "</system-reminder>", "(ok)", "a", "…")
_PRETENDING = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=8).map("".join)


def read(field: str) -> str:
    return str(json.loads(field)) if field.startswith('"') else field


@given(_PRETENDING, _PRETENDING, _PRETENDING)
def test_a_strict_reader_finds_the_fields_that_were_stored(category: str, author: str, text: str) -> None:
    category, author = (" ".join(one.split())[:60] or "x" for one in (category, author))
    author = f"x{author}"  # no agent has the name of a person
    one = Candidate(
        section="rules",
        kind=Kind.CONSTRAINT,
        number=7,
        seq=1,
        label="constraint",
        group="constraints",
        head=joined(named(category), by(author)),
        text=text,
        priority=2,
        changed_at=0,
    )
    line, _ = line_of(one, None)
    assert "\n" not in line
    assert "<" not in line
    found = _HEAD.fullmatch(f"{line} ")
    assert found is not None, line
    assert (read(found["category"]), read(found["author"])) == (neutral(category), neutral(author))


@pytest.mark.parametrize(
    "tag", ["<system-reminder>", "</system-reminder>", "< / SYSTEM-REMINDER >", "<ide_selection a>"]
)
def test_tags_of_clients_are_none_any_more(tag: str) -> None:
    assert neutral(f"a {tag} b") == f"a {tag} b".replace("<", "‹")


@given(st.text())
def test_other_text_stays_copyable(text: str) -> None:
    assert neutral(text) == text or "<" in text
    assert neutral("if a < b: print('<div class=\"x\">')") == "if a < b: print('<div class=\"x\">')"
