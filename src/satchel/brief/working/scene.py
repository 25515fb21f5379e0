"""Who works, where and when: what each moment of a session at work is looked up by, and what it puts in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from satchel.base.errors import NotFound
from satchel.base.records import NamedTuple, dataclass
from satchel.base.tokens import PROSE_MARGIN, estimating
from satchel.keep import deliveries, projects
from satchel.keep.deliveries import Window
from satchel.keep.names import ensure_agent
from satchel.keep.projects import Workplace
from satchel.keep.runs import choose_for_writing, make_main
from satchel.keep.sessions import updates
from satchel.keep.sessions.actors import reading, subagent_name
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

Shown = tuple[int, int, int]
"""The numbers of a kind and of an item, and the item's seq when it was shown."""

_NEW_WINDOW = 0
"""The windows of sessions are counted from 1."""

FILE, SOLUTION, CLAIM = 0, -1, -2
"""Stand as kinds among what was delivered: for a file whose notes were shown, a fix, and a claim of another."""


class Scene(NamedTuple):
    """One moment of a session.

    Attributes:
        actor: the agent of the session, or one of its subagents.
        run: the number of the run that the session works in.
        now: milliseconds UTC.
    """

    transaction: Transaction
    work: Workplace
    project_id: int
    actor: Actor
    run: int
    now: int

    @property
    def window(self) -> Window:
        """The context window of the agent."""
        return deliveries.window_of(self.project_id, self.actor, self.run, None, None, 0)

    def in_new_window(self) -> Scene:
        """Return the same moment in a window to which nothing was delivered."""
        return self._replace(actor=self.actor._replace(window=_NEW_WINDOW))


@dataclass(frozen=True, slots=True)
class Said:
    """What a hook says at one moment.

    Attributes:
        text: for the model; empty where there is nothing to say.
        denial: why an edit is stopped; empty lets it through.
        question: what the user of the client is to be asked before an edit; empty asks nothing.
        shown: the items in the text, to be recorded once it has reached the client.
        window: the context window that they are recorded in.
        moment: when that is, one of :data:`satchel.keep.deliveries.MOMENTS`.
        why: why there is nothing, for people.
        problem: what could not be done in time, for the record of faults; empty where all was done.
    """

    text: str = ""
    denial: str = ""
    question: str = ""
    shown: tuple[Shown, ...] = ()
    window: Window | None = None
    moment: str = ""
    why: str = ""
    problem: str = ""


NOTHING = Said()


def enter(transaction: Transaction, work: Workplace, agent_id: str | None) -> Scene | None:
    """Enter the session of a hook, in a transaction that may write; None where the caller has none.

    Args:
        agent_id: what the client calls the subagent that works; None is the agent of the session itself.
    """
    caller = work.caller
    if caller is None:
        return None
    now = work.clock()
    project = projects.ensure(transaction, work, now)
    state = caller.ensure(transaction, work, project.id, now)
    if state is None:
        return None
    state, number, name = updates.name_unnamed(transaction, project.id, state, now)
    caller.remember(transaction, project.id, state)
    if agent_id is not None:
        number, name = ensure_agent(transaction, project.id, subagent_name(name, agent_id), now)
    actor = Actor(number, name, state.id, is_named=True, window=state.window)
    try:
        run = choose_for_writing(transaction, work, project.id, None, now)
    except NotFound:  # the environment names one that there is not
        run = make_main(transaction, project.id, now)
    return Scene(transaction, work, project.id, actor, run.id, now)


def look(transaction: Transaction, work: Workplace) -> Scene | None:
    """Return the session of a hook, in a transaction that only reads; None where it is not known."""
    project = projects.find(transaction, work)
    if work.caller is None or work.caller.find(transaction, project.id) is None:
        return None
    return Scene(transaction, work, project.id, reading(transaction, work, project.id, None), 0, work.clock())


_COUNTER = estimating("a hook has no time to load a vocabulary")


def tokens_of(text: str) -> int:
    """Return how many tokens a text has at most, estimated."""
    return math.ceil(counted(text) * PROSE_MARGIN)


def counted(text: str) -> int:
    """Return how many tokens a text has, estimated."""
    return _COUNTER.count(text) if text else 0


def fitting(lines: Sequence[str], budget: int) -> list[str]:
    """Return the first of some lines that fit a budget together; one that is too long is left out."""
    kept: list[str] = []
    for line in lines:
        if tokens_of("\n".join([*kept, line])) <= budget:
            kept.append(line)
    return kept
