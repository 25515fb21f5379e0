"""What the processes started by the tests do: run as ``python children.py TASK ARGUMENTS``.

They speak in lines: what a task says goes to its output, and it waits for lines on its input, never for time.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import apsw

from satchel.base.errors import ReadOnly, SatchelError, StoreFull
from satchel.client import Satchel, open_satchel
from satchel.keep.entries.records import Entry
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from satchel.store.turnstile import Turnstile


def _say(line: object) -> None:
    print(line, flush=True)  # noqa: T201 -- how it speaks


def _hear() -> str:
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    return line.rstrip("\n")


def _open(store: str) -> Satchel:
    folder = Path(store).parent
    return open_satchel(store, project="p", run=None, cwd=folder, environ={})


def _serve(store: str) -> None:
    """Write and read on command, with the store open all the while."""
    with _open(store) as satchel:
        _say("ready")
        while True:
            command, _, rest = _hear().partition(" ")
            try:
                match command:
                    case "write":
                        _say(satchel.entries.write("discovery", rest).seq)
                    case "read":
                        page = satchel.entries.read(limit=1)
                        _say(f"{page.total} {page.entries[0].content}")
                    case _:
                        return
            except SatchelError as error:
                _say(error.code)


def _start(store: str) -> None:
    """Make or open the store at the same moment as others."""
    with closing(SqliteEngine(Access(Path(store)))) as engine:
        _say("ready")
        _hear()
        with engine.write() as transaction:
            transaction.run(
                "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)",
                {"uid": os.urandom(16), "name": f"p{os.getpid()}"},
            )
        _say("started")


def _write_many(store: str, name: str, count: str) -> None:
    """Write entries as fast as possible, at the same moment as others."""
    with _open(store) as satchel:
        _say("ready")
        _hear()
        for number in range(int(count)):
            satchel.entries.write("discovery", f"{name} {number}", agent=name)
        _say("written")


def _write_for_ever(store: str) -> None:
    """Say the uid of every entry once it was acknowledged, until killed or until the input ends."""
    with _open(store) as satchel:
        while True:
            _say(satchel.entries.write("discovery", "x" * 3_000).uid)


def _write_until_told(store: str) -> None:
    """Write until the parent touches the file ``stop`` beside the store; say each seq once acknowledged."""
    stop = Path(store).with_name("stop")
    with _open(store) as satchel:
        while not stop.exists():
            _say(satchel.entries.write("discovery", "written meanwhile").seq)


def _hold_turn(store: str) -> None:
    turnstile = Turnstile(Path(store))
    _say("held" if turnstile.enter(0) else "refused")
    _hear()
    turnstile.leave()
    _say("left")


def _wait_for_turn(store: str) -> None:
    turnstile = Turnstile(Path(store))
    _say("waiting")
    _say("held" if turnstile.enter(60) else "refused")
    turnstile.close()


def _hold_turn_and_fork(store: str) -> None:
    """Hold the turn inside a transaction, and have a forked child outlive this process."""
    with closing(SqliteEngine(Access(Path(store)))) as engine, engine.write():
        if os.fork() == 0:
            _say("forked")
            _hear()
            os._exit(0)
        while True:
            os.wait()


def _lock(store: str) -> None:
    connection = apsw.Connection(store)
    connection.execute("BEGIN IMMEDIATE")
    _say("locked")
    _hear()
    connection.execute("ROLLBACK")
    connection.close()
    _say("unlocked")


def _fork(store: str) -> None:
    """Use one Satchel on both sides of a fork; the parent closes while the child still writes."""
    satchel = _open(store)
    satchel.entries.write("discovery", "parent before")
    to_child, to_parent = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        satchel.entries.write("discovery", "child at once")
        assert satchel.entries.read().total == 2
        os.write(to_parent[1], b".")
        os.read(to_child[0], 1)
        satchel.entries.write("discovery", "child after the parent closed")
        os._exit(0)
    os.read(to_parent[0], 1)
    satchel.entries.write("discovery", "parent after the child")
    satchel.close()
    os.write(to_child[1], b".")
    _, status = os.waitpid(child, 0)
    _say(f"child {os.waitstatus_to_exitcode(status)}")
    for entry in satchel.entries.read(order="asc"):
        _say(entry.content)
    satchel.close()


def _fork_inside(store: str) -> None:
    """Fork inside a transaction: the child must not use what is the parent's, and the parent goes on."""
    engine = SqliteEngine(Access(Path(store)))
    insert = "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)"
    child = -1
    try:
        with engine.write() as transaction, engine.read() as reading:
            transaction.run(insert, {"uid": os.urandom(16), "name": "parent"})
            child = os.fork()
            if child == 0:
                for use in (transaction.all, reading.all):
                    try:
                        use("SELECT 1")
                    except SatchelError as error:
                        _say(f"inside {error.code}")
            else:
                _, status = os.waitpid(child, 0)
    except SatchelError as error:
        _say(f"leaving {error.code}")
    if child == 0:
        try:
            with engine.write() as transaction:
                _say("wrote")
        except SatchelError as error:
            _say(f"again {error.code}")
        os._exit(0)
    with engine.read() as transaction:
        _say(f"child {os.waitstatus_to_exitcode(status)}, {transaction.all('SELECT name FROM projects')}")
    engine.close()


