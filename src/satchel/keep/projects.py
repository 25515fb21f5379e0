"""Projects, which own all stored items. A store may hold several, each separate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from satchel.base.clock import Clock
from satchel.base.errors import Conflict
from satchel.base.machine import caller_elsewhere
from satchel.base.records import dataclass, field
from satchel.base.retention import Retention
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import CATEGORIES, HUMAN, LAYERS, TAGS
from satchel.keep import jumps
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller

Looked = TypeVar("Looked")

NOTHING_YET = "nothing was written for this project yet"  # problem reported to readers of an empty project


# of calls that wait: seconds at most, since clients give up after a minute; how many calls of a kind and opened store
# wait at once, so that others continue; and the time between looks for new writes, for 0.25 % of a processor
MAX_WAIT_SECONDS, WAIT_SEATS, POLL_SECONDS = 45, 4, 0.1

LOCAL = "local"  # the owner of conversations without a token: of commands and clients on this machine


@dataclass(frozen=True, slots=True)
class Workplace:
    """Context of an opened Satchel's services: store, project and default identity.

    Attributes:
        suggested_name: its name otherwise.
        root: the project's root folder, which distinguishes unnamed projects.
        files_root: the base of relative file names: the worktree's, else the root.
        max_per_loop: how many entries of a run, type and loop are kept; None keeps all.
        worktree: the absolute path of the linked worktree; None is the main one.
        caller: the caller and its session; None for a program without one.
        owner: whose conversations with other models it sees: a token's person or agent, or :data:`LOCAL`.
        is_confined: whether nothing outside this project is revealed, as for the holder of a token for it alone.
        meaning: the value of ``search.meaning``; off for hooks.
        notify_command: the command of the user that is started for what needs a person, if any.
    """

    engine: Engine
    clock: Clock
    project_name: str | None
    suggested_name: str
    root: str | None
    files_root: str | None
    run_id: str | None
    agent: str | None
    max_content_bytes: int
    max_per_loop: int | None
    worktree: str | None = None
    caller: Caller | None = None
    open_layers: bool = False
    claim_minutes: int = 30
    retention: Retention = field(default_factory=Retention)
    person: Callable[[], str] = lambda: HUMAN
    owner: str = LOCAL
    is_confined: bool = False
    meaning: str = "off"
    notify_command: str | None = None


class Service:
    """Base of services for a workplace's project."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace


@dataclass(frozen=True, slots=True)
class Project:
    """A project of the store; one that nothing was written for has the id 0."""

    id: int
    name: str
    root: str | None
    seq: int


_ANY = "SELECT id, name, root, seq FROM projects"
_BY_NAME = f"{_ANY} WHERE name = :name"
_BY_ROOT = f"{_ANY} WHERE root = :root ORDER BY id"


def find(transaction: Transaction, workplace: Workplace) -> Project:
    """Return the workplace's project; before its first write its id is 0.

    A named project, and any in a database, is found by its name. Others are found by root folder; if that folder was
    moved, it is the only project of the store whose recorded root is missing, with the store moved along or the same
    name.
    """
    if workplace.project_name is not None:
        return with_name(transaction, workplace.project_name) or _new(workplace)
    if workplace.engine.folder is None:
        return with_name(transaction, workplace.suggested_name) or _new(workplace)
    row = transaction.one(_BY_ROOT, {"root": workplace.root})
    if row:
        return Project(*row)
    every = transaction.all(f"{_ANY} LIMIT 2")
    if len(every) == 1 and (workplace.root is None or _may_have_moved(Project(*every[0]), workplace, workplace.root)):
        return Project(*every[0])
    namesake = with_name(transaction, workplace.suggested_name)
    if namesake is not None:
        raise Conflict(
            f"this store holds a project {namesake.name!r} of another folder ({namesake.root})",
            f"--project {namesake.name} or SATCHEL_PROJECT={namesake.name} uses that one here; another name there, or "
            "as project.name in your own config.toml, begins a new one",
        )
    return _new(workplace)


