"""The state of a run or a project as compact text, for the resource and for ``satchel run state``."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.vocabulary import MAIN_RUN
from satchel.interfaces.text.parts import content_lines, counted, place_text, value_text
from satchel.keep.entries.state import RunState, StateIssue, StateNote, StateVerdict
from satchel.keep.entries.structured import CodebaseAnalysis


def state_text(state: RunState) -> str:
    """Render what is known in a run or in all, the latest of each list last; empty parts are left out."""
    lines = [_head(state)]
    if state.codebase_analysis is not None:
        lines += ["codebase:", *_analysis(state.codebase_analysis)]
    for title, notes in (
        ("discovery", state.discoveries),
        ("decision", state.decisions),
        ("error", state.errors),
    ):
        lines += _section(title, [line for note in notes for line in _note(note, state.run_id)], len(notes))
    lines += _section(
        "verdict",
        [line for verdict in state.verdicts for line in _verdict(verdict, state.run_id)],
        len(state.verdicts),
    )
    lines += _section(
        "review issue",
        [line for issue in state.review_issues for line in _issue(issue, state.run_id)],
        len(state.review_issues),
    )
    if not state.verdicts:
        lines.append("nothing was reviewed yet")
    lines += [f"{counted(count, f'older {name} entry')} not shown" for name, count in state.left_out]
    lines += [f"{row.ref} {row.type} cannot be read: {row.reason}" for row in state.unreadable]
    return "\n".join(lines)


def _head(state: RunState) -> str:
    if state.run_id is None:
        return "all runs of the project"
    if state.run is None:
        return f"run {value_text(state.run_id)}: nothing was written in it yet"
    return f"run {value_text(state.run_id)}, {state.run.status}" + (f": {state.run.title}" if state.run.title else "")


def _section(title: str, lines: Sequence[str], count: int) -> list[str]:
    return [f"{counted(count, title)}:", *lines] if count else []


def _analysis(analysis: CodebaseAnalysis) -> list[str]:
    named = (
        ("type", analysis.project_type),
        ("stack", ", ".join(analysis.tech_stack)),
        ("layout", analysis.directory_structure),
        ("features", ", ".join(analysis.existing_features)),
        ("entry points", ", ".join(analysis.entry_points)),
        ("patterns", ", ".join(analysis.patterns)),
    )
    lines = content_lines(analysis.summary)
    return lines + [line for name, text in named if text for line in content_lines(f"{name}: {text}")]


def _note(note: StateNote, named: str | None) -> list[str]:
    place = _place(named, note.run_id, note.task_id, note.loop_id, note.file, note.line, note.agent)
    return [f"{note.ref}{place}", *content_lines(note.content)]


def _issue(item: StateIssue, named: str | None) -> list[str]:
    place = _place(named, item.run_id, item.task_id, item.loop_id, item.file, item.line, item.agent)
    kind = f" {value_text(item.issue.issue_type)}" if item.issue.issue_type else ""
    lines = [f"{item.ref}{kind}{place}", *content_lines(item.issue.description)]
    return lines + (content_lines(f"suggestion: {item.issue.suggestion}") if item.issue.suggestion else [])


def _verdict(item: StateVerdict, named: str | None) -> list[str]:
    verdict = item.verdict
    place = _place(named, item.run_id, item.task_id, item.loop_id, None, None, item.agent)
    intent = "" if verdict.intent_satisfied is None else f", intent {'met' if verdict.intent_satisfied else 'not met'}"
    line = f"{item.ref} {'passed' if verdict.passed else 'failed'}{intent}{place}"
    return [line, *(content_lines(verdict.summary) if verdict.summary else [])]


def _place(
    named: str | None,
    run: str,
    task: str | None,
    loop: str | None,
    file: str | None,
    line: int | None,
    agent: str | None,
) -> str:
    parts = [f"by {value_text(agent)}"] if agent else []
    parts += [f"run:{value_text(run)}"] if run not in {named, MAIN_RUN} else []
    parts += [f"task:{value_text(task)}"] if task else []
    parts += [f"loop:{value_text(loop)}"] if loop else []
    parts += [place_text(file, line)] if file else []
    return f" {' '.join(parts)}" if parts else ""
