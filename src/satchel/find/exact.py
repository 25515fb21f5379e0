"""Exact names in queries: identifiers, paths, versions, numbers, error codes, flags and quoted words."""

# Each is searched for in stages, and the first stage with a match anywhere is used: the whole name, as typed or in
# another spelling of the same identifier; then, in a question, longer words that contain it, and its parts. A lookup
# of a name that is nowhere finds nothing and names the nearest. The index knows words only, so the texts that contain
# the words are checked for the whole: `src/auth.py` does not occur in `src/auth.pyi`, nor in "src, auth and py".
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from satchel.base.records import dataclass, field, replace
from satchel.base.text import shortened
from satchel.find import scoring
from satchel.find.index import ScopedIndex
from satchel.find.scopes import Either, Term
from satchel.find.words import STOP_WORDS, WORD, forms_of, identifier_parts, unspaced_runs
from satchel.store.transaction import Transaction, check_time

if TYPE_CHECKING:
    from satchel.find.query import Query

# Queries with more names are not lookups: each name costs one or more index queries.
MAX_NAMES = 8

_WHOLE_WEIGHT = 2.0
_PART_WEIGHT = 0.5
_MAX_WORDS = 16
_MAX_CHARS = 200
# How many of the newest texts are checked for the whole name.
_CHECKED = 2_000

_LETTERS = r"[^\W_]"
# words with the characters that join or mark them, not preceded by such a character
_UNIT = re.compile(
    r"\"(?P<straight>[^\"]+)\"|“(?P<curly>[^“”]+)”|(?<![\w\-./:\\@#+$~])(?P<run>[\w\u0300-\u036f\-./:\\@#+$~]+)"
)
_LEADING = re.compile(r"^(?:\.{3,}|[:+\\])+")
_TRAILING = "-./:\\@$~"
_VERSION = re.compile(r"[vV]?(\d+(?:\.\d+)+(?:[-+.]?[^\W_]+)*)")
# The beginning of an absolute path, or of one from the current folder.
_ROOTED = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]")

_NEAREST, _LEAST_RATIO = 3, 0.6
_SEARCHED_FOR_NEAREST, _CHARS_FOR_NEAREST = 200, 4_000

_WITH_LINE = re.compile(r"(?P<path>.*[^\W\d_].*?)(?::\d+){1,2}")


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to search for a name.

    Attributes:
        terms: alternatives; a text matches by any.
        whole: an expression that a text must match too; None accepts every text that contains a term.
        label: how a note describes the matches; None where they contain the name itself.
        separate: whether the terms are different things instead of spellings of one.
        loose: whether its matches only resemble the name, so that a lookup does not return them.
    """

    terms: tuple[Term, ...]
    whole: str | None = None
    label: str | None = None
    separate: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """An exact name, as it was typed, and the stages of the search for it."""

    text: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Reading:
    """A query split into exact names and other words.

    Attributes:
        names: the exact names, without repeats.
    """

    names: tuple[Name, ...]
    plain: tuple[str, ...]

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """The other words in lower case, without stop words and repeats."""
        lowered = dict.fromkeys(word.lower() for word in self.plain)
        return tuple(word for word in lowered if word not in STOP_WORDS)


def read(text: str) -> Reading:
    """Split a query into exact names and other words."""
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
        Stage((Term(phrase, _WHOLE_WEIGHT),), label="its words in other forms"),
        *(replace(stage, loose=False) for stage in (_parts(telling) if len(phrase) > 1 else ())),
    )


def _stages(unit: str, words: Sequence[str]) -> tuple[Stage, ...]:
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
        # a hyphen may join it to the name of what it is of: node-v2.15.0
        whole = _bounded(f"v?{re.escape(version[1])}", "v" + version[1]).replace(r"(?<!\w-)", r"(?<!\d-)")
        return (Stage((_whole(bare), _whole((f"v{bare[0]}", *bare[1:]))), whole),)
    return (*_compound(unit, lowered), *_parts(parts))


def _marked(unit: str, word: str) -> tuple[Stage, ...]:
    whole = Stage((_whole((word,)),), _bounded(re.escape(unit), unit))
    if unit.startswith("#") and word.isdigit():
        return (whole, *(replace(stage, label=stage.label or word, loose=True) for stage in _number(word)))
    return (whole, *_parts((word,)))


def _number(digits: str) -> tuple[Stage, ...]:
    return (
        Stage((_whole((digits,)),), _bounded(digits, digits)),
        Stage((Term((digits,), _WHOLE_WEIGHT),), label="longer words that hold it", loose=True),
    )


def _identifier(words: tuple[str, ...], parts: tuple[str, ...]) -> tuple[Stage, ...]:
    ways = tuple(dict.fromkeys((words, ("".join(words),), parts)))
    whole = _bounded("[-_]?".join(map(re.escape, parts)), "".join(words))
    return (
        Stage((_whole(ways[0]), *(replace(_whole(way), weight=1.0) for way in ways[1:])), whole),
        Stage(tuple(Term(way, _PART_WEIGHT) for way in ways), label="its parts side by side", loose=True),
        *_parts(parts),
    )


def _compound(unit: str, words: tuple[str, ...]) -> Iterator[Stage]:
    # leading folders may be missing in a text if the path begins at a root; otherwise it is another file
    yield Stage((_whole(words),), _bounded(re.escape(unit), unit))
    yield Stage((Term(words, _PART_WEIGHT),), label="its words side by side", loose=True)
    with_line = _WITH_LINE.fullmatch(unit)
    path = with_line["path"] if with_line is not None else unit
    is_rooted = _ROOTED.match(path) is not None
    tails = [path[match.end() :] for match in re.finditer(r"[/\\]+", path)]
    for shorter in (*([path] if path != unit else []), *tails):
        words_of_tail = tuple(word.lower() for word in WORD.findall(shorter))
        if len(words_of_tail) > 1 or (words_of_tail and shorter == path):
            whole = _bounded(re.escape(shorter), shorter)
            if shorter != path:
                whole = rf"(?<![/\\]){whole}"
            loose = shorter != path and not (is_rooted and re.search(r"[/\\]", shorter))
            yield Stage((_whole(words_of_tail),), whole, label=shorter, loose=loose)


def _parts(parts: Sequence[str]) -> tuple[Stage, ...]:
    telling = [part for part in dict.fromkeys(parts) if len(part) > 1 and not part.isdigit()]
    if not telling:
        return ()
    terms = tuple(Term((part,), _PART_WEIGHT) for part in telling)
    return (Stage(terms, label="its parts", separate=True, loose=True),)


def _whole(words: tuple[str, ...]) -> Term:
    return Term(words, _WHOLE_WEIGHT, in_text=True)


def _bounded(expression: str, unit: str) -> str:
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


# Returns the searchable texts of documents by number.
Texts = Callable[[Transaction, Sequence[int]], Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The stage used for a name.

    Attributes:
        only: the documents that contain the whole name; None where the terms alone decide.
        note: a message that the name itself does not occur, or None.
    """

    stage: Stage
    only: frozenset[int] | None
    note: str | None


