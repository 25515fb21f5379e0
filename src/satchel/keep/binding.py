"""Rules and decisions that bind files: those whose paths match, and those whose text names a file.

A text names a file by its path or the end of it, by a folder above it, by its module, or by an identifier in what is
read or written there. A plain word of a language counts only where it is marked as code.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import accumulate

from satchel.base.paging import Page, check_page
from satchel.base.records import NamedTuple, dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import paths, projects
from satchel.keep.names import find_agent
from satchel.keep.paths import check_place
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction

UNCONFIRMED = "unconfirmed"  # the mark of a rule that an agent took from a person's words and no person has accepted

BIND_ALL = "unconfirmed = 0 AND for_person IS NULL"  # the condition that a rule binds everybody's sessions


def author_of(alias: str) -> str:
    """Return SQL for who answers for a rule: a person who confirmed it, which is action 3, else its author."""
    return f"""COALESCE((
        SELECT p.id FROM corrections k JOIN agents p ON p.id = k.agent_id
        WHERE k.item_kind = {Kind.CONSTRAINT.number} AND k.item_id = {alias}.id AND k.action = 3
            AND k.undone_at IS NULL AND (p.folded = 'human' OR p.folded >= 'human:' AND p.folded < 'human;') LIMIT 1
    ), {Kind.CONSTRAINT.author.replace("i.", f"{alias}.")})"""


def binding_caller(transaction: Transaction, workplace: Workplace, project_id: int, alias: str = "c") -> str:
    """Return the condition that a rule binds the caller's sessions, after ``AND``; empty if all rules do."""
    restricted = "SELECT 1 FROM constraints WHERE project_id = :project AND (unconfirmed = 1 OR for_person IS NOT NULL)"
    if transaction.one(f"{restricted} LIMIT 1", {"project": project_id}) is None:
        return ""  # the usual case does not look up who the person is
    person = find_agent(transaction, project_id, workplace.person())
    return (
        f" AND ({alias}.unconfirmed = 0 OR COALESCE({alias}.stated_by, {person}) = {person}) "
        f"AND COALESCE({alias}.for_person, {person}) = {person}"
    )


_MOST_GLOBS = 3


def globs_text(globs: str) -> str:
    """Return the first globs of a rule or decision, and how many more there are."""
    every = paths.globs_in(globs)
    more = f" and {len(every) - _MOST_GLOBS} more" if len(every) > _MOST_GLOBS else ""
    return f"{', '.join(every[:_MOST_GLOBS])}{more}"


def until_in(metadata: str, globs: str = "[]") -> str:
    """Return which files a rule or decision binds, and until when, as briefings show it behind the text."""
    if globs != "[]":
        return f" (for {globs_text(globs)}){until_in(metadata)}"
    if '"until":' not in metadata:
        return ""
    from satchel.keep.fields import metadata_in  # imported here: few items have an end

    try:
        end = metadata_in(metadata).get("until")
    except AttributeError:  # damaged: no object
        return ""
    return "" if end is None else f" (until {' '.join(str(end).split())[:200]})"


_AT_ONCE = 200  # so many items are compared before the next ones are

# of rules and of decisions without paths, the texts of so many are compared with the names of files
MOST_UNBOUND = 1_000

_MOST_IDENTIFIERS = 200
_LEAST_IDENTIFIER = 5

CRITICAL, _MEDIUM = 4, 2

_WORD = r"[^\W\d]\w*"
_IDENTIFIER = rf"{_WORD}(?:\.{_WORD})*"
_MARKED = r"`([^`\n]{2,100})`"
_GLOB = r"[\w./*{},?\-]+"
_PACKAGE_FILES = frozenset({"__init__", "index", "mod", "lib"})
# what makes a file's name of an identifier and a dot; other words are attributes
_SUFFIXES = frozenset(
    "c cc cfg cpp cs css go h html ini java js json jsx kt lock md mjs php py pyi rb rs sh sql swift toml ts tsx txt"
    " xml yaml yml".split()
)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # when it is needed: most hooks need none


