"""Stored items that match a prompt and are new to the window."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from satchel.base.records import NamedTuple
from satchel.base.text import fold, shortened
from satchel.brief.briefing.page import PERSONS, start_of, with_title
from satchel.brief.fields import name_text, value_text
from satchel.brief.working import on_files
from satchel.brief.working.hook_context import RELATED, Contents, HookContext, ItemVersion, has, tokens_of
from satchel.find.about import RelatedItem, related
from satchel.find.kind import Kind
from satchel.find.likeness import words_of
from satchel.find.scopes import Scope
from satchel.find.search import SUNK
from satchel.find.words import WORD, unspaced_runs
from satchel.keep import deliveries
from satchel.keep.binding import CRITICAL, UNCONFIRMED, author_of, binding_caller, until_in
from satchel.keep.decisions.records import STATUSES, value_of
from satchel.keep.names import is_persons
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction, grouped, set_of

_ACTIVE = STATUSES.index("active") + 1
_MOST_UNSEEN = 500
# Reserved for the first line, and as many for the line on what is left out.
_TOKENS_OF_OPENING = 25

_CHARS_PER_TOKEN = 8
_MOST_MISSES = 30

# How many items are shown about a task, and about another prompt.
_MOST_TITLES, _MOST_SURE = 10, 2

# The most tokens that they take.
_TASK_TOKENS, _SURE_TOKENS = 600, 250

# The strength from which a fix or note without a rare word may be a title at the first task prompt.
_LEAST_WEAK = 0.3

# What its kind adds to the strength of an item, since rules are few and notes many, and each word of the prompt in the
# key of a decision; from so much in all an item is shown.
_PRIOR = {Kind.CONSTRAINT: 0.5, Kind.DECISION: 0.15}
_OF_KEY, _MOST_OF_KEY = 0.2, 0.4
_LEAST_PULL = 1.0

# How many items related to the first task are remembered, so that those on a file come first there.
_MOST_RELATED = 60

# The most tokens for rules and decisions that the first task prompt shows although it shares no telling word.
_UNRELATED_TOKENS = 350

# A prompt with so many telling words and characters states a task, with one less if the store has one of them; so do so
# many characters without spaces.
_TASK_WORDS, _TASK_CHARS, _TASK_UNSPACED = 3, 30, 10

_LEAST_LOG_LINES = 4
# Lines of logs, traces and compilers.
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|at \S+.*[:(]\d|File \"|Traceback|[|>+=~^*#-]{3}|\.{3} |\$ |"
    r"\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|[\w./-]+:\d+[: ]|"
    r"[\w.]*(?:Error|Exception|Warning)\b.*:|"
    r"(?:npm|yarn|pip|error|warning|note|FAILED|PASSED|E|make)(?:\[\w+\])?[:! ]{1,2} ?\S|\S{60})|\s{4,}\S"
)

_ERROR_CHARS = 100
# The part of its words from which an item is left out if a stronger one has them.
_ALIKE = 0.6

# So many tokens an item may take in any case to be shown whole.
_LEAST_WHOLE = 60

_BINDING = (Kind.CONSTRAINT, Kind.DECISION)
_BIND, _REPORTS = "Satchel (these bind{persons}):", "Satchel (reports, not orders):"
_BOTH = "Satchel (rules and decisions bind{persons}, the rest are reports):"
# explains the mark in the line above items that have it
_OF_PERSONS = f", {PERSONS} a person's"


# words without which a prompt states no lasting rule: a cheap check before the patterns are loaded
_TRIGGERS = tuple(
    (
        "always|never|ever |ever.|from now|from here|from today|forward|future|next time|rule|policy|convention|"
        "remember|in mind|whenever|each time|every|exceptions|no circumstances|project|repo|codebase|code base|must|"
        "mandatory|forbidden|we |prefer|all new|"
        "immer|nie|künftig|zukunft|ab jetzt|ab sofort|ab heute|von nun|grundsätzlich|bei uns|merk|regel|hier|jedes mal|"
        "projekt|toujours|jamais|désormais|dorénavant|avenir|maintenant|chez nous|retiens|règle|préfère|chaque fois|"
        "projet|dépôt|doivent|siempre|nunca|jamás|ahora|adelante|recuerda|regla|norma|cada vez|prefiero|proyecto|"
        "vuelvas|aquí|deben"
    ).split("|")
)


class Item(NamedTuple):
    """An item that may be shown at a prompt.

    Attributes:
        seq: the number of its last change.
        head: the part of its line before the text.
        strength: how much the prompt is about it; as loaded, a factor for that.
        is_weak: whether the prompt is hardly about it, so that it is a title unless there is room.
    """

    kind: Kind
    number: int
    seq: int
    head: str
    text: str
    strength: float = 1.0
    is_weak: bool = False

    @property
    def version(self) -> ItemVersion:
        return self.kind.number, self.number, self.seq

    @property
    def binds(self) -> bool:
        return self.kind in _BINDING

    @property
    def place(self) -> int:
        """Its place among kinds: what binds, then fixes, then notes."""
        return 0 if self.binds else 2 if self.kind is Kind.ENTRY else 1

    @property
    def line(self) -> str:
        return f"{self.head} {' '.join(self.text.split())}"

    @property
    def title(self) -> str:
        return with_title(self.kind, self.head, self.text)


class AboutPrompt(NamedTuple):
    """The stored items that a prompt is about.

    Attributes:
        items: the strongest first.
        matches: how they match, for people.
        is_task: whether the prompt states a task.
        related: all items that share telling words with it, the strongest first.
        is_awaited: whether rules, decisions or messages may be new to the session, or it was not seen for a minute.
    """

    items: Sequence[Item] = ()
    matches: tuple[RelatedItem, ...] = ()
    is_task: bool = False
    related: Sequence[RelatedItem] = ()
    is_awaited: bool = False


class _Looking(NamedTuple):
    """The reader of items; ``is_over`` is called before each cited file, and the rest then goes unmarked."""

    transaction: Transaction
    work: Workplace
    project_id: int
    is_over: Callable[[], bool]

    def rows(self, sql: str) -> list[Row]:
        return self.transaction.all(sql, {"project": self.project_id, "now": self.work.clock()})


def may_state_rule(prompt: str) -> bool:
    lower = prompt.lower()
    return any(trigger in lower for trigger in _TRIGGERS)


def find(
    transaction: Transaction, work: Workplace, project_id: int, prompt: str, is_over: Callable[[], bool]
) -> AboutPrompt:
    """Return the items that a prompt is about, for any agent.

    Of rules and decisions, weaker ones are among them than of others. ``is_over`` is called before each cited file; the
    rest then goes unmarked.
    """
    prompt = _without_log(prompt)
    scope = Scope(project_id, now=work.clock(), condition=_CONDITION)
    result = related(transaction, prompt, scope)
    unspaced = sum(map(len, unspaced_runs(prompt)))
    least = _TASK_WORDS - bool(result.items)
    is_task = unspaced >= _TASK_UNSPACED or (result.telling >= least and len(prompt) >= _TASK_CHARS)
    items = _load(_Looking(transaction, work, project_id, is_over), result.items, _LEAST_PULL)
    ids = {(item.kind, item.number) for item in items}
    matches = tuple(one for one in result.items if (one.kind, one.item) in ids)
    return AboutPrompt(_distinct(items), matches, is_task, result.items if is_task else ())


def with_weaker(context: HookContext, about: AboutPrompt, contents: Contents) -> AboutPrompt:
    """Add the fixes and notes that share less with a task, until there are as many as it may have titles."""
    reports = [one for one in about.items if not one.binds and not has(contents, one.version)]
    strong = {(one.kind, one.number) for one in about.items}
    weaker = [
        one
        for one in about.related
        if one.kind not in _BINDING
        and (one.kind, one.item) not in strong
        and one.item not in contents.get(one.kind.number, {})
        and (one.has_rare or one.strength >= _LEAST_WEAK)
    ][: max(0, _MOST_TITLES - len(reports))]
    looking = _Looking(context.transaction, context.work, context.project_id, lambda: False)
    more = _load(looking, weaker)
    return about._replace(items=_distinct([*about.items, *(one._replace(is_weak=True) for one in more)]))


def related_versions(about: AboutPrompt) -> list[ItemVersion]:
    """Return what is remembered of the items that are related to a task: their strength as the seq."""
    some = [one for one in about.related if one.kind in RELATED][:_MOST_RELATED]
    return [(RELATED[one.kind], one.item, int(one.strength * 1_000)) for one in some]


def _load(looking: _Looking, matches: Sequence[RelatedItem], least: float = -1.0) -> list[Item]:
    by_item = {
        (one.kind, one.item): one
        for one in matches
        if one.strength + _PRIOR.get(one.kind, 0.0) + _MOST_OF_KEY * (one.kind is Kind.DECISION) >= least
    }
    numbers = grouped(by_item)
    loaded = [
        item._replace(strength=item.strength * by_item[kind, item.number].strength)
        for kind, load in _LOADERS.items()
        if kind in numbers
        for item in load(looking, f" AND c.id IN {set_of(numbers[kind])}")
    ]
    items = [item for item in loaded if _pull(item, by_item[item.kind, item.number].words) >= least]
    return sorted(items, key=lambda item: -item.strength)


def _pull(item: Item, words: Sequence[str]) -> float:
    in_key = {*words_of(item.head)} & {*words_of(" ".join(words))} if item.kind is Kind.DECISION else ()
    return item.strength + _PRIOR.get(item.kind, 0.0) + min(_MOST_OF_KEY, _OF_KEY * len(in_key))


def _distinct(items: Sequence[Item]) -> list[Item]:
    distinct: list[Item] = []
    for item in items:
        if item.binds or not any(_are_alike(item.text, other.text) for other in distinct):
            distinct.append(item)
    return distinct


def _without_log(prompt: str) -> str:
    lines = prompt.splitlines()
    prose = [line for line in lines if not _LOG_LINE.match(line)]
    return "\n".join(prose) if len(lines) - len(prose) >= _LEAST_LOG_LINES else prompt


def unseen_rules(transaction: Transaction, work: Workplace, project_id: int, contents: Contents) -> list[Item]:
    """Return the rules and decisions in force that a window does not have: rules first, by priority, then by time."""
    looking = _Looking(transaction, work, project_id, lambda: False)
    orders = {_rules: "c.priority DESC, c.created_at DESC", _decisions: "c.updated_at DESC"}
    items = [
        item
        for load, order in orders.items()
        for item in load(looking, f" AND c.project_id = :project ORDER BY {order}, c.id DESC LIMIT {_MOST_UNSEEN}")
    ]
    return [item for item in items if not has(contents, item.version)]


def window_contents(context: HookContext) -> dict[int, dict[int, int]]:
    """Return the items that the window of a session has: the seq by kind number and item id."""
    from satchel.brief.briefing import own

    got = deliveries.delivered(context.transaction, context.window)
    own.find(context.transaction, context.work, context.project_id, context.actor, context.window).add_to(got)
    return got


def render(
    about: AboutPrompt, contents: Contents, budget: int, unseen: Sequence[Item] = ()
) -> tuple[list[str], list[ItemVersion]]:
    """Return the lines for items that a window does not have, and the items to record.

    ``unseen`` are rules and decisions that come in any case as far as the budget allows, those that the prompt is about
    first.
    """
    most, tokens = (_MOST_TITLES, _TASK_TOKENS) if about.is_task else (_MOST_SURE, _SURE_TOKENS)
    fresh = sorted(
        (one for one in about.items if not has(contents, one.version)), key=lambda one: (one.place, -one.strength)
    )
    if unseen:  # these have room of their own
        listed = {one.version for one in unseen}
        unseen = [*unseen, *(one for one in fresh if one.binds and one.version not in listed)]
        fresh = [one for one in fresh if not one.binds]
    lines = _fitting(fresh[:most], min(tokens, budget - _TOKENS_OF_OPENING))
    budget -= _TOKENS_OF_OPENING + sum(tokens_of(f"{line}\n") for line in lines.values())
    budget -= _TOKENS_OF_OPENING if unseen else 0
    strength = {(one.kind, one.item): one.strength for one in about.related}
    rest = sorted(unseen, key=lambda one: (-strength.get((one.kind, one.number), 0.0), one.kind is not Kind.CONSTRAINT))
    on_task = [one for one in rest if (one.kind, one.number) in strength]
    more = _fitting(on_task, budget, is_whole=True)
    budget -= sum(tokens_of(f"{line}\n") for line in more.values())
    more |= _fitting(rest[len(on_task) :], min(budget, _UNRELATED_TOKENS), is_whole=True)
    if not lines and not more:
        return [], []
    binding = {one.version: lines[one.version] for one in fresh if one.binds and one.version in lines} | more
    reports = {version: line for version, line in lines.items() if version not in binding}
    is_any_persons = any(line.partition(" ")[0].rstrip(":").endswith(PERSONS) for line in binding.values())
    opening = (_BOTH if reports else _BIND) if binding else _REPORTS
    opening = opening.format(persons=_OF_PERSONS * is_any_persons)
    left = Counter(one.kind for one in rest if one.version not in more)
    return [opening, *binding.values(), *reports.values(), *_left_out(left)], [*binding, *reports]


def _fitting(items: Sequence[Item], budget: int, *, is_whole: bool = False) -> dict[ItemVersion, str]:
    # ``is_whole`` is whether only long texts become titles, however many items there are.
    lines: dict[ItemVersion, str] = {}
    misses = 0
    for place, item in enumerate(items):
        share = _LEAST_WHOLE if is_whole else max(_LEAST_WHOLE, 2 * budget // (len(items) - place + 1))
        cost = tokens_of(f"{item.line}\n") if len(item.line) <= _CHARS_PER_TOKEN * share else share + 1
        line = item.line
        if cost > share or item.is_weak:
            line = item.title
            cost = tokens_of(f"{line}\n")
        if cost <= budget:
            lines[item.version] = line
            budget -= cost
            misses = 0
        elif (misses := misses + 1) == _MOST_MISSES:
            break
    for item in items:  # the room that is left makes titles whole
        if item.version in lines and len(item.line) <= _CHARS_PER_TOKEN * budget:
            more = tokens_of(f"{item.line}\n") - tokens_of(f"{lines[item.version]}\n")
            if more <= budget:
                lines[item.version] = item.line
                budget -= more
    return lines


def _left_out(left: Mapping[Kind, int]) -> list[str]:
    tools = {Kind.CONSTRAINT: "rules (search)", Kind.DECISION: "decisions (search)"}
    listed = ", ".join(f"{left[kind]} {what}" for kind, what in tools.items() if left[kind])
    return [f"left out: {listed}"] if listed else []


def _are_alike(text: str, other: str) -> bool:
    first, second = (set(WORD.findall(fold(one))) for one in (text, other))
    return len(first & second) >= _ALIKE * max(1, len(first))


def _notes(looking: _Looking, which: str) -> list[Item]:
    sql = f"SELECT {on_files.COLUMNS} FROM {on_files.SOURCE} WHERE c.superseded_by IS NULL{which}"
    some = [on_files.Note(*row) for row in looking.rows(sql)]
    compared = on_files.compare(looking.transaction, looking.work.files_root, some, looking.is_over)
    items: list[Item] = []
    for note in some:
        citation = compared.get(note.number)
        factor = SUNK if citation is not None and citation.is_stale else 1.0
        factor *= on_files.OF_COMMIT if on_files.FROM_COMMIT.match(note.content) else 1.0
        items.append(Item(Kind.ENTRY, note.number, note.seq, note.short_head(citation), note.text, factor))
    return items


def _decisions(looking: _Looking, which: str) -> list[Item]:
    rows = looking.rows(
        "SELECT c.id, c.seq, c.key, c.value_text, c.value_number, c.metadata, a.name "
        f"FROM decisions c LEFT JOIN agents a ON a.id = c.agent_id WHERE c.status = {_ACTIVE}{which}"
    )
    items: list[Item] = []
    for number, seq, key, text, value, metadata, author in rows:
        head = start_of(Kind.DECISION.ref(number), name_text(key), is_persons=is_persons(author))
        items.append(Item(Kind.DECISION, number, seq, head, f"{value_text(value_of(text, value))}{until_in(metadata)}"))
    return items


def _rules(looking: _Looking, which: str) -> list[Item]:
    binding = binding_caller(looking.transaction, looking.work, looking.project_id)
    rows = looking.rows(
        "SELECT c.id, c.seq, c.text, c.metadata, a.name, c.unconfirmed, c.priority FROM constraints c "
        f"LEFT JOIN agents a ON a.id = {author_of('c')} WHERE c.active = 1{binding}{which}"
    )
    items: list[Item] = []
    for number, seq, text, metadata, author, unconfirmed, priority in rows:
        head = " ".join(("critical",) * (priority == CRITICAL) + (UNCONFIRMED,) * bool(unconfirmed))
        head = start_of(Kind.CONSTRAINT.ref(number), head, is_persons=is_persons(author))
        items.append(Item(Kind.CONSTRAINT, number, seq, head, f"{text}{until_in(metadata)}"))
    return items


def _errors(looking: _Looking, which: str) -> list[Item]:
    from satchel.keep.patterns.records import TENTATIVE, as_met, solutions_of

    columns = "c.id, c.seq, c.error_type, c.message, c.example"
    rows = looking.rows(f"SELECT {columns} FROM error_patterns c WHERE c.expires_at > :now{which}")
    solutions = solutions_of(looking.transaction, looking.project_id, [row[0] for row in rows], TENTATIVE)
    items: list[Item] = []
    for number, seq, error_type, message, example in rows:
        if number in solutions:
            text = shortened(as_met(message, example), _ERROR_CHARS)
            head = f"{Kind.ERROR_PATTERN.ref(number)} {error_type}: {text} ->"
            items.append(Item(Kind.ERROR_PATTERN, number, seq, head, solutions[number][0].text))
    return items


def _strategies(looking: _Looking, which: str) -> list[Item]:
    rows = looking.rows(
        "SELECT c.id, c.seq, c.topic, c.insight FROM strategies c "
        f"WHERE c.superseded_by IS NULL AND c.helped >= c.not_helped{which}"
    )
    return [
        Item(Kind.STRATEGY, number, seq, f"{Kind.STRATEGY.ref(number)} strategy, {name_text(topic)}:", insight)
        for number, seq, topic, insight in rows
    ]


# The loaders of live items by kind; a condition follows those of their own.
_LOADERS: Mapping[Kind, Callable[[_Looking, str], list[Item]]] = {
    Kind.ENTRY: _notes,
    Kind.DECISION: _decisions,
    Kind.CONSTRAINT: _rules,
    Kind.ERROR_PATTERN: _errors,
    Kind.STRATEGY: _strategies,
}

# The SQL condition for documents that count.
_CONDITION = (
    f"+d.kind IN ({', '.join(str(kind.number) for kind in _LOADERS)}) "
    f"AND (d.kind <> {Kind.ENTRY.number} OR d.type IN ({', '.join(map(str, on_files.NOTE_TYPES))}))"
)
