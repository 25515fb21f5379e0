"""bazinga databases of several schemas, made table by table for tests: what stands in each is said by the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

_SESSIONS = (
    "session_id TEXT PRIMARY KEY, start_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, end_time TIMESTAMP, mode TEXT, "
    "original_requirements TEXT, status TEXT DEFAULT 'active', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP"
)
_FIRST_PACKAGES = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, group_id TEXT, package_type TEXT NOT NULL, "
    "file_path TEXT NOT NULL, producer_agent TEXT NOT NULL, size_bytes INTEGER, version INTEGER DEFAULT 1, "
    "supersedes_id INTEGER, scope TEXT DEFAULT 'group', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP"
)
_CONSUMERS = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, package_id INTEGER NOT NULL, agent_type TEXT NOT NULL, "
    "consumed_at TIMESTAMP, iteration INTEGER DEFAULT 1"
)
_LEARNED = {
    "error_patterns": "pattern_hash TEXT NOT NULL, project_id TEXT, signature_json TEXT NOT NULL, "
    "solution TEXT NOT NULL, confidence REAL DEFAULT 0.5, occurrences INTEGER DEFAULT 1, lang TEXT, last_seen TEXT, "
    "created_at TEXT, ttl_days INTEGER DEFAULT 90",
    "strategies": "strategy_id TEXT PRIMARY KEY, project_id TEXT, topic TEXT NOT NULL, insight TEXT NOT NULL, "
    "helpfulness INTEGER DEFAULT 0, lang TEXT, framework TEXT, last_seen TEXT, created_at TEXT",
    "consumption_scope": "scope_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, group_id TEXT NOT NULL, "
    "agent_type TEXT NOT NULL, iteration INTEGER NOT NULL, package_id NOT NULL, consumed_at TEXT",
}
FORMATS: dict[str, dict[str, str]] = {
    "documented": {
        "context_packages": "package_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, group_id TEXT, priority TEXT, "
        "summary TEXT, content_path TEXT NOT NULL, created_at TEXT NOT NULL",
        **_LEARNED,
    },
    "6": {
        "schema_version": "version INTEGER PRIMARY KEY",
        "sessions": _SESSIONS,
        "context_packages": _FIRST_PACKAGES,
        "context_package_consumers": _CONSUMERS,
    },
    "19": {
        "schema_version": "version INTEGER PRIMARY KEY",
        "sessions": _SESSIONS,
        "context_packages": f"{_FIRST_PACKAGES}, priority TEXT DEFAULT 'medium', summary TEXT",
        "context_package_consumers": _CONSUMERS,
        "orchestration_logs": "id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, "
        "timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, iteration INTEGER, agent_type TEXT DEFAULT 'developer', "
        "agent_id TEXT, content TEXT NOT NULL, log_type TEXT, reasoning_phase TEXT, confidence_level TEXT, "
        "references_json TEXT, group_id TEXT",
        "success_criteria": "id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, criterion TEXT NOT NULL, "
        "status TEXT DEFAULT 'pending', actual TEXT, evidence TEXT, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
        **_LEARNED,
    },
}
"""The columns of every table of each schema, and of the data model's own."""

_DOCUMENTED = {"id": "package_id", "file_path": "content_path"}


