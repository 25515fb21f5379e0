"""Constraints: rules of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from satchel.base.errors import Refused, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, KeptPage
from satchel.base.records import dataclass, field, replace
from satchel.base.vocabulary import PRIORITIES
from satchel.find import documents, near
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.keep import binding, fields, kept
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.corrections.log import CONFIRMED, Corrector
from satchel.keep.fields import Field
from satchel.keep.kind import ItemKind, names_part
from satchel.keep.listing import Filter, Order, View
from satchel.keep.names import PERSONS, check_identifier, ensure_agent
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import ME, is_by_person
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, set_of, update_row

if TYPE_CHECKING:
    from satchel.keep.binding import FileBinding
    from satchel.keep.moving.reading import Reading

USER = "user"  # the value of `stated_by`: the person of the session

STATUSES = ("active", "inactive")  # the statuses of a constraint, stored by their position, from 1

DEFAULT_CATEGORY = "general"
DEFAULT_PRIORITY = "medium"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule of the project.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        category: its subject, such as security.
        priority: low, medium, high or critical.
        paths: globs of the files that it binds; empty for all.
        metadata: plain values by key.
        agent: its author, or None.
        active: whether it is in force.
        reason: why it ended.
        deactivated_by: the agent that ended it, or None.
        deactivated_at: when, in milliseconds UTC.
        created_at: milliseconds UTC.
        stated_by: the person whose words it is, or None.
        unconfirmed: whether an agent took it from a person's words and no person has accepted it; until then it binds
            the sessions of the person who stated it only.
        for_person: the only person whose sessions it binds, since it is their preference; None for everybody's.
        confirmed: whether a person wrote, stated or confirmed it; False unless listed.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    category: str
    text: str
    priority: str
    layer: str | None
    tags: tuple[str, ...]
    agent: str | None
    active: bool
    reason: str | None
    deactivated_by: str | None
    deactivated_at: int | None
    created_at: int
    paths: tuple[str, ...] = ()
    stated_by: str | None = None
    unconfirmed: bool = False
    for_person: str | None = None
    metadata: Mapping[str, str | float] = field(default_factory=dict)
    score: float | None = None
    notes: tuple[str, ...] = ()
    confirmed: bool = False

    @property
    def ref(self) -> str:
        return Kind.CONSTRAINT.ref(self.id)

    @property
    def author(self) -> str | None:
        """Return who answers for it: the person who stated it once it is confirmed, else its agent."""
        return self.agent if self.unconfirmed or self.stated_by is None else self.stated_by


_STATUS = fields.choice({"active": 1, "inactive": 0}, decode=bool)


def _display_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    rows = transaction.all(
        f"SELECT id, text, unconfirmed, for_person IS NOT NULL FROM constraints WHERE id IN {set_of(numbers)}"
    )
    marks = ("", "(one person's preference) ", "(unconfirmed) ")
    return {number: f"{marks[2 * unconfirmed or personal]}{text}" for number, text, unconfirmed, personal in rows}


def _limit_priority(reading: Reading, row: dict[str, Any]) -> None:
    # an agent makes no rule critical; of the row alone, so that a person's that comes back as it is stays recognised
    if reading.is_by_agent and row["priority"] == binding.CRITICAL:
        row["priority"] -= 1
        reading.changed = True


CONSTRAINT = ItemKind(
    "a rule",
    (
        fields.CREATED,
        Field("text", fields.TEXT, required=True),
        fields.name_field("category", fields.CATEGORY, "categories", "category_id", required=True),
        Field("priority", fields.one_of(PRIORITIES), required=True),
        fields.name_field("layer", fields.LAYER, "layers", "layer_id"),
        Field("paths", fields.PATHS, default="[]"),
        Field("metadata", fields.METADATA, default=fields.EMPTY),
        fields.name_field("agent", fields.AGENT, "agents", "created_by", merge=fields.FILL),
        fields.name_field("stated_by", fields.AGENT, "agents", "stated_by"),
        Field("unconfirmed", fields.FLAG, default=0, merge=fields.MIN),
        fields.name_field("for", fields.AGENT, "agents", "for_person", attribute="for_person"),
        Field("status", _STATUS, "active", default=1, merge=fields.SOFT, attribute="active"),
        Field("reason", fields.TEXT, merge=fields.SOFT),
        fields.name_field("deactivated_by", fields.AGENT, "agents", "deactivated_by", merge=fields.SOFT),
        Field("deactivated_at", fields.TIME, merge=fields.SOFT),
    ),
    (names_part("constraint", "tags", fields.TAG),),
    Kind.CONSTRAINT,
    derive=_limit_priority,
    rank=("deactivated_at",),
    record=Constraint,
    statuses=STATUSES,
    text=("text",),
    words=("category", "layer", "paths", "tags"),
    document={"agent_id": "created_by"},
    display_texts=_display_texts,
)


STATUS_FILTERS = (*STATUSES, "all")  # the statuses to filter by


class ConstraintFilters(ListFilters, total=False):
    """Filters for constraints.

    Keys:
        category: only this one.
        priority: only this one or a higher one.
        layer: only this one.
        tags: with any of these tags or those below them, or with all of them, according to ``match``.
        match: any or all.
        status: active, inactive or all.
        metadata: only with this key, or ``key=value``.
        author: only constraints of this agent.
    """

    category: str | None
    priority: str | None
    layer: str | None
    tags: Sequence[str] | None
    match: str
    status: str
    metadata: str | None
    author: str | None


def _of_status(view: View, status: str) -> None:
    if status != "all":
        view.where(f"i.active = {int(status == 'active')}")


def _add_binding(view: View) -> None:
    condition = binding.binding_caller(view.transaction, view.workplace, view.project_id, "i")
    if condition:
        view.where(condition.removeprefix(" AND "))


_STORED = kept.listing(
    CONSTRAINT,
    (
        Filter("status", filters.choice_check("status", STATUS_FILTERS), _of_status, "active"),
        filters.least_priority("i.priority"),
        filters.layer("i.layer_id"),
        filters.by_name("category", "categories", "i.category_id"),
        filters.metadata("i.metadata"),
        filters.author("i.created_by"),
        filters.MATCH,
        filters.several("tags", "i.id", "constraint_tags constraint_id tag_id"),
    ),
    Order("priority", "i.priority DESC, i.created_at DESC, i.id DESC"),
    begin=_add_binding,
)


# Condition for a rule ``x`` that a person wrote, stated or confirmed.
OF_PERSONS = f"""(
    x.created_by IN {PERSONS} OR (x.stated_by IS NOT NULL AND x.unconfirmed = 0) OR EXISTS (
        SELECT 1 FROM corrections y WHERE y.item_kind = {Kind.CONSTRAINT.number} AND y.item_id = x.id
            AND y.action = {CONFIRMED} AND y.undone_at IS NULL AND y.agent_id IN {PERSONS}))"""


def _listed(view: View, rows: Sequence[Row]) -> tuple[Constraint, ...]:
    rules = _STORED.make(view, rows)
    these = f"SELECT x.id FROM constraints x WHERE x.id IN {set_of(rule.id for rule in rules)} AND {OF_PERSONS}"
    confirmed = {number for (number,) in view.transaction.all(these, {"project": view.project_id})} if rules else set()
    return tuple(replace(rule, confirmed=True) if rule.id in confirmed else rule for rule in rules)


LISTING = replace(_STORED, make=_listed)


def similar(transaction: Transaction, project_id: int, text: str) -> tuple[near.Near, ...]:
    """Return the rules in force that say nearly the same as a text, or the opposite."""
    return near.by_search(transaction, project_id, Kind.CONSTRAINT, text, _active_texts, with_opposites=True)


def _notes_on_similar(transaction: Transaction, project_id: int, old: int | None, text: str) -> tuple[str, ...]:
    return tuple(one.note(Kind.CONSTRAINT) for one in similar(transaction, project_id, text) if one.item != old)


def _active_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    return dict(transaction.all(f"SELECT id, text FROM constraints WHERE active = 1 AND id IN {set_of(numbers)}"))


def _change(transaction: Transaction, project_id: int, number: int, status: int, **columns: object) -> None:
    seq = transaction.next_seq(project_id)
    update_row(transaction, "constraints", number, seq=seq, **columns)
    documents.set_status(transaction, Kind.CONSTRAINT, [(number, seq)], status)


def confirm(transaction: Transaction, project_id: int, number: int, *, unconfirmed: bool = False) -> None:
    """Record that a person confirmed a rule that a person stated, or that this was undone."""
    _change(transaction, project_id, number, LIVE, unconfirmed=int(unconfirmed))


def _replace(by: Corrector, old: int, heir: int) -> None:
    end(by.transaction, by.project_id, old, f"replaced by {Kind.CONSTRAINT.ref(heir)}", by.agent, by.now)


def end(
    transaction: Transaction, project_id: int, number: int, reason: str | None, agent: int | None, now: int
) -> None:
    columns = {"active": 0, "reason": reason, "deactivated_by": agent, "deactivated_at": now}
    _change(transaction, project_id, number, SUPERSEDED, **columns)


def revive(transaction: Transaction, project_id: int, number: int) -> None:
    columns = {"active": 1, "reason": None, "deactivated_by": None, "deactivated_at": None}
    _change(transaction, project_id, number, LIVE, **columns)


def _of_person(
    work: Workplace,
    text: str,
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    old: int | None,
    now: int,
    *,
    is_stated: bool,
    is_personal: bool,
) -> tuple[dict[str, object], tuple[str, ...]]:
    # the columns of a rule that a person stated or prefers, and notes
    from satchel.keep.names import shown_name  # imported here: most rules are neither
    from satchel.keep.sessions.updates import has_heard

    notes: tuple[str, ...] = ()
    columns: dict[str, object] = {"unconfirmed": int(is_stated)}
    if is_stated and not has_heard(transaction, actor.session, text, now):
        is_stated, notes = False, (_NOT_HEARD,)
    if not is_stated and not is_personal:
        return columns, notes
    number, name = ensure_agent(transaction, project_id, work.person(), now)
    person, of_old = shown_name(name), f"SELECT {binding.BIND_ALL} FROM constraints WHERE id = :id"
    if old is not None and (row := transaction.one(of_old, {"id": old})) is not None and row[0]:
        raise Refused(
            f"{Kind.CONSTRAINT.ref(old)} binds everybody, and this rule would bind {person} only",
            "Leave supersedes out",
        )
    columns["for_person"] = number if is_personal else None
    if is_stated:
        columns["stated_by"] = number
        notes = (f"unconfirmed: it binds only sessions of {person} until a person accepts it with `satchel accept`",)
    return columns, notes


_NOT_HEARD = (
    "stored as your own rule, not as the user's: no lasting rule in these words was recognised in a prompt of this "
    "session in the last hour; quote their words, or it stays unconfirmed until a person accepts it"
)


class Constraints(Service):
    """Rules of the project."""

    def add(
        self,
        text: str,
        *,
        category: str = DEFAULT_CATEGORY,
        priority: str = DEFAULT_PRIORITY,
        layer: str | None = None,
        paths: Sequence[str] = (),
        tags: Sequence[str] = (),
        metadata: Mapping[str, str | float] | None = None,
        until: str | None = None,
        supersedes: str | int | None = None,
        stated_by: str | None = None,
        only_for: str | None = None,
        agent: str | None = None,
    ) -> Constraint:
        """Add a rule; it is durable when this returns.

        An agent's priority stops at high. What the session's person stated, or prefers, replaces no rule of others.

        Args:
            text: the rule; at most ``context.max_content_kib``.
            category: its subject, such as security; created on first use.
            priority: low, medium, high or critical.
            layer: one of the project's layers.
            paths: at most 20 globs of the files that it binds, relative to the project, such as ``src/api/**``,
                ``*.py`` or ``docs/``; without any it binds everywhere.
            tags: at most 50 names, case-insensitive; created on first use.
            metadata: texts, numbers, true and false by key, at most 2 KB of JSON.
            until: the date or condition that ends it, at most 200 characters; briefings show it, nothing else happens.
            supersedes: the short id of the rule it replaces, such as ``c7``.
            stated_by: ``user`` if the session's person stated it in these words in the last hour; otherwise it is
                stored as the agent's own. It binds that person's sessions only until a person confirms it.
            only_for: ``me`` for a preference of the session's person, which binds no other person's sessions.
            agent: the author; None takes the default, which may be nobody.

        Returns:
            The constraint as it was kept; ``notes`` says what was cleaned or redacted, and which constraints that
            hold say nearly the same.

        Raises:
            InvalidInput, TooLarge: it is not acceptable; nothing was written.
            NotFound, Conflict, Refused: what it would replace does not exist, was replaced or retracted, or only a
                person may replace it.
        """
        work = self._workplace
        for name, value, valid in (("stated_by", stated_by, USER), ("for", only_for, ME)):
            if value not in {None, valid}:
                raise unknown_name(name, value, (valid,))
        notes: tuple[str, ...] = ()
        if until and isinstance(metadata, Mapping | None):
            metadata = {**(metadata or {}), "until": check_identifier(until, "until")}
        is_agents = not is_by_person(work, agent)
        if is_agents and work.caller is not None and priority == PRIORITIES[-1]:
            priority, notes = PRIORITIES[-2], (f"stored as {PRIORITIES[-2]}: only a person makes a rule critical",)
        new = kept.check(
            CONSTRAINT,
            work,
            text=text,
            category=category,
            priority=priority,
            layer=layer,
            paths=paths,
            metadata=metadata or {},
            tags=tags,
        )
        is_stated, is_personal = stated_by is not None and is_agents, only_for is not None
        return kept.add(
            CONSTRAINT,
            work,
            new._replace(notes=(*notes, *new.notes)),
            agent=agent,
            supersedes=supersedes,
            similar=partial(_notes_on_similar, text=new.values["text"]),
            end=_replace,
            own=partial(_of_person, work, new.values["text"], is_stated=is_stated, is_personal=is_personal)
            if is_stated or is_personal
            else None,
        )

    def binding(self, file: str, *, limit: int = DEFAULT_LIMIT, offset: int = 0) -> FileBinding:
        """List the rules and decisions that bind a file or folder, the most urgent first.

        Args:
            file: a path in the project; a folder has a slash at its end.

        Raises:
            InvalidInput: the path is invalid or outside of the project.
        """
        from satchel.keep import binding  # imported here: writers do not need it

        return binding.binding_of(self._workplace, file, limit, offset)

    def find(self, **filters: Unpack[ConstraintFilters]) -> KeptPage[Constraint]:
        """List constraints, most urgent first.

        Returns:
            The page with its total. An unknown name gives an empty page with a note.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
            StoreDamaged: the search index lists an item that does not exist.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists

        return lists.find(self._workplace, LISTING, KeptPage, filters)
