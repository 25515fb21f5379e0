"""Change the source at random places, one at a time, and check that a fast test that reaches the place fails.

python scripts/mutants.py [--count 60] [--seed 1] [--share 0.9] [--jobs 2] [--json] [PATH ...]

A change inverts a condition or an operator, also of SQL, changes a number or truth value, removes a call, an assignment
or a `raise`, or returns None. Tests run on a copy of src, in processes of their own; one that takes too long counts as
killed. A run of all fast tests on instrumented source maps the test files that reach each place; the map is stored in
the folder for temporary files, and made again when the source changes, or only for test files that changed. The exit
code is 1 if less than the share of the changes is killed; what no test reaches is not. Where more than 60 test files
reach a place, the 60 run that reach most of its module.

No library does this: mutmut starts a test run for each function, cosmic-ray runs one command for each change, whatever
reaches it, and neither changes SQL or draws a sample by a seed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGES = ("base", "store", "redaction", "find", "keep")
ONLY_SLOW_TESTS = ("satchel/store/postgres/", "satchel/find/index_postgres")
COMPARISONS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.In: ast.NotIn}
COMPARISONS |= {new: old for old, new in COMPARISONS.items()}
SQL = re.compile(rb"\b(SELECT|WHERE|FROM|AND|ORDER BY|SET)\b")
SQL_CHANGES = {b" < ": b" <= ", b" <= ": b" < ", b" > ": b" >= ", b" >= ": b" > ", b" AND ": b" OR ", b" OR ": b" AND "}
SQL_CHANGES |= {b"IS NULL": b"IS NOT NULL", b"IS NOT NULL": b"IS NULL", b"NOT EXISTS": b"EXISTS", b" DESC": b""}
SQL_OPERATOR = re.compile(b"|".join(SQL_CHANGES))
NEAREST = (0, 4, 20, 60)
"""Where the nearest test files are cut into runs: most changes fail in the first. Those after the last are not run."""
TEST_SECONDS, RUN_SECONDS, MEMORY = 60, 900, 12 << 30


class Mutant(NamedTuple):
    """A change of the source: ``old`` becomes ``new`` at an offset of a file."""

    file: str
    line: int
    block: str
    start: int
    old: bytes
    new: bytes

    def apply(self, source: bytes) -> bytes:
        """Return the changed source of the file."""
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Yield every change inside the functions of a module."""
    source = text.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for block, statement in _statements(ast.parse(text).body):
        if isinstance(statement, ast.FunctionDef):  # its defaults are reached with its body
            block = statement.body[0].lineno  # noqa: PLW2901
        if block is not None:
            for node, new in _changes(statement):
                start = starts[node.lineno - 1] + node.col_offset
                old = source[start : starts[node.end_lineno - 1] + node.end_col_offset]
                for at, before, after in [(0, old, new.encode())] if new else _other_sql(old):
                    line = node.lineno + old[:at].count(b"\n")
                    yield Mutant(file, line, f"{file}:{block}", start + at, before, after)


def _other_sql(text: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    if SQL.search(text):
        for match in SQL_OPERATOR.finditer(text):
            yield match.start(), match[0], SQL_CHANGES[match[0]]


def _statements(
    body: list[ast.stmt], *, is_inside: bool = False, block: int | None = None
) -> Iterator[tuple[int | None, ast.stmt]]:
    """Yield statements with the line of their block: of all between two that have bodies; None outside functions."""
    is_first = block is None
    for statement in body:
        if is_first and is_inside:
            block = statement.lineno
        yield block, statement
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        parts += [part.body for name in ("handlers", "cases") for part in getattr(statement, name, [])]
        for part in filter(None, parts):
            is_elif = isinstance(statement, ast.If) and part[0].col_offset == statement.col_offset
            is_function = isinstance(statement, ast.FunctionDef)
            yield from _statements(part, is_inside=is_inside or is_function, block=block if is_elif else None)
        is_first = any(parts)


def _changes(statement: ast.stmt) -> Iterator[tuple[Any, str]]:
    roots = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.expr | ast.withitem)]
    match statement:
        case ast.Assert() | ast.ClassDef() | ast.Expr(value=ast.Constant()):
            return
        case ast.FunctionDef():
            roots = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
        case ast.AnnAssign():
            roots = [statement.value] if statement.value else []
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Delete():
            yield statement, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield statement, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield test, f"(not ({ast.unparse(test)}))"
    for root in roots:
        for node in _expressions(root):
            yield from ((node, new) for new in _other_expressions(node))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # of zip: a check of what cannot happen
    yield node
    if not isinstance(node, ast.JoinedStr):  # Python 3.11 has wrong positions inside
        for child in ast.iter_child_nodes(node):
            yield from _expressions(child)


