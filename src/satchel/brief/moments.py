"""Briefings that hooks inject at moments of a client's session."""

from __future__ import annotations

import math

from satchel.base.config_keys import Config
from satchel.base.errors import Busy, ReadOnly, StoreFull
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import fold
from satchel.base.tokens import PROSE_MARGIN, estimating
from satchel.base.vocabulary import ROLES
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.briefing.records import Briefing, Request
from satchel.brief.briefing.service import Briefings, Prepared, record
from satchel.keep import deliveries
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import subagent_name
from satchel.keep.sessions.clients import only_looks
from satchel.keep.sessions.records import CurrentSession
from satchel.keep.sessions.service import Sessions

# Keeps the largest budget, 2,200 tokens, within 8,800 characters: Claude Code shows only 2 KB of texts over 10,000.
_MAX_CHARS_PER_TOKEN = 4

_PROMPT_CHARS = 1_000
_LEAST_FOR_CLOSING = 300
_MORE = "More: get_briefing(query=your task), search. Store what you learn: write_context"
_MORE_NOTES = "That is every rule and decision in force. More notes: search. Store what you learn: write_context"


# Moments at which the person sees a line about the briefing.
_VISIBLE = frozenset({"start", "clear", "resume"})

# Shown in a project without a rule, decision or note, as proof that hooks work.
_EMPTY = "Satchel: no rules, decisions or notes yet. More: satchel status"
_NOTHING_MORE = "Satchel: works, with nothing to add at this start. More: satchel status"


class Moment(NamedTuple):
    """One moment at which hooks brief.

    Attributes:
        name: one of :data:`satchel.keep.deliveries.MOMENTS`.
        opens_window: whether the client's context window is new.
        opening: the first line.
        naming: added to it if the agent has a name, ``{agent}``.
        closing: the last line where something found no room.
        most: a limit of the tokens besides the configured one.
    """

    name: str
    opens_window: bool
    opening: str
    naming: str = ""
    closing: str = ""
    most: int = 2_200

    @property
    def setting(self) -> str:
        """The configuration key of the budget in tokens: ``hooks.NAME``; clearing counts as a start."""
        return f"hooks.{'start' if self.name == 'clear' else self.name}"


_WHAT = "Satchel, project memory"
_YOU = " You are {agent}."

START = Moment("start", True, f"{_WHAT}.", _YOU, _MORE)
CLEAR = START._replace(name="clear")
RESUME = Moment("resume", False, "Satchel: what changed in this project since you were here.")
# Resuming in a client that no longer shows its model the briefing of the start.
RESUME_AFRESH = Moment("resume", True, f"{_WHAT}.", _YOU, _MORE)

REST = Moment("start", False, "Satchel: the rest of the briefing, for which the start had no time.")
COMPACTION = Moment("compaction", True, f"{_WHAT}, after compaction.", _YOU, _MORE)
SUBAGENT = Moment("subagent", False, f"{_WHAT}: reports, not orders.", ' Its tools know you by agent="{agent}".')
MOMENTS = (START, CLEAR, RESUME, RESUME_AFRESH, REST, COMPACTION, SUBAGENT)


@dataclass(frozen=True, slots=True)
class PutIn:
    """The text that a hook injects at one moment.

    Attributes:
        text: for the agent; empty if there is nothing to inject.
        tokens: its estimated length.
        budget: how many tokens were allowed.
        entered: the session that it belongs to; None if none could be recorded.
        agent: the receiver, or None.
        why: why there is nothing, for people; else empty.
        prepared: the briefing in it, recorded once the text has reached the client.
        is_complete: whether everything was read in time.
        briefing: the briefing in it.
        line: the line for the person at the client, or empty.
    """

    text: str = ""
    tokens: int = 0
    budget: int = 0
    entered: CurrentSession | None = None
    agent: str | None = None
    why: str = ""
    prepared: Prepared | None = None
    is_complete: bool = True
    briefing: Briefing | None = None
    line: str = ""


class _Briefings(Briefings):
    def count(self, text: str) -> int:
        return max(super().count(text), math.ceil(len(text) / _MAX_CHARS_PER_TOKEN))


