"""Briefings: one briefing for one agent, inside a token budget, without repeating what it already got."""

from __future__ import annotations

import math
from functools import cached_property

from satchel.base.config_keys import Config
from satchel.base.errors import Busy, InvalidInput, ReadOnly, StoreFull
from satchel.base.paging import check_whole
from satchel.base.records import dataclass, replace
from satchel.base.text import check_query, fold, shortened
from satchel.base.tokens import TokenCounter, token_counter
from satchel.base.vocabulary import PRIORITIES, SECTIONS
from satchel.brief.briefing.collecting import Collected, Deadline, Request, collect
from satchel.brief.briefing.composing import Composed, compose
from satchel.brief.briefing.page import Shown
from satchel.brief.briefing.records import Briefed, Briefing, Candidate
from satchel.brief.briefing.shares import max_packages, shares_of
from satchel.brief.briefing.zones import NORMAL, Zone, zone_of
from satchel.keep import deliveries
from satchel.keep.names import check_agent, check_identifier
from satchel.keep.projects import Workplace, ensure
from satchel.keep.runs import make_main
from satchel.keep.sessions.actors import acting, touch_session
from satchel.keep.sessions.caller import REMOTE, SERVER
from satchel.redaction import redact

MARGIN = 1.3
"""What an estimated count is multiplied by: the estimate's measured error at p95, see :mod:`satchel.base.tokens`."""

MAX_BUDGET = 1_000_000
_MAX_ITERATION = 2**31 - 1
_RECORD_WAIT_MS = 250
_DOING_CHARS = 160
"""So much of what an agent says it is about to do is shown to others."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A briefing that is made, with what it takes to record what it shows.

    Attributes:
        passed: as in :class:`satchel.brief.briefing.composing.Composed`.
    """

    briefing: Briefing
    shown: tuple[Shown, ...]
    collected: Collected
    request: Request
    passed: tuple[tuple[Candidate, str], ...] = ()


class Briefings:
    """Briefings for the agents of a project.

    Args:
        counter: what counts the tokens of a briefing; None is the best there is.
        margin: what an estimated count is multiplied by.
    """

    def __init__(
        self, workplace: Workplace, config: Config, counter: TokenCounter | None = None, margin: float = MARGIN
    ) -> None:
        self._workplace = workplace
        self._config = config
        self._margin = margin
        if counter is not None:
            self.counter = counter

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts the tokens of a briefing."""
        return token_counter(self._config.tokens_encoding)

    def brief(
        self,
        role: str | None = None,
        *,
        task_id: str | None = None,
        loop_id: str | None = None,
        iteration: int = 0,
        query: str | None = None,
        budget: int | None = None,
        window_used: float | None = None,
        again: bool = False,
        dry_run: bool = False,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Briefing:
        """Pack what one agent needs most.

        What it shows is recorded as delivered in the agent's window once the text is done
        (:func:`satchel.keep.deliveries.window_of`), and not shown there again until it changes, but for a line of what
        is critical. Who gives no name gets everything again. It never takes long: what cannot be looked at in
        ``brief.deadline_ms`` of processor time, and in four times that by the clock, is left out, and a note says so.

        Args:
            role: developer, senior_engineer, qa_expert, tech_lead, investigator, or your own; decides how sections
                share the budget, how many packages there are, and for whom packages are meant.
            task_id, loop_id: the agent's task and loop.
            iteration: its attempt, from 0; a new one sees everything again.
            query: what it is about to do, in its own words.
            budget: tokens, 0 to 1,000,000; None takes ``brief.budget``. Counted exactly with the tokens extra, else
                estimated with a margin of 30 %.
            window_used: 0 to 1 of the 85 % of its window that can be used; the fuller, the shorter the briefing.
            again: repeat what was delivered, as after its window was compacted.
            dry_run: record nothing.
            run_id: the run of the loop, and of the task; None takes the default, and without one the loop is of the
                run ``main``, and the task may be of any, as with ``*``. Notes of all runs are shown.
            agent: who gets it; None takes the default, which may be nobody.

        Returns:
            The briefing; its text has no more tokens than the budget.

        Raises:
            InvalidInput: an argument is not acceptable.
            NotFound: the run does not exist.
        """
        work, config = self._workplace, self._config
        zone = zone_of(window_used)
        request = self.request(
            role,
            task_id=task_id,
            loop_id=loop_id,
            iteration=iteration,
            query=query,
            budget=budget,
            again=again,
            run_id=run_id,
            agent=agent,
        )
        if work.caller is not None and work.caller.replays_briefing:
            request, dry_run = replace(request, again=True), True
        if not dry_run:
            touch_session(work)
        prepared = self.prepare(request, Deadline(config.brief_deadline_ms), zone)
        return prepared.briefing if dry_run else record(work, prepared, "briefing", _RECORD_WAIT_MS)

    def request(
        self,
        role: str | None = None,
        *,
        task_id: str | None = None,
        loop_id: str | None = None,
        iteration: int = 0,
        query: str | None = None,
        budget: int | None = None,
        again: bool = False,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Request:
        """Check what is asked for; the arguments are those of :meth:`brief`.

        Raises:
            InvalidInput: an argument is not acceptable.
        """
        budget = self._config.brief_budget if budget is None else budget
        check_whole("budget", budget, MAX_BUDGET)
        check_whole("iteration", iteration, _MAX_ITERATION)
        role = None if role is None else check_identifier(role, "role")
        return Request(
            role=None if role is None else fold(role),
            task_id=None if task_id is None else check_identifier(task_id, "task_id"),
            loop_id=None if loop_id is None else check_identifier(loop_id, "loop_id"),
            iteration=iteration,
            query=_check_query(query),
            run_id=None if run_id is None else check_identifier(run_id, "run_id"),
            agent=check_agent(self._workplace, agent),
            budget=budget,
            again=again,
            role_as_given=role,
        )

    def prepare(self, request: Request, deadline: Deadline, zone: Zone = NORMAL, *, explains: bool = False) -> Prepared:
        """Make a briefing of what was asked for and checked; nothing is recorded.

        Args:
            explains: whether to say why what is not shown is not.
        """
        collected = collect(self._workplace, request, deadline)
        composed = compose(
            collected,
            self.count,
            request.budget,
            zone,
            shares_of(request.role, self._chosen_shares),
            max_packages=max_packages(request.role),
            now=self._workplace.clock(),
            explains=explains,
        )
        briefing = self._briefing(composed, collected, request, zone.name)
        return Prepared(briefing, composed.shown, collected, request, composed.passed)

    @property
    def _chosen_shares(self) -> dict[str, int]:
        chosen = {section: getattr(self._config, f"brief_share_{section}") for section in SECTIONS}
        return {section: weight for section, weight in chosen.items() if weight is not None}

    def count(self, text: str) -> int:
        """Count tokens as budgets mean them: those of the client's model, with a margin where they are estimated."""
        if not text:
            return 0
        margin = 1.0 if self.counter.exact else self._margin
        return math.ceil(self.counter.count(text) * margin * self._config.brief_token_factor)

    def _briefing(self, composed: Composed, collected: Collected, request: Request, zone: str) -> Briefing:
        counted = self.counter.count(composed.text) if composed.text else 0
        return Briefing(
            text=composed.text,
            tokens=math.ceil(counted * self._config.brief_token_factor),
            counter=self.counter.name,
            budget=request.budget,
            zone=zone,
            role=request.role_as_given,
            run_id=collected.run.run_id if collected.run is not None and collected.is_run_chosen else None,
            task_id=request.task_id,
            loop_id=request.loop_id,
            iteration=request.iteration,
            items=tuple(map(_briefed, composed.shown)),
            left_out=composed.left_out,
            notes=composed.notes,
            is_stuck=collected.standing is not None and collected.standing.is_stuck,
            is_recorded=False,
        )