class Binding(NamedTuple):
    """A rule or decision that binds files.

    Attributes:
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
    file: str = ""
    is_wide: bool = False
    is_unconfirmed: bool = False

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)

    @property
    def weight(self) -> int:
        """Its priority, and more if it is about this file alone."""
        return (self.priority or _MEDIUM) + 2 * self.file.endswith(self.by)

    @property
    def is_critical(self) -> bool:
        return self.priority == CRITICAL


class Bindings(NamedTuple):
    """Items that bind files, the most urgent first, and the number of items not compared for lack of time."""

    items: list[Binding]
    unchecked: int = 0


class _OutOfTime(Exception):
    """Raised to end a comparison."""


def find(
    transaction: Transaction,
    work: Workplace,
    project_id: int,
    files: Sequence[str],
    text: str = "",
    is_over: Callable[[], bool] = lambda: False,
) -> Bindings:
    """Return the caller's rules in force and active decisions that bind some files; ``text`` is code written there."""
    values = {"project": project_id}
    rules = _rules(f"active = 1{binding_caller(transaction, work, project_id, 'constraints')}")
    rows = [*transaction.all(rules, values), *transaction.all(_DECISIONS, values)]
    rows.sort(key=lambda row: (not (_is_rule(row) and row[3] == CRITICAL), -row[1]))
    bound: dict[int, tuple[str, str, bool]] = {}
    checked = 0

    def check() -> None:
        if is_over():
            raise _OutOfTime

    with suppress(_OutOfTime):
        for checked in range(0, len(rows), _AT_ONCE):
            for place, how in _comparisons(rows[checked : checked + _AT_ONCE], files, text, check):
                bound.setdefault(checked + place, how)
        checked = len(rows)
    items = sorted(
        (_binding(rows[place], *how) for place, how in bound.items()),
        key=lambda one: (not one.is_critical, one.is_wide, -one.weight, one.kind is Kind.DECISION, -one.seq),
    )
    return Bindings(items, sum(place not in bound for place in range(checked, len(rows))))


def matching_paths(transaction: Transaction, project_id: int, path: str) -> dict[Kind, list[int]]:
    """Return the numbers of the rules and decisions of any status whose paths match a file, or are in a folder."""
    folder = path.removesuffix("**")

    def is_of(glob: str) -> bool:
        return paths.matches(glob, folder) or (folder != path and glob.startswith(folder))

    numbers: dict[Kind, list[int]] = {}
    for kind in (Kind.CONSTRAINT, Kind.DECISION):
        rows = transaction.all(
            f"SELECT id, paths FROM {kind.table} WHERE project_id = :project AND paths <> '[]'", {"project": project_id}
        )
        numbers[kind] = [number for number, column in rows if any(map(is_of, paths.globs_in(column)))]
    return numbers


def _comparisons(
    rows: Sequence[Row], files: Sequence[str], code: str, check: Callable[[], None]
) -> Iterator[tuple[int, tuple[str, str, bool]]]:
    for place, row in enumerate(rows):
        check()
        for glob in paths.globs_in(row[-1]) if row[-1] != "[]" else ():
            for file in files:
                if paths.matches(glob, file):
                    yield place, (glob, file, False)
    texts = _Texts([row[2] if _is_rule(row) else f"{row[2]} {row[3]} {row[5] or ''}" for row in rows], check)
    for file in files:
        for name, places in texts.naming(file):
            yield from ((place, (name, file, False)) for place in places)
    for name, places in texts.holding(code) if code else ():
        yield from ((place, (name, files[0], True)) for place in places)


def _query(columns: str, table: str, condition: str, order: str) -> str:
    select = f"SELECT {columns}, metadata, paths FROM {table} WHERE project_id = :project AND {condition}"
    return (
        f"{select} AND paths <> '[]' "
        f"UNION ALL SELECT * FROM ({select} AND paths = '[]' ORDER BY {order} LIMIT {MOST_UNBOUND}) AS unbound"
    )


def _rules(condition: str) -> str:
    return _query(
        "id, seq, text, priority, unconfirmed", "constraints", condition, "priority DESC, created_at DESC, id DESC"
    )


_DECISIONS = _query(
    "id, seq, key, value_text, value_number, rationale", "decisions", "status = 1", "created_at DESC, id DESC"
)


def _is_rule(row: Row) -> bool:
    return len(row) == 7  # a decision has a key and a reason too


def _binding(row: Row, by: str, file: str, is_wide: bool) -> Binding:
    if _is_rule(row):
        number, seq, text, priority, unconfirmed, metadata, _ = row
        text += until_in(metadata)
        return Binding(Kind.CONSTRAINT, number, seq, "", text, None, priority, by, file, is_wide, bool(unconfirmed))
    number, seq, key, text, amount, reason, metadata, _ = row
    value = (f"{amount:.15g}" if text is None else text) + until_in(metadata)
    return Binding(Kind.DECISION, number, seq, key, value, reason, 0, by, file, is_wide)


