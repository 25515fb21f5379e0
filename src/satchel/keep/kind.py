"""Declaration of a kind of items: its fields with their codecs, its lists, and the rules that fields cannot express.

:mod:`satchel.keep.kept` and :mod:`satchel.keep.moving` do what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from satchel.base.records import dataclass, field
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.keep.fields import Codec, Field, name_field
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.find.documents import Source
    from satchel.keep.moving.reading import Reading


class Numbered(Protocol):
    @property
    def id(self) -> int: ...


Record = TypeVar("Record", bound=Numbered)


Line = dict[str, Any]  # a JSON line


def called(line: Line) -> str:
    for name in ("key", "text", "content", "summary", "insight", "message", "name", "run", "file"):
        if isinstance(line.get(name), str):
            return shortened(line[name], 80)
    return str(line.get("kind"))


Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """A list in the lines of a kind, stored as rows of another table.

    Attributes:
        owner: the column with the item's id.
        fields: the fields of each row; a single one makes a list of values instead of objects.
        is_own: whether it is content, replaced with the item; otherwise it is history, merged from both sides.
        same: the columns that identify a row.
        order: SQL for the order of rows.
        is_single: whether there is at most one row, written as an object.
        add: inserts rows where a plain INSERT is not enough; receives the item's id and row.
    """

    name: str
    table: str
    owner: str
    fields: tuple[Field, ...]
    is_own: bool = False
    same: tuple[str, ...] = ()
    order: str = "i.id"
    is_single: bool = False
    add: Callable[[Reading, int, dict[str, Any], Rows], None] | None = None
    parts: tuple[Part, ...] = ()


def names_part(of: str, names_of: str, codec: Codec) -> Part:
    """Return the list of the registered names of an item, such as tags."""
    name = names_of[:-1]
    fields = (name_field(name, codec, names_of, f"{name}_id", required=True),)
    return Part(names_of, f"{of}_{names_of}", f"{of}_id", fields, is_own=True, order="1")


@dataclass(frozen=True, slots=True)
class LineKind:
    """A kind of lines.

    Attributes:
        documents: its kind in the search index, if it is searchable; its name, table and letter follow.
        key: the column that identifies an item besides its uid, and the name of that field in lines.
        predefined: names that exist in every project and are not exported.
        finish: completes a line made from its fields.
        derive: sets a row's derived columns.
        prepare: makes room for a new item.
        enter: updates other tables for new or changed items; receives their ids.
        withdraw: reverts ``enter`` before items change.
        keep_old: stores a state before it changes; None uses ``kept_states``. Receives the item's id, that state
            and the new one.
        renew: handles an item that was seen again on the other side; receives its id.
        rank: the fields that order states by age.
        take: imports a line of a kind without a table of uids; returns whether it added anything.
        only_as_written: whether lines are ignored unless an import is one as written.
    """

    about: str
    fields: tuple[Field, ...]
    parts: tuple[Part, ...] = ()
    documents: Kind | None = None
    name: str = ""
    table: str = ""
    letter: str = ""
    key: tuple[str, str] | None = None
    predefined: tuple[str, ...] = ()
    expires: bool = False
    finish: Callable[[Line], None] | None = None
    derive: Callable[[Reading, dict[str, Any]], None] | None = None
    prepare: Callable[[Reading, dict[str, Any], bytes], None] | None = None
    enter: Callable[[Transaction, int, Sequence[int]], None] | None = None
    withdraw: Callable[[Transaction, int, Sequence[int]], object] | None = None
    keep_old: Callable[[Reading, int, Line, Line], None] | None = None
    renew: Callable[[Reading, int], None] | None = None
    rank: tuple[str, ...] = ()
    take: Callable[[Reading, Line], bool] | None = None
    only_as_written: bool = False

    @property
    def has_seq(self) -> bool:
        """Whether its table has the number of each item's last change."""
        return self.take is None and self.table != "sessions"

    def __post_init__(self) -> None:
        if self.documents is not None:
            for name in ("table", "letter"):
                object.__setattr__(self, name, getattr(self.documents, name))
            object.__setattr__(self, "name", self.documents.name.lower())

    def field(self, name: str) -> Field:
        return next(one for one in self.fields if one.name == name)


Texts = Callable[[Transaction, Sequence[int]], dict[int, str]]  # returns texts of items by number


@dataclass(frozen=True, slots=True)
class ItemKind(LineKind, Generic[Record]):
    """A kind of searchable items.

    A kind without a ``record`` declares ``source`` and ``open``; ``delete`` replaces the derived one.

    Attributes:
        record: the class of its records: id, uid, seq, the attributes of fields and parts, score, notes, and others
            with defaults.
        types: the names of its types, numbered from 1.
        statuses: the names of its statuses, numbered from 1; only the first is live.
        text: the fields that are searched, a line each.
        words: the fields and parts that are searched besides, in a last line.
        document: fields of the search document, with the columns they come from.
        source: reads its search documents; None derives it from ``record``.
        display_texts: the texts that a search shows, if not the searchable ones.
        open: loads a whole item; receives the item's reader. None uses ``record``.
    """

    record: Callable[..., Record] | None = None
    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("live",)
    text: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    document: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    delete: Callable[[Transaction, int, Sequence[int]], None] | None = None
    display_texts: Texts | None = None
    open: Callable[[Transaction, Any, int], object] | None = None

    @property
    def kind(self) -> Kind:
        assert self.documents is not None
        return self.documents
