"""Notices at the end of answers: others' claims, unread messages, and files that have become free."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, span_in_words, year_of
from satchel.base.errors import SatchelError
from satchel.base.text import fold, quoted_line
from satchel.brief.fields import answer_mark, by, joined, name_text, quoted
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.names import check_agent, is_persons, shown_name
from satchel.keep.presence import CLAIM, MESSAGE, REFUSAL
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import UNKNOWN, reading
from satchel.keep.sessions.records import Actor
from satchel.store.engine import Engine
from satchel.store.transaction import Row, Transaction, answer, grouped, set_of

if TYPE_CHECKING:
    from satchel.brief.news import News
    from satchel.keep.binding import Binding
    from satchel.keep.files.records import Claim
    from satchel.keep.files.refusals import Refusal
    from satchel.keep.messages.visibility import Unseen

_MAX_CLAIMS = 20
_MAX_SENDERS = 3
_MAX_MESSAGES = 100
# Up to this many short messages are shown in full.
_MAX_SHOWN, _SHOWN_CHARS = 3, 600
_MAX_NOTES, _MAX_NOTED, _NOTE_CHARS = 3, 20, 600
_MAX_BOUND, _BOUND_CHARS = 10, 1_000

_WAIT_MS = 250

# one statement, since mostly there is nothing, and each query is a round trip
_ANYTHING = (
    f"SELECT EXISTS ({CLAIM}), EXISTS ({REFUSAL}), EXISTS ({MESSAGE}), "
    "EXISTS (SELECT 1 FROM windows WHERE project_id = :project) "
    "OR EXISTS (SELECT 1 FROM sessions WHERE project_id = :project), p.id FROM projects p WHERE"
).replace(":project", "p.id")


class Notices(Service):
    """The notice line at the end of an answer."""

    def line(
        self,
        *,
        agent: str | None = None,
        files: Sequence[str] = (),
        shown_by: str | None = "",
        taken: Sequence[str] = (),
        listed: Sequence[str] = (),
        is_preview: bool = False,
    ) -> str | None:
        """Return the notice for the receiver of an answer, or None.

        Args:
            agent: who gets the answer; None takes the default, which may be nobody.
            files: canonical paths that the answer names.
            shown_by: the call that shows messages to the receiver; None if the answer itself does.
            taken: canonical paths that the receiver is about to edit.
            listed: short ids of the items that the answer lists, whose news it need not repeat.
            is_preview: leaves what comes only once to the next call.

        Returns:
            A line for each: others' claims on the files, notes on the files about to be edited, unread messages, and
                each once refused files that are free now, held files that others were refused, and
                :mod:`satchel.brief.news`.

        Raises:
            InvalidInput: invalid agent name.
        """
        work = self._workplace
        if work.notify_command is not None:
            from satchel.brief.room.notifying import notify_quietly  # imported here: few have a command

            notify_quietly(work)
        agent = check_agent(work, agent)
        paths = tuple(dict.fromkeys((*files, *taken)))
        free: list[Refusal] = []
        wanted: list[Refusal] = []
        if agent is None and work.caller is None and not paths:
            return None
        with work.engine.read() as transaction:
            now = work.clock()
            row = _anything(transaction, work, now)
            if row is None:
                return None
            is_claimed, is_refused, is_written, is_at_work, project_id = row
            may_be_news = (is_claimed or is_at_work) and not work.engine.read_only
            is_claimed = is_claimed and bool(paths)
            is_refused = is_refused and not work.engine.read_only
            is_written = is_written and shown_by is not None
            if not (is_claimed or is_refused or is_written or may_be_news or taken):
                return None
            actor = reading(transaction, work, project_id, agent)
            fresh: list[News] = []
            if may_be_news and actor.number not in {None, UNKNOWN}:
                from satchel.brief import news

                fresh = news.find(transaction, work, project_id, actor, now)
            if is_refused:
                from satchel.keep.files import refusals
                from satchel.keep.files.claims import Claimant

                by = Claimant(transaction, project_id, actor, now)
                free, wanted = refusals.available(by), refusals.blocked_by(by)
            claims = _new_claims(transaction, work, project_id, actor, paths, now) if is_claimed else []
            from satchel.keep import deliveries

            # the answer that takes files says itself who shares them
            in_news = {item for one in fresh for item in one.items}
            parts = _claimed(
                [one for one in claims if one.path not in taken and (deliveries.CLAIM, one.id, one.seq) not in in_news],
                work.worktree,
            )
            parts += _noted(transaction, project_id, actor, taken)
            parts += _bound(transaction, work, project_id, actor, taken, in_news)
            if is_written and shown_by is not None:
                messages, rest = _waiting(transaction, work, project_id, actor, now, shown_by)
                # what a message says of a decision, the news of it says with the value
                numbers = [number for kind, number, _ in in_news if kind == Kind.DECISION.number]
                quotes = [f'"Decision {Kind.DECISION.ref(number)} ' for number in numbers]
                fresh += [one._replace(text="") if any(map(one.text.__contains__, quotes)) else one for one in messages]
                parts += rest
        if is_preview:
            parts += [one.text for one in fresh if one.text]
        else:
            parts += _once(work.engine, free, wanted, actor, now)
            if self._deliver(actor, project_id, fresh, claims, now):
                parts += [one.text for one in fresh if one.text and not one.is_of(listed)]
        return "\n".join(f"notice: {part}" for part in parts) if parts else None

    def _deliver(self, actor: Actor, project_id: int, fresh: Sequence[News], claims: Sequence[Claim], now: int) -> bool:
        # returns whether all is marked as delivered: what cannot be comes with a later answer
        from satchel.keep import deliveries

        items = [item for one in fresh for item in one.items]
        if _remembers(self._workplace, actor):
            items += [(deliveries.CLAIM, claim.id, claim.seq) for claim in claims if not claim.exclusive]
        if not items:
            return True
        number = actor.window if actor.session is not None else 0
        window = deliveries.Window(project_id, actor.session, number, actor.number, 0)
        with suppress(SatchelError), self._workplace.engine.write(_WAIT_MS) as transaction:
            deliveries.record(transaction, window, items, now)
            return True
        return False


def _anything(transaction: Transaction, work: Workplace, now: int) -> Row | None:
    if work.project_name is not None:
        return transaction.one(f"{_ANYTHING} p.name = :name", {"name": work.project_name, "now": now})
    project = projects.find(transaction, work)
    return transaction.one(f"{_ANYTHING} p.id = :id", {"id": project.id, "now": now})


def _once(engine: Engine, free: Sequence[Refusal], wanted: Sequence[Refusal], actor: Actor, now: int) -> list[str]:
    if not free and not wanted:
        return []
    from satchel.brief import freed
    from satchel.keep.files import refusals

    with suppress(SatchelError):  # a notice that cannot be marked as shown comes with a later answer
        with engine.write(_WAIT_MS) as transaction:
            free_ids = refusals.remove(transaction, [one.id for one in free[: freed.MOST]]) if free else set()
            wanted_ids = (
                refusals.mark_holders_notified(transaction, [one.id for one in wanted[: freed.MOST]], now)
                if wanted
                else set()
            )
        return [
            *[text for text, _ in freed.texts([one for one in free if one.id in free_ids], actor, now)],
            *_wanted_texts([one for one in wanted if one.id in wanted_ids]),
        ]
    return []


def _wanted_texts(wanted: Sequence[Refusal]) -> list[str]:
    from satchel.brief.freed import listed

    together = grouped((refusal.agent or "an agent", refusal.place.path) for refusal in wanted)
    return [f"{name_text(agent)} was refused {listed(paths)}, which you hold" for agent, paths in together.items()]


def _waiting(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, now: int, shown_by: str
) -> tuple[list[News], list[str]]:
    # short messages as news, and a count if there are others
    if actor.number in {None, UNKNOWN}:
        return [], []
    from satchel.keep import deliveries
    from satchel.keep.messages.visibility import Reader, newest_unseen, unread_by_sender

    assert actor.number is not None
    is_delivered, values = deliveries.was_delivered(project_id, actor, Kind.MESSAGE, "m.id")
    reader = Reader(project_id, actor.number, now)
    senders = unread_by_sender(transaction, reader, is_delivered, values, _MAX_MESSAGES)
    waiting = sum(count for _, count, _ in senders)
    if not waiting:
        return [], []
    critical = sum(count for _, _, count in senders)
    from satchel.brief.news import News

    if waiting <= _MAX_SHOWN and critical in {0, waiting} and _remembers(work, actor):
        urgent = " (critical)" if critical else ""
        rows = newest_unseen(transaction, reader, is_delivered, values, _MAX_SHOWN)
        if all(len(row.text) <= _SHOWN_CHARS for row in rows):
            return [
                News(_message_line(row, urgent), [(Kind.MESSAGE.number, row.number, row.seq)]) for row in reversed(rows)
            ], []
    names = [_sender(name) for name, _, _ in senders]
    more = len(names) - _MAX_SENDERS
    senders_text = ", ".join(names[:_MAX_SENDERS]) + (f" and {more} more" if more > 0 else "")
    many = f"over {_MAX_MESSAGES - 1}" if waiting >= _MAX_MESSAGES else str(waiting)
    text = f"{many} unread message{'s' * (waiting != 1)} for {shown_name(str(actor.name))} from {senders_text}"
    text += (f", {critical} critical" if critical else "") + (f": {shown_by}" if shown_by else "")
    if not (is_persons(actor.name) and _remembers(work, actor)):
        return [], [text]
    rows = newest_unseen(transaction, reader, is_delivered, values, _MAX_MESSAGES)
    return [News(text, [(Kind.MESSAGE.number, row.number, row.seq) for row in rows])], []


def _message_line(row: Unseen, urgent: str) -> str:
    head = joined(f"{Kind.MESSAGE.ref(row.number)} from {_sender(row.sender)}{urgent}", answer_mark(row.question))
    return f"{head}: {quoted_line(row.text)}"


def _sender(name: str | None) -> str:
    if name is None:
        return "Satchel"
    return quoted(name) if fold(name) == "satchel" else str(name_text(name))


def _remembers(work: Workplace, actor: Actor) -> bool:
    # outside a session, as on a command line, two answers may have two readers, but those of a person have one
    has_one_reader = actor.session is not None or is_persons(actor.name)
    return has_one_reader and not work.engine.read_only and actor.number not in {None, UNKNOWN}


def _new_claims(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, files: Sequence[str], now: int
) -> list[Claim]:
    from satchel.keep.files.claims import Claimant, claims_of_others

    claims = claims_of_others(Claimant(transaction, project_id, actor, now), files)
    if not claims or not _remembers(work, actor):
        return claims
    from satchel.keep import deliveries

    is_delivered, values = deliveries.was_delivered(project_id, actor, deliveries.CLAIM, "c.id")
    numbers = set_of(one.id for one in claims)
    rows = transaction.all(f"SELECT c.id FROM file_claims c WHERE c.id IN {numbers} AND {is_delivered}", values)
    delivered = {number for (number,) in rows}
    # a file that another holds alone is named each time
    return [claim for claim in claims if claim.exclusive or claim.id not in delivered]


def _claimed(claims: list[Claim], worktree: str | None) -> list[str]:
    from satchel.brief.freed import listed

    claims.sort(key=lambda claim: claim.worktree != worktree)
    together = grouped((_claim_text(claim, worktree), claim.path) for claim in claims)
    parts = [
        f"{listed(paths)} {'are' if len(paths) > 1 else 'is'} {text}"
        for text, paths in list(together.items())[:_MAX_CLAIMS]
    ]
    more = sum(len(paths) for paths in list(together.values())[_MAX_CLAIMS:])
    return [*parts, f"{more} more claim{'s' * (more != 1)} on these files"] if more > 0 else parts


def _noted(transaction: Transaction, project_id: int, actor: Actor, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    from satchel.brief.working import on_files
    from satchel.keep import deliveries

    is_delivered, values = deliveries.was_delivered(project_id, actor, Kind.ENTRY, "c.id")
    files = {f"file{number}": file for number, file in enumerate(paths)}
    rows = transaction.all(
        f"""
        SELECT {on_files.COLUMNS} FROM {on_files.SOURCE}
        WHERE c.project_id = :project AND c.file IN ({", ".join(f":{name}" for name in files)})
            AND c.superseded_by IS NULL AND +c.type IN ({", ".join(map(str, on_files.NOTE_TYPES))})
            AND c.agent_id IS DISTINCT FROM :own AND NOT {is_delivered}
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MAX_NOTED}
        """,
        {**values, **files, "project": project_id, "own": actor.number},
    )
    matches = [on_files.Note(*row) for row in rows]
    texts = [
        f"{Kind.ENTRY.ref(one.number)} on {name_text(one.file)} {quoted_line(one.text, _NOTE_CHARS)}"
        for one in matches[:_MAX_NOTES]
    ]
    texts += [Kind.ENTRY.ref(one.number) for one in matches[_MAX_NOTES:]]
    return [f"notes: {', '.join(texts)} (get_items)"] if texts else []


def _bound(
    transaction: Transaction,
    work: Workplace,
    project_id: int,
    actor: Actor,
    paths: Sequence[str],
    in_news: set[tuple[int, int, int]],
) -> list[str]:
    # rules and decisions of others that bind the files, that the agent has not got yet
    if not paths:
        return []
    from satchel.keep import binding, deliveries

    bound = binding.find(transaction, work, project_id, paths).items
    delivered: set[tuple[Kind, int]] = set()
    for kind in {one.kind for one in bound}:
        is_delivered, values = deliveries.was_delivered(project_id, actor, kind, "c.id")
        author = "created_by" if kind is Kind.CONSTRAINT else "agent_id"
        numbers = set_of(one.item for one in bound if one.kind is kind)
        rows = transaction.all(
            f"SELECT c.id FROM {kind.table} c WHERE c.id IN {numbers} AND (c.{author} = :own OR {is_delivered})",
            {**values, "own": actor.number},
        )
        delivered.update((kind, number) for (number,) in rows)
    fresh = [
        _bound_text(one)
        for one in bound
        if (one.kind, one.item) not in delivered and (one.kind.number, one.item, one.seq) not in in_news
    ]
    return [f"binding here: {', '.join(fresh[:_MAX_BOUND])}{' and more' * (len(fresh) > _MAX_BOUND)}"] if fresh else []


def _bound_text(one: Binding) -> str:
    name = f"{one.ref} {name_text(one.key)}" if one.key else one.ref
    return f"{name} {quoted_line(one.text, _BOUND_CHARS)}"


def _claim_text(claim: Claim, worktree: str | None) -> str:
    where = ""
    if claim.worktree != worktree:
        where = f" in worktree {PurePath(claim.worktree).name}" if claim.worktree else " in the main worktree"
    until = moment_text(claim.expires_at, year_of(claim.created_at))
    share = "" if claim.exclusive else " (shared)"
    return f"claimed{share} {by(claim.agent)}{where} until {until} UTC"


# Limits of the sessions that are read, and of the agents that are named.
_MOST_SESSIONS, _MOST_NAMED = 20, 3


def last_heard(work: Workplace, name: str) -> list[str]:
    """Return in words when the agents that may still answer were last heard of, and which of them are done."""
    from satchel.brief.room import states  # only who waits in vain needs these
    from satchel.keep.sessions.team import others_at_work

    with projects.reading(work) as (transaction, project):
        now = work.clock()
        sessions = answer(others_at_work(transaction, project.id, None, now, _MOST_SESSIONS, states.find))
    others: dict[str, str] = {}
    for one in sessions:
        if one.name is None or fold(one.name) == fold(name) or one.state.name == "silent":
            continue
        # a name of several words is quoted, so that it cannot pass for a sentence
        who = one.name if " " not in one.name else quoted_line(one.name)
        is_done = f" is done ({one.scratchpad.ref}) and" if one.scratchpad is not None and one.scratchpad.done else ""
        others.setdefault(one.name, f"{who}{is_done} was last heard of {span_in_words(now - one.seen_at)} ago")
    return list(others.values())[:_MOST_NAMED]
