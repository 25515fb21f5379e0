"""Questions: their options and checks, the storing of answers, and matches in earlier conversations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from satchel.base.errors import Conflict, InvalidInput, NotFound, SatchelError, nearest, unknown_name
from satchel.base.json_schema import check_schema
from satchel.base.paging import MAX_LIMIT
from satchel.base.records import dataclass, replace
from satchel.base.text import check_name, shortened
from satchel.consult import conversation_tables
from satchel.consult.consultation import Kept
from satchel.consult.conversations import HAS_TURNS, Conversations, check_key, key_values
from satchel.consult.models import NUMBERED
from satchel.consult.records import (
    ConversationKey,
    ConversationState,
    EarlierAnswer,
    FileState,
    ListedConversation,
    PastTurn,
    Settings,
)
from satchel.keep import projects
from satchel.keep.names import check_identifier
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content
from satchel.redaction import redact

if TYPE_CHECKING:
    from satchel.keep.decisions.service import Decisions
    from satchel.keep.entries.service import Entries
    from satchel.keep.runs import Runs

# Types of notes for answers: those whose content is a text.
KEPT_TYPES = ("discovery", "error", "decision")

_DECISION = "decision:"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Target of an answer: a note of a type, or a decision of a key."""

    entry_type: str | None = None
    decision_key: str | None = None


# Target of an answer without a requested target.
REMEMBERED = Keeping(entry_type="discovery")


def check_keeping(keep_as: str | None, *, dry_run: bool) -> Keeping | None:
    """Parse the target of an answer, before the answer is paid for."""
    if keep_as is None:
        return None
    if dry_run:
        raise InvalidInput("a dry run has no answer to keep", "Leave out what keeps it, or the dry run")
    if keep_as.startswith(_DECISION):
        return Keeping(decision_key=check_name(keep_as.removeprefix(_DECISION), "key"))
    if keep_as not in KEPT_TYPES:
        raise unknown_name("keep_as", keep_as, [*KEPT_TYPES, f"{_DECISION}KEY"])
    return Keeping(entry_type=keep_as)


class AnswerKeeper:
    """Stores answers as notes and decisions."""

    def __init__(self, entries: Entries, decisions: Decisions, runs: Runs) -> None:
        self._entries = entries
        self._decisions = decisions
        self._runs = runs

    def check(self, keeping: Keeping, run_id: str | None) -> None:
        """Check, before an answer is paid for, that the run for its note exists."""
        if keeping.entry_type is not None:
            self._runs.get(run_id)

    def keep(
        self,
        keeping: Keeping,
        assistant: str,
        question: Question,
        answer: str,
        max_bytes: int,
    ) -> Kept:
        """Store an answer with its question; a failure is returned, not raised, since the answer is paid for."""
        source = f"{assistant} on: {shortened(' '.join(question.instructions.split()))}"
        try:
            if keeping.decision_key is not None:
                decision = self._decisions.set(keeping.decision_key, answer, rationale=source, agent=question.agent)
                return Kept(decision.ref, f"kept as decision {decision.ref} {decision.key}", decision.notes)
            text = f"{source}\n\n{answer}"
            if keeping is REMEMBERED:
                text = text.encode()[:max_bytes].decode(errors="ignore")
            entry = self._entries.write(
                keeping.entry_type or KEPT_TYPES[0], text, run_id=question.run_id, agent=question.agent
            )
        except SatchelError as error:
            if keeping is REMEMBERED:
                return Kept(None, f"the answer was not remembered: {error}")
            return Kept(None, f"the answer was not kept: {error}", failure=error)
        if keeping is REMEMBERED:
            return Kept(entry.ref, f"remembered as {entry.ref}")
        return Kept(entry.ref, f"kept as {entry.ref} {entry.type} in run {entry.run_id}", entry.notes)


_AS_JSON = "Answer with JSON alone, without a code fence, that matches this JSON Schema: "
EFFORTS = ("low", "medium", "high")
_HOTTEST = 2
# The conversation of questions that name none.
DEFAULT_CONVERSATION = "default"


