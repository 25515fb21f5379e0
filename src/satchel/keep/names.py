"""Names registered on first use: agents, files, tags, scopes, categories and layers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.text import check_name, fold, nameable
from satchel.base.vocabulary import AGENT_MARK, HUMAN, IMPORTED_MARK, LAYERS
from satchel.keep.presence import find_agent_row
from satchel.keep.projects import Workplace
from satchel.keep.sessions import standing
from satchel.keep.sessions.standing import PERSON_VARIABLE
from satchel.redaction import finds_secret
from satchel.store.transaction import Transaction, add_item, update_row

_MAX_AUTHORS = 10  # maximum number of agents listed for an unknown name


def ensure_agent(
    transaction: Transaction, project_id: int, name: str, now: int, *, acts: bool = True, is_checked: bool = True
) -> tuple[int, str]:
    """Return an agent's number and name, registered on first use; ``acts`` is False for the receiver of a message."""
    key = ("agent", project_id, name) if acts else ("addressee", project_id, name)
    cached: tuple[int, str] | None = transaction.memo.get(key)
    if cached is not None:
        return cached
    row = find_agent_row(transaction, project_id, name)
    is_news = acts and (row is None or not row[2])
    if is_news and is_checked and is_persons(name):
        _mark_agents_like(transaction, project_id, name)
    if row is None:
        if is_checked:
            check_author_name(name)
            name = marked_name(transaction, project_id, name)
        number = add_item(
            transaction, "agents", project_id, name=name, folded=fold(name), created_at=now, has_acted=int(acts)
        )
        row = number, name, acts
    elif is_news:
        update_row(transaction, "agents", row[0], has_acted=1, seq=transaction.next_seq(project_id))
    agent = transaction.memo[key] = int(row[0]), str(row[1])
    return agent


def marked_name(transaction: Transaction, project_id: int, name: str) -> str:
    """Return a name, with the mark of an agent if it looks like that of a person who acts here, as people see it."""
    if is_persons(name):
        return name
    query = f"SELECT name FROM agents WHERE has_acted = 1 AND id IN {PERSONS}"
    persons = transaction.all(query, {"project": project_id})
    is_like = look_of(name) in {look_of(person.partition(":")[2]) for (person,) in persons}
    return f"{name}{AGENT_MARK}" if is_like else name


def _mark_agents_like(transaction: Transaction, project_id: int, person: str) -> None:
    agents = f"SELECT id, name FROM agents WHERE project_id = :project AND id NOT IN {PERSONS}"
    look = look_of(person.partition(":")[2])
    for number, name in transaction.all(agents, {"project": project_id}):
        if look_of(name) == look:
            marked = f"{name}{AGENT_MARK}"
            while find_name(transaction, "agents", project_id, marked) is not None:  # another agent chose that name
                marked += AGENT_MARK
            seq = transaction.next_seq(project_id)
            update_row(transaction, "agents", number, name=marked, folded=fold(marked), seq=seq)
            transaction.forget()


def find_agent(transaction: Transaction, project_id: int, name: str | None) -> int | None:
    """Return an agent's number; -1 if there is no such agent, None without a name."""
    if name is None:
        return None
    row = find_agent_row(transaction, project_id, name)
    return -1 if row is None else int(row[0])


# SQL for the numbers of a project's persons; in the alphabet a semicolon follows the colon
PERSONS = """(
    SELECT id FROM agents WHERE project_id = :project AND (folded = 'human' OR folded >= 'human:' AND folded < 'human;')
)"""


def is_persons(name: str | None) -> bool:
    """Return whether a name is a person's: ``human`` for any person, or ``human:NAME``."""
    folded = "" if name is None else fold(name)
    return folded == HUMAN or folded.startswith(f"{HUMAN}:")


_RESERVED = ("system", "satchel", "user", "person")
_ALIKE = str.maketrans("i1|0", "lllo")


def check_author_name(name: str, field: str = "agent") -> None:
    """Refuse a new name that could pass for a person, the program or the user, or that mixes scripts."""
    bare = name.partition(":")[2] if is_persons(name) else name
    if not name.isascii():
        from satchel.base.confusables import mixed_scripts, odd_sign  # most names are ASCII

        sign = odd_sign(name)
        if sign is not None:
            raise InvalidInput(f"{field} {name!r} holds U+{ord(sign):04X}", "Use letters and digits of one script")
        if scripts := mixed_scripts(bare):
            raise InvalidInput(f"{field} {name!r} mixes {' and '.join(scripts).lower()}", "Use letters of one script")
    alike = alike_form(name)
    bare_alike = alike.partition(":")[2] if is_persons(name) else alike
    if any(_plain(word).partition(":")[0] == HUMAN for word in bare_alike.split()):
        raise InvalidInput(
            f"{field} {name!r} reads like a person's name", f"A person is {HUMAN}:NAME; give an agent another name"
        )
    if is_persons(name) and alike.endswith((AGENT_MARK, IMPORTED_MARK)):
        raise InvalidInput(f"{field} {name!r} ends like the name of an agent", "Leave the mark out")
    if not is_persons(name) and _plain(bare_alike) in _RESERVED_PLAIN:
        raise InvalidInput(f"{field} {name!r} is reserved, or looks like a name that is", "Choose another name")


