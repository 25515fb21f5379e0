"""Splitting of Markdown into parts of one item each: list items, paragraphs, tables, code; decision records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from satchel.base.records import NamedTuple
from satchel.base.text import fold

# the kinds of items that documents make
RULE, DECISION, NOTE = "rule", "decision", "note"

# the lines around the block of Satchel, which is no part of the document
BEGIN, END = "<!-- satchel: begin -->", "<!-- satchel: end -->"

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)")

# a line that git writes around or between the sides of a conflict
CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\r?$")

# a text that only imports other documents, which no item says
ONLY_IMPORTS = re.compile(r"\s*{0}(?:\s+{0})*\s*".format(r"(?:(?:[-*+]|\d{1,9}[.)])\s+|>\s*)*@\S+"))

_BINDS = re.compile(
    r"(?i)\b(?:must|never|always|should|shall|do not|don['\u2019]t|avoid|prefer|ensure|make sure|only|required?|"
    r"not allowed|forbidden|instead of|keep in mind|need to|cannot|immer|niemals|nie|muss|m\u00fcssen|soll(?:en|te)?|"
    r"siempre|nunca|toujours|jamais)\b"
)
_ORDER = re.compile(
    r"(?i)(?:\[[ x]\] )?[*_`]*(?:use|keep|follow|write|add|put|place|name|test|check|run|call|return|raise|throw|"
    r"handle|import|export|define|declare|include|exclude|update|remove|delete|document|comment|format|lint|commit|rebase|"
    r"squash|open|create|make|set|treat|leave|limit|wrap|mock|cover|validate|verify|review|read|see|respect|stick|"
    r"favor|favour|mark|store|log|pass|split|group|sort|order|pin|bump|request|ask|wait|stop|start|work|think|be|let|"
    r"no|not)\b"
)

# an item that says what holds of all: beside a rule it is one too; alone it may only describe
_OF_ALL = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+[*_`]*(?:every|each|all|any)\b", re.IGNORECASE)

_OF_RULES = re.compile(
    r"(?i)\b(?:rules?|conventions?|guidelines?|guidance|style|standards?|principles?|practices?|requirements?|do'?s|"
    r"polic(?:y|ies)|constraints?|boundaries)\b"
)
_OF_ANY_RULES = frozenset(
    "the our your project general code coding important development guide for and ai agent agents don'ts".split()
)

# longer words above a list are a part of their own, and are not repeated with each item
_LONGEST_LEAD = 300


class Piece(NamedTuple):
    """A part of a document that makes one item.

    Attributes:
        text: the part below its headings, or the decision of a record.
        source: the part as written, hidden characters and comments included.
    """

    line: int
    kind: str
    text: str
    source: str
    key: str = ""
    reason: str = ""


class Block(NamedTuple):
    kind: str
    lines: tuple[str, ...]
    line: int
    level: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def markers(lines: Sequence[str]) -> dict[int, str]:
    """Return the lines that begin or end the block of Satchel, by place; those in a fenced block of code are text."""
    outside: dict[int, str] = {}
    inside: dict[int, str] = {}
    fence = ""
    is_item = False
    for place, line in enumerate(lines):
        plain = line.rstrip()
        match = _FENCE.match(plain)
        if fence:
            if match and match[0] == plain and match[1].startswith(fence):
                fence, inside = "", {}
            elif plain in {BEGIN, END}:
                inside[place] = plain
            continue
        if plain[:2].strip():
            is_item = bool(_ITEM.match(plain))
        if match and not (is_item and plain.startswith("  ")):
            # one in an item ends with it, and hides no line that is not indented
            fence = match[1]
        elif plain in {BEGIN, END}:
            outside[place] = plain
    # a fence that does not end hides nothing
    return outside | inside


def blocks_of(text: str, first: int = 1) -> Iterator[Block]:
    """Yield the blocks of a Markdown text: heading, item, steps, code, comment, or text; breaks are left out."""
    lines = text.split("\n")
    begin: int | None = None
    for place, mark in markers(lines).items():
        start = place if mark == BEGIN or begin is None else begin
        lines[start : place + 1] = [""] * (place + 1 - start)
        begin = place if mark == BEGIN else None
    at = 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        fence, heading, item = _FENCE.match(line), _HEADING.match(line), _ITEM.match(line)
        if not line.strip() or _BREAK.match(line) or CONFLICT.match(line):
            continue
        if line.lstrip().startswith("<!--"):
            end = next((place for place in range(start, len(lines)) if "-->" in lines[place]), len(lines) - 1)
            at = end + 1
            yield Block("comment", tuple(lines[start:at]), first + start)
        elif heading:
            yield Block("heading", (heading[2],), first + start, len(heading[1]))
        elif fence:
            closing = re.compile(rf" {{0,3}}{re.escape(fence[1])}[`~]*[ \t]*$")
            while at < len(lines) and not closing.match(lines[at]):
                at += 1
            at = min(at + 1, len(lines))
            yield Block("code", tuple(lines[start:at]), first + start)
        elif item:
            is_step = item[2][0].isdigit()
            at = _end_of_item(lines, at, len(item[1]), is_steps=is_step)
            yield Block("steps" if is_step else "item", tuple(lines[start:at]), first + start)
        elif at < len(lines) and _UNDERLINE.match(lines[at]) and "|" not in line:
            level = 1 if "=" in lines[at] else 2
            at += 1
            yield Block("heading", (line.strip(),), first + start, level)
        else:
            while at < len(lines) and not _ends_text(lines[at]):
                at += 1
            yield Block("text", tuple(lines[start:at]), first + start)


def _end_of_item(lines: list[str], at: int, indent: int, *, is_steps: bool) -> int:
    # with what is indented below it; of numbered ones that of the whole list
    fence = None
    while at < len(lines):
        line = lines[at]
        depth = len(line) - len(line.lstrip())
        fence_here = _FENCE.match(line.strip())
        if fence is not None:
            fence = None if fence_here and line.strip().startswith(fence) else fence
        elif not line.strip():
            following = next((one for one in lines[at + 1 :] if one.strip()), "")
            more = _ITEM.match(following)
            is_next_step = is_steps and more is not None and more[2][0].isdigit()
            if not is_next_step and len(following) - len(following.lstrip()) <= indent + 1:
                return at
        elif depth <= indent + 1:
            more = _ITEM.match(line)
            if more and not (is_steps and more[2][0].isdigit()):
                return at
            if not more and (_ends_text(line) or _BREAK.match(line)):
                return at
        elif fence_here:
            fence = fence_here[1]
        at += 1
    return at


def _ends_text(line: str) -> bool:
    is_other = _HEADING.match(line) or _FENCE.match(line) or _ITEM.match(line) or CONFLICT.match(line)
    return bool(not line.strip() or is_other or line.lstrip().startswith("<!--"))


def split(text: str, *, first: int = 1) -> list[Piece]:
    """Return the parts of a Markdown text, each with the headings and the opening words above it."""
    pieces: list[Piece] = []
    above: list[tuple[int, str]] = []
    blocks = [block for block in blocks_of(text, first) if not ONLY_IMPORTS.fullmatch(block.text)]
    titles = sum(block.kind == "heading" and block.level == 1 for block in blocks)
    lead: Block | None = None
    in_list: list[int] = []
    for place, block in enumerate(blocks):
        following = blocks[place + 1].kind if place + 1 < len(blocks) else ""
        if block.kind == "heading":
            above = [one for one in above if one[0] < block.level]
            if block.level > 1 or titles > 1 or _only_calls_rules(block.text):
                above.append((block.level, block.text))
            lead = None
            continue
        if block.kind == "text" and following in {"item", "steps"} and _is_lead(block.text):
            lead = block
            continue
        if block.kind in {"text", "code", "comment"} and lead is not None and blocks[place - 1].kind != "text":
            lead = None
        before = blocks[place - 1].kind if place else ""
        if block.kind == "code" and before in {"text", "item", "steps"} and pieces and lead is None:
            last = pieces[-1]
            more = f"\n\n{block.text}"
            pieces[-1] = last._replace(text=last.text + more, source=last.source + more)
            continue
        headings = [title for _, title in above]
        pieces.append(_piece(block, headings, lead if block.kind in {"item", "steps"} else None))
        in_list = [*(in_list if before == "item" else ()), len(pieces) - 1] if block.kind == "item" else []
        if following != "item" and any(pieces[one].kind == RULE for one in in_list):
            for one in in_list:
                source = pieces[one].source
                if lead is not None:  # its line comes first
                    source = source.partition("\n")[2] or source
                if _OF_ALL.match(source):
                    pieces[one] = pieces[one]._replace(kind=RULE)
    return pieces


def _is_lead(text: str) -> bool:
    return len(text) <= _LONGEST_LEAD and text.rstrip().rstrip("*_").endswith(":")


def _piece(block: Block, headings: Sequence[str], lead: Block | None) -> Piece:
    body = block.text.rstrip()
    if block.kind == "item":
        marker = _ITEM.match(body)
        assert marker is not None
        width = len(marker[0])
        rest = [line[width:] if not line[:width].strip() else line for line in body.split("\n")[1:]]
        body = "\n".join([body.split("\n")[0][width:], *rest]).strip()
    opening = "" if lead is None else " ".join(lead.text.split()).rstrip("*_").rstrip(":").rstrip()
    binds = block.kind in {"item", "steps", "text"} and (
        _BINDS.search(body)
        or _ORDER.match(body)
        or (block.kind != "text" and _OF_RULES.search(" ".join([*headings, opening])))
    )
    # a rule gains nothing from a heading that only calls it one
    above = " > ".join(heading for heading in headings if not _only_calls_rules(heading))
    context = ": ".join(part for part in (above, opening) if part and not _only_calls_rules(part))
    text = body if not context else f"{context}: {body}" if "\n" not in body else f"{context}:\n{body}"
    source = block.text if lead is None else f"{lead.text}\n{block.text}"
    return Piece(block.line, RULE if binds else NOTE, text, source)


def _only_calls_rules(heading: str) -> bool:
    words = re.findall(r"[^\W_](?:[\w'\u2019]*[^\W_])?", heading.lower())
    names = [word for word in words if word not in _OF_ANY_RULES]
    return bool(names) and all(map(_OF_RULES.fullmatch, names))


# whether a path is that of a decision record
IS_RECORD = re.compile(
    r"(?:.*/)?(?:(?:adrs?|decisions|architecture[-_]decisions|decision[-_]records)/(?:adr[-_]?)?\d{1,6}[-_ .][^/]*"
    r"|adr[-_]?\d{1,6}[-_ .][^/]*)\.md"
).fullmatch

_NUMBER = re.compile(r"^(?:adr[-_ ]?)?\d+[.:)]?\s+(?:[-\u2013\u2014:]\s+)?", re.IGNORECASE)
_TITLE = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)
_FRONT_STATUS = re.compile(r"^status:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_LINE_STATUS = re.compile(r"^\s*(?:[*-]\s+)?[*_]*status[*_]*:[*_]*\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(r"^##\s+(.+?)\s*$", re.MULTILINE)
_OVER = re.compile(r"(?i)\b(?:superseded|supplanted|replaced|deprecated|rejected)\b")
_ACCEPTED = re.compile(r"(?i)\W*accepted\b")


def read_record(path: str, front: str, text: str, first: int) -> Piece | str:
    title = _TITLE.search(text)
    sections: dict[str, tuple[int, str]] = {}
    marks = list(_SECTION.finditer(text))
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        sections.setdefault(mark[1].lower(), (mark.start(), text[mark.end() : end].strip()))
    _, below = sections.get("status", (0, ""))
    preamble = text[: marks[0].start()] if marks else text
    one = _FRONT_STATUS.search(front) or _LINE_STATUS.search(preamble)
    status = one[1] if one else below
    if not status.strip():
        return "it is a decision record without a status"
    if _OVER.search(status) or not _ACCEPTED.match(status):
        return f"it is a decision record that is {status.strip().split(chr(10))[0].strip('*_ ')[:40].lower()}"
    names = ("decision outcome", "decision", "outcome")
    if title is None:
        return "it is a decision record without a title, such as '# Money in cents'"
    plain = _LINE_STATUS.sub("", preamble[title.end() :]).strip()
    outcome = next((sections[name] for name in names if sections.get(name, (0, ""))[1]), (title.end(), plain))
    start, value = outcome
    if not value:
        return "it is a decision record without a decision: a section '## Decision' or a paragraph below the status"
    name = _NUMBER.sub("", title[1])
    value = value if fold(name) in fold(value) else f"{name}: {value}"
    about = ("context and problem statement", "context", "problem statement")
    reason = next((sections[name][1] for name in about if name in sections), "")
    line = first + text.count("\n", 0, start)
    return Piece(line, DECISION, value, text.strip(), PurePosixPath(path).stem[:200], reason)
