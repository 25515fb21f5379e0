"""Parts of all texts: values, quoted where they are ambiguous, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.lazy import lazy_regex
from satchel.base.paging import COUNTED
from satchel.base.records import field_names, replace
from satchel.find.kind import Kind

if TYPE_CHECKING:
    from satchel.keep.citations import Citation

# A missing value; a value that is a dash is quoted.
NONE = "-"

_plain = lazy_regex(r"[^\s\"\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_line_at_end = lazy_regex(r":[0-9]+(?:-[0-9]+)?\Z")
_raw_in_json = lazy_regex(r"[\x7f-\x9f\u2028\u2029]")


def value_text(value: str | None) -> str:
    """Write a value so that it cannot be mistaken for the text around it."""
    if value is None:
        return NONE
    return value if value != NONE and _plain().fullmatch(value) else quoted(value)


def place_text(file: str | None, line: int | None, last: int | None = None) -> str:
    """Write a file, and the lines in it if there are any, so that a colon in the name cannot be misread."""
    name = quoted(file) if file is not None and _line_at_end().search(file) else value_text(file)
    if line is None:
        return f"file:{name}"
    return f"file:{name}:{line}" if last is None else f"file:{name}:{line}-{last}"


def citation_marks(citation: Citation) -> list[str]:
    """Return the state of a citation in parentheses; nothing if it is unchanged."""
    marks = ", ".join(citation.marks)
    return [f"({marks})"] if marks else []


def quoted(value: str) -> str:
    """Return a text as a JSON string that no reader breaks into lines."""
    return json_line(value)


def json_line(value: object) -> str:
    """Return a JSON value without spaces between its parts, on what is one line for every reader."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # JSON allows these inside a string, and some readers break lines there
    return _raw_in_json().sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def content_lines(content: str, mark: str = "") -> list[str]:
    """Return content with a space before every line, so that it cannot pass for anything else."""
    for separator in "\u2028\u2029":  # some readers break lines here too
        content = content.replace(separator, f"{separator} ")
    return f"{mark} {content}".replace("\n", "\n ").split("\n")


def shared_value(values: Sequence[str | None]) -> str | None:
    """Return the value that more than half of at least two have."""
    # most_common(1) would load a module, after the write that this answers
    value, count = max(Counter(values).items(), key=lambda counted: counted[1])
    return value if count >= 2 and count * 2 > len(values) else None


def ended_text(kind: Kind, number: int, heir: int, ending: str = "retracted") -> str:
    """Name the item that superseded an item; an item that is its own heir has none."""
    return ending if heir == number else f"superseded-by:{kind.ref(heir)}"


def counted(number: int, noun: str) -> str:
    """Write a number of things, as in ``1 message``, ``2,000 messages`` and ``3 strategies``."""
    return f"{number:,} {plural(noun, number)}"


def outcome_counts(helped: int, failed: int) -> tuple[str, ...]:
    """Return how often something helped and did not, without zero counts."""
    counts = (("helped", helped), ("failed", failed))
    return tuple(f"{what} {counted(count, 'time')}" for what, count in counts if count)


def shown_of(count: int, total: int, noun: str) -> str:
    """Count the items of a page, as in ``1 entry`` and ``20 of 27 entries``."""
    return counted(total, noun) if count == total else f"{count:,} of {total_text(count, total)} {plural(noun, total)}"


def total_text(count: int, total: int) -> str:
    """Write how many there are of what is listed in part, as in ``2,000`` and ``more than 10,000``."""
    return f"more than {COUNTED:,}" if count and total > COUNTED else f"{total:,}"


def plural(noun: str, number: int) -> str:
    if number == 1:
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def times_text(year: str) -> str:
    """Name the year and the time zone of the times below."""
    return f"UTC times of {year}"