def alike_form(name: str) -> str:
    """Return the form that names share which look alike, whatever their script and case."""
    if name.isascii():
        return fold(name)
    from satchel.base.confusables import skeleton  # most names are ASCII

    return skeleton(name)


def look_of(name: str) -> str:
    """Return the form that names share which look alike, also where one sign looks like another, as I and 1."""
    return _plain(alike_form(name))


def _plain(text: str) -> str:
    return text.replace("rn", "m").translate(_ALIKE)


_RESERVED_PLAIN = frozenset(map(_plain, _RESERVED))


def check_person(name: object) -> str:
    checked = check_identifier(name, "person")
    if not is_persons(checked) or not fold(checked).removeprefix(f"{HUMAN}:").strip():
        raise InvalidInput(f"{checked!r} is not a person", f"Give {HUMAN}:NAME, or {HUMAN}")
    return checked


def check_agent(workplace: Workplace, agent: str | None) -> str | None:
    agent = workplace.agent if agent is None else agent
    return None if agent is None else _check_speaker(workplace, agent)


def _check_speaker(workplace: Workplace, agent: str) -> str:
    name = check_identifier(agent, "agent")
    if alike_form(name).endswith(IMPORTED_MARK):
        raise InvalidInput(f"agent {name!r} ends like a person's name in an import", "Leave the mark out")
    if is_persons(name) and not standing.standing_of(workplace.caller).is_person:
        remedy = f"Leave agent out, or give a name that neither is {HUMAN} nor begins with {HUMAN}:"
        standing.require_person(workplace.caller, f"act as {name!r}", remedy, workplace.person)
    return name


def needed_agent(workplace: Workplace, agent: str | None, doing: str) -> str | None:
    """Return the agent's name, else the default; None if the caller's session has one, refused without a session."""
    name = check_agent(workplace, agent)
    if name is None and workplace.caller is None:
        raise no_agent(doing)
    return name


def no_agent(doing: str) -> InvalidInput:
    return InvalidInput(f"{doing} needs an agent", "Name it with agent, or set a default with --agent or SATCHEL_AGENT")


def check_identifier(value: object, field: str) -> str:
    """Return a name as :func:`satchel.base.text.check_name` does, and refuse one that holds a secret."""
    return _check_text(value, field) if isinstance(value, str) else check_name(value, field)


@lru_cache(maxsize=4_096)
def _check_text(value: str, field: str) -> str:
    # calls repeat the same few agents, tasks, loops and files
    name = check_name(value, field)
    secret = finds_secret(name)
    if secret is not None:
        raise InvalidInput(f"{field} looks like a secret ({secret})", "Use a name without secrets")
    return name


def check_file(value: object, root: str | None, field: str = "file") -> str:
    """Return the canonical path of a file inside the project; refuse one with a secret."""
    from satchel.base.project_paths import canonical_path  # imported here: many commands name no file

    return check_identifier(canonical_path(value, root, field), field)


def check_names(values: object, field: str, most: int = 50) -> tuple[str, ...]:
    """Return checked names in order, without those that differ only in letter case."""
    if isinstance(values, str) or not isinstance(values, (list, tuple, set, frozenset)):
        raise InvalidInput(f"{field} is no list of names", f'Give {field} as ["...", "..."]')
    if len(values) > most:
        raise InvalidInput(f"{field} has {len(values)} names", f"At most {most} are allowed")
    unique: dict[str, str] = {}
    for place, value in enumerate(values):
        name = check_identifier(value, f"{field}[{place}]")
        unique.setdefault(fold(name), name)
    return tuple(unique.values())


