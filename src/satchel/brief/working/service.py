"""Actions of hooks at each moment of a session at work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.base.config_keys import Config
from satchel.base.errors import Busy, Interrupted, ReadOnly, StoreFull
from satchel.base.records import replace
from satchel.brief.working import hook_context
from satchel.brief.working.hook_context import (
    NOTHING,
    HookAnswer,
    HookContext,
    ItemVersion,
    estimate,
)
from satchel.keep import deliveries
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import hook_heartbeat_due

if TYPE_CHECKING:
    from satchel.brief.working.edits import EditedFile
    from satchel.brief.working.prompts import AboutPrompt
    from satchel.find.about import RelatedItem

# With at most so many tokens left in a session, a prompt takes no more than a quarter of them: edits need some too.
_LITTLE_LEFT = 1_000

_SHORT, _SLOW = "it was short of time", "the store was slow"
_OFF = "hooks.prompt is 0"
_GOT = "the agent has what matches the prompt"
_NO_TEXT = "the client passes no text to the model at this moment"


class _Undone(Exception):
    """Raised to roll back a dry run."""


class Working:
    """Actions of hooks in a session at work: they record it and add text to its context.

    Args:
        dry_run: record nothing, and answer as in a new window.
    """

    def __init__(self, workplace: Workplace, config: Config, *, dry_run: bool = False) -> None:
        self._workplace = workplace
        self._config = config
        self._dry_run = dry_run

    def before_edit(
        self,
        cwd: str,
        edits: Sequence[tuple[str, str]],
        *,
        agent_id: str | None = None,
        text: str = "",
        tells: bool = True,
        can_ask: bool = False,
    ) -> HookAnswer:
        """Claim the files of an edit for the session unless others hold them, and tell what binds them.

        If the store is busy, an edit that conflicts with requested claims is stopped all the same.

        Args:
            cwd: the folder that relative paths start from.
            edits: each file with its change: created, modified, deleted, or empty if the client does not name it.
            agent_id: the client's name for the subagent that edits, or None.
            text: the written and replaced text, which selects among many notes.
            tells: whether the client passes text to the model at this moment; a denial reaches it in any case.
            can_ask: whether the client can ask its user about an edit.
        """
        from satchel.brief.working import edits as moment

        mode = self._config.hooks_claims

        def act(context: HookContext) -> HookAnswer:
            touched = moment.resolve(context, cwd, edits)
            if not touched:
                return replace(NOTHING, why="no file of the project" if tells else _NO_TEXT)
            lines: list[str] = []
            conflicts = moment.Conflicts([], [])
            if mode != "off":
                conflicts = moment.find_conflicts(context, touched)
                if conflicts.explicit and mode == "ask" and can_ask:
                    return HookAnswer(question=moment.warning(context, conflicts.explicit))
                if conflicts.explicit and mode in {"deny", "ask"}:
                    return HookAnswer(denial=moment.refuse(context, touched, conflicts.explicit))
                lines += moment.claim(context, touched, tells=tells)
            if not tells:
                return replace(NOTHING, why=_NO_TEXT)
            hint_lines, items = moment.hints(context, conflicts)
            return self._with_files(context, touched, [*lines, *hint_lines], items, text)

        def look(context: HookContext) -> HookAnswer:
            touched = moment.resolve(context, cwd, edits)
            leases = moment.find_conflicts(context, touched).explicit if touched else []
            return (
                HookAnswer(denial=moment.denial(context, moment.covered_places(touched, leases), leases))
                if leases
                else NOTHING
            )

        return self._act(agent_id, "edit", act, look if mode in {"deny", "ask"} else None)

    def after_edit(
        self,
        cwd: str,
        edits: Sequence[tuple[str, str]],
        *,
        agent_id: str | None = None,
        text: str = "",
        owes_fixes: bool = False,
    ) -> HookAnswer:
        """Record changed files, renew the claims on them, and add unread messages.

        Notes on the files and claims of others are added unless the answer before the edit had them: the client may
        pass no text to its model then, or the hook ran out of time.

        Args:
            owes_fixes: whether the client passes no text when a tool fails, so that a known fix is added now.
        """
        from satchel.brief.working import edits as moment

        def act(context: HookContext) -> HookAnswer:
            touched = moment.resolve(context, cwd, edits)
            answer = NOTHING
            if touched:
                lines: list[str] = []
                items: list[ItemVersion] = []
                if self._config.hooks_claims != "off":
                    conflicts = moment.find_conflicts(context, touched)
                    lines = moment.claim(context, touched, tells=True)
                    more, items = moment.hints(context, conflicts, is_made=True)
                    lines += more
                moment.record(context, touched)
                answer = self._with_files(context, touched, lines, items, text)
            return self._with_messages(context, self._with_pending_fix(context, answer) if owes_fixes else answer)

        def look(context: HookContext) -> HookAnswer:
            leases = moment.find_conflicts(context, moment.resolve(context, cwd, edits)).explicit
            return HookAnswer(moment.warning(context, leases, is_made=True)) if leases else NOTHING

        return self._act(agent_id, "edit", act, look if self._config.hooks_claims != "off" else None)

    def after_read(self, cwd: str, files: Sequence[tuple[str, str]], *, agent_id: str | None = None) -> HookAnswer:
        """Return what binds files that were read, and known errors and open reviews there, if the window lacks it.

        Args:
            cwd: the folder that relative paths start from.
            files: each file, with an empty text as of an edit.
        """
        from satchel.brief.working import edits as moment
        from satchel.brief.working import on_files
        from satchel.keep import projects

        budget = self._config.hooks_edit
        paths = [place.path for place in moment.places_of(self._workplace, cwd, files)] if budget else []
        if not paths:
            return replace(NOTHING, why="no file of the project")
        with projects.reading(self._workplace) as (transaction, project):
            is_concerned = on_files.is_concerned(transaction, self._workplace, project.id, paths)
            is_due = hook_heartbeat_due(transaction, self._workplace, project.id)
        nothing = replace(NOTHING, why="nothing binds the file, and no error or review cites it")
        if not is_concerned and not is_due:  # the usual case takes no lock
            return nothing

        def act(context: HookContext) -> HookAnswer:
            if not is_concerned:
                return nothing
            return self._with_files(context, moment.resolve(context, cwd, files), [], [], None)

        return self._act(agent_id, "edit", act)

    def unchecked_edit(self, cwd: str, edits: Sequence[tuple[str, str]], *, agent_id: str | None = None) -> HookAnswer:
        """Return claims of others on files that were edited although the hook before it could not check them.

        Args:
            cwd: the folder that relative paths start from.
            edits: each file with its change.
        """
        from satchel.brief.working import edits as moment

        def act(context: HookContext) -> HookAnswer:
            touched = moment.resolve(context, cwd, edits)
            if self._config.hooks_claims == "off" or not touched:
                return NOTHING
            leases = moment.find_conflicts(context, touched).explicit
            items = [(deliveries.CLAIM, one.claim.id, one.claim.seq) for one in leases]
            return NOTHING.plus(context, [moment.warning(context, leases, is_made=True)] if leases else [], items)

        return self._act(agent_id, "edit", act)

    def prompt(
        self, text: str, is_over: Callable[[], bool], *, agent_id: str | None = None, by_person: bool = True
    ) -> HookAnswer:
        """Return stored items that match a prompt and are new to this window, and ask to store a rule that it states.

        Args:
            text: the prompt; the sentences that state a lasting rule are stored for an hour.
            is_over: whether the time is over; then nothing is returned.
            by_person: whether a person may have written it.

        Raises:
            StoreDamaged: the store cannot be read.
        """
        from satchel.brief.working import prompts

        about, why = self._about(text, is_over)
        rules: Sequence[str] = ()
        if by_person and agent_id is None and self._config.hooks_prompt and prompts.may_state_rule(text):
            from satchel.brief.working import capture

            rules = list(capture.rules_in(text))
        is_quiet = not about.items and not about.is_task and not about.is_awaited and not rules
        if is_quiet and not self._dry_run:  # the usual case takes no lock
            problem = f"{_SHORT}: notes on a prompt were not looked up" if why == _SLOW else ""
            return replace(NOTHING, why=why, problem=problem)

        def act(context: HookContext) -> HookAnswer:
            contents = prompts.window_contents(context)
            budget, unseen, candidates = self._config.hooks_prompt, [], about
            first: list[ItemVersion] = []
            if about.is_task and self._config.hooks_first_prompt and deliveries.TASK not in contents:
                budget = self._config.hooks_first_prompt
                first = [(deliveries.TASK, 0, 0), *prompts.related_versions(about)]
                unseen = prompts.unseen_rules(context.transaction, context.work, context.project_id, contents)
                candidates = prompts.with_weaker(context, about, contents)
            remaining = deliveries.tokens_left(contents)
            budget = min(budget, remaining if remaining > _LITTLE_LEFT else remaining // 4)
            lines, versions = prompts.render(candidates, contents, budget, unseen)
            delivered = (*first, *versions) if lines else ()
            lines += capture.take(context, rules) if rules else []
            answer = NOTHING.plus(context, lines, delivered) if lines else replace(NOTHING, why=why or _GOT)
            return self._with_messages(context, answer, at_prompt=True) if self._config.hooks_prompt else answer

        return self._act(agent_id, "prompt", act)

    def look(self, text: str, is_over: Callable[[], bool]) -> tuple[RelatedItem, ...]:
        """Return the stored items that a prompt is about, the strongest first; nothing is recorded.

        Raises:
            StoreDamaged: the store cannot be read.
        """
        return self._about(text, is_over)[0].matches

    def _about(self, text: str, is_over: Callable[[], bool]) -> tuple[AboutPrompt, str]:
        from satchel.brief import news
        from satchel.brief.working import prompts
        from satchel.keep import projects

        if not self._config.hooks_prompt:
            return prompts.AboutPrompt(), _OFF
        work = self._workplace
        try:
            with work.engine.read() as transaction:
                transaction.is_out_of_time = is_over
                project = projects.find(transaction, work)
                about = prompts.find(transaction, work, project.id, text, is_over)
                is_due = hook_heartbeat_due(transaction, work, project.id)
                is_awaited = is_due or news.may_wait_at_work(transaction, work, project.id)
                if not is_awaited and self._config.hooks_messages:
                    context = hook_context.find(transaction, work)
                    is_awaited = context is not None and hook_context.has_messages(context)
                about = about._replace(is_awaited=is_awaited)
        except Interrupted:
            if not is_over():
                raise
            return prompts.AboutPrompt(), _SLOW
        return about, "" if about.items else "no stored item matches the prompt"

    def command_failed(
        self,
        cwd: str,
        command: str,
        status: int | None,
        output: str,
        *,
        agent_id: str | None = None,
        tells: bool = True,
    ) -> HookAnswer:
        """Report the error of a failed command, and return its known fix.

        Args:
            cwd: the folder that it was run in.
            status: its exit status, or None if unknown.
            output: its output; only the end is read.
            tells: whether the client passes text to the model at this moment.
        """
        from satchel.brief.working import commands

        def act(context: HookContext) -> HookAnswer:
            budget = self._config.hooks_error if tells else 0
            lines, items = commands.fail(context, cwd, command, status, output, budget)
            if not tells:
                return replace(NOTHING, why=_NO_TEXT)
            return self._with_messages(context, NOTHING.plus(context, lines, items))

        return self._act(agent_id, "command", act)

    def last_error(self, *, agent_id: str | None = None) -> HookAnswer:
        """Return the known fix of the error that the agent reported last."""
        from satchel.brief.working import commands

        def act(context: HookContext) -> HookAnswer:
            lines, items = commands.last(context, self._config.hooks_error)
            return self._with_messages(context, NOTHING.plus(context, lines, items))

        return self._act(agent_id, "command", act)

    def command_succeeded(
        self, cwd: str, command: str, output: str = "", *, agent_id: str | None = None, owes_fixes: bool = False
    ) -> HookAnswer:
        """Learn from a command that failed before, record progress, and add known fixes and unread messages.

        Args:
            cwd: the folder that it was run in.
            output: its output, which may show a commit or a passing test run.
            owes_fixes: whether the client passes no text when a tool fails, so that a known fix is added now.
        """
        from satchel.brief.working import commands

        def act(context: HookContext) -> HookAnswer:
            question = commands.succeed(context, cwd, command)
            answer = self._with_known_error(context, command, output, has_succeeded=True).plus(context, question, [])
            answer = self._with_pending_fix(context, answer) if owes_fixes else answer
            return self._with_progress(context, answer, command, output, has_failed=False)

        return self._act(agent_id, "command", act)

    def plan_approved(self, plan: str, *, agent_id: str | None = None) -> HookAnswer:
        """Store a plan that a person has approved as one note of the session; a later one replaces it."""
        from satchel.brief.working import capture

        def act(context: HookContext) -> HookAnswer:
            capture.store_plan(context, plan)
            return self._with_messages(context, NOTHING)

        return self._act(agent_id, "plan", act)

    def command_ended(self, command: str = "", output: str = "", *, agent_id: str | None = None) -> HookAnswer:
        """Record progress and add unread messages after a command with unknown status."""

        def act(context: HookContext) -> HookAnswer:
            answer = self._with_known_error(context, command, output, has_succeeded=False)
            return self._with_progress(context, answer, command, output, has_failed=None)

        return self._act(agent_id, "command", act)

    def record(self, answer: HookAnswer) -> None:
        """Record that an answer has reached the client; if the store is busy, its items may be repeated."""
        window = answer.window
        if not answer.items or window is None:
            return
        tokens = math.ceil(estimate(answer.text) * self._config.brief_token_factor)
        with (
            suppress(Busy, ReadOnly, StoreFull),
            self._workplace.engine.write(self._config.hooks_lock_wait_ms) as transaction,
        ):
            now = self._workplace.clock()
            freed = [number for kind, number, _ in answer.items if kind == deliveries.FREED]
            if freed:
                from satchel.keep.files import refusals

                refusals.remove(transaction, freed)
            deliveries.deliver(transaction, window, answer.items, now, moment=answer.moment, tokens=tokens)

    def _act(
        self,
        agent_id: str | None,
        moment: str,
        act: Callable[[HookContext], HookAnswer],
        look: Callable[[HookContext], HookAnswer] | None = None,
    ) -> HookAnswer:
        work = self._workplace
        if work.engine.read_only:
            return replace(NOTHING, why="the store is read-only")
        answer = replace(NOTHING, why="there is no session")
        try:
            with suppress(_Undone), work.engine.write(self._config.hooks_lock_wait_ms) as transaction:
                context = hook_context.enter(transaction, work, agent_id)
                if context is not None:
                    context = context.in_new_window() if self._dry_run else context
                    answer = act(context)
                    if not (answer.denial or answer.question or answer.why in {_NO_TEXT, _OFF}):
                        answer = hook_context.with_news(context, answer, at_prompt=moment == "prompt")
                    answer = _with_notice(answer, work)
                if self._dry_run:
                    raise _Undone
            return replace(answer, moment=moment)
        except (Busy, ReadOnly, StoreFull) as error:
            problem = f"{_SHORT}: {error.problem}" if isinstance(error, Busy) else ""
            nothing = replace(NOTHING, why=error.problem, problem=problem)
        if look is None:
            return nothing
        with work.engine.read() as transaction:
            context = hook_context.find(transaction, work)
            return nothing if context is None else replace(look(context), problem=problem)

    def _with_files(
        self,
        context: HookContext,
        touched: Sequence[EditedFile],
        lines: Sequence[str],
        items: Sequence[ItemVersion],
        text: str | None,
    ) -> HookAnswer:
        from satchel.brief.working import on_files

        budget = self._config.hooks_edit
        files = [one.place.path for one in touched]
        answer = NOTHING.plus(context, lines, items)
        return answer.plus(context, *on_files.tell(context, files, text, budget)) if budget else answer

    def _with_known_error(self, context: HookContext, command: str, output: str, *, has_succeeded: bool) -> HookAnswer:
        from satchel.brief.working import commands

        budget = self._config.hooks_error
        return NOTHING.plus(
            context, *commands.find_error(context, command, output, budget, has_succeeded=has_succeeded)
        )

    def _with_pending_fix(self, context: HookContext, answer: HookAnswer) -> HookAnswer:
        from satchel.brief.working import commands

        return answer.plus(context, *commands.pending_fix(context, self._config.hooks_error))

    def _with_progress(
        self, context: HookContext, answer: HookAnswer, command: str, output: str, *, has_failed: bool | None
    ) -> HookAnswer:
        from satchel.brief.working import progress

        reminder = progress.record(context, command, output, has_failed=has_failed)
        return self._with_messages(context, answer.plus(context, reminder, []))

    def _with_messages(self, context: HookContext, answer: HookAnswer, *, at_prompt: bool = False) -> HookAnswer:
        budget = self._config.hooks_messages
        messages = hook_context.unread_messages(context, budget, at_prompt=at_prompt) if budget else ([], [])
        return answer.plus(context, *messages)


def _with_notice(answer: HookAnswer, work: Workplace) -> HookAnswer:
    notice = None if work.caller is None or answer.why == _NO_TEXT else work.caller.pop_warning()
    return answer if notice is None else replace(answer, text="\n".join(filter(None, [notice, answer.text])))
