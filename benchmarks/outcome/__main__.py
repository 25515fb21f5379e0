"""``python -m benchmarks.outcome prepare|run|collect|report``: docs/outcome.md says how."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.outcome.preparing import CONDITIONS, SIZES, TASKS, Plan, prepare
from benchmarks.outcome.results import RESULTS, collect, report


def main(arguments: list[str] | None = None) -> int:
    """Do one step of a run."""
    options = _parser().parse_args(arguments)
    if options.step == "report":
        print(report(options.results))
        return 0
    if options.step == "collect":
        for folder in options.runs:
            print(collect(folder, options.results, model=options.model, by=options.by))
        return 0
    tasks = TASKS if options.writers == 2 else (options.task,)
    plan = Plan(options.data, tasks, options.condition, options.size, options.clone, options.into, options.worktrees)
    prepared = prepare(plan)
    if options.step == "prepare":
        print(f"\n{'=' * 40}\n".join(prompt for _, prompt in prepared))
        return 0
    words = shlex.split(options.agent)
    running = [
        subprocess.Popen([word.replace("{prompt}", prompt) for word in words], cwd=folder, start_new_session=True)
        for folder, prompt in prepared
    ]
    end = time.monotonic() + options.minutes * 60
    for one in running:
        try:
            one.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()
    print(collect(options.into, options.results, model=options.model, by=options.by))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outcome", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    prepare_, run = steps.add_parser("prepare"), steps.add_parser("run")
    collect_, report_ = steps.add_parser("collect"), steps.add_parser("report")
    for step in (prepare_, run):
        step.add_argument("--data", type=Path, required=True, help="benchmarks/outcome/data/REPOSITORY")
        step.add_argument("--task", choices=TASKS, default=TASKS[0])
        step.add_argument("--condition", choices=CONDITIONS, required=True)
        step.add_argument("--size", type=int, choices=SIZES, default=SIZES[0])
        step.add_argument("--clone", type=Path, required=True, help="the repository, with what its tests need")
        step.add_argument("--into", type=Path, required=True, help="a new folder for the run")
        step.add_argument("--writers", type=int, choices=(1, 2), default=1, help="2: an agent for each task, at once")
        step.add_argument("--worktrees", action="store_true", help="the second agent works in a linked worktree")
    run.add_argument("--agent", required=True, help="a command that holds {prompt}")
    run.add_argument("--minutes", type=float, default=60, help="how long it may work")
    for step in (run, collect_):
        step.add_argument("--model", required=True, help="which model worked, for the result")
        step.add_argument("--by", required=True, help="who ran it, for the result")
    for step in (run, collect_, report_):
        step.add_argument("--results", type=Path, default=RESULTS)
    collect_.add_argument("runs", type=Path, nargs="+", metavar="DIR")
    return parser


if __name__ == "__main__":
    sys.exit(main())
