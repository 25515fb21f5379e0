"""Scope of attempts: the loop of a call, derived from its arguments and never stored."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.store.transaction import set_of

# errors, verdicts and scratchpads: exactly the condition of the indexes context_loops and context_session
OF_LOOPS = "type IN (2, 5, 6)"

# condition for scratchpads that count, with a prefix for columns, such as `c.`
OF_ATTEMPTS = f"{{0}}{OF_LOOPS} AND {{0}}type = 6 AND {{0}}superseded_by IS NULL"

ATTEMPTS = 3  # number of consecutive iterations without progress that make a loop stuck


@dataclass(frozen=True, slots=True)
class LoopScope:
    """A caller's loop within a run: which entries and error reports belong to it.

    With a loop and a task, everything in both belongs to it. Otherwise only what the caller wrote, also in the sessions
    it continues: items that share the loop or the task and name no other. Without both, the session is the loop: items
    written in it, or without a session by the caller, that name neither.

    Attributes:
        author: the caller's agent number; None for all anonymous agents, who count as one; an unused number for an
            unknown name.
        before: the numbers of the sessions it continues.
    """

    project_id: int
    run: int
    task_id: str | None
    loop_id: str | None
    author: int | None
    session: int | None = None
    before: tuple[int, ...] = ()

    @property
    def is_shared(self) -> bool:
        return self.loop_id is not None and self.task_id is not None

    @property
    def values(self) -> dict[str, object]:
        return {
            "project": self.project_id,
            "run": self.run,
            "task": self.task_id,
            "loop": self.loop_id,
            "author": self.author,
            "session": self.session,
        }

    def holds(self, table: str, alias: str | None = None) -> str:
        """Return the SQL condition that a row of ``context`` or ``error_reports`` belongs to the loop."""
        name = alias or table
        # with pluses SQLite looks up the author's own in context_loops instead of reading the run, the loop or the task
        plus = "+" if table == "context" and not self.is_shared else ""
        place = f"{plus}{{0}}project_id = :project AND {plus}{{0}}run_id = :run"
        ways = [f"{place} AND {way}" for way in self._ways(table)]
        if len(ways) == 1:
            return ways[0].format(f"{name}.")
        # joined by OR they would read every entry of the run
        either = " UNION ALL ".join(f"SELECT id FROM {table} WHERE {way.format('')}" for way in ways)
        return f"{name}.id IN ({either})"

    def _ways(self, table: str) -> list[str]:
        # alternatives, each with its own index; ``{0}`` prefixes columns
        own = "{0}agent_id IS NOT DISTINCT FROM :author"
        if self.is_shared:
            ways = [
                f"{{0}}loop_id = :loop AND ({{0}}task_id = :task OR {{0}}task_id IS NULL AND {own})",
                f"{{0}}task_id = :task AND {{0}}loop_id IS NULL AND {own}",
            ]
            place = "({0}loop_id = :loop AND {0}task_id IS NULL OR {0}task_id = :task AND {0}loop_id IS NULL)"
        elif self.loop_id is not None:
            place = "{0}loop_id = :loop"
            ways = [f"{own} AND {place}"]
        elif self.task_id is not None:
            place = "{0}task_id = :task"
            ways = [f"{own} AND {place}"]
        else:
            place = "{0}loop_id IS NULL AND {0}task_id IS NULL"
            ways = [f"{own} AND {'' if self.session is None else '{0}session_id = :session AND '}{place}"]
        if self.before:
            sessions = set_of(self.before)
            indexed = f" AND {{0}}{OF_LOOPS}" if table == "context" else ""
            ways.append(f"{{0}}session_id IN {sessions}{indexed} AND {place}")
        return ways
