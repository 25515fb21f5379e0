"""What two agents would write of a history, and what the second would then ask."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePath

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.interfaces.cli.tour.history import MIN_COMMITS, Commit, History
from satchel.interfaces.cli.tour.messages import REVERT, VERB, VERB_ENDING, Message, is_document, is_test, read_message
from satchel.keep.paths import check_path

MAX_CONTENT_CHARS = 600
MAX_QUESTIONS = 3


_WORD = re.compile(r"[^\W_]{2,}")
_REFERENCE = re.compile(r"\s*(?:[,;(]\s*)?(?:(?:closes|fixes|refs?|see|issue|for)\s+)*(?:#|GH-)\d+\)?", re.IGNORECASE)
_AREA = re.compile(r"^(?:\[[^\]]{1,30}\]|[\w./-]{1,30}(?:\([^)]{1,40}\))?)!?:\s+")
_CLAUSE_END = re.compile(r"[,;]\s|\s[-–—]+\s|:\s|\s\(|\s(?:because|since|so that|to avoid|to prevent|which)\b")
_FIX = re.compile(r"(?:fix|correct|repair)(?:es|s|ed)?\s+(?:for\s+)?(?:an?\s+|the\s+)?", re.IGNORECASE)
_VERB = re.compile(rf"({VERB}){VERB_ENDING}\s+", re.IGNORECASE)
_VAGUE = "What do we know about"
_ASKED_HOW = {"avoid", "ensure", "improve", "prevent", "reduce", "speed", "stop"}


@dataclass(frozen=True, slots=True)
class Note:
    """One entry that an agent writes, and the question that it answers, if there is one."""

    type: str
    content: str
    file: str | None = None
    question: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """All that the tour writes, oldest note first, and the builder's notes that the reviewer asks for."""

    notes_by_builder: tuple[Note, ...]
    notes_by_reviewer: tuple[Note, ...]
    analysis: Note
    questions: tuple[Note, ...]


