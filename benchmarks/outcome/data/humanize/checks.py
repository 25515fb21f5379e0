"""Mechanical checks of the tasks on humanize.

Each check gets the worked-on clone and the pristine one. Programs run on a copy of the package, in this Python.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

Check = Callable[[Path, Path], bool]

_DELTA = """
import datetime as dt
from decimal import Decimal
from humanize import shortdelta
assert "26" in shortdelta(26) and "5" in shortdelta(dt.timedelta(hours=5))
"""

_SIZE = """
import gettext
import humanize
from humanize import i18n
from humanize import parse_size
assert parse_size("3 MB") == 3_000_000 and parse_size("10 KiB") == 10_240
def refuses(text):
    try:
        parse_size(text)
    except ValueError:
        return True
    return False
"""


def _run(clone: Path, program: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "humanize"
        if not (clone / "src/humanize").is_dir():
            return False
        shutil.copytree(clone / "src/humanize", package, ignore=shutil.ignore_patterns("__pycache__"))
        version = package / "_version.py"
        if not version.exists():
            version.write_text('__version__ = "0"\n')
        script = Path(folder) / "program.py"
        script.write_text(program, encoding="utf-8")
        try:
            done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def _delta(program: str) -> Check:
    return lambda clone, _pristine: _run(clone, _DELTA + program)


def _size(program: str) -> Check:
    return lambda clone, _pristine: _run(clone, _SIZE + program)


def _trees(clone: Path, folder: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((clone / folder).rglob("*.py")):
        try:
            yield path.relative_to(clone), ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _definitions(clone: Path, name: str) -> Iterator[tuple[Path, ast.Module, ast.FunctionDef]]:
    for path, tree in _trees(clone, "src/humanize"):
        for function in _functions(tree):
            if function.name == name:
                yield path, tree, function


def _tests_of(clone: Path, name: str) -> Iterator[ast.FunctionDef]:
    for _path, tree in _trees(clone, "tests"):
        uses = {function.name for function in _functions(tree) if name in ast.unparse(function)}
        for function in _functions(tree):
            if function.name.startswith("test") and any(word in ast.unparse(function) for word in (name, *uses)):
                yield function


def _cases_with_id(clone: Path, name: str) -> int:
    count = 0
    for path, tree in _trees(clone, "tests"):
        if name not in (clone / path).read_text(encoding="utf-8"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                function, options = (
                    ast.unparse(node.func).rpartition(".")[2],
                    {keyword.arg for keyword in node.keywords},
                )
                count += (function == "param" and "id" in options) or (function == "parametrize" and "ids" in options)
    return count


def _named_cases(name: str) -> Check:
    """Pass if the files that test the function got cases with ids, and no new test of it has bare tuples."""

    def check(clone: Path, pristine: Path) -> bool:
        old = {function.name for _path, tree in _trees(pristine, "tests") for function in _functions(tree)}
        for function in _tests_of(clone, name):
            for decorator in function.decorator_list:
                if function.name in old or not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
                    continue
                cases, options = decorator.args[1], {keyword.arg for keyword in decorator.keywords}
                tuples = isinstance(cases, ast.List | ast.Tuple) and any(
                    isinstance(case, ast.Tuple) for case in cases.elts
                )
                if tuples and "ids" not in options:
                    return False
        return _cases_with_id(clone, name) > _cases_with_id(pristine, name)

    return check


def _news(name: str) -> Check:
    """Pass if a new file under docs/news has the function in its name or text."""

    def check(clone: Path, pristine: Path) -> bool:
        for path in (clone / "docs/news").rglob("*"):
            new = path.is_file() and not (pristine / path.relative_to(clone)).exists()
            if new and (name in path.name or name in path.read_text(encoding="utf-8", errors="replace")):
                return True
        return False

    return check


def _keyword_only(clone: Path, _pristine: Path) -> bool:
    return any(
        len(function.args.posonlyargs + function.args.args) == 1 and function.args.kwonlyargs
        for _path, _tree, function in _definitions(clone, "shortdelta")
    )


def _own_test_file(clone: Path, _pristine: Path) -> bool:
    path = clone / "tests/test_shortdelta.py"
    return path.exists() and any(test in path.read_text(encoding="utf-8") for test in ("def test", "class Test"))


def _contexts(clone: Path) -> int:
    count = 0
    for path, tree in _trees(clone, "src/humanize"):
        if path.name == "i18n.py":
            continue
        names = {"_pgettext", "pgettext", "npgettext", "_npgettext"}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names |= {alias.asname for alias in node.names if alias.name in names and alias.asname}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).rpartition(".")[2] in names:
                count += isinstance(node.ctx, ast.Load)
    return count


def _short_context(clone: Path, pristine: Path) -> bool:
    return any(_definitions(clone, "shortdelta")) and _contexts(clone) > _contexts(pristine)


def _in_parse(clone: Path, _pristine: Path) -> bool:
    return any(
        path.as_posix().startswith(("src/humanize/parse.py", "src/humanize/parse/"))
        for path, _tree, _function in _definitions(clone, "parse_size")
    )


def _no_regex(clone: Path, _pristine: Path) -> bool:
    for _path, tree in _trees(clone, "src/humanize"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and any(alias.name in ("re", "regex") for alias in node.names):
                return False
            if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
                return False
    return any(_definitions(clone, "parse_size"))


def _roundtrip(clone: Path, _pristine: Path) -> bool:
    return any("roundtrip" in test.name.replace("_", "").lower() for test in _tests_of(clone, "parse_size"))


CHECKS: dict[str, dict[str, Check]] = {
    "task1": {
        # The definition has one positional parameter and the others after a bare `*`.
        "kwonly": _keyword_only,
        # A list and an object of an unknown class raise TypeError, and their types are named.
        "badvalue": _delta("""
