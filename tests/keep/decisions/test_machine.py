"""Any sequence of decisions set, batched and forgotten, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from satchel import Conflict, DecisionState, InvalidInput, NewDecision, NotFound, Satchel, open_satchel
from satchel.base.errors import SatchelError
from satchel.find import likeness
from satchel.find.kind import Kind
from satchel.keep.decisions.records import STATUSES, Decision
from satchel.keep.decisions.service import Decisions
from state_machines import short_and_long

KEYS = ("session_ttl", "sessionTtl", "session_ttl_seconds", "cache", "max upload size", "max upload sizes")
TEXTS = ("redis holds all user sessions", "all user sessions held in redis", "redis holds all the user sessions", "no")
GIVEN: dict[str, st.SearchStrategy[Any]] = {
    "value": st.sampled_from([*TEXTS, 1, 5, 5.5, -2]),
    "tags": st.none() | st.lists(st.sampled_from(["api", "API", "odd", "Even"]), max_size=3),
    "scopes": st.none() | st.lists(st.sampled_from(["api", "gateway", "Worker"]), max_size=2),
    "layer": st.sampled_from([None, "", "data", "Business"]),
    "version": st.sampled_from([None, "2", "1.0.0"]),
    "status": st.sampled_from(STATUSES),
    "rationale": st.sampled_from([None, "", "cheap", "fast"]),
}
FIELDS = st.fixed_dictionaries({}, optional=GIVEN)
AGENTS = st.sampled_from([None, "Ann", "Bob"])
SPELLING = {"api": "api", "odd": "odd", "even": "Even", "gateway": "gateway", "worker": "Worker"}


@dataclass(frozen=True)
class Kept:
    """What the model knows of one decision."""

    now: DecisionState
    created: int
    before: tuple[DecisionState, ...] = ()
    id: int = 0


class Ledger(RuleBasedStateMachine):
    """The decisions of one project under a clock that may stand still or go back."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.now = 1_795_000_000_000
        self.satchel: Satchel = open_satchel(
            cwd=self.folder.name,
            environ={},
            clock=lambda: self.now,
            settings={"store.durability": "relaxed"},
        )
        self.decisions = Decisions(self.satchel.workplace)
        self.satchel.housekeeping.initialise()
        self.model: dict[str, Kept] = {}

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    @rule(milliseconds=st.sampled_from([-7, 0, 1, 1_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    @rule(key=st.sampled_from(KEYS), fields=FIELDS, agent=AGENTS, expecting=st.sampled_from([None, "right", "wrong"]))
    def set_one(self, key: str, fields: dict[str, Any], agent: str | None, expecting: str | None) -> None:
        found = self.model[key].now.revision if key in self.model else 0
        expected = None if expecting is None else found if expecting == "right" else found + 1
        self.upsert([(key, {**fields, "expected_revision": expected})], agent)

    @rule(batch=st.lists(st.tuples(st.sampled_from(KEYS), FIELDS), min_size=1, max_size=4), agent=AGENTS)
    def set_several(self, batch: list[tuple[str, dict[str, Any]]], agent: str | None) -> None:
        self.upsert(batch, agent)

    def upsert(self, batch: list[tuple[str, dict[str, Any]]], agent: str | None) -> None:
        for key, fields in batch:  # a draft beside what is active has tests of its own
            assume(not (fields.get("status") == "draft" and key in self.model and self.is_active(key)))
        error, model = self.expect(batch, agent)
        given = [NewDecision(key, **fields) for key, fields in batch]
        if error is not None:
            with pytest.raises(error):
                self.decisions.set_many(given, agent=agent)
            return
        made = self.decisions.set_many(given, agent=agent)
        for one in made:
            kept = model[one.key]
            model[one.key] = kept = replace(kept, id=kept.id or one.id)
            changed = self.model.get(one.key, Kept(kept.now, 0)).now != kept.now or one.key not in self.model
            assert one.replaced == (kept.before[0] if changed and kept.before else None)
            assert ("nothing was changed" in one.notes) == (not changed)
            self.check(one, kept)
        self.model = model

    def is_active(self, key: str) -> bool:
        return self.model[key].now.status == "active"

    def expect(
        self, batch: list[tuple[str, dict[str, Any]]], agent: str | None
    ) -> tuple[type[SatchelError] | None, dict[str, Kept]]:
        if len({key for key, _ in batch}) < len(batch):
            return InvalidInput, self.model
        model = dict(self.model)
        for key, fields in batch:
            kept = model.get(key)
            if fields.get("expected_revision") not in {None, kept.now.revision if kept else 0}:
                return Conflict, self.model
            if kept is None and "value" not in fields:
                return InvalidInput, self.model
            model[key] = self.after(kept, fields, agent)
        return None, model

    def after(self, kept: Kept | None, fields: dict[str, Any], agent: str | None) -> Kept:
        old = kept.now if kept else DecisionState(0, 0, "active", "1.0.0", None, (), (), agent, None, self.now, 0)

        def names(field: str) -> tuple[str, ...]:
            if field not in fields:
                return tuple(getattr(old, field))
            return tuple(sorted({SPELLING[name.lower()] for name in fields[field] or ()}, key=str.lower))

        layer = fields.get("layer", old.layer)
        # a reason and a version belong to the value that they were given for
        is_same = fields.get("value", old.value) == old.value
        reason, version = (old.rationale, old.version) if is_same else (None, "1.0.0")
        said = replace(
            old,
            value=fields.get("value", old.value),
            status=fields.get("status", old.status),
            version=fields.get("version", version) or "1.0.0",
            layer=layer.lower() if layer else None,
            tags=names("tags"),
            scopes=names("scopes"),
            rationale=fields.get("rationale", reason) or None,
        )
        if kept is None:
            return Kept(replace(said, revision=1), self.now)
        if said == old:
            return kept
        now = replace(said, revision=old.revision + 1, agent=agent, set_at=self.now)
        return replace(kept, now=now, before=(replace(old, replaced_at=self.now), *kept.before))

    def check(self, one: Decision, kept: Kept) -> None:
        now = kept.now
        assert (one.revision, one.value, type(one.value)) == (now.revision, now.value, type(now.value))
        assert (one.status, one.version, one.layer, one.agent) == (now.status, now.version, now.layer, now.agent)
        assert (one.tags, one.scopes, one.rationale) == (now.tags, now.scopes, now.rationale)
        assert (one.id, one.created_at, one.updated_at) == (kept.id, kept.created, now.set_at)

    @rule(key=st.sampled_from(KEYS))
    def forget(self, key: str) -> None:
        kept = self.model.pop(key, None)
        if kept is not None:
            self.satchel.housekeeping.forget(f"d{kept.id}")

    @rule(key=st.sampled_from(KEYS), limit=st.integers(0, 4), offset=st.integers(0, 3))
    def get(self, key: str, limit: int, offset: int) -> None:
        if key not in self.model:
            with pytest.raises(NotFound):
                self.decisions.get(key)
            return
        kept = self.model[key]
        found = self.decisions.get(key, limit=limit, offset=offset)
        self.check(found.decision, kept)
        assert found.history.items == kept.before[offset : offset + limit]
        assert found.history.total == len(kept.before)

    @rule(
        status=st.none() | st.sampled_from(STATUSES),
        layer=st.none() | st.sampled_from(["data", "business"]),
        tags=st.none() | st.lists(st.sampled_from(["api", "ODD", "even"]), min_size=1, max_size=2),
        match=st.sampled_from(["any", "all"]),
        scopes=st.none() | st.lists(st.sampled_from(["API", "worker"]), min_size=1, max_size=2),
        low=st.none() | st.sampled_from([1, 5.5]),
        high=st.none() | st.just(5.5),
        agent=AGENTS,
        since=st.none() | st.integers(-2_000, 0),
        searching=st.booleans(),
        order=st.sampled_from(["asc", "desc"]),
        limit=st.integers(0, 4),
        offset=st.integers(0, 2),
    )
    def find(
        self,
        status: str | None,
        layer: str | None,
        tags: list[str] | None,
        match: str,
        scopes: list[str] | None,
        low: float | None,
        high: float | None,
        agent: str | None,
        since: int | None,
        searching: bool,
        order: str,
        limit: int,
        offset: int,
    ) -> None:
        page = self.decisions.find(
            query="redis" if searching else None,
            status=status,
            layer=layer,
            tags=tags,
            match=match,
            scopes=scopes,
            minimum=low,
            maximum=high,
            author=agent,
            since=None if since is None else self.now + since,
            order=order,
            limit=limit,
            offset=offset,
        )
        enough = {"any": any, "all": all}[match]
        expected = [
            kept
            for kept in self.model.values()
            for now in [kept.now]
            if status in {None, now.status}
            and layer in {None, now.layer}
            and (tags is None or enough(tag.lower() in map(str.lower, now.tags) for tag in tags))
            and (scopes is None or any(scope.lower() in map(str.lower, now.scopes) for scope in scopes))
            and (low is None or (not isinstance(now.value, str) and now.value >= low))
            and (high is None or (not isinstance(now.value, str) and now.value <= high))
            and agent in {None, now.agent}
            and (since is None or now.set_at >= self.now + since)
            and (not searching or "redis" in str(now.value))
        ]
        expected.sort(key=lambda kept: (kept.created, kept.id), reverse=order == "desc")
        assert page.total == len(expected)
        assert [one.id for one in page] == [kept.id for kept in expected[offset : offset + limit]]

    @rule(limit=st.integers(1, 3))
    def follow_changes(self, limit: int) -> None:
        cursor = 0
        seqs: list[int] = []
        seen: dict[str, int] = {}
        while page := self.decisions.find(after_seq=cursor, limit=limit):
            seqs += [one.seq for one in page]
            seen |= {one.key: one.revision for one in page}
            cursor = page.cursor
        assert seqs == sorted(set(seqs))
        assert seen == {key: kept.now.revision for key, kept in self.model.items()}

    @rule(key=st.sampled_from(KEYS))
    def is_like_itself_and_never_like_what_is_gone_or_deprecated(self, key: str) -> None:
        if key in self.model:
            return
        similar = self.decisions.set(key, 1).similar
        self.model[key] = replace(self.after(None, {"value": 1}, None), id=self.decisions.get(key).decision.id)
        allowed = {other for other, kept in self.model.items() if kept.now.status != "deprecated"} - {key}
        assert {one.key for one in similar} <= allowed
        twins = {"session_ttl": "sessionTtl", "sessionTtl": "session_ttl", "max upload size": "max upload sizes"}
        if twins.get(key) in allowed:
            assert twins[key] in {one.key for one in similar}

    @invariant()
    def what_is_derived_equals_what_it_is_derived_from(self) -> None:
        if not hasattr(self, "satchel"):
            return
        with self.satchel.workplace.engine.read() as transaction:
            rows = transaction.all("SELECT project_id, key, id, value_text, layer_id, status FROM decisions")
            counts: dict[tuple[int, int, int], int] = {}
            marks = set()
            for project, key, number, text, layer, status in rows:
                places = [(0, 0), (1, layer or 0)]
                for dimension, name in ((2, "tag"), (3, "scope")):
                    linked = f"SELECT {name}_id FROM decision_{name}s WHERE decision_id = {number}"
                    places += [(dimension, one) for (one,) in transaction.all(linked)]
                for place in places:
                    counts[*place, status] = counts.get((*place, status), 0) + 1
                found = likeness.key_bands(project, likeness.words_of(key)).recorded
                found += likeness.text_bands(project, likeness.words_of(text or "")).recorded
                marks |= {(mark, number) for mark in found}
            counted = transaction.all("SELECT dimension, name_id, status, decisions FROM decision_counts")
            assert {row[:3]: row[3] for row in counted if row[3]} == counts
            for table in ("decision_tags", "decision_scopes"):
                wrong = f"""
                    SELECT * FROM {table} j LEFT JOIN decisions d ON d.id = j.decision_id
                    WHERE d.id IS NULL OR (j.status, j.created_at) <> (d.status, d.created_at)
                """
                assert transaction.all(wrong) == []
            recorded = transaction.all(f"SELECT mark, item_id FROM likenesses WHERE kind = {Kind.DECISION.number}")
            assert set(recorded) == marks
            documents = transaction.all(f"SELECT item_id, status FROM documents WHERE kind = {Kind.DECISION.number}")
            assert sorted(documents) == sorted((row[2], row[5]) for row in rows)
            kept = "SELECT count(*) FROM decision_history"
            assert transaction.one(kept) == (sum(len(one.before) for one in self.model.values()),)
        assert len(rows) == len(self.model)

    @invariant()
    def the_doctor_finds_nothing(self) -> None:
        if hasattr(self, "satchel"):
            assert [check for check in self.satchel.housekeeping.doctor() if check.status == "failed"] == []


TestLedger, TestLongLedger = short_and_long(Ledger, examples=18, steps=30)
