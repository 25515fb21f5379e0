"""Reading lines: checked at the edge, with every name found or made in our project."""

from __future__ import annotations

from typing import Any

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS, MAIN_RUN
from satchel.keep import names, runs
from satchel.keep.moving.fields import SOFT, Codec, Field, Line, Part, Read, Rows, Show, read_uid
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

_OF_PROJECT = frozenset({"sightings", "error_reports"})
"""Tables of parts that say which project a row belongs to."""


_Step = tuple[str, str, Codec, Read, bool, Show | None, bool, Any, bool]
_STEPS: dict[int, tuple[tuple[Field, ...], tuple[_Step, ...]]] = {}


def _steps(fields: tuple[Field, ...]) -> tuple[_Step, ...]:
    """Return what reading takes of fields, worked out once: a tuple of fields is one of a kind or part, and stays."""
    known = _STEPS.get(id(fields))
    if known is None:
        steps = tuple(
            (
                field.name,
                field.kept_in,
                field.codec,
                field.codec.read,
                not field.codec.is_number,
                field.codec.show,
                field.required,
                field.default,
                bool(field.default) and field.merge in {"", SOFT},
            )
            for field in fields
        )
        known = _STEPS[id(fields)] = fields, steps
    return known[1]


class Reading:
    """What the fields of one line are read with.

    Attributes:
        transaction: that of the batch.
        project: the number of our project.
        workplace: where the line arrives.
        now: the time of the import, in milliseconds UTC.
        at: the time of the item that is read; names that are new are as old as that.
        notes: what was changed of the line, for its reader.
        changed: whether what is kept says something else than the line.
        row: the columns of the item that were read so far.
        links: fields that link to what is not here, with the uids of that.
        new_layers: layers that the project did not have; ``new_runs``: runs that were named and nothing is known of.
    """

    def __init__(self, transaction: Transaction, project: int, workplace: Workplace, now: int) -> None:
        self.transaction = transaction
        self.project = project
        self.workplace = workplace
        self.now = self.at = now
        self.new_layers: dict[str, str] = {}
        self.new_runs: dict[str, str] = {}
        self._runs: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._named: dict[tuple[str, str], tuple[int, bool]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self.begin()

    def forget(self) -> None:
        """Drop what was looked up, after what was written since is gone."""
        for known in (self._runs, self._named, self._numbers):
            known.clear()

    def begin(self) -> None:
        """Begin another line."""
        self.notes: list[str] = []
        self.changed = False
        self.row: dict[str, Any] = {}
        self.at = self.now
        self.links: list[tuple[str, bytes]] = []

    def named(self, table: str, value: Any, field: str) -> int:
        """Return the number of a tag, scope, category or layer, recorded on first use."""
        known = self._named.get((table, value)) if isinstance(value, str) else None
        if known is None:
            given = names.check_identifier(value, field)
            number, name = names.ensure_name(self.transaction, table, self.project, given, self.at)
            known = self._named[table, value] = number, name != value
        self.changed = self.changed or known[1]
        return known[0]

    def file(self, value: Any, field: str) -> str:
        """Return the canonical path of a file inside the project; the same few come again and again.

        Raises:
            InvalidInput, Refused: it is none.
        """
        known = self._files.get(value) if isinstance(value, str) else None
        if known is None:
            known = self._files[value] = names.check_file(value, self.workplace.files_root, field)
        return known

    def agent(self, value: Any, field: str, *, acts: bool) -> int:
        """Return the number of an agent, recorded on first use."""
        table = "agents" if acts else "addressees"
        known = self._named.get((table, value)) if isinstance(value, str) else None
        if known is None:
            given = names.check_identifier(value, field)
            number, name = names.ensure_agent(self.transaction, self.project, given, self.at, acts=acts)
            known = self._named[table, value] = number, name != value
        self.changed = self.changed or known[1]
        return known[0]

    def fields(self, fields: tuple[Field, ...], given: Line, row: dict[str, Any]) -> dict[str, Any]:
        """Read fields into a row, by their columns.

        Raises:
            InvalidInput, TooLarge: one is missing, or is not what it should be.
        """
        for name, column, codec, read, is_compared, show, required, default, says_default in _steps(fields):
            value = given.get(name)
            if value is None:
                if required:
                    raise InvalidInput(f"it has no {name}", f"{name} is {codec.what}")
                row[column] = default
                if says_default:
                    self.changed = True
                continue
            try:
                kept = row[column] = read(value, self, name)
            except InvalidInput as error:
                if required or not codec.is_minor:
                    raise
                self.notes.append(f"{error.problem}; left out")
                row[column] = default
                continue
            if is_compared and (kept if show is None else show(kept)) != value:
                self.changed = True
        return row

    def part_rows(self, part: Part, given: object) -> Rows:
        """Read what a line lists.

        Raises:
            InvalidInput, TooLarge: it is no list, or one of it is not what it should be.
        """
        items = [given] if part.is_single else given
        if not isinstance(items, list):
            raise InvalidInput(f"its {part.name} is no list", f"Give {part.name} as [...]")
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
                # what came to pass with an item is not worth the item
                if part.is_own and not (alone and part.fields[0].codec.is_minor):
                    raise
                self.notes.append(f"one of its {part.name} is left out: {error.problem}")
                continue
            rows.append(row)
        # what a row of a list links to and is not here is left out: only items wait for theirs
        del self.links[own_links:]
        # what is listed twice is there once
        same = part.same or tuple(field.kept_in for field in part.fields if not part.parts)
        once = {tuple(row[column] for column in same) if same else place: row for place, row in enumerate(rows)}
        return list(once.values())

    def add_rows(self, part: Part, number: int, row: dict[str, Any], rows: Rows) -> None:
        """Keep what a line lists, but for what is kept already.

        Args:
            number: that of the item.
            row: the item's own columns.
        """
        if rows and part.same:
            columns = ", ".join(part.same)
            known = set(
                self.transaction.all(f"SELECT {columns} FROM {part.table} WHERE {part.owner} = :id", {"id": number})
            )
            rows = [one for one in rows if tuple(one[column] for column in part.same) not in known]
        if not rows:
            return
        if part.add is not None:
            part.add(self, number, row, rows)
            return
        of_project = {"project_id": self.project} if part.table in _OF_PROJECT else {}
        for one in rows:
            self.transaction.add(part.table, {**one, part.owner: number, **of_project})

    def number_of(self, table: str, uid: str) -> int | None:
        """Return the number of the item with a uid, or None where there is none."""
        known = self._numbers.get((table, uid))
        if known is None:
            row = self.transaction.one(
                f"SELECT id FROM {table} WHERE uid = :uid AND +project_id = :project",
                {"uid": read_uid(uid), "project": self.project},
            )
            if row is None:
                return None
            known = self._numbers[table, uid] = int(row[0])
            if len(self._numbers) > 10_000:
                self._numbers.clear()
        return known

    def run(self, name: str) -> int:
        """Return the number of a run; one that is not here is made, as one that is over."""
        known = self._runs.get(name)
        if known is None:
            runs.check_run_id(name)
            row = self.transaction.one(
                "SELECT id FROM runs WHERE project_id = :project AND run_id = :name",
                {"project": self.project, "name": name},
            )
            if row is not None:
                known = int(row[0])
            elif name == MAIN_RUN:
                known = runs.make_main(self.transaction, self.project, self.at).id
            else:
                known = runs.make_past(self.transaction, self.project, name, self.at)
                self.new_runs[name] = name
            self._runs[name] = known
        return known

    def layer(self, name: str) -> int:
        """Return the number of a layer; one that the project lacks is added, since that list guards against slips."""
        if ("layers", self.project, name) not in self.transaction.memo and fold(name) not in LAYERS:
            known = names.find_name(self.transaction, "layers", self.project, name)
            if known is None:
                self.new_layers.setdefault(fold(name), name)
        return self.named("layers", name, "layer")
