"""Consultations and conversations with other models as text.

The first line of a consultation has the assistant, the conversation and turn, the cost, and the address; the answer
follows, each line after a space, so that it cannot pass for the lines below: the files, the searches, the files
held back with the reason, and notes. A turn that was only planned names its files, any other counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, year_of
from satchel.base.records import dataclass
from satchel.interfaces.text.json import Fields, fields_of
from satchel.interfaces.text.lists import Line, list_text, note_lines, show_lines
from satchel.interfaces.text.parts import content_lines, counted, value_text
from satchel.store.transaction import grouped

if TYPE_CHECKING:
    from satchel.base.paging import Page
    from satchel.consult.consultation import BackgroundConsultation, Consultation, Panel
    from satchel.consult.providers import ProviderState
    from satchel.consult.records import ConversationHistory, HeldBack, ListedConversation, ListedFile

# The most files of a part that a consultation, and a conversation in a list, name.
_MAX_NAMED, _MAX_LISTED = 50, 10


def consultation_text(done: Consultation | Panel) -> str:
    from satchel.consult.consultation import Panel

    if isinstance(done, Panel):
        parts = [consultation_text(one) for one in (*done.answers, done.synthesis) if one is not None]
        return "\n\n".join([*parts, *failure_lines(done)])
    answer = [] if done.answer is None else content_lines(done.answer)
    return "\n".join([cost_line(done), *answer, *rest_lines(done)])


def background_text(one: BackgroundConsultation) -> str:
    if one.result is not None:
        return consultation_text(one.result)
    if one.error is not None:
        return f"consultation {one.handle} gave no answer [{one.error.code}]: {one.error}"
    return (
        f"consultation {one.handle} is running, {one.seconds} s: {value_text(one.step)}; get_consultation waits for it"
    )


def background_fields(one: BackgroundConsultation) -> Fields:
    fields: Fields = {"handle": one.handle, "state": one.state, "step": one.step, "seconds": one.seconds}
    if one.error is not None:
        fields["error"] = f"[{one.error.code}] {one.error}"
    return fields if one.result is None else {**fields, "result": fields_of(one.result)}


def failure_lines(panel: Panel) -> list[str]:
    return [f"{one.assistant} gave no answer [{one.error.code}]: {one.error}" for one in panel.failures]


def cost_line(done: Consultation) -> str:
    """Return the assistant, the cost and the address of a turn."""
    who = f"{done.assistant} {value_text(done.conversation)} turn {done.turn}"
    counts = f"{done.sent_tokens:,} tokens, {done.saved_tokens:,} saved; window {done.held_tokens:,} of"
    if done.answer is None:
        cost = "" if done.cost is None else f"; ${done.cost:.4f} and the answer"
        return f"nothing was sent; {who} would send {counts} {done.window_tokens:,}{cost}; address {done.address}"
    by_way = (("in", done.input_tokens), ("out", done.output_tokens))
    billed = [f"{count:,} {way}" for way, count in by_way if count is not None]
    paid = f"; the provider counted {', '.join(billed)}" if billed else ""
    paid += "" if done.cost is None else f", ${done.cost:.4f}"
    return f"{who}: sent {counts} {done.window_tokens:,}{paid}; address {done.address}"


def rest_lines(done: Consultation) -> list[str]:
    lines = []
    if done.answer is None:
        lines += _part_lines("inline", done.inline) + _part_lines("overflow", done.overflow)
        lines += [f"attachments {len(done.attachments)}: {_paths_text(done.attachments)}"] if done.attachments else []
    elif done.inline or done.searchable or done.attachments:
        counts = ((len(done.inline), "inline"), (done.searchable, "searchable"), (len(done.attachments), "attachments"))
        lines.append("files: " + ", ".join(f"{count} {part}" for count, part in counts if count))
    if done.queries:
        lines.append(f"searched: {' '.join(value_text(query) for query in done.queries)}")
    if done.cited:
        lines.append(f"cited: {_paths_text(done.cited)}")
    lines += _held_back_lines(done.held_back)
    lines += [] if done.mismatch is None else [str(done.failure)]
    lines += [] if done.kept is None else [done.kept.message]
    return [*lines, *note_lines(done.notes)]


def _part_lines(part: str, files: Iterable[ListedFile], most: int | None = _MAX_NAMED) -> list[str]:
    return [
        f"{part} {len(paths)}{'' if why is None else f' ({why})'}: {_paths_text(paths, most)}"
        for why, paths in grouped((file.why, file.path) for file in files).items()
    ]


def _held_back_lines(files: Iterable[HeldBack]) -> list[str]:
    groups = grouped((f"{one.reason}: {one.detail}", one.path) for one in files)
    return [f"held back ({reason}): {_paths_text(paths)}" for reason, paths in groups.items()]


def _paths_text(paths: Sequence[str], most: int | None = _MAX_NAMED) -> str:
    first = paths if most is None else paths[:most]
    more = f" and {len(paths) - len(first):,} more" if len(first) < len(paths) else ""
    return " ".join(value_text(path) for path in first) + more


@dataclass(frozen=True, slots=True)
class Conversations:
    """A page of conversations and the available assistants; with all files for a single conversation."""

    page: Page[ListedConversation]
    states: Sequence[ProviderState]
    with_files: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A conversation that was deleted, or would be."""

    found: ListedConversation
    done: bool


