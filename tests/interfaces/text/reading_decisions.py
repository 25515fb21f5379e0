"""A parser of decisions as text, written from the format alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from interfaces.text.reading import (
    AGENT,
    DAY,
    LATER,
    LAYER,
    NAMES,
    TIME,
    VALUE,
    WHEN,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_names,
    read_value,
    read_when,
)
from satchel.base.paging import Page
from satchel.keep.decisions.records import STATUSES, Decision, DecisionHistory, DecisionState, Value

VERSION = r'v(?:[0-9][^\s"]*|"(?:[^"\\]|\\.)*")'
FORMAT = Format(
    noun="decision",
    more=r"(?: \(#tags\))?",
    start=rf"d(?P<id>[0-9]+) (?P<key>{VALUE})=(?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s\"=]+)",
    cells={"layer": LAYER, "agent": AGENT, "version": VERSION, "status": "|".join(STATUSES)},
    own=rf"(?: revision (?P<revision>[0-9]+))?(?: #(?P<tags>{NAMES}))?(?: scopes:(?P<scopes>{NAMES}))?",
    after=rf"(?: made (?P<made>{LATER}))?",
)
FIELDS = (
    rf"(?:: (?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s\"]+))?(?: (?P<layer>{LAYER}))?(?: (?P<agent>{AGENT}))?"
    rf"(?: (?P<version>{VERSION}))?(?: (?P<status>{'|'.join(STATUSES)}))?(?P<cleared> without a reason)?"
    rf"(?: #(?P<tags>{NAMES}))?(?: scopes:(?P<scopes>{NAMES}))? (?P<when>(?:{DAY} )?{TIME})"
)
CURRENT_LINE = re.compile(
    rf"d(?P<id>[0-9]+) (?P<key>{VALUE}) revision (?P<revision>[0-9]+){FIELDS}(?: made (?P<made>{WHEN}))?"
)
STATE_LINE = re.compile(rf"revision (?P<revision>[0-9]+){FIELDS}(?: until (?P<until>{WHEN}))?")
HISTORY_HEAD = re.compile(
    r"decision with (?P<count>[0-9]+)(?: of (?P<total>[0-9]+))? earlier states?"
    r"(?P<some>, newest first, each says what differs from the one above)?, UTC times of (?P<year>[0-9]{4})"
    r"(?:, from offset (?P<offset>[0-9]+))?(?:, next: offset=(?P<next>[0-9]+))?"
)


def _rationale(below: Sequence[str]) -> str:
    return read_content(below).removeprefix("because: ")


def read_decision_value(text: str) -> Value:
    """Read the value of a decision."""
    if text.startswith('"') or re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", text):
        value: Value = json.loads(text)
        return value
    return text


def read_decision(item: Item, year: str) -> Decision:
    """Read a decision from an item of a list."""
    return Decision(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        key=item.said("key"),
        value=read_decision_value(item.fields["value"]),
        status=item.fields.get("status", "active"),
        version=item.value("version", "v") or "1.0.0",
        revision=int(item.fields.get("revision", 1)),
        layer=item.value("layer", "layer:"),
        tags=item.names("tags"),
        scopes=item.names("scopes"),
        agent=item.value("agent", "by "),
        rationale=_rationale(item.below) if item.below else None,
        created_at=read_when(item.fields["made"], year, item.moment) if "made" in item.fields else item.moment,
        updated_at=item.moment,
    )


def read_decisions(text: str) -> tuple[List, tuple[Decision, ...]]:
    """Read a list of decisions, in the order it says."""
    page = read_list(text, FORMAT)
    decisions = [read_decision(item, page.year) for item in page.items]
    if page.order in {"newest", "oldest"}:
        decisions.sort(key=lambda decision: (decision.created_at, decision.id), reverse=page.order == "newest")
    return page, tuple(decisions)


def read_history(text: str) -> DecisionHistory:
    """Read a decision and its earlier states."""
    first, *lines = text.split("\n")
    head = HISTORY_HEAD.fullmatch(first)
    assert head is not None, first
    year = head["year"]
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            blocks[-1][1].append(line[1:])
        else:
            blocks.append((line, []))
    line, below = blocks.pop(0)
    found = CURRENT_LINE.fullmatch(line)
    assert found is not None, line
    now = read_state(found, below, None, year, "")
    decision = Decision(
        id=int(found["id"]),
        uid="",
        seq=0,
        key=read_value(found["key"]) or "",
        value=now.value,
        status=now.status,
        version=now.version,
        revision=now.revision,
        layer=now.layer,
        tags=now.tags,
        scopes=now.scopes,
        agent=now.agent,
        rationale=now.rationale,
        created_at=read_when(found["made"], year) if found["made"] else now.set_at,
        updated_at=now.set_at,
    )
    above = None if head["offset"] else now
    states: list[DecisionState] = []
    day = ""
    for line, below in blocks:
        found = STATE_LINE.fullmatch(line)
        assert found is not None, line
        day = found["when"].split()[0] if " " in found["when"] else day
        above = read_state(found, below, above, year, day)
        states.append(above)
    assert len(states) == int(head["count"])
    page = Page(tuple(states), int(head["total"] or head["count"]), int(head["offset"] or 0), 20)
    assert page.next_offset == (int(head["next"]) if head["next"] else None)
    return DecisionHistory(decision, page)


def read_state(
    found: re.Match[str], below: Sequence[str], above: DecisionState | None, year: str, day: str
) -> DecisionState:
    """Read a state from what it says and, for what it leaves out, from the one above it.

    Args:
        day: of its time where that says none.
    """
    said = {name: value for name, value in found.groupdict().items() if value is not None}

    def value(name: str, mark: str, usual: str | None) -> str | None:
        return read_value(said[name].removeprefix(mark)) if name in said else usual

    def names(name: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        return read_names(said[name]) if name in said else usual

    rationale = above.rationale if above and "cleared" not in said else None
    until = read_when(said["until"], year) if "until" in said else above.set_at if above else 0
    if "value" in said:
        decided = read_decision_value(said["value"])
    else:
        assert above is not None
        decided = above.value
    return DecisionState(
        revision=int(said["revision"]),
        value=decided,
        status=value("status", "", above.status if above else "active") or "",
        version=value("version", "v", above.version if above else "1.0.0") or "",
        layer=value("layer", "layer:", above.layer if above else None),
        tags=names("tags", above.tags if above else ()),
        scopes=names("scopes", above.scopes if above else ()),
        agent=value("agent", "by ", above.agent if above else None),
        rationale=_rationale(below) if below else rationale,
        set_at=read_when(said["when"] if " " in said["when"] else f"{day} {said['when']}", year),
        replaced_at=until,
    )
