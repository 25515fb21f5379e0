"""Upkeep of consultations: vector stores at providers that calls may leave behind, and the checks of `satchel doctor`.

A vector store lives as long as one call. The call announces it before it is made, and says when it was made and when it
was deleted; what is still recorded once its time has passed is swept by whichever call comes next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from satchel.base.errors import Interrupted, SatchelError, StoreDamaged
from satchel.base.records import dataclass, replace
from satchel.consult import conversation_tables
from satchel.consult.records import IsCancelled, never
from satchel.keep import names, projects
from satchel.keep.housekeeping.checks import Examination
from satchel.keep.projects import Service, Workplace
from satchel.store.engine import Engine
from satchel.store.transaction import Row, Transaction
from satchel.store.upkeep import Check

LIFE_MS = 3_600_000
"""How long a call may need its vector store without saying so again."""

MAX_SWEPT = 5
"""How many stores one call sweeps at most, so that it is not kept from its own work."""

_ANNOUNCED, _MADE, _LEAVING = 1, 2, 3
"""States as the table numbers them."""

_NAME = "satchel-"
_COLUMNS = "uid, provider, external_id, conversation_id, attempts, expires_at, created_at"
_RECORD = f"""
    INSERT INTO vector_stores
        (uid, project_id, conversation_id, provider, external_id, state, expires_at, created_at)
    VALUES
        (:uid, :project, (SELECT id FROM conversations WHERE id = :conversation), :provider, :external,
        :state, :expires, :created)
    ON CONFLICT (uid) DO UPDATE
    SET external_id = excluded.external_id, state = excluded.state, expires_at = excluded.expires_at
    RETURNING {_COLUMNS}
