"""What binds files: rules and decisions whose paths match them, and those whose text names them.

A text names a file by its path or the end of it, by a folder above it, by its module, or by an identifier in what is
read or written there. A plain word of a language counts only where it is marked as code.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence

from satchel.base.paging import Page, check_page
from satchel.base.records import NamedTuple, dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import globs, projects
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction

MOST_UNBOUND = 1_000
"""Of rules and of decisions without paths, the texts of so many are compared with the names of files."""

_MOST_IDENTIFIERS = 200
_LEAST_IDENTIFIER = 5

CRITICAL = 4

_WORD = r"[^\W\d]\w*"
_IDENTIFIER = re.compile(rf"{_WORD}(?:\.{_WORD})*")
_MARKED = re.compile(r"`([^`\n]{2,100})`")
_HUMP = re.compile(r"[a-z\d][A-Z]")
_GLOB = re.compile(r"[\w./*{},?\-]+")
_PACKAGE_FILES = frozenset({"__init__", "index", "mod", "lib"})
_SUFFIXES = frozenset(
    "c cc cfg cpp cs css go h html ini java js json jsx kt lock md mjs php py pyi rb rs sh sql swift toml ts tsx txt"
    " xml yaml yml".split()
)
"""What makes a file's name of an identifier and a dot; other words are attributes."""


class Binding(NamedTuple):
    """A rule or decision that binds files.

    Attributes:
        seq: the number of its last change.
        key: of a decision; empty for a rule.
        text: the rule, or the decision's value.
        reason: why it was decided, or None.
        priority: 1 to 4 for a rule; 0 for a decision.
        by: the glob, file, folder, module or identifier by which it binds.
        is_wide: whether only an identifier in the text does.
    """

    kind: Kind
    item: int
    seq: int
    key: str
    text: str
    reason: str | None
    priority: int
    by: str
    is_wide: bool = False

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)

    @property
    def is_critical(self) -> bool:
        return self.priority == CRITICAL


@dataclass(frozen=True, slots=True)
class BoundItem:
    """A rule or decision that binds a file, for its reader.

    Attributes:
        kind: rule or decision.
        key: of a decision, else None.
        text: the rule, or the decision's value.
        reason: why it was decided, or None.
        priority: of a rule, else None.
        by: the glob, or the name in its text, by which it binds.
    """

    ref: str
    kind: str
    key: str | None
    text: str
    reason: str | None
    priority: str | None
    by: str


def page(workplace: Workplace, file: object, limit: int, offset: int) -> Page[BoundItem]:
    """Return the rules and decisions that bind a file or folder, the most urgent first."""
    from satchel.keep.paths import check_place  # imported here: hooks do without

    check_page(limit, offset)
    path = check_place(file, workplace.files_root)[0].removesuffix("**")
    with projects.reading(workplace) as (transaction, project):
        bound = find(transaction, project.id, [path])
    items = tuple(
        BoundItem(
            one.ref,
            "decision" if one.kind is Kind.DECISION else "rule",
            one.key or None,
            one.text,
            one.reason,
            PRIORITIES[one.priority - 1] if one.priority else None,
            one.by,
        )
        for one in bound[offset : offset + limit]
    )
    return Page(items, len(bound), offset, limit)


def find(transaction: Transaction, project_id: int, files: Sequence[str], text: str = "") -> list[Binding]:
    """Return the rules in force and active decisions that bind any of some files, the most urgent first.

    ``files`` are canonical paths, those of folders with a slash at the end; ``text`` is code that is written there.
    """
    values = {"project": project_id}
    rows = [
        *(_rule(row) for row in transaction.all(_RULES, values)),
        *(_decision(row) for row in transaction.all(_DECISIONS, values)),
    ]
    bound: dict[int, Binding] = {}
    for place, (item, paths) in enumerate(rows):
        by = next((one for one in paths for file in files if globs.matches(one, file)), None) if paths else None
        if by is not None:
            bound[place] = item._replace(by=by)
    named = _Texts([f"{item.key} {item.text} {item.reason or ''}" for item, _ in rows])
    for file in files:
        for name, places in named.naming(file):
            for place in places:
                bound.setdefault(place, rows[place][0]._replace(by=name))
    for name, places in named.holding(text) if text else ():
        for place in places:
            bound.setdefault(place, rows[place][0]._replace(by=name, is_wide=True))
    return sorted(
        bound.values(),
        key=lambda one: (not one.is_critical, one.is_wide, one.kind is Kind.DECISION, -one.priority, -one.seq),
    )


def _query(columns: str, table: str, condition: str, order: str) -> str:
    select = f"SELECT {columns}, paths FROM {table} WHERE project_id = :project AND {condition}"
    return (
        f"{select} AND paths <> '[]' "
        f"UNION ALL SELECT * FROM ({select} AND paths = '[]' ORDER BY {order} LIMIT {MOST_UNBOUND}) AS unbound"
    )


_RULES = _query("id, seq, text, priority", "constraints", "active = 1", "priority DESC, created_at DESC, id DESC")
_DECISIONS = _query(
    "id, seq, key, value_text, value_number, rationale", "decisions", "status = 1", "created_at DESC, id DESC"
)


def _rule(row: Row) -> tuple[Binding, tuple[str, ...]]:
    number, seq, text, priority, paths = row
    return Binding(Kind.CONSTRAINT, number, seq, "", text, None, priority, ""), _globs(paths)