def _other_expressions(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for at, operator in enumerate(ops):
                changed = [*ops[:at], COMPARISONS[type(operator)](), *ops[at + 1 :]]
                yield f"({ast.unparse(ast.Compare(left, changed, others))})"
        case ast.BoolOp(op=operator, values=values):
            yield f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=other) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield f"({ast.unparse(ast.IfExp(test, other, body))})"
        case ast.Constant(value=bool() as value):
            yield repr(not value)
        case ast.Constant(value=int() as value):
            yield repr(value + 1)
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield ""  # its SQL is changed in the source


def instrument(file: str, text: str) -> str:
    """Return the text of a module that records which blocks are reached."""
    lines = text.splitlines(keepends=True)
    for block, statement in sorted(_statements(ast.parse(text).body), key=lambda each: -each[1].lineno):
        if block == statement.lineno and ast.unparse(statement) != "...":
            is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            first = min([node.lineno for node in getattr(statement, "decorator_list", [])], default=statement.lineno)
            at = statement.end_lineno or 0 if is_docstring else first - 1
            lines.insert(at, f"{' ' * statement.col_offset}_reach_('{file}:{block}')\n")
    future = "from __future__ import annotations\n"
    return "".join(lines).replace(future, f"{future}from satchel._reached import reach as _reach_\n", 1)


# The hooks of pytest: this file is a plugin of the run on instrumented source.
_blocks: dict[str, set[str]] = {}
_failures: list[str] = []


def _count(path: Path) -> None:
    blocks = sys.modules["satchel._reached"].blocks
    if path.is_file():
        _blocks.setdefault(path.relative_to(ROOT).as_posix(), set()).update(blocks)
    blocks.clear()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Count what the import of a test file reaches."""
    report = yield
    _count(collector.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Count what a test and its fixtures reach."""
    result = yield
    _count(item.path)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record a test that fails on instrumented source."""
    if report.failed:
        _failures.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write what this process counted."""
    blocks = {file: sorted(blocks) for file, blocks in _blocks.items()}
    Path(os.environ["MUTANTS_PARTS"], f"{os.getpid()}.json").write_text(json.dumps([blocks, _failures]))


