"""What a query names exactly: identifiers, paths, versions, numbers, error codes, flags and quoted words.

Each is looked for in stages, the first of which that occurs anywhere is taken: the whole, as it was typed or in another
way to write the same identifier; then what holds it; then its parts. The index knows words only, so the whole is also
looked for in the texts that hold its words: ``src/auth.py`` is not in ``src/auth.pyi`` nor in "src, auth and py".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from satchel.base.records import dataclass, replace
from satchel.find.conditions import Term
from satchel.find.index import ScopedIndex
from satchel.find.words import STOP_WORDS, WORD, identifier_parts, unspaced_runs
from satchel.store.transaction import Transaction

MAX_NAMES = 8
"""A query of more exact names is no lookup: each costs a question to the index, or a few."""

_WHOLE_WEIGHT = 2.0
_PART_WEIGHT = 0.5
_MAX_WORDS = 16
_MAX_CHARS = 200
_CHECKED = 2_000
"""In so many texts, the newest, it is checked that they hold the whole."""

_LETTERS = r"[^\W_]"
# words with what joins them or marks them; begins only where nothing of the kind stands before
_UNIT = re.compile(
    r"\"(?P<straight>[^\"]+)\"|“(?P<curly>[^“”]+)”|(?<![\w\-./:\\@#+$~])(?P<run>[\w\u0300-\u036f\-./:\\@#+$~]+)"
)
_LEADING = re.compile(r"^(?:\.{3,}|[:+\\])+")
_TRAILING = "-./:\\@$~"
_VERSION = re.compile(r"[vV]?(\d+(?:\.\d+)+(?:[-+.]?[^\W_]+)*)")
_WITH_LINE = re.compile(r"(?P<path>.*[^\W\d_].*?)(?::\d+){1,2}")


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to look for a name.

    Attributes:
        terms: any of these.
        whole: an expression that a text must match too; None takes every text that holds a term.
        said: what is shown instead of the name; None where it is the name itself.
        apart: whether each term is a thing of its own, not one more way to write the same.
    """

    terms: tuple[Term, ...]
    whole: str | None = None
    said: str | None = None
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """Something that a query names exactly, as it was typed, and how it is looked for, in this order."""

    text: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Reading:
    """A query taken apart.

    Attributes:
        names: what it names exactly, each once.
        plain: its other words, stop words among them, as they were typed.
    """

    names: tuple[Name, ...]
    plain: tuple[str, ...]

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """The other words that say something, in lower case, each once."""
        lowered = dict.fromkeys(word.lower() for word in self.plain)
        return tuple(word for word in lowered if word not in STOP_WORDS)


def read(text: str) -> Reading:
    """Take a query apart into what it names exactly and its other words."""
    names: dict[str, Name] = {}
    plain: list[str] = []
    for match in _UNIT.finditer(text):
        quoted = match["straight"] or match["curly"]
        unit = quoted.strip() if quoted is not None else _stripped(match["run"])
        words = WORD.findall(unit)
        if not words:
            continue
        is_name = len(words) <= _MAX_WORDS and len(unit) <= _MAX_CHARS and not unspaced_runs(unit)
        stages = (_quoted(unit, words) if quoted is not None else _stages(unit, words)) if is_name else ()
        if stages:
            names.setdefault(unit.lower(), Name(unit, stages))
        else:
            plain += words
    return Reading(tuple(names.values()), tuple(plain))


def _stripped(run: str) -> str:
    unit = _LEADING.sub("", run).rstrip(_TRAILING)
    return unit if unit.endswith("++") else unit.rstrip("+")


def _quoted(text: str, words: Sequence[str]) -> tuple[Stage, ...]:
    phrase = tuple(word.lower() for word in words)
    telling = [word for word in phrase if word not in STOP_WORDS] or list(phrase)
    return (
        Stage((_whole(phrase),), _bounded(r"\s+".join(map(re.escape, text.split())), text)),
        Stage((Term(phrase, _WHOLE_WEIGHT),), said="its words in other forms"),
        *(_parts(telling) if len(phrase) > 1 else ()),
    )


def _stages(unit: str, words: Sequence[str]) -> tuple[Stage, ...]:
    """Return how to look for a unit; nothing where it is an ordinary word."""
    lowered = tuple(word.lower() for word in words)
    if len(words) == 1 and unit != words[0]:
        return _marked(unit, lowered[0])
    if len(words) == 1 and unit.isdigit():
        return _number(unit)
    parts = [part for word in words for part in (identifier_parts(word) or [word.lower()])]
    if len(parts) < 2:
        return ()
    if re.fullmatch(rf"(?={_LETTERS})(?:{_LETTERS}|[\u0300-\u036f]|[-_](?=[^-_]))+", unit):
        return _identifier(lowered, tuple(parts))
    version = _VERSION.fullmatch(unit)
    if version is not None:
        bare = tuple(WORD.findall(version[1].lower()))
        whole = _bounded(f"v?{re.escape(version[1])}", "v" + version[1])
        return (Stage((_whole(bare), _whole((f"v{bare[0]}", *bare[1:]))), whole),)
    return (*_compound(unit, lowered), *_parts(parts))


