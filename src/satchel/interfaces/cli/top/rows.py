"""What the four sections show, in rows, each with what may be done about it. Stored text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.text import Text

from satchel.base.clock import DAY_MS, span_in_words
from satchel.base.invisible import revealed
from satchel.base.records import NamedTuple
from satchel.brief.room.records import Changed, Collision, Need, SessionDay, Span, Touch
from satchel.interfaces.cli.tables import COLOURS, local_time
from satchel.interfaces.cli.top.room import Looked
from satchel.keep.sessions.team import MAIN_WORKTREE, TeamSession

TITLES = ("Needs me", "Since I looked", "Who is where", "Collisions")

_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000
_REF = re.compile(r"[a-z][0-9]{1,18}")
_MARKS = {"critical": "!! ", "high": "!  "}
"""What says without colour how urgent something is."""


class Claim(NamedTuple):
    """A claim that can be released."""

    session: str
    path: str
    expires_at: int
    agent: str | None


class Row(NamedTuple):
    """One thing that is shown in one line.

    Attributes:
        key: what it is, also after it was read anew.
        text: one line, of any length; ``age`` stands at its right.
        whole: all of it, where ``ref`` names no item that has more.
        ref: the short id of the item that it is about.
        message: the short id of the message to the person that it is.
        agent: who may be told something about it.
        seen: what marks it as seen.
    """

    key: str
    text: Text
    age: str
    whole: str
    ref: str | None = None
    message: str | None = None
    agent: str | None = None
    claim: Claim | None = None
    seen: str | None = None


class Section(NamedTuple):
    """One section.

    Attributes:
        total: how many things it is about.
        rows: those that were read of them.
        more: how many were not.
        empty: what is said where there is nothing.
    """

    title: str
    total: int
    rows: tuple[Row, ...]
    more: int
    empty: str


class Ages:
    """Says how long ago things were, and notes when that will have to be said anew.

    Args:
        now: milliseconds UTC.

    Attributes:
        until: up to when everything that was said is right, in milliseconds UTC.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        self.until = now + _HOUR_MS

    def ago(self, at: int | None) -> str:
        """Return how long ago something was; nothing where that is not known."""
        if at is None:
            return ""
        passed = max(0, self.now - at)
        self.until = min(self.until, at + passed // _step(passed) * _step(passed) + _step(passed))
        return _short(passed)

    def left(self, until: int) -> str:
        """Return how long something holds still."""
        left = max(0, until - self.now)
        if left:
            self.until = min(self.until, until - left // _step(left) * _step(left) + 1)
        return f"{_short(left)} left"


def _step(span: int) -> int:
    """Return after what time the words for a span are others."""
    if span < 2 * _HOUR_MS:
        return _MINUTE_MS
    return _HOUR_MS if span < 2 * DAY_MS else DAY_MS


def _short(span: int) -> str:
    return span_in_words(span).replace("less than 1 min", "<1 min")


def line_of(text: str) -> str:
    """Return a stored text in one line, in which nothing is hidden and nothing commands the terminal."""
    return revealed(" ".join(text.split()))


def sections_of(looked: Looked, ages: Ages) -> tuple[Section, ...]:
    """Return the sections as they are to be shown.

    Args:
        looked: what was read.
        ages: says how long ago things were.
    """
    needs, since, team, collisions = looked.needs, looked.since, looked.where.team, looked.collisions
    quiet = "" if needs.quiet_since_at is None else f" since {local_time(needs.quiet_since_at)}"
    seen = "" if since.looked_at is None else f" since {local_time(since.looked_at)}"
    total = sum(count for _, count in since.totals)
    days = {day.uid: day for day in looked.where.timeline}
    rows = (
        tuple(_need(one, ages) for one in needs.items),
        tuple(_changed(one, ages) for one in since.items),
        tuple(row for one in team.sessions for row in _session(one, days.get(one.uid), looked.where.began_at, ages)),
        tuple(row for one in collisions.items for row in _collision(one, ages)),
    )
    counts = (needs.total, total, team.total, collisions.total)
    read = (len(needs.items), len(since.items), len(team.sessions), len(collisions.items))
    earlier = f"; {team.earlier} were earlier" if team.earlier else ""
    empty = (
        f"Nothing needs you{quiet}.",
        f"Nothing has changed{seen}.",
        f"Nobody is at work here{earlier}.",
        "No two work at the same.",
    )
    return tuple(
        Section(title, count, found, max(0, count - many), said)
        for title, count, found, many, said in zip(TITLES, counts, rows, read, empty, strict=True)
    )


def _need(one: Need, ages: Ages) -> Row:
    is_message = one.kind == "message"
    text = Text().append(_MARKS.get(one.severity, "   "), style=COLOURS.get(one.severity))
    text.append(one.kind, style=COLOURS.get(one.severity) or "bold")
    ref = _ref(one.ref)
    text.append(f" {ref}" if ref else "", style="dim")
    text.append(f" {line_of(one.agent)}:" if one.agent else ":").append(f" {line_of(one.text)}")
    claim = None
    if "release" in one.actions and one.holder_session and one.held_path and one.held_until is not None:
        claim = Claim(one.holder_session, one.held_path, one.held_until, one.holder)
    whole = "\n".join(filter(None, (one.kind, one.agent, one.text, one.place and f"about {one.place}", one.remedy)))
    return Row(
        one.key,
        text,
        ages.ago(one.began_at),
        whole,
        ref,
        one.ref if is_message else None,
        None if is_message or "answer" not in one.actions else one.agent,
        claim,
        one.ref if "see" in one.actions else None,
    )


def _changed(one: Changed, ages: Ages) -> Row:
    ref = _ref(one.item or one.ref)
    text = Text().append(f"{one.kind} {one.action}", style="bold")
    text.append(f" {ref}" if ref else "", style="dim")
    text.append(f" {line_of(one.agent)}:" if one.agent else ":").append(f" {line_of(one.text)}")
    text.append("" if one.before is None else f", was {line_of(one.before)}", style="dim")
    counts = ", ".join(f"{count} {name}" for name, count in one.counts)
    whole = "\n".join(filter(None, (f"{one.kind} {one.action}", one.agent, one.text, *one.files, counts)))
    return Row(one.ref, text, ages.ago(one.changed_at), whole, ref, seen=one.ref, agent=one.agent)


def _session(one: TeamSession, day: SessionDay | None, began_at: int, ages: Ages) -> Iterator[Row]:
    name = ", ".join(map(line_of, one.agents)) or "nobody named yet"
    text = Text().append(name, style="dim" if one.gone else "bold")
    text.append(f" {line_of(one.client)}" if one.client else "", style="dim")
    text.append("".join(f", {part}" for part in _at_work(one)))
    agent = one.agents[0] if one.agents else None
    whole = "\n".join(_whole_session(one, day, began_at))
    state = f"gone {ages.ago(one.ended_at or one.seen_at)}" if one.gone else ages.ago(one.seen_at)
    yield Row(one.uid, text, state, whole, agent=agent)
    for claim in one.claims:
        held = Text("    holds ").append(line_of(claim.path), style="cyan")
        held.append("" if claim.exclusive else ", shared").append(", by a hook" if claim.automatic else "")
        held.append(f", {line_of(claim.reason)}" if claim.reason else "", style="dim")
        yield Row(
            f"{one.uid} {claim.path}",
            held,
            ages.left(claim.expires_at),
            "\n".join(filter(None, (f"{name} holds {claim.path}", claim.reason))),
            agent=agent,
            claim=Claim(one.uid, claim.path, claim.expires_at, agent),
        )
    if one.claims_total > len(one.claims):
        more = f"    {one.claims_total - len(one.claims)} more claims"
        yield Row(f"{one.uid} more", Text(more, style="dim"), "", f"{name} holds {more.strip()}", agent=agent)


def _at_work(one: TeamSession) -> Iterator[str]:
    pad = one.scratchpad
    if one.task_id:
        yield f"task {line_of(one.task_id)}"
    if one.worktree or one.branch:
        yield line_of(one.worktree or "") + (f" on {line_of(one.branch)}" if one.branch else "")
    if pad is not None and pad.blockers:
        yield f"blocked: {line_of('; '.join(pad.blockers))}"
    if pad is not None and pad.next_step and not pad.done:
        yield f"next: {line_of(pad.next_step)}"
    elif one.doing:
        yield line_of(one.doing)


def _whole_session(one: TeamSession, day: SessionDay | None, began_at: int) -> Iterator[str]:
    yield f"{', '.join(one.agents) or 'nobody named yet'}, session {one.uid}"
    facts = {
        "client": f"{one.client or 'unknown'} {one.version or ''}",
        "worktree": one.worktree or MAIN_WORKTREE,
        "branch": f"{one.branch or 'none'} {'at ' + one.commit if one.commit else ''}",
        "run": one.run_id,
        "task": one.task_id,
        "doing": one.doing,
        "seen": f"{local_time(one.seen_at)}{', gone' if one.gone else ''}",
    }
    yield from (f"{name}: {fact.rstrip()}" for name, fact in facts.items() if fact)
    pad = one.scratchpad
    if pad is not None:
        yield f"last note: {pad.ref}, {local_time(pad.created_at)}{', done' if pad.done else ''}"
        yield from (f"blocked: {blocker}" for blocker in pad.blockers)
        yield from (f"next: {step}" for step in (pad.next_step,) if step)
    yield f"claims: {one.claims_total}"
    if day is not None:
        hours = ("#" if any(_overlaps(span, began_at, hour) for span in day.spans) else "." for hour in range(24))
        yield f"at work in the last 24 hours, now at the right: {''.join(hours)}"


def _overlaps(span: Span, began_at: int, hour: int) -> bool:
    first = began_at + hour * _HOUR_MS
    return span.began_at < first + _HOUR_MS and span.ended_at > first


def _collision(one: Collision, ages: Ages) -> Iterator[Row]:
    key = f"{one.path} {one.first.session} {one.first.agent} {one.second.session} {one.second.agent}"
    text = Text().append(line_of(one.path), style=COLOURS["high"] if one.same_tree else "bold")
    text.append(" in one worktree" if one.same_tree else " in two worktrees")
    touches = one.first, one.second
    whole = "\n".join([one.path, *(_said(touch) + f" in {touch.worktree or MAIN_WORKTREE}" for touch in touches)])
    yield Row(key, text, "", whole)
    for number, touch in enumerate(touches):
        is_held = touch.expires_at is not None and touch.session is not None
        said = Text(f"    {line_of(_said(touch))}")
        said.append(f" in {line_of(touch.worktree)}" if touch.worktree else "", style="dim")
        yield Row(
            f"{key} {number}",
            said,
            ages.ago(touch.began_at) if touch.expires_at is None else ages.left(touch.expires_at),
            whole,
            agent=touch.agent,
            claim=Claim(touch.session or "", touch.path, touch.expires_at or 0, touch.agent) if is_held else None,
        )


def _said(touch: Touch) -> str:
    return f"{touch.agent or 'somebody unnamed'} {'edited it' if touch.kind == 'edit' else f'claims {touch.path}'}"


def _ref(text: str | None) -> str | None:
    return text if text is not None and _REF.fullmatch(text) else None


def place_of(rows: Sequence[Row], key: str | None, before: int) -> int:
    """Return where the row of a key stands; where it is gone, the place that it had, or the last.

    Args:
        before: where it stood.
    """
    found = next((place for place, row in enumerate(rows) if row.key == key), None)
    return max(0, min(before, len(rows) - 1)) if found is None else found
