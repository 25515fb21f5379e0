"""Import of a batch of lines of one kind: each line is a new item or is merged with the existing one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from satchel.base.errors import SatchelError
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import fold
from satchel.find import documents
from satchel.keep import kept
from satchel.keep.fields import AGENT, FILL, MAX, MIN, read_uid
from satchel.keep.kind import Line, LineKind, Rows
from satchel.keep.kinds import KINDS
from satchel.keep.moving import lines as moving
from satchel.keep.moving import states
from satchel.keep.moving.reading import Reading, author_of, claim_of, is_of_person
from satchel.keep.moving.records import Outcome, Verdict
from satchel.keep.moving.states import State
from satchel.keep.names import is_persons, marked_name
from satchel.store.transaction import RuleBroken, insert_rows, set_of, update_row


@dataclass(frozen=True, slots=True)
class _Incoming:
    place: int
    line: Line
    uid: bytes
    key: object


class _New(NamedTuple):
    """A new item; ``links`` are those to missing items, ``is_changed`` that it is stored differently than it came."""

    arrival: _Incoming
    columns: dict[str, Any]
    parts: list[tuple[Any, Rows]]
    links: list[tuple[str, bytes]]
    is_changed: bool
    notes: tuple[str, ...]


class Batch:
    def __init__(self, kind: LineKind, reading: Reading) -> None:
        self._decided = reading.decided
        self._kind = kind
        names = (*(field.name for field in kind.fields), *(part.name for part in kind.parts))
        self._known = frozenset({"kind", "id", "uid", "seq", *names})
        self._reading = reading
        self._transaction = reading.transaction
        self._source = reading.source
        self._states: dict[bytes, list[State]] = {}
        self._new: list[_New] = []
        self._seen: list[tuple[bytes, bytes, bool]] = []
        self._verdicts: list[tuple[int, Verdict]] = []

    def take(self, batch: Sequence[tuple[int, Line]]) -> list[tuple[int, Verdict]]:
        incoming = [arrival for place, line in batch if (arrival := self._checked(place, line)) is not None]
        self._states = states.states_of(self._transaction, self._reading.project, {arrival.uid for arrival in incoming})
        if self._kind.take is not None:
            for arrival in incoming:
                self._take_other(arrival)
            states.remember(self._transaction, self._reading.project, self._source, self._seen)
            return self._verdicts
        existing = self._find(incoming)
        unwritten: set[object] = set()
        for arrival in incoming:
            if arrival.uid in unwritten or arrival.key in unwritten:
                self._flush()
                unwritten.clear()
                existing |= self._find([arrival])
            number = existing.get(arrival.uid)
            if number is None:
                if self._prepare(arrival):
                    unwritten |= {arrival.uid, arrival.key} - {None}
            elif not self._try_write(partial(self._merge_existing, arrival, number)):
                self._leave_out(arrival.place, arrival.line, _CONTRADICTS)
        self._flush()
        states.remember(self._transaction, self._reading.project, self._source, self._seen)
        return self._verdicts

    def _add_verdict(self, arrival: _Incoming, number: int | None, outcome: Outcome, notes: Iterable[str] = ()) -> None:
        ref = f"{self._kind.letter}{number}" if self._kind.letter and number is not None else None
        note = "; ".join(dict.fromkeys(notes)) or None
        self._verdicts.append((arrival.place, Verdict(self._kind.name, arrival.uid.hex(), ref, outcome, note)))

    def _leave_out(self, place: int, line: Line, why: str) -> None:
        self._verdicts.append((place, Verdict(self._kind.name, str(line.get("uid"))[:40], None, Outcome.LEFT_OUT, why)))

    def _checked(self, place: int, line: Line) -> _Incoming | None:
        try:
            uid = read_uid(line.get("uid"))
        except SatchelError as error:
            self._leave_out(place, line, error.problem)
            return None
        key: object = None
        line = self._reading.bounded(self._kind.table, line)
        if self._kind.key is not None:
            column, name = self._kind.key
            key = line.get(name)
            if self._kind.table == "agents" and isinstance(key, str) and not self._reading.is_as_written:
                is_claim = is_persons(key) and line.get("has_acted") and not self._reading.is_accepted
                key = claim_of(key) if is_claim else marked_name(self._transaction, self._reading.project, key)
                line = {**line, name: key}
            key = fold(key) if column == "folded" and isinstance(key, str) else key
        return _Incoming(place, line, uid, key if isinstance(key, str) else None)

    def _find(self, incoming: Sequence[_Incoming]) -> dict[bytes, int]:
        if not incoming:
            return {}
        table, project = self._kind.table, self._reading.project
        # the plus keeps SQLite from scanning the whole project
        uids = set_of(arrival.uid for arrival in incoming)
        sql = f"SELECT uid, id FROM {table} WHERE uid IN {uids} AND +project_id = :project"
        by_uid: dict[bytes, int] = dict(self._transaction.all(sql, {"project": project}))
        by_key: dict[object, int] = {}
        if self._kind.key is not None:
            column, keys = self._kind.key[0], {f"key{place}": arrival.key for place, arrival in enumerate(incoming)}
            rows = self._transaction.all(
                f"SELECT {column}, id FROM {table} "
                f"WHERE project_id = :project AND {column} IN ({', '.join(f':{name}' for name in keys)})",
                {"project": project, **keys},
            )
            by_key = dict(rows)
        if self._kind.expires and self._drop_expired((*by_uid.values(), *by_key.values())):
            return self._find(incoming)
        return by_uid | {arrival.uid: by_key[arrival.key] for arrival in incoming if arrival.key in by_key}

    def _drop_expired(self, numbers: Iterable[int]) -> bool:
        rows = self._transaction.all(
            f"SELECT id FROM {self._kind.table} WHERE id IN {set_of(numbers)} AND expires_at <= :now",
            {"now": self._reading.now},
        )
        if rows and self._kind.documents is not None:
            expired = [number for (number,) in rows]
            kept.delete(KINDS[self._kind.documents], self._transaction, self._reading.project, expired)
        return bool(rows)

    def _take_other(self, arrival: _Incoming) -> None:
        assert self._kind.take is not None
        self._reading.begin()
        whole = moving.whole_digest(arrival.line)
        try:
            is_seen = any(state.digest == whole for state in self._states.get(arrival.uid, ()))
            with self._transaction.savepoint():
                is_news = not is_seen and self._kind.take(self._reading, arrival.line)
        except (SatchelError, RuleBroken) as error:
            why = error.problem if isinstance(error, SatchelError) else "it is here twice"
            self._leave_out(arrival.place, arrival.line, why)
            return
        if not is_seen and not self._kind.only_as_written:
            self._seen.append((arrival.uid, whole, False))
        self._add_verdict(arrival, None, Outcome.ADDED if is_news else Outcome.PRESENT, self._reading.notes)

    def _read(self, line: Line) -> tuple[dict[str, Any], list[tuple[Any, Rows]], list[tuple[str, bytes]]]:
        reading = self._reading
        reading.begin()
        row = reading.row
        reading.fields(self._kind.fields, line, row)
        present = [part for part in self._kind.parts if line.get(part.name) is not None]
        parts = [(part, reading.part_rows(part, line[part.name])) for part in present]
        if self._kind.derive is not None:
            self._kind.derive(reading, row)
        if not self._known.issuperset(line):
            unknown = ", ".join(sorted(line.keys() - self._known))
            reading.notes.append(f"unknown fields: {unknown}")
            reading.changed = True
        return row, parts, reading.links

    def _prepare(self, arrival: _Incoming) -> bool:
        reading = self._reading
        try:
            if self._kind.table == "sessions" and self._is_elsewhere(arrival.uid):
                self._add_verdict(
                    arrival, None, Outcome.PRESENT, ["this session belongs to another project of this store"]
                )
                return False
            row, parts, links = self._read(arrival.line)
            if self._kind.prepare is not None:
                if row.get("type") == 7:
                    self._flush()
                self._kind.prepare(reading, row, arrival.uid)
        except SatchelError as error:
            self._leave_out(arrival.place, arrival.line, error.problem)
            return False
        notes = tuple(reading.notes)
        self._new.append(_New(arrival, row, parts, links, reading.changed or bool(notes), notes))
        return True

    def _is_elsewhere(self, uid: bytes) -> bool:
        # a session's uid is unique in the whole store, not per project
        return self._transaction.one("SELECT 1 FROM sessions WHERE uid = :uid", {"uid": uid}) is not None

    def _flush(self) -> None:
        if not self._new:
            return
        new, self._new = self._new, []
        if self._try_write(partial(self._write, new)):
            return
        # one of them breaks a table constraint that no field checks: leave out only that one
        for item in new:
            again = _New(item.arrival, *self._read(item.arrival.line), True, tuple(self._reading.notes))
            if not self._try_write(partial(self._write, [again])):
                self._leave_out(item.arrival.place, item.arrival.line, _CONTRADICTS)

    def _try_write(self, write: Callable[[], None]) -> bool:
        # all or nothing: a line that breaks a table's rule leaves no trace
        verdicts_before, states_before = len(self._verdicts), len(self._seen)
        try:
            with self._transaction.savepoint():
                write()
        except RuleBroken:
            self._reading.forget()
            del self._verdicts[verdicts_before:], self._seen[states_before:]
            return False
        return True

    def _write(self, new: Sequence[_New]) -> None:
        kind, transaction, project = self._kind, self._transaction, self._reading.project
        is_found = kind.documents is not None
        seq = transaction.next_seq(project, len(new), documents=len(new) if is_found else 0)
        numbers = transaction.reserve(kind.table, len(new))
        rows = []
        unresolved = []
        for place, (number, item) in enumerate(zip(numbers, new, strict=True)):
            unresolved += moving.unresolved_links(kind, number, item.arrival.uid, item.columns, item.links)
            placed = {"id": number, "uid": item.arrival.uid, "project_id": project, **item.columns}
            if kind.has_seq:
                placed["seq"] = self._reading.seq(item.arrival.line.get("seq"), seq + place)
            rows.append(placed)
        insert_rows(transaction, kind.table, rows)
        for number, item in zip(numbers, new, strict=True):
            for part, listed in item.parts:
                self._reading.add_rows(part, number, item.columns, listed)
        arrived = {item.arrival.uid: number for number, item in zip(numbers, new, strict=True)}
        moving.record_links(transaction, project, kind, unresolved, arrived)
        if kind.enter is not None:
            kind.enter(transaction, project, numbers)
        if kind.documents is not None:
            written, most = set(numbers), numbers[-1] - numbers[0] + 1
            for document in kept.load_documents(KINDS[kind.documents], transaction, numbers[0] - 1, most):
                if document.item_id in written:
                    documents.add(transaction, document)
        if kind.name in _REMEMBERED:
            transaction.forget()
        self._remember_new(new, numbers)
        for number, item in zip(numbers, new, strict=True):
            self._add_verdict(item.arrival, number, Outcome.ADDED, item.notes)

    def _remember_new(self, new: Sequence[_New], numbers: Sequence[int]) -> None:
        ours = self._ours([number for number, item in zip(numbers, new, strict=True) if item.is_changed])
        for number, (arrival, *_, is_changed, _notes) in zip(numbers, new, strict=True):
            incoming = moving.digest(arrival.line)
            stored = moving.digest(ours[number]) if is_changed else incoming
            self._seen.append((arrival.uid, stored, True))
            if is_changed or moving.has_ignored_fields(arrival.line):
                others = {moving.whole_digest(arrival.line), incoming} - {stored}
                self._seen += [(arrival.uid, other, False) for other in others]

    def _ours(self, numbers: Sequence[int]) -> dict[int, Line]:
        if not numbers:
            return {}
        return moving.lines_of(self._transaction, self._reading.project, self._kind.name, numbers)

    def _merge_existing(self, arrival: _Incoming, number: int) -> None:
        states_seen = self._states.get(arrival.uid, [])
        whole = moving.whole_digest(arrival.line)
        if not self._decided and any(state.digest == whole for state in states_seen):
            self._add_verdict(arrival, number, Outcome.PRESENT)
            return
        ours = self._ours([number])[number]
        if self._reading.is_by_agent and is_of_person(ours):
            if moving.core_digest(arrival.line) == moving.core_digest(ours):
                self._add_verdict(arrival, number, Outcome.PRESENT)
            else:
                self._leave_out(arrival.place, arrival.line, "a person wrote it here, and only a person can change it")
            return
        arrival = arrival if self._decided else replace(arrival, line=self._completed(arrival.line, ours))
        incoming = moving.digest(arrival.line)
        local = moving.digest(ours)
        twice = any(state.source == self._source.id and state.round == self._source.round for state in states_seen)
        try:
            if twice and incoming != local:
                self._add_verdict(
                    arrival, number, Outcome.CONFLICT, ["two lines have this uid: the first one was imported"]
                )
                self._store_losing_state(ours["uid"], arrival.line, is_ours=False)
                return
            base = next(
                (state.digest for state in states_seen if state.in_step and state.source == self._source.id), None
            )
            if self._decided:
                outcome, notes = Outcome.UPDATED, self._change(arrival, number, ours)
            elif incoming == local or any(state.digest == incoming for state in states_seen):
                outcome, notes = Outcome.PRESENT, ()
            elif base is None or base not in {local, incoming}:
                outcome, notes = self._settle(arrival, number, ours)
            elif incoming == base or (
                not self._source.is_ordered and moving.rank_of(arrival.line) < moving.rank_of(ours)
            ):
                outcome, notes = Outcome.PRESENT, ()
            else:
                outcome, notes = Outcome.UPDATED, self._change(arrival, number, ours)
        except SatchelError as error:
            self._leave_out(arrival.place, arrival.line, error.problem)
            return
        merged = self._merge(arrival, number, ours)
        if merged and outcome is Outcome.PRESENT:
            outcome = Outcome.UPDATED
        after = moving.digest(self._ours([number])[number])
        states.out_of_step(self._transaction, self._reading.project, self._source, [arrival.uid])
        outdated = {(arrival.uid, whole, False), (arrival.uid, incoming, False)} - {(arrival.uid, after, False)}
        self._seen += [*outdated, (arrival.uid, after, True)]
        self._states.setdefault(arrival.uid, []).append(State(after, self._source.id, True, self._source.round))
        self._add_verdict(arrival, number, outcome, notes)

    def _completed(self, line: Line, ours: Line) -> Line:
        fillable = {field.name for field in self._kind.fields if field.merge == FILL}
        values = {name: value for name, value in line.items() if value is not None}
        began = {"created_at": min(str(values.get("created_at")), ours["created_at"])} if "created_at" in ours else {}
        # persons' names are ours: a line neither renames who is known here, nor makes a claim of what a person wrote
        own = {
            name: value
            for name, value in ours.items()
            if (self._kind.table == "agents" and name == "name")
            or (isinstance(value, str) and is_persons(value) and values.get(name) == claim_of(value))
        }
        return {**{name: ours[name] for name in fillable if name in ours}, **values, **began, **own}

    def _settle(self, arrival: _Incoming, number: int, ours: Line) -> tuple[Outcome, tuple[str, ...]]:
        # both sides have changed since they were last in step, if they ever were
        theirs, own = moving.rank_of(arrival.line), moving.rank_of(ours)
        if self._kind.name == "run" and ours["uid"] != arrival.line["uid"]:
            return Outcome.PRESENT, ("a run of this name exists here: its items are added to that run",)
        later = (theirs, moving.digest(arrival.line)) > (own, moving.digest(ours))
        if moving.core_digest(arrival.line) == moving.core_digest(ours):
            # only soft fields differ: the later side wins without a conflict
            return (Outcome.UPDATED, self._change(arrival, number, ours)) if later else (Outcome.PRESENT, ())
        if self._in_history(arrival.line, ours):
            return Outcome.PRESENT, ()
        if self._in_history(ours, arrival.line):
            return Outcome.UPDATED, self._change(arrival, number, ours)
        if later:
            notes = self._change(arrival, number, ours)
            return Outcome.CONFLICT, (*notes, "changed on both sides: the imported state is later and wins")
        self._keep(number, arrival.line, ours, is_ours=False)
        return Outcome.CONFLICT, ("changed on both sides: the local state is later and wins",)

    @staticmethod
    def _in_history(old: Line, new: Line) -> bool:
        state_key = [old.get("value"), old.get("updated_at")]
        return any([state.get("value"), state.get("set_at")] == state_key for state in new.get("history", ()))

    def _change(self, arrival: _Incoming, number: int, ours: Line) -> tuple[str, ...]:
        kind, transaction, project = self._kind, self._transaction, self._reading.project
        row, parts, links = self._read(arrival.line)
        notes = tuple(self._reading.notes)
        is_other = moving.core_digest(arrival.line) != moving.core_digest(ours)
        if is_other:
            self._keep(number, ours, arrival.line, is_ours=True)
        if kind.withdraw is not None:
            kind.withdraw(transaction, project, [number])
        unresolved = moving.unresolved_links(kind, number, bytes.fromhex(ours["uid"]), row, links)
        merged = {field.column_name for field in kind.fields if field.merge in {MAX, MIN}}
        merged |= {field.column_name for field in kind.fields if field.merge == FILL and row[field.column_name] is None}
        if not is_other and is_persons(author_of(ours)) and not self._reading.is_accepted:
            merged |= {field.column_name for field in kind.fields if field.codec is AGENT}
        columns = {name: value for name, value in row.items() if name not in merged}
        if kind.has_seq:
            columns["seq"] = transaction.next_seq(project)
        update_row(transaction, kind.table, number, **columns)
        for part in kind.parts:
            if part.is_own:
                transaction.run(f"DELETE FROM {part.table} WHERE {part.owner} = :id", {"id": number})
        for part, listed in parts:
            if part.is_own:
                self._reading.add_rows(part, number, row, listed)
        moving.forget_links(transaction, kind, number)
        moving.record_links(transaction, project, kind, unresolved, {})
        if kind.enter is not None:
            kind.enter(transaction, project, [number])
        self._index(number)
        if kind.name in _REMEMBERED:
            transaction.forget()
        return notes

    def _merge(self, arrival: _Incoming, number: int, ours: Line) -> bool:
        kind, transaction = self._kind, self._transaction
        try:
            _, parts, _ = self._read(arrival.line)
        except SatchelError:
            return False
        row = self._reading.row
        changed = []
        for field in kind.fields:
            name, value = field.column_name, row.get(field.column_name)
            if field.merge not in _BETTER or value is None or arrival.line.get(field.name) is None:
                continue
            if field.name == "unconfirmed" and self._reading.is_by_agent:  # only a person accepts
                continue
            if transaction.execute(
                f'UPDATE {kind.table} SET "{name}" = :value '
                f'WHERE id = :id AND ("{name}" IS NULL {_BETTER[field.merge].format(name)})',
                {"value": value, "id": number},
            ):
                changed.append(field.name)
        may_differ = False
        for part, listed in parts:
            if not part.is_own and listed != [] and arrival.line.get(part.name) != ours.get(part.name):
                self._reading.add_rows(part, number, self._current(number, [*row]), listed)
                may_differ = True
        if "last_seen" in changed and kind.renew is not None:
            kind.renew(self._reading, number)
        if changed or (may_differ and self._ours([number])[number] != ours):
            self._index(number)
            return True
        return False

    def _current(self, number: int, columns: Sequence[str]) -> dict[str, Any]:
        read = ", ".join(f'"{name}"' for name in columns)
        row = self._transaction.one(f"SELECT {read} FROM {self._kind.table} WHERE id = :id", {"id": number})
        return dict(zip(columns, row or (), strict=True))

    def _index(self, number: int) -> None:
        if self._kind.documents is not None:
            for document in kept.load_documents(KINDS[self._kind.documents], self._transaction, number - 1, 1):
                documents.renew(self._transaction, document)

    def _keep(self, number: int, old: Line, new: Line, *, is_ours: bool) -> None:
        if self._kind.keep_old is None:
            self._store_losing_state((old if is_ours else new)["uid"], old, is_ours=is_ours)
        else:
            self._kind.keep_old(self._reading, number, old, new)

    def _store_losing_state(self, uid: str, line: Line, *, is_ours: bool) -> None:
        reading, digest = self._reading, moving.digest(line)
        states.store_losing(
            self._transaction, reading.project, self._source, uid, digest, line, is_ours=is_ours, now=reading.now
        )


_REMEMBERED = frozenset({"agent", "layer", "run"})  # kinds that write transactions cache

_BETTER = {MAX: 'OR :value > "{}"', MIN: 'OR :value < "{}"', FILL: ""}  # conditions that replace a value

_CONTRADICTS = "it contradicts itself or an existing item, so it cannot be stored"
