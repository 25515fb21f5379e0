"""Names that are registered on first use: agents, files, tags, scopes, categories and layers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.records import dataclass
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import HUMAN, LAYERS
from satchel.keep import projects
from satchel.keep.projects import Service, Workplace
from satchel.redaction import finds_secret
from satchel.store.transaction import Row, Transaction

_MAX_AUTHORS = 10
"""So many of those who have written are named where a name is unknown."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Who acts. Names differ by more than case; the role says what kind of worker it is.

    Attributes:
        created_at: when it was first named, in milliseconds UTC.
        has_acted: False for one that messages were sent to and that never did anything.
    """

    id: int
    name: str
    role: str | None
    created_at: int
    has_acted: bool


class Agents(Service):
    """The agents of a project."""

    def register(self, name: str, role: str | None = None) -> Agent:
        """Record an agent, or its role; writing as an agent records it too.

        Args:
            name: at most 200 characters, compared without regard to case and to the width or style of letters.
            role: such as developer, qa_expert or a word of the user's own; None keeps what is recorded.

        Raises:
            InvalidInput: the name or role is not a name.
            Refused: it is a person's, and the caller is none.
        """
        name = _check_speaker(self._workplace, name)
        role = None if role is None else check_identifier(role, "role")
        with projects.writing(self._workplace) as (transaction, project, now):
            agent, _ = ensure_agent(transaction, project.id, name, now)
            if role is not None:
                transaction.run(
                    "UPDATE agents SET role = :role, seq = :seq WHERE id = :id AND role IS DISTINCT FROM :role",
                    {"role": role, "id": agent, "seq": transaction.next_seq(project.id)},
                )
            row = transaction.one(f"{_AGENT} WHERE id = :id", {"id": agent})
        assert row is not None
        return _agent(row)

    def list(self) -> tuple[Agent, ...]:
        """Return the project's agents, in the order they were first named."""
        with projects.reading(self._workplace) as (transaction, project):
            if project is None:
                return ()
            rows = transaction.all(f"{_AGENT} WHERE project_id = :project ORDER BY id", {"project": project.id})
        return tuple(map(_agent, rows))


_AGENT = "SELECT id, name, role, created_at, has_acted FROM agents"


def _agent(row: Row) -> Agent:
    number, name, role, created, has_acted = row
    return Agent(number, name, role, created, bool(has_acted))


