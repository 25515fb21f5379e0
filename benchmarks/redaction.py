"""Finding secrets: how many of them, how often wrongly, what a clean text costs and a hostile one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType

from benchmarks.harness import ROOT, Bench, Figure, Samples, Section, interleave
from benchmarks.secret_finding import false_findings, recall
from satchel.redaction import redact

_KB = 1_000
_LINEAR = 12.0


def run(bench: Bench) -> Section:
    """Look for planted secrets, then where there are none; time clean texts, and hostile ones of two sizes."""
    found, by_type = recall(bench)
    wrongly = list(false_findings(bench))
    bench.progress.say("clean text")
    figures = _clean(bench.choose(50, 10))
    bench.progress.say("a text of several megabytes")
    figures.append(_several_megabytes(bench.choose(10, 3)))
    return Section(
        "Redaction",
        (found, *wrongly, *figures, *_hostile(bench.choose(5, 3), bench.choose(100, 10), bench)),
        (
            "Prose is Python's own help topics, code its standard library's sources. Hostile texts are the pieces "
            "that the tests try, each repeated to its size. The text of several megabytes is random base 64 in lines: "
            "the longer it is, the more formats have a short literal in it by chance.",
            "A planted secret counts as found where no ten characters of it in a row stay. Its values are drawn from a "
            "seed; the standard library holds its tests. With `--data DIR`, the folders `bundles` (files of packages "
            "from npm), `locomo` and `repositories` (git) of that folder are read too.",
            by_type,
        ),
    )


def _clean(rounds: int) -> list[Figure]:
    texts = {"prose": _prose(1_000 * _KB), "code": _code(1_000 * _KB)}
    sizes = (1, 100, 1_000)
    candidates: dict[str, Callable[[int], object]] = {}
    for kind, text in texts.items():
        for size in sizes:
            # at least 100 KB in all, so that no one piece decides
            pieces = [text[start * _KB : (start + size) * _KB] for start in range(0, max(size, 100), size)]
            candidates[f"{kind} {size}"] = _redacter(*pieces)
        candidates[f"{kind} tenfold"] = _redacter(text[: 100 * _KB] * 10)
    taken = interleave(candidates, rounds, warm_up=1)
    figures: list[Figure] = []
    for kind in texts:
        for size in sizes:
            samples = _per_kb(taken[f"{kind} {size}"], max(size, 100))
            figures.append(
                Figure(f"clean {kind}, {size:,} KB a text", samples.median, "ms/KB", p95=samples.p95, at_most=0.1),
            )
        figures.append(_growth(f"clean {kind}, ten times 100 KB", taken[f"{kind} tenfold"], taken[f"{kind} 100"], 100))
    return figures


def _several_megabytes(rounds: int) -> Figure:
    from base64 import urlsafe_b64encode
    from random import Random

    encoded = urlsafe_b64encode(Random("text").randbytes(3_000 * _KB)).decode()
    text = "\n".join([encoded[start : start + 99] for start in range(0, len(encoded), 99)])[: 4_000 * _KB]
    taken = interleave({"large": _redacter(text), "small": _redacter(text[: 400 * _KB])}, rounds, warm_up=1)
    return _growth("base 64, 4,000 KB", taken["large"], taken["small"], 400)


def _hostile(rounds: int, size: int, bench: Bench) -> list[Figure]:
    pieces: tuple[str, ...] = _load_samples().ADVERSARIAL
    taken: dict[str, tuple[Samples, Samples]] = {}
    for piece in pieces:
        bench.progress.say(f"hostile text: {piece!r}")
        small = piece * (size * _KB // len(piece))
        pair = interleave({"small": _redacter(small), "large": _redacter(small * 10)}, rounds)
        taken[piece] = pair["small"], pair["large"]
    grown = max(taken, key=lambda piece: taken[piece][1].median / taken[piece][0].median)
    slowest = max(taken, key=lambda piece: taken[piece][1].median)
    of = f"of {len(pieces)} hostile texts"
    return [
        _growth(f"worst growth {of}, {grown!r}, {10 * size:,} KB", taken[grown][1], taken[grown][0], size),
        Figure(
            f"slowest {of}, {slowest!r}, {10 * size:,} KB",
            taken[slowest][1].median / (10 * size),
            "ms/KB",
            baseline=taken[slowest][0].median / size,
            beside=f"at {size} KB",
        ),
    ]


def _growth(what: str, large: Samples, small: Samples, size: int) -> Figure:
    return Figure(what, large.median, "ms", large.p95, small.median, f"at {size} KB", ratio_at_most=_LINEAR)


def _per_kb(samples: Samples, size: int) -> Samples:
    return Samples(tuple(value / size for value in samples.values))


def _redacter(*texts: str) -> Callable[[int], object]:
    return lambda _: [redact(text) for text in texts]


def _prose(length: int) -> str:
    from pydoc_data.topics import topics

    whole = "\n".join(topics.values())
    return (whole * (length // len(whole) + 1))[:length]


def _code(length: int) -> str:
    import argparse
    import ast
    import decimal
    import inspect
    import subprocess
    import tarfile
    import typing

    whole = "\n".join(map(inspect.getsource, (argparse, ast, decimal, inspect, subprocess, tarfile, typing)))
    return (whole * (length // len(whole) + 1))[:length]


def _load_samples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("secret_samples", ROOT / "tests" / "redaction" / "secret_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
