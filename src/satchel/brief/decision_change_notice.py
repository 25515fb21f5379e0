"""A message to the author of a decision that another agent has changed, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Callable

from satchel.brief.fields import quoted
from satchel.keep.decisions import ChangedDecision
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

_FIELDS = ("value", "status", "version", "layer", "tags", "scopes", "paths", "metadata", "rationale")


def announcer(workplace: Workplace) -> Callable[[Transaction, ChangedDecision], None]:
    """Return a function that sends the message about a change."""

    def announce(transaction: Transaction, overtaken: ChangedDecision) -> None:
        from satchel.keep.messages.updates import post

        post(
            transaction,
            overtaken.project_id,
            sender_id=overtaken.by_id,
            to_id=overtaken.agent_id,
            type="decision",
            priority="medium",
            text=_text(overtaken) if overtaken.kept is None else _proposal_text(overtaken),
            now=overtaken.decision.updated_at,
            retention=workplace.retention,
        )

    return announce


_BEGIN, _MIDDLE = "Decision ", ", which you had set, "


def is_notice(text: str) -> bool:
    """Return whether a message is such a notice."""
    return text.startswith(_BEGIN) and _MIDDLE in text


def _proposal_text(proposed: ChangedDecision) -> str:
    draft = proposed.decision
    return (
        f"{_BEGIN}{proposed.kept}{_MIDDLE}stays as it is; an agent proposes a change: see the draft "
        f"{draft.ref} {draft.key}. Set {proposed.kept} to accept it"
    )


def _text(overtaken: ChangedDecision) -> str:
    # the fields only: after a decision is forgotten, no word of it may remain in messages
    before, now = overtaken.before, overtaken.decision
    changed = [name for name in _FIELDS if getattr(before, name) != getattr(now, name)]
    if "value" in changed and now.rationale is None and "rationale" in changed:
        changed.remove("rationale")  # a rationale belongs to its value
    ref = quoted(f"decision:{now.key}") if " " in now.key else f"decision:{now.key}"
    return (
        f"{_BEGIN}{now.key}{_MIDDLE}was changed ({', '.join(changed)}): revision {before.revision} is now "
        f"{now.revision}, get_items ids={ref} shows both"
    )