"""
_IS_DUE = "project_id = :project AND provider = :provider AND expires_at <= :now ORDER BY expires_at, id LIMIT 1"
# the pause after it doubles from five minutes on, up to a day
_CLAIM = f"""
    UPDATE vector_stores
    SET state = {_LEAVING}, attempts = attempts + 1,
        expires_at = :now + CASE WHEN attempts < 9 THEN 300000 * (1 << CAST(attempts AS INTEGER)) ELSE 86400000 END
    WHERE id = (SELECT id FROM vector_stores WHERE {_IS_DUE})
    RETURNING {_COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class VectorStore:
    """A vector store at a provider, as it is recorded here."""

    name: str
    provider: str
    external_id: str | None
    conversation_id: int | None
    attempts: int
    expires_at: int
    created_at: int


Remover = Callable[[VectorStore, IsCancelled], None]
"""Deletes a store at its provider, by its external id or, where that is None, whichever has its name.

It succeeds where there is none any more, and raises a :class:`SatchelError` where it cannot tell. Its second argument
is asked again and again whether to give up, which it does with :class:`Interrupted`.
"""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Deleter of stores at a provider."""

    account: str
    remove: Remover


class VectorStores(Service):
    """The vector stores that a project has at providers, or may have; new ones are those of a conversation."""

    def __init__(self, workplace: Workplace, conversation_id: int | None = None) -> None:
        super().__init__(workplace)
        self._conversation_id = conversation_id

    def announce(self, provider: str) -> VectorStore:
        """Record a store before it is made; this is durable when it returns."""
        provider = names.check_identifier(provider, "provider")
        now = self._workplace.clock()
        name = f"{_NAME}{os.urandom(16).hex()}"
        return self._record(VectorStore(name, provider, None, self._conversation_id, 0, 0, now), _ANNOUNCED)

    def made(self, store: VectorStore, external_id: str) -> VectorStore:
        """Record the provider's name for a store, once known; again, to say that it is still in use.

        A store that was swept in the meantime, before it was there, is recorded again.
        """
        return self._record(replace(store, external_id=external_id), _MADE)

    def _record(self, store: VectorStore, state: int) -> VectorStore:
        work = self._workplace
        with work.engine.write() as transaction:
            now = work.clock()
            row = transaction.one(
                _RECORD,
                {
                    "uid": _uid(store),
                    "project": projects.ensure(transaction, work, now).id,
                    "conversation": store.conversation_id,
                    "provider": store.provider,
                    "external": store.external_id,
                    "state": state,
                    "expires": now + LIFE_MS,
                    "created": store.created_at,
                },
            )
        assert row is not None
        return _store(row)

    def deleted(self, store: VectorStore) -> None:
        """Record that a store is gone at its provider, or was never made."""
        with self._workplace.engine.write() as transaction:
            transaction.run("DELETE FROM vector_stores WHERE uid = :uid", {"uid": _uid(store)})

    def sweep(self, sweeper: Sweeper, most: int = MAX_SWEPT, is_cancelled: IsCancelled = never) -> list[str]:
        """Delete at a provider what earlier calls left there.

        Returns why some were not deleted.

        What cannot be deleted is tried again after a pause, of five minutes first, then twice as long each time.
        """
        failures: list[str] = []
        for _ in range(most):
            # one at a time: what a cancelled sweep did not come to is not kept from the next one
            store = self._claim(sweeper.account)
            if store is None:
                break
            try:
                sweeper.remove(store, is_cancelled)
            except Interrupted:
                raise
            except SatchelError as error:
                failures.append(f"the vector store {store.external_id or store.name} was not deleted: {error.problem}")
            else:
                self.deleted(store)
        return failures

    def _claim(self, provider: str) -> VectorStore | None:
        work = self._workplace
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            values = {"project": project.id, "provider": provider, "now": work.clock()}
            if transaction.one(f"SELECT 1 FROM vector_stores WHERE {_IS_DUE}", values) is None:
                return None
        with work.engine.write() as transaction:
            row = transaction.one(_CLAIM, values)
        return None if row is None else _store(row)


def _store(row: Row) -> VectorStore:
    uid, *rest = row
    return VectorStore(f"{_NAME}{uid.hex()}", *rest)


def _uid(store: VectorStore) -> bytes:
    return bytes.fromhex(store.name.removeprefix(_NAME))


_PER_STEP = 50
"""How many texts are read at a time: one may take megabytes."""


def check_turns(engine: Engine) -> Check:
    """Read every turn and list of files, and compare the turns with the count of their conversation."""
    with engine.read() as transaction:
        total, unread = 0, []
        for _, compressed, n, session, assistant in _in_steps(transaction, _TURNS):
            total += 1
            if conversation_tables.unpack_words(compressed) is None:
                unread.append(f"turn {n} of {session!r} with {assistant} cannot be read")
        for number, session, assistant in transaction.all("SELECT id, session_id, assistant FROM conversations"):
            try:
                conversation_tables.load_files(transaction, number)
            except StoreDamaged:
                unread.append(f"the list of files of {session!r} with {assistant} cannot be read")
        missing = [
            f"{session!r} with {assistant} has {there} of its {turns} turns"
            for session, assistant, turns, there in transaction.all(_MISSING)
        ]
    problems = [*unread, *missing]
    if problems:
        return Check(
            "conversations",
            "failed",
            f"{problems[0]} ({len(problems)} in all); `satchel consult --reset` forgets such a conversation, "
            "`satchel restore` goes back to a backup",
        )
    return Check("conversations", "ok", f"every turn can be read, {total} in all")


def check_contents(engine: Engine) -> Check:
    """Compare every content that is kept for diffs with its digest."""
    with engine.read() as transaction:
        whole = [
            conversation_tables.unpack_content(digest, compressed) is not None
            for _, compressed, digest in _in_steps(transaction, _ALL_CONTENTS)
        ]
    damaged = whole.count(False)
    if damaged:
        return Check(
            "contents",
            "warning",
            f"{damaged} of {len(whole)} are damaged: they count as missing, so their files go whole where a diff would "
            "have done, which replaces them",
        )
    return Check("contents", "ok", f"every one is what was sent, {len(whole)} in all")


def check_vector_stores(engine: Engine) -> Check:
    """Count the vector stores at providers that are recorded, and those that no call uses any more."""
    with engine.read() as transaction:
        rows = transaction.all(_ALL_STORES, {"now": engine.clock()})
    total, left = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if left:
        accounts = ", ".join(account for account, _, several in rows if several)
        return Check(
            "vector stores",
            "warning",
            f"{left} of {total} were left by calls that broke off; the next question with the same key deletes them "
            f"({accounts})",
        )
    return Check("vector stores", "ok", f"{total} recorded, perhaps still in use" if total else "none are recorded")


EXAMINATIONS: tuple[Examination, ...] = (
    ("conversations", check_turns),
    ("contents", check_contents),
    ("vector stores", check_vector_stores),
)
"""Every check of this module, in their order."""

_TURNS = """
    SELECT t.id, t.prompt, t.n, c.session_id, c.assistant
    FROM conversation_turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id > :after ORDER BY t.id LIMIT :most
"""
_ALL_CONTENTS = "SELECT id, bytes, digest FROM blobs WHERE id > :after ORDER BY id LIMIT :most"
_MISSING = """
    SELECT c.session_id, c.assistant, c.turns, count(t.id)
    FROM conversations c LEFT JOIN conversation_turns t ON t.conversation_id = c.id AND t.n <= c.turns
    GROUP BY c.id, c.session_id, c.assistant, c.turns HAVING count(t.id) <> c.turns ORDER BY c.id
"""
# one that was tried to delete has time until the next try, and is left over all the same
_ALL_STORES = """
    SELECT provider, count(*), count(*) FILTER (WHERE expires_at <= :now OR attempts > 0)
    FROM vector_stores GROUP BY provider ORDER BY provider
"""


def _in_steps(transaction: Transaction, sql: str) -> Iterator[Row]:
    after = 0
    while rows := transaction.all(sql, {"after": after, "most": _PER_STEP}):
        yield from rows
        after = rows[-1][0]