def _mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "satchel-test", folder], check=True)


def _fill_disk(folder: str) -> None:
    """Fill a small file system until writing fails, make room, and go on. There is room for some checkpoints."""
    place = Path(folder)
    _mount(place, "size=11m,mode=700")
    ballast = place / "ballast"
    ballast.write_bytes(b"x" * 400_000)
    with _open(str(place / "s.db")) as satchel:
        written: list[str] = []
        try:
            while True:
                written.append(satchel.entries.write("discovery", "y" * 20_000).uid)
        except StoreFull:
            _say("full")
        kept = {entry.uid for entry in _all_entries(satchel)}
        _say(f"kept all {bool(written) and kept == set(written)}")
        ballast.unlink()
        satchel.entries.write("discovery", "there is room again")
        kept = {entry.uid for entry in _all_entries(satchel)}
        _say(f"went on {len(kept) == len(written) + 1}")
        _say([check.status for check in satchel.housekeeping.doctor() if check.name in {"file", "index"}])


def _fill_before_the_start(folder: str) -> None:
    """Open a new store where there is no room for one."""
    place = Path(folder)
    _mount(place, "size=64k,mode=700")
    filler = place / "filler"
    with filler.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4_096)
        except OSError:
            _say("filled")
    with _open(str(place / "s.db")) as satchel:
        try:
            satchel.entries.write("discovery", "no room")
        except StoreFull as error:
            _say(error.code)


def _read_only_mount(folder: str) -> None:
    """Read a cleanly closed store on a file system mounted for reading only."""
    place = Path(folder)
    _mount(place, "size=8m,mode=700")
    with _open(str(place / "s.db")) as satchel:
        satchel.entries.write("discovery", "kept")
    before = sorted(path.name for path in place.iterdir())
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    with _open(str(place / "s.db")) as satchel:
        _say([entry.content for entry in satchel.entries.read()])
        try:
            satchel.entries.write("discovery", "refused")
        except ReadOnly as error:
            _say(error)
        _say([check.status for check in satchel.housekeeping.doctor() if check.name in {"store", "file", "index"}])
    _say(sorted(path.name for path in place.iterdir()) == before)
    with _open(str(place / "new.db")) as satchel:
        _say(satchel.entries.read().total)
        try:
            satchel.entries.write("discovery", "refused")
        except ReadOnly as error:
            _say(error)


def _read_only_mount_with_wal(folder: str) -> None:
    """Read a store whose WAL was left by a killed process: what it holds must not be passed over."""
    place = Path(folder)
    _mount(place, "size=8m,mode=700")
    file = place / "s.db"
    with _open(str(file)) as satchel:
        satchel.entries.write("discovery", "in the file")
    child = os.fork()
    if child == 0:
        killed = _open(str(file))
        killed.entries.write("discovery", "only in the WAL")
        os._exit(0)  # as if killed: nothing is closed
    os.waitpid(child, 0)
    file.with_name("s.db-shm").unlink()
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    with _open(str(file)) as satchel:
        try:
            _say(satchel.entries.read().total)
        except ReadOnly as error:
            _say(error)


