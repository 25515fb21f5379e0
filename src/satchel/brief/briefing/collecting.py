"""The items that a briefing could show, read in one snapshot and within a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

from satchel.base.errors import Interrupted
from satchel.base.records import dataclass, field, replace
from satchel.brief import loop_history
from satchel.brief.briefing import handover, own, packages, run, sources
from satchel.brief.briefing.records import Candidate, Request
from satchel.brief.briefing.sources import BriefingContext, Gathered, Source, gather, with_pins
from satchel.brief.fields import joined
from satchel.brief.loop_history import Attempt, History
from satchel.find.kind import Kind
from satchel.keep import deliveries, pins, projects, runs
from satchel.keep.deliveries import window_of
from satchel.keep.documents.states import loaded_items
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.loop_scope import LoopScope
from satchel.keep.projects import Workplace
from satchel.keep.runs import RunChoice
from satchel.keep.sessions.actors import reading
from satchel.keep.sessions.joining import sessions_before
from satchel.keep.sessions.records import Actor
from satchel.keep.sessions.team import AgentState, TeamSession, claimed_paths, others_at_work
from satchel.store.transaction import Asking, Transaction, both, set_of, together

if TYPE_CHECKING:
    from satchel.brief.briefing.answering import Relevance

# The sources of a briefing, the most needed first.
_SOURCES: tuple[Callable[[BriefingContext], Source], ...] = (
    run.attempts,
    sources.constraints,
    sources.decisions,
    run.reviews,
    packages.packages,
    packages.messages,
    packages.error_patterns,
    packages.strategies,
    run.entries,
)

# How many times its processor time a briefing may take by the clock.
_CLOCK_PER_PROCESSOR = 4

# The part of its time for loading the items, if the queries that name them took nearly all of it.
_SHARE_TO_END = 1.5

# How many others at work are listed.
_MOST_OTHERS = 3

_OF_ATTEMPTS = (SCRATCHPAD, REVIEW_VERDICT)  # what tells of the attempts and successes of a loop


@dataclass(slots=True)
class Collected:
    """Material for a briefing.

    Attributes:
        run: the run of the agent's loop; None if nothing is stored for the project yet.
        is_run_chosen: whether it was chosen.
        gathered: one for each source that was reached before the deadline.
        status: of the agent's loop.
        words: of the query; empty without one.
        notes: problems that the reader should know.
        is_complete: whether everything was read in time.
        claims: the paths that the agent's session claims, the newest first, with who left those it inherited.
        others: other sessions at work.
        handover: what the last session of the worktree did, if it left no scratchpad and this one begins.
        unanswered: the agent's unanswered questions, each with its receiver.
        is_bare: whether no rule, decision or note is stored.
        is_briefed: whether the agent was told anything in its window before.
        tokens_left: what hooks have left in the window.
        missing: the names of the sources that were not reached.
    """

    project_id: int = 0
    run: RunChoice | None = None
    is_run_chosen: bool = False
    gathered: list[Gathered] = field(default_factory=list)
    status: loop_history.LoopStatus | None = None
    words: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    is_complete: bool = True
    claims: list[tuple[str, str | None]] = field(default_factory=list)
    others: list[TeamSession] = field(default_factory=list)
    handover: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    is_bare: bool = False
    is_briefed: bool = False
    tokens_left: int = deliveries.SESSION_TOKENS
    missing: list[str] = field(default_factory=lambda: [make.__name__ for make in _SOURCES])


class Deadline:
    """The end of the time for a briefing, in processor time of its thread and by the clock.

    Args:
        milliseconds: of processor time, from now on.
        clock_ms: by the clock; None is four times as many.

    Attributes:
        share: the part of its processor time which may be used for now.
        share_of_clock: the part of its time by the clock.
    """

    def __init__(self, milliseconds: float, clock_ms: float | None = None) -> None:
        self._seconds = milliseconds / 1_000
        clock_ms = milliseconds * _CLOCK_PER_PROCESSOR if clock_ms is None else clock_ms
        self._clock_seconds = clock_ms / 1_000
        self._began, self._began_by_clock = thread_time(), monotonic()
        self.share = 1.0
        self.share_of_clock = 1.0

    def has_passed(self) -> bool:
        if thread_time() - self._began > self._seconds * self.share:
            return True
        return monotonic() - self._began_by_clock > self._clock_seconds * self.share_of_clock


def collect(workplace: Workplace, request: Request, deadline: Deadline) -> Collected:
    """Collect material for a briefing, matches of the query first; a note names what the deadline left out."""
    collected = Collected()
    try:
        with workplace.engine.read() as transaction:
            transaction.is_out_of_time = deadline.has_passed
            _collect(collected, transaction, workplace, request, deadline)
    except Interrupted:
        if not deadline.has_passed():
            raise
        missing = [name.replace("_", " ") for name in collected.missing]
        collected.is_complete = False
        collected.notes.append(f"the store was slow: {', '.join(missing) or 'others at work'} were not read")
    return collected


def _find_states(*arguments: Any) -> Mapping[int, AgentState]:
    from satchel.brief.room import states  # not needed by an agent that works alone

    return states.find(*arguments)


def _collect(
    collected: Collected, transaction: Transaction, workplace: Workplace, request: Request, deadline: Deadline
) -> None:
    project = projects.find(transaction, workplace)
    if not project.id:
        runs.choose(transaction, workplace, project.id, request.run_id)
        collected.is_bare = True
        return
    choice, actor = both(
        runs.choosing(transaction, workplace, project.id, request.run_id),
        _actor(transaction, workplace, project.id, request.agent),
    )
    agent = actor.number
    run_of_loop = choice or runs.find_main(transaction, project.id)
    collected.project_id = project.id
    collected.run, collected.is_run_chosen = run_of_loop, choice is not None
    window = window_of(project.id, actor, run_of_loop.id, request.task_id, request.role, request.iteration)
    now = workplace.clock()
    delivered = None
    if (actor.is_named or actor.session is not None) and not request.again:
        delivered = deliveries.ask_delivered(transaction, window)
    written = own.find(transaction, workplace, project.id, actor, window)
    loop = LoopScope(
        project.id,
        run_of_loop.id,
        request.task_id,
        request.loop_id,
        agent,
        actor.session,
        sessions_before(transaction, actor.session),
    )
    goes_on_from = handover.find_left_off(transaction, workplace, project.id, actor, request.task_id, now)
    is_carried = goes_on_from is not None and request.task_id is None and request.loop_id is None
    continued = handover.loop_of(transaction, project.id, goes_on_from) if goes_on_from and is_carried else loop
    pinned, history = both(
        pins.ask_pinned(transaction, project.id),
        loop_history.loading(transaction, continued, now, _OF_ATTEMPTS),
    )
    carried = tuple(one.number for one in history.attempts[: history.recent]) if is_carried else ()
    # without carried attempts the briefing has those of its own loop since its last success
    own_history = loop_history.load(transaction, loop, now, _OF_ATTEMPTS) if is_carried and not carried else history
    got = {} if delivered is None else deliveries.by_kind(delivered)
    of_role, _ = deliveries.of_role(window, request.role, got)
    if of_role != window:
        got = deliveries.delivered(transaction, of_role)
    is_again = request.within_session and not request.begins and actor.window > 1 and not got
    collected.tokens_left = (
        deliveries.tokens_left_again(transaction, window) if is_again else deliveries.tokens_left(got)
    )
    # a client with hooks runs one agent without a name; it has what binds, so a query brings only what answers it
    is_hooked = deliveries.has_hook_texts(got) and not request.within_session
    if got and not actor.is_named and is_hooked:
        collected.notes.append("only what is new in this window; a subagent gets everything if it gives its name")
    elif got and not actor.is_named:
        # several agents may give no name, and each needs everything
        got = {}
        collected.notes.append("no agent name, so everything is repeated; pass agent=NAME to get only what is new")
    collected.is_briefed = bool(got)
    if not request.again:
        written.add_to(got)
    elif request.within_session:  # a hook that is explained: in a new window
        got = loaded_items(transaction, workplace, project.id, actor)
    query = None
    if request.query is not None:
        from satchel.brief.briefing import answering  # a briefing without a query does not import search

        query = answering.parse(request.query)
    context = BriefingContext(
        transaction=transaction,
        workplace=workplace,
        request=request,
        run=run_of_loop,
        is_run_chosen=choice is not None,
        delivered=got,
        has_query=query is not None and bool(query.terms),
        only_matches=is_hooked,
        now=now,
        pinned=pinned,
        loop=loop,
        loop_since=_since(own_history),
        left_off=goes_on_from,
        carried=carried,
    )
    collected.status = loop_history.judge(history)
    relevance: Relevance = {}
    if query is not None and not query.terms:
        collected.notes.append(f"{(request.query or '').strip()[:80]!r} holds no word to search for")
    elif query is not None:
        relevance = answering.find_in_time(context, collected.notes, query, deadline)
        collected.words = tuple(dict.fromkeys(word for term in query.terms for word in term.words))
    begins = request.begins and actor.session is not None
    _gather(context, collected, relevance, actor, deadline, history, begins=begins)
    for gathered in collected.gathered:
        if gathered.source.kind.number in written.written:
            gathered.candidates = {number: written.mark(one) for number, one in gathered.candidates.items()}
    _mark_stale(context, collected, deadline)


def _actor(transaction: Transaction, workplace: Workplace, project_id: int, agent: str | None) -> Asking[Actor]:
    yield from ()  # a generator, so that its query is sent together with others
    return reading(transaction, workplace, project_id, agent)


def _gather(
    context: BriefingContext,
    collected: Collected,
    relevance: Relevance,
    actor: Actor,
    deadline: Deadline,
    history: History,
    *,
    begins: bool,
) -> None:
    transaction, project_id, now = context.transaction, context.loop.project_id, context.now
    done: dict[int, Gathered] = {}
    shared: list[str] = []

    def names() -> Asking[None]:
        if collected.status is not None:
            tried = history.attempts[: history.recent][: collected.status.iterations]
            collected.status = replace(collected.status, others=(yield from _others(context, tried)))

    def gathering(place: int, make: Callable[[BriefingContext], Source]) -> Asking[None]:
        source = with_pins(context, make(context))
        done[place] = yield from gather(context, source, relevance.get(source.kind.number, {}), collected.notes)

    def is_bare() -> Asking[None]:
        collected.is_bare = not (yield from own.has_items(transaction, project_id))

    def left_behind() -> Asking[None]:
        collected.handover = yield from handover.lines(transaction, context.workplace, project_id, actor, now)

    def unanswered() -> Asking[None]:
        collected.unanswered = yield from own.unanswered(transaction, project_id, actor, now)

    def claims() -> Asking[None]:
        collected.claims = yield from claimed_paths(transaction, actor.session, now)

    def others() -> Asking[None]:
        collected.others = yield from others_at_work(
            transaction, project_id, actor.session, now, _MOST_OTHERS, _find_states
        )

    def waiting() -> Asking[None]:
        rows = transaction.ask(
            "SELECT count(*) FROM shared_texts WHERE project_id = :project AND waiting IS NOT NULL",
            {"project": project_id},
        )
        yield rows
        ((count,),) = rows.all()
        if count:
            # a stranger may have written them, so the words are not shown
            texts = "1 shared text waits" if count == 1 else f"{count:,} shared texts wait"
            shared.append(f"{texts} for a person to accept: satchel share --list")

    def askings() -> Iterator[Asking[None]]:
        yield names()
        yield from (gathering(place, make) for place, make in enumerate(_SOURCES))
        yield from (make() for make in (is_bare, unanswered, claims, others, waiting))
        if begins:
            yield left_behind()
        deadline.share = _SHARE_TO_END

    try:
        together(askings())
    finally:
        collected.gathered = [done[place] for place in sorted(done)]
        collected.missing = [make.__name__ for place, make in enumerate(_SOURCES) if place not in done]
    collected.notes += shared


def _mark_stale(context: BriefingContext, collected: Collected, deadline: Deadline) -> None:
    candidates = [one for gathered in collected.gathered for one in gathered.candidates.values()]
    compared = _compared(context.transaction, context.workplace.files_root, candidates, deadline.has_passed)
    marked = {one.number: one for one in compared}
    for gathered in collected.gathered if marked else ():
        if gathered.source.kind is Kind.ENTRY:
            gathered.candidates |= {number: marked[number] for number in gathered.candidates.keys() & marked.keys()}
    stale = sum(candidate.is_stale for candidate in compared)
    if stale:
        collected.notes.append(f"{stale} notes cite changed files" if stale > 1 else "1 note cites a changed file")


def _compared(
    transaction: Transaction, files_root: str | None, candidates: Sequence[Candidate], is_over: Callable[[], bool]
) -> list[Candidate]:
    on_files = [one for one in candidates if one.kind is Kind.ENTRY and one.file is not None]
    if not on_files:
        return []
    from satchel.keep import citations

    on_files.sort(key=lambda one: (-one.relevance, -one.changed_at))
    places = citations.load(transaction, [one.number for one in on_files])
    results = citations.Comparing(files_root, is_over).compare(places)
    compared: list[Candidate] = []
    for one in on_files:
        citation = results.get(one.number)
        if citation is not None:
            marks = ", ".join(citation.marks)
            compared.append(replace(one, head=joined(one.head, f"({marks})" if marks else None), citation=citation))
    return compared


def _since(history: History) -> tuple[int, int]:
    if history.attempts and not history.recent:
        return history.attempts[0].created_at, history.attempts[0].number - 1  # the newest describes the state
    return history.since, history.success


def _others(context: BriefingContext, tried: Sequence[Attempt]) -> Asking[tuple[str, ...]]:
    authors = {one.place.author for one in tried} - {context.loop.author}
    unnamed = (run.UNNAMED,) if None in authors else ()
    numbers = [author for author in authors if author is not None]
    if not numbers:
        return unnamed
    rows = context.transaction.ask(f"SELECT name FROM agents WHERE id IN {set_of(numbers)} ORDER BY name")
    yield rows
    return (*(name for (name,) in rows.all()), *unnamed)
