"""Comparison of documents with what a person decided about their texts: what is new, changed or removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from satchel.base.invisible import revealed
from satchel.base.records import NamedTuple, dataclass
from satchel.find.kind import Kind
from satchel.keep.binding import BIND_ALL
from satchel.keep.documents.reading import Document, Reading
from satchel.keep.documents.splitting import DECISION, IS_RECORD, NOTE, RULE, Piece, read_record, split
from satchel.keep.documents.states import TextState, clients_loading, digest_of, load_states
from satchel.keep.kind import Line
from satchel.keep.moving.lines import lines_of
from satchel.redaction import redact
from satchel.store.transaction import Transaction

# why something is proposed
NEW, CHANGED, REMOVED = "new", "changed", "removed"

HIDDEN, UNSEEN, COMMENT, SECRET = "hidden characters", "what a rendered page hides", "a comment", "a secret"
COMMANDS, NETWORK, SECRETS, TOOLS = "commands", "network", "secrets", "tool calls"

# marks of proposals that are accepted one by one only
NEEDS_A_LOOK = frozenset((HIDDEN, UNSEEN, COMMENT, SECRET))

KIND_OF = {RULE: Kind.CONSTRAINT, DECISION: Kind.DECISION, NOTE: Kind.ENTRY}
_NAME_OF = {kind.number: name for name, kind in KIND_OF.items()}
_TEXT_OF = {RULE: "text", DECISION: "value", NOTE: "content"}

# the part of words that a changed text shares with the item that it changes, at least
_LEAST_LIKENESS = 0.6

# what a rendered page does not show
_UNSEEN = re.compile(
    # in the order here: HTML other than comments and addresses in angle brackets, definitions of links and footnotes,
    # the blank Braille pattern, and blanks that push what follows out of sight
    r"<(?!!--|(?:(?:https?://|mailto:)[^\s<>]*|[\w.+-]+@[\w.-]+)>)[A-Za-z/?!]"
    r"|^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*\[(?:\\.|[^\[\]\\])+\]:"
    r"|\u2800|\s{41}",
    re.MULTILINE,
)

_MARKS = (
    (COMMENT, re.compile(r"<!--")),
    (
        COMMANDS,
        re.compile(
            r"(?:^|[`$>(]\s*|(?i:\brun\s+)`?)(?:sudo|rm|curl|wget|bash|sh|zsh|python3?|node|deno|bunx?|npm|npx|pnpm|yarn|"
            r"pip|pipx|uvx?|make|just|cargo|go|docker|kubectl|git|gh|ssh|scp|chmod|eval|source|poetry|hatch|tox|pytest|"
            r"\./\S+)[ `]|```(?:bash|sh|shell|console|zsh)",
            re.MULTILINE,
        ),
    ),
    (NETWORK, re.compile(r"(?i)\b(?:https?|ftp|wss?|ssh)://|\b(?:curl|wget|scp|ssh|webhook|upload)\b")),
    (
        SECRETS,
        re.compile(r"(?i)\b(?:secrets?|passwords?|credentials?|(?:api|access|private)[ _-]?keys?|tokens?)\b|\.env\b"),
    ),
    (
        TOOLS,
        re.compile(r"(?i)\bmcp__\w+|\b(?:call|invoke|use|run)\b[^.\n]{0,60}\btools?\b|\btools?\b[^.\n]{0,40}\bcall"),
    ),
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the memory that a document proposes.

    Attributes:
        line: the line in the document; of a removed text its last known one.
        source: the text as written in the document; empty if it was removed.
        item: the short id of the item that it changes or ends, or None, and ``before`` its text.
        also: other documents with the same text.
        clients: those that load the text themselves, as the table stores them.
    """

    path: str
    line: int
    why: str
    kind: str
    text: str
    source: str
    digest: str
    key: str = ""
    reason: str = ""
    paths: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    item: str | None = None
    before: str | None = None
    also: tuple[str, ...] = ()
    clients: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def ref(self) -> str:
        return self.place if self.source or self.item is None else self.item

    @property
    def needs_a_look(self) -> bool:
        """Return whether only a person who names it accepts it."""
        return not NEEDS_A_LOOK.isdisjoint(self.marks)


class Text(NamedTuple):
    """A text of the documents: where it stands first, all its places, and the paths by which clients come to them."""

    document: Document
    piece: Piece
    digest: str
    places: tuple[tuple[str, int], ...]
    loaded_as: frozenset[str]

    @property
    def clients(self) -> str:
        return clients_loading(self.loaded_as)


