"""Undo of what a person accepted from a document."""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.keep.documents.states import SOURCE, delete_states, digest_of, load_states, save_states
from satchel.keep.kind import Line
from satchel.keep.moving.states import forget_losing, kept_of
from satchel.keep.moving.taking import Taking
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction


def reopen(
    workplace: Workplace, transaction: Transaction, project_id: int, item: tuple[Kind, int], accepted_at: int
) -> bool:
    """Propose again what was accepted for an item at a time, and return whether its former state was restored.

    A note or rule gets the state that an accepted change replaced; an item that is new then has none, and decisions
    have a history of their own.
    """
    former = _restore(workplace, transaction, project_id, item, accepted_at)
    kind, number = item[0].number, item[1]
    states = [
        one
        for one in load_states(transaction, project_id)
        if (one.kind, one.item) == (kind, number) and one.created_at >= accepted_at
    ]
    delete_states(transaction, project_id, states)
    if former is not None:
        # so that the text in the document is a change of the former one again
        digest = digest_of("", str(former.get("text", former.get("content"))), former.get("paths", ()))
        save_states(transaction, project_id, [one._replace(digest=digest) for one in states])
    return former is not None


def _restore(
    workplace: Workplace, transaction: Transaction, project_id: int, item: tuple[Kind, int], accepted_at: int
) -> Line | None:
    kept_states = kept_of(transaction, project_id, item[0].table, item[1])
    lines = [one.line for one in kept_states if one.is_ours and (one.source, one.kept_at) == (SOURCE, accepted_at)]
    if not lines:
        return None
    # it is no lost state any more, and can become one again
    forget_losing(transaction, project_id, lines[0]["uid"], accepted_at)
    taking = Taking(workplace, source=SOURCE, is_ordered=True, decided=True, is_accepted=True)
    taking.take(transaction, project_id, lines[:1])
    return lines[0]
