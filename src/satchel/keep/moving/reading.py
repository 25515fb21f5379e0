"""Reading of lines: values are checked, and names are looked up or created in the local project."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.text import fold
from satchel.base.vocabulary import IMPORTED_MARK, LAYERS, MAIN_RUN
from satchel.keep import names, runs
from satchel.keep.fields import SOFT, Field, read_uid
from satchel.keep.kind import Line, Part, Rows
from satchel.keep.moving.states import Source, open_source
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.decisions.records import ChangedDecision

    OnProposed = Callable[[Transaction, ChangedDecision], None]

_OF_PROJECT = frozenset({"sightings", "error_reports"})  # tables of parts with a project_id column


def claim_of(person: str) -> str:
    """Return the author of what an import says that a person wrote."""
    return f"{person.partition(':')[2] or 'a person'}{IMPORTED_MARK}"


def author_of(line: Line) -> str | None:
    return line.get("from") or line.get("agent")


def is_of_person(line: Line) -> bool:
    """Return whether an item has a person's own words, or words that a person has accepted as theirs."""
    stated_by = line.get("stated_by")
    is_accepted = isinstance(stated_by, str) and names.is_persons(stated_by) and not line.get("unconfirmed")
    return names.is_persons(author_of(line)) or is_accepted


class Reading:
    """State of an import from one source, and of reading its lines, one after the other.

    Args:
        source: name of the source; a merge is based on the state last in step with it.
        written_at: when the lines were written, in milliseconds UTC; None if unknown, so they may be older than others.
        last_seq: of an import as written, the project's last change number where the lines come from; None otherwise.
        on_proposed: of an agent's import, tells a person of a draft that proposes to change their decision.

    Attributes:
        decided: whether a person decided that the incoming state wins as it is; the replaced state is kept.
        at: the age of the current item; names created for it get the same age.
        changed: whether the stored item differs from the line.
        is_by_agent: whether an agent imports: what persons wrote here stays.
        is_accepted: whether a person has accepted the lines; in others, authors that are persons are claims.
        links: fields that link to missing items, with their uids.
        new_layers: layers the project did not have; ``new_runs``: runs known only by name.
    """

    transaction: Transaction
    project: int

    def __init__(
        self,
        workplace: Workplace,
        *,
        source: str,
        now: int | None = None,
        written_at: int | None = None,
        decided: bool = False,
        last_seq: int | None = None,
        is_by_agent: bool = False,
        is_accepted: bool = False,
        on_proposed: OnProposed | None = None,
    ) -> None:
        self.workplace = workplace
        self.now = self.at = workplace.clock() if now is None else now
        self.decided, self.is_by_agent, self.is_accepted = decided, is_by_agent, is_accepted
        self.last_seq = last_seq
        self._from = source, written_at
        self._source: Source | None = None
        self._on_proposed = on_proposed
        self.new_layers: dict[str, str] = {}
        self.new_runs: dict[str, str] = {}
        self._runs: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self.begin()

    def start(self, transaction: Transaction, project: int) -> None:
        """Continue in another transaction, before which others may have written."""
        self.transaction, self.project = transaction, project
        self.forget()

    @property
    def source(self) -> Source:
        """The source, whose next round of imports begins with the first line."""
        if self._source is None:
            self._source = open_source(self.transaction, self.project, *self._from)
        return self._source

    def forget(self) -> None:
        for cache in (self._runs, self._numbers):
            cache.clear()

    @property
    def is_as_written(self) -> bool:
        """Whether pins, marks and change numbers are taken as they are."""
        return self.last_seq is not None

    def seq(self, written: object, new: int) -> int:
        """Return the change number of a row: as it is written where that is taken, else the new one."""
        is_valid = isinstance(written, int) and self.last_seq is not None and 0 < written <= self.last_seq
        return int(written) if is_valid else new  # type: ignore[call-overload]

    def bounded(self, table: str, line: Line) -> Line:
        """Return a line as it may be taken: what an agent imports changes no person's decision, but makes a draft."""
        if self.is_by_agent and table == "decisions" and line.get("status") == "active":
            from satchel.keep.decisions import proposals  # few imports are an agent's

            key = line.get("key")
            if isinstance(key, str) and (draft := proposals.draft_of(self.transaction, self.project, key)) is not None:
                return {**line, "key": draft, "status": "draft"}
        return line

    def begin(self) -> None:
        self.notes: list[str] = []
        self.changed = False
        self.row: dict[str, Any] = {}
        self.at = self.now
        self.links: list[tuple[str, bytes]] = []

    def row_id(self, table: str, value: Any, field: str) -> int:
        identifier = names.check_identifier(value, field)
        number, name = names.ensure_name(self.transaction, table, self.project, identifier, self.at)
        self.changed = self.changed or name != value
        return number

    def file(self, value: Any, field: str) -> str:
        cached = self._files.get(value) if isinstance(value, str) else None
        if cached is None:
            cached = self._files[value] = names.check_file(value, self.workplace.files_root, field)
        return cached

    def agent(self, value: Any, field: str, *, acts: bool) -> int:
        identifier = names.check_identifier(value, field)
        is_person = names.is_persons(identifier) and not self.is_as_written
        if acts and is_person and not self.is_accepted:
            identifier = claim_of(identifier)
        acts = acts and not is_person  # who is named here has not acted here
        number, name = names.ensure_agent(
            self.transaction, self.project, identifier, self.at, acts=acts, is_checked=not self.is_as_written
        )
        self.changed = self.changed or name != value
        return number

    def fields(self, fields: tuple[Field, ...], line: Line, row: dict[str, Any]) -> dict[str, Any]:
        for field in fields:
            name, codec, column = field.name, field.codec, field.column_name
            value = line.get(name)
            if value is None:
                if field.required:
                    raise InvalidInput(f"it has no {name}", f"{name} is {codec.what}")
                row[column] = field.default
                if field.default and field.merge in {"", SOFT}:
                    self.changed = True
                continue
            try:
                stored = row[column] = codec.read(value, self, name)
            except InvalidInput as error:
                if field.required or not codec.is_minor:
                    raise
                self.notes.append(f"{error.problem}; left out")
                row[column] = field.default
                continue
            if not codec.is_number and (stored if codec.show is None else codec.show(stored)) != value:
                self.changed = True
        return row

    def part_rows(self, part: Part, value: object) -> Rows:
        items = [value] if part.is_single else value
        if not isinstance(items, list):
            raise InvalidInput(f"its {part.name} is not a list", f"Give {part.name} as [...]")
        own_links = len(self.links)
        alone = part.fields[0].name if len(part.fields) == 1 else None
        rows: Rows = []
        for item in items:
            one = item if alone is None else {alone: item}
            if not isinstance(one, dict):
                raise InvalidInput(f"its {part.name} holds {repr(item)[:60]}", "Each is an object")
            try:
                row = self.fields(part.fields, one, {})
                for inner in part.parts:
                    row[inner.name] = self.part_rows(inner, one.get(inner.name) or [])
            except SatchelError as error:
                # a faulty history row does not cost the item
                if part.is_own and not (alone and part.fields[0].codec.is_minor):
                    raise
                self.notes.append(f"one of its {part.name} is left out: {error.problem}")
                continue
            rows.append(row)
        # links of list rows to missing items are dropped: only items wait for their targets
        del self.links[own_links:]
        # drop duplicates
        same = part.same or tuple(field.column_name for field in part.fields if not part.parts)
        once = {tuple(row[column] for column in same) if same else place: row for place, row in enumerate(rows)}
        return list(once.values())

    def add_rows(self, part: Part, number: int, row: dict[str, Any], rows: Rows) -> None:
        if rows and part.same:
            columns = ", ".join(part.same)
            existing = set(
                self.transaction.all(f"SELECT {columns} FROM {part.table} WHERE {part.owner} = :id", {"id": number})
            )
            rows = [one for one in rows if tuple(one[column] for column in part.same) not in existing]
        if not rows:
            return
        if part.add is not None:
            part.add(self, number, row, rows)
            return
        of_project = {"project_id": self.project} if part.table in _OF_PROJECT else {}
        for one in rows:
            self.transaction.add(part.table, {**one, part.owner: number, **of_project})

    def number_of(self, table: str, uid: str) -> int | None:
        cached = self._numbers.get((table, uid))
        if cached is None:
            row = self.transaction.one(
                f"SELECT id FROM {table} WHERE uid = :uid AND +project_id = :project",
                {"uid": read_uid(uid), "project": self.project},
            )
            if row is None:
                return None
            cached = self._numbers[table, uid] = int(row[0])
            if len(self._numbers) > 10_000:
                self._numbers.clear()
        return cached

    def run(self, name: str) -> int:
        cached = self._runs.get(name)
        if cached is None:
            runs.check_run_id(name)
            row = self.transaction.one(
                "SELECT id FROM runs WHERE project_id = :project AND run_id = :name",
                {"project": self.project, "name": name},
            )
            if row is not None:
                cached = int(row[0])
            elif name == MAIN_RUN:
                cached = runs.make_main(self.transaction, self.project, self.at).id
            else:
                cached = runs.make_past(self.transaction, self.project, name, self.at)
                self.new_runs[name] = name
            self._runs[name] = cached
        return cached

    def layer(self, name: str) -> int:
        """Return the id of a layer, adding one that the project lacks and reporting it, as it may be a typo."""
        if ("layers", self.project, name) not in self.transaction.memo and fold(name) not in LAYERS:
            existing = names.find_name(self.transaction, "layers", self.project, name)
            if existing is None:
                self.new_layers.setdefault(fold(name), name)
        return self.row_id("layers", name, "layer")
