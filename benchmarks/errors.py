"""How many errors are recognised when they are met again, by tool and by hook, and after an agent's short report.

Outputs stand in ``data/errors``: posted publicly, of real tools (``run``), and made by a model from what it knows of
tools (``made``), as a check against rules that fit one set only. More of real tools come with the public data sets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import ROOT, Bench, Figure, Section
from satchel import Satchel, open_satchel
from satchel.brief.working.commands import command_error

_DATA = ROOT / "benchmarks" / "data" / "errors"
_POSTED_TARGETS, _TOOLS_TARGETS = (0.5, 0.98), (0.8, 0.95)
_REPORTS_TARGET, _MOST_WRONG, _SIMILAR_TARGET = 0.74, 0.05, 0.7


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a failed program; equal causes are fixed alike, and causes of one family look alike."""

    cause: str
    family: str
    type: str
    text: str
    command: str = ""
    status: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """An error in an agent's short words."""

    cause: str
    type: str
    message: str


def run(bench: Bench) -> Section:
    """Report the outputs of every set one after another, forwards and backwards, then outputs after short reports."""
    figures: list[Figure] = []
    for name, outputs in _sets(bench.data).items():
        bench.progress.say(f"errors: {name}")
        is_posted = name.startswith("posted")
        recall, precision = _POSTED_TARGETS if is_posted else _TOOLS_TARGETS
        for path in ("tool",) if is_posted else ("tool", "hook"):
            counts = repeats(bench.folder / f"{name}-{path}", outputs, path)
            met, said, alike = counts["repeats"], counts["right"] + counts["wrong"], counts["similar"]
            what = f"{name} ({len(outputs)}) by {path}"
            figures += (
                Figure(f"{what}: repeats recognised", counts["right"] / max(1, met), at_least=recall),
                Figure(f"{what}: of fixes offered as known, right", counts["right"] / max(1, said), at_least=precision),
                Figure(
                    f"{what}: of errors shown as similar ({alike}), of the same cause",
                    counts["similar right"] / max(1, alike),
                    at_least=_SIMILAR_TARGET if alike else None,
                ),
            )
        # no report is of the sets that were run here, whose causes have the names of others
        causes = set() if name.startswith("run") else {output.cause for output in outputs}
        if reports := [one for one in _reports() if one.cause in causes]:
            for path in ("tool", "hook"):
                counts = after_reports(bench.folder / f"{name}-reports-{path}", outputs, reports, path)
                what = f"{name} by {path}, after short reports"
                figures += (
                    Figure(
                        f"{what}: of {counts['repeats']} outputs, recognised",
                        counts["right"] / max(1, counts["repeats"]),
                        at_least=_REPORTS_TARGET,
                    ),
                    Figure(f"{what}: of them, given a wrong fix", counts["wrong"] / max(1, counts["repeats"])),
                    Figure(
                        f"{what}: of {counts['look-alikes']} look-alikes, given a wrong fix",
                        counts["wrong alike"] / max(1, counts["look-alikes"]),
                        at_most=_MOST_WRONG,
                    ),
                )
            counts = before_reports(bench.folder / f"{name}-before", outputs, reports)
            figures.append(
                Figure(
                    f"{name}, short reports after outputs ({counts['repeats']}): recognised",
                    counts["right"] / max(1, counts["repeats"]),
                )
            )
            figures.append(
                Figure(
                    f"{name}, short reports after outputs: given a wrong fix",
                    counts["wrong"] / max(1, counts["repeats"]),
                    at_most=_MOST_WRONG,
                )
            )
    return Section(
        "Errors met again",
        tuple(figures),
        (
            "Values are shares. Every output is reported in turn, forwards and backwards, with its cause as the fix "
            "once it is stored; a repeat is an output whose cause was met before. After short reports: the reports of "
            "one cause of each family are stored with their fix, then each output is reported to a copy of that store; "
            "outputs of other causes of these families are look-alikes. Where no error is shown as similar, there is"
            " no target for them.",
        ),
    )


def _sets(data: Path | None) -> dict[str, list[Output]]:
    found = {f"posted {file.stem}": _outputs(file) for file in sorted(_DATA.glob("*.json"))}
    found |= {f"run {file.stem}": _outputs(file) for file in sorted(_DATA.glob("run/*.json"))}
    found["made"] = _outputs(_DATA / "made" / "outputs.json")
    for file in sorted(data.glob("**/tools.json")) if data is not None else ():
        found["tools"] = _outputs(file)
    return found