def place_in_list(page: Any) -> list[str]:
    """Return the offset of a page, and the argument that gets the next one.

    A page of changes after a cursor has the cursor for the next page or for later changes.
    """
    parts = [f"from offset {page.offset}"] if page.offset else []
    if getattr(page, "after_seq", None) is not None:
        return [*parts, f"{'later changes' if page.next_offset is None else 'next'}: after_seq={page.cursor}"]
    return parts if page.next_offset is None else [*parts, f"next: offset={page.next_offset}"]


_OF_NAMES = frozenset(
    "agent agents asked_of author by deactivated_by predecessor_agent read_by reader seen_by sender to".split()
)


def with_shown_names(answer: Any) -> Any:
    """Return an answer with persons as people see them, ``ann`` for ``human:ann``, in all its records."""
    if type(answer) is tuple:
        return tuple(map(with_shown_names, answer))
    changes = {}
    for name in field_names(answer) or ():
        value = getattr(answer, name)
        rendered = _with_shown_name(value) if name in _OF_NAMES else with_shown_names(value)
        if rendered != value:
            changes[name] = rendered
    return replace(answer, **changes) if changes else answer


def _with_shown_name(value: Any) -> Any:
    if isinstance(value, str):
        from satchel.keep.names import shown_name  # only people see persons so

        return shown_name(value)
    return tuple(map(_with_shown_name, value)) if type(value) is tuple else value


# The characters of an answer: with a notice it stays under 20,000, where clients begin to cut.
MAX_CHARS = 19_000

_PLACES = ("page", "history", "results", "sessions", "items")


def page_of(answer: Any) -> Any:
    """Return the page that an answer is or holds."""
    return answer if hasattr(answer, "next_offset") else answer.page


def items_of(answer: Any) -> Sequence[Any]:
    """Return the items of a page, or of what holds one."""
    name = _place(answer)
    if name is None:
        return ()
    value: Sequence[Any] = getattr(answer, name)
    return value if isinstance(value, tuple) else items_of(value)


def fitting_text(answer: Any, make: Callable[[Any], str]) -> str:
    """Render an answer with as many of its items as there is room for; the first line tells how to get the rest.

    A single item that is too long is cut, and the first line names the call that pages through it.
    """
    text = make(fitting(answer, make))
    return text if len(text) <= MAX_CHARS else _cut(text, items_of(answer), getattr(answer, "decision", None))


def fitting(answer: Any, make: Callable[[Any], str]) -> Any:
    """Return an answer with as many of its items as its text has room for, at least one."""
    return _fitted(answer, lambda one: len(make(one)))


def fitting_fields(answer: Any, make: Callable[[Any], Mapping[str, object]]) -> Mapping[str, object]:
    """Return an answer as JSON fields with as many of its items as there is room for, at least one, which is whole."""
    return make(_fitted(answer, lambda one: _json_chars(make(one))))


def _fitted(answer: Any, chars: Callable[[Any], int]) -> Any:
    low, high = 1, len(items_of(answer))
    if high < 2 or chars(answer) <= MAX_CHARS:
        return answer
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chars(_with_first(answer, middle)) <= MAX_CHARS else (low, middle)
    return _with_first(answer, low)


def _cut(text: str, items: Sequence[Any], whole: Any) -> str:
    head, _, rest = text.partition("\n")
    ref = next((one.ref for one in (*items[:1], whole) if hasattr(one, "ref")), None)
    what = "the answer is" if ref is None else f"get_items({json_line([ref])}) pages through {ref}, which is"
    head = f"{head}; {what} cut after {MAX_CHARS:,} characters"
    return f"{head}\n{rest}"[:MAX_CHARS]


def _with_first(answer: Any, count: int) -> Any:
    name = _place(answer)
    if name is None:
        return answer
    value = getattr(answer, name)
    return replace(answer, **{name: value[:count] if isinstance(value, tuple) else _with_first(value, count)})


def _place(answer: Any) -> str | None:
    return next((name for name in _PLACES if hasattr(answer, name)), None) if hasattr(answer, "__slots__") else None


def _json_chars(fields: Mapping[str, object]) -> int:
    import json

    return len(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
