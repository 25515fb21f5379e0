"""Preparing a turn: files are read, earlier conversations looked at, and a plan is made; nothing is recorded."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, NotFound, Refused, nearest
from satchel.base.paging import MAX_LIMIT
from satchel.base.records import replace
from satchel.base.tokens import TokenCounter
from satchel.consult import conversation_tables
from satchel.consult.conversations import HAS_TURNS, Conversations, check_key, key_values
from satchel.consult.gathering import gather
from satchel.consult.models import NUMBERED, Assistant
from satchel.consult.planning import plan_turn
from satchel.consult.question import DEFAULT_CONVERSATION, Question
from satchel.consult.reading import has_media_name, media_tokens, read_content, searches_media, takes_media
from satchel.consult.records import (
    ALONE_SHARE,
    INLINE_SHARE,
    Content,
    ConversationKey,
    ConversationState,
    EarlierAnswer,
    FoundFile,
    Gathering,
    HeldBack,
    IsCancelled,
    KnownFile,
    ListedConversation,
    Media,
    PastTurn,
    TurnPlan,
    TurnRequest,
    raise_if_cancelled,
)
from satchel.consult.rounds import search_reserve
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.redaction import redact

if TYPE_CHECKING:
    pass


_TOLD_EVERY_FILES = 500
_FILE_BEGINS = re.compile("\n<file-")


class SharedReading:
    """The files of a question, gathered, read and counted once for all models that are asked it. Thread-safe."""

    def __init__(self, counter: TokenCounter) -> None:
        self.lock = RLock()
        self.gatherings: dict[tuple[tuple[str, ...], frozenset[str]], Gathering] = {}
        self.contents: dict[FoundFile, Content | HeldBack] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self._counter = counter
        self.counter = replace(counter, _count=self._count)

    def _count(self, text: str, kind: str | None) -> int:
        key = text, kind
        if key not in self._counts:
            # encodings begin anew at a "<" after an end of line, and most files of a prompt are in others' as well
            starts = _FILE_BEGINS.finditer(text) if kind is None and self._counter.exact else ()
            cuts = [0, *(start.start() + 1 for start in starts), len(text)]
            parts = [text[begin:end] for begin, end in pairwise(cuts)]
            count = self._counter.count(text, kind) if len(parts) == 1 else sum(self._count(one, None) for one in parts)
            self._counts[key] = count
        return self._counts[key]


class Preparing:
    """Plans the turns of a project's conversations."""

    def __init__(self, workplace: Workplace, conversations: Conversations, *, is_stable: bool) -> None:
        self._clock = workplace.clock
        self._conversations = conversations
        self._is_stable = is_stable
        self._root = workplace.files_root

    def is_gone(self, path: str) -> bool:
        """Return whether a file was deleted; one that cannot be examined does not count as deleted."""
        if self._root is None:
            return False
        try:
            Path(self._root, path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        except ValueError:
            # a name that no file can have, such as one with a zero byte; gathering refuses it
            return False
        return False

    def plan(
        self,
        state: ConversationState,
        question: Question,
        briefing: str | None,
        model: Assistant,
        on_progress: Callable[[str], None],
        is_cancelled: IsCancelled,
        shared: SharedReading,
        earlier: Sequence[PastTurn] = (),
    ) -> TurnPlan:
        """Decide what a turn sends."""
        with shared.lock:
            window = model.window
            # before the files are looked at: one that changes from now on is taken for changed
            now = self._clock()

            def look(paths: Sequence[str]) -> Gathering:
                key = tuple(paths), frozenset(filter(has_media_name, state.files)) if state.files else frozenset()
                if key not in shared.gatherings:
                    files = self._gather(paths, state.files, question, is_cancelled)
                    if any(map(self.is_gone, paths)):  # only a conversation that knows a path passes over it
                        return files
                    shared.gatherings[key] = files
                return shared.gatherings[key]

            if question.context or question.priority or question.attachments:
                on_progress("looking at the files")
            priority = look(question.priority)
            context = look((*question.context, *question.priority))
            request = TurnRequest(
                conversation=question.key.conversation,
                instructions=question.instructions,
                now=now,
                priority=frozenset(found.path for found in priority.files),
                attachments=look(question.attachments),
                briefing=briefing,
                is_stable=self._is_stable,
                taken=self._conversations.sessions(question.key),
                earlier=earlier,
                search_reserve=search_reserve(window),
                inline_share=ALONE_SHARE if question.key.conversation == DEFAULT_CONVERSATION else INLINE_SHARE,
            )
            done = 0

            def read(found: FoundFile) -> Content | HeldBack:
                nonlocal done
                raise_if_cancelled(is_cancelled)
                done += 1
                if done % _TOLD_EVERY_FILES == 0:
                    on_progress(f"read {done:,} files")
                if found not in shared.contents:
                    shared.contents[found] = read_content(found, force=question.force)
                content = shared.contents[found]
                if isinstance(content, HeldBack) or content.media is None:
                    return content
                return self._for_model(content, content.media, model.name, question)

            return plan_turn(
                state,
                context,
                read,
                shared.counter.times(window.token_factor),
                window,
                request,
                read_old=self._conversations.read_content,
                is_gone=self.is_gone,
            )

    def _gather(
        self, paths: Sequence[str], known: Collection[str], question: Question, is_cancelled: IsCancelled
    ) -> Gathering:
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        # one that the conversation knows and that is gone is a removal, not an error
        there = [path for path in paths if not (self.is_gone(path) and _knows(known, self._name_of(path)))]
        roots = [self._root, *question.allow_roots]
        return gather(there, roots, base=self._root, known=known, force=question.force, is_cancelled=is_cancelled)

    def _name_of(self, path: str) -> str:
        root = self._root or "/"
        # a link to the folder itself is resolved in the names that gathering gives
        for base in (root, os.path.realpath(root)):
            name = os.path.relpath(os.path.join(base, path), base)  # noqa: PTH118 -- a Path keeps `..`
            if not name.startswith(".."):
                return name
        return path

    @staticmethod
    def _for_model(content: Content, one: Media, model: str, question: Question) -> Content | HeldBack:
        if takes_media(model):
            tokens, is_searchable = media_tokens(model, one), searches_media(model, one)
            return replace(content, media=replace(one, tokens=tokens, is_searchable=is_searchable))
        if question.takes_over:
            return HeldBack(one.path, "media", f"{model} is sent no images and PDF")
        raise Refused(
            f"{model} is sent no images and PDF, such as {one.path}",
            "Leave them out, or ask a model of OpenAI, Anthropic or Google",
        )


def _knows(paths: Collection[str], path: str) -> bool:
    return path in paths or any(one.startswith(f"{path}/") for one in paths)


_COMPARED = 200
"""How many conversations are searched for an earlier answer."""

_NEARLY = 0.9
"""The share of its words that a question must have in common with an earlier one."""


def find_conversation(
    conversations: Conversations, conversation: str, assistant: str | None = None
) -> ListedConversation:
    """Find the one conversation that a name means."""
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
    """Return the conversation whose discussion a new one begins with, or None."""
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
    work: Workplace, key: ConversationKey, question: str, files: Mapping[str, KnownFile]
) -> EarlierAnswer | None:
    """Find the last answer of any of the owner's conversations with the assistant to nearly the same question."""
    key = check_key(key)
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
        words, contents = _words(redact(question).text if rows else ""), _contents(files)
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
    return (f"nearly the same question about the same files has an answer, {earlier.description}: reuse returns it",)


def _words(question: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", question.casefold()))


def _contents(files: Mapping[str, KnownFile]) -> set[tuple[str, bytes]]:
    return {(path, one.digest) for path, one in files.items() if one.digest is not None}
