"""Preparing a turn: the project's files are looked at, and what the turn sends is planned. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock

from satchel.base.records import replace
from satchel.base.tokens import TokenCounter
from satchel.consult.assistants.searching import search_reserve
from satchel.consult.conversations import Conversations
from satchel.consult.planning import plan_turn
from satchel.consult.project_files import ProjectFiles, read_content
from satchel.consult.question import DEFAULT_CONVERSATION, Question
from satchel.consult.records import (
    ALONE_SHARE,
    INLINE_SHARE,
    Content,
    ConversationState,
    FoundFile,
    Gathering,
    HeldBack,
    IsCancelled,
    PastTurn,
    TurnPlan,
    TurnRequest,
    Window,
    raise_if_cancelled,
)
from satchel.keep.projects import Workplace

_TOLD_EVERY_FILES = 500


class SharedReading:
    """The files of a question, gathered, read and counted once for all models that are asked it. Thread-safe."""

    def __init__(self, counter: TokenCounter) -> None:
        self.lock = RLock()
        self.gatherings: dict[tuple[str, ...], Gathering] = {}
        self.contents: dict[FoundFile, Content | HeldBack] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self._counter = counter
        self.counter = replace(counter, _count=self._count)

    def _count(self, text: str, kind: str | None) -> int:
        key = text, kind
        if key not in self._counts:
            self._counts[key] = self._counter.count(text, kind)
        return self._counts[key]


class Preparing:
    """Plans the turns of a project's conversations."""

    def __init__(self, workplace: Workplace, conversations: Conversations, *, is_stable: bool) -> None:
        """Take what plans are made with.

        Args:
            is_stable: whether files are sent once; else every file in the prompt is sent whole in every turn.
        """
        self._clock = workplace.clock
        self._conversations = conversations
        self._is_stable = is_stable
        self._files = ProjectFiles(workplace.files_root)

    def is_gone(self, path: str) -> bool:
        """Return whether a file that was in the project is not any more."""
        return self._files.is_gone(path)

    def plan(
        self,
        state: ConversationState,
        question: Question,
        briefing: str | None,
        window: Window,
        on_progress: Callable[[str], None],
        is_cancelled: IsCancelled,
        shared: SharedReading,
        earlier: Sequence[PastTurn] = (),
    ) -> TurnPlan:
        """Decide what a turn sends.

        Args:
            state: after the last successful turn.
            briefing: what the store knows, or None.
            window: of the assistant's model.
            on_progress: gets what is being done, in a few words.
            is_cancelled: asked again and again; True ends it.
            shared: what the plans for several models have in common.
            earlier: turns that the provider has forgotten, the oldest first.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: a path is not acceptable, or what must be sent fits nowhere.
            WindowFull: the conversation must end; names the conversation to continue in.
            Interrupted: it was cancelled.
        """
        with shared.lock:
            # before the files are looked at: one that changes from now on is taken for changed
            now = self._clock()

            def look(paths: Sequence[str]) -> Gathering:
                key = tuple(paths)
                if key not in shared.gatherings:
                    gathering = self._files.gather(
                        paths,
                        state.files,
                        allow_roots=question.allow_roots,
                        force=question.force,
                        is_cancelled=is_cancelled,
                    )
                    if any(map(self._files.is_gone, paths)):  # only a conversation that knows a path passes over it
                        return gathering
                    shared.gatherings[key] = gathering
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
                return shared.contents[found]

            return plan_turn(
                state,
                context,
                read,
                shared.counter.times(window.token_factor),
                window,
                request,
                read_old=self._conversations.reader(),
                is_gone=self._files.is_gone,
            )
