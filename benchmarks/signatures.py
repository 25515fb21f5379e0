"""How well signatures of errors group what belongs together, beside twelve plain regular expressions.

loghub: Zhu et al., Loghub: A Large Collection of System Log Datasets for AI-driven Log Analytics (ISSRE 2023). Its
lines are not part of the project. The mutator and its outputs of five languages stand among the tests; outputs that
different people posted stand in ``data/errors``, with what they are.
"""

from __future__ import annotations

import csv
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from benchmarks.harness import ROOT, Bench, Figure, NotMeasuredError, Section, interleave
from satchel.keep.patterns import mask, signature

_POSTED = ROOT / "benchmarks" / "data" / "errors"
_POSTED_RECALL, _POSTED_PRECISION = 0.65, 1.0
_GROUPING_TARGET, _GROUPS_TARGET, _PAIRS_TARGET = 0.75, 0.85, 0.95
_OF_EACH, _QUICK_OF_EACH = 100, 10
_SUFFIX = ".log_structured.csv"
_HOSTILE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Grouping:
    """The shares of one system: of lines, and of groups, that were grouped as they should be."""

    accuracy: float
    f1: float


def run(bench: Bench) -> Section:
    """Measure every loghub system in the folder of data sets, the mutator's pairs, and the time a signature takes."""
    if bench.data is None:
        raise NotMeasuredError("it needs public data sets: give their folder with --data, or make bench DATA=...")
    files = sorted(bench.data.glob(f"**/*{_SUFFIX}"))
    if not files:
        raise NotMeasuredError(f"{bench.data} holds no *{_SUFFIX}")
    return Section(
        "Signatures of errors",
        (*_loghub(files, bench), *_posted(bench), *_pairs(bench), *_times(bench)),
        (
            "Values are shares unless they have a unit. GA: lines whose group holds exactly the lines of their true "
            "template. FGA: F1 over groups. The baseline is exact text after twelve general regular expressions. "
            "Signatures keep what loghub's templates leave out (a failed request's status, a file's own name, names "
            "after `name=`), because it tells errors apart. Pairs: outputs of five languages, filled with other "
            "values (paths, lines, ids, times, addresses, frames) with the same cause, or with one word of the "
            "cause changed; written by those who wrote the rules, so they show regressions and prove no rule.",
            "Posted: outputs of six languages as different people posted them. Precision is over all pairs of a "
            "file, apart over those that look alike and have different causes. All seven files have been read since: "
            "what they said when they were put away stands in benchmarks/data/errors/README.md.",
        ),
    )


def _loghub(files: Sequence[Path], bench: Bench) -> list[Figure]:
    figures: list[Figure] = []
    ours: list[_Grouping] = []
    plain: list[_Grouping] = []
    for file in files:
        name = file.name.removesuffix(_SUFFIX)
        bench.progress.say(f"loghub: {name}")
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [(row["EventId"], row["Content"]) for row in csv.DictReader(lines)]
        ours.append(_grouping(rows, mask))
        plain.append(_grouping(rows, _plain))
        figures += _grouping_figures(f"loghub {name} ({len(rows):,} lines)", ours[-1], plain[-1])
    what = f"loghub, mean of {len(files)} systems"
    return [*_grouping_figures(what, _mean(ours), _mean(plain), (_GROUPING_TARGET, _GROUPS_TARGET)), *figures]


def _mean(each: Sequence[_Grouping]) -> _Grouping:
    return _Grouping(statistics.fmean(one.accuracy for one in each), statistics.fmean(one.f1 for one in each))


def _grouping_figures(
    what: str, ours: _Grouping, plain: _Grouping, targets: tuple[float | None, float | None] = (None, None)
) -> list[Figure]:
    return [
        Figure(f"{what}: GA", ours.accuracy, baseline=plain.accuracy, beside="regexes", at_least=targets[0]),
        Figure(f"{what}: FGA", ours.f1, baseline=plain.f1, beside="regexes", at_least=targets[1]),
    ]


def _grouping(rows: Iterable[tuple[str, str]], group: Callable[[str], Hashable]) -> _Grouping:
    """Compare the groups of lines with the true ones; both measures count only groups that agree wholly."""
    true: defaultdict[Hashable, list[int]] = defaultdict(list)
    found: defaultdict[Hashable, list[int]] = defaultdict(list)
    lines = 0
    for number, (event, content) in enumerate(rows):
        true[event].append(number)
        found[group(content)].append(number)
        lines += 1
    right = {tuple(each) for each in true.values()} & {tuple(each) for each in found.values()}
    return _Grouping(sum(map(len, right)) / lines, 2 * len(right) / (len(true) + len(found)))


