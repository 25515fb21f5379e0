"""Runs as text: lists, the confirmations of starting and ending one, and the state of a run or of the project.

A run's line has the name, ``active``, ``completed`` or ``failed``, ``effort:``, and the times when it ``started`` and
``ended``; its title follows below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.paging import Page
from satchel.base.vocabulary import MAIN_RUN
from satchel.interfaces.text.lists import Line, list_text, note_lines
from satchel.interfaces.text.parts import content_lines, counted, place_text, value_text

if TYPE_CHECKING:
    from satchel.interfaces.operations.runs import EndedRun
    from satchel.keep.entries.structured import CodebaseAnalysis, RunState, StateIssue, StateNote, StateVerdict
    from satchel.keep.runs import Run


def runs_text(page: Page[Run]) -> str:
    return list_text("run", page, [_line(run) for run in page], (None, "effort:-"), order="newest first")


def started_text(run: Run) -> str:
    name = value_text(run.run_id)
    return f"started run {name}: your session works in it until it ends; others join it with run_id={name}"


def ended_text(done: EndedRun) -> str:
    lines = [f"run {value_text(done.run.run_id)} is {done.run.status}"]
    if done.proposals:
        lines.append("it suggests these strategies; save_strategy or `satchel strategy save` saves one:")
    for one in done.proposals:
        lines += [f"{one.topic} (from {', '.join(one.evidence)})", *content_lines(one.insight)]
    return "\n".join([*lines, *note_lines(done.notes)])


def export_line(run_id: str) -> str:
    import shlex

    return f"export SATCHEL_RUN={shlex.quote(run_id)}"


def show_started(run: Run) -> str:
    """Print to stderr that a run was started, and return the line that chooses it, for a shell to run."""
    import click

    click.echo(f"started run {run.run_id}; this line chooses it:", err=True)
    return export_line(run.run_id)


def show_ended(done: EndedRun) -> None:
    """Print the status of an ended run, and the strategies that it suggests."""
    import click

    from satchel.interfaces.text.strategies import show_proposals

    click.echo(f"run {done.run.run_id} is {done.run.status}")
    if done.proposals:
        show_proposals(done.proposals)


def ended_fields(done: EndedRun) -> dict[str, object]:
    from satchel.interfaces.text.json import fields_of

    fields: dict[str, object] = {**fields_of(done.run), "proposals": fields_of(list(done.proposals))}
    return fields | ({"notes": list(done.notes)} if done.notes else {})


def chosen_text(choice: Mapping[str, str]) -> str:
    return choice["line"]


def _line(run: Run) -> Line:
    return Line(
        start=value_text(run.run_id),
        cells=(run.status, None if run.effort is None else f"effort:{value_text(run.effort)}"),
        own=("started",),
        moment=run.created_at,
        after=() if run.ended_at is None else (("ended", run.ended_at),),
        below=() if run.title is None else tuple(content_lines(run.title)),
    )


def state_text(state: RunState) -> str:
    """Render the state of a run or of all runs, the latest of each list last; empty parts are left out."""
    lines = [_state_head(state)]
    if state.codebase_analysis is not None:
        lines += ["codebase:", *_analysis(state.codebase_analysis)]
    for title, notes in (("discovery", state.discoveries), ("decision", state.decisions), ("error", state.errors)):
        lines += _section(title, [line for note in notes for line in _note(note, state.run_id)], len(notes))
    verdicts, issues = state.verdicts, state.review_issues
    lines += _section("verdict", [line for one in verdicts for line in _verdict(one, state.run_id)], len(verdicts))
    lines += _section("review issue", [line for one in issues for line in _issue(one, state.run_id)], len(issues))
    if not state.verdicts:
        lines.append("nothing was reviewed yet")
    lines += [f"{counted(count, f'older {name} entry')} not shown" for name, count in state.left_out]
    lines += [f"{row.ref} {row.type} cannot be read: {row.reason}" for row in state.unreadable]
    return "\n".join(lines)


def _state_head(state: RunState) -> str:
    if state.run_id is None:
        return "all runs of the project"
    if state.run is None:
        return f"run {value_text(state.run_id)}: nothing was written in it yet"
    return f"run {value_text(state.run_id)}, {state.run.status}" + (f": {state.run.title}" if state.run.title else "")


def _section(title: str, lines: Sequence[str], count: int) -> list[str]:
    return [f"{counted(count, title)}:", *lines] if count else []


def _analysis(analysis: CodebaseAnalysis) -> list[str]:
    fields = (
        ("type", analysis.project_type),
        ("stack", ", ".join(analysis.tech_stack)),
        ("layout", analysis.directory_structure),
        ("features", ", ".join(analysis.existing_features)),
        ("entry points", ", ".join(analysis.entry_points)),
        ("patterns", ", ".join(analysis.patterns)),
    )
    lines = content_lines(analysis.summary)
    return lines + [line for name, text in fields if text for line in content_lines(f"{name}: {text}")]


def _note(note: StateNote, run_id: str | None) -> list[str]:
    return [f"{note.ref}{_place(note, run_id)}", *content_lines(note.content)]


def _issue(item: StateIssue, run_id: str | None) -> list[str]:
    kind = f" {value_text(item.issue.issue_type)}" if item.issue.issue_type else ""
    lines = [f"{item.ref}{kind}{_place(item, run_id)}", *content_lines(item.issue.description)]
    return lines + (content_lines(f"suggestion: {item.issue.suggestion}") if item.issue.suggestion else [])


def _verdict(item: StateVerdict, run_id: str | None) -> list[str]:
    verdict = item.verdict
    intent = "" if verdict.intent_satisfied is None else f", intent {'met' if verdict.intent_satisfied else 'not met'}"
    line = f"{item.ref} {'passed' if verdict.passed else 'failed'}{intent}{_place(item, run_id)}"
    return [line, *(content_lines(verdict.summary) if verdict.summary else [])]


def _place(item: StateNote | StateIssue | StateVerdict, run_id: str | None) -> str:
    parts = [f"by {value_text(item.agent)}"] if item.agent else []
    parts += [f"run:{value_text(item.run_id)}"] if item.run_id not in {run_id, MAIN_RUN} else []
    parts += [f"task:{value_text(item.task_id)}"] if item.task_id else []
    parts += [f"loop:{value_text(item.loop_id)}"] if item.loop_id else []
    file = getattr(item, "file", None)
    parts += [place_text(file, getattr(item, "line", None))] if file else []
    return f" {' '.join(parts)}" if parts else ""