_WRITES: tuple[tuple[str, dict[str, object]], ...] = (
    ("write_context", {"type": "discovery", "content": "kept", "file": "a.py"}),
    ("write_context", {"type": "scratchpad", "content": {"iteration": 1, "done": True, "next_step": "y"}}),
    ("set_decision", {"key": "cache", "value": "redis", "layer": "data", "tags": ["api"]}),
    ("add_constraint", {"category": "security", "text": "Keep the keys out of the log"}),
    ("review_item", {"id": "c1", "verdict": "retract", "evidence": "it is done elsewhere"}),
    ("report_error", {"error_type": "ValueError", "message": "3 is no port", "solution": "Parse it first"}),
    ("report_outcome", {"id": "y1", "helped": True}),
    ("save_package", {"type": "research", "summary": "Ports", "content": "All of them", "task_id": "t"}),
    ("save_strategy", {"topic": "ports", "insight": "Parse them first"}),
    ("send_message", {"to": "b", "type": "info", "message": "hello"}),
    ("mark_read", {"all": True, "agent": "b"}),
    ("record_file_change", {"file": "a.py", "change": "modified"}),
    ("claim_files", {"paths": ["a.py"]}),
    ("release_files", {}),
    ("clear_old_data", {"messages_hours": 0, "confirm": True}),
)


def _write_and_then_fail(store: str) -> None:
    """Call each tool that writes in a process of its own, in which nothing can be loaded or read after a commit."""
    from satchel.interfaces.mcp.call import Call
    from satchel.interfaces.mcp.registry import Registry
    from satchel.interfaces.operations.as_tool import ALL_TOOLS

    registry = Registry(ALL_TOOLS)
    for name, arguments in _WRITES:
        if os.fork() == 0:
            satchel = open_satchel(store, project="p", agent="a", cwd=Path(store).parent, environ={})
            engine = satchel.workplace.engine
            assert isinstance(engine, SqliteEngine)
            commit = engine._commit

            def fail(*_: object, **__: object) -> NoReturn:
                raise OSError(errno.EMFILE, "Too many open files")

            def commit_and_fail(
                connection: apsw.Connection, engine: SqliteEngine = engine, commit: Callable[..., None] = commit
            ) -> None:
                commit(connection)
                sys.meta_path.insert(0, SimpleNamespace(find_spec=fail))
                setattr(engine, "read", fail)  # noqa: B010 -- mypy forbids the assignment

            setattr(engine, "_commit", commit_and_fail)  # noqa: B010
            opened = [satchel]
            outcome = registry.run(registry.tool(name), arguments, Call(opened.pop))
            _say(f"{name}: {engine.commits} {outcome.is_error} {outcome.text.splitlines()[0]}")
            os._exit(0)
        os.wait()


def _command_and_then_fail(*arguments: str) -> None:
    """Run a command, in which nothing below the interfaces can be loaded after the first commit."""
    from satchel.interfaces import cli

    commit = SqliteEngine._commit

    def fail(name: str, *_: object) -> None:
        if name.startswith(("satchel.keep", "satchel.find")):
            raise OSError(errno.EMFILE, f"Too many open files: {name}")

    def commit_and_fail(engine: SqliteEngine, connection: apsw.Connection) -> None:
        commit(engine, connection)
        sys.meta_path.insert(0, SimpleNamespace(find_spec=fail))

    setattr(SqliteEngine, "_commit", commit_and_fail)  # noqa: B010
    _say(cli.run(arguments))


def _all_entries(satchel: Satchel) -> Iterator[Entry]:
    offset: int | None = 0
    while offset is not None:
        page = satchel.entries.read(limit=500, offset=offset)
        yield from page
        offset = page.next_offset


_TASKS: dict[str, Callable[..., None]] = {
    "serve": _serve,
    "start": _start,
    "write-many": _write_many,
    "write-for-ever": _write_for_ever,
    "write-until-told": _write_until_told,
    "hold-turn": _hold_turn,
    "wait-for-turn": _wait_for_turn,
    "hold-turn-and-fork": _hold_turn_and_fork,
    "lock": _lock,
    "fork": _fork,
    "fork-inside": _fork_inside,
    "fill-disk": _fill_disk,
    "fill-before-the-start": _fill_before_the_start,
    "write-and-then-fail": _write_and_then_fail,
    "command-and-then-fail": _command_and_then_fail,
    "read-only-mount": _read_only_mount,
    "read-only-mount-with-wal": _read_only_mount_with_wal,
}


if __name__ == "__main__":
    _TASKS[sys.argv[1]](*sys.argv[2:])
