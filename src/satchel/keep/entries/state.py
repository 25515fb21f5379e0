"""State of a run or project: what an orchestrator loads to continue."""

from __future__ import annotations

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field_names
from satchel.keep import runs
from satchel.keep.entries import structured
from satchel.keep.entries.records import COLUMNS, ENTRY_TYPES, SOURCE, Entry, entry_of
from satchel.keep.entries.structured import CodebaseAnalysis, ReviewIssue, ReviewVerdict
from satchel.keep.runs import Run, RunChoice
from satchel.store.transaction import Transaction

NEWEST_PER_TYPE = 500

_LOADED = ("discovery", "error", "decision", "review_issue", "review_verdict", "codebase_analysis")


@dataclass(frozen=True, slots=True)
class StateNote:
    """A discovery, an error or a decision."""

    ref: str
    run_id: str
    content: str
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    agent: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class StateIssue:
    """A live review issue with its place."""

    ref: str
    run_id: str
    issue: ReviewIssue
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    agent: str | None


@dataclass(frozen=True, slots=True)
class StateVerdict:
    """The live verdict of a task and loop."""

    ref: str
    run_id: str
    verdict: ReviewVerdict
    task_id: str | None
    loop_id: str | None
    agent: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored row with malformed content, skipped but not lost."""

    ref: str
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunState:
    """Data that an orchestrator needs of one run or all, each list oldest first.

    Attributes:
        run_id: None for all runs of the project.
        run: None if all runs are loaded, or ``main`` was not used yet.
        codebase_analysis: the newest one.
        verdicts: the live verdict of each reviewed task and loop; ``verdict`` is the newest.
        unreadable: rows that could not be read.
        left_out: pairs of entry type and number of older entries not loaded.
    """

    run_id: str | None
    run: Run | None
    discoveries: tuple[StateNote, ...]
    errors: tuple[StateNote, ...]
    decisions: tuple[StateNote, ...]
    review_issues: tuple[StateIssue, ...]
    verdicts: tuple[StateVerdict, ...]
    codebase_analysis: CodebaseAnalysis | None
    unreadable: tuple[Unreadable, ...]
    left_out: tuple[tuple[str, int], ...]

    @property
    def verdict(self) -> StateVerdict | None:
        """Return the newest live verdict, or None."""
        return self.verdicts[-1] if self.verdicts else None


def load(transaction: Transaction, project_id: int, run: RunChoice | None) -> RunState:
    """Load the newest entries of each type, oldest first; ``run`` None loads all runs."""
    notes: dict[str, list[StateNote]] = {name: [] for name in _LOADED[:3]}
    issues: list[StateIssue] = []
    verdicts: list[StateVerdict] = []
    analysis: CodebaseAnalysis | None = None
    unreadable: list[Unreadable] = []
    left_out: list[tuple[str, int]] = []
    for name in _LOADED:
        entries, total = _newest(transaction, project_id, run, name)
        if total > len(entries):
            left_out.append((name, total - len(entries)))
        for entry in entries:
            try:
                if name == "review_issue":
                    issues.append(_issue(entry))
                elif name == "review_verdict":
                    verdicts.append(_verdict(entry))
                elif name == "codebase_analysis":
                    analysis = structured.codebase_analysis(entry.content)
                else:
                    notes[name].append(_note(entry))
            except InvalidInput as error:
                unreadable.append(Unreadable(entry.ref, name, error.problem))
    return RunState(
        run_id=None if run is None else run.run_id,
        run=runs.load(transaction, run.id) if run is not None and run.is_made else None,
        discoveries=tuple(notes["discovery"]),
        errors=tuple(notes["error"]),
        decisions=tuple(notes["decision"]),
        review_issues=tuple(issues),
        verdicts=tuple(verdicts),
        codebase_analysis=analysis,
        unreadable=tuple(unreadable),
        left_out=tuple(left_out),
    )


def _newest(transaction: Transaction, project_id: int, run: RunChoice | None, name: str) -> tuple[list[Entry], int]:
    where = "c.project_id = :project AND c.type = :type AND c.superseded_by IS NULL"
    values: dict[str, object] = {"project": project_id, "type": ENTRY_TYPES.index(name) + 1}
    if run is not None:
        where += " AND c.run_id = :run"
        values["run"] = run.id
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE {where} ORDER BY c.created_at DESC, c.id DESC LIMIT {NEWEST_PER_TYPE}",
        values,
    )
    total = len(rows)
    if total == NEWEST_PER_TYPE:
        count = transaction.one(f"SELECT count(*) FROM context c WHERE {where}", values)
        total = int(count[0]) if count else total
    return [entry_of(row) for row in reversed(rows)], total


def _note(entry: Entry) -> StateNote:
    return StateNote(*(getattr(entry, name) for name in field_names(StateNote) or ()))


def _issue(entry: Entry) -> StateIssue:
    issue = structured.review_issue(entry.content)
    return StateIssue(entry.ref, entry.run_id, issue, entry.task_id, entry.loop_id, entry.file, entry.line, entry.agent)


def _verdict(entry: Entry) -> StateVerdict:
    verdict = structured.review_verdict(entry.content)
    return StateVerdict(entry.ref, entry.run_id, verdict, entry.task_id, entry.loop_id, entry.agent, entry.created_at)
