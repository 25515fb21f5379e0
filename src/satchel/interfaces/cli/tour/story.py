"""What two agents would write of a history, and what the second would then ask."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satchel.base.errors import InvalidInput
from satchel.base.text import check_name
from satchel.interfaces.cli.tour.history import MIN_COMMITS, Commit, History
from satchel.interfaces.cli.tour.messages import Kind, Message, clean_message, read_message
from satchel.interfaces.cli.tour.survey import LANGUAGES, survey

MAX_CONTENT_CHARS = 600
MAX_QUESTIONS = 3

_TASK = "read-history"
_BUILDER_LOOP = "builder-1"
_REVIEWER_LOOP = "reviewer-1"
_REVIEWER_SHARE = 4
_NAMED_FILES = 4
_BODY_SENTENCES = 2

_REFERENCE = re.compile(r"\s*(?:[,;(]\s*)?(?:(?:closes|fixes|refs?|see|issue|for)\s+)*(?:#|GH-)\d+\)?", re.IGNORECASE)
_AREA = re.compile(r"^(?:\[[^\]]{1,30}\]|[\w./*,@+-]{1,30}(?:\([^)]{1,40}\))?!?:)\s+")
_CLAUSE_END = re.compile(
    r"[,;]\s|\s[-–—]+\s|:\s|\s\(|\s(?:because|since|so that|to avoid|to prevent|which|and (?:add|update|use|make))\b"
)
_FIX_START = re.compile(
    r"(?:fix(?:es|ed|ing)?|correct(?:s|ed)?|repair(?:s|ed)?)\s+(?:for\s+|up\s+)?(?:an?\s+|the\s+)?"
    r"(?:(?:bug|issue|problem|error)s?\s+(?:with|in|where|when)\s+)?",
    re.IGNORECASE,
)
_REVERT_START = re.compile(r"revert(?:ed|s)?[\s:]+", re.IGNORECASE)
_VAGUE = "What do we know about"
_NAMES_A_THING = re.compile(r"(?:the|an?)\s|(?:[\w-]+ ){1,3}[\w-]+: |[A-Za-z ]+, [A-Za-z ,]+ and ", re.IGNORECASE)
_PLACE = re.compile(r"(?!(?:\w*fix|feat|refactor|perf|docs?|tests?|chore|build|ci|style)$)[A-Za-z_./-]{2,30}")
_REGULAR_VERBS = """
    add allow avoid bundle cache change check close convert create deprecate detect disable document
    drop emit enable ensure escape expose extract handle implement import improve include introduce
    limit load merge migrate move open pin preserve prevent raise reduce refactor refuse remove
    rename replace report require return reuse rework share skip speed stop store support switch
    treat unify use validate wrap
"""
_IRREGULAR_VERBS = {
    "made": "make",
    "kept": "keep",
    "wrote": "write",
    "sent": "send",
    "ran": "run",
    "held": "hold",
}


def _verb_forms() -> dict[str, str]:
    """Map what a subject may start with (add, adds, added) to the bare verb; forms that no one writes do no harm."""
    forms = dict(_IRREGULAR_VERBS)
    for verb in ("split", "set", "let", "put", "read", *_IRREGULAR_VERBS.values(), *_REGULAR_VERBS.split()):
        stem = verb.removesuffix("e")
        forms |= dict.fromkeys((verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{verb}{verb[-1]}ed"), verb)
    return forms


_VERBS = _verb_forms()
_ASKED_HOW = frozenset(("avoid", "ensure", "improve", "prevent", "reduce", "speed", "stop"))
_WORD = re.compile(r"[^\W_]{2,}")
_COMMON = frozenset(
    """
    about add added after all also an and any are as at be because been before bug but by can did do
    does error fix fixed for from gone had has have how if in instead into is it its know make more
    new no not now of on only or our out should so some than that the their then there this to
    trouble up use used using was we went were what when where which why will with without wrong you
    """.split()
)


@dataclass(frozen=True, slots=True)
class Note:
    """One entry that an agent writes: the arguments of ``write_context``."""

    type: str
    content: str | Mapping[str, object]
    file: str | None
    line: int | None
    task_id: str
    loop_id: str


@dataclass(frozen=True, slots=True)
class Question:
    """What the reviewer asks, and the builder's note that answers it."""

    text: str
    expected: Note


