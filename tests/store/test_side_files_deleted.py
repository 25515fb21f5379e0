"""``-wal`` or ``-shm`` deleted under a writing process: the next write is refused, and no acknowledged one lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel import NotFound, open_satchel

_WRITER = """
import sys
from satchel import SatchelError, open_satchel
satchel = open_satchel(cwd=sys.argv[1])
reader = open_satchel(cwd=sys.argv[1], read_only=True)  # as in a server
print("open", flush=True)
for line in sys.stdin:
    try:
        satchel.entries.write("discovery", line.strip(), agent="ann")
    except SatchelError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    else:
        reader.entries.read()
        print("kept", flush=True)
"""


class Writer:
    """A process that writes a note for each line, and answers after each."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.acknowledged: list[str] = []

    def write(self, note: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{note}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer == "kept":
            self.acknowledged.append(note)
        return answer


@contextmanager
def writing(project: Path) -> Iterator[Writer]:
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield Writer(process)
        finally:
            process.kill()


def stored(project: Path) -> set[str]:
    with writing(project) as reader:
        reader.write("read by another process")
    code = (
        "import sys; from satchel import open_satchel\n"
        "for entry in open_satchel(cwd=sys.argv[1]).entries.read(limit=100).entries: print(entry.content)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(project)], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


@pytest.mark.parametrize("names", [("-wal",), ("-shm",), ("-wal", "-shm")])
def test_the_next_write_is_refused_and_nothing_acknowledged_is_lost(project: Path, names: tuple[str, ...]) -> None:
    store = project / ".satchel" / "satchel.db"
    with writing(project) as first:
        assert [first.write(f"before {number}") for number in range(3)] == ["kept"] * 3
        for name in names:
            Path(f"{store}{name}").unlink()
        assert "deleted or replaced while the store was open; nothing was written" in first.write("refused")
        assert first.write("after") == "kept"
    notes = stored(project)
    assert set(first.acknowledged) <= notes
    assert "refused" not in notes


@pytest.mark.parametrize("name", ["-wal", "-shm"])
def test_two_processes_that_write_go_on_after_it(project: Path, name: str) -> None:
    store = project / ".satchel" / "satchel.db"
    with writing(project) as first, writing(project) as second:
        assert [first.write("a"), second.write("b"), first.write("c")] == ["kept"] * 3
        Path(f"{store}{name}").unlink()
        assert "deleted or replaced" in first.write("refused")
        assert "deleted or replaced" in second.write("refused too")
        assert [first.write("d"), second.write("e"), first.write("f")] == ["kept"] * 3
        acknowledged = {*first.acknowledged, *second.acknowledged}
    assert acknowledged <= stored(project)


def test_a_read_that_ends_with_an_error_deletes_none(project: Path) -> None:
    with open_satchel(cwd=project, environ={}) as satchel:
        satchel.decisions.set("port", 80)
    with open_satchel(cwd=project, environ={}) as satchel:
        with pytest.raises(NotFound):
            satchel.decisions.get("prot")
        wal = satchel.place.file.with_name("satchel.db-wal")
        before = wal.stat().st_ino
        (project / "in its place").touch()  # so that a new file gets another number
        satchel.decisions.set("port", 443)
        assert wal.stat().st_ino == before
