"""``python -m benchmarks``: measure, print the figures beside their baselines, and write them down."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from benchmarks import machine
from benchmarks.harness import WORKSHOP, Bench, NotMeasuredError, Progress, Section, section_text

FAMILIES = {
    "goals": "the goals for speed, each figure beside its baseline",
    "durable-write": "one durable write beside bare apsw",
    "fairness": "8 and 16 processes that write at once",
    "filtered-read": "the same 1,000 entries in stores of up to a million",
    "search-speed": "searching a million entries, in one run and over all",
    "search-quality": "finding the right thing in public data sets (needs --data)",
    "signatures": "grouping log lines and errors of five languages by their signatures (needs --data)",
    "errors": "recognising errors that are met again, by tool, by hook and after short reports (more with --data)",
    "briefing": "briefings of a project of 100,000 records and of a thousand small stores",
    "hooks": "hooks beside a bare interpreter, and what their briefings hold over a day",
    "load": "starts and edits of a claimed file while ten processes keep the machine busy",
    "day": "what hooks put in at the prompts, edits and failures of a day, and how much of it its key calls for",
    "session-day": "ten sessions over stores of a month: what hooks showed by the moment it was needed, and tokens",
    "study": "a store of 640 items: what starts, prompts and edits show of what they should, and what else",
    "relevance": "the share of evidence that briefings deliver (needs --data)",
    "repositories": "what briefings hold of five repositories for twenty tasks (needs --data)",
    "ledger": "decisions, messages and file changes, alone and by the hundred thousand",
    "sharing": "bringing a thousand shared items in step, and the look that a session's start takes",
    "moving": "export and import of a hundred thousand notes",
    "consult": "30 commits as 30 turns of one conversation, gathering, and an unchanged turn",
    "index-cost": "what the index takes in bytes and time beside a bare FTS5 table",
    "redaction": "which secrets are found, what is taken for one (more with --data), and what looking costs",
    "kill": "killing a writer again and again",
    "start-up": "importing, and the command line",
    "hosts": "what hosts start, beside a bare interpreter",
    "guard": "the guard of commits and the line of a prompt, beside a bare interpreter",
    "stdio": "the MCP server over stdio beside the official SDK",
    "events": "from a commit to those who listen over HTTP, and what idle listeners cost",
    "serve": "clients of a server beside processes over the store, its memory, and hooks over it",
    "large-bodies": "the largest bodies of one token, and how long another waits meanwhile",
    "postgresql": "the store in PostgreSQL beside SQLite, over a socket and over a slow network",
    "writers": "32 clients of a server that write to one project in PostgreSQL, beside as many on their own",
    "room": "what a person looks at, of a hundred thousand items of each kind",
    "sizes": "installed, on disk, and in tokens",
}
"""Every family with what it measures; each is the module of its name."""

_LONG = ("filtered-read", "search-speed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the families that were asked for; the exit status is 0 whether or not every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, smaller stores")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=FAMILIES, help="only these families")
    parser.add_argument("--long", action="store_true", help="also the families over a million items")
    parser.add_argument("--list", action="store_true", help="name the families and leave")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the whole report as Markdown too")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder of public data sets")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(f"{name:<15} {what}" for name, what in FAMILIES.items()))
        return 0
    if chosen.write and chosen.only:
        parser.error("--write needs every family: leave out --only")
    if chosen.data and not chosen.data.is_dir():
        parser.error(f"--data: there is no folder {chosen.data}")

    WORKSHOP.mkdir(exist_ok=True)
    date = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    heading = _heading(date, machine.facts(), quick=chosen.quick)
    print(heading, flush=True)
    measured: dict[str, Section] = {}
    every = [name for name in FAMILIES if chosen.long or chosen.write or name not in _LONG]
    for name in chosen.only or every:
        measured[name] = _measure(name, quick=chosen.quick, data=chosen.data)
        print(section_text(measured[name]), flush=True)
    verdict = _verdict(measured)
    print(verdict)
    if chosen.write:
        body = "\n".join(map(section_text, measured.values()))
        chosen.write.write_text(f"# Benchmarks\n\n{heading}\n{verdict}\n\n{body}", encoding="utf-8")
        for section in measured.values():
            for name, picture in section.pictures.items():
                (chosen.write.parent / name).write_text(picture, encoding="utf-8")
    if chosen.json:
        chosen.json.write_text(_as_json(date, measured, quick=chosen.quick), encoding="utf-8")
    return 0


def _measure(name: str, *, quick: bool, data: Path | None) -> Section:
    family = import_module(f"benchmarks.{name.replace('-', '_')}")
    with tempfile.TemporaryDirectory(prefix="run-", dir=WORKSHOP) as folder, Progress() as progress:
        progress.say(name)
        try:
            section = family.run(Bench(Path(folder), quick, data, progress))
        except NotMeasuredError as reason:
            return Section(FAMILIES[name].capitalize(), (), (f"Not measured: {reason}.",))
    assert isinstance(section, Section)
    return section


def _heading(date: str, facts: dict[str, str], *, quick: bool) -> str:
    kind = "a quick run: few samples, small stores" if quick else "a full run"
    about = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    return (
        f"Written by `python -m benchmarks` on {date} ({kind}). Each figure was sampled in turn with its baseline, "
        "so that the machine's noise strikes both; times are medians and 95th percentiles.\n\n"
        f"{about}\n"
    )


def _verdict(measured: dict[str, Section]) -> str:
    judged = [figure for section in measured.values() for figure in section.figures if figure.met is not None]
    missed = [figure for figure in judged if not figure.met]
    lines = [f"{len(judged) - len(missed)} of {len(judged)} targets are met."]
    lines += [f"- missed: {'; '.join(cell for cell in figure.row()[:-1] if cell)}" for figure in missed]
    return "\n".join(lines)


def _as_json(date: str, measured: dict[str, Section], *, quick: bool) -> str:
    families = [
        {
            "name": name,
            "title": section.title,
            "figures": [
                asdict(figure) | {"ratio": figure.ratio, "target": figure.target, "met": figure.met}
                for figure in section.figures
            ],
            "notes": section.notes,
        }
        for name, section in measured.items()
    ]
    whole = {"date": date, "quick": quick, "machine": machine.facts(), "families": families}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
