"""Briefings for one agent, within a token budget and without repetition."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from satchel.base.config_keys import Config
from satchel.base.errors import Busy, InvalidInput, ReadOnly, StoreFull
from satchel.base.paging import check_whole
from satchel.base.records import dataclass, replace
from satchel.base.text import check_query, fold, shortened
from satchel.base.tokens import TokenCounter, token_counter
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing import records
from satchel.brief.briefing.collecting import Collected, Deadline, collect
from satchel.brief.briefing.composing import Composed, compose
from satchel.brief.briefing.page import PageItem
from satchel.brief.briefing.records import Briefed, Briefing, BriefingRequest, Request
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.names import check_agent, check_identifier
from satchel.keep.projects import Workplace, ensure
from satchel.keep.runs import make_main
from satchel.keep.sessions.actors import acting, touch_session
from satchel.keep.sessions.caller import REMOTE, SERVER
from satchel.redaction import redact

if TYPE_CHECKING:
    from typing import Unpack

# The factor for estimated counts: their measured error at p95, see :mod:`satchel.base.tokens`.
MARGIN = 1.3

MAX_BUDGET = 1_000_000
_MAX_ITERATION = 2**31 - 1
_RECORD_WAIT_MS = 250
# With fewer tokens left for hooks only critical items are shown.
_LEAST_OF_SESSION = 100

# How much of an agent's query is shown to others as its present work.
_DOING_CHARS = 600


@dataclass(frozen=True, slots=True)
class Prepared:
    """A briefing and the items to record as delivered."""

    briefing: Briefing
    items: tuple[PageItem, ...]
    collected: Collected
    request: Request

    @property
    def shows_all(self) -> bool:
        """Whether every item that was read is shown whole."""
        whole = {
            one.key for item in self.items if not item.is_title for one in (item.candidate, *item.candidate.stands_for)
        }
        return all(one.key in whole for gathered in self.collected.gathered for one in gathered.candidates.values())

    @property
    def shows_all_binding(self) -> bool:
        """Whether every rule and decision in force is shown whole."""
        return not any(one.kind in records.BINDING for one in self.briefing.left_out) and not any(
            one.is_title and one.candidate.binds for one in self.items
        )


class Briefings:
    """Briefings for the agents of a project.

    Args:
        counter: the token counter; None is the best available.
        margin: the factor for estimated counts.
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
        return token_counter(self._config.tokens_encoding)

    def brief(self, role: str | None = None, **arguments: Unpack[BriefingRequest]) -> Briefing:
        """Make a briefing of the items that one agent needs most.

        The items are recorded as delivered in the agent's window (:func:`satchel.keep.deliveries.window_of`) and are
        not shown there again until they change, except for a line of critical ones. An agent without a name gets
        everything again. A note names what could not be read in ``brief.deadline_ms`` of processor time, or four times
        that by the clock.

        Args:
            role: developer, senior_engineer, qa_expert, tech_lead, investigator, or your own; decides which
                packages are shown.
            arguments: the keys of :class:`satchel.brief.briefing.records.BriefingRequest`.

        Returns:
            The briefing; its text has no more tokens than the budget.

        Raises:
            InvalidInput: an argument is invalid.
            NotFound: the run does not exist.
        """
        work, config = self._workplace, self._config
        zone = records.zone_of(arguments.get("window_used"))
        request = self._checked(role, arguments)
        dry_run = arguments.get("dry_run", False)
        if work.caller is not None and work.caller.replays_briefing:
            request, dry_run = replace(request, again=True), True
        if not dry_run:
            touch_session(work)
        if request.query is not None:
            from satchel.find import meaning  # imported here: most briefings have no query

            meaning.load(work.meaning)  # before the time of the briefing begins
        prepared = self.prepare(request, Deadline(config.brief_deadline_ms), zone)
        return prepared.briefing if dry_run else record(work, prepared, "briefing", _RECORD_WAIT_MS)

    def _checked(self, role: str | None, arguments: BriefingRequest) -> Request:
        if unknown := arguments.keys() - BriefingRequest.__annotations__.keys():
            raise TypeError(f"a briefing takes no argument {min(unknown)}")
        budget, iteration = arguments.get("budget"), arguments.get("iteration", 0)
        budget = self._config.brief_budget if budget is None else budget
        check_whole("budget", budget, MAX_BUDGET)
        check_whole("iteration", iteration, _MAX_ITERATION)
        role = _identifier(role, "role")
        return Request(
            role=None if role is None else fold(role),
            task_id=_identifier(arguments.get("task_id"), "task_id"),
            loop_id=_identifier(arguments.get("loop_id"), "loop_id"),
            iteration=iteration,
            query=_check_query(arguments.get("query")),
            run_id=_identifier(arguments.get("run_id"), "run_id"),
            agent=check_agent(self._workplace, arguments.get("agent")),
            budget=budget,
            again=arguments.get("again", False),
            role_as_given=role,
        )

    def prepare(self, request: Request, deadline: Deadline, zone: records.Zone = records.NORMAL) -> Prepared:
        """Make a briefing without recording it."""
        collected = collect(self._workplace, request, deadline)
        budget = request.budget
        if request.within_session and collected.tokens_left < budget:
            if collected.tokens_left < _LEAST_OF_SESSION:
                zone = records.SPENT
            else:
                budget = collected.tokens_left
        composed = compose(collected, self.count, budget, zone, now=self._workplace.clock())
        briefing = self._briefing(composed, collected, request, zone.name)
        return Prepared(briefing, composed.items, collected, request)

    def count(self, text: str) -> int:
        """Count tokens as budgets mean them: those of the client's model, with a margin if they are estimated."""
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
            items=tuple(map(_briefed, composed.items)),
            left_out=composed.left_out,
            notes=composed.notes,
            is_stuck=collected.status is not None and collected.status.is_stuck,
            is_recorded=False,
        )