def choose(
    transaction: Transaction, name: Name, index: ScopedIndex, texts: Texts | None, *, is_lookup: bool = False
) -> Choice:
    """Return the first stage that has a match; without ``texts`` to check the whole, the index alone decides.

    A lookup finds nothing by loose stages.
    """
    for stage in name.stages:
        if is_lookup and stage.loose:
            continue
        is_checked = stage.whole is not None and texts is not None
        documents = index.documents(Either(stage.terms), _CHECKED if is_checked else 1) if stage.terms else []
        only = None
        if documents and stage.whole is not None and texts is not None:
            whole = re.compile(stage.whole, re.IGNORECASE)
            only = frozenset(_containing(transaction, texts(transaction, documents), whole))
        if documents and only != frozenset():
            note = (
                None
                if stage.label is None
                else f"nothing contains {name.text} as a whole word; shown are hits of {stage.label}"
            )
            return Choice(stage, only, note)
    return Choice(Stage(()), None, None)


def _containing(transaction: Transaction, texts: Mapping[int, str], whole: re.Pattern[str]) -> Iterator[int]:
    for number, text in texts.items():
        check_time(transaction)
        # İ in small letters is two characters, which ignoring the case does not find
        if whole.search(text) or (not text.isascii() and whole.search(text.lower())):
            yield number


def missing_note(
    transaction: Transaction, name: str, words: Collection[str], index: ScopedIndex, texts: Texts | None
) -> str:
    """Return a note that a name or word is nowhere, with up to three that look most like it in the newest texts."""
    nearest = _nearest(transaction, name, words, index, texts) if texts is not None and len(name) <= _MAX_CHARS else []
    return f"nothing contains {shortened(name, 80)}" + (f"; nearest: {', '.join(nearest)}" if nearest else "")


def _nearest(
    transaction: Transaction, name: str, words: Collection[str], index: ScopedIndex, texts: Texts
) -> list[str]:
    # imported here because few lookups fail
    from difflib import get_close_matches

    beginnings = {word[: 4 if word.isalpha() else max(1, len(word) - 2)] for word in words}
    telling = {beginning for beginning in beginnings if len(beginning) > 1} or beginnings
    probes = Either(tuple(Term((one,), prefix=True) for one in sorted(telling, key=len, reverse=True)[:_MAX_WORDS]))
    documents = index.documents(probes, _SEARCHED_FOR_NEAREST)
    # most words of long texts repeat, so each is looked at once
    units: dict[str, None] = {}
    for text in texts(transaction, documents).values():
        check_time(transaction)
        units |= dict.fromkeys(match["run"] or "" for match in _UNIT.finditer(text[:_CHARS_FOR_NEAREST]))
    candidates: dict[str, str] = {}
    for unit in map(_stripped, units):
        if any(one in unit.lower() for one in telling):
            candidates.setdefault(unit.lower(), unit)
    close = get_close_matches(name.lower(), candidates, _NEAREST, _LEAST_RATIO)
    return [candidates[one] for one in close]