def _new(workplace: Workplace) -> Project:
    return Project(0, workplace.project_name or workplace.suggested_name, None, 0)


def with_name(transaction: Transaction, name: str) -> Project | None:
    row = transaction.one(_BY_NAME, {"name": name})
    return Project(*row) if row else None


@contextmanager
def reading(workplace: Workplace) -> Iterator[tuple[Transaction, Project]]:
    """Open a read transaction; yield it and the workplace's project, as :func:`find` returns it."""
    with workplace.engine.read() as transaction:
        yield transaction, find(transaction, workplace)


@contextmanager
def writing(workplace: Workplace) -> Iterator[tuple[Transaction, Project, int]]:
    """Open a write transaction; yield it, the workplace's project as :func:`ensure` returns it, and the time."""
    with workplace.engine.write() as transaction:
        now = workplace.clock()
        yield transaction, ensure(transaction, workplace, now), now


def looked_up(workplace: Workplace, look: Callable[[Transaction, int], tuple[Looked, ...]]) -> tuple[Looked, ...]:
    """Look something up in the workplace's project before a write; empty without a project."""
    with workplace.engine.look() as transaction:
        project_id = known_id(transaction, workplace)
        return look(transaction, project_id) if project_id else ()


def known_id(transaction: Transaction, workplace: Workplace) -> int:
    """Return the id of the workplace's project as an earlier write knew it, else as :func:`find` does."""
    project: Project | None = transaction.memo.get(_memo_key(workplace))
    return (project or find(transaction, workplace)).id


def _memo_key(workplace: Workplace) -> tuple[str | None, ...]:
    return ("project", workplace.project_name, workplace.root)


def ensure(transaction: Transaction, workplace: Workplace, now: int) -> Project:
    """Return the workplace's project, creating it on its first write."""
    key = _memo_key(workplace)
    project: Project | None = transaction.memo.get(key)
    if project is not None:
        jumps.look(workplace.engine, transaction, project.id, now)
        return project
    project = find(transaction, workplace)
    if project.id:
        jumps.look(workplace.engine, transaction, project.id, now)
        root = _root_here(workplace)
        if root is not None and project.root != root and _is_gone(project.root):
            transaction.run("UPDATE projects SET root = :root WHERE id = :id", {"root": root, "id": project.id})
            transaction.forget()
        transaction.memo[key] = project
        return project
    name = check_name(project.name, "project")
    [row] = transaction.all(
        """
        INSERT INTO projects (uid, name, root, created_at, latest_at, day_at)
        VALUES (:uid, :name, :root, :now, :now, :now)
        RETURNING id, name, root, seq
        """,
        {"uid": os.urandom(16), "name": name, "root": _root_here(workplace), "now": now},
    )
    project = Project(*row)
    for table, names in (("layers", LAYERS), ("tags", TAGS), ("categories", CATEGORIES)):
        _seed(transaction, table, names, project.id, now)
    return project


def _root_here(workplace: Workplace) -> str | None:
    # no root is recorded if callers on several machines may share the project
    return workplace.root if caller_elsewhere() is None and workplace.engine.folder is not None else None


def _seed(transaction: Transaction, table: str, names: Sequence[str], project_id: int, now: int) -> None:
    # predefined names exist before the project's first change
    transaction.many(
        f"""
        INSERT INTO {table} (uid, seq, project_id, name, folded, created_at)
        VALUES (:uid, 0, :project, :name, :folded, :now)
        """,
        [
            {"uid": os.urandom(16), "project": project_id, "name": name, "folded": fold(name), "now": now}
            for name in names
        ],
    )


def _may_have_moved(project: Project, workplace: Workplace, root: str) -> bool:
    # the store moved with the folder, or the name is the same
    if project.root is None:
        return True
    folder = workplace.engine.folder
    came_along = folder is not None and folder.parent == Path(root)
    return _is_gone(project.root) and (came_along or project.name == workplace.suggested_name)


def _is_gone(root: str | None) -> bool:
    return root is None or not Path(root).exists()
