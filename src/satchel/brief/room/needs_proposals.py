"""Strategies proposed by finished runs and sessions, which a person accepts or rejects."""

from __future__ import annotations

from contextlib import suppress

from satchel.base.clock import DAY_MS
from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.base.text import shortened
from satchel.base.vocabulary import MAIN_RUN
from satchel.brief import extraction
from satchel.brief.extraction import StrategyProposal
from satchel.brief.room.conflicts import orphaned_and_uids
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.brief.room.marks import PROPOSAL_OF
from satchel.brief.room.records import Need
from satchel.find.kind import Kind, read_number
from satchel.keep import events, kept, strategies
from satchel.keep.entries import structured
from satchel.keep.entries.records import REVIEW_VERDICT
from satchel.keep.moving.marks import PROPOSAL
from satchel.keep.projects import Workplace

_DAYS = 7
# How many reviews are read, newest first.
_LOOKED_AT = 200

# For how many parts of runs proposals are computed.
_MOST = 20


def find(look: Look) -> list[Need]:
    """Return the proposals that were neither accepted, rejected nor saved otherwise."""
    rows = look.rows(
        f"""
        SELECT x.id, x.content, x.run_id, x.task_id, x.loop_id, a.name, x.created_at, x.session_id, r.run_id, r.status,
            EXISTS (SELECT 1 FROM seen s WHERE s.kind = {PROPOSAL} AND s.item_id = x.id)
        FROM (
            SELECT * FROM context WHERE project_id = :project AND type = {REVIEW_VERDICT}
                AND created_at > :after AND superseded_by IS NULL
            ORDER BY created_at DESC, id DESC LIMIT {_LOOKED_AT}
        ) x JOIN runs r ON r.id = x.run_id LEFT JOIN agents a ON a.id = x.agent_id
        ORDER BY x.created_at DESC, x.id DESC
        """,
        after=look.now - _DAYS * DAY_MS,
    )
    orphaned, uids = orphaned_and_uids(look, {row[7] for row in rows if row[7] is not None})
    live = uids.keys() - orphaned
    later: set[tuple[object, ...]] = set()
    needs: list[Need] = []
    read_count = 0
    for number, content, run_number, task, loop, agent, created, session, run, status, is_settled in rows:
        place = (run_number, task, None if task is not None else loop)
        is_last = place not in later
        later.add(place)
        is_over = session not in live if run == MAIN_RUN else status != 1
        if not is_last or is_settled or not is_over or read_count >= _MOST or not _has_passed(content):
            continue
        read_count += 1
        proposal = _of(look, number)
        if proposal is not None and not _is_saved(look, proposal.topic, created):
            text = shortened(f"{proposal.topic}: {proposal.insight}", LINE_CHARS)
            ref, key = f"{PROPOSAL_OF}{number}", f"proposal-{number}"
            actions = ("accept", "reject")
            needs.append(Need("proposal", "low", text, ref, None, agent, created, actions, run=run, key=key))
    return needs


def decide(look: Look, workplace: Workplace, ref: str, *, accepts: bool) -> strategies.Strategy | None:
    """Save a proposed strategy, or reject it for all persons; return the strategy, or None."""
    number = read_number(ref.removeprefix(PROPOSAL_OF), "", "a proposal")
    proposal = _of(look, number)
    if proposal is None:
        raise NotFound(f"{PROPOSAL_OF}{number} proposes nothing", "Give the ref of a need")
    values = {"kind": PROPOSAL, "item": number}
    if look.rows("SELECT 1 FROM seen WHERE kind = :kind AND item_id = :item", **values):
        raise Conflict(f"{PROPOSAL_OF}{number} was accepted or rejected before", "Reload the needs")
    look.transaction.run(
        "INSERT INTO seen (project_id, person_id, kind, item_id, seq, created_at) "
        "VALUES (:project, :me, :kind, :item, 0, :now)",
        {"project": look.project_id, "me": look.number, "now": look.now, **values},
    )
    saved = None
    if accepts:
        new = kept.check(
            strategies.STRATEGY,
            workplace,
            topic=proposal.topic,
            insight=proposal.insight,
            lang=proposal.lang,
            framework=proposal.framework,
        )
        saved = kept.insert(
            strategies.STRATEGY, look.transaction, workplace, look.project_id, new, look.now, look.number
        )
    events.record(
        look.transaction,
        look.project_id,
        events.ACCEPTANCE,
        look.now,
        agent=look.number,
        item=(Kind.ENTRY, number) if saved is None else (Kind.STRATEGY, saved.id),
        details={"proposal": "accepted" if accepts else "rejected"},
    )
    return saved


def _of(look: Look, verdict: int) -> StrategyProposal | None:
    with suppress(InvalidInput):  # a strategy that cannot be saved is not proposed
        return extraction.of_verdict(look.transaction, look.project_id, verdict)
    return None


def _is_saved(look: Look, topic: str, since: int) -> bool:
    return bool(
        look.rows(
            "SELECT 1 FROM strategies WHERE project_id = :project AND topic = :topic AND created_at >= :since LIMIT 1",
            topic=topic,
            since=since,
        )
    )


def _has_passed(content: str) -> bool:
    with suppress(InvalidInput):
        return structured.review_verdict(content).passed
    return False
