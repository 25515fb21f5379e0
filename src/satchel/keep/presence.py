"""Quick looks at claims, messages, sessions and agents, so that callers load more code only if there are any."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from satchel.base.processes import Process
    from satchel.store.glance import Rows
    from satchel.store.transaction import Row


# Query for live claims of a project.
CLAIM = "SELECT 1 FROM file_claims WHERE project_id = :project AND expires_at > :now"

# Query for refused claims whose agents were not notified yet that the place is free.
REFUSAL = "SELECT 1 FROM claim_refusals WHERE project_id = :project"


def is_anything_claimed(rows: Rows, project_id: int, now: int) -> bool:
    """Return whether the project has a live claim."""
    return rows.one(f"{CLAIM} LIMIT 1", {"project": project_id, "now": now}) is not None


def is_anyone_waiting(rows: Rows, project_id: int) -> bool:
    """Return whether a call has begun to wait for a claim; it may have ended since."""
    some = "SELECT 1 FROM claim_waiters WHERE project_id = :project LIMIT 1"
    return rows.one(some, {"project": project_id}) is not None


def is_anyone_refused(rows: Rows, project_id: int) -> bool:
    """Return whether there are refused claims whose agents were not notified yet."""
    return rows.one(f"{REFUSAL} LIMIT 1", {"project": project_id}) is not None


# The number of ``human``, who receives what all persons do, if the reader is a person with a name; else null.
ALL_PERSONS = """(
    SELECT h.id FROM agents p JOIN agents h ON h.project_id = p.project_id AND h.folded = 'human'
    WHERE p.id = :me AND p.folded LIKE 'human:%'
)"""


# Some message of the project that has not expired.
MESSAGE = "SELECT 1 FROM agent_messages WHERE project_id = :project AND expires_at > :now"


_REQUEST = 3  # in MESSAGE_TYPES of satchel.keep.messages.records, which few need

# The condition that a message ``m`` is a question that nobody has answered.
UNANSWERED = f"""(m.type = {_REQUEST} OR rtrim(m.message) LIKE '%?')
    AND NOT EXISTS (
        SELECT 1 FROM agent_messages r WHERE r.reply_to = m.id AND r.from_agent_id IS DISTINCT FROM m.from_agent_id
    )
    -- any later message of one who was asked counts: answers cross, or name no message
    AND NOT EXISTS (
        SELECT 1 FROM agent_messages r
        WHERE r.project_id = :project AND r.to_agent_id = m.from_agent_id AND r.id > m.id
            AND r.from_agent_id IS DISTINCT FROM m.from_agent_id
            AND (m.to_agent_id IS NULL OR r.from_agent_id = m.to_agent_id)
    )"""


def is_any_message(rows: Rows, project_id: int, now: int) -> bool:
    return rows.one(f"{MESSAGE} LIMIT 1", {"project": project_id, "now": now}) is not None


def count_messages(rows: Rows, project_id: int, agent_id: int, now: int) -> tuple[int, int, int]:
    """Return how many messages an agent can see, how many to it alone are unread, and how many to all, or all persons.

    What it has read is counted in the reads alone, so that no message is looked up: neither for a reader of everything
    nor for one of nothing.
    """
    [row] = rows.all(
        f"""
        SELECT
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id = :me AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id IS NULL AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND from_agent_id = :me AND to_agent_id IS NULL AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id = {ALL_PERSONS} AND expires_at > :now
                AND from_agent_id IS DISTINCT FROM :me),
            count(*), count(gone_at), count(*) FILTER (WHERE gone_at <= :now)
        FROM message_reads WHERE agent_id = :me AND expires_at > :now
        """,
        {"project": project_id, "me": agent_id, "now": now},
    )
    own, to_all, sent_to_all, to_persons, read, read_of_all, gone_of_all = row
    to_all += to_persons - sent_to_all
    return own + to_all - gone_of_all, own - (read - read_of_all), to_all - read_of_all


# How long a session is silent until it counts as gone, if it is not known whether its process runs.
GONE_MS = 30 * 60_000

# Sessions not seen for longer are not listed.
LISTED_DAYS = 14

# Maximum number of sessions, last seen first, whose processes are checked.
MAX_CHECKED = 100


def local_process(machine: str | None, pid: int | None, started: int | None) -> Process | None:
    """Return a recorded process if it is one of this machine."""
    from satchel.base.processes import Process
    from satchel.base.processes import machine as machine_here

    is_here = machine is not None and machine == machine_here()
    return Process(pid, started) if is_here and pid is not None and started is not None else None


def is_abandoned(process: Process | None, seen_at: int, now: int) -> bool:
    """Return whether a session is over without having been ended; ``process`` None cannot be checked."""
    from satchel.base import processes

    is_alive = None if process is None else processes.is_alive(process)
    return now - seen_at > GONE_MS if is_alive is None else not is_alive


def live_sessions(rows: Rows, project_id: int, now: int) -> list[int]:
    sessions = rows.all(
        f"""
        SELECT id, machine, process, process_started, seen_at FROM sessions
        WHERE project_id = :project AND seen_at > :since AND ended_at IS NULL ORDER BY seen_at DESC LIMIT {MAX_CHECKED}
        """,
        {"project": project_id, "since": now - LISTED_DAYS * 86_400_000},
    )
    return [
        number
        for number, machine, pid, started, seen_at in sessions
        if not is_abandoned(local_process(machine, pid, started), seen_at, now)
    ]


def find_agent_row(rows: Rows, project_id: int, name: str) -> Row | None:
    """Return the number, name and ``has_acted`` of an agent or person; an agent is found without its mark too."""
    from satchel.base.text import fold
    from satchel.base.vocabulary import AGENT_MARK

    return rows.one(
        """
        SELECT id, name, has_acted FROM agents
        WHERE project_id = :project AND folded IN (:folded, :marked) ORDER BY folded LIMIT 1
        """,
        {"project": project_id, "folded": fold(name), "marked": f"{fold(name)}{AGENT_MARK}"},
    )