def stamp(seconds: int) -> str:
    """Return a time as SQLite's CURRENT_TIMESTAMP writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


class BazingaDatabase:
    """A bazinga database of one format, whose rows have usable values unless a test says otherwise.

    Args:
        file: what to make; its folder too.
        release: one of :data:`FORMATS`.
        now: seconds since 1970; everything is a minute old.
    """

    def __init__(self, file: Path, release: str, now: int) -> None:
        self.file = file
        self.now = now
        self._tables = FORMATS[release]
        file.parent.mkdir(parents=True, exist_ok=True)
        self._connection = apsw.Connection(str(file))
        self._connection.pragma("synchronous", "OFF")
        self._connection.pragma("journal_mode", "wal")
        for table, columns in self._tables.items():
            self.sql(f"CREATE TABLE {table} ({columns})")
        self.add("schema_version", version=release)

    def sql(self, statement: str, values: tuple[object, ...] = ()) -> None:
        """Run one statement."""
        self._connection.execute(statement, values)

    def add(self, table: str, **columns: object) -> None:
        """Insert a row by the columns of schema 19; what the format lacks is left out."""
        if table not in self._tables:
            return
        has = {row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")}
        given = {name if name in has else _DOCUMENTED.get(name, name): value for name, value in columns.items()}
        given = {name: value for name, value in given.items() if name in has}
        marks = ", ".join("?" for _ in given)
        self.sql(f"INSERT INTO {table} ({', '.join(given)}) VALUES ({marks})", tuple(given.values()))

    def session(self, session_id: str = "s1", **columns: object) -> None:
        """Add a session, by default one that was completed half a minute ago."""
        usual: dict[str, object] = {
            "session_id": session_id,
            "start_time": stamp(self.now - 60),
            "end_time": stamp(self.now - 30),
            "original_requirements": "Build the shop",
            "status": "completed",
        }
        self.add("sessions", **(usual | columns))

    def package(self, number: int | str = 1, **columns: object) -> None:
        """Add a package of session ``s1`` and group ``g1``."""
        usual: dict[str, object] = {
            "id": number,
            "session_id": "s1",
            "group_id": "g1",
            "package_type": "failures",
            "file_path": f"bazinga/artifacts/s1/{number}.md",
            "producer_agent": "tech_lead",
            "priority": "high",
            "summary": f"what failed in {number}",
            "created_at": stamp(self.now - 60),
        }
        self.add("context_packages", **(usual | columns))

    def pattern(self, pattern_hash: str = "h1", message: str = "cannot reach the cache", **columns: object) -> None:
        """Add an error pattern of project ``shop``."""
        signature = {
            "error_type": "ConnectionError",
            "message_pattern": message,
            "context_hints": [],
            "stack_pattern": [],
        }
        usual: dict[str, object] = {
            "pattern_hash": pattern_hash,
            "project_id": "shop",
            "signature_json": json.dumps(signature),
            "solution": "start redis first",
            "confidence": 0.7,
            "occurrences": 3,
            "lang": "python",
            "last_seen": stamp(self.now - 60),
            "created_at": stamp(self.now - 600),
            "ttl_days": 30,
        }
        self.add("error_patterns", **(usual | columns))

    def strategy(self, strategy_id: str = "t1", **columns: object) -> None:
        """Add a strategy of project ``shop``."""
        usual: dict[str, object] = {
            "strategy_id": strategy_id,
            "project_id": "shop",
            "topic": "React Native offline",
            "insight": "queue writes and replay them",
            "helpfulness": 4,
            "lang": "TypeScript",
            "framework": "react-native",
            "last_seen": stamp(self.now - 60),
            "created_at": stamp(self.now - 600),
        }
        self.add("strategies", **(usual | columns))

    def delivery(self, scope_id: str = "c1", **columns: object) -> None:
        """Add that the developer of group ``g1`` got package 1 in iteration 0."""
        usual: dict[str, object] = {
            "scope_id": scope_id,
            "session_id": "s1",
            "group_id": "g1",
            "agent_type": "developer",
            "iteration": 0,
            "package_id": 1,
            "consumed_at": stamp(self.now - 50),
        }
        self.add("consumption_scope", **(usual | columns))

    def close(self) -> Path:
        """Close the connection, and return the file."""
        self._connection.close()
        return self.file


Made = Callable[..., BazingaDatabase]
"""Make an empty database."""


def sample(file: Path, release: str, now: int) -> Path:
    """Make a database in which every table that an import reads has something."""
    made = BazingaDatabase(file, release, now)
    made.session()
    made.package()
    made.add("context_package_consumers", package_id=1, agent_type="developer", iteration=1)
    made.add("context_package_consumers", package_id=1, agent_type="QA_expert", iteration=1)
    made.pattern()
    made.strategy()
    made.delivery()
    made.add("orchestration_logs", session_id="s1", content="thinking")
    return made.close()