class Place:
    """A folder with a copy of src, in which one run of pytest works at a time."""

    def __init__(self, folder: str) -> None:
        self.source = Path(shutil.copytree(SOURCE, Path(folder, "src")))
        self.temporary = Path(folder, "tmp")

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run fast tests; return the exit code, which is not 0 after a time-out, and the output."""
        path = os.pathsep.join([str(self.source), str(ROOT / "scripts")])
        own = {"TMPDIR": str(self.temporary), "HYPOTHESIS_STORAGE_DIRECTORY": str(self.temporary / "examples")}
        own |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "MUTANTS_PARTS": str(self.source)}
        self.temporary.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-m", "not referee and not slow", *arguments],
            cwd=ROOT,
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),  # noqa: PLW1509
        )
        try:
            output, _ = process.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            output = "time-out"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            shutil.rmtree(self.temporary, ignore_errors=True)
        return process.wait(), output


def load_map(jobs: int) -> dict[str, Any]:
    """Return the blocks that each test file reaches, and the tests that fail on a copy of the source."""
    file = Path(tempfile.gettempdir(), f"satchel-mutants-{_digest(str(ROOT).encode())[:12]}.json")
    stored = json.loads(file.read_text()) if file.exists() else {}
    source = _digest(*(path.read_bytes() for path in sorted(SOURCE.rglob("*.py"))))
    if stored.get("source") != source:
        stored = {"source": source, "digests": {}, "blocks": {}, "failing": []}
    digests = {
        path.relative_to(ROOT).as_posix(): _digest(path.read_bytes()) for path in ROOT.glob("tests/**/test_*.py")
    }
    changed = [path for path, digest in digests.items() if stored["digests"].get(path) != digest]
    if changed:
        print(f"mapping {len(changed)} test files to {file}", file=sys.stderr)
        blocks = {
            path: reached for path, reached in stored["blocks"].items() if path in digests and path not in changed
        }
        failing = {test for test in stored["failing"] if test.split("::")[0] not in changed}
        for part, failures in _run_instrumented(changed if stored["digests"] else ["tests"], jobs):
            failing.update(failures)
            for path, reached in part.items():
                blocks[path] = sorted({*blocks.get(path, []), *reached})
        stored |= {"digests": digests, "blocks": blocks, "failing": sorted(failing)}
        file.write_text(json.dumps(stored))
    return stored


def _run_instrumented(paths: Sequence[str], jobs: int) -> Iterator[tuple[dict[str, list[str]], list[str]]]:
    with _folder() as folder:
        place = Place(folder)
        (place.source / "satchel/_reached.py").write_text("blocks = set()\nreach = blocks.add\n")
        for name in _mutable():
            (place.source / name).write_text(instrument(name, (SOURCE / name).read_text(encoding="utf-8")))
        code, output = place.run("-n", str(jobs), "-p", "mutants", *paths)
        if code not in {0, 1}:
            raise SystemExit(f"the tests could not run on instrumented source:\n{output[-4000:]}")
        for part in place.source.glob("*.json"):
            yield json.loads(part.read_text())


def _mutable() -> list[str]:
    files = (path for name in PACKAGES for path in sorted((SOURCE / "satchel" / name).rglob("*.py")))
    names = (path.relative_to(SOURCE).as_posix() for path in files)
    return [name for name in names if not name.startswith(ONLY_SLOW_TESTS)]


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()


def _folder() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")  # noqa: S108
    return tempfile.TemporaryDirectory(prefix="mutants-", dir=memory if memory.is_mount() else None)


def attempt(mutant: Mutant, reached: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return whether a change is killed, and by which test, survives, or is not reached."""
    files = [file for file, blocks in reached["blocks"].items() if mutant.block in blocks]
    files.sort(key=lambda file: _nearness(file, reached["blocks"][file], mutant.file), reverse=True)
    result: dict[str, Any] = {"result": "survived" if files else "not reached", "place": f"{mutant.file}:{mutant.line}"}
    result |= {"old": mutant.old.decode(), "new": mutant.new.decode(), "files": len(files)}
    left_out = [f"--deselect={test}" for test in reached["failing"]]
    path = place.source / mutant.file
    source = path.read_bytes()
    path.write_bytes(mutant.apply(source))
    for part in filter(None, (files[start:end] for start, end in pairwise(NEAREST))):
        code, output = place.run(
            "-x",
            "-p",
            "no:randomly",
            "-p",
            "no:xdist",
            f"--timeout={TEST_SECONDS}",
            "--timeout-method=thread",
            *left_out,
            *part,
        )
        if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            test = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
            result |= {"result": "killed", "by": test[1] if test else output[-300:]}
            break
    path.write_bytes(source)
    return result


def _nearness(test: str, blocks: Sequence[str], file: str) -> tuple[bool, int]:
    """Return whether a test file is named after a module, and how much of the module it reaches."""
    is_namesake = Path(test).name.startswith(f"test_{Path(file).stem}")
    return is_namesake, sum(block.startswith(f"{file}:") for block in blocks)


def main(arguments: Sequence[str]) -> int:
    """Try changes, print the result of each, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.9, help="of the changes that must be killed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only modules whose path contains one of these")
    options = parser.parse_args(arguments)
    files = [file for file in _mutable() if not options.paths or any(path in file for path in options.paths)]
    mutants = [each for file in files for each in mutants_of(file, (SOURCE / file).read_text(encoding="utf-8"))]
    random.Random(options.seed).shuffle(mutants)  # noqa: S311
    reached = load_map(options.jobs)
    places: SimpleQueue[Place] = SimpleQueue()

    def work(mutant: Mutant) -> dict[str, Any]:
        place = places.get()
        try:
            return attempt(mutant, reached, place)
        finally:
            places.put(place)

    results = []
    with _folder() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            places.put(Place(f"{folder}/{number}"))
        for future in as_completed([pool.submit(work, mutant) for mutant in mutants[: options.count]]):
            one = future.result()
            results.append(one)
            line = f"{one['result']:11} {one['place']}: {one['old']!r} -> {one['new']!r}"
            print(line, file=sys.stderr if options.json else sys.stdout, flush=True)
    killed = sum(one["result"] == "killed" for one in results)
    if options.json:
        print(
            json.dumps(
                {"seed": options.seed, "drawn_from": len(mutants), "killed": killed, "changes": results}, indent=1
            )
        )
    else:
        print(f"{killed} of {len(results)} killed; drawn from {len(mutants)} changes")
    return 0 if killed >= options.share * len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