def ensure_agent(
    transaction: Transaction, project_id: int, name: str, now: int, *, acts: bool = True
) -> tuple[int, str]:
    """Return the number of an agent, recorded on first use, and its name as it was written then.

    Args:
        acts: whether it does something itself; False for one that a message is sent to.
    """
    key = ("agent", project_id, name) if acts else ("addressee", project_id, name)
    remembered: tuple[int, str] | None = transaction.memo.get(key)
    if remembered is not None:
        return remembered
    known = transaction.one(
        "SELECT id, name, has_acted FROM agents WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    if known is None:
        row = _named_row(transaction, project_id, name, now)
        known = transaction.add("agents", row | {"has_acted": int(acts)}), name, acts
    elif acts and not known[2]:
        transaction.run(
            "UPDATE agents SET has_acted = 1, seq = :seq WHERE id = :id",
            {"seq": transaction.next_seq(project_id), "id": known[0]},
        )
    agent = transaction.memo[key] = int(known[0]), str(known[1])
    return agent


def _named_row(transaction: Transaction, project_id: int, name: str, now: int) -> dict[str, object]:
    """Return what is recorded of a name when it is used first, by the columns that all names have."""
    return {
        "uid": os.urandom(16),
        "seq": transaction.next_seq(project_id),
        "project_id": project_id,
        "name": name,
        "folded": fold(name),
        "created_at": now,
    }


def find_agent(transaction: Transaction, project_id: int, name: str | None) -> int | None:
    """Return the number of an agent, -1 for a name that no agent has, None for no name."""
    if name is None:
        return None
    number = find_name(transaction, "agents", project_id, name)
    return -1 if number is None else number


PERSONS = """(
    SELECT id FROM agents WHERE project_id = :project AND (folded = 'human' OR folded >= 'human:' AND folded < 'human;')
)"""
"""The numbers of all persons of a project; a semicolon follows the colon."""


def is_persons(name: str | None) -> bool:
    """Whether a name is that of a person: ``human``, who is any person, or ``human:NAME``."""
    folded = "" if name is None else fold(name)
    return folded == HUMAN or folded.startswith(f"{HUMAN}:")


def check_person(name: object) -> str:
    """Return the name of a person.

    Raises:
        InvalidInput: it is no name, or not that of a person.
    """
    checked = check_identifier(name, "person")
    if not is_persons(checked) or not fold(checked).removeprefix(f"{HUMAN}:").strip():
        raise InvalidInput(f"{checked!r} is no person", f"Give {HUMAN}:NAME, or {HUMAN}")
    return checked


def check_agent(workplace: Workplace, agent: str | None) -> str | None:
    """Return the name of the agent named, else of the default, which may be nobody.

    Raises:
        InvalidInput: it is no name.
        Refused: it is a person's, and the caller is none.
    """
    agent = workplace.agent if agent is None else agent
    return None if agent is None else _check_speaker(workplace, agent)


def _check_speaker(workplace: Workplace, agent: str) -> str:
    """Return a name in which something is said, checked."""
    name, caller = check_identifier(agent, "agent"), workplace.caller
    if caller is not None and is_persons(name) and not caller.is_person:
        raise caller.refuse_agent(
            f"an agent does not speak as a person, and {name!r} is one",
            f"Leave agent out, or give a name that neither is {HUMAN} nor begins with {HUMAN}:",
        )
    return name


def needed_agent(workplace: Workplace, agent: str | None, doing: str) -> str | None:
    """Return the name of the agent named, else of the default; None where the session of the caller has one.

    Args:
        doing: what needs one, as in "claiming files".

    Raises:
        InvalidInput: nobody is named and there is no session, or it is no name.
        Refused: it is a person's, and the caller is none.
    """
    chosen = check_agent(workplace, agent)
    if chosen is None and workplace.caller is None:
        raise no_agent(doing)
    return chosen


def no_agent(doing: str) -> InvalidInput:
    """Return the refusal of what needs an agent where nobody is named."""
    return InvalidInput(f"{doing} needs an agent", "Name it with agent, or set a default with --agent or SATCHEL_AGENT")


def check_identifier(value: object, field: str) -> str:
    """Return a name as :func:`satchel.base.text.check_name` does, and refuse one that holds a secret."""
    return _check_text(value, field) if isinstance(value, str) else check_name(value, field)


@lru_cache(maxsize=4_096)
def _check_text(value: str, field: str) -> str:
    # the same few agents, tasks, loops and files come with every call
    name = check_name(value, field)
    secret = finds_secret(name)
    if secret is not None:
        raise InvalidInput(f"{field} looks like a secret ({secret})", "Use a name that gives nothing away")
    return name


def check_file(value: object, root: str | None, field: str = "file") -> str:
    """Return the canonical path of a file inside the project, and refuse one that holds a secret.

    Args:
        root: the folder that relative names start from, or None.
        field: the argument's name, for the error.
    """
    from satchel.base.project_paths import canonical_path  # .5 ms of a command that names no file

    return check_identifier(canonical_path(value, root, field), field)


def check_names(values: object, field: str, most: int = 50) -> tuple[str, ...]:
    """Return names trimmed, without repetitions in another case, in the order given.

    Args:
        values: a list of names.
        field: the argument's name, for the error.
        most: how many there may be.

    Raises:
        InvalidInput: it is no list, too long, or holds what is no name.
    """
    if isinstance(values, str) or not isinstance(values, (list, tuple, set, frozenset)):
        raise InvalidInput(f"{field} is no list of names", f'Give {field} as ["...", "..."]')
    if len(values) > most:
        raise InvalidInput(f"{field} has {len(values)} names", f"At most {most} are allowed")
    names = tuple(values)
    return _checked(names, field) if all(isinstance(name, str) for name in names) else _check_each(names, field)


@lru_cache(maxsize=2_048)
def _checked(names: tuple[str, ...], field: str) -> tuple[str, ...]:
    # the same few combinations come with every call
    return _check_each(names, field)


def _check_each(names: Sequence[object], field: str) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for place, value in enumerate(names):
        name = check_identifier(value, f"{field}[{place}]")
        kept.setdefault(fold(name), name)
    return tuple(kept.values())


def ensure_name(transaction: Transaction, table: str, project_id: int, name: str, now: int) -> tuple[int, str]:
    """Return the number of a tag, scope, category or layer, recorded on first use, and its name as written then.

    Args:
        table: tags, scopes, categories or layers.
        name: checked.
    """
    known: tuple[int, str] | None = transaction.memo.get((table, project_id, name))
    if known is not None:
        return known
    row = transaction.one(
        f"SELECT id, name FROM {table} WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    if row is None:
        row = transaction.add(table, _named_row(transaction, project_id, name, now)), name
    known = transaction.memo[table, project_id, name] = int(row[0]), str(row[1])
    return known


def ensure_layer(
    transaction: Transaction, workplace: Workplace, project_id: int, name: str, now: int
) -> tuple[int, str]:
    """Return the number and name of a layer; a new one is recorded only where ``layers.open`` allows it.

    Raises:
        InvalidInput: there is no such layer; the known ones are listed.
    """
    if not workplace.open_layers and ("layers", project_id, name) not in transaction.memo:
        find_layer(transaction, project_id, name)
    return ensure_name(transaction, "layers", project_id, name, now)


def find_layer(transaction: Transaction, project_id: int | None, name: str | None) -> int | None:
    """Return the number of a layer, None for no name.

    Raises:
        InvalidInput: there is no such layer; the known ones are listed.
    """
    if name is None:
        return None
    number = find_name(transaction, "layers", project_id, name)
    if number is None:
        rows = transaction.all(
            "SELECT name FROM layers WHERE project_id = :project ORDER BY id", {"project": project_id}
        )
        known = [row[0] for row in rows] or list(LAYERS)
        if project_id is None and fold(name) in LAYERS:
            return -1
        raise unknown_name("layer", name, known)
    return number


def find_name(transaction: Transaction, table: str, project_id: int | None, name: str) -> int | None:
    """Return the number of a tag, scope, category, layer or agent, or None for a name that nothing has."""
    row = transaction.one(
        f"SELECT id FROM {table} WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    return int(row[0]) if row else None


def unknown_note(what: str, name: str, known: Sequence[str]) -> str:
    """Return the sentence that says that a name is unknown, and which known one is the nearest."""
    close = nearest(name, known)
    return f"there is no {what} {name!r} yet" + (f"; did you mean {close!r}?" if close else "")


def unknown_agent(transaction: Transaction, project_id: int | None, name: str) -> str:
    """Return the sentence that says that nobody has a name, and who there is: the nearest name, then the newest."""
    rows = transaction.all(
        "SELECT name FROM agents WHERE project_id = :project AND has_acted = 1 ORDER BY id DESC",
        {"project": project_id},
    )
    known = [row[0] for row in rows]
    if not known:
        return f"nobody here is called {name!r}: nobody has written yet"
    close = nearest(name, known)
    known = list(dict.fromkeys([*([] if close is None else [close]), *known]))
    more = f" and {len(known) - _MAX_AUTHORS} more" if len(known) > _MAX_AUTHORS else ""
    return f"nobody here is called {name!r}; authors here: {', '.join(known[:_MAX_AUTHORS])}{more}"


def ensure_file(transaction: Transaction, project_id: int, path: str, now: int) -> int:
    """Return the number of a file, recorded on first use; the path is canonical."""
    row = transaction.one(
        "SELECT id FROM files WHERE project_id = :project AND path = :path", {"project": project_id, "path": path}
    )
    if row is not None:
        return int(row[0])
    return transaction.add(
        "files",
        {
            "uid": os.urandom(16),
            "seq": transaction.next_seq(project_id),
            "project_id": project_id,
            "path": path,
            "created_at": now,
        },
    )
