"""Conversations: leases, states after the last successful turn, and deletion.

A call acquires a conversation and either commits its turn or releases it; until then nothing of the turn is stored.
Its lease keeps other calls out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.base.clock import moment_text, year_of
from satchel.base.errors import Conflict, NotFound, SatchelError, StoreDamaged
from satchel.base.paging import DEFAULT_LIMIT, Page, check_page
from satchel.base.records import replace
from satchel.base.text import check_name
from satchel.consult import conversation_tables
from satchel.consult.records import (
    Conversation,
    ConversationHistory,
    ConversationKey,
    ConversationState,
    Exchange,
    Lease,
    ListedConversation,
    PastTurn,
    TurnResult,
    cut_out,
    digest_of,
    digest_of_text,
    list_placements,
)
from satchel.keep import expiry, names, projects
from satchel.keep.projects import Project, Workplace
from satchel.keep.texts import storable
from satchel.redaction import redact
from satchel.store.transaction import Row, Transaction, update_row

if TYPE_CHECKING:
    from typing import Unpack

    from satchel.keep.common_filters import CommonFilters

T = TypeVar("T")

# Shorter texts stay in the words of a prompt: a content of their own would take more.
_PART_CHARS = 100

# Default length of a lease that is not renewed.
LEASE_MS = 120_000

LONGEST_LEASE_MS = 3_600_000

_LEASE_COLUMNS = "lease_token, lease_holder, lease_since, lease_until, lease_process"
_END_OF_LEASE = ", ".join(f"{column} = NULL" for column in _LEASE_COLUMNS.split(", "))
_OF_LEASE = "id = :id AND lease_token = :token"
_COLUMNS = f"""
    id, uid, seq, assistant, session_id, turns, held_tokens, sent_tokens, resent_tokens, answer_tokens,
    created_at, updated_at, {_LEASE_COLUMNS}
