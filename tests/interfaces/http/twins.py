"""Two stores with the same writes of one project, in one of which others write to another project between these."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from hashlib import shake_256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from conftest import ManualClock
from every_table import columns_of, every_row
from find.same_marks import same_marks
from satchel import Satchel, __version__, open_satchel
from satchel.base import wire
from satchel.base.errors import SatchelError
from satchel.brief.moments import MOMENTS
from satchel.interfaces.http import calls, events
from satchel.interfaces.http.access import AGENT, PERSON, Access, Callers
from satchel.interfaces.http.calls import Calls
from satchel.interfaces.http.public import operations, run_public, schema
from satchel.interfaces.http.stores import Stores
from satchel.keep.entries import repeats
from satchel.keep.following import Cursor
from satchel.remote.calls import SERVED
from satchel.store import kept_calls
from satchel.store.postgres import Address
from satchel.store.transaction import insert_rows

WORDS = ("token", "cache", "retry", "parser", "index", "deadlock", "unicode")
NAMES = ("ann", "ben", "zoe", "human", "me")
RUNS = ("r1", "r2", "main", "*")
FILES = ("src/app.py", "src/auth/", "docs/a.md")
HOSTS = ("host-1", "host-2")
_REFERENCES = ("supersedes", "reply_to", "thread", "like", "stack")
MARKER = "zzmark"
"""What stands in every text of the project `two`."""

SERVED_HERE = sorted(name for name, one in operations().items() if not one.only_here and not one.of_program)
TOKENS = {project: Access(f"id-{project}", f"t-{project}", AGENT, Path(), project, "ann") for project in ("one", "two")}


class Twin(Stores):
    """One of the two stores."""

    def __init__(self, store: Path | Address, clock: ManualClock) -> None:
        super().__init__({})
        self.where = str(store) if isinstance(store, Path) else store.label
        self.one = open_satchel(
            store,
            "one",
            environ={},
            clock=clock,
            settings={"store.durability": "relaxed", "brief.deadline_ms": 60_000},
        )
        with self.one.workplace.engine.write():
            pass  # what is drawn for the store itself is not drawn by a call
        self.calls = Calls(self)
        self.callers = Callers()

    def opened(self, store: Path | str, *, read_only: bool = False) -> Satchel:  # noqa: ARG002 -- there is but one
        return self.one

    def numbers(self) -> Mapping[str, int]:
        """Return the last number of each table."""
        with self.one.workplace.engine.read() as transaction:
            return dict(transaction.all("SELECT name, seq FROM sqlite_sequence"))

    def go_on_from(self, numbers: Mapping[str, int]) -> None:
        """Number what comes as the other store does."""
        with self.one.workplace.engine.write() as transaction:
            transaction.run("DELETE FROM sqlite_sequence WHERE name <> 'events'")
            others = [{"name": name, "seq": seq} for name, seq in numbers.items() if name != "events"]
            insert_rows(transaction, "sqlite_sequence", others)
            transaction.forget()

    def rows_of_two(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of the project `two`, by the tables that say whose a row is."""
        with self.one.workplace.engine.read() as transaction:
            found = transaction.one("SELECT id FROM projects WHERE name = 'two'") or (None,)
            return {
                table: [row for row in rows if row[columns.index(column)] == found[0]]
                for table, rows in every_row(transaction).items()
                for columns in [columns_of(transaction, table)]
                for column in ["id" if table == "projects" else "project_id"]
                if column in columns
            }

    def sessions(self) -> list[str]:
        """Return the uids of all sessions."""
        with self.one.workplace.engine.read() as transaction:
            return [uid.hex() for (uid,) in transaction.all("SELECT uid FROM sessions ORDER BY id")]


class DatabaseTwin(Twin):
    """One of the two stores, in PostgreSQL."""

    def numbers(self) -> Mapping[str, int]:
        """Return the last number of each table."""
        with self.one.workplace.engine.read() as transaction:
            return dict(
                transaction.all(
                    "SELECT sequencename::text, last_value FROM pg_sequences "
                    "WHERE schemaname = current_schema() AND last_value IS NOT NULL"
                )
            )

    def go_on_from(self, numbers: Mapping[str, int]) -> None:
        """Number what comes as the other store does."""
        with self.one.workplace.engine.write() as transaction:
            for name, last in numbers.items():
                if not name.startswith("events"):
                    transaction.one("SELECT setval(:name::text::regclass, :last)", {"name": name, "last": last})
            transaction.forget()