class _Texts:
    def __init__(self, texts: Sequence[str], check: Callable[[], None]) -> None:
        # no text holds the separator, and two signs follow the last one
        self._text = "\0".join([*texts, "\0"])
        self._ends = list(accumulate(len(text) + 1 for text in texts))
        self._check = check

    def naming(self, file: str) -> Iterator[tuple[str, set[int]]]:
        """Yield the names of a file that occur, with the places of their texts."""
        *folders, last = file.rstrip("/").split("/")
        if file.endswith("/"):
            folders.append(last)
        else:
            for at in range(len(folders) + 1):
                name = "/".join([*folders[at:], last])
                yield name, self._places(name, self._is_file)
            for name in _module_names(folders, last):
                yield name, self._places(name, self._is_apart)
        for end in range(1, len(folders) + 1):
            for at in range(end):
                # the name of one folder is a plain word without its slash
                name = "/".join(folders[at:end]) + "/" * (at == end - 1)
                yield name, self._places(name, partial(self._is_folder, file=file))

    def holding(self, code: str) -> Iterator[tuple[str, set[int]]]:
        """Yield the identifiers of code that occur, with the places of their texts."""
        names: dict[str, None] = {}
        words: set[str] = set()
        for match in _regex(_IDENTIFIER).finditer(code):
            parts = match[0].split(".")
            words.update(parts)
            names |= dict.fromkeys(part for part in parts if _is_telling(part))
            if len(parts) > 1 and parts[0] not in {"self", "this", "cls"} and all(len(part) > 1 for part in parts):
                names |= dict.fromkeys(".".join(parts[:end]) for end in range(2, len(parts) + 1))
        for name in list(names)[:_MOST_IDENTIFIERS]:
            yield name, self._places(name, self._is_apart)
        for match in _regex(_MARKED).finditer(self._text) if "`" in self._text else ():
            name = match[1].removesuffix("()")
            self._check()
            if name in words:
                yield name, {self._place(match.start())}

    def _places(self, name: str, is_meant: Callable[[int, str], bool]) -> set[int]:
        """Return the places of the texts with a name; ``is_meant`` judges what surrounds each occurrence."""
        places, at = set(), -1
        self._check()
        while (at := self._text.find(name, at + 1)) >= 0:
            self._check()
            if is_meant(at, name):
                place = self._place(at)
                places.add(place)
                at = self._ends[place] - 1
        return places

    def _place(self, start: int) -> int:
        return bisect(self._ends, start)

    def _is_file(self, start: int, name: str) -> bool:
        return self._begins(start) and not self._goes_on(start + len(name), "/-")

    def _is_folder(self, start: int, name: str, file: str) -> bool:
        if not self._begins(start):
            return False
        text, end = self._text, start + len(name)
        end -= name.endswith("/")
        if text[end] == "/" and text[end + 1] in "*{":
            match = _regex(_GLOB).match(text, start)
            return match is not None and paths.matches(match[0].rstrip(".,"), file)
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
        following = _regex(_IDENTIFIER).match(text, end + 1) if text[end] == "." else None
        return following is None or following[0] not in _SUFFIXES

    def _begins(self, start: int) -> bool:
        text = self._text
        if start >= 2 and text[start - 2 : start] == "./":
            start -= 2
        return not start or not (_is_of_word(text[start - 1]) or text[start - 1] in "/.-*@")

    def _goes_on(self, end: int, joining: str) -> bool:
        text = self._text
        return _is_of_word(text[end]) or (text[end] in f".{joining}" and _is_of_word(text[end + 1]))


def _module_names(folders: Sequence[str], last: str) -> Iterator[str]:
    stem, dot, suffix = last.partition(".")
    if dot and suffix:
        yield from (f"*.{suffix}", f".{suffix} file")
    parts = [*folders] if stem in _PACKAGE_FILES else [*folders, stem]
    if not stem or not parts or not dot:
        return
    yield from (".".join(parts[at:]) for at in range(len(parts) - 1))
    module = parts[-1]
    if _is_telling(module):
        yield module
    yield from (f"`{module}`", f"{module} module", f"module {module}")


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _is_telling(name: str) -> bool:
    """Return whether a name is no plain word: it has an underscore inside, or a capital behind a small letter."""
    if len(name) < _LEAST_IDENTIFIER:
        return False
    return "_" in name.strip("_") or not (name[1:].islower() or name.isupper() or name[1:].isdigit())


@dataclass(frozen=True, slots=True)
class BoundItem:
    """A rule or decision that binds a file, for its reader.

    Attributes:
        by: the glob, or the name in its text, by which it binds.
        unconfirmed: whether it is a person's rule that no person has confirmed.
    """

    ref: str
    kind: str
    key: str | None
    text: str
    reason: str | None
    priority: str | None
    by: str
    unconfirmed: bool = False


@dataclass(frozen=True, slots=True)
class FileBinding:
    """A file with the items that bind it."""

    file: str
    bindings: Page[BoundItem]


def binding_of(workplace: Workplace, file: object, limit: int, offset: int) -> FileBinding:
    check_page(limit, offset)
    path = check_place(file, workplace.files_root)[0].removesuffix("**")
    with projects.reading(workplace) as (transaction, project):
        bound = find(transaction, workplace, project.id, [path]).items
    items = tuple(
        BoundItem(
            one.ref,
            "decision" if one.kind is Kind.DECISION else "rule",
            one.key or None,
            one.text,
            one.reason,
            PRIORITIES[one.priority - 1] if one.priority else None,
            one.by,
            one.is_unconfirmed,
        )
        for one in bound[offset : offset + limit]
    )
    return FileBinding(path, Page(items, len(bound), offset, limit))