"""
_OF_KEY = "project_id = :project AND owner = :owner AND assistant = :assistant AND session_id = :session"
# Condition of visible conversations.
HAS_TURNS = f"turns > 0 AND {expiry.GOES_ON}"


class Conversations:
    """The conversations of a project."""

    def __init__(self, workplace: Workplace, *, max_blob_bytes: int = 64 * 1024 * 1024) -> None:
        self.workplace = workplace
        self._max_blob_bytes = max_blob_bytes

    def acquire(self, key: ConversationKey, lease_ms: int = LEASE_MS, holder: str | None = None) -> Conversation:
        """Acquire a conversation and return its state; a new one is empty."""
        key, work = check_key(key), self.workplace
        caller = f"{work.agent or 'a call'} (process {os.getpid()})"
        holder = caller if holder is None else names.check_identifier(holder, "holder")
        with projects.writing(work) as (transaction, project, now):
            row = transaction.one(
                f"SELECT id, expires_at, {_LEASE_COLUMNS} FROM conversations WHERE {_OF_KEY}",
                key_values(work, project, key),
            )
            held = _live_lease(row[2:], now) if row else None
            if held is not None:
                raise _refused(key, held)
            if row and row[1] is not None and row[1] <= now:
                expiry.remove_conversations(transaction, [row[0]], project.id)
                row = None
            number = int(row[0]) if row else _begin(transaction, work, project, key, now)
            lease = Lease(os.urandom(16), holder, now, now + lease_ms)
            process = f"{os.uname().nodename} {os.getpid()}"
            columns = zip(_LEASE_COLUMNS.split(", "), (lease.token, holder, now, lease.until, process), strict=True)
            update_row(transaction, "conversations", number, **dict(columns))
            # remnants of crashed first calls are deleted once no call can still be running
            transaction.run(
                "DELETE FROM conversations WHERE project_id = :project AND turns = 0 AND lease_until < :before",
                {"project": project.id, "before": now - LONGEST_LEASE_MS},
            )
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        conversation = Conversation(number, project.id, key, lease, ConversationState())
        # in a second transaction, so that nobody waits while the files are read
        with work.engine.read() as transaction:
            if not _is_held(transaction, conversation):
                raise _lost(key)
            return replace(conversation, state=conversation_tables.load_state(transaction, number))

    @contextmanager
    def acquire_lease(
        self, key: ConversationKey, lease_ms: int = LEASE_MS, holder: str | None = None
    ) -> Iterator[Conversation]:
        """Acquire a conversation for a block, and release it however the block ends."""
        conversation = self.acquire(key, lease_ms, holder)
        try:
            yield conversation
        except BaseException as error:
            try:
                self.release(conversation)
            except SatchelError as second:
                error.add_note(f"the lease on the conversation was not released; it expires: {second}")
            raise
        self.release(conversation)

    def renew(self, conversation: Conversation, lease_ms: int = LEASE_MS) -> None:
        with self.workplace.engine.write() as transaction:
            until = {"until": self.workplace.clock() + lease_ms, **_lease_of(conversation)}
            # an expired lease too, unless another call has taken over
            if not transaction.execute(f"UPDATE conversations SET lease_until = :until WHERE {_OF_LEASE}", until):
                raise _lost(conversation.key)

    def release(self, conversation: Conversation) -> bool:
        engine = self.workplace.engine
        with engine.read() as transaction:
            if not _is_held(transaction, conversation):
                return False
        with engine.write() as transaction:
            lease = _lease_of(conversation)
            return bool(
                transaction.execute(f"DELETE FROM conversations WHERE {_OF_LEASE} AND turns = 0", lease)
                or transaction.execute(f"UPDATE conversations SET {_END_OF_LEASE} WHERE {_OF_LEASE}", lease)
            )

    def commit(self, conversation: Conversation, result: TurnResult) -> tuple[ConversationState, tuple[str, ...]]:
        """Record an answered turn and release the conversation: both or neither.

        Secrets in the stored prompt and answer are redacted, and a content with a secret is not stored.

        Returns:
            The new state of the conversation, and notes for the caller.
        """
        work, plan = self.workplace, result.plan
        # a provider that keeps the thread never gets an earlier prompt again
        is_ours = result.provider_ref is None
        new = {one: content for one, content in plan.new_contents.items() if is_ours or isinstance(content, str)}
        question = redact(plan.question).text
        answer = storable(result.answer)
        parts = [(digest_of_text(text), text) for text in plan.parts if is_ours and len(text) >= _PART_CHARS]
        before = conversation.state
        held_before = 0 if result.starts_over else before.held_tokens
        after = ConversationState(
            before.turns + 1,
            {**before.files, **plan.files},
            held_before + plan.tokens + result.answer_tokens,
            plan.has_overflowed,
            result.provider_ref,
        )
        changed = conversation_tables.changed_files(before.files, plan.files)
        packed = conversation_tables.pack_contents({**dict(parts), **new}) if self._max_blob_bytes else {}
        most = int(self._max_blob_bytes * conversation_tables.SHARE)
        with work.engine.read() as transaction:
            contents = conversation_tables.choose_contents(
                transaction, conversation.id, packed, after.files, most, starts_over=result.starts_over
            )
        # a thread needs all of its contents: if one is missing, the turn stores the whole prompt
        parts = [part for part in parts if part[0] in packed] if contents.keys() >= dict(parts).keys() & packed else []
        prompt = redact(cut_out(plan.prompt, [text for _, text in parts]) if is_ours else "")
        if prompt.text.count("\0") != len(parts):
            prompt, parts = redact(plan.prompt), []
        words = conversation_tables.compress(prompt.text)
        digests = [*(digest for digest, _ in parts), *(digest_of(one.data) for one in plan.media if is_ours)]
        contents = {digest: content for digest, content in contents.items() if digest in new or digest in digests}
        with work.engine.write() as transaction:
            now = work.clock()
            if not transaction.execute(
                f"""
                UPDATE conversations
                SET turns = :turn, held_tokens = :held, has_overflowed = :overflowed, provider_ref = :ref,
                    thread_start = CASE WHEN :starts_over = 1 THEN :turn ELSE thread_start END,
                    sent_tokens = sent_tokens + :sent, resent_tokens = resent_tokens + :resent,
                    answer_tokens = answer_tokens + :answered, updated_at = :now, expires_at = :expires, seq = :seq,
                    {_END_OF_LEASE}
                WHERE {_OF_LEASE}
                """,
                {
                    "turn": after.turns,
                    "held": after.held_tokens,
                    "overflowed": int(after.has_overflowed),
                    "ref": after.provider_ref,
                    "starts_over": int(result.starts_over),
                    "sent": plan.tokens,
                    "resent": plan.resent_tokens,
                    "answered": result.answer_tokens,
                    "now": now,
                    "expires": work.retention.expires_at(now, work.retention.conversations_hours),
                    "seq": transaction.next_seq(conversation.project_id),
                    **_lease_of(conversation),
                },
            ):
                raise _lost(conversation.key)
            turn = PastTurn(after.turns, question, answer.text)
            conversation_tables.write_files(transaction, conversation.id, changed)
            stored = conversation_tables.store_contents(transaction, conversation.project_id, contents, now)
            numbers = [stored.get(digest, 0) for digest in digests]
            conversation_tables.write_turn(transaction, conversation.id, turn, words, numbers, result, now)
            conversation_tables.touch_contents(transaction, conversation.project_id, conversation.id, now)
            conversation_tables.trim_contents(transaction, conversation.project_id, self._max_blob_bytes)
        notes = [f"a secret was redacted in what is stored of the prompt ({kind})" for kind in prompt.kinds]
        notes += [f"stored answer: {note}" for note in answer.notes]
        if left_out := len(packed.keys() & new.keys() - contents.keys()):
            notes.append(
                f"contents of this turn that are not stored: {left_out:,}, since one conversation keeps at most half "
                f"of consult.blob_mib ({self._max_blob_bytes / 2**20:g} MiB): such a file goes whole once it changes"
            )
        return after, tuple(dict.fromkeys(notes))

    def state(self, key: ConversationKey) -> ConversationState:
        """Return the state of a conversation without acquiring it, empty for an unknown one."""
        return self._read(key, conversation_tables.load_state, ConversationState())

    def thread(self, key: ConversationKey) -> tuple[Exchange, ...]:
        """Return the questions and answers of the current thread, the oldest first.

        Raises:
            ThreadLost: parts of the thread are no longer stored.
        """
        return self._read(key, conversation_tables.load_thread, ())

    def read(self, number: int, *, limit: int = DEFAULT_LIMIT, offset: int = 0) -> ConversationHistory:
        """Return one conversation of the owner with its turns in all threads, the newest first."""
        check_page(limit, offset)
        work = self.workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            row = transaction.one(
                f"SELECT {_COLUMNS} FROM conversations WHERE id = :id AND project_id = :project AND owner = :owner "
                f"AND {HAS_TURNS}",
                {"id": number, "project": project.id, "owner": work.owner, "now": now},
            )
            if row is None:
                raise NotFound(
                    "the project has no such conversation", "The list of conversations shows those there are"
                )
            conversation = _listed(transaction, row, now)
            last = conversation.turns - offset
            turns = conversation_tables.load_turns(transaction, number, max(1, last - limit + 1), last)
        return ConversationHistory(conversation, Page(turns[::-1], conversation.turns, offset, limit))

    def past(self, key: ConversationKey) -> tuple[PastTurn, ...]:
        """Return the questions and answers of all turns, of every thread, the oldest first."""
        return self._read(key, conversation_tables.load_past, ())

    def read_content(self, digest: bytes) -> str | None:
        """Return an earlier content of a conversation's file by its digest; None if it is gone."""
        with projects.reading(self.workplace) as (transaction, project):
            content = conversation_tables.load_content(transaction, project.id, digest)
        return None if content is None else content.decode("utf-8", "surrogatepass")

    def sessions(self, key: ConversationKey) -> frozenset[str]:
        """Return the conversation names in use with the assistant and by the owner of a key."""
        key = check_key(key)
        with projects.reading(self.workplace) as (transaction, project):
            rows = transaction.all(
                "SELECT session_id FROM conversations "
                f"WHERE project_id = :project AND owner = :owner AND assistant = :assistant AND {HAS_TURNS}",
                {**key_values(self.workplace, project, key), "now": self.workplace.clock()},
            )
        return frozenset(row[0] for row in rows)

    def list(
        self,
        *,
        assistant: str | None = None,
        conversation: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        **filters: Unpack[CommonFilters],
    ) -> Page[ListedConversation]:
        """Return an owner's conversations that had a turn, the newest first."""
        from satchel.keep.common_filters import check_common

        check_page(limit, offset)
        assistant = None if assistant is None else check_name(assistant, "assistant")
        conversation = None if conversation is None else check_name(conversation, "conversation")
        work = self.workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            where = f"project_id = :project AND owner = :owner AND {HAS_TURNS}"
            values: dict[str, object] = {"project": project.id, "owner": work.owner, "now": now}
            for column, wanted in (("assistant", assistant), ("session_id", conversation)):
                if wanted is not None:
                    where += f" AND {column} = :{column}"
                    values[column] = wanted
            common = check_common(filters, now)
            where += common.where("created_at")
            values |= common.values
            total = transaction.one(f"SELECT count(*) FROM conversations WHERE {where}", values)
            rows = transaction.all(
                f"SELECT {_COLUMNS} FROM conversations WHERE {where} "
                "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset",
                {**values, "limit": limit, "offset": offset},
            )
            items = tuple(_listed(transaction, row, now) for row in rows)
        assert total is not None
        return Page(items, int(total[0]), offset, limit)

    def reset(self, key: ConversationKey) -> None:
        """Delete a conversation: its turns, the placements of its files, and contents that nothing else needs.

        The next call of that name starts over. Vector stores that wait for deletion stay recorded.
        """
        key, work = check_key(key), self.workplace
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            statement = f"SELECT id, {_LEASE_COLUMNS} FROM conversations WHERE {_OF_KEY}"
            row = transaction.one(statement, key_values(work, project, key))
            if row is None:
                problem = f"there is no conversation {key.conversation!r} with {key.assistant}"
                raise NotFound(problem, "list_conversations shows those there are")
            number, *lease = row
            held = _live_lease(lease, work.clock())
            if held is not None:
                raise _refused(key, held)
            transaction.run("DELETE FROM conversations WHERE id = :id", {"id": number})
            expiry.remove_contents(transaction, project.id)

    def _read(self, key: ConversationKey, load: Callable[[Transaction, int], T], nothing: T) -> T:
        key, work = check_key(key), self.workplace
        with projects.reading(work) as (transaction, project):
            row = transaction.one(
                f"SELECT id FROM conversations WHERE {_OF_KEY} AND {HAS_TURNS}",
                {**key_values(work, project, key), "now": work.clock()},
            )
            return load(transaction, int(row[0])) if row else nothing


