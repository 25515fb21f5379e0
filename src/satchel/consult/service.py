"""Consulting: one question to another model, with files that are sent once."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from satchel.base.config_keys import Config
from satchel.base.errors import (
    Conflict,
    Interrupted,
    InvalidInput,
    MissingExtra,
    NotFound,
    Refused,
    SatchelError,
    Unavailable,
    nearest,
)
from satchel.base.paging import MAX_LIMIT
from satchel.base.records import replace
from satchel.base.tokens import TokenCounter, token_counter
from satchel.consult.assistants.models import MAX_WINDOW, find_model
from satchel.consult.assistants.opening import AssistantSettings, ProviderState, open_assistant, providers
from satchel.consult.assistants.protocol import Ask, Assistant, Exchange, Reply, ThreadLost, Timing, noop
from satchel.consult.cancelling import IsCancelled, never, raise_if_cancelled
from satchel.consult.consultation import Consultation, Kept
from satchel.consult.conversation_records import (
    Conversation,
    ConversationKey,
    EarlierAnswer,
    ListedConversation,
    TurnResult,
)
from satchel.consult.conversations import Conversations
from satchel.consult.keeping import REMEMBERED, check_keeping
from satchel.consult.panel import Failure, Panel, comparison_request
from satchel.consult.placements import list_placements
from satchel.consult.planning import forgotten
from satchel.consult.preparing import Preparing, SharedReading
from satchel.consult.question import DEFAULT_CONVERSATION, Question, check_question
from satchel.consult.records import (
    ConversationState,
    PastTurn,
    TurnPlan,
)
from satchel.consult.sweeping import VectorStore, VectorStores
from satchel.keep.names import check_agent
from satchel.keep.projects import Workplace

if TYPE_CHECKING:
    from satchel.brief.briefing import Briefing
    from satchel.consult.keeping import AnswerKeeper

_LEASE_BEYOND_SILENCE_S = 60
_RENEWALS = 3
"""How often within its length a lease is renewed while an answer arrives."""

_BRIEFING_PART = 4
"""Of the room of a small window, the part that a briefing may take."""

_THREAD_LOST = "the provider had forgotten the thread: its files and what was said in it were sent again"
_MAX_QUERY_CHARS = 1_000
"""Of a question that a briefing is made for; what stands first in it tells most."""


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

    def __init__(
        self,
        workplace: Workplace,
        config: Config,
        brief: Callable[..., Briefing],
        keeper: Callable[[], AnswerKeeper],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Take what consultations need of the other services.

        Args:
            brief: makes briefings: :meth:`satchel.brief.briefing.Briefings.brief`.
            keeper: returns what keeps answers.
            environ: the environment; None is the process's own.
        """
        self._workplace = workplace
        self._config = config
        self._make_briefing = brief
        self._keeper = keeper
        self._environ = os.environ if environ is None else environ
        self._settings = AssistantSettings(
            config.consult_base_url, config.consult_window_tokens, config.consult_output_tokens
        )
        self.conversations = Conversations(workplace, max_blob_bytes=config.consult_blob_mib * 1024 * 1024)
        self.timing = Timing(silence=config.consult_idle_seconds, total=config.consult_total_seconds)

    @cached_property
    def _preparing(self) -> Preparing:
        return Preparing(self._workplace, self.conversations, is_stable=self._config.consult_stable_inline_list)

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts the tokens of prompts and answers."""
        return token_counter(self._config.tokens_encoding)

    def consult(
        self,
        assistant: str,
        instructions: str,
        *,
        conversation: str = DEFAULT_CONVERSATION,
        context: Sequence[str] = (),
        priority: Sequence[str] = (),
        attachments: Sequence[str] = (),
        briefing: bool = False,
        role: str | None = None,
        task_id: str | None = None,
        run_id: str | None = None,
        agent: str | None = None,
        keep_as: str | None = None,
        force: bool = False,
        reuse: bool = False,
        takes_over: bool = False,
        effort: str | None = None,
        temperature: float | None = None,
        dry_run: bool = False,
        on_text: Callable[[str], None] | None = None,
        shows_text: bool = True,
        on_progress: Callable[[str], None] | None = None,
        is_cancelled: IsCancelled | None = None,
    ) -> Consultation:
        """Ask an assistant.

        What was sent is recorded only once the assistant has answered; after an error or a cancellation the
        conversation is as it was, and no vector store is left.

        Args:
            assistant: a model, as in ``gpt-6-sol``, ``anthropic:claude-opus-5-5`` or ``ollama:qwen3:8b``.
            instructions: the question.
            conversation: the caller's name for it.
            context: files and folders that the conversation is about; folders as git sees them.
            priority: files among them that go into the prompt first; they need not be in ``context`` too.
            attachments: files to search in this turn only.
            briefing: whether what the store knows is put before the files. Nothing counts as delivered by that.
            role, task_id: whose briefing it is, as for :meth:`satchel.Satchel.brief`.
            run_id: the run of the briefing and of a note that is kept; None takes the default.
            agent: who asks; None takes the default.
            keep_as: what the answer is kept as: ``discovery``, ``error`` or ``decision`` for a note of that type,
                ``decision:`` and a key for a decision.
            force: send files that hold secrets.
            takes_over: begin with the files and the discussion of the conversation of that name with another assistant.
            effort: how much the model should think: ``low``, ``medium`` or ``high``.
            temperature: of the sampling, 0 to 2; a provider refuses what its model does not take.
            reuse: return an earlier answer of this assistant to nearly the same question about the same files.
            dry_run: only plan: say what would be sent where.
            on_text: gets the answer as it arrives.
            shows_text: whether ``on_text`` shows it to anybody; an answer that is cut off unseen is asked for again.
            on_progress: gets what is being done, in a few words.
            is_cancelled: asked again and again; True ends the call.

        Returns:
            The answer, with what was sent and what that saved.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: an argument or path is not acceptable.
            WindowFull: the conversation must end; names the conversation to continue in.
            Conflict: another call is in the conversation, and who.
            Unavailable: a key or the vendor's SDK is missing.
            AssistantFailed, Interrupted: nothing was answered and nothing recorded.
        """
        check_agent(self._workplace, agent)
        question = check_question(
            instructions,
            conversation=conversation,
            context=context,
            priority=priority,
            attachments=attachments,
            briefing=briefing,
            role=role,
            task_id=task_id,
            run_id=run_id,
            agent=agent,
            keep_as=keep_as,
            force=force,
            reuse=reuse,
            takes_over=takes_over,
            effort=effort,
            temperature=temperature,
            dry_run=dry_run,
            max_bytes=self._workplace.max_content_bytes,
        )
        return self._turn(
            assistant,
            question,
            SharedReading(self.counter),
            dry_run=dry_run,
            on_text=on_text,
            shows_text=shows_text,
            on_progress=on_progress,
            is_cancelled=is_cancelled,
        )

    def _turn(
        self,
        assistant: str,
        question: Question,
        shared: SharedReading,
        *,
        dry_run: bool,
        on_text: Callable[[str], None] | None = None,
        shows_text: bool = True,
        on_progress: Callable[[str], None] | None = None,
        is_cancelled: IsCancelled | None = None,
    ) -> Consultation:
        if self._workplace.is_confined and (question.context or question.priority or question.attachments):
            raise Refused(
                "the server does not see your files",
                "Put what matters into instructions, or ask with the local program (satchel consult, satchel mcp)",
            )
        model = open_assistant(assistant, self._environ, self._settings, timing=self.timing)
        question = replace(question, key=replace(question.key, assistant=model.name))
        if question.keeping is not None:
            self._keeper().check(question.keeping, question.run_id)
        known = self._brief(question, model)
        is_cancelled = is_cancelled or never
        listener = on_progress or noop
        if dry_run:
            state = self.conversations.state(question.key)
            question, past = self._take_over(state, question)
            plan = self._preparing.plan(state, question, known, model.window, listener, is_cancelled, shared, past)
            earlier = self.conversations.answered(question.key, question.instructions, plan.files)
            return self._told(question, model, state, plan, notes=_earlier_notes(earlier))
        swept = self._sweep(model, is_cancelled)
        lease_ms = int((self.timing.silence + _LEASE_BEYOND_SILENCE_S) * 1_000)
        with self.conversations.acquire_lease(question.key, lease_ms) as thread:
            renew = self._renewing(thread, lease_ms)

            def tell(what: str) -> None:
                renew()
                listener(what)

            question, past = self._take_over(thread.state, question)
            plan = self._preparing.plan(thread.state, question, known, model.window, tell, is_cancelled, shared, past)
            earlier = self.conversations.answered(question.key, question.instructions, plan.files)
            if earlier is not None and question.reuse:
                return self._reused(question, model, thread.state, plan, earlier)
            for note in _earlier_notes(earlier):
                listener(note)
            ask = Ask(
                plan.prompt,
                thread.state.provider_ref,
                self._history(thread.state, question.key, model),
                plan.overflow,
                thread.state.held_tokens + plan.tokens,
                on_text or noop,
                tell,
                is_cancelled,
                _Stores(VectorStores(self._workplace), thread.id),
                renew,
                shows_text,
                question.effort,
                question.temperature,
            )
            starts_over = False
            try:
                reply = model.ask(ask)
            except MissingExtra as error:
                if not self._workplace.is_confined:
                    raise
                raise Unavailable(error.problem, "Ask who runs this server to add the extra") from None
            except ThreadLost:
                starts_over = True
                state = forgotten(thread.state)
                past = self.conversations.past(question.key)
                plan = self._preparing.plan(state, question, known, model.window, tell, is_cancelled, shared, past)
                again = replace(ask, prompt=plan.prompt, provider_ref=None, history=(), searchable=plan.overflow)
                reply = model.ask(replace(again, tokens=plan.tokens))
            # of a thread that we keep only the text comes again, not what the model thought
            answered = reply.output_tokens if model.keeps_history else None
            if answered is None:
                answered = self.counter.times(model.window.token_factor).count(reply.text)
            result = TurnResult(plan, reply.text, answered, reply.provider_ref, starts_over)
            # a caller who cancelled while a store was being deleted gets no answer, and must find all as it was
            raise_if_cancelled(is_cancelled)
            committed = self.conversations.commit(thread, result)
        lost = (_THREAD_LOST,) if starts_over else ()
        notes = (*_earlier_notes(earlier), *swept, *lost, *committed.notes)
        kept = self._keep(question, model, reply)
        return self._told(
            question,
            model,
            committed.state,
            plan,
            reply,
            kept,
            notes,
        )

    def consult_many(
        self,
        assistants: Sequence[str],
        instructions: str,
        *,
        synthesis: str | None = None,
        keep_as: str | None = None,
        dry_run: bool = False,
        on_progress: Callable[[str], None] | None = None,
        is_cancelled: IsCancelled | None = None,
        **request: Any,
    ) -> Panel:
        """Ask several assistants at once; the files are gathered, read and counted once.

        Args:
            assistants: the models, each with a conversation of the name of its own.
            synthesis: the model that compares the answers; None compares nothing.
            keep_as: what the comparison is kept as.
            instructions, dry_run, on_progress, is_cancelled: as for :meth:`consult`.
            request: what else :meth:`consult` takes of a question.

        Raises:
            InvalidInput: a model is named twice, or there is no comparison to keep.
            SatchelError: the question is not acceptable, or every assistant failed; the error of the first.
        """
        from concurrent.futures import ThreadPoolExecutor  # it takes long to import

        names = [_full_name(one) for one in assistants]
        if len(set(names)) < len(names):
            raise InvalidInput("a model is named twice", "Name each model once")
        if synthesis is not None and len(names) < 2:
            raise InvalidInput("one answer cannot be compared", "Name more models, or leave out synthesis")
        if keep_as is not None and synthesis is None:
            raise InvalidInput("several answers cannot be kept as one", "Name a synthesis to keep, or ask one model")
        keeping = check_keeping(keep_as, dry_run=dry_run)
        question = check_question(instructions, max_bytes=self._workplace.max_content_bytes, dry_run=dry_run, **request)
        check_agent(self._workplace, question.agent)
        shared, lock, stop = SharedReading(self.counter), threading.Lock(), threading.Event()
        listener, is_cancelled = on_progress or noop, is_cancelled or never

        def is_over() -> bool:
            return stop.is_set() or is_cancelled()

        def ask(name: str) -> Consultation | Failure:
            def tell(what: str) -> None:
                with lock:
                    listener(f"{name}: {what}")

            try:
                return self._turn(
                    name, question, shared, dry_run=dry_run, shows_text=False, on_progress=tell, is_cancelled=is_over
                )
            except SatchelError as error:
                return Failure(name, error)

        with ThreadPoolExecutor(len(names)) as pool:
            try:
                panel = Panel.of(pool.map(ask, names))
            except BaseException:
                stop.set()  # the pool waits for its threads
                raise
        raise_if_cancelled(is_cancelled)
        if not panel.answers:
            raise panel.failures[0].error
        if synthesis is None or dry_run or len(panel.answers) < 2:
            return panel
        comparison = check_question(
            comparison_request(question.instructions, panel.answers),
            max_bytes=sys.maxsize,
            conversation=f"{question.key.conversation} synthesis",
            agent=question.agent,
        )
        comparison = replace(comparison, keeping=keeping)
        try:
            done = self._turn(
                synthesis,
                comparison,
                shared,
                dry_run=False,
                shows_text=False,
                on_progress=listener,
                is_cancelled=is_cancelled,
            )
        except SatchelError as error:
            return replace(panel, failures=(*panel.failures, Failure(synthesis, error)))
        return replace(panel, synthesis=done)

    def find(self, conversation: str, assistant: str | None = None) -> ListedConversation:
        """Find the one conversation that a name means.

        Args:
            assistant: with or without its provider; None where the name alone says which.

        Raises:
            NotFound: there is none.
            Conflict: there are several.
        """
        named = self.conversations.list(conversation=conversation, limit=MAX_LIMIT).items
        matches = [one for one in named if assistant in {None, one.key.assistant, one.key.assistant.partition(":")[2]}]
        if not matches:
            known = [one.key.conversation for one in self.conversations.list().items]
            others = ", ".join(one.key.assistant for one in named)
            close = nearest(conversation, known)
            raise NotFound(
                f"there is no conversation {conversation!r}{'' if assistant is None else f' with {assistant}'}",
                f"There is one with {others}"
                if others
                else f"Did you mean {close!r}?"
                if close
                else "See which there are",
            )
        if len(matches) > 1:
            raise Conflict(
                f"conversation {conversation!r} is with {', '.join(one.key.assistant for one in matches)}",
                "Name the assistant too",
            )
        return matches[0]

    def providers(self) -> tuple[ProviderState, ...]:
        """Return who could be asked here, and what is missing for the others."""
        return providers(self._environ, self._settings)

    def _brief(self, question: Question, model: Assistant) -> str | None:
        """Collect what the store knows for an assistant, which has seen nothing of it; None where that is nothing."""
        if question.briefing is None:
            return None
        room = (model.window.tokens - model.window.output) / model.window.token_factor
        briefing = self._make_briefing(
            question.briefing.role,
            task_id=question.briefing.task_id,
            run_id=question.run_id,
            agent=question.agent,
            query=question.instructions[:_MAX_QUERY_CHARS],
            budget=min(self._config.brief_budget, int(room / _BRIEFING_PART)),
            again=True,
            dry_run=True,
        )
        return briefing.text or None

    def _take_over(self, state: ConversationState, question: Question) -> tuple[Question, tuple[PastTurn, ...]]:
        """Return a question with the files, and the turns, of the conversation that a new one continues."""
        key = question.key
        before = None
        if not state.turns:
            before = self.conversations.predecessor(key, takes_over=question.takes_over)
        if before is None:
            if question.takes_over:
                raise Conflict(
                    f"there is nothing of {key.conversation!r} for {key.assistant} to take over",
                    f"Leave out takes_over: {key.assistant} has this conversation"
                    if state.turns
                    else "Name a conversation that you had with another model",
                )
            return question, ()
        files = self.conversations.state(before).files if question.takes_over else {}
        paths = [path for path, one in files.items() if one.digest is not None and not self._preparing.is_gone(path)]
        question = replace(question, context=tuple(dict.fromkeys((*question.context, *paths))))
        return question, self.conversations.past(before)

    def _reused(
        self, question: Question, model: Assistant, state: ConversationState, plan: TurnPlan, earlier: EarlierAnswer
    ) -> Consultation:
        """Return an earlier answer; nothing is sent or recorded."""
        whole = self._told(question, model, state, plan, notes=(f"nothing was sent: this is {earlier.told}",))
        return replace(whole, answer=earlier.answer, sent_tokens=0, saved_tokens=plan.resent_tokens)

    def _keep(self, question: Question, model: Assistant, reply: Reply) -> Kept | None:
        keeping = question.keeping or (REMEMBERED if self._config.consult_remember else None)
        if keeping is None:
            return None
        return self._keeper().keep(
            keeping,
            model.name,
            question.instructions,
            reply.text,
            run_id=question.run_id,
            agent=question.agent,
            max_bytes=self._workplace.max_content_bytes,
        )

    def _history(self, state: ConversationState, key: ConversationKey, model: Assistant) -> tuple[Exchange, ...]:
        """Return the turns that the provider does not keep for us."""
        if model.keeps_history or not state.turns:
            return ()
        return tuple(Exchange(turn.prompt, turn.answer) for turn in self.conversations.history(key))

    def _renewing(self, conversation: Conversation, lease_ms: int) -> Callable[[], None]:
        """Return what is to be called again and again, so that the conversation is held for as long as that happens."""
        clock = self._workplace.clock
        renewed_at = clock()

        def renew() -> None:
            nonlocal renewed_at
            if clock() - renewed_at > lease_ms / _RENEWALS:
                self.conversations.renew(conversation, lease_ms)
                renewed_at = clock()

        return renew

    def _sweep(self, model: Assistant, is_cancelled: IsCancelled) -> tuple[str, ...]:
        """Delete what a crash has left at the provider; a provider without stores of its own has nothing."""
        if model.sweeper is None:
            return ()
        try:
            swept = VectorStores(self._workplace).sweep(model.sweeper, is_cancelled=is_cancelled)
        except Interrupted:
            raise
        except SatchelError as error:
            return (f"vector stores that earlier calls left were not looked for: {error.problem}",)
        return tuple(f"a vector store that an earlier call left is still there: {one}" for one in swept.failures)

    def _told(
        self,
        question: Question,
        model: Assistant,
        state: ConversationState,
        plan: TurnPlan,
        reply: Reply | None = None,
        kept: Kept | None = None,
        notes: Sequence[str] = (),
    ) -> Consultation:
        inline, overflow = list_placements(
            {path: known for path, known in plan.files.items() if known.digest is not None}
        )
        return Consultation(
            assistant=model.name,
            address=model.address,
            conversation=question.key.conversation,
            turn=state.turns + (reply is None),
            answer=None if reply is None else reply.text,
            inline=inline,
            overflow=overflow,
            searchable=len(plan.overflow) - len(plan.attachments),
            attachments=plan.attachments,
            held_back=(*plan.held_back, *(reply.dropped if reply else ())),
            sent_tokens=plan.tokens,
            saved_tokens=max(0, plan.resent_tokens - plan.tokens),
            held_tokens=state.held_tokens + (plan.tokens if reply is None else 0),
            window_tokens=model.window.tokens,
            input_tokens=reply.input_tokens if reply else None,
            output_tokens=reply.output_tokens if reply else None,
            queries=reply.queries if reply else (),
            cited=reply.cited if reply else (),
            kept=kept,
            notes=(
                *question.notes,
                *plan.notes,
                *(reply.notes if reply else ()),
                *notes,
                *(kept.notes if kept else ()),
            ),
        )


def _earlier_notes(earlier: EarlierAnswer | None) -> tuple[str, ...]:
    if earlier is None:
        return ()
    return (f"nearly the same question about the same files has an answer, {earlier.told}: reuse returns it",)


def _full_name(assistant: str) -> str:
    try:
        return find_model(assistant, window=MAX_WINDOW).full_name
    except InvalidInput:
        return assistant  # its own turn refuses it
