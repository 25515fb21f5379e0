"""Notes as agents write them, made up from a seed: the same in every run."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from satchel.base.clock import Clock, system_clock
from satchel.client import Satchel, open_satchel
from satchel.keep.entries.records import NewEntry
from satchel.store.sqlite import SqliteEngine

_words = re.compile(r"\w+").findall
_NOUNS = _words(
    """
    session token cache request handler parser index queue worker retry timeout schema migration endpoint router
    module config fixture upload webhook invoice payment ledger tenant role policy cursor page batch snapshot lock
    thread socket stream buffer header cookie gateway proxy client server database table column record branch
    """
)
_VERBS = _words(
    """
    fails returns ignores drops doubles leaks blocks waits expires reads writes rejects accepts rounds sorts merges
    skips locks overwrites validates serialises decodes trims caches retries swallows reports
    """
)
_GLUE = _words(
    """
    because when unless after before while although since whenever until once only never always twice silently
    under load in production with an empty body for old clients on the second call without a lock
    """
)
_KINDS = ("discovery", "discovery", "error", "decision")


@dataclass(frozen=True, slots=True)
class Note:
    """The fields of one note."""

    type: str
    content: str
    task_id: str
    loop_id: str
    file: str
    line: int

    def entry(self) -> NewEntry:
        """Return it as the library takes it."""
        return NewEntry(self.type, self.content, self.task_id, self.loop_id, self.file, self.line)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that write it, of the library and of the tool."""
        return {
            "type": self.type,
            "content": self.content,
            "task_id": self.task_id,
            "loop_id": self.loop_id,
            "file": self.file,
            "line": self.line,
        }


@cache
def notes(count: int, seed: str = "notes") -> tuple[Note, ...]:
    """Return so many notes of about 250 characters each."""
    chance = random.Random(seed)
    return tuple(_note(chance) for _ in range(count))


def batches(made: Iterable[Note], size: int = 500) -> Iterator[list[Note]]:
    """Cut notes into batches."""
    left = iter(made)
    while batch := list(islice(left, size)):
        yield batch


PLAIN = {"SATCHEL_SEARCH_MEANING": "off"}
"""What a plain install does: the environment of developers has the extras that rank by meaning."""


def open_store(file: Path, clock: Clock = system_clock, environ: Mapping[str, str] = PLAIN) -> Satchel:
    """Open a store as a plain install does; a new one gets the run that it works in by default."""
    is_new = not file.exists()
    satchel = open_satchel(file, "bench", "bencher", "bench", cwd=file.parent, environ=environ, clock=clock)
    if is_new:
        satchel.runs.start("bench")
    return satchel


def sqlite_of(satchel: Satchel) -> SqliteEngine:
    """Return the engine of a store in a SQLite file."""
    engine = satchel.workplace.engine
    assert isinstance(engine, SqliteEngine)
    return engine


def open_filled(file: Path, made: Sequence[Note]) -> Satchel:
    """Make a store with these notes in one run, and leave it open."""
    satchel = open_store(file)
    for batch in batches(made):
        satchel.entries.write_many([note.entry() for note in batch])
    return satchel


def sentence(chance: random.Random, clauses: int) -> str:
    """Return a sentence of so many clauses."""
    words: list[str] = []
    for _ in range(clauses):
        words += (
            "the",
            chance.choice(_NOUNS),
            chance.choice(_VERBS),
            "the",
            chance.choice(_NOUNS),
            *chance.sample(_GLUE, 2),
        )
    words.insert(len(words) // 2, f"{chance.choice(_VERBS)}_{chance.choice(_NOUNS)}_{chance.randrange(900)}()")
    return " ".join(words).capitalize() + "."


def _note(chance: random.Random) -> Note:
    number = chance.randrange(400)
    return Note(
        chance.choice(_KINDS),
        sentence(chance, chance.randint(4, 11)),
        f"T{number % 40}",
        f"loop-{number % 25}",
        f"src/{_NOUNS[number % len(_NOUNS)]}/{_NOUNS[number % 37]}_{number}.py",
        number + 1,
    )
