"""The context of a hook at work, its answer, and the budget for lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from satchel.base.errors import NotFound
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import shortened
from satchel.base.tokens import PROSE_MARGIN, estimating
from satchel.brief.fields import answer_mark, joined
from satchel.find.kind import Kind
from satchel.keep import deliveries, projects
from satchel.keep.deliveries import Window
from satchel.keep.names import ensure_agent
from satchel.keep.projects import Workplace
from satchel.keep.runs import choose_for_writing, make_main
from satchel.keep.sessions import updates
from satchel.keep.sessions.actors import reading, subagent_name
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from satchel.keep.messages.visibility import Unseen

# A kind number, an item id, and the item's seq.
ItemVersion = tuple[int, int, int]

# The items that a window has: the seq by kind number and item id.
Contents = Mapping[int, Mapping[int, int]]

# Windows of sessions are numbered from 1.
_NEW_WINDOW = 0

REMINDERS = {Kind.CONSTRAINT: deliveries.BINDING_RULE, Kind.DECISION: deliveries.BINDING_DECISION}
RELATED = {
    Kind.ENTRY: deliveries.RELATED_NOTE,
    Kind.CONSTRAINT: deliveries.RELATED_RULE,
    Kind.DECISION: deliveries.RELATED_DECISION,
}


class HookContext(NamedTuple):
    """The session of a hook at one moment.

    Attributes:
        actor: the agent of the session, or one of its subagents.
        run: the id of the run that the session works in.
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
        return deliveries.window_of(self.project_id, self.actor, self.run, None, None, 0)

    def in_new_window(self) -> HookContext:
        """Return the same moment in a window without deliveries."""
        return self._replace(actor=self.actor._replace(window=_NEW_WINDOW))


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The answer of a hook.

    Attributes:
        text: for the model; empty if there is nothing to add.
        denial: why an edit is stopped; empty allows it.
        question: for the client's user before an edit; empty asks nothing.
        items: in the text, to be recorded once it has reached the client.
        window: the context window that they are recorded in.
        moment: one of :data:`satchel.keep.deliveries.MOMENTS`.
        why: why there is nothing, for people.
        problem: what could not be done in time, for the log of hook faults; else empty.
    """

    text: str = ""
    denial: str = ""
    question: str = ""
    items: tuple[ItemVersion, ...] = ()
    window: Window | None = None
    moment: str = ""
    why: str = ""
    problem: str = ""

    def plus(self, context: HookContext, lines: Iterable[str], items: Iterable[ItemVersion]) -> HookAnswer:
        """Return the answer with more lines and their items."""
        text = "\n".join(filter(None, [self.text, *lines]))
        return replace(self, text=text, items=(*self.items, *items), window=context.window)


NOTHING = HookAnswer()


def enter(transaction: Transaction, work: Workplace, agent_id: str | None) -> HookContext | None:
    """Enter the session of a hook, in a transaction that may write; return None if the caller has none.

    ``agent_id`` is the client's name for a subagent; None is the agent of the session itself.
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
    except NotFound:  # the environment names an unknown run
        run = make_main(transaction, project.id, now)
    return HookContext(transaction, work, project.id, actor, run.id, now)


def find(transaction: Transaction, work: Workplace) -> HookContext | None:
    """Return the session of a hook, in a read-only transaction, or None if it is unknown."""
    project = projects.find(transaction, work)
    if work.caller is None or work.caller.find(transaction, project.id) is None:
        return None
    return HookContext(transaction, work, project.id, reading(transaction, work, project.id, None), 0, work.clock())


def has(contents: Contents, version: ItemVersion) -> bool:
    """Return whether a window has a version of an item, or a later one."""
    kind, item, seq = version
    return contents.get(kind, {}).get(item, -1) >= seq


_COUNTER = estimating("a hook has no time to load a vocabulary")


def tokens_of(text: str) -> int:
    """Return the length of a text in tokens at most, estimated."""
    return math.ceil(estimate(text) * PROSE_MARGIN)


def estimate(text: str) -> int:
    """Return the length of a text in tokens, estimated."""
    return _COUNTER.count(text) if text else 0


