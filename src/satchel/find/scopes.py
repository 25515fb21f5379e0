"""The scope of a search, and the condition that the words of its documents must meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from satchel.base.records import dataclass, field
from satchel.find.kind import SUPERSEDED, Kind
from satchel.store.transaction import Transaction, first_number

# The largest scope in which every match is scored, in documents.
SMALL = 8_000


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents to search; None or an empty tuple leaves a filter out.

    Attributes:
        types: item types, each as its kind and its number within the kind.
        since: the earliest creation time in milliseconds UTC.
        status: live (including drafts, which rank last), superseded, or all.
        condition: more SQL over ``documents d``, or empty.
    """

    project_id: int
    run_id: int | None = None
    kinds: tuple[Kind, ...] = ()
    types: tuple[tuple[Kind, int], ...] = ()
    agent_id: int | None = None
    task_id: str | None = None
    loop_id: str | None = None
    file: str | None = None
    since: int | None = None
    status: str = "live"
    now: int = 0
    condition: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


def filters(scope: Scope, conditions: Sequence[str] = ()) -> tuple[str, dict[str, object]]:
    """Return the filters that the index does not apply, with more conditions, as SQL over ``documents d``."""
    parts = [scope.condition] if scope.condition else []
    values = dict(scope.values) if scope.condition else {}
    pairs = (("agent_id", scope.agent_id), ("task_id", scope.task_id), ("loop_id", scope.loop_id), ("file", scope.file))
    for column, value in pairs:
        if value is not None:
            parts.append(f"d.{column} = :{column}")
            values[column] = value
    if scope.since is not None:
        parts.append("d.created_at >= :since")
        values["since"] = scope.since
    if scope.status == "superseded":
        parts.append(f"d.status = {SUPERSEDED}")
    parts += conditions
    return " AND ".join(parts), values


def conditions_of(scope: Scope) -> tuple[str, dict[str, object]]:
    conditions = ["d.project_id = :project", "(d.expires_at IS NULL OR d.expires_at > :now)"]
    if scope.kinds:
        conditions.append(f"d.kind IN ({', '.join(str(kind.number) for kind in scope.kinds)})")
    if scope.types:
        alternatives = (f"d.kind = {kind.number} AND d.type = {number}" for kind, number in scope.types)
        conditions.append(f"({' OR '.join(alternatives)})")
    if scope.run_id is not None:
        conditions.append("d.run_id = :run")
    if scope.status == "live":
        conditions.append(f"d.status <> {SUPERSEDED}")
    condition, values = filters(scope, conditions)
    return condition, {**values, "project": scope.project_id, "run": scope.run_id, "now": scope.now}


def count(transaction: Transaction, scope: Scope) -> int:
    where, values = conditions_of(scope)
    return first_number(transaction, f"SELECT count(*) FROM documents d WHERE {where}", values)


def population_of(transaction: Transaction, scope: Scope) -> int:
    """Return the number of candidates: the documents of the run if they are few, else of the project."""
    project = transaction.ask("SELECT documents FROM projects WHERE id = :project", {"project": scope.project_id})
    if scope.run_id is not None:
        row = transaction.one(
            "SELECT count(*) FROM (SELECT 1 FROM documents WHERE run_id = :run LIMIT :most) AS counted",
            {"run": scope.run_id, "most": SMALL + 1},
        )
        if row is not None and row[0] <= SMALL:
            return int(row[0])
    row = project.one()
    return int(row[0]) if row else 0


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase to look for.

    Attributes:
        words: letters and digits only; more than one make a phrase.
        prefix: whether the last word also matches longer words that start with it.
        in_text: whether to search the text only, not the parts of identifiers.
    """

    words: tuple[str, ...]
    weight: float = 1.0
    prefix: bool = False
    in_text: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    """A condition that holds if all of its parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """A condition that holds if any of its parts does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """A condition that holds where one part does and the other does not."""

    required: Condition
    excluded: Condition


Condition = Term | Every | Either | Without


def expression(condition: Condition, term: Callable[[Term], str], every: str, either: str, without: str | None) -> str:
    """Return a condition in the language of an index, given its terms and operators; None omits what is excluded."""
    if isinstance(condition, Term):
        return term(condition)
    if isinstance(condition, Without):
        required = expression(condition.required, term, every, either, without)
        if without is None:
            return required
        return f"({required}{without}{expression(condition.excluded, term, every, either, without)})"
    parts = [expression(part, term, every, either, without) for part in condition.parts]
    return f"({(every if isinstance(condition, Every) else either).join(parts)})"


def terms_of(condition: Condition) -> list[Term]:
    """Return the terms of a condition in order, including excluded ones."""
    if isinstance(condition, Term):
        return [condition]
    parts = (condition.required, condition.excluded) if isinstance(condition, Without) else condition.parts
    return [term for part in parts for term in terms_of(part)]
