"""Any sequence of reporting, solving, judging and waiting, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from days_of_use import vouch
from satchel import ErrorPattern, NotFound, Satchel, Solution, open_satchel
from satchel.keep import expiry
from satchel.keep.patterns import signature
from state_machines import short_and_long

DAY = 86_400_000
ERRORS = [(kind, message) for kind in ("TypeError", "OSError") for message in ("cat is missing", "dog has no tail")]
FIXES = ("feed it", "wait", "call the vet")
AGENT = st.sampled_from([None, "Ann", "Bob", "Cid"])


@dataclass
class Fix:
    """What the model knows of a solution."""

    id: int
    seq: int
    pattern: int
    text: str
    agent: str | None
    created: int
    updated: int
    confidence: int = 5
    confirmed: int = 0
    failed: int = 0
    heard: set[tuple[str | None, bool]] = field(default_factory=set)

    @property
    def state(self) -> str:
        if self.confidence < 5:
            return "demoted"
        return "confirmed" if self.confirmed else "active"

    @property
    def standing(self) -> str:
        names = {**dict.fromkeys((1, 2), "observed"), 3: "weak", 4: "weak", 5: "tentative", 6: "tentative"}
        return names.get(self.confidence, "known")

    def judge(self, helped: bool, agent: str | None, now: int, seq: int) -> None:
        self.heard.add((agent, helped))
        self.confidence = min(10, self.confidence + 1) if helped else max(1, self.confidence - 2)
        self.confirmed += helped
        self.failed += not helped
        self.updated, self.seq = now, seq


@dataclass
class Met:
    """What the model knows of an error."""

    id: int
    seq: int
    error: tuple[str, str]
    lang: str | None
    days: int
    created: int
    seen: int
    occurrences: int = 1
    fixes: list[Fix] = field(default_factory=list)
    waiting: set[str | None] = field(default_factory=set)
    """Who has met it and not said since what fixed it."""

    @property
    def expires(self) -> int:
        return self.seen + self.days * DAY

    def shown(self, least: int) -> list[Fix]:
        listed = [fix for fix in self.fixes if fix.confidence >= least]
        listed.sort(key=lambda fix: (fix.confidence, fix.confirmed - fix.failed, fix.created, fix.id), reverse=True)
        return listed


class Lessons(RuleBasedStateMachine):
    """The errors of two projects in one store, under a clock that may stand still or jump past their lives."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.now = 1_795_000_000_000
        self.projects: list[Satchel] = [
            open_satchel(
                cwd=self.folder.name,
                environ={},
                clock=lambda: self.now,
                project=name,
                settings={"store.durability": "relaxed"},
            )
            for name in ("one", "other")
        ]
        self.model: list[list[Met]] = [[], []]

    def teardown(self) -> None:
        if hasattr(self, "projects"):
            for satchel in self.projects:
                satchel.close()
            self.folder.cleanup()

    def alive(self, place: int) -> list[Met]:
        return [met for met in self.model[place] if self.now < met.expires]

    @rule(milliseconds=st.sampled_from([0, 1, 1_000, DAY - 1, DAY, 89 * DAY]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    @rule(
        place=st.integers(0, 1),
        error=st.sampled_from(ERRORS),
        lang=st.sampled_from([None, "go", "rust"]),
        fix=st.none() | st.sampled_from(FIXES),
        days=st.sampled_from([None, 1, 100]),
        agent=AGENT,
    )
    def report(
        self, place: int, error: tuple[str, str], lang: str | None, fix: str | None, days: int | None, agent: str | None
    ) -> None:
        told = self.projects[place].patterns.report(*error, lang=lang, solution=fix, ttl_days=days, agent=agent)
        met = next((met for met in self.model[place] if met.id == told.pattern.id), None)
        alive = [met for met in self.alive(place) if met.error == error]
        # one that has expired is met again if it was not deleted yet
        assert told.is_new == (met is None)
        assert alive in ([], [met])
        if met is None:
            met = Met(told.pattern.id, told.pattern.seq, error, lang, days or 90, self.now, self.now)
            self.model[place].append(met)
        else:
            assert told.pattern.seq > met.seq
            met.occurrences += fix is None or agent is None or agent not in met.waiting
            met.seen, met.seq = self.now, told.pattern.seq
            met.days = days or met.days
            met.lang = met.lang if lang in {None, met.lang} else None
        met.waiting.add(agent)
        if fix is not None:
            assert told.recorded is not None
            self.given(met, told.recorded, fix, agent)
        self.agrees(told.pattern, met, 3)

    @precondition(lambda self: any(self.model))
    @rule(place=st.integers(0, 1), number=st.integers(0, 5), fix=st.sampled_from(FIXES), agent=AGENT)
    def solve(self, place: int, number: int, fix: str, agent: str | None) -> None:
        patterns = self.projects[place].patterns
        if not self.model[place]:
            return
        met = self.model[place][number % len(self.model[place])]
        if met not in self.alive(place):
            with pytest.raises(NotFound):
                patterns.solve(met.id, fix, agent=agent)
        else:
            self.given(met, patterns.solve(met.id, f" {fix.upper()}", agent=agent), fix, agent)

    def given(self, met: Met, told: Solution, text: str, agent: str | None) -> None:
        met.waiting.discard(agent)
        fix = next((fix for fix in met.fixes if fix.text == text), None)
        if fix is None:
            fix = Fix(told.id, told.seq, met.id, text, agent, self.now, self.now)
            met.fixes.append(fix)
        elif agent is not None and fix.agent not in {None, agent} and (agent, True) not in fix.heard:
            assert told.seq > fix.seq
            fix.judge(True, agent, self.now, told.seq)
        met.seq = max(met.seq, fix.seq)
        self.solution_agrees(told, fix)

    @precondition(lambda self: any(met.fixes for mets in self.model for met in mets))
    @rule(place=st.integers(0, 1), number=st.integers(0, 5), helped=st.booleans(), agent=AGENT)
    def judge(self, place: int, number: int, helped: bool, agent: str | None) -> None:
        patterns = self.projects[place].patterns
        fixes = [(met, fix) for mets in self.model for met in mets for fix in met.fixes]
        met, fix = fixes[number % len(fixes)]
        if met not in self.alive(place):  # over, or another project's
            with pytest.raises(NotFound):
                patterns.outcome(fix.id, helped, agent=agent)
            return
        is_news = (agent, helped) not in fix.heard and not (helped and agent is not None and agent == fix.agent)
        if helped:
            met.waiting.discard(agent)
        told = patterns.outcome(fix.id, helped, agent=agent)
        assert (bool(told.notes), told.seq > met.seq) == (not is_news, is_news)
        if is_news:
            fix.judge(helped, agent, self.now, told.seq)
            met.seq = told.seq
        self.solution_agrees(told, fix)

    @rule()
    def sweep(self) -> None:
        with self.projects[0].workplace.engine.write() as transaction:
            vouch(transaction, self.now)
            for (project,) in transaction.all("SELECT id FROM projects"):
                expiry.sweep(transaction, project, self.now)
            kept = transaction.all("SELECT count(*) FROM error_patterns")
        assert kept == [(len(self.alive(0)) + len(self.alive(1)),)]

    def agrees(self, told: ErrorPattern, met: Met, least: int) -> None:
        assert (told.id, told.seq, told.error_type, told.message, told.example) == (
            met.id,
            met.seq,
            *met.error,
            met.error[1],
        )
        assert (told.hash, told.lang, told.occurrences) == (signature(*met.error), met.lang, met.occurrences)
        assert (told.created_at, told.last_seen, told.ttl_days, told.expires_at) == (
            met.created,
            met.seen,
            met.days,
            met.expires,
        )
        shown = met.shown(least)
        assert [one.id for one in told.solutions] == [fix.id for fix in shown]
        for one, fix in zip(told.solutions, shown, strict=True):
            self.solution_agrees(one, fix)

    def solution_agrees(self, told: Solution, fix: Fix) -> None:
        assert (told.id, told.seq, told.pattern_id, told.agent) == (fix.id, fix.seq, fix.pattern, fix.agent)
        assert told.text.strip().lower() == fix.text
        assert (told.confidence, told.confirmed, told.failed) == (fix.confidence, fix.confirmed, fix.failed)
        assert (told.state, told.standing) == (fix.state, fix.standing)
        assert (told.created_at, told.updated_at) == (fix.created, fix.updated)

    @rule(
        place=st.integers(0, 1),
        error_type=st.none() | st.sampled_from(["TypeError", "OSError"]),
        lang=st.none() | st.sampled_from(["go", "rust", "c"]),
        state=st.none() | st.sampled_from(["active", "confirmed", "demoted", "unsolved"]),
        status=st.sampled_from(["offered", "all"]),
        since=st.none() | st.sampled_from([0, 1_000, DAY]),
        word=st.none() | st.sampled_from(["cat", "dog", "vet"]),
        order=st.sampled_from(["asc", "desc"]),
        limit=st.integers(0, 3),
        offset=st.integers(0, 2),
    )
    def find(
        self,
        place: int,
        error_type: str | None,
        lang: str | None,
        state: str | None,
        status: str,
        since: int | None,
        word: str | None,
        order: str,
        limit: int,
        offset: int,
    ) -> None:
        page = self.projects[place].patterns.find(
            query=word,
            lang=lang,
            error_type=error_type,
            state=state,
            status=status,
            since=None if since is None else self.now - since,
            order=order,
            limit=limit,
            offset=offset,
        )
        least = 1 if status == "all" else 3
        expected = [
            met
            for met in self.alive(place)
            if (word is None or word in " ".join((met.error[1], *(fix.text for fix in met.fixes))))
            and (lang is None or met.lang in {None, lang})
            and error_type in {None, met.error[0]}
            and (since is None or met.seen >= self.now - since)
            and (
                state is None
                or (not met.shown(least) if state == "unsolved" else state in {fix.state for fix in met.shown(least)})
            )
        ]
        expected.sort(key=lambda met: (met.created, met.id), reverse=order == "desc")
        assert page.total == len(expected)
        chosen = expected[offset : offset + limit]
        assert [pattern.id for pattern in page] == [met.id for met in chosen]
        for pattern, met in zip(page, chosen, strict=True):
            self.agrees(pattern, met, least)

    @rule(place=st.integers(0, 1), limit=st.integers(1, 2))
    def follow(self, place: int, limit: int) -> None:
        cursor, seen = 0, []
        while page := self.projects[place].patterns.find(after_seq=cursor, limit=limit):
            seen += [pattern.id for pattern in page]
            cursor = page.cursor
        assert seen == [met.id for met in sorted(self.alive(place), key=lambda met: met.seq)]

    @invariant()
    def every_error_is_what_the_model_says(self) -> None:
        for place in (0, 1) if hasattr(self, "projects") else ():
            for met in self.model[place]:
                if met in self.alive(place):
                    self.agrees(self.projects[place].patterns.get(met.id, status="all"), met, 1)
                else:
                    with pytest.raises(NotFound):
                        self.projects[place].patterns.get(met.id)

    @invariant()
    def the_index_the_documents_and_the_patterns_agree(self) -> None:
        if hasattr(self, "projects"):
            checks = {check.name: check for check in self.projects[0].housekeeping.doctor()}
            assert "index" not in checks or checks["index"].status == "ok", checks["index"].detail


TestLessons, TestLongLessons = short_and_long(Lessons, examples=14, steps=40)