# Weight of another form of a word (expiry for expire), relative to the word.
_FORM_WEIGHT = 0.3

_MAX_FORMS = 24


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query after its names were looked up in the index.

    Attributes:
        things: what to search for, each as alternative terms: the spellings of a name, or a single term.
        whole: how many of the things, at the start, are names that occur as a whole.
        only: the documents in which a term counts; a term that is not a key counts everywhere.
        missing: notes about names that do not occur.
        word_of: the words of the query of which terms are other forms.
    """

    things: tuple[tuple[Term, ...], ...]
    whole: int = 0
    only: Mapping[Term, frozenset[int]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    word_of: Mapping[Term, Term] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(term for thing in self.things for term in thing))

    def only_whole(self, matched: Sequence[scoring.Matched], terms: Sequence[Term]) -> list[scoring.Matched]:
        """Drop counts of terms in documents without the whole name, and documents left without a count."""
        only = [(place, self.only[term]) for place, term in enumerate(terms) if term in self.only]
        if not only:
            return list(matched)
        result: list[scoring.Matched] = []
        for document, counts in matched:
            wrong = [place for place, documents in only if document not in documents]
            if wrong:
                changed = bytearray(counts)
                for place in wrong:
                    changed[2 * place + 2 : 2 * place + 4] = b"\0\0"
                if any(changed[2:]):
                    result.append((document, bytes(changed)))
            else:
                result.append((document, counts))
        return result

    def words(self, terms: Sequence[Term]) -> dict[int, int]:
        """Return the positions of other forms, each with that of its word."""
        places = {term: place for place, term in enumerate(terms)} if self.word_of else {}
        return {places[form]: places[word] for form, word in self.word_of.items() if form in places and word in places}

    def places(self, terms: Sequence[Term]) -> list[list[int]]:
        places = {term: place for place, term in enumerate(terms)}
        return [[places[term] for term in thing if term in places] for thing in self.things]


def resolve(
    transaction: Transaction, query: Query, index: ScopedIndex, texts: Texts | None, nearest_in: Texts | None
) -> ResolvedQuery:
    """Decide how to search for the names of a query, by what occurs in the scope."""
    if not query.names:
        return ResolvedQuery(tuple((term,) for term in query.terms))
    whole: list[tuple[Term, ...]] = []
    other_things: list[tuple[Term, ...]] = [(term,) for term in query.other_terms]
    only: dict[Term, frozenset[int]] = {}
    missing: list[str] = []
    for name in query.names:
        choice = choose(transaction, name, index, texts, is_lookup=query.is_lookup)
        stage = choice.stage
        if stage.separate:
            other_things += [(term,) for term in stage.terms]
        else:
            whole += [stage.terms] if stage.terms else []
        if choice.only is not None:
            only |= {term: only.get(term, frozenset()) | choice.only for term in stage.terms}
        if not stage.terms:
            words = {word for stage in name.stages for term in stage.terms for word in term.words}
            missing.append(missing_note(transaction, name.text, words, index, nearest_in))
        missing += [choice.note] if choice.note else []
    return ResolvedQuery((*whole, *other_things), len(whole), only, tuple(missing))


def with_forms(resolved: ResolvedQuery, index: ScopedIndex) -> ResolvedQuery:
    """Add other forms of the words that occur, as alternatives of a lower weight."""
    present = {term.words for term in resolved.terms}
    forms = {
        term: [Term((form,), _FORM_WEIGHT * term.weight) for form in forms_of(term.words[0]) if (form,) not in present]
        for term in resolved.terms
        if len(term.words) == 1 and not term.in_text
    }
    candidates = list(dict.fromkeys(form for of_term in forms.values() for form in of_term))[:_MAX_FORMS]
    if not candidates:
        return resolved
    counts = index.counts(candidates, 1)
    existing = {form for form, count in zip(candidates, counts, strict=True) if count}
    things = tuple(
        tuple(dict.fromkeys((*thing, *(form for term in thing for form in forms.get(term, ()) if form in existing))))
        for thing in resolved.things
    )
    word_of = {form: term for term, others in forms.items() for form in others if form in existing}
    return replace(resolved, things=things, word_of=word_of)
