"""What the overview shows of a status: needs as rows, and the sentence at its head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from satchel.base.records import NamedTuple
from satchel.brief.room.records import FileConflict, Need, Needs, Where
from satchel.interfaces.web.rendering import name_for
from satchel.keep.names import shown_name
from satchel.keep.sessions.team import STATES, TeamSession

# The class and word of each kind of need, in their order on the page.
_CHIPS = {
    "stuck": ("stuck", "Stuck"),
    "message": ("question", "Question"),
    "blocked": ("waiting", "Waiting"),
    "waiting": ("waiting", "Waiting"),
    "refusal": ("conflict", "Refused"),
    "overtaken": ("changed", "Changed"),
    "verdict": ("failed", "Review failed"),
    "hook": ("failed", "Hook failed"),
    "error": ("failed", "No fix"),
    "shared": ("plain", "Proposal"),
    "draft": ("plain", "Draft"),
    "rule": ("plain", "Rule"),
    "rules": ("plain", "New rules"),
}

# the needs that are folded unless they propose to change a decision
_NAMES = {
    "shared": ("shared text", "shared texts"),
    "draft": ("draft decision", "draft decisions"),
    "rule": ("rule to accept", "rules to accept"),
    "error": ("error without a fix", "errors without a fix"),
}
_STATE_CLASSES = {"working": "", "stuck": "t-bad", "waiting": "t-wait", "idle": "t-idle", "silent": "t-idle"}
_MOST_SHOWN = 12

# The names of one and of several changes of a kind.
CHANGE_NAMES = {
    "decision": ("Decision", "Decisions"),
    "rule": ("Rule", "Rules"),
    "fix": ("Error", "Errors"),
    "files": ("Files", "Files"),
    "correction": ("Correction", "Corrections"),
    "action": ("Action", "Actions"),
}


class NeedRow(NamedTuple):
    """A need as a row of the page.

    Attributes:
        css, word: of its chip.
        title: a sentence.
        facts: the texts of its grey line, beside the agent and the age.
        more: needs of the same agent or task that it stands for.
    """

    need: Need
    css: str
    word: str
    title: str
    facts: tuple[str, ...]
    more: tuple[Need, ...] = ()


class Part(NamedTuple):
    """A part of the sentence at the head of a page, with the anchor that it links to."""

    text: str
    css: str
    link: str


def need_rows(needs: Needs) -> tuple[list[NeedRow], list[NeedRow], str]:
    """Return the urgent needs, the others, and the sentence that names those."""
    rows = [_row(first, tuple(more), needs.person) for first, *more in _grouped(needs)]
    folded = [one for one in rows if one.need.kind in _NAMES and one.need.proposed is None]
    urgent = [one for one in rows if one not in folded]
    urgent, rest = urgent[:_MOST_SHOWN], urgent[_MOST_SHOWN:] + folded
    counts = Counter(one.need.kind for one in rest)
    names = [f"{count} {_NAMES.get(kind, (kind, kind))[count > 1]}" for kind, count in counts.items()]
    return urgent, rest, ", ".join(names)


def count_needs(needs: Needs) -> int:
    """Return the number of rows that needs have on the overview, with those that are not read yet."""
    return len(_grouped(needs)) + needs.total - len(needs.items)


def _grouped(needs: Needs) -> list[list[Need]]:
    order = list(_CHIPS)
    items = sorted(needs.items, key=lambda one: (order.index(one.kind), one.began_at or needs.asked_at))
    groups: dict[tuple[str, ...], list[Need]] = {}
    for one in items:
        groups.setdefault(_group(one, items), []).append(one)
    return [*groups.values()]


def _group(need: Need, items: Sequence[Need]) -> tuple[str, ...]:
    # what merges needs: an agent that cannot go on, with the failed review of its task
    if need.kind in ("stuck", "blocked") and need.agent:
        return ("agent", need.agent, _task(need))
    if need.kind == "verdict" and _task(need):
        for one in items:
            if one.kind in ("stuck", "blocked") and one.agent and _task(one) == _task(need):
                return ("agent", one.agent, _task(one))
    return (need.key or need.ref or need.text,)


def _task(need: Need) -> str:
    task, colon, _ = need.text.partition(": ")
    return task if colon else ""


def _row(need: Need, more: tuple[Need, ...], person: str) -> NeedRow:
    css, word = _CHIPS[need.kind]
    agent, title, facts = shown_name(need.agent or "someone"), need.text, [need.remedy or ""]
    task = _task(need)
    rest = need.text.removeprefix(f"{task}: ")
    if need.kind == "stuck":
        title = f"{agent} is stuck on {task or rest}"
        facts = [f"last attempt: {rest}" if task else ""]
    elif need.kind == "blocked":
        title, facts = f"{agent} cannot go on: {rest}", [task]
    elif need.kind in ("waiting", "refusal") and need.place:
        title, facts = f"{agent} wants {need.place}", [f"held by {name_for(person, need.holder or 'someone')}"]
    elif need.kind == "message" and need.severity not in ("high", "critical") and not need.text.rstrip().endswith("?"):
        css, word = "plain", "Message"
    facts += [f"review failed: {one.text.removeprefix(f'{_task(one)}: ')}" for one in more if one.kind == "verdict"]
    return NeedRow(need, css, word, title, tuple(filter(None, facts)), more)


def in_order(sessions: Iterable[TeamSession]) -> list[TeamSession]:
    """Return sessions in the order of their states, those that have ended last."""
    return sorted(sessions, key=lambda one: (one.state.name == "ended", STATES.index(one.state.name), -one.seen_at))


def last_steps(where: Where) -> dict[str, str | None]:
    """Return what each session did last, by uid."""
    return {one.uid: one.last_step for one in where.timeline}


def agent_parts(sessions: Iterable[TeamSession]) -> list[Part]:
    """Return the parts about agents by state, but for those that have ended; the first says what is counted."""
    states = Counter(one.state.name for one in sessions)
    order = [one for one in ("working", *STATES[:-1]) if states[one] and one != "ended"]
    words = {one: f"agent{'s' * (states[one] > 1)} {one}" if one == order[0] else one for one in order}
    return [Part(f"{states[one]} {words[one]}", _STATE_CLASSES[one], "#agents") for one in order]


def need_parts(rows: Iterable[NeedRow], count: int, blocks: Sequence[FileConflict]) -> list[Part]:
    """Return the parts about the ``count`` needs of the person, questions first; a count of zero has none."""
    questions = sum(one.word == "Question" for one in rows)
    more = "more " if questions else ""
    wanted, meeting = sum(one.same_tree for one in blocks), sum(not one.same_tree for one in blocks)
    parts = [
        Part(_counted(questions, "question for you", "questions for you"), "t-wait", "#needs"),
        Part(_counted(count - questions, f"{more}needs you", f"{more}need you"), "t-wait", "#needs"),
        Part(_counted(wanted, "file wanted by two", "files wanted by two"), "t-bad", "#conflicts"),
        Part(_counted(meeting, "file on two branches", "files on two branches"), "t-wait", "#conflicts"),
    ]
    return [one for one in parts if one.text]


def changes_in_words(totals: Iterable[tuple[str, int]]) -> str:
    """Return the numbers of changes by kind."""
    names = {kind: [name.lower() for name in both] for kind, both in CHANGE_NAMES.items()}
    names["files"] = ["agent's edits", "agents' edits"]
    return ", ".join(f"{count} {names[kind][count != 1]}" for kind, count in totals if count)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}" if count else ""