def _decision(row: Row) -> tuple[Binding, tuple[str, ...]]:
    number, seq, key, text, value, reason, paths = row
    text = f"{value:.15g}" if text is None else text
    return Binding(Kind.DECISION, number, seq, key, text, reason, 0, ""), _globs(paths)


def _globs(paths: str) -> tuple[str, ...]:
    return () if paths == "[]" else globs.globs_in(paths)


class _Texts:
    """Texts searched together: most names occur in none of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = "\n\n".join(texts) + "\n\n"
        self._starts: list[int] = []
        at = 0
        for text in texts:
            self._starts.append(at)
            at += len(text) + 2

    def naming(self, file: str) -> Iterator[tuple[str, set[int]]]:
        """Yield the names of a file that occur, with the places of their texts."""
        *folders, last = file.rstrip("/").split("/")
        if file.endswith("/"):
            folders.append(last)
        else:
            for at in range(len(folders) + 1):
                name = "/".join([*folders[at:], last])
                yield name, {self._place(start) for start in self._occurrences(name) if self._is_file(start, name)}
            yield from self._naming_module(folders, last)
        for end in range(1, len(folders) + 1):
            for at in range(end):
                # the name of one folder is a plain word without its slash
                name = "/".join(folders[at:end]) + "/" * (at == end - 1)
                yield (
                    name,
                    {self._place(start) for start in self._occurrences(name) if self._is_folder(start, name, file)},
                )

    def _naming_module(self, folders: Sequence[str], last: str) -> Iterator[tuple[str, set[int]]]:
        stem, dot, suffix = last.partition(".")
        if dot and suffix:
            for name in (f"*.{suffix}", f".{suffix} file"):
                yield name, {self._place(start) for start in self._occurrences(name) if self._is_apart(start, name)}
        parts = [*folders] if stem in _PACKAGE_FILES else [*folders, stem]
        if not stem or not parts or not dot:
            return
        for at in range(len(parts) - 1):
            name = ".".join(parts[at:])
            yield name, {self._place(start) for start in self._occurrences(name) if self._is_apart(start, name)}
        module = parts[-1]
        if _is_telling(module):
            yield module, {self._place(start) for start in self._occurrences(module) if self._is_apart(start, module)}
        for name in (f"`{module}`", f"{module} module", f"module {module}"):
            yield name, {self._place(start) for start in self._occurrences(name) if self._is_apart(start, name)}

    def holding(self, code: str) -> Iterator[tuple[str, set[int]]]:
        """Yield the identifiers of code that occur, with the places of their texts."""
        names: dict[str, None] = {}
        words: set[str] = set()
        for match in _IDENTIFIER.finditer(code):
            parts = match[0].split(".")
            words.update(parts)
            names |= dict.fromkeys(part for part in parts if _is_telling(part))
            if len(parts) > 1 and parts[0] not in {"self", "this", "cls"} and all(len(part) > 1 for part in parts):
                names |= dict.fromkeys(".".join(parts[:end]) for end in range(2, len(parts) + 1))
        for name in list(names)[:_MOST_IDENTIFIERS]:
            yield name, {self._place(start) for start in self._occurrences(name) if self._is_apart(start, name)}
        for match in _MARKED.finditer(self._text):
            name = match[1].removesuffix("()")
            if name in words:
                yield name, {self._place(match.start())}

    def _occurrences(self, name: str) -> Iterator[int]:
        text, at = self._text, -1
        while (at := text.find(name, at + 1)) >= 0:
            yield at

    def _place(self, start: int) -> int:
        return bisect(self._starts, start) - 1

    def _is_file(self, start: int, name: str) -> bool:
        return self._begins(start) and not self._goes_on(start + len(name), "/-")

    def _is_folder(self, start: int, name: str, file: str) -> bool:
        if not self._begins(start):
            return False
        text, end = self._text, start + len(name)
        end -= name.endswith("/")
        if text[end] == "/" and text[end + 1] in "*{":
            match = _GLOB.match(text, start)
            return match is not None and globs.matches(match[0].rstrip(".,"), file)
        return not self._goes_on(end + (text[end] == "/"), "-/")

    def _is_apart(self, start: int, name: str) -> bool:
        """Return whether a name is no part of a longer one; an attribute of what it names may follow."""
        text, end = self._text, start + len(name)
        if name[0].isalnum() and start and (_is_of_word(text[start - 1]) or text[start - 1] in ".-"):
            return False
        if name[0] in "*." and start and (_is_of_word(text[start - 1]) or text[start - 1] in "*./"):
            return False
        if _is_of_word(name[-1]) and (_is_of_word(text[end]) or (text[end] == "-" and _is_of_word(text[end + 1]))):
            return name.endswith(" file") and text[end] == "s"
        following = _IDENTIFIER.match(text, end + 1) if text[end] == "." else None
        return following is None or following[0] not in _SUFFIXES

    def _begins(self, start: int) -> bool:
        text = self._text
        if start >= 2 and text[start - 2 : start] == "./":
            start -= 2
        return not start or not (_is_of_word(text[start - 1]) or text[start - 1] in "/.-*@")

    def _goes_on(self, end: int, joining: str) -> bool:
        text = self._text
        return _is_of_word(text[end]) or (text[end] in f".{joining}" and _is_of_word(text[end + 1]))


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _is_telling(name: str) -> bool:
    return len(name) >= _LEAST_IDENTIFIER and ("_" in name.strip("_") or _HUMP.search(name) is not None)
