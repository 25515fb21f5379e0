"""A vector store in this process: the index of find, in memory, for as long as one call."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.consult.records import Content
from satchel.find import documents, query, search
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.store import migrations
from satchel.store.sqlite_transaction import SqliteTransaction

CHUNK_CHARS = 1_600
"""The most characters of a passage: about 400 tokens."""

_FULL_ENOUGH = 0.5
_PROJECT = "INSERT INTO projects (id, uid, name, created_at) VALUES (1, x'00', 'files', 0)"
_RUN = "INSERT INTO runs (id, uid, seq, project_id, run_id, created_at) VALUES (1, x'00', 1, 1, 'files', 0)"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a file: whole lines, unless a line alone is too long; lines count from 1."""

    path: str
    first_line: int
    last_line: int
    text: str


def _raise_if_cancelled() -> None:
    return None


class LocalStore:
    """Files that can be searched; a context manager. One thread uses it."""

    __slots__ = ("_connection", "_passages", "_transaction")

    def __init__(self, contents: Mapping[str, Content], check: Callable[[], None] = _raise_if_cancelled) -> None:
        """Index files.

        Args:
            contents: by path; indexing takes about a second for five million characters.
            check: called before each file; what it raises ends the indexing.
        """
        self._connection = migrations.empty_store()
        self._transaction = SqliteTransaction(self._connection)
        self._passages: list[Passage] = []
        try:
            self._connection.execute("BEGIN")
            self._transaction.run(_PROJECT)
            self._transaction.run(_RUN)
            for path in sorted(contents):
                check()
                for passage in passages(path, contents[path].text):
                    self._add(passage)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def search(self, text: str, limit: int) -> tuple[Passage, ...]:
        """Return the passages that fit any text best, the best first.

        Args:
            limit: how many at most, from 1.
        """
        if limit < 1:
            raise InvalidInput(f"limit {limit} is out of range", "Give 1 or more")
        ranking = search.rank(self._transaction, query.parse(text), Scope(project_id=1, run_id=1))
        return tuple(self._passages[hit.document - 1] for hit in ranking.hits[:limit])

    def _add(self, passage: Passage) -> None:
        self._passages.append(passage)
        number = len(self._passages)
        documents.add(
            self._transaction,
            Document(
                kind=Kind.ENTRY,
                item_id=number,
                seq=number,
                project_id=1,
                run_id=1,
                # the words of the path are found too, and what stands next to a passage in its file speaks for it
                text=f"{passage.path}\n{passage.text}",
                created_at=number,
                task_id=passage.path,
            ),
            counts=True,
        )


def passages(path: str, text: str) -> Iterator[Passage]:
    """Cut a file into passages of whole lines, at an empty line where there is one in the second half.

    Joined, they are the text again.
    """
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        lines.extend((number, line[start : start + CHUNK_CHARS]) for start in range(0, len(line), CHUNK_CHARS))
    start = 0
    while start < len(lines):
        end, size, blank = start, 0, None
        while end < len(lines) and size + len(lines[end][1]) <= CHUNK_CHARS:
            size += len(lines[end][1])
            end += 1
            if size >= _FULL_ENOUGH * CHUNK_CHARS and not lines[end - 1][1].strip():
                blank = end
        if blank is not None and end < len(lines):
            end = blank
        piece = lines[start:end]
        yield Passage(path, piece[0][0], piece[-1][0], "".join(line for _, line in piece))
        start = end