def _marked(unit: str, word: str) -> tuple[Stage, ...]:
    whole = Stage((_whole((word,)),), _bounded(re.escape(unit), unit))
    if unit.startswith("#") and word.isdigit():
        return (whole, *(replace(stage, said=stage.said or word) for stage in _number(word)))
    return (whole, *_parts((word,)))


def _number(digits: str) -> tuple[Stage, ...]:
    return (
        Stage((_whole((digits,)),), _bounded(digits, digits)),
        Stage((Term((digits,), _WHOLE_WEIGHT),), said="longer words that hold it"),
    )


def _identifier(words: tuple[str, ...], parts: tuple[str, ...]) -> tuple[Stage, ...]:
    """Return how to look for an identifier: in whatever way it is written, then inside longer ones."""
    ways = tuple(dict.fromkeys((words, ("".join(words),), parts)))
    whole = _bounded("[-_]?".join(map(re.escape, parts)), "".join(words))
    return (
        Stage((_whole(ways[0]), *(replace(_whole(way), weight=1.0) for way in ways[1:])), whole),
        Stage(tuple(Term(way, _PART_WEIGHT) for way in ways), said="its parts side by side"),
        *_parts(parts),
    )


def _compound(unit: str, words: tuple[str, ...]) -> Iterator[Stage]:
    """Yield how to look for a path, a dotted name or the like: a path without its line, then without its folders."""
    yield Stage((_whole(words),), _bounded(re.escape(unit), unit))
    yield Stage((Term(words, _PART_WEIGHT),), said="its words side by side")
    with_line = _WITH_LINE.fullmatch(unit)
    path = with_line["path"] if with_line is not None else unit
    tails = [path[match.end() :] for match in re.finditer(r"[/\\]+", path)]
    for shorter in (*([path] if path != unit else []), *tails):
        found = tuple(word.lower() for word in WORD.findall(shorter))
        if len(found) > 1 or (found and shorter == path):
            yield Stage((_whole(found),), _bounded(re.escape(shorter), shorter), said=shorter)


def _parts(parts: Sequence[str]) -> tuple[Stage, ...]:
    """Return the stage of parts, each for itself: single letters and numbers would find whatever holds them."""
    telling = [part for part in dict.fromkeys(parts) if len(part) > 1 and not part.isdigit()]
    if not telling:
        return ()
    return (Stage(tuple(Term((part,), _PART_WEIGHT) for part in telling), said="its parts", apart=True),)


def _whole(words: tuple[str, ...]) -> Term:
    return Term(words, _WHOLE_WEIGHT, in_text=True)


def _bounded(expression: str, unit: str) -> str:
    """Return an expression for a unit that is no part of a longer word, path, number or version."""
    first, last = unit[0], unit[-1]
    if first == "-":
        before = r"(?<![\w-])"
    elif first == ".":
        before = r"(?<![\w.])"
    elif first in "/\\":
        before = ""
    else:
        before = r"(?<!\w)(?<!\w-)" + (r"(?<!\d[.,])" if unit.lstrip("v")[:1].isdigit() else "")
    if last in "+#":
        after = r"(?![\w+#])"
    else:
        after = r"(?!\w)(?!-\w)" + (r"(?![.,]\d)" if last.isdigit() else "")
        if "/" in unit and last != "/":
            after += r"(?!\.\w)"
    return f"{before}{expression}{after}"


Texts = Callable[[Transaction, Sequence[int]], Mapping[int, str]]
"""Returns what can be searched of documents, by their numbers."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a name is looked for.

    Attributes:
        only: the documents that hold the whole; None where the terms alone decide.
        note: says that the name itself is nowhere; None where it is somewhere.
    """

    stage: Stage
    only: frozenset[int] | None
    note: str | None


def choose(transaction: Transaction, name: Name, index: ScopedIndex, texts: Texts | None) -> Chosen:
    """Return the first way to look for a name by which something is found.

    Args:
        texts: reads documents; None leaves it at what the index knows.
    """
    for stage in name.stages:
        checked = stage.whole is not None and texts is not None
        found = index.holding(stage.terms, _CHECKED if checked else 1)
        only = None
        if found and stage.whole is not None and texts is not None:
            whole = re.compile(stage.whole, re.IGNORECASE)
            only = frozenset(number for number, text in texts(transaction, found).items() if whole.search(text))
        if found and only != frozenset():
            shown = (
                None
                if stage.said is None
                else f"nothing contains {name.text} as a whole word; shown are hits of {stage.said}"
            )
            return Chosen(stage, only, shown)
    return Chosen(Stage(()), None, f"nothing contains {name.text}")