def record(work: Workplace, prepared: Prepared, moment: str, wait_ms: int, tokens: int | None = None) -> Briefing:
    """Record the items of a briefing as delivered; if the store is busy, add a note instead of waiting.

    ``moment`` is one of :data:`satchel.keep.deliveries.MOMENTS`. ``tokens`` are those of the text around the briefing;
    None are its own.
    """
    briefing, request, collected = prepared.briefing, prepared.request, prepared.collected
    project, run = collected.project_id, collected.run
    if work.engine.read_only or not (prepared.items or request.query):
        return briefing
    if request.agent is None and work.caller is None:
        return briefing
    is_served = work.caller is not None and work.caller.kind in {SERVER, REMOTE}
    if not project and not (request.query and is_served):
        return briefing
    try:
        with work.engine.write(wait_ms) as transaction:
            now = work.clock()
            # others see the work of an agent also if it is the first in a project
            project = project or ensure(transaction, work, now).id
            is_requested = moment == deliveries.MOMENTS[0] and request.query is not None
            about_to = None if not is_requested else shortened(redact(request.query or "").text, _DOING_CHARS)
            actor = acting(transaction, work, project, request.agent, now, task_id=request.task_id, about_to=about_to)
            if run is None or not prepared.items or (actor.session is None and not actor.is_named):
                return briefing
            number = run.id if run.is_made else make_main(transaction, project, now).id
            window = deliveries.window_of(project, actor, number, request.task_id, request.role, request.iteration)
            window, marks = deliveries.of_role(window, request.role, deliveries.delivered(transaction, window))
            # a rule or decision that a hook showed as a title comes whole with the prompt that is about it
            is_open = moment != deliveries.MOMENTS[0]
            whole = [one.candidate for one in prepared.items if not (is_open and one.is_title and one.candidate.binds)]
            candidates = [item for one in whole for item in (one, *one.stands_for)]
            items = [(*item.key, item.seq) for item in candidates]
            total = briefing.tokens if tokens is None else tokens
            deliveries.deliver(transaction, window, items, now, moment=moment, tokens=total)
            if strategy_ids := [one.number for one in candidates if one.kind is Kind.STRATEGY]:
                from satchel.keep import strategies  # most briefings show none

                strategies.touch(transaction, strategy_ids, now)
            if marks:
                deliveries.record(transaction, window, marks, now)
    except (Busy, ReadOnly, StoreFull) as error:
        note = f"the delivery was not recorded: {error.problem}. The next briefing may repeat it"
        return replace(briefing, notes=(*briefing.notes, note))
    return replace(briefing, is_recorded=True)


def _briefed(item: PageItem) -> Briefed:
    candidate = item.candidate
    return Briefed(
        ref=candidate.ref,
        kind=candidate.kind.name.lower(),
        section=candidate.section,
        priority=PRIORITIES[candidate.priority - 1],
        is_shortened=item.is_title,
        file=candidate.file,
        stands_for=tuple(one.ref for one in candidate.stands_for),
        citation=candidate.citation,
    )


def _identifier(text: str | None, field: str) -> str | None:
    return None if text is None else check_identifier(text, field)


def _check_query(query: object) -> str | None:
    if query is None:
        return None
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query is empty", "Describe what the agent is about to do, or omit query")
    check_query(query)
    return query