class Step:
    """One call, made with the token of a project: the same to both stores."""

    def __init__(self, dice: random.Random, number: int, sessions: Sequence[str]) -> None:
        self.dice, self.number, self.uids = dice, number, sessions
        self.project = "one"
        self.name = dice.choice([*SERVED_HERE, *SERVED, "events"])
        self.is_call = dice.random() < 0.5 or self.name in SERVED
        self.role = dice.choice([AGENT, AGENT, PERSON])
        self.arguments: dict[str, Any] = {}
        self.fields: dict[str, Any] = {}

    def of(self, project: str, *, writes: bool = False) -> Step:
        """Make up the call."""
        self.project = project
        if writes:
            self.name = self.dice.choice([*SERVED, *(name for name in SERVED_HERE if operations()[name].writes)])
            self.is_call = self.is_call or self.name in SERVED
        if self.name == "events":
            self.arguments = {"cursor": self.dice.randrange(20), "event": 0}
            return self
        if self.name in SERVED:
            given, named = self._of_service()
            self.fields = {**self._envelope(named), "arguments": wire.packed(given)}
            return self
        operation = operations()[self.name]
        shape = schema(operation)
        for name, inner in shape["properties"].items():
            needed = name in shape.get("required", ()) or name in {"id", "ref", "packages", "ids", "text", "message"}
            if self.dice.random() < (0.9 if needed else 0.1 if name in _REFERENCES else 0.3):
                self.arguments[name] = self._value(name, inner)
        if self.is_call:
            taken = {name for name in self.arguments if name != "detail" or operation.passes_detail}
            named = {name: value for name, value in self.arguments.items() if name in taken}
            self.fields = self._envelope(operation.renamed(named))
        return self

    def run(self, stores: Twin) -> Any:
        """Make the call in one of the stores; return what it comes to."""
        access = TOKENS[self.project]
        access = Access(access.token, access.name, self.role, access.store, access.project, access.agent)
        drawn = 0

        def urandom(size: int) -> bytes:
            nonlocal drawn
            drawn += 1
            return shake_256(f"{self.number} {drawn}".encode()).digest(size)

        try:
            with patch.object(os, "urandom", urandom):
                return self._answer(stores, access)
        except TypeError as error:  # a name that only agents have
            return {"fault": str(error)}
        except SatchelError as error:
            return {"error": f"[{error.code}] {error}".replace(stores.where, "STORE")}

    def _answer(self, stores: Twin, access: Access) -> Any:
        if self.name == "events":
            workplace = stores.satchel(access).workplace
            cursor = Cursor(self.arguments["cursor"], self.arguments["event"])
            try:
                told, _ = events._one_page(workplace, cursor, None)
            except SatchelError as error:
                return error.code
            # happenings are numbered for the whole store, as items are
            data: list[Any] = [one["data"] for one in told]
            return [{**one, "seq": ""} for one in data]
        if self.name == "room_reached":
            return []  # the numbers of what happens, as above
        if self.is_call:
            said = stores.calls.run(access, self.name, self.fields, lambda _: None)
            return {name: value for name, value in said.items() if name != "receipt"}
        return run_public(
            stores,
            access,
            self.name,
            self.arguments,
            lambda _: None,
            callers=stores.callers,
            header=(None, *HOSTS)[self.number % 3],
            reads_only=False,
        )

    def _of_service(self) -> tuple[list[Any], dict[str, Any]]:
        """Make up the arguments of a service that hooks and the guard call."""
        text, file = self._text(), self.dice.choice(FILES)
        agent = {"agent_id": self.dice.choice([None, "sub"])}
        match self.name:
            case "brief":
                return [], {"query": text, "agent": self.dice.choice(NAMES)}
            case "moments.make":
                return [self.dice.choice(MOMENTS)], agent
            case "working.before_edit" | "working.after_edit":
                return ["/p", [(file, "edit")]], {**agent, "text": text}
            case "working.prompt" | "dry_working.prompt":
                return [text], agent
            case "working.look":
                return [text], {}
            case "working.command_failed":
                return ["/p", "make", 1, text], agent
            case "working.command_succeeded":
                return ["/p", "make"], agent
            case "working.plan_approved":
                return [text], agent
            case "files.check_commit":
                return [[file]], {"denies": True}
            case "entries.load_state":
                return [self.dice.choice([None, *RUNS])], {}
        return [], {}

    def _word(self) -> str:
        return self.dice.choice(WORDS)

    def _text(self) -> str:
        words = [self._word() for _ in range(self.dice.randrange(1, 6))]
        return " ".join([*words, *([f"{MARKER}{self.number}"] if self.project == "two" else [])])

    def _value(self, name: str, inner: Mapping[str, Any]) -> Any:
        dice = self.dice
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        if "enum" in inner:
            return dice.choice(inner["enum"])
        if "array" in kinds and name != "payload":
            if inner["items"]["type"] == "object":
                return [self._item(name) for _ in range(dice.randrange(1, 3))]
            single = {"paths": "path", "types": "type", "consumers": "to", "packages": "id"}.get(name, name)
            return [self._value(single, inner["items"]) for _ in range(dice.randrange(1, 3))]
        if kinds[0] == "integer":
            return 0 if name == "wait_seconds" else dice.choice([0, 1, 2, 3, 10, 500])
        if kinds[0] == "number":
            return dice.choice([0, 0.5, 3])
        if kinds[0] == "boolean":
            return name == "confirm" or dice.random() < 0.5
        return self._string(name)

    def _string(self, name: str) -> str:
        dice = self.dice
        if name in {"id", "ids", "ref", "supersedes", "reply_to", "thread", "package", "like"}:
            return f"{dice.choice('edcmfpxysk')}{dice.randrange(1, 12)}"
        if name in {"agent", "author", "from", "to", "role"}:
            return dice.choice(NAMES)
        if name in {"run_id", "from_run"}:
            return dice.choice(RUNS)
        if name in {"path", "file", "spec_path"}:
            return dice.choice(FILES)
        if name in {"key", "tags", "scopes", "topic", "error_type", "task_id", "loop_id"}:
            return self._word()
        if name == "since":
            return "2020-01-01"
        if name in {"layer", "category", "lang", "framework"}:
            return dice.choice(["data", "api", "security", "python"])
        return self._text()

    def _item(self, name: str) -> dict[str, Any]:
        if name == "entries":
            return {"type": self.dice.choice(["discovery", "decision"]), "content": self._text()}
        return {"key": self._word(), "value": self._text()}

    def _envelope(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Make up what a local program sends, or who forges that."""
        dice = self.dice
        uid = dice.choice([*self.uids, "00" * 16])
        kind = dice.choice(["server", "command", "library", "hook"])
        caller = {
            "kind": kind,
            "environ": {"SATCHEL_SESSION": uid} if dice.random() < 0.5 else {},
            "client": dice.choice(["claude", "codex"]),
            "version": "1",
            "host_id": dice.choice([None, *HOSTS]),
            "begins": False,
            "connection": str(dice.randrange(4)),
        }
        process = {"$r": "base.processes:Process", "pid": dice.randrange(1, 4), "started": 1}
        facts = [
            ["machine", [], {"answer": "m"}],
            ["own", [], {"answer": process}],
            ["ancestors", [], {"answer": {"$t": []}}],
            ["read_head", [None], {"answer": {"$t": [None, None]}}],
            *(["find_client", [{"$t": [name]}], {"answer": process}] for name in ("claude", "codex")),
            ["find_client", [{"$t": []}], {"answer": None}],
            *(["is_alive", [{**process, "pid": pid}], {"answer": pid < 3}] for pid in range(1, 4)),
        ]
        return {
            "wire": wire.VERSION,
            "version": __version__,
            "named": wire.packed(dict(named)),
            "standing": {"run": dice.choice([None, "r1"]), "agent": dice.choice([None, "ben"])},
            "caller": dice.choice([None, caller]),
            "facts": facts,
            # of any token's calls
            "key": f"{dice.randrange(40):032x}",
            **({"again": True} if dice.random() < 0.3 else {}),
            **({"notice": {"agent": None, "shown_by": None}} if dice.random() < 0.5 else {}),
        }


def compare(twins: tuple[Twin, Twin, ManualClock], seed: int, count: int) -> None:
    """Make a number of calls, and compare all answers."""
    shared, alone, clock = twins
    with (
        patch.object(calls, "_HOOK_MS", 60_000),  # a busy machine cuts none short
        patch.object(repeats, "_LOT", 2),  # that bands are recorded, and under the marks of both projects
        patch.object(kept_calls, "KEPT_MS", 1_000_000),  # that some are swept
        same_marks(),
    ):
        _compare(shared, alone, clock, seed, count)


def _compare(shared: Twin, alone: Twin, clock: ManualClock, seed: int, count: int) -> None:
    dice = random.Random(seed)
    for number in range(count):
        clock.advance(dice.choice([1, 1_000, 400_000]))
        if dice.random() < 0.4:
            Step(dice, number, shared.sessions()).of("two", writes=True).run(shared)
            alone.go_on_from(shared.numbers())
            continue
        step = Step(dice, number, shared.sessions()).of("one", writes=dice.random() < 0.5)
        theirs = shared.rows_of_two()
        told, alone_told = (json.dumps(step.run(one), sort_keys=True, default=str) for one in (shared, alone))
        asked = f"{number} {step.name} {step.arguments} {step.fields}"
        assert told == alone_told, f"{asked}\n{told}\n{alone_told}"
        assert MARKER not in told
        assert shared.rows_of_two() == theirs, asked
        alone.go_on_from(shared.numbers())
