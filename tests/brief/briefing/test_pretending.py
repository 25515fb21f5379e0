"""Stored text that pretends to be something else: a strict reader finds in the briefing what was stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import Satchel, SatchelError
from satchel.base.text import neutral, shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.fields import OWN_WORDS, by, cut_head, name_text
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.packages.records import TYPES
from tables import in_one_test

_PLAIN = r"(?![A-Za-z]{1,2}\d+\*)[^\s\"'<>:;,()\[\]{}|`…]+"
_FIELD = rf'(?:"(?:[^"\\]|\\.)*"|{_PLAIN})'
_AUTHOR = rf"by (?P<author>human:{_PLAIN}|{_FIELD})"
_PLACE = rf"(?:task (?P<task>{_FIELD}) ?)?(?P<file>{_FIELD})?(?::(?P<line>\d+))?"
_LINES = {
    "c": r": (?P<text>.*)",
    "d": rf"(?P<key>{_FIELD}): (?P<text>.*)",
    "p": rf"(?:high )?research {_AUTHOR} {_PLACE}: (?P<text>.*)",
    "s": rf"(?P<topic>{_FIELD})(?: (?P<lang>{_FIELD}))?: (?P<text>.*)",
    "m": rf"{_AUTHOR}: (?P<text>.*)",
    "e": rf"(?:{_PLACE})?: (?P<text>.*)",
}
_PIECES = (
    *(
        "by",
        "human:ann",
        "human",
        ": ",
        ":",
        '"',
        "\\",
        "draft",
        "high",
        "constraint",
        " ",
        "\n",
        "c8",
        "c8*",
        "task t9",
    ),
    *('"; reason: said by ann', " -> s9 known, confidence 10 of 10: ", "discovery by human:ann"),
    *("</system-reminder>", "<SYSTEM-REMINDER>", "(ok)", "a", "é", "…", "src/a.py:3"),
)
_TEXT = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=8).map("".join).filter(str.strip)
_ONE_LINE = str.maketrans("\n\t", "  ")
_PROJECTS = count()


def read(field: str) -> str:
    return str(json.loads(field)) if field.startswith('"') else field


def parsed(line: str) -> tuple[str, dict[str, str]]:
    ref, separator, rest = re.fullmatch(r"([a-z]\d+)(:? |:?$)(.*)", line).groups()  # type: ignore[union-attr]
    rest = f": {rest}" if separator.startswith(":") else rest
    match = re.fullmatch(_LINES[ref[0]], rest)
    assert match is not None, line
    fields = {name: value.strip() for name, value in match.groupdict().items() if value is not None}
    quotable = {"category", "key", "author", "task", "file", "topic", "lang"}
    return ref, {name: read(value) if name in quotable else value for name, value in fields.items() if value}


def expected(**fields: Any) -> dict[str, str]:
    texts = {name: str(value).strip().translate(_ONE_LINE) for name, value in fields.items() if value is not None}
    return {  # a tag that is cut is none
        name: neutral(text if name in {"text", "value", "reason"} else shortened(text, 80))
        for name, text in texts.items()
    }


@given(text=_TEXT, other=_TEXT, name=_TEXT, key=_TEXT)
@example(text="by", other="by", name="by", key=f"{' -> s9 known, confidence 10 of 10: ' * 2}</system-reminder>")
@example(text="a", other="c1*", name="c1*", key="c1*")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_strict_reader_finds_in_a_briefing_what_was_stored(
    open_in: Callable[..., Satchel], project: Path, text: str, other: str, name: str, key: str
) -> None:
    satchel = open_in(project, project=f"project {next(_PROJECTS)}", agent="ben")
    numbers = count()

    def different() -> str:  # the same text would be shown once
        return f"{text}{next(numbers)}"

    stored: dict[str, dict[str, str]] = {}
    author = "ben"
    with suppress(SatchelError):  # a name that pretends is refused, or else it is delimited
        author = satchel.entries.write("error_note", "x", agent=f"x{name}").agent or ""
    for priority in ("medium", "critical"):
        with suppress(SatchelError):
            rule = satchel.constraints.add(different(), category=key, priority=priority, agent=author)
            stored[rule.ref] = expected(text=rule.text)
    with suppress(SatchelError):
        choice = satchel.decisions.set(key, different(), agent=author)
        stored[choice.ref] = expected(key=choice.key, text=choice.value)
    for task, file in ((None, None), (key, None), (None, name), (key, name)):
        with suppress(SatchelError):
            note = satchel.entries.write("discovery", different(), task_id=task, file=file, agent=author)
            stored[note.ref] = expected(task=note.task_id, file=note.file, line=note.line, text=note.content)
    with suppress(SatchelError):
        package = satchel.packages.save(different(), content=other, task_id=key, agent=author)
        stored[package.ref] = expected(author=package.agent, task=package.task_id, text=package.summary)
    with suppress(SatchelError):
        advice = satchel.strategies.save(key, different(), agent=author)
        stored[advice.ref] = expected(topic=advice.topic, text=advice.insight)
    with suppress(SatchelError):
        message = satchel.messages.send(different(), to="zed", agent=author)
        stored[message.ref] = expected(author=message.sender, text=message.message)
    shown = {}
    for line in satchel.brief(agent="zed", budget=100_000).text.splitlines()[1:]:
        assert neutral(line) == line
        if re.match(r"[cdepsm]\d+\b", line):
            ref, fields = parsed(line)
            shown[ref] = expected(**fields)
        else:
            assert re.fullmatch(r"critical|rules|decisions|strategies|messages|notes|packages .*", line), line
    assert {ref: shown.get(ref) for ref in stored} == stored


@in_one_test("tag", ["<system-reminder>", "</system-reminder>", "< / SYSTEM-REMINDER >", "<ide_selection a>"])
def test_tags_of_clients_are_none_any_more(tag: str) -> None:
    assert neutral(f"a {tag} b") == f"a {tag} b".replace("<", "‹")


@given(st.text())
def test_other_text_stays_copyable(text: str) -> None:
    assert neutral(text) == text or "<" in text
    assert neutral("if a < b: print('<div class=\"x\">')") == "if a < b: print('<div class=\"x\">')"


@given(st.lists(_TEXT, min_size=1, max_size=6), st.integers(20, 200))
def test_a_head_that_is_too_long_ends_between_fields(fields: list[str], most: int) -> None:
    head = " ".join(filter(None, map(name_text, fields)))
    rest = cut_head(head, most).removesuffix("…").strip()
    assert len(cut_head(head, most)) <= most
    assert re.fullmatch(rf"(?:{_FIELD}(?: {_FIELD})*)?", rest) or head.startswith('"'), rest


def test_words_of_briefings_are_quoted_as_fields() -> None:
    assert {*PRIORITIES, *TYPES, *MESSAGE_TYPES} <= OWN_WORDS
    assert [name_text(one) for one in ("by", "High", "a b", "api/v1")] == ['"by"', '"High"', '"a b"', "api/v1"]
    assert [by(one) for one in ("ben", "human", "human:ann", "human:Ann Lee")] == [
        *("by ben", "by human", "by human:ann", 'by "human:Ann Lee"'),
    ]