_PLAIN = tuple(
    re.compile(pattern)
    for pattern in (
        r"https?://\S+",
        r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*",
        r"\b\d\d:\d\d:\d\d\b",
        r"(?:[0-9a-fA-F]{2}:){5,}[0-9a-fA-F]{2}",
        r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?",
        r"0x[0-9a-fA-F]+",
        r"(?:/[\w.+-]+)+",
        r"\b[0-9a-fA-F]{8,}\b",
        r"\d+(?:\.\d+)?\s?(?:[kKMGT]i?B|ms|s|%)\b",
        r"-?\d+\.\d+",
        r"-?\d+",
    )
)


def _plain(content: str) -> str:
    for pattern in _PLAIN:
        content = pattern.sub("#", content)
    return content


def _posted(bench: Bench) -> list[Figure]:
    """Judge every pair of the outputs of a file by their signatures, beside the text after the regular expressions."""
    figures: list[Figure] = []
    for file in sorted(_POSTED.glob("*.json")):
        bench.progress.say(f"posted outputs: {file.stem}")
        outputs = json.loads(file.read_text(encoding="utf-8"))
        ours = _judged(outputs, [signature(one["type"], one["text"]) for one in outputs])
        plain = _judged(outputs, [_plain(one["text"]) for one in outputs])
        what = f"posted outputs, {file.stem.replace('_', ' ')} ({len(outputs)})"
        targets = (_POSTED_RECALL, _POSTED_PRECISION, 1.0)
        for name, mine, theirs, target in zip(("recall", "precision", "apart"), ours, plain, targets, strict=True):
            figures.append(Figure(f"{what}: {name}", mine, baseline=theirs, beside="regexes", at_least=target))
    return figures


def _judged(outputs: Sequence[dict[str, str]], keys: Sequence[Hashable]) -> tuple[float, float, float]:
    """Return the shares of same pairs found, of found pairs that are the same, and of look-alikes kept apart."""
    counts: Counter[str] = Counter()
    for (one, mine), (other, theirs) in combinations(zip(outputs, keys, strict=True), 2):
        is_same, is_found = one["cause"] == other["cause"], mine == theirs
        counts["same"] += is_same
        counts["found"] += is_found
        counts["right"] += is_same and is_found
        if not is_same and one["family"] and one["family"] == other["family"]:
            counts["alike"] += 1
            counts["apart"] += not is_found
    right = counts["right"]
    return right / counts["same"], right / max(1, counts["found"]), counts["apart"] / max(1, counts["alike"])


def _pairs(bench: Bench) -> list[Figure]:
    """Judge pairs of errors by their signatures, over all and by language."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        from keep.patterns.mutations import pairs
    finally:
        sys.path.pop(0)
    bench.progress.say("pairs of errors")
    judged: defaultdict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for pair in pairs("benchmark", _QUICK_OF_EACH if bench.quick else _OF_EACH):
        outcome = pair.is_same, signature(*pair.first) == signature(*pair.second)
        for group in ("all languages", pair.language):
            judged[group][outcome] += 1
    figures: list[Figure] = []
    for group, counts in judged.items():
        target = _PAIRS_TARGET if group == "all languages" else None
        matched = counts[True, True]
        what = f"pairs, {group} ({counts.total():,})"
        figures += (
            Figure(f"{what}: precision", matched / max(1, matched + counts[False, True]), at_least=target),
            Figure(f"{what}: recall", matched / max(1, matched + counts[True, False]), at_least=target),
        )
    return figures


def _times(bench: Bench) -> list[Figure]:
    trace = "Traceback (most recent call last):\n" + '  File "/srv/app/main.py", line 12, in run\n    go()\n' * 10
    trace += "ValueError: no plan 17 for 10.0.0.1:5432 at 0x7f2a00ffee10\n"
    texts = {
        "one line": "ValueError: no plan 17 for 10.0.0.1:5432 at 0x7f2a00ffee10",
        "a stack of ten frames": trace,
        "a hostile megabyte": "1e+" * (_HOSTILE_CHARS // 3),
    }
    figures: list[Figure] = []
    for name, text in texts.items():
        rounds = 3 if len(text) > 10_000 else 50 if bench.quick else 500

        def one(_: int, text: str = text) -> str:
            return signature("ValueError", text)

        samples = interleave({"ours": one}, rounds, warm_up=1)["ours"]
        figures.append(Figure(f"signature of {name}", samples.median, "ms", p95=samples.p95))
    return figures