@dataclass(frozen=True, slots=True)
class Story:
    """All that the tour writes and asks, oldest note first."""

    notes_by_builder: tuple[Note, ...]
    notes_by_reviewer: tuple[Note, ...]
    analysis: Note
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """A commit with its reading, while the story is made."""

    commit: Commit
    kind: Kind
    quote: tuple[str, ...]
    message: Message


def tell(history: History) -> Story:
    """Turn a history into what two agents would note of it.

    The builder takes the older three quarters and the analysis, the reviewer the newest quarter. Each
    question is one that a note of the builder answers better than any other note, judged by rare words in common.

    Args:
        history: at least one commit that is not a merge.

    Raises:
        InvalidInput: there is no such commit.
    """
    told = _worth_telling(history)
    if not told:
        raise InvalidInput(f"{history.name} has no commit to tell of", "Commit something first")
    told.reverse()
    newest = len(told) - (max(1, len(told) // _REVIEWER_SHARE) if len(told) > 1 else 0)
    tracked = frozenset(history.tracked_files)
    builder = tuple(_note(one, tracked, _BUILDER_LOOP) for one in told[:newest])
    reviewer = tuple(_note(one, tracked, _REVIEWER_LOOP) for one in told[newest:])
    analysis = Note("codebase_analysis", survey(history), None, None, _TASK, _BUILDER_LOOP)
    return Story(builder, reviewer, analysis, _questions(told[:newest], builder, reviewer))


def _worth_telling(history: History) -> list[_Told]:
    """Read every commit that is not a merge; releases and touch-ups only where little else exists."""
    read: list[_Told] = []
    for commit in history.commits:
        if commit.is_merge or not commit.subject.strip():
            continue
        reading = read_message(commit.subject, commit.body, commit.files)
        read.append(_Told(commit, reading.kind, reading.quote, clean_message(commit.subject, commit.body)))
    telling = [one for one in read if one.kind != "nothing"]
    return telling if len(telling) >= min(MIN_COMMITS, len(read)) else read


def _note(told: _Told, tracked: frozenset[str], loop_id: str) -> Note:
    commit, message = told.commit, told.message
    head = f"{message.subject} ({commit.short_sha})"
    if told.kind == "decision":
        reasons = [sentence for sentence in told.quote if sentence != message.subject]
        parts = [head + ".", *([f"Reason given: {' '.join(reasons)}"] if reasons else _useful(message))]
    elif told.kind == "error":
        is_revert = _REVERT_START.match(message.subject) is not None
        parts = [f"{'Taken back' if is_revert else 'Error, since fixed'}: {head}.", *_useful(message)]
    else:
        parts = [head + ".", *_useful(message)]
    if len(commit.files) > 1:
        parts.append(_listed(commit.files))
    return Note(
        type="discovery" if told.kind == "nothing" else told.kind,
        content=_joined(parts),
        file=_telling_file(commit, message, tracked),
        line=None,
        task_id=_TASK,
        loop_id=loop_id,
    )


def _useful(message: Message) -> list[str]:
    """The first sentences of the body that stand on their own."""
    kept = [
        sentence
        for sentence in message.sentences
        if len(_WORD.findall(sentence)) >= 4
        and not sentence.endswith(":")
        and not (sentence[0].islower() or sentence[0].isdigit())
        and sentence != message.subject
    ]
    return kept[:_BODY_SENTENCES]


def _listed(files: Sequence[str]) -> str:
    shown = ", ".join(files[:_NAMED_FILES])
    more = len(files) - _NAMED_FILES
    return f"Files: {shown}" + (f" and {more} more." if more > 0 else ".")


def _joined(parts: Sequence[str]) -> str:
    """Join sentences up to the limit; what does not fit is left out whole, only the first one is cut."""
    text = parts[0] if len(parts[0]) <= MAX_CONTENT_CHARS else parts[0][: MAX_CONTENT_CHARS - 1].rstrip() + "…"
    for part in parts[1:]:
        if len(text) + 1 + len(part) <= MAX_CONTENT_CHARS:
            text += " " + (part if part.endswith((".", "!", "?")) else part + ".")
    return text[:MAX_CONTENT_CHARS]


def _telling_file(commit: Commit, message: Message, tracked: frozenset[str]) -> str | None:
    """The changed file that says most: code first, then what the message names."""
    words = set(_words(" ".join((message.subject, *message.sentences))))

    def rank(path: str) -> tuple[bool, bool, bool, int]:
        folders, _, name = path.lower().rpartition("/")
        stem = name.rsplit(".", 1)[0]
        is_test = "test" in name or "test" in folders
        is_code = name.rpartition(".")[2] in LANGUAGES
        mentioned = len(words & set(_words(stem)))
        return (path not in tracked, not is_code, is_test, stem.startswith("__") - mentioned)

    usable = [path for path in commit.files if _storable(path)]
    return min(usable, key=rank, default=None)


def _storable(path: str) -> bool:
    # A backslash stands for a byte that was not UTF-8, so the text is not the file's real name.
    if "\\" in path:
        return False
    try:
        return check_name(path, "file") == path
    except InvalidInput:
        return False


def _questions(told: Sequence[_Told], notes: Sequence[Note], others: Sequence[Note]) -> tuple[Question, ...]:
    """Choose for each kind the question whose note stands out most, then the best of the rest."""
    documents = [Counter(_words(str(note.content))) for note in (*notes, *others)]
    seen_in = Counter(word for document in documents for word in document)

    def score(words: Sequence[str], document: Counter[str]) -> float:
        return sum(math.log(1 + len(documents) / seen_in[word]) for word in set(words) if word in document)

    ranked: list[tuple[float, Question]] = []
    weak: list[tuple[float, Question]] = []
    for one, note, own in zip(told, notes, documents, strict=False):
        text = _ask(one)
        words = _words(text) if text else []
        rivals = [score(words, document) for document in documents if document is not own]
        margin = score(words, own) - max(rivals, default=0.0)
        if text and margin > 0:
            vague = text.startswith(_VAGUE)
            ranked.append((margin / 2 if vague else margin, Question(text, note)))
            if vague and not _NAMES_A_THING.match(one.message.subject):
                weak.append(ranked.pop())
    ranked = sorted(ranked or weak, key=lambda pair: -pair[0])
    best = [
        next((q for _, q in ranked if q.expected.type == kind), None) for kind in ("error", "decision", "discovery")
    ]
    chosen = [question for question in best if question is not None]
    chosen += [question for _, question in ranked if question not in chosen]
    return tuple(chosen[:MAX_QUESTIONS])


def _ask(told: _Told) -> str | None:
    """Phrase what a developer would ask before touching the same thing; None where it would read badly."""
    subject = _REFERENCE.sub("", told.message.subject).strip()
    plain = _AREA.sub("", subject)
    area = subject[: len(subject) - len(plain)].rstrip(": !") if plain != subject else ""
    if told.kind == "error":
        if _REVERT_START.match(plain):
            return _question("Why did we take back", f'"{_topic(_REVERT_START.sub("", plain))}"', area)
        start = _FIX_START.match(plain)
        if start:
            topic = _topic(plain[start.end() :])
            shorter = re.split(r"\s(?:to|by)\s(?=[a-z]+\s)", topic, maxsplit=1)[0]
            enough = len(_WORD.findall(shorter)) > 1
            return _question("What went wrong with", shorter if enough else topic, area)
        return None
    verb, _, rest = plain.partition(" ")
    base = _VERBS.get(verb.lower())
    if base is None:
        return _question(_VAGUE, _whole(plain), area)
    asks = "Why" if told.kind == "decision" else "How" if base in _ASKED_HOW else "Where"
    return _question(f"{asks} did we {base}", _topic(rest), area)


def _question(opening: str, topic: str, area: str) -> str | None:
    if len(_WORD.findall(topic)) < 2:
        return None
    place = f" in {area}" if _PLACE.fullmatch(area) and area.lower() not in topic.lower() else ""
    return f"{opening} {topic}{place}?"


def _topic(text: str) -> str:
    """The first clause, ten words at most."""
    clause = _CLAUSE_END.split(text, maxsplit=1)[0]
    return " ".join(clause.split()[:10]).strip(" .,;:\"'")


def _whole(text: str) -> str:
    """The text up to a colon, twelve words at most, as it would stand inside a sentence."""
    words = re.split(r":\s|\s\(", text, maxsplit=1)[0].split()[:12]
    while words and words[-1].lower() in _COMMON:
        words.pop()
    if words and words[0].istitle():
        words[0] = words[0].lower()
    return " ".join(words).strip(" .,;\"'")


def _words(text: str) -> list[str]:
    """Words as a search would see them: folded, parts of identifiers apart, common ones left out."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    words = (word.casefold() for word in _WORD.findall(apart))
    return [word[:-1] if len(word) > 4 and word.endswith("s") else word for word in words if word not in _COMMON]
