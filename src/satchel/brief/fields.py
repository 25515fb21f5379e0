"""Stored names, keys and paths as briefings show them: none can pass for an author, a mark or a text."""

from __future__ import annotations

import re

from satchel.base.text import quoted_line, shortened
from satchel.keep.names import is_persons

_MAX_CHARS = 80
# A name that needs no quotes; one that begins like ``c1*`` could pass for an id with the mark of a person.
_PLAIN = re.compile(r"(?![A-Za-z]{1,2}\d+\*)[^\s\"'<>:;,()\[\]{}|`…]+")
_QUOTED_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*"\S*|\S+')
_ELLIPSIS = "…"
_REASON = "(because:"

_QUESTION_CHARS = 80  # of the question that an answer names

# The words of which briefings make what stands before a text.
OWN_WORDS = frozenset(
    {
        *("by", "of", "run", "task", "draft", "helped", "to", "all", "with", "payload", "pinned", "review", "human"),
        *("yours", "passed", "failed", "low", "medium", "high", "critical"),
        *("research", "failures", "decisions", "handoff", "investigation"),
        *("decision", "warning", "request", "info"),
    }
)


def name_text(field: str | None) -> str | None:
    """Return how a stored name, key or path is shown: quoted, unless it is one word that can be taken for nothing else.

    So no such field can look like an author, a mark or the end of what stands before the text.
    """
    if not field or (_PLAIN.fullmatch(field) and field.lower() not in OWN_WORDS):
        return field
    return quoted(shortened(field, _MAX_CHARS))


def quoted(text: str) -> str:
    """Return a text as a JSON string, which ends at its first quotation mark that is not escaped."""
    import json  # imported here: few names need quotes

    return json.dumps(text, ensure_ascii=False)


def value_text(value: str | float) -> str:
    """Return a decision's value, quoted if it could pass for one with a reason."""
    return quoted(value) if isinstance(value, str) and _REASON in value.lower() else str(value)


def reason_text(reason: str | None) -> str:
    """Return the suffix that gives a decision's reason after its value; empty if it has none."""
    return f" {_REASON} {reason})" if reason else ""


def by(agent: str | None) -> str | None:
    """Return the mark of an author, whose name is quoted unless it is plain; only a person's has a colon without."""
    if agent is None:
        return None
    is_plain = is_persons(agent) and _PLAIN.fullmatch(agent.partition(":")[2] or agent)
    return f"by {agent if is_plain else name_text(agent)}"


def answer_mark(question: str | None) -> str | None:
    """Return the field of a message that names the question it answers, or None."""
    return None if question is None else f"in answer to {quoted_line(question, _QUESTION_CHARS)}"


def joined(*parts: str | None) -> str:
    return " ".join(filter(None, parts))


def cut_head(head: str, most: int) -> str:
    """Return what stands before a text without the fields beyond ``most`` characters; no quoted field is cut."""
    if len(head) <= most:
        return head
    end = 0
    for field in _QUOTED_OR_WORD.finditer(head):
        if field.end() > most - 2:
            break
        end = field.end()
    return f"{head[:end]} {_ELLIPSIS}".lstrip() if end else f"{head[: most - 1]}{_ELLIPSIS}".replace('"', "'")
