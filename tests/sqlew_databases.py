"""sqlew databases of every format, made table by table for tests: what stands in each is said by the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

_NAMED = "id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL"
_OWNED_NAME = "id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL"
_PROJECTS = "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, detection_source TEXT, created_ts INTEGER"
_AGENT = "agent_id INTEGER REFERENCES agents(id)"
_STATE = "version TEXT DEFAULT '1.0.0', status INTEGER DEFAULT 1, ts INTEGER DEFAULT (unixepoch())"
_MESSAGE = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, from_agent_id INTEGER NOT NULL, to_agent_id INTEGER, "
    "msg_type INTEGER NOT NULL, priority INTEGER DEFAULT 2, payload TEXT, ts INTEGER DEFAULT (unixepoch()), "
    "read INTEGER DEFAULT 0"
)

_FIRST = {
    "agents": _NAMED,
    "files": "id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL",
    "context_keys": "id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL",
    "constraint_categories": _NAMED,
    "layers": _NAMED,
    "tags": _NAMED,
    "scopes": _NAMED,
    "decisions": f"key_id INTEGER PRIMARY KEY, value TEXT NOT NULL, {_AGENT}, layer_id INTEGER, {_STATE}",
    "decisions_numeric": f"key_id INTEGER PRIMARY KEY, value REAL NOT NULL, {_AGENT}, layer_id INTEGER, {_STATE}",
    "decision_history": "id INTEGER PRIMARY KEY AUTOINCREMENT, key_id INTEGER, version TEXT NOT NULL, "
    "value TEXT NOT NULL, agent_id INTEGER, ts INTEGER NOT NULL",
    "decision_tags": "decision_key_id INTEGER, tag_id INTEGER, PRIMARY KEY (decision_key_id, tag_id)",
    "decision_scopes": "decision_key_id INTEGER, scope_id INTEGER, PRIMARY KEY (decision_key_id, scope_id)",
    "agent_messages": _MESSAGE,
    "file_changes": "id INTEGER PRIMARY KEY AUTOINCREMENT, file_id INTEGER NOT NULL, agent_id INTEGER NOT NULL, "
    "layer_id INTEGER, change_type INTEGER NOT NULL, description TEXT, ts INTEGER DEFAULT (unixepoch())",
    "constraints": "id INTEGER PRIMARY KEY AUTOINCREMENT, category_id INTEGER NOT NULL, layer_id INTEGER, "
    "constraint_text TEXT NOT NULL, priority INTEGER DEFAULT 2, active INTEGER DEFAULT 1, created_by INTEGER, "
    "ts INTEGER DEFAULT (unixepoch())",
    "constraint_tags": "constraint_id INTEGER, tag_id INTEGER, PRIMARY KEY (constraint_id, tag_id)",
}
_CONTEXT = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, decision_key_id INTEGER NOT NULL, rationale TEXT NOT NULL, "
    "alternatives_considered TEXT, tradeoffs TEXT, decision_date INTEGER, ts INTEGER"
)
_PREFIXED = _FIRST | {"decision_context": _CONTEXT, "config": "key TEXT PRIMARY KEY, value TEXT NOT NULL"}
_MESSAGES_WITH_TEXT = {"agent_messages": f"{_MESSAGE}, message TEXT NOT NULL"}


def _owned(columns: str, key: str = "key_id") -> str:
    return columns.replace(f"{key} INTEGER PRIMARY KEY", f"{key} INTEGER") + ", project_id INTEGER NOT NULL DEFAULT 1"


_PROJECTED = {name: columns for name, columns in _PREFIXED.items() if name != "agent_messages"} | {
    "projects": _PROJECTS,
    "files": "id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL DEFAULT 1, path TEXT NOT NULL",
    "tags": _OWNED_NAME,
    "scopes": _OWNED_NAME,
    "decisions": _owned(_FIRST["decisions"]),
    "decisions_numeric": _owned(_FIRST["decisions_numeric"]),
    "decision_history": _owned(_FIRST["decision_history"]),
    "decision_tags": "decision_key_id INTEGER, project_id INTEGER, tag_id INTEGER",
    "decision_scopes": "decision_key_id INTEGER, project_id INTEGER, scope_id INTEGER",
    "decision_context": _owned(_CONTEXT),
    "file_changes": _owned(_FIRST["file_changes"]),
    "constraints": _owned(_FIRST["constraints"].replace("created_by", "agent_id")),
}


def _without_agents(tables: dict[str, str]) -> dict[str, str]:
    return {
        name: columns.replace(f" {_AGENT},", "")
        .replace(" agent_id INTEGER NOT NULL,", "")
        .replace(" agent_id INTEGER,", "")
        for name, columns in tables.items()
        if name != "agents"
    }


_FOURTH = _without_agents(_PROJECTED) | {"context_keys": "id INTEGER PRIMARY KEY, key_name TEXT UNIQUE NOT NULL"}
_FIFTH = {name: columns for name, columns in _FOURTH.items() if name not in {"files", "file_changes", "config"}} | {
    "constraints": f"{_FOURTH['constraints']}, reason TEXT"
}
_DOCUMENTED = (
    _FIRST
    | _MESSAGES_WITH_TEXT
    | {
        "context_keys": "id INTEGER PRIMARY KEY AUTOINCREMENT, key_name TEXT UNIQUE NOT NULL",
        "decisions": f"id INTEGER PRIMARY KEY AUTOINCREMENT, key_id INTEGER NOT NULL UNIQUE, value TEXT NOT NULL, "
        f"{_AGENT}, layer_id INTEGER, {_STATE}",
        "decision_tags": "decision_id INTEGER, tag_id INTEGER",
        "decision_scopes": "decision_id INTEGER, scope_id INTEGER",
        "constraints": _FIRST["constraints"].replace("active INTEGER", "is_active INTEGER"),
    }
)

_MASTERS = {
    "agents",
    "files",
    "context_keys",
    "constraint_categories",
    "layers",
    "tags",
    "scopes",
    "projects",
    "config",
}
FORMATS: dict[str, tuple[str, str, dict[str, str]]] = {
    "1.0": ("", "", _FIRST),
    "documented": ("", "", _DOCUMENTED),
    "3.5": ("m_", "t_", _PREFIXED),
    "3.6": ("m_", "t_", _PREFIXED | _MESSAGES_WITH_TEXT),
    "3.9": ("m_", "t_", _PROJECTED),
    "4": ("v4_", "v4_", _FOURTH),
    "5": ("m_", "t_", _FIFTH),
}
"""What each format calls its master tables and its others, and the columns of each."""

LAYERS = ("presentation", "business", "data", "infrastructure", "cross-cutting", "planning")


class SqlewDatabase:
    """A sqlew database of one format, with the layers and categories that sqlew begins with.

    Args:
        file: what to make.
        release: one of :data:`FORMATS`.
        wal: whether it is left in WAL mode, as sqlew leaves it.
    """

    def __init__(self, file: Path, release: str, *, wal: bool = True) -> None:
        self.file = file
        self._masters, self._others, self._tables = FORMATS[release]
        self._connection = apsw.Connection(str(file))
        self._connection.pragma("synchronous", "OFF")
        if wal:
            self._connection.pragma("journal_mode", "wal")
        for table, columns in self._tables.items():
            self.sql(f"CREATE TABLE {self.name(table)} ({columns})")
        for layer in LAYERS:
            self.add("layers", name=layer)
        for category in ("performance", "architecture", "security"):
            self.add("constraint_categories", name=category)
        if "projects" in self._tables:
            self.add("projects", id=1, name="shop")

    def name(self, table: str) -> str:
        """Return what a table of 1.0 is called in this format."""
        return (self._masters if table in _MASTERS else self._others) + table

    def sql(self, statement: str, values: tuple[object, ...] = ()) -> None:
        """Run one statement."""
        self._connection.execute(statement, values)

    def add(self, table: str, **columns: object) -> int:
        """Insert a row by the columns of 1.0 and return its number; what the format lacks is left out.

        ``documented`` names a decision by a number of its own, which is the key's as long as nothing says otherwise.
        """
        if table not in self._tables:
            return 0
        has = {row[1] for row in self._connection.execute(f"PRAGMA table_info({self.name(table)})")}
        other = {
            "key": "key_name",
            "active": "is_active",
            "created_by": "agent_id",
            "decision_key_id": "decision_id",
        }
        given = {name if name in has else other.get(name, name): value for name, value in columns.items()}
        if table == "decisions" and "id" in has:
            given.setdefault("id", columns["key_id"])
        given = {name: value for name, value in given.items() if name in has}
        marks = ", ".join("?" for _ in given)
        self.sql(f"INSERT INTO {self.name(table)} ({', '.join(given)}) VALUES ({marks})", tuple(given.values()))
        return self._connection.last_insert_rowid()

    def layer(self, name: str) -> int:
        """Return the number of a layer."""
        return LAYERS.index(name) + 1

    def close(self) -> Path:
        """Close the connection, and return the file."""
        self._connection.close()
        return self.file


Made = Callable[..., SqlewDatabase]
"""Make an empty database, with agents, keys and tags that anything may use."""


def sample(file: Path, release: str, now: int) -> Path:
    """Make a database in which every table that an import reads has something.

    Args:
        file: what to make.
        release: one of :data:`FORMATS`.
        now: seconds since 1970; everything is some minutes old.
    """
    made = SqlewDatabase(file, release)
    for name in ("planner", "builder"):
        made.add("agents", name=name)
    for name in ("security", "gateway-limits"):
        made.add("tags", name=name)
    made.add("scopes", name="gateway")
    for key in ("session_store", "session_ttl"):
        made.add("context_keys", key=key)
    data = made.layer("data")
    made.add("decision_history", key_id=1, version="1.0.0", value="memory", agent_id=2, ts=now - 600)
    made.add("decision_history", key_id=1, version="1.1.0", value="postgres", agent_id=1, ts=now - 300)
    made.add("decisions", key_id=1, value="redis", agent_id=1, layer_id=data, version="2.0.0", status=3, ts=now - 60)
    made.add("decision_tags", decision_key_id=1, tag_id=1, project_id=1)
    made.add("decision_tags", decision_key_id=1, tag_id=2, project_id=1)
    made.add("decision_scopes", decision_key_id=1, scope_id=1, project_id=1)
    made.add(
        "decision_context",
        decision_key_id=1,
        rationale="survives a restart",
        alternatives_considered='["memory", "postgres"]',
        tradeoffs='{"cons": ["one more server"]}',
        ts=now - 60,
    )
    made.add("decisions_numeric", key_id=2, value=300.0, agent_id=2, version="1.0.0", status=1, ts=now - 50)
    text = "tokens are never logged"
    made.add("constraints", category_id=3, layer_id=data, constraint_text=text, priority=4, created_by=1, ts=now - 40)
    made.add("constraint_tags", constraint_id=1, tag_id=1)
    made.add(
        "constraints",
        category_id=1,
        constraint_text="one query a page",
        active=0,
        priority=1,
        created_by=2,
        ts=now - 39,
    )
    made.add(
        "agent_messages",
        from_agent_id=1,
        to_agent_id=2,
        msg_type=2,
        priority=3,
        payload='{"file": "src/auth.py"}',
        message="keep off auth",
        read=1,
        ts=now - 30,
    )
    made.add("files", path="src/auth.py")
    made.add(
        "file_changes",
        file_id=1,
        agent_id=2,
        layer_id=data,
        change_type=2,
        description="refresh tokens",
        ts=now - 20,
    )
    return made.close()
