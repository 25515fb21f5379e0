"""Whose attempts count: the loop that a call is about, as it follows from what the call names. It is never stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoopScope:
    """The loop of one caller within one run: which entries and reports of errors belong to it.

    With a loop and a task given, what anybody wrote in both belongs to it. Otherwise only what the caller wrote does:
    what shares the loop or the task and names no other of either; without both, what names neither.

    Attributes:
        run: the run's number.
        task_id, loop_id: what the call names, or None.
        author: who counts as the caller: the agent's number, None for all who give no name, who are one author, and a
            number that no agent has for a name that is not known.
    """

    project_id: int
    run: int
    task_id: str | None
    loop_id: str | None
    author: int | None

    @property
    def values(self) -> dict[str, object]:
        """The parameters of :meth:`holds`."""
        return {
            "project": self.project_id,
            "run": self.run,
            "task": self.task_id,
            "loop": self.loop_id,
            "author": self.author,
        }

    def holds(self, table: str, alias: str | None = None) -> str:
        """Return the condition, in SQL, that a row belongs to the loop.

        Args:
            table: a table with the columns project_id, run_id, task_id, loop_id and agent_id.
            alias: what the statement calls it; None for its name.
        """
        here, own = "{0}project_id = :project AND {0}run_id = :run", "{0}agent_id IS NOT DISTINCT FROM :author"
        if self.loop_id is not None and self.task_id is not None:
            # joined by OR they read every entry of the run: 11 ms of a briefing with 40,000, and 1 as they stand
            ways = (
                f"{here} AND loop_id = :loop AND (task_id = :task OR task_id IS NULL AND {own})",
                f"{here} AND task_id = :task AND loop_id IS NULL AND {own}",
            )
            either = " UNION ALL ".join(f"SELECT id FROM {table} WHERE {way.format('')}" for way in ways)
            return f"{alias or table}.id IN ({either})"
        if self.loop_id is not None:
            place = "{0}loop_id = :loop"
        elif self.task_id is not None:
            place = "{0}task_id = :task"
        else:
            place = "{0}loop_id IS NULL AND {0}task_id IS NULL"
        return f"{here} AND {own} AND {place}".format(f"{alias or table}.")
