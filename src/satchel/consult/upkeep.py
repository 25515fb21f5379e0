"""Records of vector stores at providers, which calls may leave behind.

A vector store lives as long as one call. The call announces it before it is made, and says when it was made and when it
was deleted; what is still recorded once its time has passed is swept by whichever call comes next.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from satchel.base.errors import Interrupted, SatchelError
from satchel.base.records import dataclass, replace
from satchel.consult.records import IsCancelled, never
from satchel.keep import names, projects
from satchel.keep.projects import Service, Workplace
from satchel.store.transaction import Row

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
