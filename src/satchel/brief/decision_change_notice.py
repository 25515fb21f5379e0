"""The agent who set a decision learns that another has changed it: a message, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Callable

from satchel.keep.decisions import ChangedDecision
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

_FIELDS = ("value", "status", "version", "layer", "tags", "scopes", "rationale")


def announcer(workplace: Workplace) -> Callable[[Transaction, ChangedDecision], None]:
    """Return what tells an agent that its decision was changed.

    Args:
        workplace: for how long messages are kept.
    """

    def announce(transaction: Transaction, overtaken: ChangedDecision) -> None:
        from satchel.keep.messages.updates import post

        post(
            transaction,
            overtaken.project_id,
            sender_id=overtaken.by_id,
            to_id=overtaken.agent_id,
            type="decision",
            priority="medium",
            text=_told(overtaken) if overtaken.kept is None else _proposed(overtaken),
            now=overtaken.decision.updated_at,
            retention=workplace.retention,
        )

    return announce


_BEGIN, _MIDDLE = "Decision ", ", which you had set, "


def is_notice(text: str) -> bool:
    """Whether a message says that a decision was changed, or that a change is proposed."""
    return text.startswith(_BEGIN) and _MIDDLE in text


def _proposed(proposed: ChangedDecision) -> str:
    draft = proposed.decision
    return (
        f"{_BEGIN}{proposed.kept}{_MIDDLE}stays as it is; an agent proposes a change: see the draft "
        f"{draft.ref} {draft.key}. Set {proposed.kept} to accept it"
    )


def _told(overtaken: ChangedDecision) -> str:
    """Say what was changed, without a word of what was decided: forgetting a decision must leave nothing of it here."""
    before, now = overtaken.before, overtaken.decision
    changed = [name for name in _FIELDS if getattr(before, name) != getattr(now, name)]
    if "value" in changed and now.rationale is None and "rationale" in changed:
        changed.remove("rationale")  # it went with the value that it was given for
    return (
        f"{_BEGIN}{now.key}{_MIDDLE}was changed ({', '.join(changed)}): revision {before.revision} is now "
        f"{now.revision}, get_decision shows both"
    )
