"""What the commands of the ledger answer people, where times and old values matter to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.find.kind import Kind
from satchel.interfaces.text.decision_values import shown_value
from satchel.interfaces.text.files import checked_lines, claimed_lines, released_lines
from satchel.interfaces.text.tables import local_time
from satchel.keep.persons import shown_name

if TYPE_CHECKING:
    from satchel.keep.constraints import Constraint
    from satchel.keep.decisions.records import Decision, DecisionState
    from satchel.keep.entries.records import PruneResult
    from satchel.keep.files.records import Claimed, FilesChecked, Released
    from satchel.keep.messages.records import Message

_INDENT = "  "
_MAX_SHOWN = 200


def decided(decisions: Sequence[Decision]) -> str:
    """Say what decisions are now, what of them was different before, and what looks like them."""
    return "\n".join(_decided(decision) for decision in decisions)


def _decided(decision: Decision) -> str:
    lines = [f"{decision.ref} {decision.key} = {_short(shown_value(decision.value))} (revision {decision.revision})"]
    if decision.replaced is not None:
        lines += _before(decision.replaced, decision)
    lines += [
        f"{_INDENT}like {similar.ref} {similar.key} = {_short(shown_value(similar.value))}"
        f" (its {similar.by}, {similar.likeness} %)"
        for similar in decision.similar
    ]
    if decision.similar:
        lines.append(f"{_INDENT}Change the similar one instead, or say with --why what both are for.")
    return "\n".join(lines)


def _before(before: DecisionState, now: Decision) -> list[str]:
    fields = (
        ("value", shown_value(before.value), shown_value(now.value)),
        ("status", before.status, now.status),
        ("layer", before.layer, now.layer),
        ("version", before.version, now.version),
        ("tags", ", ".join(before.tags), ", ".join(now.tags)),
        ("scopes", ", ".join(before.scopes), ", ".join(now.scopes)),
        ("why", before.rationale, now.rationale),
    )
    changed = [f"{_INDENT * 2}{name}: {_short(old) or '(none)'}" for name, old, new in fields if old != new]
    return [
        f"{_INDENT}before, as {shown_name(before.agent or 'somebody unnamed')} set it {local_time(before.set_at)}:",
        *changed,
    ]


def pruned(result: PruneResult) -> str:
    """Say which notes of a run were removed, or would be."""
    counts = ", ".join(f"{count} {name}" for name, count in result.removed) or "nothing"
    return f"{'removed' if result.done else 'would remove'} {counts} from run {result.run_id}"


def prune_question(found: PruneResult) -> str | None:
    """Ask whether to remove the notes that were found."""
    return f"Remove {found.total} entries from run {found.run_id}?" if found.total else None


def constraint_added(constraint: Constraint) -> str:
    """Say that a rule was added."""
    return f"added {constraint.ref} ({constraint.category}, {constraint.priority})"


def sent(message: Message) -> str:
    """Say to whom a message went, what it answers, and how long it is kept."""
    answers = "" if message.reply_to is None else f", in answer to {Kind.MESSAGE.ref(message.reply_to)}"
    return (
        f"sent {message.ref} to {message.to or 'everyone'} ({message.type}, {message.priority}){answers}, "
        f"kept until {local_time(message.expires_at)}"
    )


def claimed(done: Claimed) -> str:
    """Say what was claimed and until when, and who shares it."""
    return "\n".join(claimed_lines(done, local_time))


def released(done: Released) -> str:
    """Say what is free now, and who wants it."""
    return "\n".join(released_lines(done, local_time))


def checked(done: FilesChecked) -> str | None:
    """Say whose each file is, until when, and what happened to it lately."""
    return "\n".join(checked_lines(done, local_time)) or None


def _indented(text: str) -> str:
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


def _short(text: str | None) -> str:
    """Return one line of a text; of a long one the beginning."""
    line = " ".join((text or "").split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]} …"
