"""Consulting: one question to another model, with files that are sent once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from satchel.base.config_keys import Config
from satchel.base.errors import Interrupted, InvalidInput, MissingExtra, Refused, SatchelError, Unavailable
from satchel.base.json_schema import find_mismatch, unfenced
from satchel.base.records import replace
from satchel.base.text import MAX_NAME_CHARS
from satchel.base.tokens import TokenCounter, token_counter
from satchel.consult import is_consulted
from satchel.consult.consultation import (
    BackgroundConsultation,
    Consultation,
    Failure,
    Kept,
    Panel,
    ask_all,
    check_panel,
    comparison_request,
    consultation_of,
    get_background,
    start_background,
)
from satchel.consult.conversations import Conversations
from satchel.consult.models import Ask, Assistant, ThreadLost, Timing, WindowFull, find_price, full_name_of, noop
from satchel.consult.planning import Preparing, SharedReading, forgotten
from satchel.consult.providers import AssistantSettings, ProviderState, open_assistant, providers
from satchel.consult.question import (
    REMEMBERED,
    Keeping,
    Question,
    QuestionOptions,
    check_question,
    earlier_answer,
    earlier_notes,
    take_over,
)
from satchel.consult.records import (
    Conversation,
    ConversationState,
    EarlierAnswer,
    IsCancelled,
    Tell,
    TurnPlan,
    TurnResult,
    never,
    raise_if_cancelled,
)
from satchel.consult.vector_stores import VectorStores
from satchel.keep.names import check_agent
from satchel.keep.projects import Workplace

if TYPE_CHECKING:
    from satchel.brief.briefing.records import Briefing
    from satchel.consult.question import AnswerKeeper

_LEASE_BEYOND_SILENCE_S = 60
# Renewals of a lease within its length while an answer arrives.
_RENEWALS = 3

# Maximum share of a small window for a briefing.
_BRIEFING_SHARE = 0.25

_CLIENT_BILLED = "the client adds its own instructions, and counts against the account that it is signed in with"
_WEB_BILLED = "the provider bills web searches, and the tokens of their results, on top"
# Suffix of the name of a conversation about comparisons.
_SYNTHESIS = " synthesis"

# Characters of a question that a briefing is made for; the beginning matters most.
_MAX_QUERY_CHARS = 1_000


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
        """Counter of the tokens of prompts and answers."""
        return token_counter(self._config.tokens_encoding)

    def consult(
        self,
        assistant: str,
        instructions: str,
        *,
        keep_as: str | None = None,
        dry_run: bool = False,
        on_text: Tell | None = None,
        shows_text: bool = True,
        on_progress: Tell | None = None,
        is_cancelled: IsCancelled | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Consultation:
        """Ask an assistant.

        What was sent is recorded only once the assistant has answered; after an error or a cancellation the
        conversation is as it was, and no vector store is left.

        Args:
            assistant: a model, as in ``gpt-6-sol``, ``anthropic:claude-opus-5-5`` or ``ollama:qwen3:8b``.
            instructions: the question.
            keep_as: store the answer as a note of type ``discovery``, ``error`` or ``decision``, or as a decision:
                ``decision:KEY``.
            dry_run: only plan what would be sent.
            on_text: receives the answer as it arrives.
            shows_text: whether ``on_text`` shows it to somebody; an answer that breaks off unseen is requested again.
            on_progress: receives the current step, in a few words.
            is_cancelled: polled; True ends the call.
            **options: see :class:`QuestionOptions`.

        Returns:
            The answer, and what was sent and saved.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: an argument or path is invalid.
            WindowFull: the conversation is full; the error names the one to continue in.
            Conflict: another call holds the conversation.
            Unavailable: a key or the vendor's SDK is missing.
            AssistantFailed, Interrupted: nothing was answered and nothing recorded.
        """
        question = self._question(instructions, keep_as=keep_as, dry_run=dry_run, **options)
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

    def _question(
        self, instructions: str, *, keep_as: str | None, dry_run: bool, **options: Unpack[QuestionOptions]
    ) -> Question:
        check_agent(self._workplace, options.get("agent"))
        max_bytes = self._workplace.max_content_bytes
        question = check_question(instructions, max_bytes=max_bytes, keep_as=keep_as, dry_run=dry_run, **options)
        if question.keeping is not None:
            self._keeper().check(question.keeping, question.run_id)
        return question

    def _turn(
        self,
        assistant: str,
        question: Question,
        shared: SharedReading,
        *,
        dry_run: bool,
        on_text: Tell | None = None,
        shows_text: bool = True,
        on_progress: Tell | None = None,
        is_cancelled: IsCancelled | None = None,
    ) -> Consultation:
        if self._workplace.is_confined and (question.context or question.priority or question.attachments):
            raise Refused(
                "the server does not see your files",
                "Put what matters into instructions, or ask with the local program (satchel consult, satchel mcp)",
            )
        if is_consulted(self._environ):
            raise Refused("a client that is consulted asks no other model", "Answer with what you have")
        model = open_assistant(assistant, self._environ, self._settings, timing=self.timing)
        if self._workplace.is_confined and model.name.startswith("cli:"):
            raise Refused("the clients of this machine are not asked for others", "Ask one of yours: satchel consult")
        for name in sorted(model.unsupported):
            value = getattr(question.settings, name)
            if value is not None and value is not False:
                raise InvalidInput(f"{model.name} takes no {name}", f"Leave out {name}, or ask another model")
        question = replace(question, key=replace(question.key, assistant=model.name))
        price = find_price(model.name, self._config.consult_prices)
        briefing = self._brief(question, model)
        is_cancelled = is_cancelled or never
        listener = on_progress or noop

        def prepare(state: ConversationState, tell: Tell) -> tuple[Question, TurnPlan, EarlierAnswer | None]:
            whole, past = take_over(self.conversations, state, question, self._preparing.is_gone)
            plan = self._preparing.plan(state, whole, briefing, model, tell, is_cancelled, shared, past)
            return whole, plan, earlier_answer(self._workplace, whole.key, whole.instructions, plan.files)

        if dry_run:
            state = self.conversations.state(question.key)
            question, plan, earlier = prepare(state, listener)
            costs = ((question.settings.web_search, _WEB_BILLED), (model.name.startswith("cli:"), _CLIENT_BILLED))
            billed = tuple(note for applies, note in costs if applies)
            return consultation_of(question, model, state, plan, notes=(*earlier_notes(earlier), *billed), price=price)
        swept = self._sweep(model, is_cancelled)
        lease_ms = int((self.timing.silence + _LEASE_BEYOND_SILENCE_S) * 1_000)
        with self.conversations.acquire_lease(question.key, lease_ms) as thread:
            renew = self._renewing(thread, lease_ms)

            def tell(what: str) -> None:
                renew()
                listener(what)

            question, plan, earlier = prepare(thread.state, tell)
            schema = question.settings.schema
            if earlier is not None and question.reuse and find_mismatch(earlier.answer, schema) is None:
                (on_text or noop)(earlier.answer)
                return self._reused(question, model, thread.state, plan, earlier)
            for note in earlier_notes(earlier):
                listener(note)
            ask = Ask(
                plan.prompt,
                thread.state.provider_ref,
                (),
                plan.overflow,
                thread.state.held_tokens + plan.tokens,
                on_text or noop,
                tell,
                is_cancelled,
                VectorStores(self._workplace, thread.id),
                renew,
                shows_text,
                question.settings,
                plan.media,
            )
            lost: tuple[str, ...] = ()
            try:
                is_held = model.keeps_history or not thread.state.turns
                reply = model.ask(replace(ask, history=() if is_held else self.conversations.thread(question.key)))
            except MissingExtra as error:
                if not self._workplace.is_confined:
                    raise
                raise Unavailable(error.problem, "Ask who runs this server to add the extra") from None
            except ThreadLost as error:
                lost = (f"{error.problem}: its files and discussion were sent again",)
                state = forgotten(thread.state)
                past = self.conversations.past(question.key)
                plan = self._preparing.plan(state, question, briefing, model, tell, is_cancelled, shared, past)
                again = replace(ask, prompt=plan.prompt, provider_ref=None, searchable=plan.overflow, media=plan.media)
                reply = model.ask(replace(again, tokens=plan.tokens))
            if schema is not None:
                reply = replace(reply, text=unfenced(reply.text))
            # a locally stored thread repeats only the text, not the model's thinking
            answered = reply.output_tokens if model.keeps_history else None
            if answered is None:
                answered = self.counter.times(model.window.token_factor).count(reply.text)
            result = TurnResult(plan, reply.text, answered, reply.provider_ref, bool(lost))
            # a caller who cancelled while a store was being deleted gets no answer, so nothing may have changed
            raise_if_cancelled(is_cancelled)
            state, hidden = self.conversations.commit(thread, result)
        notes = (*earlier_notes(earlier), *swept, *lost, *hidden)
        mismatch = find_mismatch(reply.text, schema)
        keeping = question.keeping or (REMEMBERED if self._config.consult_remember else None)
        kept = None if mismatch else self._keep(keeping, question, model, reply.text)
        whole = consultation_of(question, model, state, plan, reply, kept, notes, price)
        return replace(whole, mismatch=mismatch)

    def consult_many(
        self,
        assistants: Sequence[str],
        instructions: str,
        *,
        synthesis: str | None = None,
        keep_as: str | None = None,
        dry_run: bool = False,
        on_progress: Tell | None = None,
        is_cancelled: IsCancelled | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Panel:
        """Ask several assistants at once; the files are gathered, read and counted once.

        Args:
            assistants: the models; each has its own conversation of the given name.
            synthesis: model that compares the answers; None for no comparison.
            keep_as: how to store the comparison.
            instructions, dry_run, on_progress, is_cancelled: as for :meth:`consult`.
            **options: see :class:`QuestionOptions`.

        Raises:
            InvalidInput: a model is named twice, or there is no comparison to store.
            SatchelError: the question is invalid, or every assistant failed (the error of the first).
        """
        names = [full_name_of(one) for one in assistants]
        check_panel(names, synthesis, keep_as)
        question = self._question(instructions, keep_as=keep_as, dry_run=dry_run, **options)
        if synthesis is not None:  # before the answers are paid
            open_assistant(synthesis, self._environ, self._settings)
        keeping, question, shared = question.keeping, replace(question, keeping=None), SharedReading(self.counter)
        listener, is_cancelled = on_progress or noop, is_cancelled or never

        def ask(name: str, tell: Tell, is_over: IsCancelled) -> Consultation:
            return self._turn(
                name, question, shared, dry_run=dry_run, shows_text=False, on_progress=tell, is_cancelled=is_over
            )

        # planned one after the other, since the threads would wait for each other
        panel = ask_all(names, ask, listener, is_cancelled, 1 if dry_run else len(names))
        if synthesis is None or dry_run or len(panel.answers) < 2:
            return panel
        request = comparison_request(question.instructions, panel.answers)
        name = f"{question.key.conversation[: MAX_NAME_CHARS - len(_SYNTHESIS)]}{_SYNTHESIS}"
        while True:
            comparison = check_question(request, max_bytes=sys.maxsize, conversation=name, agent=question.agent)
            question = replace(comparison, keeping=keeping, run_id=question.run_id)
            try:
                return replace(panel, synthesis=ask(synthesis, listener, is_cancelled))
            except WindowFull as full:  # only this module chooses such a name
                name = full.continue_as
            except SatchelError as error:
                return replace(panel, failures=(*panel.failures, Failure(synthesis, error)))

    def start(
        self, assistants: Sequence[str], instructions: str, *, synthesis: str | None = None, **options: Any
    ) -> BackgroundConsultation:
        """Ask one or several assistants in the background, as :meth:`consult` and :meth:`consult_many` do."""
        if options.get("dry_run"):
            raise InvalidInput("a dry run takes no time", "Leave out background, or dry_run")

        def ask(tell: Tell, is_cancelled: IsCancelled) -> Consultation | Panel:
            more = {**options, "on_progress": tell, "is_cancelled": is_cancelled}
            if len(assistants) > 1 or synthesis is not None:
                return self.consult_many(assistants, instructions, synthesis=synthesis, **more)
            return self.consult(assistants[0], instructions, shows_text=False, **more)

        return start_background(self._owner, ask)

    def get(self, handle: str, *, wait: float = 0, cancel: bool = False) -> BackgroundConsultation:
        """Return the state of a consultation in the background, or its answer.

        Args:
            handle: from :meth:`start`.
            wait: seconds to wait for the answer, up to 45.
            cancel: whether to end it.

        Raises:
            NotFound: the caller has no consultation of the handle.
        """
        return get_background(self._owner, handle, wait=wait, cancel=cancel)

    @property
    def _owner(self) -> Hashable:
        work = self._workplace
        return work.engine.folder, work.project_name, work.suggested_name, work.root, work.owner

    def providers(self) -> tuple[ProviderState, ...]:
        """Return the available providers, and what the others lack."""
        return providers(self._environ, self._settings)

    def _brief(self, question: Question, model: Assistant) -> str | None:
        if not question.briefing:
            return None
        room = (model.window.tokens - model.window.output) / model.window.token_factor
        briefing = self._make_briefing(
            question.role,
            task_id=question.task_id,
            run_id=question.run_id,
            agent=question.agent,
            query=question.instructions[:_MAX_QUERY_CHARS],
            budget=min(self._config.brief_budget, int(room * _BRIEFING_SHARE)),
            again=True,
            dry_run=True,
        )
        return briefing.text or None

    def _reused(
        self, question: Question, model: Assistant, state: ConversationState, plan: TurnPlan, earlier: EarlierAnswer
    ) -> Consultation:
        kept = self._keep(question.keeping, question, model, earlier.answer)
        notes = (f"nothing was sent: this is {earlier.description}",)
        whole = consultation_of(question, model, state, plan, kept=kept, notes=notes)
        return replace(whole, answer=earlier.answer, sent_tokens=0, saved_tokens=plan.resent_tokens)

    def _keep(self, keeping: Keeping | None, question: Question, model: Assistant, answer: str) -> Kept | None:
        if keeping is None:
            return None
        return self._keeper().keep(keeping, model.name, question, answer, self._workplace.max_content_bytes)

    def _renewing(self, conversation: Conversation, lease_ms: int) -> Callable[[], None]:
        clock = self._workplace.clock
        renewed_at = clock()

        def renew() -> None:
            nonlocal renewed_at
            if clock() - renewed_at > lease_ms / _RENEWALS:
                self.conversations.renew(conversation, lease_ms)
                renewed_at = clock()

        return renew

    def _sweep(self, model: Assistant, is_cancelled: IsCancelled) -> tuple[str, ...]:
        if model.sweeper is None:
            return ()
        try:
            stores = VectorStores(self._workplace).sweep(model.sweeper, is_cancelled=is_cancelled)
        except Interrupted:
            raise
        except SatchelError as error:
            return (f"vector stores that earlier calls left were not looked for: {error.problem}",)
        return tuple(f"a vector store that an earlier call left is still there: {one}" for one in stores)