def tell(history: History) -> Story:
    """Turn a history into what two agents would note of it.

    The builder takes the older three quarters and the analysis, the reviewer the newest quarter. Each question
    has words that, of all notes, only the builder's note that answers it has.

    Args:
        history: at least one commit with a subject.

    Raises:
        InvalidInput: there is no such commit.
    """
    commits = [commit for commit in reversed(history.commits) if commit.subject.strip()]
    read = [(commit, read_message(commit.subject, commit.body, commit.files)) for commit in commits]
    # Releases and touch-ups are told only where little else exists.
    told = [(commit, message) for commit, message in read if message.kind != "nothing"]
    told = told if len(told) >= min(MIN_COMMITS, len(read)) else read
    if not told:
        raise InvalidInput(f"{history.name} has no commit to tell of", "Commit something first")
    by_builder = len(told) - (max(1, len(told) // 4) if len(told) > 1 else 0)
    tracked = frozenset(history.tracked_files)
    notes = tuple(_note(commit, message, tracked) for commit, message in told)
    return Story(notes[:by_builder], notes[by_builder:], _analysis(history), _questions(notes[:by_builder], notes))


def busiest_file(history: History) -> str:
    """Return the tracked file that most commits changed, of those that can be claimed by their name."""
    tracked = frozenset(history.tracked_files)
    counts = Counter(file for commit in history.commits for file in commit.files)
    return next((file for file, _ in counts.most_common() if file in tracked and _is_usable(file)), "README.md")


def _analysis(history: History) -> Note:
    """Describe a code base by the paths it tracks and what its commits touch; nothing is opened."""
    files = history.tracked_files
    suffixes = Counter(suffix for path in files if (suffix := PurePath(path).suffix))
    mostly = "".join(f", mostly {suffix}" for suffix, _ in suffixes.most_common(1))
    text = f"{history.name}: {len(files):,} tracked files{mostly}."
    changed = ({path.rpartition("/")[0] for path in commit.files} - {""} for commit in history.commits)
    for folder, count in Counter(chain.from_iterable(changed)).most_common(1):
        text += f" Of the newest {len(history.commits)} commits, {count} changed {folder}/, more than any other folder."
    return Note("codebase_analysis", text)


def _note(commit: Commit, message: Message, tracked: frozenset[str]) -> Note:
    parts = [f"{message.subject} ({commit.sha[:8]})."]
    if message.kind == "error":
        parts[0] = f"{'Taken back' if REVERT.match(message.subject) else 'Error, since fixed'}: {parts[0]}"
    if message.quote and message.quote != message.subject:
        parts.append(f"Reason given: {message.quote}")
    else:
        parts += [sentence for sentence in message.sentences if len(sentence.split()) > 3][:2]
    if len(commit.files) > 1:
        more = len(commit.files) - 4
        parts.append(f"Files: {', '.join(commit.files[:4])}{f' and {more} more' * (more > 0)}.")
    content = parts[0] if len(parts[0]) <= MAX_CONTENT_CHARS else f"{parts[0][: MAX_CONTENT_CHARS - 1]}…"
    for part in parts[1:]:
        ended = part if part.endswith((".", "!", "?")) else f"{part}."
        if len(content) + 1 + len(ended) <= MAX_CONTENT_CHARS:
            content += f" {ended}"
    # The file that says most: one that still exists, code first.
    usable = filter(_is_usable, commit.files)
    file = min(usable, key=lambda path: (path not in tracked, is_document(path), is_test(path)), default=None)
    return Note("discovery" if message.kind == "nothing" else message.kind, content, file, _question(message))


def _is_usable(path: str) -> bool:
    try:
        # A backslash stands for a byte that was not UTF-8, so the text is not the file's real name.
        return "\\" not in path and check_path(path, None) == path
    except InvalidInput:
        return False


def _questions(asked: Sequence[Note], notes: Sequence[Note]) -> tuple[Note, ...]:
    """Choose for each kind the question whose note stands out most, then the best of the rest."""
    seen_in = Counter(word for note in notes for word in _words(note.content))

    def rank(note: Note) -> tuple[bool, int]:
        own = sum(seen_in[word] == 1 for word in _words(note.question))
        return note.question.startswith(_VAGUE), -own

    ranked = sorted((note for note in asked if note.question and rank(note)[1]), key=rank)
    best = [next((n for n in ranked if n.type == kind), None) for kind in ("error", "decision", "discovery")]
    return tuple(dict.fromkeys([note for note in best if note] + ranked))[:MAX_QUESTIONS]


def _question(message: Message) -> str:
    """Phrase what a developer would ask before touching the same thing; "" where it would read badly."""
    plain = _AREA.sub("", _REFERENCE.sub("", message.subject).strip())
    verb, fix, revert = _VERB.match(plain), _FIX.match(plain), REVERT.match(plain)
    if message.kind == "error" and revert:
        opening, topic = "Why did we take back", f'"{_topic(plain[revert.end() :])}"'
    elif message.kind == "error" and fix:
        opening, topic = "What went wrong with", re.split(r"\s(?:to|by)\s", _topic(plain[fix.end() :]), maxsplit=1)[0]
    elif verb:
        asked = "Why" if message.kind == "decision" else "How" if verb[1].lower() in _ASKED_HOW else "Where"
        opening, topic = f"{asked} did we {verb[1].lower()}", _topic(plain[verb.end() :])
    else:
        first, _, rest = _topic(plain).partition(" ")
        opening, topic = _VAGUE, f"{first.lower() if first.istitle() else first} {rest}"
    return f"{opening} {topic}?" if len(_WORD.findall(topic)) > 1 else ""


def _topic(text: str) -> str:
    """The first clause, ten words at most."""
    return " ".join(_CLAUSE_END.split(text, maxsplit=1)[0].split()[:10]).strip(" .,;:\"'")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
