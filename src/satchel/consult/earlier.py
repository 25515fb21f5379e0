"""Looking up conversations: by name, to take over, after a full one, and for an answer to use again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from satchel.base.errors import Conflict, NotFound, nearest
from satchel.base.paging import MAX_LIMIT
from satchel.base.records import replace
from satchel.consult import conversation_tables
from satchel.consult.conversation_records import ConversationKey, EarlierAnswer, ListedConversation
from satchel.consult.conversations import HAS_TURNS, Conversations, check_key, key_values
from satchel.consult.question import Question
from satchel.consult.records import ConversationState, KnownFile, PastTurn
from satchel.consult.window import NUMBERED
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.redaction import redact

_SECOND = 2
_COMPARED = 200
"""How many conversations are searched for an earlier answer."""

_NEARLY = 0.9
"""The share of its words that a question must have in common with an earlier one."""


def find_conversation(
    conversations: Conversations, conversation: str, assistant: str | None = None
) -> ListedConversation:
    """Find the one conversation that a name means.

    Args:
        assistant: with or without its provider; None where the name alone says which.

    Raises:
        NotFound: there is none.
        Conflict: there are several.
    """
    named = conversations.list(conversation=conversation, limit=MAX_LIMIT).items
    matches = [one for one in named if assistant in {None, one.key.assistant, one.key.assistant.partition(":")[2]}]
    if not matches:
        known = [one.key.conversation for one in conversations.list().items]
        others = ", ".join(one.key.assistant for one in named)
        close = nearest(conversation, known)
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
    """Return a question with the files, and the turns, of the conversation that a new one continues."""
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
    """Return the conversation whose discussion a new one begins with, or None.

    Args:
        takes_over: whether it is that of the same name with another assistant, the last continued one; otherwise
            that with the same assistant which was full, as ``auth`` for ``auth-2``.
    """
    key = check_key(key)
    numbered = NUMBERED.fullmatch(key.conversation)
    if takes_over:
        where, session = "assistant <> :assistant AND session_id = :session", key.conversation
    elif numbered:
        stem, number = numbered[1], int(numbered[2])
        where, session = "assistant = :assistant AND session_id = :session", f"{stem}-{number - 1}"
        session = stem if number == _SECOND else session
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
    work: Workplace, key: ConversationKey, question: str, files: Mapping[str, KnownFile]
) -> EarlierAnswer | None:
    """Find the last answer of any of the owner's conversations with the assistant to nearly the same question.

    Args:
        files: what the answer must have been about, in the same contents.
    """
    key = check_key(key)
    words, contents = _words(redact(question).text), _contents(files)
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
        rows = transaction.all(
            f"""
            SELECT c.id, c.session_id, t.n, t.created_at, t.question, t.answer
            FROM conversations c JOIN conversation_turns t ON t.conversation_id = c.id AND t.n = c.turns
            WHERE project_id = :project AND owner = :owner AND assistant = :assistant AND {HAS_TURNS}
            ORDER BY updated_at DESC LIMIT {_COMPARED}
            """,
            {**key_values(work, project, key), "now": work.clock()},
        )
        for number, session, n, created_at, asked, answer in rows:
            others = _words(asked)
            if len(words & others) >= _NEARLY * len(words | others) and contents == _contents(
                conversation_tables.load_files(transaction, number)
            ):
                return EarlierAnswer(session, n, created_at, answer)
    return None


def earlier_notes(earlier: EarlierAnswer | None) -> tuple[str, ...]:
    if earlier is None:
        return ()
    return (f"nearly the same question about the same files has an answer, {earlier.told}: reuse returns it",)


def _words(question: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", question.casefold()))


def _contents(files: Mapping[str, KnownFile]) -> set[tuple[str, bytes]]:
    return {(path, one.digest) for path, one in files.items() if one.digest is not None}