def conversations_text(listed: Conversations) -> str:
    lines = [_line(one, None if listed.with_files else _MAX_LISTED) for one in listed.page]
    return "\n".join([list_text("conversation", listed.page, lines, (None,)), assistants_line(listed.states)])


def show_conversations(listed: Conversations) -> None:
    import click

    lines = [_line(one, None if listed.with_files else _MAX_LISTED) for one in listed.page]
    show_lines(listed.page, "conversations", lines)
    click.echo(assistants_line(listed.states), err=True)


def conversations_fields(listed: Conversations) -> Fields:
    return {**fields_of(listed.page, "conversations"), "assistants": fields_of(list(listed.states))}


def turns_text(history: ConversationHistory) -> str:
    one = history.conversation
    lines = [f"{value_text(one.key.conversation)} with {one.key.assistant}, {counted(one.turns, 'turn')}:"]
    for turn in history.turns:
        lines += [f"turn {turn.n} {moment_text(turn.created_at, year_of(one.updated_at))}"]
        lines += [*content_lines(turn.question), "answer", *content_lines(turn.answer)]
    return "\n".join(lines)


def turns_fields(history: ConversationHistory) -> Fields:
    key = history.conversation.key
    return {"conversation": key.conversation, "assistant": key.assistant, **fields_of(history.turns, "turns")}


def assistants_line(states: Sequence[ProviderState]) -> str:
    """List the assistants, with what is not set for those that are unavailable."""
    able = ", ".join(one.provider for one in states if one.missing is None)
    others = ", ".join(f"{one.provider} ({one.missing})" for one in states if one.missing is not None)
    return f"assistants: {able}" + (f"; not set: {others}" if others else "")


def may_reset(would: Reset) -> str:
    key = would.found.key
    return f"Forget {key.conversation} with {key.assistant}, {counted(would.found.turns, 'turn')}?"


def reset_text(reset: Reset) -> str:
    one = reset.found
    counts = f"{counted(one.turns, 'turn')}, {counted(_files(one), 'file')}"
    what = f"{value_text(one.key.conversation)} with {one.key.assistant}: {counts}"
    return f"forgot {what}" if reset.done else f"nothing was forgotten; would forget {what}"


def reset_fields(reset: Reset) -> Fields:
    key = reset.found.key
    fields = {"conversation": key.conversation, "assistant": key.assistant, "turns": reset.found.turns}
    return {**fields, "files": _files(reset.found), "done": reset.done}


def _files(one: ListedConversation) -> int:
    return len(one.inline) + len(one.overflow)


def _line(one: ListedConversation, most: int | None) -> Line:
    below = [
        f" {line}"
        for part, files in (("inline", one.inline), ("overflow", one.overflow))
        for line in _part_lines(part, [file for file in files if not file.is_removed], most)
    ]
    removed = [file.path for file in (*one.inline, *one.overflow) if file.is_removed]
    below += [f" removed {len(removed)}: {_paths_text(removed, most)}"] if removed else []
    if one.lease is not None:
        below.append(
            f" {one.lease.holder} is in it, until {moment_text(one.lease.until, year_of(one.updated_at))} at most"
        )
    own = (
        f"turns:{one.turns}",
        f"holds:{one.held_tokens:,}",
        f"sent:{one.sent_tokens:,}",
        f"saved:{one.saved_tokens:,}",
        f"answers:{one.answer_tokens:,}",
    )
    return Line(
        start=value_text(one.key.conversation),
        cells=(one.key.assistant,),
        own=own,
        moment=one.updated_at,
        after=() if one.created_at == one.updated_at else (("began", one.created_at),),
        below=tuple(below),
    )
