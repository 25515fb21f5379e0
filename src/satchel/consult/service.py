"""Consulting: one question to another model, with files that are sent once."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from satchel.base.config import Config
from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.redaction import finds_secret
from satchel.base.text import check_name
from satchel.base.tokens import TokenCounter, token_counter
from satchel.consult.assistants.opening import AssistantSettings, open_assistant
from satchel.consult.assistants.protocol import Ask, Assistant, Exchange, Reply, ThreadLost, Timing
from satchel.consult.assistants.searching import search_reserve
from satchel.consult.conversation_records import LOCAL, Conversation, ConversationKey, TurnResult
from satchel.consult.conversations import Conversations
from satchel.consult.gathering import gather
from satchel.consult.planning import TurnRequest, forgotten, plan_turn
from satchel.consult.reading import read_content
from satchel.consult.records import (
    Content,
    ConversationState,
    FoundFile,
    Gathering,
    HeldBack,
    Placement,
    TurnPlan,
)
from satchel.consult.sweeping import Remover, VectorStore, VectorStores
from satchel.keep.names import check_identifier
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content

DEFAULT_SESSION = "default"
_LEASE_BEYOND_SILENCE_S = 60
_RENEWALS = 3
"""How often within its length a lease is renewed while an answer arrives."""


@dataclass(frozen=True, slots=True)
class Consultation:
    """One turn of a conversation with an assistant: answered, or only planned.

    Attributes:
        answer: None for a turn that was only planned.
        turn: the how-manieth of the conversation it is, from 1.
        inline, overflow: where each file of the conversation is, by path.
        held_back: what was not sent, and why.
        sent_tokens: what the prompt added to the window; ``saved_tokens``, what a full resend would have added more.
        held_tokens: what the conversation holds now, of ``window_tokens``.
        queries: what the assistant searched for.
        notes: what the caller should know.
    """

    assistant: str
    session_id: str
    turn: int
    answer: str | None
    inline: tuple[str, ...]
    overflow: tuple[str, ...]
    held_back: tuple[HeldBack, ...]
    sent_tokens: int
    saved_tokens: int
    held_tokens: int
    window_tokens: int
    queries: tuple[str, ...]
    cited: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    """What one call asks, checked."""

    key: ConversationKey
    instructions: str
    notes: tuple[str, ...]
    context: tuple[str, ...]
    priority: tuple[str, ...]
    attachments: tuple[str, ...]
    briefing: str | None
    force: bool


class _Stores:
    """Records hosted stores as those of one conversation."""

    def __init__(self, stores: VectorStores, conversation_id: int) -> None:
        self._stores = stores
        self._conversation_id = conversation_id

    def announce(self, provider: str) -> VectorStore:
        return self._stores.announce(provider, self._conversation_id)

    def made(self, store: VectorStore, external_id: str) -> VectorStore:
        return self._stores.made(store, external_id)

    def deleted(self, store: VectorStore) -> None:
        self._stores.deleted(store)


class Consulting:
    """Conversations with other models."""

    def __init__(self, workplace: Workplace, config: Config, environ: Mapping[str, str] | None = None) -> None:
        self._workplace = workplace
        self._config = config
        self._environ = os.environ if environ is None else environ
        self.conversations = Conversations(workplace)
        self.timing = Timing()

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts the tokens of prompts and answers."""
        return token_counter(self._config.tokens_encoding)

    def consult(
        self,
        assistant: str,
        instructions: str,
        *,
        session_id: str = DEFAULT_SESSION,
        context: Sequence[str] = (),
        priority: Sequence[str] = (),
        attachments: Sequence[str] = (),
        briefing: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        owner: str = LOCAL,
        on_text: Callable[[str], None] | None = None,
        on_progress: Callable[[str], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> Consultation:
        """Ask an assistant.

        What was sent is recorded only once the assistant has answered; after an error or a cancellation the
        conversation is as it was, and no vector store is left.

        Args:
            assistant: a model, as in ``gpt-6``, ``anthropic:claude-opus-5-5`` or ``ollama:qwen3:8b``.
            instructions: the question.
            session_id: the caller's name for the conversation.
            context: files and folders that the conversation is about; folders as git sees them.
            priority: files among them that go into the prompt first; they need not be in ``context`` too.
            attachments: files to search in this turn only.
            briefing: what the store knows, put before the files.
            force: send files that hold secrets.
            dry_run: only plan: say what would be sent where.
            owner: whose conversation it is.
            on_text: gets the answer as it arrives.
            on_progress: gets what is being done, in a few words.
            is_cancelled: asked again and again; True ends the call.

        Returns:
            The answer, with what was sent and what that saved.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: an argument or path is not acceptable.
            WindowFull: the conversation must end; names the session to continue under.
            Conflict: another call is in the conversation, and who.
            Unavailable: a key or the vendor's SDK is missing.
            AssistantFailed, Interrupted: nothing was answered and nothing recorded.
        """
        question = self._check(session_id, owner, instructions, context, priority, attachments, briefing, force=force)
        settings = AssistantSettings(
            self._config.consult_base_url, self._config.consult_window_tokens, self._config.consult_output_tokens
        )
        model = open_assistant(assistant, self._environ, settings, timing=self.timing)
        question = replace(question, key=replace(question.key, assistant=model.name))
        if dry_run:
            state = self.conversations.state(question.key)
            plan = self._plan(state, question, model, self.conversations.reader())
            return self._told(question, model, state, plan, None, ())
        swept = self._sweep(model)
        lease_ms = int((self.timing.silence + _LEASE_BEYOND_SILENCE_S) * 1_000)
        with self.conversations.holding(question.key, lease_ms) as conversation:
            read_old = self.conversations.reader()
            plan = self._plan(conversation.state, question, model, read_old)
            ask = Ask(
                plan.prompt,
                conversation.state.provider_ref,
                self._history(conversation.state, question.key, model),
                plan.overflow,
                conversation.state.held_tokens + plan.tokens,
                self._renewing(conversation, lease_ms, on_text),
                self._renewing(conversation, lease_ms, on_progress),
                is_cancelled or (lambda: False),
                _Stores(VectorStores(self._workplace), conversation.id),
            )
            starts_over = False
            try:
                reply = model.ask(ask)
            except ThreadLost:
                starts_over = True
                plan = self._plan(forgotten(conversation.state), question, model, read_old)
                again = replace(ask, prompt=plan.prompt, provider_ref=None, history=(), searchable=plan.overflow)
                reply = model.ask(replace(again, tokens=plan.tokens))
            plan = replace(plan, new_contents=_without_secrets(plan.new_contents))
            answered = reply.output_tokens if reply.output_tokens is not None else self.counter.count(reply.text)
            result = TurnResult(plan, reply.text, answered, reply.provider_ref, starts_over)
            committed = self.conversations.commit(conversation, result)
        lost = ("the provider had forgotten the thread: its files were sent again",) if starts_over else ()
        return self._told(question, model, committed.state, plan, reply, (*swept, *lost, *committed.notes))

    def _check(
        self,
        session_id: str,
        owner: str,
        instructions: str,
        context: Sequence[str],
        priority: Sequence[str],
        attachments: Sequence[str],
        briefing: str | None,
        *,
        force: bool,
    ) -> _Question:
        for field, paths in (("context", context), ("priority", priority), ("attachments", attachments)):
            if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
                raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src", "README.md"]')
        asked = check_content(instructions, "instructions", self._workplace.max_content_bytes)
        return _Question(
            key=ConversationKey("", check_identifier(session_id, "session_id"), check_name(owner, "owner")),
            instructions=asked.text,
            notes=tuple(f"question: {note}" for note in asked.notes),
            context=tuple(context),
            priority=tuple(priority),
            attachments=tuple(attachments),
            briefing=briefing,
            force=force,
        )

    def _plan(
        self,
        state: ConversationState,
        question: _Question,
        model: Assistant,
        read_old: Callable[[bytes], str | None],
    ) -> TurnPlan:
        """Plan a turn; where files overflow, anew with room for what searches return."""
        # before the files are looked at: one that changes from now on is taken for changed
        now = self._workplace.clock()
        priority = self._gather(question.priority, state, force=question.force)
        context = self._gather((*question.context, *question.priority), state, force=question.force)
        attachments = self._gather(question.attachments, state, force=question.force)
        request = TurnRequest(
            session_id=question.key.session_id,
            instructions=question.instructions,
            now=now,
            priority=frozenset(found.path for found in priority.files),
            attachments=attachments,
            briefing=question.briefing,
            is_stable=self._config.consult_stable_inline_list,
            taken=self.conversations.sessions(question.key),
        )

        def read(found: FoundFile) -> Content | HeldBack:
            return read_content(found, force=question.force)

        def plan(window_tokens: int) -> TurnPlan:
            return plan_turn(
                state,
                context,
                read,
                self.counter,
                replace(model.window, tokens=window_tokens),
                request,
                read_old=read_old,
                is_gone=self._is_gone,
            )

        planned = plan(model.window.tokens)
        if planned.overflow and not state.turns:
            return plan(model.window.tokens - search_reserve(model.window))
        return planned

    def _gather(self, paths: Sequence[str], state: ConversationState, *, force: bool) -> Gathering:
        """Look at files; a path that the conversation knows and that is gone is a removal, not an error."""
        base = self._workplace.files_root
        if not paths:
            return Gathering((), ())
        if base is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        there = [path for path in paths if self._known_as(path) not in state.files or not self._is_gone(path)]
        return gather(there, [base], base=base, force=force)

    def _known_as(self, path: str) -> str:
        """Return what a path that is gone was called in the conversation."""
        base = self._workplace.files_root or "/"
        # a link to the base itself is resolved in the names that gathering gives
        for root in (base, os.path.realpath(base)):
            name = os.path.relpath(os.path.join(root, path), root)  # noqa: PTH118 -- a Path keeps `..`
            if not name.startswith(".."):
                return name
        return path

    def _is_gone(self, path: str) -> bool:
        try:
            Path(self._workplace.files_root or "/", path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        return False

    def _history(self, state: ConversationState, key: ConversationKey, model: Assistant) -> tuple[Exchange, ...]:
        """Return the turns that the provider does not keep for us."""
        if model.keeps_history or not state.turns:
            return ()
        return tuple(Exchange(turn.prompt, turn.answer) for turn in self.conversations.history(key))

    def _renewing(
        self, conversation: Conversation, lease_ms: int, listener: Callable[[str], None] | None
    ) -> Callable[[str], None]:
        """Return what passes on what is heard of a call, and holds the conversation for as long as something is."""
        clock = self._workplace.clock
        renewed_at = clock()

        def heard(text: str) -> None:
            nonlocal renewed_at
            if clock() - renewed_at > lease_ms / _RENEWALS:
                self.conversations.renew(conversation, lease_ms)
                renewed_at = clock()
            if listener is not None:
                listener(text)

        return heard

    def _sweep(self, model: Assistant) -> tuple[str, ...]:
        """Delete what a crash has left at the provider; a provider without stores of its own has nothing."""
        account: str | None = getattr(model, "account", None)
        remove: Remover | None = getattr(model, "remove", None)
        if account is None or remove is None:
            return ()
        try:
            swept = VectorStores(self._workplace).sweep(account, remove)
        except SatchelError as error:
            return (f"vector stores that earlier calls left were not looked for: {error.problem}",)
        return tuple(f"a vector store that an earlier call left is still there: {one}" for one in swept.failures)

    def _told(
        self,
        question: _Question,
        model: Assistant,
        state: ConversationState,
        plan: TurnPlan,
        reply: Reply | None,
        notes: Sequence[str],
    ) -> Consultation:
        placed = {path: known for path, known in plan.files.items() if known.digest is not None}
        return Consultation(
            assistant=model.name,
            session_id=question.key.session_id,
            turn=state.turns + (reply is None),
            answer=None if reply is None else reply.text,
            inline=tuple(sorted(path for path, known in placed.items() if known.placement is Placement.INLINE)),
            overflow=tuple(sorted(path for path, known in placed.items() if known.placement is Placement.OVERFLOW)),
            held_back=(*plan.held_back, *(reply.dropped if reply else ())),
            sent_tokens=plan.tokens,
            saved_tokens=max(0, plan.resent_tokens - plan.tokens),
            held_tokens=state.held_tokens + (plan.tokens if reply is None else 0),
            window_tokens=model.window.tokens,
            queries=reply.queries if reply else (),
            cited=reply.cited if reply else (),
            notes=(*question.notes, *plan.notes, *(reply.notes if reply else ()), *notes),
        )


def _without_secrets(contents: Mapping[bytes, str]) -> dict[bytes, str]:
    """Keep no content with a secret: without it a changed file goes whole."""
    return {digest: text for digest, text in contents.items() if finds_secret(text) is None}