def ensure_name(transaction: Transaction, table: str, project_id: int, name: str, now: int) -> tuple[int, str]:
    """Return the number and first spelling of a tag, scope, category or layer, registered on first use."""
    cached: tuple[int, str] | None = transaction.memo.get((table, project_id, name))
    if cached is not None:
        return cached
    row = transaction.one(
        f"SELECT id, name FROM {table} WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    if row is None:
        row = add_item(transaction, table, project_id, name=name, folded=fold(name), created_at=now), name
    result = transaction.memo[table, project_id, name] = int(row[0]), str(row[1])
    return result


def ensure_layer(
    transaction: Transaction, workplace: Workplace, project_id: int, name: str, now: int
) -> tuple[int, str]:
    """Return a layer's number and name; a new one is registered only if ``layers.open`` allows it."""
    if not workplace.open_layers and ("layers", project_id, name) not in transaction.memo:
        find_layer(transaction, project_id, name)
    return ensure_name(transaction, "layers", project_id, name, now)


def find_layer(transaction: Transaction, project_id: int, name: str | None) -> int | None:
    """Return a layer's number, or None without a name; refuse an unknown layer with a list of the known ones."""
    if name is None:
        return None
    number = find_name(transaction, "layers", project_id, name)
    if number is None:
        rows = transaction.all(
            "SELECT name FROM layers WHERE project_id = :project ORDER BY id", {"project": project_id}
        )
        layers = [row[0] for row in rows] or list(LAYERS)
        if not project_id and fold(name) in LAYERS:
            return -1
        raise unknown_name("layer", name, layers)
    return number


def find_name(transaction: Transaction, table: str, project_id: int, name: str) -> int | None:
    row = transaction.one(
        f"SELECT id FROM {table} WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    return int(row[0]) if row else None


def unknown_note(what: str, name: str, names: Sequence[str]) -> str:
    close = nearest(name, names)
    return f"there is no {what} {name!r} yet" + (f"; did you mean {close!r}?" if close else "")


def unknown_agent(transaction: Transaction, project_id: int, name: str) -> str:
    rows = transaction.all(
        "SELECT name FROM agents WHERE project_id = :project AND has_acted = 1 ORDER BY id DESC",
        {"project": project_id},
    )
    authors = [row[0] for row in rows]
    if not authors:
        return f"nobody here is called {name!r}: nobody has written yet"
    close = nearest(name, authors)
    authors = list(dict.fromkeys([*([] if close is None else [close]), *authors]))
    more = f" and {len(authors) - _MAX_AUTHORS} more" if len(authors) > _MAX_AUTHORS else ""
    return f"nobody here is called {name!r}; authors here: {', '.join(authors[:_MAX_AUTHORS])}{more}"


def ensure_file(transaction: Transaction, project_id: int, path: str, now: int) -> int:
    row = transaction.one(
        "SELECT id FROM files WHERE project_id = :project AND path = :path", {"project": project_id, "path": path}
    )
    if row is not None:
        return int(row[0])
    return add_item(transaction, "files", project_id, path=path, created_at=now)


_MOST_PERSON_CHARS = 60


def person_named(name: str) -> str | None:
    """Return the stored name of a person, ``human:ann`` for ``ann``; None if nothing of it is valid."""
    bare = nameable(name).strip()
    bare = bare[len(HUMAN) + 1 :] if fold(bare).startswith(f"{HUMAN}:") else bare
    printable = "".join(one if one.isprintable() and one != ":" else " " for one in bare)
    if not printable.isascii():
        from satchel.base.confusables import odd_sign

        printable = "".join(" " if odd_sign(one) else one for one in printable)
    bare = " ".join(printable.split())[:_MOST_PERSON_CHARS].rstrip()
    if fold(bare) == HUMAN:
        return HUMAN
    try:
        if not bare:
            return None
        check_author_name(f"{HUMAN}:{bare}", "person")
        return check_identifier(f"{HUMAN}:{bare}", "person")
    except InvalidInput:
        return None


def person_here(configured: str | None, environ: Mapping[str, str]) -> str:
    """Return the stored name of the local person: from ``SATCHEL_PERSON``, ``person.name``, git's user or the login."""
    in_variable = environ.get(PERSON_VARIABLE)
    for source, name in ((PERSON_VARIABLE, in_variable or None), ("person.name in your config.toml", configured)):
        if name is not None:
            person = person_named(name)
            if person is None:
                raise InvalidInput(f"{source} is not a name: {name!r}", "Set it to your name")
            return person
    from satchel.base.git_files import user_name

    candidates = (user_name(environ), *(environ.get(name) for name in ("LOGNAME", "USER", "USERNAME")), _login())
    return next((person for one in candidates if one and (person := person_named(one)) is not None), HUMAN)


def local_person(environ: Mapping[str, str]) -> str:
    from satchel.base.config import FILE_NAME, load_config
    from satchel.base.folders import config_folder

    config = load_config(None, environ, user_file=config_folder() / FILE_NAME)
    return person_here(config.person_name, environ)


def _login() -> str | None:
    import pwd  # most persons are named by git

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None


def shown_name(name: str) -> str:
    """Return a name as people see it: ``ann`` for ``human:ann``."""
    return name.partition(":")[2] if is_persons(name) and ":" in name else name