class Kettle: pass
for value in (Kettle(), ["a"]):
    try:
        shortdelta(value)
    except TypeError as error:
        assert type(value).__name__ in str(error)
    else:
        raise AssertionError
"""),
        # tests/test_shortdelta.py exists and has tests.
        "testfile": _own_test_file,
        # Parametrized tests of the function name their cases.
        "ids": _named_cases("shortdelta"),
        # A new file in docs/news names the function.
        "news": _news("shortdelta"),
        # Three minutes have "min".
        "duration.short.units": _delta("""
text = shortdelta(180)
assert "min" in text and "minute" not in text
"""),
        # Days and hours are parted by a no-break space, and nothing has a plain one.
        "duration.short.separator": _delta("""
text = shortdelta(86400 + 7200)
assert "\\u00a0" in text and " " not in text, ascii(text)
"""),
        # 400 days have the number 400.
        "duration.short.largest_unit": _delta("""
assert "400" in shortdelta(dt.timedelta(days=400))
"""),
        # Zero and half a second read `<1s`.
        "duration.short.zero": _delta("""
for value in (0, 0.5, dt.timedelta(0)):
    assert "".join(shortdelta(value).split()) == "<1s"
"""),
        # Minus two hours begin with U+2212.
        "sign.minus": _delta("""
for value in (-7200, dt.timedelta(hours=-2)):
    assert shortdelta(value).startswith("\\u2212") and "2" in shortdelta(value)
"""),
        # 999,999 days are answered, though no calendar goes back so far.
        "overflow": _delta("""
assert shortdelta(dt.timedelta(days=999_999))
"""),
        # True raises TypeError.
        "boolval": _delta("""
try:
    shortdelta(True)
except TypeError:
    pass
else:
    raise AssertionError
"""),
        # More uses of `_pgettext`, under whatever name, than before, outside i18n.py.
        "shortctx": _short_context,
        # Decimal seconds give what whole seconds give.
        "decimalsec": _delta("""
assert shortdelta(Decimal("90")) == shortdelta(90) and shortdelta(Decimal("90.25")).startswith("1")
"""),
    },
    "task2": {
        # The function is defined in parse.py.
        "parse_place": _in_parse,
        # The message for rubbish begins with the function's name and a colon.
        "parse_msg": _size("""
try:
    parse_size("rubbish")
except ValueError as error:
    assert str(error).startswith("parse_size:")
else:
    raise AssertionError
"""),
        # A test of the function has "roundtrip" in its name.
        "roundtrip": _roundtrip,
        # No module of the package imports `re`.
        "nore": _no_regex,
        # Parametrized tests of the function name their cases.
        "ids": _named_cases("parse_size"),
        # A new file in docs/news names the function.
        "news": _news("parse_size"),
        # Megabits are refused.
        "parse.bits": _size("assert refuses('8 Mb') and refuses('8 Kib') and not refuses('8 MiB')"),
        # A started byte counts.
        "parse.rounding": _size("assert parse_size('1.0001 kB') == 1001"),
        # A size below zero is refused.
        "parse.negative": _size("assert refuses('-5 MB') and refuses('-5')"),
        # Digits of other scripts are refused.
        "parse.digits": _size("assert refuses('\\uff11\\uff12 MB') and refuses('\\u0663 MB')"),
        # A number of 16 digits is read whole.
        "decimal53": _size("""
assert parse_size("9007199254740993") == 9007199254740993
assert parse_size("9.007199254740993 PB") == 9007199254740993
"""),
        # What a translation made of the suffix is read while it is active, and the English one still is.
        "suffixfr": _size("""
class French(gettext.NullTranslations):
    def gettext(self, message):
        return {"MB": "Mo", "kB": "ko"}.get(message, message)
i18n._TRANSLATIONS["xx"] = French()
i18n._CURRENT.locale = "xx"
assert parse_size("3.0 Mo") == parse_size(humanize.naturalsize(3_000_000)) == parse_size("3 MB") == 3_000_000
"""),
        # A thousand with an apostrophe is read.
        "apostrophe": _size('assert parse_size("1\'024 kB") == 1_024_000'),
        # "About" is read over.
        "tilde": _size("assert parse_size('~3 GB') == 3_000_000_000 and parse_size('\\u2248 3 GB') == 3_000_000_000"),
    },
}
