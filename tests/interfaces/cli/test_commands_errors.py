"""What the command line says when something is wrong: one line, a stable code, its exit status, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from held_stores import held_by_another
from satchel import open_satchel
from satchel.base import errors
from satchel.base.errors import ERROR_KINDS, AnswerLost, SatchelError
from satchel.keep.entries.service import Entries

Cli = Callable[..., tuple[int, str, str]]

ERRORS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SatchelError) and kind is not AnswerLost
}


def fail_reading(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def read(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Entries, "read", read)


def test_every_code_has_an_error() -> None:
    assert ERRORS.keys() == ERROR_KINDS.keys()


@pytest.mark.parametrize("code", ERRORS)
def test_every_error_has_its_exit_status_and_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    fail_reading(monkeypatch, ERRORS[code]("it broke", "Mend it"))
    assert cli("read") == (ERROR_KINDS[code].exit_status, "", f"error [{code}]: it broke. Mend it\n")


@pytest.mark.parametrize("code", ERRORS)
def test_every_error_is_json_where_json_was_asked_for(cli: Cli, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    fail_reading(monkeypatch, ERRORS[code]("it broke", "Mend it"))
    status, out, err = cli("read", "--json")
    assert (status, out) == (ERROR_KINDS[code].exit_status, "")
    assert json.loads(err) == {"error": {"code": code, "problem": "it broke", "remedy": "Mend it"}}


def test_a_fault_of_ours_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_reading(monkeypatch, ZeroDivisionError("division by zero"))
    status, out, err = cli("read")
    assert (status, out) == (70, "")
    assert err.startswith("error [internal]: a fault in Satchel (ZeroDivisionError: division by zero).")
    assert err.count("\n") == 1


def test_a_fault_of_ours_is_shown_in_full_when_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_reading(monkeypatch, ZeroDivisionError())
    monkeypatch.setenv("SATCHEL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli("read")


def test_a_key_press_ends_a_command_with_its_status(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_reading(monkeypatch, KeyboardInterrupt())
    status, _, err = cli("read")
    assert (status, err.strip()) == (130, "error [interrupted]: stopped")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("reed",), "unknown command 'reed'. Did you mean `satchel read` or `satchel reject`? See `satchel --help`"),
        (("remember", "x"), "unknown command 'remember'. Did you mean `satchel write`? See `satchel --help`"),
        (("remembr", "x"), "unknown command 'remembr'. Did you mean `satchel write`? See `satchel --help`"),
        (("top",), "Did you mean `satchel status --watch` or `satchel status`?"),
        (("conversations",), "Did you mean `satchel consult --list`?"),
        (("move", "a", "b"), "Did you mean `satchel export` or `satchel import --as-written`?"),
        (("prune",), "Did you mean `satchel clear --notes`?"),
        (("compact",), "Did you mean `satchel clear --compact`?"),
        (("rm", "e1"), "Did you mean `satchel retract` or `satchel forget`?"),
        (("ls",), "Did you mean `satchel read`, `satchel rule list` or `satchel decisions`?"),
        (("rule", "delete", "c1"), "unknown command 'delete'. Did you mean `satchel retract` or `satchel forget`?"),
        (("run", "lst"), "unknown command 'lst'. Did you mean `satchel run list`? See `satchel run --help`"),
        (("update",), "docs/update.md in Satchel's repository"),
        (("remove",), "`satchel retract` or `satchel forget`?"),
        (("setup", "--undo"), "No such option '--undo'. Did you mean `satchel setup --remove`?"),
        (("message", "list", "--sent"), "Did you mean `satchel message sent`?"),
        (("message", "do not touch"), "Did you mean `satchel message send`?"),
        (("message", "reply", "m1"), "Did you mean `satchel message send --reply-to`?"),
        (("handover",), "Did you mean `satchel hook --explain claude SessionStart`?"),
        (("qqqq",), "unknown command 'qqqq'. See `satchel --help`"),
        (("search", "--no-verify"), "Before a text that begins with a dash put --, behind all options"),
        (("read", "--tpye", "x"), "No such option '--tpye'. Did you mean '--type'? See `satchel read --help`"),
        (("run", "strat"), "unknown command 'strat'. Did you mean `satchel run state` or `satchel run start`?"),
        (("read", "--limt", "3"), "'--limit'"),
        (("read", "--limit", "x"), "'x' is not a valid integer"),
        (("read", "--limit", "501"), "limit 501 is out of range. Give 0 to 500"),
        (("read", "--type", "discovry"), "Did you mean 'discovery'?"),
        (("read", "--order", "up"), "'up' is not one of 'desc', 'asc'"),
        (("read", "--since", "soon"), "since 'soon' is not a time"),
        (("write", "discovery", "x", "--loop", "{{loopId}}"), "unresolved placeholder"),
        (("write", "discovery", "x", "--file", "../x"), "names no file of the project"),
        (("write", "discovry", "x"), "Did you mean 'discovery'?"),
        (("rule", "add", "x", "--file", "a.py"), "No such option '--file'. Did you mean `satchel rule add --path`?"),
        (("rule", "list", "--file", "a.py"), "No such option '--file'. Did you mean `satchel rule list FILE`?"),
        (("write", "x", "y", "z"), "Got unexpected extra argument (z). Put a text of several words in quotes. See "),
        (("forget", "z12"), "is no item's id"),
        (("clear", "--notes", "--keep", "0"), "keep 0 is out of range"),
        (("mcp", "--toolsets", "contxt"), "Did you mean 'context'?"),
        (("stats", "--db", "missing/x.db"), "does not exist"),
        (("stats", "--db", "."), "is a folder"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_would_be_right(
    cli: Cli, arguments: tuple[str, ...], problem: str
) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error [invalid_input]: ")
    assert problem in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (("write", "Sessions live in src"), b"", ("discovery", "Sessions live in src")),
        (("write",), b"from a pipe\n", ("discovery", "from a pipe")),
        (("write", "-"), b"from a pipe\n", ("discovery", "from a pipe")),
        (("write", "error"), b"from a pipe\n", ("error", "from a pipe")),
        (("write", "error", "boom"), b"", ("error", "boom")),
    ],
)
def test_a_note_without_a_type_is_a_discovery(
    cli: Cli, arguments: tuple[str, ...], stdin: bytes, expected: tuple[str, str]
) -> None:
    status, out, _ = cli(*arguments, "--json", stdin=stdin)
    assert status == 0
    assert expected == (json.loads(out)["entries"][0]["type"], json.loads(out)["entries"][0]["content"])


def test_a_wrong_argument_is_json_where_json_was_asked_for(cli: Cli) -> None:
    status, _, err = cli("read", "--limt", "3", "--json")
    assert (status, json.loads(err)["error"]["code"]) == (2, "invalid_input")


@pytest.mark.parametrize("arguments", [(), ("run",)])
def test_a_group_alone_shows_its_help(cli: Cli, arguments: tuple[str, ...]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("Usage: satchel")


def test_a_refused_command_makes_no_file(cli: Cli, folder: Path) -> None:
    cli("reed")
    cli("read", "--limt", "3")
    cli("stats")
    assert [path.name for path in folder.iterdir()] == [".git"]


def test_an_unknown_run_is_not_found(cli: Cli) -> None:
    cli("run", "start", "login-page")
    status, _, err = cli("read", "--run", "login-pge")
    assert status == 3
    assert "Did you mean 'login-page'?" in err


def test_a_run_that_exists_is_a_conflict(cli: Cli) -> None:
    cli("run", "start", "r1")
    assert cli("run", "start", "r1")[0] == 4


def test_a_foreign_file_is_refused_and_left_as_it_is(cli: Cli, folder: Path) -> None:
    file = folder / "notes.txt"
    file.write_text("hello " * 2_000)
    for arguments in (("write", "discovery", "x"), ("read",), ("init",), ("clear", "--compact")):
        assert cli(*arguments, "--db", str(file))[0] == 10
    assert file.read_text() == "hello " * 2_000
    assert sorted(path.name for path in folder.iterdir()) == [".git", "notes.txt"]


def test_a_foreign_database_is_refused_and_left_as_it_is(cli: Cli, folder: Path) -> None:
    file = folder / "other.db"
    with closing(apsw.Connection(str(file))) as other:
        other.execute("CREATE TABLE mine (x)")
    before = file.read_bytes()
    assert cli("write", "discovery", "x", "--db", str(file))[0] == 10
    assert file.read_bytes() == before


def test_a_locked_store_is_busy(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("write", "discovery", "x")
    monkeypatch.setenv("SATCHEL_STORE_LOCK_WAIT_MS", "20")
    with open_satchel(cwd=folder, environ={}) as satchel, held_by_another(satchel):
        assert cli("write", "discovery", "y")[0] == 8


def test_a_name_that_is_no_text_is_refused(cli: Cli) -> None:
    assert cli("write", "discovery", "x", "--agent", "a\udcff")[0] == 2


def test_a_reader_that_leaves_is_no_failure(cli: Cli, folder: Path) -> None:
    for _ in range(3):
        cli("write", "discovery", stdin=b"a line\n" * 20_000)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "satchel", "read"], check=False, stdout=writer, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_output_is_no_failure(cli: Cli) -> None:
    cli("write", "discovery", "x")
    closing = ["sh", "-c", '"$0" -m satchel read >&-', sys.executable]
    done = subprocess.run(closing, check=False, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_of_another_encoding_gets_escapes(cli: Cli, how: tuple[str, ...]) -> None:
    cli("decide", "word", "é 漢")
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "decisions", *how],
        check=True,
        capture_output=True,
        timeout=60,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    if how:
        assert json.loads(done.stdout)["decisions"][0]["value"] == "é 漢"
    else:
        assert b"\\xe9 \\u6f22" in done.stdout


def test_help_loads_neither_the_store_nor_what_draws() -> None:
    script = """
import sys
from satchel.interfaces.cli import run
run(["--help"])
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("Usage: satchel")
    loaded = set(done.stderr.split())
    unwanted = {
        "satchel.store",
        "satchel.keep",
        "satchel.client",
        "apsw",
        "rich",
        "mcp",
        "pydantic",
        "anyio",
        "asyncio",
    }
    assert not loaded & unwanted


def test_the_program_and_the_module_are_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    from satchel import __version__

    assert done.stdout == f"satchel {__version__}\n"
