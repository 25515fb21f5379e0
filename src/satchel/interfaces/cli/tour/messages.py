"""What a commit message says, read by rules that would rather miss a thing than claim it wrongly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from satchel.base.records import dataclass

Kind = Literal["discovery", "error", "decision", "nothing"]

_FLAGS = re.IGNORECASE | re.VERBOSE

# Lines and parts of a message that are not prose.
_EMAIL = re.compile(r"[<(]?(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+[>)]?")
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_NOT_PROSE = re.compile(
    r"""[\s>#|<] | [-*+•]\s | \d{1,2}[.)]\s | [-=_*~+]{3,}$ | \(?cherry[ ]picked | this[ ]reverts[ ]commit
    | (?:[a-z]+(?:-[a-z]+)+|cc|link|bug|see):[ ] | (?:refs?|see|clos\w*|fix\w*|resolv\w*)\b.*(?:\#\d|://)""",
    _FLAGS,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z\"'`(\[])")
_WORD = re.compile(r"[^\W\d_]{2,}")

# An area may stand first: "parser: Fix ...", "[core] Fix ...".
_AREA = r"(?:(?:\[[^\]]{1,30}\]|[\w./*,@+\ -]{1,40}(?:\([^)]{1,40}\))?!?:)\s+)?"
VERB = "|".join(
    """
    add allow avoid bundle cache change check close convert create deprecate detect disable document drop enable
    ensure escape expose extract handle ignore implement improve include introduce keep limit load make merge migrate
    move open pick pin prefer preserve prevent raise read reduce refactor refuse remove rename replace report require
    return reuse rework set share ship skip speed split stop store support switch treat unify use validate wrap write
    """.split()
)
VERB_ENDING = r"(?:e?s|[bgnpt]?e?d)?\b(?![(`.]|\ (?:is|are|was|were)\b)"
_NOTHING = re.compile(
    rf"""(?:(?:prepare|start|begin)\ )?(?:release|version)\ v?\d | v?\d+(?:\.\d+)+ | merge\b | wip\b
    | (?:fixup|squash|amend)! | (?:chore|build)\(deps | {_AREA}bump | {_AREA}(?:pin|unpin|update|upgrade)\b.*
      (?:dependenc|requirements|change-?log|readme|\ v?\d+\.\d)
    | (?:minor|small|misc)\ (?:fix|chang|tweak|clean|updat)""",
    _FLAGS,
)
_TEXT_WORD = "|".join(
    r"""
    typos? lint\w* format(?:ting)? whitespace docs? documentation docstrings? readme change-?log comments? spelling
    wording grammar links? headings? badges? examples? tests? coverage ci workflows? mypy ruff black flake8 pylint
    pyright typing annotations? noqa types? warnings? nits? description
    """.split()
)
_ABOUT_TEXT = re.compile(rf"\b(?:{_TEXT_WORD})\b", re.IGNORECASE)
REVERT = re.compile(r"revert(?:ed|s)?[\s:]", re.IGNORECASE)
_REVERTS_COMMIT = re.compile(r"^this reverts commit [0-9a-f]{7,}", re.IGNORECASE | re.MULTILINE)
_FIX = re.compile(
    rf"""(?:bug|hot)?fix(?:\([^)]{{1,40}}\))?!?:\s
    | {_AREA}(?:(?:bug|hot)?fix(?:es|ed)?|correct(?:s|ed)?|repair(?:s|ed)?)\b(?![-=.(_/])
    | {_AREA}(?:avoid|prevent|stop)\w*\ (?:\S+\ ){{0,3}}(?:crash|deadlock|segfault|leak|data\ loss|race\ condition)
    | .*\bregression(?:\W*$|\ (?:from|in|since)\b)""",
    _FLAGS,
)

# A decision needs a choice and a reason, both in the message's own words.
_CHOICE = re.compile(
    rf"""{_AREA}(?:(?:so|but|and|now|instead)\ )*
      (?:(?:we\ (?:now\ )?)?(?:{VERB}){VERB_ENDING} | (?:do\ not|don't|never)\b)
    | (?:\S+\ ){{1,16}}?(?:is|are)\ now\ """,
    _FLAGS,
)
_REASON = re.compile(
    r"""(?:(?<!just\ )\bbecause\ (?!why)|,\ since\ (?!then)|\bso\ that\ )(?:\S+\ +){2}\S
    |(?<!try)(?<!trying)\ to\ (?:avoid|prevent)\ \S+\ +\S""",
    _FLAGS,
)
_REASON_FIRST = re.compile(
    rf"(?:because|since)\ [^,]+,\ we\ (?:{VERB}){VERB_ENDING} | [^,]{{20,}},\ so\ we\ (?:{VERB}){VERB_ENDING}", _FLAGS
)
_HEDGE = re.compile(r"\b(?:maybe|perhaps|probably|todo|i think|not sure|ago|previously|used to)\b|\?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """A commit message's prose, what it is about, and for a decision the sentence that holds choice and reason."""

    subject: str
    sentences: tuple[str, ...]
    kind: Kind
    quote: str | None = None


def read_message(subject: str, body: str, files: Sequence[str] = ()) -> Message:
    """Reduce a commit message to its prose, and say what it is about.

    A revert or a fix of behaviour is an error; a decision is claimed only where one sentence holds both a choice and
    its reason; releases, dependency bumps, merges and
    touch-ups of text say nothing; everything else is a discovery.

    Args:
        subject: the first line, of which 1,000 characters are read.
        body: the rest, of which 8,000 are read.
        files: the paths it changed; a change to nothing but documents is never an error or a decision.
    """
    subject, body = subject[:1_000], body[:8_000]
    sentences = _sentences(body)
    subject = _without_addresses(subject).rstrip(". ")
    kind = _kind(subject, body)
    quote = None
    if kind != "nothing" and files and all(map(is_document, files)):
        kind = "discovery" if sentences else "nothing"
    elif kind == "error" and files and all(is_document(path) or is_test(path) for path in files):
        kind = "discovery"
    elif kind == "discovery" and (quote := _decision(subject, sentences)):
        kind = "decision"
    return Message(subject, sentences, kind, quote)


def _sentences(body: str) -> tuple[str, ...]:
    """Return the prose of a body; lists, quotes, code and trailers are left out."""
    lines = ("" if _NOT_PROSE.match(line) else line for line in _FENCED.sub("", body).splitlines())
    paragraphs = map(_without_addresses, "\n".join(lines).split("\n\n"))
    return tuple(part for text in paragraphs for part in _SENTENCE_END.split(text) if part)


def _kind(subject: str, body: str) -> Kind:
    if len(_WORD.findall(subject)) < 2 or _NOTHING.match(subject):
        return "nothing"
    if REVERT.match(subject) or _REVERTS_COMMIT.search(body):
        return "error"
    is_fix = _FIX.match(subject) is not None
    # "Fix the total and add tests" mends more than tests.
    if is_fix and _ABOUT_TEXT.search(re.split(r", | and | with ", subject, maxsplit=1)[0]):
        return "nothing"
    return "error" if is_fix else "discovery"


def _decision(subject: str, sentences: Sequence[str]) -> str | None:
    """Return the sentence that holds a choice and its reason, if there is one."""
    if _ABOUT_TEXT.search(subject):
        return None
    for sentence in (subject, *sentences):
        choice = _CHOICE.match(sentence)
        reasoned = (choice and _REASON.search(sentence, choice.end())) or _REASON_FIRST.match(sentence)
        is_plain = not (_HEDGE.search(sentence) or _ABOUT_TEXT.search(sentence))
        if reasoned and is_plain and 5 <= len(sentence.split()) <= 60:
            return sentence
    return None


def is_document(path: str) -> bool:
    """Whether a path is that of a document, going by its name."""
    lowered = path.lower()
    return lowered.endswith((".md", ".rst", ".txt", ".adoc")) or lowered.startswith((".github/", "docs/", "doc/"))


def is_test(path: str) -> bool:
    """Whether a path is that of a test, going by its name."""
    *folders, name = path.lower().split("/")
    return "test" in folders or "tests" in folders or name.startswith("test_")


def _without_addresses(text: str) -> str:
    return " ".join(_EMAIL.sub("", text).split())
