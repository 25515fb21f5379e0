"""Sizes: what is installed, what an entry takes on disk, and what the tools cost in tokens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.content import notes, open_filled
from benchmarks.harness import ROOT, Bench, Figure, NotMeasuredError, Section
from satchel import open_satchel
from satchel.base.tokens import token_counter
from satchel.interfaces.mcp.guidance import instructions
from satchel.interfaces.mcp.registry import ALL_TOOLSETS, Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.interfaces.text.decisions import decisions_text
from satchel.interfaces.text.files import changes_text
from satchel.interfaces.text.messages import messages_text

_MB = 1_000_000
_LISTED = 20
_SHOWN_TO_MODELS = ("name", "description", "inputSchema")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def run(bench: Bench) -> Section:
    """Install into a fresh environment, fill a store, and count."""
    bench.progress.say("installing into a fresh environment")
    figures: list[Figure] = []
    remarks: list[str] = []
    try:
        figures += _installed(bench.folder)
    except NotMeasuredError as reason:
        remarks.append(f"Not measured: the installed size, because {reason}.")
    bench.progress.say("filling a store")
    figures += (*_on_disk(bench.folder, bench.choose(10_000, 1_000)), *_in_tokens(), *_lists(bench.folder))
    return Section(
        "Sizes",
        tuple(figures),
        (
            *remarks,
            "Installed: every file that `requirements.txt` and Satchel's own wheel put into a fresh environment, "
            "before any bytecode; 1 MB is a million bytes. On disk: after a checkpoint, without compacting. Tools: "
            "the list as compact JSON, as it goes over the wire. Lists: what a tool answers, beside JSON with the same "
            "facts in two spaces of indentation.",
        ),
    )


def _installed(folder: Path) -> list[Figure]:
    fresh = folder / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", str(fresh))
    before = _files(fresh)
    into = (*_PIP, "--python", str(fresh / "bin" / "python"), "install", "--no-compile")
    _run(*into, "--require-hashes", "--requirement", str(ROOT / "requirements.txt"))
    requirements = _files(fresh) - before
    _run(*_PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "wheel"), str(ROOT))
    (wheel,) = (folder / "wheel").glob("*.whl")
    _run(*into, "--no-deps", str(wheel))
    own = _files(fresh) - before - requirements
    return [
        Figure("installed, Satchel and its requirements", _megabytes(own | requirements), "MB", at_most=16),
        Figure("installed, Satchel alone", _megabytes(own), "MB"),
    ]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise NotMeasuredError(f"an installation step failed ({last[:200]})")


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def _megabytes(files: set[Path]) -> float:
    return sum(path.stat().st_size for path in files) / _MB


def _on_disk(folder: Path, count: int) -> list[Figure]:
    made = notes(count)
    file = folder / "store.db"
    with open_filled(file, made):
        pass  # closing the last connection checkpoints the WAL
    text = sum(len(note.content.encode()) for note in made) / count
    return [
        Figure(
            f"on disk per entry, {count:,} entries",
            file.stat().st_size / count,
            "bytes",
            baseline=text,
            beside="of text",
        )
    ]


def _in_tokens() -> list[Figure]:
    counter = token_counter("o200k_base")
    label = counter.name if counter.exact else f"{counter.name}, not exact"
    figures = []
    for name, toolsets, limit in (
        ("default toolsets", DEFAULT_TOOLSETS, 3_200),
        ("all toolsets", (ALL_TOOLSETS,), 4_600),
    ):
        registry = Registry(ALL_TOOLS, toolsets)
        shown = [{part: one[part] for part in _SHOWN_TO_MODELS} for one in registry.listing()]
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        told = counter.count(instructions(registry.tools))
        figures += [
            Figure(f"tools, {name} ({label})", counter.count(text, "json"), "tokens", at_most=limit),
            Figure(f"instructions, {name} ({label})", told, "tokens", at_most=200),
        ]
    return figures


def _lists(folder: Path) -> list[Figure]:
    """Return the tokens of lists as agents get them, beside JSON with the same facts."""
    counter = token_counter("o200k_base")
    with open_satchel(folder / "lists.db", cwd=folder) as satchel:
        for number in range(_LISTED):
            name = f"service-{number % 4}"
            satchel.decisions.set(
                f"{name}.limit_{number}",
                f"at most {number * 50} requests in a minute",
                layer="business",
                tags=["api", "limits"],
                scopes=[name],
                agent="planner",
            )
            satchel.messages.send(
                f"The limit of {name} is in place; please test it with {number * 50} requests", to="tester", agent="dev"
            )
            satchel.files.record(f"src/{name}/limit_{number}.py", "modified", layer="business", agent="dev")
        decisions, changes = satchel.decisions.find(limit=_LISTED), satchel.files.changes(limit=_LISTED)
        messages = satchel.messages.inbox(agent="tester", limit=_LISTED)
    of_decisions = [
        {
            "key": one.key,
            "value": one.value,
            "layer": one.layer,
            "tags": one.tags,
            "scopes": one.scopes,
            "version": one.version,
            "status": one.status,
            "agent": one.agent,
            "updated": one.updated_at,
        }
        for one in decisions.items
    ]
    of_messages = [
        {
            "id": one.ref,
            "from": one.sender,
            "to": one.to,
            "type": one.type,
            "priority": one.priority,
            "message": one.message,
            "created": one.created_at,
        }
        for one in messages.items
    ]
    of_changes = [
        {"path": one.file, "change": one.change, "layer": one.layer, "agent": one.agent, "created": one.created_at}
        for one in changes.items
    ]
    return [
        Figure(
            f"{len(facts)} {name} as text",
            counter.count(text),
            "tokens",
            baseline=counter.count(json.dumps(facts, indent=2), "json"),
            beside="as JSON",
        )
        for name, text, facts in (
            ("decisions", decisions_text(decisions), of_decisions),
            ("messages", messages_text(messages), of_messages),
            ("edits", changes_text(changes), of_changes),
        )
    ]
