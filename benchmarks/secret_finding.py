"""How many secrets are found, type by type, and how often something is taken for one that is none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROOT, Bench, Figure
from benchmarks.secret_generator import planted
from satchel.redaction import redact

_LEFT_OUT = {"site-packages", "dist-packages"}
_TELLING = 10


def recall(bench: Bench) -> tuple[Figure, str]:
    """Return the share of planted secrets of which nothing stays, and the share of each type in words."""
    bench.progress.say("planted secrets")
    sought: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for one in planted(bench.choose(50, 10)):
        sought[one.type] += 1
        found[one.type] += not _stays(one.secret, redact(one.text).text)
    figure = Figure(
        f"share found of {sought.total():,} planted secrets of {len(sought)} types",
        found.total() / sought.total(),
        at_least=0.9,
    )
    whole = [name for name in sought if found[name] == sought[name]]
    parts = [f"{name} {found[name] / sought[name]:.2f}" for name in sought if found[name] < sought[name]]
    return figure, f"Found always: {', '.join(whole)}. Found in part: {', '.join(parts) or 'none'}."


def _stays(secret: str, text: str) -> bool:
    """Say whether ten characters of a secret in a row, or all of a shorter one, are still in a text."""
    length = min(len(secret), _TELLING)
    return any(secret[start : start + length] in text for start in range(len(secret) - length + 1))


def false_findings(bench: Bench) -> Iterator[Figure]:
    """Yield findings in texts that hold next to no secret: for each megabyte of code, for each 1,000 notes."""
    bench.progress.say("texts without secrets")
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = [path for path in sorted(library.rglob("*.py")) if not _LEFT_OUT & set(path.parts)]
    yield _in_code("the standard library", modules)
    yield _in_notes("messages of this repository's commits", list(_messages(ROOT)))
    if bench.data is None:
        return
    if bundles := sorted((bench.data / "bundles").glob("**/*.js")):
        yield _in_code(f"{len(bundles)} bundles of JavaScript", bundles)
    if conversations := sorted((bench.data / "locomo").glob("*.json.gz")):
        yield _in_notes("notes of LoCoMo", [note for path in conversations for note in _locomo(path)])
    if repositories := sorted((bench.data / "repositories").glob("*/")):
        messages = [message for path in repositories for message in _messages(path)]
        yield _in_notes(f"commit messages of {len(repositories)} repositories", messages)


def _in_code(what: str, paths: list[Path]) -> Figure:
    texts = [path.read_text("utf-8", errors="replace") for path in paths]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1_000_000
    findings = sum(len(redact(text).kinds) for text in texts)
    return Figure(f"findings for each MB of {what}, {size:,.1f} MB", findings / size, at_most=1.0)


def _in_notes(what: str, notes: list[str]) -> Figure:
    struck = sum(bool(redact(note).kinds) for note in notes)
    return Figure(f"notes with a finding of 1,000 {what}, {len(notes):,}", struck / len(notes) * 1_000, at_most=1.0)


def _messages(repository: Path) -> Iterator[str]:
    """Yield the commit messages of a repository; it may be bare."""
    command = ["git", "-C", str(repository), "log", "--all", "--format=%B%x00"]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    yield from (message for message in map(str.strip, text.split("\0")) if message)


def _locomo(path: Path) -> Iterator[str]:
    """Yield the turns of the conversations, as an agent would note them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for entry in json.load(file):
            for turns in entry["conversation"].values():
                if isinstance(turns, list):
                    yield from (f"{turn['speaker']}: {turn['text']}" for turn in turns)