class QuestionOptions(TypedDict, total=False):
    """Options of a question.

    Keys:
        conversation: the caller's name for it.
        context: files and folders for the conversation; folders as git lists them.
        priority: files among them that go into the prompt first; they need not be in ``context`` too.
        attachments: files to search in this turn only.
        briefing: put a briefing from the store before the files; its items do not count as delivered.
        role, task_id: whose briefing it is, as for :meth:`satchel.Satchel.brief`.
        run_id: run of the briefing and of the stored note; None takes the default.
        agent: name of the caller; None takes the default.
        force: send files that hold secrets.
        allow_roots: absolute folders outside the project whose files may be sent too; only a person may set it.
        takes_over: start from files and turns of the conversation of the same name with another assistant.
        effort: amount of thinking: ``low``, ``medium`` or ``high``.
        temperature: of the sampling, 0 to 2; a provider refuses a value that its model does not support.
        schema: a JSON Schema of an object that the answer has to match.
        web_search: let the provider search the web, which it may bill apart.
        reuse: return an earlier answer of this assistant to nearly the same question about the same files.
    """

    conversation: str
    context: Sequence[str]
    priority: Sequence[str]
    attachments: Sequence[str]
    briefing: bool
    role: str | None
    task_id: str | None
    run_id: str | None
    agent: str | None
    force: bool
    reuse: bool
    allow_roots: Sequence[str]
    takes_over: bool
    effort: str | None
    temperature: float | None
    schema: Mapping[str, Any] | None
    web_search: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One turn's question, with the checked :class:`QuestionOptions`."""

    key: ConversationKey
    instructions: str
    notes: tuple[str, ...]
    keeping: Keeping | None
    settings: Settings
    context: tuple[str, ...]
    priority: tuple[str, ...]
    attachments: tuple[str, ...]
    allow_roots: tuple[str, ...]
    briefing: bool = False
    role: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    agent: str | None = None
    force: bool = False
    reuse: bool = False
    takes_over: bool = False


def check_question(
    instructions: str,
    *,
    max_bytes: int,
    keep_as: str | None = None,
    dry_run: bool = False,
    **options: Unpack[QuestionOptions],
) -> Question:
    rest: dict[str, Any] = dict(options)
    for root in rest.get("allow_roots", ()):
        if not Path(root).is_absolute() or not Path(root).is_dir():
            raise InvalidInput(f"{root[:200]!r} is not an absolute path of a folder", "Name a folder that exists")
    for field in ("context", "priority", "attachments", "allow_roots"):
        paths = rest.get(field, ())
        if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
            raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src", "README.md"]')
        rest[field] = tuple(paths)
    is_briefed = rest.get("briefing", False)
    unused = [name for name in ("role", "task_id") if rest.get(name) is not None]
    if unused and not is_briefed:
        raise InvalidInput(f"{', '.join(unused)} was given without briefing", "Ask for a briefing, or leave it out")
    settings = Settings(**{name: rest.pop(name) for name in Settings.__match_args__ if name in rest})
    if settings.effort is not None and settings.effort not in EFFORTS:
        raise unknown_name("effort", settings.effort, EFFORTS)
    if settings.temperature is not None and not 0 <= settings.temperature <= _HOTTEST:
        raise InvalidInput(f"temperature {settings.temperature!r} is out of range", f"Give 0 to {_HOTTEST}")
    keeping = check_keeping(keep_as, dry_run=dry_run)
    is_of_run = is_briefed or (keeping is not None and keeping.entry_type is not None)
    if rest.get("run_id") is not None and not is_of_run:
        raise InvalidInput("run_id was given without briefing or a note to keep", "Leave it out, or say what it is for")
    for name in ("run_id", "agent"):
        if rest.get(name) is not None:
            rest[name] = check_identifier(rest[name], name)
    content = check_content(instructions, "instructions", max_bytes)
    if settings.schema is not None:
        content = check_content(
            f"{instructions}\n\n{_AS_JSON}{check_schema(settings.schema)}", "instructions", max_bytes
        )
    return Question(
        ConversationKey("", check_identifier(rest.pop("conversation", DEFAULT_CONVERSATION), "conversation")),
        content.text,
        tuple(f"question: {note}" for note in content.notes),
        keeping,
        settings,
        **rest,
    )


# Conversations that are searched for an earlier answer.
_COMPARED = 200

# Minimum share of common words for a question to match an earlier one.
_NEARLY = 0.9


