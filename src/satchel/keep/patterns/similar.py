"""Known errors near to a reported one: the same in other words, or similar, so that their solutions may help."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from satchel.base.lazy import lazy_regex
from satchel.base.records import NamedTuple, dataclass
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.likeness import text_likeness, words_of
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.find.words import STOP_WORDS, identifier_parts, words_in
from satchel.keep.patterns.records import TENTATIVE, ErrorPattern, SimilarError, solutions_of
from satchel.keep.patterns.saying import read
from satchel.store.transaction import Transaction, set_of

_MOST_LINES, _MOST_CHARS = 3, 300  # limits of a short report

_LEAST = 2  # minimum number of words that match

_MANY = 4  # so many telling words suffice in a short output, whatever else it names

_PREFIX = 4  # words of so many letters also match longer ones that begin with them: expect, expected

# words that reports have in common: what went wrong in general, and the names of tools
VAGUE = frozenset(
    """
    absent alias already argument bad both break breaks broken build builds call called class code command compile
    conflict conflicts crash crashed crashes declined define defined delete different error errors exception exist
    existing exists exit extension expect expected fail failed failing fails failure fatal file files find finds fix
    found function get gets getting give gives given got import imported importing incompatible instead install
    installed installing invalid issue lack lacking lacks library link links load loading make method miss missing
    module modules name named need needed needs new nothing occurred one output package packages parameter problem
    program project property raise raised raises receive received recognized refuse refused reject rejected report
    request requested require required requires resolve resolved return returned returns run running script see set
    show start started status stop stopped symbol system table test testing tests throw throws try trying two type
    unable undefined uninitialized unknown unresolved unsupported use used user uses using value variable version
    versions via want wants warning work works write wrong yet bash bundler bundle cargo clang cmake compose
    composer conda curl deno docker dotnet elixir eslint flask gcc git go golang gradle gradlew helm java javac
    javascript jest kubectl ld linker make maven mix mvn mypy node npm npx php pip pnpm poetry pytest python rails
    rake ruby ruff rust rustc shell sqlalchemy sqlite terraform tox tsc typescript uv vite vitest webpack yarn
    django numpy jinja
    """.split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """An error as it was reported."""

    error_type: str
    text: str
    message: str

    @property
    def is_short(self) -> bool:
        text = self.text.strip()
        return text.count("\n") < _MOST_LINES and len(text) <= _MOST_CHARS


def matching_words(one: Wording, other: Wording) -> tuple[str, ...]:
    """Return the words by which one of two reports is the other error, or nothing."""
    for report, output in ((one, other), (other, one)):
        if report.is_short and _ends_line(report, output):
            return _telling(report.text)[0]
        if not report.is_short or not (matched := _words_in_output(report, output)):
            continue
        # where both name the error as programs do, their signatures decide
        parsed = read(report.text)
        is_whole = parsed.error_type or (parsed.is_headed and output.is_short)
        if not is_whole and (not output.is_short or read(output.text).is_headed):
            return matched
    return ()


def _ends_line(report: Wording, output: Wording) -> bool:
    # a program may print its name before an error that says its type
    ending = f": {report.text.strip()}"
    return any(line.endswith(ending) for line in output.text.splitlines()) and bool(read(report.text).error_type)


def _words_in_output(report: Wording, output: Wording) -> tuple[str, ...]:
    headline = _tokens(f"{output.error_type} {output.message}")
    everything = _tokens(output.text) | headline
    words, vague, numbers = _telling(_place().sub("", report.text))
    names = names_of(report.text)
    if not (words or names) or not headline.issuperset(names):
        return ()
    if not all(_is_in(word, everything) for word in words):
        return ()
    if output.is_short and len(words) < _MANY and not _is_half(output, report):
        return ()
    kinds = [word for word in _telling(report.error_type)[0] if _is_in(word, everything)]
    matching_numbers = [number for number in numbers if _is_in(number, everything)]
    if 2 * len(matching_numbers) < len(numbers):
        return ()
    matched = dict.fromkeys(
        (*words, *names, *matching_numbers, *kinds, *(word for word in vague if _is_in(word, headline)))
    )
    is_about = any(not word.isalnum() or _is_in(word, headline) for word in (*words, *names, *kinds))
    return tuple(matched) if is_about and len(matched) >= _LEAST else ()


def _is_half(output: Wording, report: Wording) -> bool:
    words, names = _tokens(f"{report.error_type} {report.text}"), names_of(output.message)
    if names:
        return 2 * sum(_is_in(name, words) for name in names) >= len(names)
    return len(_tokens(output.text)) >= 2 * len(words)


@cache
def _telling(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    every_word = [word.lower() for word in _word().findall(text)]
    terms = [word for word in dict.fromkeys(every_word) if not word[0].isdigit() and word not in STOP_WORDS]
    files = [name.lower() for name in _file().findall(text)]
    parts = {part for name in files for part in _word().findall(name)}
    words = (*files, *(word for word in terms if len(word) > 1 and word not in VAGUE | parts))
    numbers = dict.fromkeys(word for word in every_word if word[0].isdigit())
    return tuple(dict.fromkeys(words)), tuple(word for word in terms if word in VAGUE), tuple(numbers)


@cache
def names_of(text: str) -> tuple[str, ...]:
    words = (word for name in _quoted().findall(text) for word in _word().findall(name))
    return tuple(word.lower() for word in words if not word[0].isdigit())


@cache
def _tokens(text: str) -> frozenset[str]:
    tokens: set[str] = set()
    for word in _word().findall("\n".join(line for line in text.splitlines() if not line.startswith("==="))):
        tokens.add(word.lower())
        if "_" in word:
            tokens.update(word.lower().split("_"))
        tokens.update(identifier_parts(word))
    for name in _file().findall(text):
        parts = name.lower().split("/")
        tokens.update("/".join(parts[start:]) for start in range(len(parts)))
    return frozenset(tokens)


def _is_in(word: str, tokens: frozenset[str]) -> bool:
    if word in tokens:
        return True
    if word[0].isdigit():
        return any(token.startswith(f"{word}.") for token in tokens)
    stem = word[:-1] if word.endswith("s") and len(word) > _PREFIX else word
    return len(stem) >= _PREFIX and any(token.startswith(stem) for token in tokens)


_word = lazy_regex(r"[^\W\d]\w*|\d[\w.]*\w|\d")
# a file, or a path of at least two names
_file = lazy_regex(r"(?<![\w/.@+-])(?:\.{0,2}/)?((?:[\w@+-]+/)+[\w.@+-]*\w|[\w-]+\.[a-z]{1,5})(?![\w/(])")
# where a program found the error
_place = lazy_regex(r"(?m)^\S{1,300}?:\d{1,6}(?::\d{1,6})?:? ")
_quoted = lazy_regex(r"(?<!\w)['\"`]([^'\"`\n]{1,100})['\"`]")


MOST = 3  # maximum number of similar errors

LEAST = 60  # minimum percentage of common telling words

_LOOKED_AT = 20  # number of search results compared word by word

_MOST_WORDS = 24

_MOST_PIECES = 200  # number of words of a message that are compared in their order

_MOST_MASKED = 3  # so many words may stand where the other message has a masked part


class Neighbour(NamedTuple):
    """A known error that shares words with another; the example is its text as first reported."""

    number: int
    hash: str
    error_type: str
    message: str
    example: str

    @property
    def wording(self) -> Wording:
        return Wording(self.error_type if " " not in self.error_type else "", self.example, self.message)


def neighbours(transaction: Transaction, project_id: int, error_type: str, message: str, now: int) -> list[Neighbour]:
    """Return the known errors that share the most telling words with one, best first."""
    words = [word for word in dict.fromkeys(words_in(f"{error_type} {message}")) if word.lower() not in STOP_WORDS]
    scope = Scope(project_id, kinds=(Kind.ERROR_PATTERN,), status="all", now=now)
    query = parse(" ".join(words[:_MOST_WORDS]))
    hits = search.rank(transaction, query, scope, near_best=False).hits[: _LOOKED_AT + 1]
    if not hits:
        return []
    rows = transaction.all(
        f"""
        SELECT d.id, p.id, p.pattern_hash, p.error_type, p.message, p.example
        FROM documents d JOIN error_patterns p ON p.id = d.item_id
        WHERE d.id IN {set_of(hit.document for hit in hits)} AND p.project_id = :project
        """,
        {"project": project_id},
    )
    by_document = {row[0]: Neighbour(*row[1:]) for row in rows}
    return [by_document[hit.document] for hit in hits if hit.document in by_document]


def same_in_words(near: Sequence[Neighbour], wording: Wording) -> tuple[Neighbour, tuple[str, ...]] | None:
    """Return the known error that a report is in other words, with the words that match; None if no single one is."""
    matched = [(one, words) for one in near if (words := matching_words(wording, one.wording))]
    best = max((len(words) for _, words in matched), default=0)
    of_most = [(one, words) for one, words in matched if len(words) == best]
    return of_most[0] if len(of_most) == 1 else None


def similar_to(
    transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int, near: Sequence[Neighbour] | None = None
) -> tuple[SimilarError, ...]:
    """Return the known errors most similar to one, best first; ``near`` are its neighbours if they are known."""
    if near is None:
        near = neighbours(transaction, project_id, pattern.error_type, pattern.message, now)
    words, names = _words(pattern.message), set(names_of(pattern.message))
    alike: list[tuple[int, Neighbour, tuple[str, ...]]] = []
    for one in near:
        # errors with the same message differ in their place
        if one.number == pattern.id or one.message == pattern.message:
            continue
        theirs, their_names = _words(one.message), set(names_of(one.message))
        shared = tuple(word for word in words if word in theirs)
        is_about = not (names and their_names) or names <= their_names or their_names <= names
        likeness = text_likeness(words, theirs)
        if likeness >= LEAST and is_about and _is_same_within(pattern.message, one.message):
            alike.append((likeness, one, shared))
    best = sorted(alike, key=lambda one: (-one[0], -one[1].number))[:MOST]
    fixes = solutions_of(transaction, project_id, [one.number for _, one, _ in best], TENTATIVE) if best else {}
    return tuple(
        SimilarError(
            Kind.ERROR_PATTERN.ref(one.number),
            one.error_type,
            one.message,
            likeness,
            next(iter(fixes.get(one.number, ())), None),
            shared,
        )
        for likeness, one, shared in best
    )


def _is_same_within(one: str, other: str) -> bool:
    """Return whether two messages differ only before and after what they share, in vague words and in masked parts.

    What tells errors of nearly the same words apart stands between these words, or as a reason in brackets.
    """
    from difflib import SequenceMatcher  # imported here because few messages are so alike

    mine, theirs = ([word.lower() for word in _piece().findall(text)[:_MOST_PIECES]] for text in (one, other))
    parts = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    for place, (what, start, end, their_start, their_end) in enumerate(parts):
        less, more = sorted((mine[start:end], theirs[their_start:their_end]), key=lambda part: bool(_told(part)))
        if what == "equal" or not _told(more):
            continue
        if _told(less):
            if place or not all(_file().fullmatch(word) for word in (*_told(less), *_told(more))):
                return False
        elif not (place == 0 or ("#" in less and len(more) <= _MOST_MASKED)):
            is_last = place == len(parts) - 1 and more[0] != ","
            if not is_last or any(_told([inside]) for inside in _bracketed().findall(" ".join(more))):
                return False
    return True


def _told(words: Sequence[str]) -> tuple[str, ...]:
    telling, _, numbers = _telling(" ".join(words))
    return telling + numbers


def _words(message: str) -> dict[str, None]:
    return dict.fromkeys(word for word in words_of(message) if word not in VAGUE)


_piece = lazy_regex(r"[^\W_]\w*(?:[.\-/@+]+\w+)*|[#\[\](),]")
_bracketed = lazy_regex(r"[(\[]([^)\]]*)")
