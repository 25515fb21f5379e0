"""Results of runs: items kept, failures repeated, characters read and calls; and the table of all runs."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.harness import ROOT
from benchmarks.outcome.preparing import SATCHEL
from benchmarks.outcome.working import ABOUT, LOG, Session, environ_of

RESULTS = Path(__file__).parent / "results"
_SEEN_CHARS = 30
_TEST_SECONDS = 1_200


def collect(run: Path, results: Path, *, model: str, by: str) -> Path:
    """Check what a run left, write the result beside its log and changes, and return the result's file."""
    run = run.resolve()
    about = json.loads((run / ABOUT).read_text(encoding="utf-8"))
    data = Path(about["data"])
    for name in about["agents"]:
        Session(run, name).stop()
    log_file = run / LOG
    lines = log_file.read_text(encoding="utf-8").splitlines() if log_file.exists() else []
    log = [json.loads(line) for line in lines]
    items = {item["id"]: item for item in _items(data) if "id" in item}
    verdicts, repeated, passed = {}, {}, {}
    for agent in about["agents"].values():
        name, folder = agent["task"], run / agent["folder"]
        task = json.loads((data / f"{name}.json").read_text(encoding="utf-8"))
        with mock.patch.dict(os.environ, environ_of(run / "home", about["path"]), clear=True):
            passed[name] = _passes(task["test"], folder)
            checks = _checks_of(data)[name]
            verdicts[name] = {label: bool(checks[label](folder, run / "pristine")) for label in task["binds"]}
        outputs = [" ".join(line["output"].split()) for line in log if line["call"] == "run"]
        repeated[name] = [
            label
            for label in task["failures"]
            if not verdicts[name][label] or any(_is_seen(items[label], output) for output in outputs)
        ]
    result = {
        "repository": about["repository"],
        "task": "-".join(verdicts),
        "condition": about["condition"],
        "size": about["size"],
        "writers": len(about["agents"]),
        "worktrees": about["worktrees"],
        "date": datetime.now(UTC).date().isoformat(),
        "model": model,
        "by": by,
        "kept": verdicts,
        "repeated": repeated,
        "tests_pass": passed,
        "memory_chars": sum(line["memory"] for line in log),
        "frame_chars": sum(line["frame"] for line in log),
        "calls": dict(Counter(line["call"] for line in log)),
        "hook_chars": sum(len(hook["text"]) for line in log for hook in line["hooks"]),
        "hooks": _doctor(run, about) if about["condition"] == SATCHEL else None,
    }
    results.mkdir(parents=True, exist_ok=True)
    file = _free(results, result)
    clean = _cleaner(run, about["path"])
    file.write_text(clean(json.dumps(result, indent=2, ensure_ascii=False)) + "\n", encoding="utf-8")
    texts = [clean(json.dumps(_shortened(line), ensure_ascii=False)) for line in log]
    file.with_suffix(".jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    patches = "".join(_changes(run / folder, about["base"]) for folder in _folders(about))
    file.with_suffix(".patch").write_text(clean(patches), encoding="utf-8")
    return file


def report(results: Path) -> str:
    """Return the table of all runs, one line for each cell."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for file in sorted(results.glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        kind = "" if result["writers"] == 1 else ", worktrees" if result["worktrees"] else ", one folder"
        cell = (result["size"], result["repository"], result["task"] + kind, result["condition"])
        cells.setdefault(cell, []).append(result)
    rows = [
        "| items | repository | task | condition | kept | tests pass | failures repeated | memory read, characters "
        "| instructions and tools, characters | calls |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, runs in sorted(cells.items()):
        columns = [
            [_kept_text(one["kept"]) for one in runs],
            ["yes" if all(one["tests_pass"].values()) else "no" for one in runs],
            [str(sum(map(len, one["repeated"].values()))) for one in runs],
            [f"{one['memory_chars']:,}" for one in runs],
            [f"{one['frame_chars']:,}" for one in runs],
            [str(sum(one["calls"].values())) for one in runs],
        ]
        first, *names = cell
        rows.append(" | ".join([f"| {first:,}", *names, *(" and ".join(column) for column in columns)]) + " |")
    return "\n".join(rows)


def _kept_text(verdicts: Mapping[str, Mapping[str, bool]]) -> str:
    return " + ".join(f"{sum(checks.values())} of {len(checks)}" for checks in verdicts.values())


def _items(data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data / "memory.jsonl").read_text(encoding="utf-8").splitlines()]


def _checks_of(data: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"checks_of_{data.name}", data / "checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module.CHECKS


def _passes(command: str, folder: Path) -> bool:
    words = shlex.split(command)
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=_TEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _is_seen(item: Mapping[str, Any], output: str) -> bool:
    """Whether a command printed a known error."""
    return item.get("error", "") in output and " ".join(item["message"].split())[:_SEEN_CHARS] in output


def _doctor(run: Path, about: Mapping[str, Any]) -> str:
    """Return what ``satchel doctor`` says of the hooks, such as those that were late."""
    done = subprocess.run(
        [str(run / "bin" / "satchel"), "doctor"],
        cwd=run / "project",
        env=environ_of(run / "home", about["path"]),
        capture_output=True,
        text=True,
        check=False,
    )
    return next((text for line in done.stdout.splitlines() if (text := line[8:]).startswith("hooks:")), "")


def _folders(about: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(agent["folder"] for agent in about["agents"].values()))


def _changes(folder: Path, base: str) -> str:
    subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True, capture_output=True)
    done = subprocess.run(
        ["git", "-C", str(folder), "diff", "--cached", base],
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.stdout


def _free(results: Path, result: Mapping[str, Any]) -> Path:
    """Return the file of the next run of a cell."""
    kind = [] if result["writers"] == 1 else ["worktrees" if result["worktrees"] else "writers"]
    stem = "-".join([result["repository"], result["task"], result["condition"], str(result["size"]), *kind])
    number = 1
    while (file := results / f"{stem}-{number}.json").exists():
        number += 1
    return file


def _shortened(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the log without the contents of files, which are the repository's own."""
    if line["call"] in {"read", "grep"} and not line["memory"]:
        return {**line, "output": len(line["output"])}
    return dict(line)


def _cleaner(run: Path, path: str) -> Any:
    """Return what replaces this machine's paths in a text."""
    environments = [
        str(Path(one).parent) for one in path.split(os.pathsep) if not one.startswith(("/usr", "/bin", "/sbin"))
    ]
    names: Iterable[tuple[str, str]] = [
        (str(run), "."),
        (str(ROOT), "SATCHEL"),
        *((one, "ENVIRONMENT") for one in [*environments, sys.prefix] if len(one) > 1),
        (str(Path.home()), "~"),
    ]

    def clean(text: str) -> str:
        for name, short in sorted(names, key=lambda pair: -len(pair[0])):
            text = text.replace(name, short)
        return text

    return clean
