"""Consequences of changes and reviews: bugs closed, and messages on failed reviews and changed decisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from satchel.base.clock import DAY_MS
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.fields import name_text, quoted
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.decisions.records import ChangedDecision, changed_fields
from satchel.keep.entries.records import BUG, ENTRY_TYPES, REVIEW_ISSUE, Prepared, Writer
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.names import is_persons, shown_name
from satchel.store.transaction import Transaction, grouped, set_of

if TYPE_CHECKING:
    from satchel.keep.files.records import FileChange
    from satchel.keep.projects import Workplace
    from satchel.keep.sessions.records import Actor


# The id of a bug or a review issue that the description of a change calls fixed; "not fixed" and "to fix" do not count.
_FIXED = (
    r"(?<!not )(?<!n't )(?<!never )(?<!to )(?<!todo )(?<!todo: )\b(?:fix(?:es|ed)?|close[sd]?)\s+(e[1-9]\d{0,17})\b"
)

# How many ids of one description are looked at.
_MOST_FIXED = 50
_CLOSED_BY_CHANGES = frozenset({BUG, REVIEW_ISSUE})


def close_fixed(
    work: Workplace, transaction: Transaction, project_id: int, actor: Actor, changes: Sequence[FileChange]
) -> tuple[str, ...]:
    """Close the bugs and review issues that the descriptions of new changes call fixed, and tell their authors.

    If several changes name one, the change of its file closes it, or all of them if none is of its file.

    Returns:
        A note for each, which says why if it stays open.
    """
    from satchel.keep import replacing  # a briefing closes none
    from satchel.keep.corrections import log
    from satchel.keep.messages import updates as messages

    notes = []
    mentions = grouped(
        (ref.lower(), change)
        for change in changes
        for ref in islice(dict.fromkeys(re.findall(_FIXED, change.description or "", re.IGNORECASE)), _MOST_FIXED)
    )
    for ref, by_changes in mentions.items():
        number = Kind.ENTRY.number_of(ref)
        row = transaction.one(
            "SELECT c.type, c.superseded_by IS NULL, a.name, c.file, a.id FROM context c "
            "LEFT JOIN agents a ON a.id = c.agent_id WHERE c.id = :id AND c.project_id = :project",
            {"id": number, "project": project_id},
        )
        if row is None or row[0] not in _CLOSED_BY_CHANGES:
            what = "not here" if row is None else f"a {ENTRY_TYPES[row[0] - 1]}"
            notes.append(f"{ref} is {what}: a change closes bugs and review issues")
            continue
        entry_type, is_open, author, file, author_id = row
        of_its_file = [change for change in by_changes if change.file == file]
        fix = refs_text([change.ref for change in of_its_file or by_changes])
        if is_open and is_persons(author) and not is_persons(actor.name):
            notes.append(f"{ref} is {shown_name(author)}'s and stays open: tell them that {fix} fixes it")
        elif is_open:
            item = (Kind.ENTRY, number)
            replacing.retract(transaction, project_id, *item)
            now = changes[0].created_at
            by = log.Corrector(transaction, project_id, actor.number, actor.session, lambda _: False, now)
            log.record(by, log.RETRACTED, item, reason=f"fixed by {fix}")
            events.record(transaction, project_id, events.RETRACTION, by.now, by=actor, item=item)
            closed = f"{ENTRY_TYPES[entry_type - 1]} {ref} is closed: fixed by {fix}"
            if author_id in {None, actor.number}:
                notes.append(closed)
            else:
                messages.post(
                    transaction,
                    project_id,
                    f"Your {closed}",
                    now,
                    work.retention,
                    sender=actor.number,
                    to=author_id,
                    type="info",
                )
                notes.append(f"{closed}; a message tells {shown_name(author)}")
    return tuple(notes)


def refs_text(refs: Sequence[str]) -> str:
    """Return short ids of one kind, in order, with those that follow each other as a range: ``f1 to f3, f7``."""
    numbers = [int(ref[1:]) for ref in refs]
    starts = [place for place, number in enumerate(numbers) if not place or number != numbers[place - 1] + 1]
    runs = [refs[start:end] for start, end in pairwise([*starts, len(refs)])]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


# How many files (or names) and how much of a verdict's summary are shown, and how much of a request is searched.
_MOST_FILES, _SUMMARY_CHARS, _REQUEST_CHARS = 3, 1_000, 4_000


class Judged(NamedTuple):
    """A change that a verdict judges: its author and their name, its file, and whether that changed since."""

    ref: str
    agent: int | None
    name: str | None
    file: str
    is_changed: bool


def judged_changes(transaction: Transaction, project_id: int, refs: object) -> list[Judged]:
    """Return the changes that a verdict judges, such as ``f12, f14 to f17``, as far as they are there."""
    from satchel.keep.entries.structured import MOST_CHANGES, numbers_in

    numbers = numbers_in(refs)[:MOST_CHANGES] if isinstance(refs, str) else []
    rows = transaction.all(
        f"""
        SELECT c.id, c.agent_id, a.name, f.path, EXISTS (
            SELECT 1 FROM file_changes o WHERE o.file_id = c.file_id AND o.worktree IS NOT DISTINCT FROM c.worktree
                AND (o.created_at, o.id) > (c.created_at, c.id))
        FROM file_changes c JOIN files f ON f.id = c.file_id LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.id IN {set_of(numbers)} AND c.project_id = :project ORDER BY c.id
        """,
        {"project": project_id},
    )
    return [
        Judged(Kind.FILE_CHANGE.ref(number), agent, name, file, bool(is_changed))
        for number, agent, name, file, is_changed in rows
    ]


def tell_authors(
    transaction: Transaction, work: Workplace, writer: Writer, number: int, entry: Prepared
) -> tuple[str, ...]:
    """Send the authors of changes that a verdict judges a message; return a note of whom it tells, or names wrongly."""
    from satchel.keep.entries.structured import parse_object, review_verdict
    from satchel.keep.messages import updates as messages

    refs = parse_object("review_verdict", entry.content).get("change")
    changes = judged_changes(transaction, writer.project_id, refs)
    if not changes:
        wrong = shortened(str(refs))
        return () if refs is None else (f"there is no change {wrong}; give the ids of file changes, as f12, f13",)
    verdict = review_verdict(entry.content)
    summary = f": {shortened(verdict.summary, _SUMMARY_CHARS)}" if verdict.summary else ""
    result = "passed" if verdict.passed else "failed"
    notes: tuple[str, ...] = ()
    for (author, name), theirs in grouped(((change.agent, change.name), change) for change in changes).items():
        if author is None or name is None or author == writer.agent:
            continue
        files = [*dict.fromkeys(change.file for change in theirs)]
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        refs_of = refs_text([change.ref for change in theirs])
        what = f"change{'s' * (len(theirs) > 1)} {refs_of} of {', '.join(files[:_MOST_FILES])}{more}"
        notes += (f"a message tells {shown_name(name)}",)
        text = f"The review of your {what} {result}, see {Kind.ENTRY.ref(number)}{summary}"
        request = _request_of(transaction, writer, author, {change.ref for change in theirs})
        kind, priority = ("info", "medium") if verdict.passed else ("warning", "high")
        messages.post(
            transaction,
            writer.project_id,
            text,
            writer.now,
            work.retention,
            sender=writer.agent,
            to=author,
            type=kind,
            priority=priority,
            answers=request,
        )
    return notes


def readers_note(transaction: Transaction, writer: Writer, file: str) -> tuple[str, ...]:
    """Return a note of the agents at work who hold or changed a file: they get a notice of what is noted on it."""
    rows = transaction.all(
        """
        SELECT DISTINCT a.name FROM (
            SELECT session_id FROM file_claims
            WHERE project_id = :project AND path = :file AND is_key = 0 AND expires_at > :now
            UNION ALL
            SELECT c.session_id FROM files f JOIN file_changes c ON c.file_id = f.id
            WHERE f.project_id = :project AND f.path = :file
        ) AS touched JOIN sessions s ON s.id = touched.session_id
        JOIN agents a ON a.id = COALESCE(s.agent_id, s.unnamed_id)
        WHERE s.ended_at IS NULL AND s.seen_at > :since AND s.id IS DISTINCT FROM :session
            AND a.id IS DISTINCT FROM :agent
        ORDER BY a.name LIMIT 4
        """,
        {
            "project": writer.project_id,
            "file": file,
            "now": writer.now,
            "since": writer.now - DAY_MS,
            "session": writer.session,
            "agent": writer.agent,
        },
    )
    names = [shown_name(name) for (name,) in rows]
    more = " and others" if len(names) > _MOST_FILES else ""
    return (f"a notice tells {', '.join(names[:_MOST_FILES])}{more} at their next call",) if names else ()


def _request_of(transaction: Transaction, writer: Writer, author: int, refs: Set[str]) -> tuple[int, int] | None:
    # the open request to the writer or to all in which an author names a change that is judged now, and its thread
    from satchel.keep.entries.structured import MOST_CHANGES, numbers_in

    rows = transaction.all(
        f"""
        SELECT m.id, COALESCE(m.thread_id, m.id), m.message FROM agent_messages m
        WHERE m.project_id = :project AND m.from_agent_id = :author AND m.type = {_REQUEST} AND m.expires_at > :now
            AND (m.to_agent_id IS NULL OR m.to_agent_id = :writer)
            AND NOT EXISTS (SELECT 1 FROM agent_messages a WHERE a.reply_to = m.id)
        ORDER BY m.id DESC LIMIT {MOST_CHANGES}
        """,
        {"project": writer.project_id, "author": author, "writer": writer.agent, "now": writer.now},
    )
    numbers = {Kind.FILE_CHANGE.number_of(ref) for ref in refs}
    return next(
        ((number, thread) for number, thread, text in rows if numbers & {*numbers_in(text[:_REQUEST_CHARS])}), None
    )


_DECISION, _REQUEST = (MESSAGE_TYPES.index(name) + 1 for name in ("decision", "request"))


def announcer(workplace: Workplace) -> Callable[[Transaction, ChangedDecision], None]:
    """Return a function that sends the message about a change; that on a proposal ends with it."""

    def announce(transaction: Transaction, change: ChangedDecision) -> None:
        from satchel.keep.messages import updates as messages

        now, project_id = change.decision.updated_at, change.project_id
        if _is_settled(change) or change.human_key is not None:  # a later proposal replaces the one before
            values = {"project": project_id, "now": now, "text": f"{_BEGIN}%{_proposes(change.decision.ref)}%"}
            # agents may quote a notice in messages of other types
            notices = f"project_id = :project AND expires_at > :now AND type = {_DECISION} AND message LIKE :text"
            for (number,) in transaction.all(f"SELECT id FROM agent_messages WHERE {notices}", values):
                messages.expire(transaction, project_id, number, now)
        # a person has not written it: it is none of their messages, and no change that they may undo
        sender = None if is_persons(change.decision.agent) else change.by_id
        messages.post(
            transaction,
            project_id,
            _text(change),
            now,
            workplace.retention,
            sender=sender,
            to=change.agent_id,
            type="decision",
        )

    return announce


def _is_settled(change: ChangedDecision) -> bool:
    return change.before.status == "draft" and change.decision.status != "draft"


_BEGIN, _MIDDLE = "Decision ", " had set, "
_SETTLED = re.compile(r"Your proposal d[1-9]\d* \(")
_MOST_OF_REASON = 500


def is_notice(text: str) -> bool:
    """Return whether a message is such a notice."""
    return (text.startswith(_BEGIN) and _MIDDLE in text) or _SETTLED.match(text) is not None


_PROPOSAL = "stays as it is; an agent proposes a change: see the draft"


def _proposes(draft: str) -> str:
    return f"{_MIDDLE}{_PROPOSAL} {draft} "


def proposed_draft(notice: str) -> int | None:
    """Return the number of the draft that a notice is of; None if it is of a change."""
    match = re.search(rf"{re.escape(_MIDDLE + _PROPOSAL)} d(\d+) ", notice)
    return None if match is None else int(match[1])


def _text(overtaken: ChangedDecision) -> str:
    # imported here: most starts tell of no change
    from satchel.keep.decisions.proposals import accept_ref, proposed_fields

    # the fields only: after a decision is forgotten, no word of it may remain in messages; why a proposal was rejected
    # is written for its author
    before, now, human_key = overtaken.before, overtaken.decision, overtaken.human_key
    if _is_settled(overtaken) and (is_persons(now.agent) or before.value == now.value):
        # the draft of a change of a person's decision ends once it is accepted
        is_accepted = human_key is not None or now.status == "active"
        about = f", and holds as {_ref(human_key)}" if human_key is not None else ""
        if not is_accepted and now.rationale not in {None, before.rationale}:
            about = f": {shortened(str(now.rationale), _MOST_OF_REASON)}"
        verb = "accepted" if is_accepted else "rejected"
        return f"Your proposal {now.ref} ({now.key}) was {verb} by {shown_name(str(now.agent))}{about}"
    if human_key is not None:
        proposed, accepted = ", ".join(proposed_fields(before, now)), accept_ref(now.ref, now.revision)
        accept, reject = f"`satchel accept {accepted}`", f"`satchel reject {now.ref}`"
        if not is_persons(str(before.agent)):
            accept, reject = f"key={name_text(human_key)} status=active", f"key={name_text(now.key)} status=deprecated"
        return (
            f"{_BEGIN}{human_key}, which {shown_name(str(before.agent))}{_proposes(now.ref)}({proposed}) and accept it "
            f"with {accept}, or reject it with {reject}"
        )
    by = f"by {shown_name(str(now.agent))} " if is_persons(now.agent) else ""
    changed = ", ".join(f"{name} {now.status}" if name == "status" else name for name in changed_fields(before, now))
    return (
        f"{_BEGIN}{now.ref} {now.key}, which {name_text(before.agent)}{_MIDDLE}was changed {by}({changed}): revision "
        f"{before.revision} is now {now.revision}, get_items ids={_ref(now.key)} shows both"
    )


def _ref(key: str) -> str:
    return quoted(f"decision:{key}") if " " in key else f"decision:{key}"