def fitting(lines: Sequence[str], budget: int) -> list[str]:
    """Return the lines that fit a budget together, skipping those that are too long."""
    selected: list[str] = []
    for line in lines:
        if tokens_of("\n".join([*selected, line])) <= budget:
            selected.append(line)
    return selected


# The longest answer with news, below what clients show, and the least that it has left for it.
_MOST_CHARS, _LEAST_CHARS = 8_500, 2_500


def with_news(context: HookContext, answer: HookAnswer, *, at_prompt: bool) -> HookAnswer:
    """Add news: free files and critical rules at once, other rules and decisions at a prompt as the tokens allow."""
    from satchel.brief import news

    fresh = [
        one
        for one in news.find_at_work(context.transaction, context.work, context.project_id, context.actor, context.now)
        if (at_prompt or one.is_critical) and one.items[0] not in answer.items
    ]
    chars = min(news.MOST_CHARS, _MOST_CHARS - len(answer.text))
    if not fresh or chars < _LEAST_CHARS:  # they come with the next answer
        return answer
    delivered = deliveries.delivered(context.transaction, context.window)
    tokens_left = deliveries.tokens_left(delivered) - tokens_of(answer.text)

    def affords(one: news.News) -> bool:
        nonlocal tokens_left
        tokens = tokens_of(f"Satchel: {one.text}\n")
        # what agents do leaves some of the tokens to persons
        if not one.is_critical and tokens > tokens_left - (0 if one.is_persons else deliveries.SESSION_TOKENS // 4):
            return False
        tokens_left -= tokens
        return True

    for one in news.fitting(fresh, chars, affords):
        answer = answer.plus(context, [f"Satchel: {one.text}"], one.items)
    return answer


# The least time between messages in answers.
_LEAST_MS = 60_000

_MOST_MESSAGES = 5
_MESSAGE_CHARS = 220


def has_messages(context: HookContext) -> bool:
    """Return whether there are unread messages that the agent did not get."""
    return bool(_unseen_messages(context))


def unread_messages(
    context: HookContext, budget: int, *, at_prompt: bool = False
) -> tuple[list[str], list[ItemVersion]]:
    """Return lines on unread messages that the agent did not get, and their items: at a prompt, else once a minute."""
    last = context.transaction.one("SELECT told_at FROM sessions WHERE id = :id", {"id": context.actor.session})
    is_early = last is not None and last[0] is not None and 0 <= context.now - last[0] < _LEAST_MS
    rows = [] if is_early and not at_prompt else _unseen_messages(context)
    if not rows:
        return [], []
    row_of = {_message_line(row): row for row in rows}
    selected = fitting(list(row_of), budget)
    if not selected:
        row_of = {_message_line(rows[0], _MESSAGE_CHARS // 3): rows[0]}
        selected = fitting(list(row_of), budget)
    if not selected:
        return [], []
    updates.change(context.transaction, context.actor.session or 0, {"told_at": context.now})
    return selected, [(Kind.MESSAGE.number, row_of[line].number, row_of[line].seq) for line in selected]


def _unseen_messages(context: HookContext) -> list[Unseen]:
    from satchel.keep.presence import is_any_message

    if context.actor.number is None or not is_any_message(context.transaction, context.project_id, context.now):
        return []
    from satchel.keep.messages.visibility import Reader, newest_unseen

    is_delivered, values = deliveries.was_delivered(context.project_id, context.actor, Kind.MESSAGE, "m.id")
    reader = Reader(context.project_id, context.actor.number, context.now)
    return newest_unseen(context.transaction, reader, is_delivered, values, _MOST_MESSAGES)


def _message_line(row: Unseen, chars: int = _MESSAGE_CHARS) -> str:
    ref, short = Kind.MESSAGE.ref(row.number), shortened(row.text, chars)
    whole = f' (in full: get_items(["{ref}"]))' if short.endswith("…") and not row.text.rstrip().endswith("…") else ""
    head = joined(f"Message {ref} from {row.sender or 'Satchel'}", answer_mark(row.question))
    return f"{head}: {short}{whole}"
