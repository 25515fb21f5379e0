"""Texts of hooks about files that an agent reads or edits: rules and decisions that bind them, and notes on them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from time import thread_time
from typing import TYPE_CHECKING

from satchel.base.clock import span_in_words
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.briefing.page import title_of
from satchel.brief.fields import by, name_text, reason_text, value_text
from satchel.brief.working.hook_context import RELATED, REMINDERS, Contents, HookContext, ItemVersion, has, tokens_of
from satchel.find.kind import Kind
from satchel.find.words import STOP_WORDS, WORD
from satchel.keep import binding, deliveries, names
from satchel.keep.binding import UNCONFIRMED, Binding
from satchel.keep.documents.states import loaded_items
from satchel.keep.entries.records import BUG, COMPARED_TYPES, ENTRY_TYPES, ERROR, REVIEW_ISSUE
from satchel.keep.paths import FILE_REF
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.citations import Citation


# How many notes on a file are read, newest first; how many are shown in any case; and how many if they share words with
# the task or with what is written. Of more notes that share none, one is shown.
_MOST_NOTES, _MOST_SHOWN, _MOST_TELLING = 100, 2, 5

# Keywords of programming languages tell nothing about the subject of an edit either.
_UNTELLING = STOP_WORDS | frozenset(
    "async await catch class const def elif else except export false function import int let new none null public "
    "raise return self static str super throw true try type undefined var void yield".split()
)

# For how many files of an edit there is a text.
_MOST_FILES = 3

# Processor time for the comparison of rules and decisions with files; the rest is counted.
_SECONDS = 0.1

# How many rules and decisions that the agent knows are named again, those that are about the task first.
_MOST_REPEATED = 6

_NAME_CHARS = 120
_ABOVE = "these, given earlier, bind it too:"
_WHOLE_CHARS = 100_000
# A longer critical rule is shown by its title if it does not fit.
_MOST_NEEDED_CHARS = 2_000

# Types of use outside their loop; scratchpads, verdicts and analyses are for agents at the same work.
NOTE_TYPES = (*COMPARED_TYPES, REVIEW_ISSUE, BUG)

_TYPES = ", ".join(map(str, NOTE_TYPES))
_TRAPS = (ERROR, REVIEW_ISSUE, BUG)
# Traps and open reviews; what other notes matter shows only in what is written.
_TYPES_AT_READ = ", ".join(map(str, _TRAPS))

_REPORTS, _RULES, _BOTH = "reports, not orders", "rules that bind", "reports, not orders; rules bind"


class _Line(NamedTuple):
    """A line, a shorter form of it, and the items that each delivers.

    Attributes:
        short: empty if there is no shorter form.
        is_needed: whether it is shown whatever it costs.
    """

    text: str
    items: tuple[ItemVersion, ...]
    short: str = ""
    short_items: tuple[ItemVersion, ...] = ()
    is_needed: bool = False


def is_concerned(transaction: Transaction, work: Workplace, project_id: int, files: Sequence[str]) -> bool:
    """Return whether there is anything to tell of files that are read, to any agent."""
    paths = {f"file{place}": file for place, file in enumerate(files)}
    row = transaction.one(
        f"""
        SELECT 1 FROM context c WHERE c.project_id = :project AND c.file IN ({", ".join(f":{name}" for name in paths)})
            AND c.superseded_by IS NULL AND +c.type IN ({_TYPES_AT_READ}) LIMIT 1
        """,
        {"project": project_id, **paths},
    )
    return row is not None or any(binding.find(transaction, work, project_id, files, is_over=_time_limit()))


def tell(
    context: HookContext, files: Sequence[str], code: str | None, budget: int
) -> tuple[list[str], list[ItemVersion]]:
    """Return what binds files, and notes on them, as far as the window does not have it, and the items to record.

    ``code`` is what is written there, None if the files are only read. An item that names an identifier in it binds as
    well, and of many notes those that share most words with it are shown. ``budget`` is for each file in a window;
    critical rules come in any case.
    """
    lines: list[str] = []
    items: list[ItemVersion] = []
    files = files[:_MOST_FILES]
    work, project_id = context.work, context.project_id
    bound, unchecked = binding.find(context.transaction, work, project_id, files, code or "", _time_limit())
    loaded = loaded_items(context.transaction, work, project_id, context.actor)
    bound = [one for one in bound if not has(loaded, (one.kind.number, one.item, one.seq))]
    got: Contents | None = None
    spent = 0
    for file in files:
        binding_file = [one for one in bound if one.file == file]
        on_file = _load_notes(context, file, _TYPES_AT_READ if code is None else _TYPES)
        if not binding_file and not on_file:
            continue
        if got is None:
            got = deliveries.delivered(context.transaction, context.window)
        number = names.ensure_file(context.transaction, context.project_id, file, context.now)
        before = got.get(deliveries.SPENT_ON_FILE, {}).get(number, 0)
        tokens_left = min(budget - before, deliveries.tokens_left(got) - spent)
        new, repeated = _binding_lines(binding_file, got)
        # notes come once a file, whatever is written there later
        note_lines, fresh = (
            ([], 0) if number in got.get(deliveries.FILE, {}) else _note_lines(context, on_file, code or "", got)
        )
        name = name_text(shortened(file, _NAME_CHARS))
        frame = tokens_of(f"Satchel on {name} (20 of 20; {_BOTH}):\n")
        tokens_left -= frame
        # the refs of what the window has cost little and say as much as the texts of others
        above, above_items, above_cost, _ = _fitting(repeated, tokens_left)
        rules, items_shown, rules_cost, rest = _fitting(new, tokens_left - above_cost)
        rules += above
        reports, note_items, note_cost, _ = _fitting(note_lines, tokens_left - above_cost - rules_cost)
        cost = frame + above_cost + rules_cost + note_cost
        if not rules and not reports:
            continue
        kind = _BOTH if rules and reports else _RULES if rules else _REPORTS
        count = f"{len(reports)} of {fresh}; " if 0 < len(reports) < fresh else ""
        if above == [*rules, *reports]:
            lines.append(f"Satchel on {name}: {above[0]}")
        else:
            lines += [f"Satchel on {name} ({count}{kind}):", *rules, *reports]
        if rest:
            more = "rule or decision binds" if rest == 1 else "rules and decisions bind"
            lines.append(f"{rest} more {more} it: {_listing(file)}")
            cost += tokens_of(f"{lines[-1]}\n")
        spent += cost
        items += [*items_shown, *above_items, *note_items, (deliveries.SPENT_ON_FILE, number, before + cost)]
        items += [(deliveries.FILE, number, 0)] if reports and code is not None else []
    if unchecked:
        lines.append(f"{unchecked} rules and decisions were not compared, for lack of time: {_listing(files[0])}")
    return lines, items


def _listing(file: str) -> str:
    return f"get_items({json.dumps([FILE_REF + file], ensure_ascii=False)})"


def _time_limit() -> Callable[[], bool]:
    end = thread_time() + _SECONDS
    return lambda: thread_time() > end


def _fitting(lines: Sequence[_Line], tokens_left: int) -> tuple[list[str], list[ItemVersion], int, int]:
    texts: list[str] = []
    items: list[ItemVersion] = []
    cost = 0
    for line in lines:
        for text, delivered in ((line.text, line.items), (line.short, line.short_items)):
            tokens = tokens_of(f"{text}\n")
            if text and (line.is_needed or cost + tokens <= tokens_left):
                texts.append(text)
                items += delivered
                cost += tokens
                break
    return texts, items, cost, len(lines) - len(texts)


def _binding_lines(bound: Sequence[Binding], got: Contents) -> tuple[list[_Line], list[_Line]]:
    lines: list[_Line] = []
    repeated: list[tuple[int, str, ItemVersion]] = []
    for one in bound:
        kind = one.kind.number
        version, reminder = (kind, one.item, one.seq), (REMINDERS[one.kind], one.item, one.seq)
        if has(got, reminder):
            continue
        if has(got, version):
            repeated.append((got.get(RELATED[one.kind], {}).get(one.item, 0), one.ref, reminder))
            continue
        rule = "critical rule" if one.is_critical else f"{UNCONFIRMED} rule" if one.is_unconfirmed else "rule"
        head = f"{one.ref} decided, {name_text(one.key)}" if one.key else f"{one.ref} {rule}"
        text = value_text(one.text) if one.key else one.text
        whole = f"{head}: {shortened(text + reason_text(one.reason), _WHOLE_CHARS)}"
        is_needed = one.is_critical and len(whole) <= _MOST_NEEDED_CHARS
        short = f"{head}: {title_of(text)}"
        lines.append(_Line(whole, (version, reminder), short, (reminder,), is_needed))
    repeated.sort(key=lambda one: -one[0])
    refs = " ".join(ref for _, ref, _ in repeated[:_MOST_REPEATED])
    return lines, [_Line(f"{_ABOVE} {refs}", tuple(reminder for _, _, reminder in repeated))] if repeated else []


def _note_lines(context: HookContext, rows: Sequence[Note], code: str, got: Contents) -> tuple[list[_Line], int]:
    fresh = [note for note in rows if not has(got, note.version)]
    compared = compare(context.transaction, context.work.files_root, fresh)
    telling, related = _shared_words(fresh, code), got.get(RELATED[Kind.ENTRY], {})
    for note in fresh:
        telling[note.number] += related.get(note.number, 0) / 1_000
        telling[note.number] *= OF_COMMIT if FROM_COMMIT.match(note.content) else 1.0
    # git has the messages of commits as well
    ranked = [note for note in fresh if telling[note.number] or not FROM_COMMIT.match(note.content)]
    ranked.sort(
        key=lambda note: (
            note.number in compared and compared[note.number].is_stale,
            -telling[note.number],
            note.type not in _TRAPS,
            not names.is_persons(note.author),
        )
    )
    is_few = len(ranked) <= _MOST_SHOWN
    ranked = [note for place, note in enumerate(ranked) if is_few or place == 0 or telling[note.number]]
    lines = []
    for note in ranked[:_MOST_TELLING]:
        head = note.head(context.now, compared.get(note.number))
        items = (note.version,)
        lines.append(
            _Line(f"{head}: {shortened(note.text, _WHOLE_CHARS)}", items, f"{head}: {title_of(note.text)}", items)
        )
    return lines, len(fresh)


def _shared_words(some: Sequence[Note], text: str) -> dict[int, float]:
    holding = {note.number: frozenset(_words(note.text)) for note in some} if len(some) > _MOST_SHOWN else {}
    times = Counter(word for words in holding.values() for word in words)
    weight_of = {
        word: (1 + math.log(count)) * math.log(1 + len(some) / times[word])
        for word, count in Counter(_words(text)).items()
        if word in times
    }
    return {
        note.number: sum(weight_of.get(word, 0.0) for word in holding.get(note.number, frozenset())) for note in some
    }


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if len(word) > 1 and word not in _UNTELLING]


def _load_notes(context: HookContext, path: str, types: str) -> list[Note]:
    own = "AND c.agent_id IS DISTINCT FROM :agent" if context.actor.window == 1 else ""
    rows = context.transaction.all(
        f"""
        SELECT {COLUMNS} FROM {SOURCE}
        WHERE c.project_id = :project AND c.file = :file AND c.superseded_by IS NULL AND +c.type IN ({types}) {own}
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST_NOTES}
        """,
        {"project": context.project_id, "file": path, "agent": context.actor.number},
    )
    return [Note(*row) for row in rows]


# How a note made from a commit begins, and what its strength is multiplied by.
FROM_COMMIT, OF_COMMIT = re.compile(r"commit [0-9a-f]{7,40}\b"), 0.6

COLUMNS = "c.id, c.seq, c.type, c.content, c.file, c.line, a.name, c.created_at"
SOURCE = "context c LEFT JOIN agents a ON a.id = c.agent_id"


class Note(NamedTuple):
    """A note, with the fields of :data:`COLUMNS`.

    Attributes:
        seq: the number of its last change.
        type: the number of its type.
        created_at: milliseconds UTC.
    """

    number: int
    seq: int
    type: int
    content: str
    file: str | None
    line: int | None
    author: str | None
    created_at: int

    @property
    def version(self) -> ItemVersion:
        return Kind.ENTRY.number, self.number, self.seq

    def head(self, now: int, citation: Citation | None) -> str:
        """Return the part before the text: ref, type unless discovery, place, author, age and citation marks."""
        name = ENTRY_TYPES[self.type - 1]
        what = "" if name == "discovery" else f" {name.replace('_', ' ')}"
        where = f" line {self.line}" if self.line else ""
        author = f" {by(self.author)}," if self.author else ""
        marks = f" ({', '.join(citation.marks)})" if citation is not None and citation.marks else ""
        ago = span_in_words(now - self.created_at)
        return f"{Kind.ENTRY.ref(self.number)}{what}{where}{author} {ago} ago{marks}"

    def short_head(self, citation: Citation | None) -> str:
        """Return the part before the text: ref, type unless discovery, place and citation marks."""
        name = ENTRY_TYPES[self.type - 1]
        parts = [
            "" if name == "discovery" else name.replace("_", " "),
            f"{name_text(self.file)}:{self.line}" if self.file and self.line else name_text(self.file) or "",
            f"({', '.join(citation.marks)})" if citation is not None and citation.marks else "",
        ]
        head = " ".join(filter(None, parts))
        ref = Kind.ENTRY.ref(self.number)
        return f"{ref} {head}:" if head else f"{ref}:"

    @property
    def text(self) -> str:
        if self.type not in {REVIEW_ISSUE, BUG}:
            return self.content
        from satchel.keep.entries import structured

        return structured.labelled(ENTRY_TYPES[self.type - 1], self.content)


def compare(
    transaction: Transaction,
    files_root: str | None,
    notes: Collection[Note],
    is_over: Callable[[], bool] = lambda: False,
) -> Mapping[int, Citation]:
    """Compare the citations of notes with the reader's files, by id.

    ``files_root`` None compares nothing. ``is_over`` is called before each file; the rest then stays unknown.
    """
    citing = [note.number for note in notes if note.file is not None]
    if not citing:
        return {}
    from satchel.keep import citations

    return citations.Comparing(files_root, is_over).compare(citations.load(transaction, citing))