def check_key(key: ConversationKey) -> ConversationKey:
    return ConversationKey(
        names.check_identifier(key.assistant, "assistant"),
        names.check_identifier(key.conversation, "conversation"),
    )


def key_values(work: Workplace, project: Project, key: ConversationKey) -> dict[str, object]:
    return {"project": project.id, "owner": work.owner, "assistant": key.assistant, "session": key.conversation}


def _lease_of(conversation: Conversation) -> dict[str, object]:
    return {"id": conversation.id, "token": conversation.lease.token}


def _is_held(transaction: Transaction, conversation: Conversation) -> bool:
    return transaction.one(f"SELECT 1 FROM conversations WHERE {_OF_LEASE}", _lease_of(conversation)) is not None


def _live_lease(columns: Sequence[Any], now: int) -> Lease | None:
    token, holder, since, until, process = columns
    # a lease longer than any maximum was made before the clock was set back
    if token is None or not now < until < now + 2 * LONGEST_LEASE_MS or _is_gone(process):
        return None
    return Lease(token, holder, since, until)


def _is_gone(process: str | None) -> bool:
    machine, _, number = (process or "").rpartition(" ")
    if not number.isdigit() or machine != os.uname().nodename:
        return False
    try:
        os.kill(int(number), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # a process of another user may not be signalled
    return False


def _refused(key: ConversationKey, lease: Lease) -> Conflict:
    year = year_of(lease.until)
    return Conflict(
        f"the conversation {key.conversation!r} with {key.assistant} is held by {lease.holder} "
        f"since {moment_text(lease.since, year)}, until {moment_text(lease.until, year)} UTC at the latest",
        "Wait until its call has ended, or use another conversation",
    )


def _lost(key: ConversationKey) -> Conflict:
    return Conflict(
        f"the conversation {key.conversation!r} with {key.assistant} is held by this call no longer: "
        "it was taken over once the lease had ended, or was reset",
        "Nothing of this turn was recorded; ask again to continue from its current state",
    )


def _begin(transaction: Transaction, work: Workplace, project: Project, key: ConversationKey, now: int) -> int:
    return transaction.add(
        "conversations",
        {
            "uid": os.urandom(16),
            "seq": 0,
            "project_id": project.id,
            "owner": work.owner,
            "assistant": key.assistant,
            "session_id": key.conversation,
            "created_at": now,
            "updated_at": now,
        },
    )


def _listed(transaction: Transaction, row: Row, now: int) -> ListedConversation:
    number, uid, seq, assistant, session, turns, *rest = row
    held_tokens, sent_tokens, resent_tokens, answer_tokens, created_at, updated_at, *lease = rest
    try:
        inline, overflow = list_placements(conversation_tables.load_files(transaction, number))
    except StoreDamaged:
        inline = overflow = ()  # listed nevertheless, so that it can be reset
    return ListedConversation(
        number,
        uid.hex(),
        seq,
        ConversationKey(assistant, session),
        turns,
        inline,
        overflow,
        held_tokens,
        sent_tokens,
        resent_tokens,
        answer_tokens,
        _live_lease(lease, now),
        created_at,
        updated_at,
    )