def record(work: Workplace, prepared: Prepared, moment: str, wait_ms: int, tokens: int | None = None) -> Briefing:
    """Record what a briefing shows as delivered; where that cannot be done soon, say so instead of waiting.

    Args:
        moment: when it was shown, one of :data:`satchel.keep.deliveries.MOMENTS`.
        wait_ms: how long to wait for a lock.
        tokens: of the text that it is a part of; None is its own.
    """
    briefing, request, collected = prepared.briefing, prepared.request, prepared.collected
    project, run = collected.project_id, collected.run
    if work.engine.read_only or not (prepared.shown or request.query):
        return briefing
    if request.agent is None and work.caller is None:
        return briefing
    is_served = work.caller is not None and work.caller.kind in {SERVER, REMOTE}
    if not project and not (request.query and is_served):
        return briefing
    try:
        with work.engine.write(wait_ms) as transaction:
            now = work.clock()
            # others see what an agent is about to do also where it is the first of a project
            project = project or ensure(transaction, work, now).id
            about_to = None if request.query is None else shortened(redact(request.query).text, _DOING_CHARS)
            actor = acting(transaction, work, project, request.agent, now, task_id=request.task_id, about_to=about_to)
            if run is None or not prepared.shown or (actor.session is None and not actor.is_named):
                return briefing
            number = run.id if run.is_made else make_main(transaction, project, now).id
            window = deliveries.window_of(project, actor, number, request.task_id, request.role, request.iteration)
            said = [item for one in prepared.shown for item in (one.candidate, *one.candidate.stands_for)]
            items = [(*item.key, item.seq) for item in said]
            put_in = briefing.tokens if tokens is None else tokens
            deliveries.deliver(transaction, window, items, now, moment=moment, tokens=put_in)
    except (Busy, ReadOnly, StoreFull) as error:
        note = f"the delivery was not recorded: {error.problem}. The next briefing may repeat it"
        return replace(briefing, notes=(*briefing.notes, note))
    return replace(briefing, is_recorded=True)


def _briefed(shown: Shown) -> Briefed:
    candidate = shown.candidate
    return Briefed(
        ref=candidate.ref,
        kind=candidate.kind.name.lower(),
        section=candidate.section,
        priority=PRIORITIES[candidate.priority - 1],
        is_shortened=shown.is_shortened,
        file=candidate.file,
        stands_for=tuple(one.ref for one in candidate.stands_for),
        citation=candidate.citation,
    )


def _check_query(query: object) -> str | None:
    if query is None:
        return None
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query is empty", "Say what the agent is about to do, or leave query out")
    check_query(query)
    return query
