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

    def holds(self, table: str) -> str:
        """Return the condition, in SQL, that a row belongs to the loop.

        Args:
            table: the name of a table with the columns project_id, run_id, task_id, loop_id and agent_id.
        """
        loop, task = f"{table}.loop_id", f"{table}.task_id"
        if self.loop_id is not None and self.task_id is not None:
            place = f"({loop} = :loop AND {task} IS NULL OR {task} = :task AND {loop} IS NULL)"
        elif self.loop_id is not None:
            place = f"{loop} = :loop"
        elif self.task_id is not None:
            place = f"{task} = :task"
        else:
            place = f"{loop} IS NULL AND {task} IS NULL"
        own = f"{table}.agent_id IS NOT DISTINCT FROM :author AND {place}"
        if self.loop_id is not None and self.task_id is not None:
            own = f"({loop} = :loop AND {task} = :task OR {own})"
        return f"{table}.project_id = :project AND {table}.run_id = :run AND {own}"