def _outputs(file: Path) -> list[Output]:
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [
        Output(
            row["cause"] if "scn" not in row else f"{row['scn']}-{row['cause']}",
            row.get("family") or row.get("scn") or "",
            row["type"],
            row["text"],
            row.get("command", ""),
            row.get("status", 1),
        )
        for row in rows
    ]


def _reports() -> list[Report]:
    rows = json.loads((_DATA / "made" / "reports.json").read_text(encoding="utf-8"))
    return [Report(row["cause"], row["type"], row["message"]) for row in rows]


def repeats(folder: Path, outputs: Sequence[Output], path: str) -> Counter[str]:
    """Report outputs in both orders; count repeats, right and wrong fixes, and similar errors."""
    counts: Counter[str] = Counter()
    for order in (outputs, outputs[::-1]):
        with _store(folder / str(order is outputs)) as satchel:
            met: set[str] = set()
            for output in order:
                reported = satchel.patterns.report(*_as_reported(output, path))
                fixes = [one.text for one in reported.solutions]
                counts["repeats"] += output.cause in met
                counts["right"] += output.cause in fixes[:1]
                counts["wrong"] += bool(fixes) and output.cause not in fixes[:1]
                alike = [one.solution.text for one in reported.similar if one.solution is not None]
                counts["similar"] += len(alike)
                counts["similar right"] += alike.count(output.cause)
                if not fixes:
                    satchel.patterns.solve(reported.pattern.ref, output.cause)
                met.add(output.cause)
    return counts


def after_reports(folder: Path, outputs: Sequence[Output], reports: Sequence[Report], path: str) -> Counter[str]:
    """Report each output to a store of the short reports of one cause of each family."""
    counts: Counter[str] = Counter()
    for number, known in enumerate(_halves(outputs, reports)):
        made = folder / str(number)
        with _store(made) as satchel:
            for report in known:
                satchel.patterns.report(report.type, report.message, solution=report.cause)
        causes = {report.cause for report in known}
        families = {output.family for output in outputs if output.cause in causes}
        for output in outputs:
            if output.family not in families:
                continue
            with _store(made) as satchel:
                reported = satchel.patterns.report(*_as_reported(output, path))
                _forget(satchel)
            fixes = [one.text for one in reported.solutions]
            is_repeat, is_wrong = output.cause in causes, bool(fixes) and output.cause not in fixes[:1]
            counts["repeats" if is_repeat else "look-alikes"] += 1
            counts["right"] += output.cause in fixes[:1]
            counts["wrong" if is_repeat else "wrong alike"] += is_wrong
    return counts


def before_reports(folder: Path, outputs: Sequence[Output], reports: Sequence[Report]) -> Counter[str]:
    """Report each short report to a store of the first output of every cause."""
    counts: Counter[str] = Counter()
    with _store(folder) as satchel:
        for output in {output.cause: output for output in reversed(outputs)}.values():
            satchel.patterns.report(output.type, output.text, solution=output.cause)
    for report in reports:
        with _store(folder) as satchel:
            fixes = [one.text for one in satchel.patterns.report(report.type, report.message).solutions]
            _forget(satchel)
        counts["repeats"] += 1
        counts["right"] += report.cause in fixes[:1]
        counts["wrong"] += bool(fixes) and report.cause not in fixes[:1]
    return counts


def _halves(outputs: Sequence[Output], reports: Sequence[Report]) -> list[list[Report]]:
    families = {output.cause: output.family for output in outputs}
    first = {families[report.cause]: report.cause for report in reversed(reports)}
    return [
        [report for report in reports if (first[families[report.cause]] == report.cause) is is_first]
        for is_first in (True, False)
    ]


def _as_reported(output: Output, path: str) -> tuple[str, str]:
    if path == "tool":
        return output.type, output.text
    return command_error(output.command, output.status, f"Exit code {output.status}\n{output.text}")


@contextmanager
def _store(folder: Path) -> Iterator[Satchel]:
    folder.mkdir(parents=True, exist_ok=True)
    environ = {"SATCHEL_TRUST": "1"}
    with open_satchel(folder / "satchel.db", "bench", "bencher", cwd=folder, environ=environ) as satchel:
        yield satchel


def _forget(satchel: Satchel) -> None:
    """Delete the errors without a fix."""
    with satchel.workplace.engine.write() as transaction:
        rows = transaction.all(
            "SELECT id FROM error_patterns p WHERE NOT EXISTS "
            "(SELECT 1 FROM error_solutions s WHERE s.pattern_id = p.id)"
        )
        from satchel.keep.patterns import updates

        updates.delete(transaction, 1, [row[0] for row in rows])