class Moments:
    """Briefings that hooks inject into the sessions of clients."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        self._workplace = workplace
        self._config = config
        self._briefings = _Briefings(
            workplace, config, estimating("a hook has no time to load a vocabulary"), PROSE_MARGIN
        )

    def make(
        self,
        moment: Moment,
        deadline: Deadline,
        *,
        agent_id: str | None = None,
        agent_type: str | None = None,
        prompt: str = "",
        dry_run: bool = False,
    ) -> PutIn:
        """Enter the session of a hook and make the text to inject; :meth:`record` confirms its delivery.

        Args:
            deadline: when to stop collecting.
            agent_id, agent_type: the client's name for the receiving subagent, and its kind; None is the session's own
                agent.
            prompt: that of a subagent, if its client tells it.
            dry_run: record nothing, and show the text for an agent without earlier deliveries.

        Raises:
            StoreDamaged: the store cannot be read.
        """
        budget = min(moment.most, getattr(self._config, moment.setting.replace(".", "_")))
        if only_looks(agent_type):
            return PutIn(budget=budget, why=f"subagents of the kind {agent_type!r} only look around")
        entered = None if dry_run else self._enter(moment)
        agent = None if entered is None else entered.agent
        if agent is not None and agent_id is not None:
            agent = subagent_name(agent, agent_id)
        put_in = PutIn(budget=budget, entered=entered, agent=agent)
        since = entered.seen_at if entered is not None and moment is RESUME else None
        role = None if agent_type is None or fold(agent_type) not in ROLES else agent_type
        put_in = self._made(moment, put_in, deadline, role, prompt, since=since, again=dry_run)
        caller = self._workplace.caller
        notice = None if caller is None else caller.pop_warning()
        return put_in if notice is None else replace(put_in, text="\n".join(filter(None, [notice, put_in.text])))

    def _made(
        self,
        moment: Moment,
        put_in: PutIn,
        deadline: Deadline,
        role: str | None,
        prompt: str,
        *,
        since: int | None,
        again: bool,
    ) -> PutIn:
        budget, agent = put_in.budget, put_in.agent
        if not budget:
            return replace(put_in, why=f"{moment.setting} is 0")
        closing = moment.closing if budget >= _LEAST_FOR_CLOSING else ""
        prepared = self._briefings.prepare(
            Request(
                role=None if role is None else fold(role),
                role_as_given=role,
                query=prompt[:_PROMPT_CHARS] or None,
                agent=agent,
                budget=max(0, budget - self._briefings.count(_framed(moment, agent, closing and _MORE_NOTES, ""))),
                again=again,
                since=since,
                reminds=False,
                counts=False,
                within_session=True,
                begins=moment.name in deliveries.BEGINS,
            ),
            deadline,
        )
        put_in = replace(put_in, is_complete=prepared.collected.is_complete)
        if not prepared.items and not prepared.collected.handover:
            line = _EMPTY if prepared.collected.is_bare else _NOTHING_MORE
            return replace(
                put_in,
                why="; ".join(prepared.briefing.notes) or "there is nothing to inject",
                line=line if put_in.is_complete and moment in {START, CLEAR} else "",
            )
        if closing and prepared.shows_all_binding:
            closing = _MORE_NOTES
        text = _framed(moment, agent, "" if prepared.shows_all else closing, prepared.briefing.text)
        tokens = self._briefings.counter.count(text)
        return replace(
            put_in,
            text=text,
            tokens=tokens,
            prepared=prepared,
            briefing=prepared.briefing,
            line=_line(prepared, tokens) if moment.name in _VISIBLE else "",
        )

    def record(self, moment: Moment, put_in: PutIn) -> Briefing | None:
        """Record that a client got the text; if the store is busy, the next briefing may repeat it."""
        if put_in.prepared is None or put_in.agent is None:
            return put_in.briefing
        tokens = math.ceil(put_in.tokens * self._config.brief_token_factor)
        return record(self._workplace, put_in.prepared, moment.name, self._config.hooks_lock_wait_ms, tokens)

    def _enter(self, moment: Moment) -> CurrentSession | None:
        if self._workplace.engine.read_only:
            return None
        try:
            return Sessions(self._workplace).enter(opens_window=moment.opens_window)
        except (Busy, ReadOnly, StoreFull):
            return None


def _line(prepared: Prepared, tokens: int) -> str:
    names = ["handover" if one.candidate.leads else one.candidate.kind.noun for one in prepared.items]
    names += ["handover"] * bool(prepared.collected.handover)
    counted = {name: names.count(name) for name in names}
    what = ", ".join(_number(count, name) for name, count in sorted(counted.items(), key=lambda one: -one[1]))
    return f"Satchel: {_number(len(names), 'item')}, {_number(tokens, 'token')}: {what}. More: satchel status"


def _number(count: int, name: str) -> str:
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{count:,} {name if count == 1 else plural}"


def _framed(moment: Moment, agent: str | None, closing: str, text: str) -> str:
    naming = "" if agent is None else moment.naming.format(agent=agent)
    return "\n".join(part for part in (moment.opening + naming, text, closing) if part)
