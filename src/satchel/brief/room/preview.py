"""The briefing that an agent would get now, with why each item is in it and why others are not; nothing is recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from satchel.base.config_keys import Config
from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple, replace
from satchel.brief import moments
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.briefing.service import Briefings, Prepared
from satchel.brief.briefing.whys import why_shown
from satchel.brief.room.memory_records import Missing, Preview, Previewed
from satchel.brief.working.service import Working
from satchel.keep import projects
from satchel.keep.kinds import KIND_OF, KINDS
from satchel.keep.names import find_agent
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.actors import reading, subagent_name
from satchel.keep.sessions.caller import LIBRARY, Caller
from satchel.keep.sessions.clients import VARIABLE
from satchel.store.transaction import Transaction

MOMENTS = ("briefing", "clear", "resume", "compaction", "subagent", "prompt")
"""For what a briefing may be previewed: get_briefing, or what hooks put in; at the start of a session that is as after
clearing, in a session that there is not yet."""

_MOST_REFS = 20

_WHY = {
    "delivered": "delivered in this window, and unchanged since",
    "said": "another item says it, or says how the work stands since",
    "zone": "the window is too full for its priority",
    "packages": "a briefing shows no more packages",
    "room": "no room for it within the budget or its section's share",
    "rank": "ranked below what filled the budget",
}
_NO_FILES = (
    "no files are read here: for an agent that has them, notes whose file has changed are marked, and rank lower"
)
_HOOK = "a hook calls the agent by its session's name, and takes neither role, task, query nor budget"


class At(NamedTuple):
    """Where an agent would get a briefing.

    Attributes:
        workplace: the caller's, in the session of the agent.
        session: its uid, in hexadecimal; None where none is at work, and ``seen_at`` when it was seen last.
        speaker: the name of those who name nobody in it.
    """

    workplace: Workplace
    session: str | None = None
    window: int | None = None
    seen_at: int | None = None
    speaker: str | None = None


def make(
    workplace: Workplace,
    config: Config,
    agent: str | None,
    moment: str,
    *,
    role: str | None,
    task_id: str | None,
    query: str | None,
    budget: int | None,
) -> Preview:
    """Make the briefing that an agent would get now.

    Args:
        agent: whose; None is one without a name.
        moment: one of :data:`MOMENTS`.
        role, task_id, query, budget: as for a briefing; of what hooks put in, a prompt takes the query alone, the
            others nothing.

    Raises:
        InvalidInput: an argument is not acceptable.
    """
    if moment not in MOMENTS:
        raise InvalidInput(f"there is no moment {moment[:80]!r}", f"Give one of {', '.join(MOMENTS)}")
    with workplace.engine.read() as transaction:
        at = _place_of(transaction, workplace, agent)
    notes = (_NO_FILES,) if workplace.files_root is None else ()
    if moment == "prompt":
        return _at_prompt(at, config, agent, query, (*notes, _HOOK))
    deadline = Deadline(config.brief_deadline_ms)
    if moment == "briefing":
        briefings = Briefings(at.workplace, config)
        request = briefings.request(role, task_id=task_id, query=query, budget=budget, agent=agent)
        prepared = briefings.prepare(request, deadline, explains=True)
        briefing = prepared.briefing
        return _preview(at, moment, agent, prepared, briefing.text, briefing.tokens, request.budget, notes)
    asked = {one.name: one for one in (moments.CLEAR, moments.RESUME, moments.COMPACTION, moments.SUBAGENT)}[moment]
    speaker = at.speaker or agent
    if asked is moments.SUBAGENT and speaker is not None:
        speaker = subagent_name(speaker, "")
    since = at.seen_at if asked is moments.RESUME else None
    put_in = moments.Moments(at.workplace, config).preview(asked, deadline, speaker, since)
    if put_in.prepared is None:
        return _nothing(at, moment, agent, put_in.budget, (*notes, put_in.why))
    tokens = math.ceil(put_in.tokens * config.brief_token_factor)
    more = (_HOOK, put_in.why) if put_in.why else (_HOOK,)
    return _preview(at, moment, agent, put_in.prepared, put_in.text, tokens, put_in.budget, (*notes, *more))


def _place_of(transaction: Transaction, workplace: Workplace, agent: str | None) -> At:
    """Return where an agent works: in the session at work in which it was seen last, else in none."""
    nowhere = replace(workplace, caller=None, agent=None)
    project = projects.find(transaction, workplace)
    if agent is None:
        return At(nowhere)
    number = find_agent(transaction, project.id, agent)
    found = joining.load(
        transaction,
        """
        s.project_id = :project AND s.ended_at IS NULL AND (s.agent_id = :agent OR s.unnamed_id = :agent OR s.id = (
            SELECT w.session_id FROM windows w WHERE w.project_id = :project AND w.agent_id = :agent
                AND w.session_id <> 0 ORDER BY w.seen_at DESC, w.id DESC LIMIT 1
        ))
        """,
        {"project": project.id, "agent": number},
    )
    at_work = next((one for one in found if not joining.is_gone(one, workplace.clock())), None)
    if at_work is None:
        return At(nowhere)
    uid = at_work.state.uid.hex()
    there = replace(nowhere, caller=Caller(LIBRARY, {VARIABLE: uid}), worktree=at_work.worktree or None)
    name = reading(transaction, there, project.id, None).name
    return At(there, uid, at_work.state.window, at_work.state.seen_at, name)


def _preview(
    at: At,
    moment: str,
    agent: str | None,
    prepared: Prepared,
    text: str,
    tokens: int,
    budget: int,
    notes: tuple[str, ...],
) -> Preview:
    now = at.workplace.clock()
    items = tuple(
        Previewed(
            shown.candidate.ref,
            shown.candidate.kind.name.lower(),
            shown.line,
            shown.cost,
            shown.is_shortened,
            why_shown(shown, now),
        )
        for shown in prepared.shown
    )
    return Preview(
        agent=agent,
        session=at.session,
        window=at.window,
        moment=moment,
        text=text,
        tokens=tokens,
        budget=budget,
        counter=prepared.briefing.counter,
        items=items,
        missing=_missing(prepared),
        notes=tuple(dict.fromkeys((*notes, *prepared.briefing.notes))),
        asked_at=now,
    )


def _missing(prepared: Prepared) -> tuple[Missing, ...]:
    """Return what was looked at and is not shown, by reason; what was only counted ranks below that."""
    refs: dict[str, list[str]] = {reason: [] for reason in _WHY}
    for candidate, reason in prepared.passed:
        refs["delivered" if candidate.is_repeated else reason].append(candidate.ref)
    totals = {reason: len(some) for reason, some in refs.items()}
    totals["delivered"] += sum(one.repeated for one in prepared.collected.gathered)
    totals["delivered"] -= sum(shown.candidate.is_repeated for shown in prepared.shown) + len(refs["delivered"])
    looked_at = {candidate.key for candidate, _ in prepared.passed if not candidate.is_repeated}
    counted = sum(one.count for one in prepared.briefing.left_out)
    totals["rank"] += max(0, counted - len(looked_at))
    return tuple(
        Missing(reason, why, totals[reason], tuple(refs[reason][:_MOST_REFS]))
        for reason, why in _WHY.items()
        if totals[reason] > 0
    )


def _at_prompt(at: At, config: Config, agent: str | None, query: str | None, notes: tuple[str, ...]) -> Preview:
    """Return what a hook would put in at a prompt."""
    if query is None:
        raise InvalidInput("a prompt is what a hook looks for", "Give it as the query")
    over = Deadline(config.brief_deadline_ms)
    looked = Working(at.workplace, config).look(query, over.has_passed, in_session=at.session is not None)
    met = {(one.kind.number, one.item): one for one in looked.met}
    items = []
    for line, (kind, number, _) in zip(looked.text.split("\n")[1:], looked.shown, strict=True):
        one = met[kind, number]
        why = f"the prompt is about it: {one.strength:.1f} times what chance would bring, by {', '.join(one.words[:8])}"
        items.append(Previewed(one.ref, KINDS[KIND_OF[kind]].name, line, 0, line.endswith("…"), (why,)))
    there = {one.ref for one in items}
    left = [one.ref for one in looked.met if one.ref not in there]
    why_left = "delivered in this window, less well met than what is shown, or too long"
    missing = (Missing("rank", why_left, len(left), tuple(left[:_MOST_REFS])),) if left else ()
    found = _nothing(at, "prompt", agent, config.hooks_prompt, (*notes, looked.why) if looked.why else notes)
    return replace(found, text=looked.text, tokens=looked.tokens, items=tuple(items), missing=missing)


def _nothing(at: At, moment: str, agent: str | None, budget: int, notes: Sequence[str]) -> Preview:
    return Preview(
        agent, at.session, at.window, moment, "", 0, budget, "estimate", (), (), tuple(notes), at.workplace.clock()
    )