class Comparison(NamedTuple):
    """Result of a comparison: proposals, how many texts are in step or rejected, and states to save and to delete."""

    proposals: list[Proposal]
    in_step: int
    rejected: int
    moved: list[TextState]
    outdated: list[TextState]


def texts_of(documents: Iterable[Document], skipped: dict[str, str]) -> dict[str, Text]:
    """Return the texts of all documents by digest; ``skipped`` gets the records that hold no decision in force."""
    texts: dict[str, Text] = {}
    for document in documents:
        if IS_RECORD(document.path):
            record = read_record(document.path, document.front, document.text, document.first)
            if isinstance(record, str):
                skipped[document.path] = record
                continue
            pieces = [record]
        else:
            pieces = split(document.text, first=document.first)
        for piece in pieces:
            digest = digest_of(piece.key, piece.text, document.paths)
            place = (document.path, piece.line)
            before = texts.get(digest)
            if before is None:
                texts[digest] = Text(document, piece, digest, (place,), document.loaded_as)
            elif document.path not in dict(before.places):
                loaded_as = before.loaded_as | document.loaded_as
                texts[digest] = before._replace(places=(*before.places, place), loaded_as=loaded_as)
    return texts


def compare(transaction: Transaction, project_id: int, reading: Reading, texts: dict[str, Text]) -> Comparison:
    states = load_states(transaction, project_id)
    decided = {state.digest: state for state in states if state.item}
    rejected = {state.digest for state in states if not state.item}
    fresh = [text for digest, text in texts.items() if digest not in decided and digest not in rejected]
    stored = {_words(text) for (text,) in transaction.all(_RULES, {"project": project_id})}
    unchanged = [text for text in fresh if text.piece.kind == RULE and _words(text.piece.text) in stored]
    fresh = [text for text in fresh if text not in unchanged]
    unread = {state.digest for state in states if state.path in reading.skipped}
    lost = [one for digest, one in decided.items() if digest not in texts and digest not in unread]
    lines = _live_lines(transaction, project_id, lost)
    live = {one: line for one in lost if (line := lines.get((one.kind, one.item))) is not None}
    changed = _pairs(fresh, live, _same_places(states, texts, fresh, live))
    same_key = _same_key(transaction, project_id, [text for text in fresh if text.digest not in changed])
    unchanged += [
        text for text in fresh if text.digest in same_key and text.piece.text == same_key[text.digest]["value"]
    ]
    fresh = [text for text in fresh if text not in unchanged]
    changed |= same_key
    proposals = [_proposal(text, changed.get(text.digest)) for text in fresh]
    used = {(line["kind"], line["uid"]) for line in changed.values()}
    for one in lost:
        line = lines.get((one.kind, one.item))
        if line is not None and (line["kind"], line["uid"]) not in used:
            proposals.append(_removal(one, line))
    moved, outdated = _moves(states, texts, decided)
    outdated += [one for one in states if one.item and one.digest not in texts and (one.kind, one.item) not in lines]
    outdated = [one for one in outdated if one.path not in reading.skipped]
    in_step = len(unchanged) + sum(digest in texts for digest in decided)
    return Comparison(proposals, in_step, sum(digest in texts for digest in rejected), moved, outdated)


_RULES = f"SELECT text FROM constraints WHERE project_id = :project AND active = 1 AND {BIND_ALL}"


def _words(text: str) -> str:
    return " ".join(text.split())


def _moves(
    states: Sequence[TextState], texts: dict[str, Text], decided: dict[str, TextState]
) -> tuple[list[TextState], list[TextState]]:
    # the states of texts whose places have changed, and those of their former places
    by_place = {(one.path, one.digest): one for one in states}
    moved = []
    for digest, state in decided.items():
        text = texts.get(digest)
        if text is None:
            continue
        for path, line in text.places:
            now = state._replace(path=path, line=line, clients=None if state.clients is None else text.clients)
            if by_place.get((path, digest)) != now:
                moved.append(now)
    outdated = [
        one
        for one in states
        if one.item and (text := texts.get(one.digest)) is not None and one.path not in dict(text.places)
    ]
    return moved, outdated


