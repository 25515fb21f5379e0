"""Last signs of life of the other agents, for one that waits in vain for a message."""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.base.text import fold, quoted_line
from satchel.brief.room import states
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.keep.sessions.team import others_at_work
from satchel.store.transaction import answer

# Limits of the sessions that are read, and of the agents that are named.
_MOST_SESSIONS, _MOST_NAMED = 20, 3


def last_heard(work: Workplace, name: str) -> list[str]:
    """Return in words when the agents that may still answer were last heard of, and which of them are done."""
    with projects.reading(work) as (transaction, project):
        now = work.clock()
        sessions = answer(others_at_work(transaction, project.id, None, now, _MOST_SESSIONS, states.find))
    others: dict[str, str] = {}
    for one in sessions:
        if one.name is None or fold(one.name) == fold(name) or one.state.name == "silent":
            continue
        # a name of several words is quoted, so that it cannot pass for a sentence
        who = one.name if " " not in one.name else quoted_line(one.name)
        is_done = f" is done ({one.scratchpad.ref}) and" if one.scratchpad is not None and one.scratchpad.done else ""
        others.setdefault(one.name, f"{who}{is_done} was last heard of {span_in_words(now - one.seen_at)} ago")
    return list(others.values())[:_MOST_NAMED]