def find_conversation(
    conversations: Conversations, conversation: str, assistant: str | None = None
) -> ListedConversation:
    """Find a conversation by its name."""
    candidates = conversations.list(conversation=conversation, limit=MAX_LIMIT).items
    matches = [one for one in candidates if assistant in {None, one.key.assistant, one.key.assistant.partition(":")[2]}]
    if not matches:
        names = [one.key.conversation for one in conversations.list().items]
        others = ", ".join(one.key.assistant for one in candidates)
        close = nearest(conversation, names)
        raise NotFound(
            f"there is no conversation {conversation!r}{'' if assistant is None else f' with {assistant}'}",
            f"There is one with {others}" if others else f"Did you mean {close!r}?" if close else "See which there are",
        )
    if len(matches) > 1:
        raise Conflict(
            f"conversation {conversation!r} is with {', '.join(one.key.assistant for one in matches)}",
            "Name the assistant too",
        )
    return matches[0]


def take_over(
    conversations: Conversations, state: ConversationState, question: Question, is_gone: Callable[[str], bool]
) -> tuple[Question, tuple[PastTurn, ...]]:
    """Return the question with the files of the conversation that it continues, and the turns of that."""
    key = question.key
    before = None
    if not state.turns:
        before = predecessor(conversations.workplace, key, takes_over=question.takes_over)
    if before is None:
        if question.takes_over:
            raise Conflict(
                f"there is nothing of {key.conversation!r} for {key.assistant} to take over",
                f"Leave out takes_over: {key.assistant} has this conversation"
                if state.turns
                else "Name a conversation that you had with another model",
            )
        return question, ()
    files = conversations.state(before).files if question.takes_over else {}
    paths = [path for path, one in files.items() if one.digest is not None and not is_gone(path)]
    question = replace(question, context=tuple(dict.fromkeys((*question.context, *paths))))
    return question, conversations.past(before)


def predecessor(work: Workplace, key: ConversationKey, *, takes_over: bool) -> ConversationKey | None:
    """Return the conversation that a new one continues, or None."""
    key = check_key(key)
    numbered = NUMBERED.fullmatch(key.conversation)
    if takes_over:
        where, session = "assistant <> :assistant AND session_id = :session", key.conversation
    elif numbered:
        stem, before = numbered[1], int(numbered[2]) - 1
        where, session = "assistant = :assistant AND session_id = :session", f"{stem}-{before}" if before > 1 else stem
    else:
        return None
    with work.engine.read() as transaction:
        values = key_values(work, projects.find(transaction, work), key)
        row = transaction.one(
            f"""
            SELECT assistant FROM conversations
            WHERE project_id = :project AND owner = :owner AND {where} AND {HAS_TURNS}
            ORDER BY updated_at DESC, id DESC LIMIT 1
            """,
            {**values, "session": session, "now": work.clock()},
        )
    return None if row is None else ConversationKey(row[0], session)


def earlier_answer(
    work: Workplace, key: ConversationKey, question: str, files: Mapping[str, FileState]
) -> EarlierAnswer | None:
    """Find the last answer of any of the owner's conversations with the assistant to nearly the same question."""
    key = check_key(key)
    with projects.reading(work) as (transaction, project):
        rows = transaction.all(
            f"""
            SELECT c.id, c.session_id, t.n, t.created_at, t.question, t.answer
            FROM conversations c JOIN conversation_turns t ON t.conversation_id = c.id AND t.n = c.turns
            WHERE project_id = :project AND owner = :owner AND assistant = :assistant AND {HAS_TURNS}
            ORDER BY updated_at DESC LIMIT {_COMPARED}
            """,
            {**key_values(work, project, key), "now": work.clock()},
        )
        words, contents = _words(redact(question).text if rows else ""), _contents(files)
        for number, session, n, created_at, past_question, answer in rows:
            others = _words(past_question)
            if len(words & others) >= _NEARLY * len(words | others) and contents == _contents(
                conversation_tables.load_files(transaction, number)
            ):
                return EarlierAnswer(session, n, created_at, answer)
    return None


def earlier_notes(earlier: EarlierAnswer | None) -> tuple[str, ...]:
    if earlier is None:
        return ()
    return (f"nearly the same question about the same files has an answer, {earlier.description}: reuse returns it",)


def _words(question: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", question.casefold()))


def _contents(files: Mapping[str, FileState]) -> set[tuple[str, bytes]]:
    return {(path, one.digest) for path, one in files.items() if one.digest is not None}