def _live_lines(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> dict[tuple[int, int], Line]:
    lines: dict[tuple[int, int], Line] = {}
    states = [*states]
    for kind in KIND_OF.values():
        numbers = [state.item for state in states if state.kind == kind.number]
        if numbers:
            of_kind = lines_of(transaction, project_id, kind.name.lower(), numbers)
            lines |= {(kind.number, number): line for number, line in of_kind.items() if _is_live(line)}
    return lines


def _is_live(line: Line) -> bool:
    return line.get("status", "active") in {"active", "draft"} and "superseded_by" not in line


def _same_places(
    states: Sequence[TextState], texts: dict[str, Text], fresh: Sequence[Text], lost: Iterable[TextState]
) -> set[tuple[str, str]]:
    # the digests of lost texts and of new ones that stand alone between the same neighbours in a document
    pairs = set()
    missing, new = {one.digest for one in lost}, {text.digest for text in fresh}
    places: dict[str, list[tuple[int, str]]] = {}
    for digest, text in texts.items():
        for path, line in text.places:
            places.setdefault(path, []).append((line, digest))
    for path in {one.path for one in lost}:
        here = [state for state in states if state.path == path and (state.digest in texts or state.digest in missing)]
        counted = {one.digest for one in here} | new
        after = _neighbours([digest for _, digest in sorted(places.get(path, ())) if digest in counted])
        before = _neighbours([one.digest for one in sorted(here, key=lambda one: one.line)])
        of_place = {around: digest for digest, around in after.items() if digest in new}
        pairs |= {
            (digest, of_place[around]) for digest, around in before.items() if digest in missing and around in of_place
        }
    return pairs


def _neighbours(digests: Sequence[str]) -> dict[str, tuple[str, str]]:
    return {
        digest: (before, after)
        for before, digest, after in zip(["", *digests], digests, [*digests[1:], ""], strict=False)
    }


def _pairs(fresh: Sequence[Text], lost: dict[TextState, Line], same_places: set[tuple[str, str]]) -> dict[str, Line]:
    # the lines of items that new texts change: the most alike first, then those at the same place, each once
    scores = []
    words_of = {text.digest: Counter(text.piece.text.split()) for text in fresh}
    for state, line in lost.items():
        name = _NAME_OF[state.kind]
        words = Counter(str(line[_TEXT_OF[name]]).split())
        for text in fresh:
            if text.piece.kind != name or (name == DECISION and text.piece.key != line["key"]):
                continue
            others = words_of[text.digest]
            likeness = 2 * (words & others).total() / max(1, words.total() + others.total())
            is_alike = likeness >= _LEAST_LIKENESS or name == DECISION
            if is_alike or (state.digest, text.digest) in same_places:
                is_same_file = state.path in dict(text.places)
                nearness = -abs(state.line - text.piece.line)
                scores.append((is_alike, is_same_file, likeness, nearness, text.digest, state))
    pairs: dict[str, Line] = {}
    used = set()
    for *_, digest, state in sorted(scores, reverse=True):
        if digest not in pairs and (state.kind, state.item) not in used:
            pairs[digest] = lost[state]
            used.add((state.kind, state.item))
    return pairs


def _same_key(transaction: Transaction, project_id: int, fresh: Sequence[Text]) -> dict[str, Line]:
    lines: dict[str, Line] = {}
    for text in fresh:
        if text.piece.kind == DECISION:
            row = transaction.one(
                "SELECT id FROM decisions WHERE project_id = :project AND key = :key",
                {"project": project_id, "key": text.piece.key},
            )
            if row is not None:
                lines[text.digest] = lines_of(transaction, project_id, "decision", [row[0]])[row[0]]
    return lines


def _proposal(text: Text, line: Line | None) -> Proposal:
    piece, document = text.piece, text.document
    return Proposal(
        path=document.path,
        line=piece.line,
        why=NEW if line is None else CHANGED,
        kind=piece.kind,
        text=piece.text,
        source=piece.source,
        digest=text.digest,
        key=piece.key,
        reason=piece.reason,
        paths=document.paths,
        marks=marks_of(f"{piece.text}\n{piece.source}"),
        item=None if line is None else line["id"],
        before=None if line is None else str(line[_TEXT_OF[piece.kind]]),
        also=tuple(f"{path}:{number}" for path, number in text.places if path != document.path),
        clients=text.clients,
    )


def _removal(state: TextState, line: Line) -> Proposal:
    kind = _NAME_OF[state.kind]
    text = str(line[_TEXT_OF[kind]])
    return Proposal(
        path=state.path,
        line=state.line,
        why=REMOVED,
        kind=kind,
        text=text,
        source="",
        digest=state.digest,
        key=line.get("key", ""),
        item=line["id"],
        before=text,
    )


def marks_of(text: str) -> tuple[str, ...]:
    """Return what a person should look at in a text."""
    from html import unescape

    plain = unescape(text)
    marks = [HIDDEN] if revealed(plain) != plain else []
    marks += [UNSEEN] if _UNSEEN.search(text) or re.search(r"\u2800|\s{41}", plain) else []
    marks += [name for name, pattern in _MARKS if pattern.search(text)]
    marks += [SECRET] if redact(text).kinds else []
    return tuple(marks)
