"""Disasters, and what each server's tools say of its notes afterwards."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.harness import ROOT, NotMeasuredError
from benchmarks.rivals.servers import Client, Home, Rival
from benchmarks.rivals.speed import write_together
from benchmarks.rivals.table import Cell, Rows

KILLS = 10
_WRITERS = 8
_WRITES_OF_EACH = 15
_DISK = "64m"
_FEW = 20
_MANY = 60
_PAGE = 4096
_ERROR_CHARS = 60

SECRETS = {
    "GitHub token": "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2",
    "AWS key": "AKIA" + "Q7ZT4MNB2WXC6RVY",
    "private key": "MIIEowIBAAKCAQEA" + "u5Jk9Qz8Xw3Tn6Rb1Vc4Lm7Yp2Hs0Dg",
}
_SECRET_NOTES = (
    f"The deploy token is {SECRETS['GitHub token']}.",
    f"aws_access_key_id = {SECRETS['AWS key']}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRETS['private key']}\n-----END RSA PRIVATE KEY-----",
)


@dataclass(frozen=True)
class Scene:
    """A rival whose store is about to suffer.

    Attributes:
        folder: an empty folder, for homes.
        older: where an earlier release is installed; None if it is not.
    """

    rival: Rival
    installed: Path
    older: Path | None
    folder: Path

    def home(self, name: str = "home", installed: Path | None = None) -> Home:
        """Make a home for one server."""
        return Home.make(self.rival, installed or self.installed, self.folder / name)


def _fill(home: Home, count: int = _FEW) -> range:
    with Client(home) as client:
        for number in range(count):
            client.write(number)
    return range(count)


def _fill_for_an_hour(scene: Scene, count: int) -> tuple[Home, range]:
    """Write half of the notes an hour ago, then a quarter in each of two sessions that follow each other at once."""
    _require("faketime")
    home = Home.make(scene.rival, scene.installed, scene.folder / "home", _clock("-1h"))
    numbers = range(count)
    for part in (numbers[: count // 2], numbers[count // 2 : count * 3 // 4], numbers[count * 3 // 4 :]):
        with Client(home) as client:
            for number in part:
                client.write(number)
        home = replace(home, prefix=())
    return home, numbers


def _clock(offset: str) -> Sequence[str]:
    return ("faketime", "-m", "-f", offset)


def _missing(home: Home, numbers: Iterable[int]) -> list[int]:
    with Client(home) as client:
        return client.missing(numbers)


def _short(error: object) -> str:
    text = re.sub(r"(?:/[\w.-]+)+/", "", str(error))  # folders of this machine
    text = " ".join(re.sub(r"[*#`\n]+", " ", text).split())
    return text if len(text) <= _ERROR_CHARS else text[:_ERROR_CHARS].rsplit(" ", 1)[0] + " ..."


def killed(scene: Scene) -> Cell:
    """Kill the server with SIGKILL in the middle of a write, again and again."""
    home = scene.home()
    chance = random.Random("kill")
    acknowledged: list[int] = []
    number = 0
    for _ in range(KILLS):
        client = Client(home)
        last = chance.randrange(3, 12)
        start = time.perf_counter()
        for _ in range(last):
            client.write(number)
            acknowledged.append(number)
            number += 1
        timer = threading.Timer(chance.uniform(0, 1) * (time.perf_counter() - start) / last, client.kill)
        timer.start()
        try:
            while True:
                client.write(number)
                acknowledged.append(number)
                number += 1
        except RuntimeError:
            number += 1
        timer.join()
        client.kill()
    lost = len(_missing(home, acknowledged))
    return Cell(f"{lost} of {len(acknowledged)}", lost)


def unplugged(scene: Scene) -> Cell:
    """Count the writes that are synced to the disk before they are answered; cut Satchel's power as its tests do."""
    _require("strace")
    home = scene.home()
    trace = scene.folder / "trace"
    calls = "trace=fsync,fdatasync,msync,sync_file_range"
    strace = ("strace", "-f", "--seccomp-bpf", "-q", "-ttt", "-e", calls, "-o", str(trace))
    spans = []
    with Client(replace(home, prefix=strace)) as client:
        client.write(0)
        for number in range(1, _FEW + 1):
            start = time.time()
            client.write(number)
            spans.append((start, time.time()))
    syncs = [float(time) for time in re.findall(r"^\d+ +(\d+\.\d+) .*sync", trace.read_text(), re.MULTILINE)]
    synced = sum(any(start <= sync <= end for sync in syncs) for start, end in spans)
    text = f"{synced} of {_FEW}"
    if scene.rival.name == "satchel":
        text += f"; {_cut_power()}"
    return Cell(text, _FEW - synced)


def _cut_power() -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "tests/store/test_power_failure.py"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout.decode()[-300:])
    return "0 lost in 48 simulated cuts"


def filled(scene: Scene) -> Cell:
    """Fill the disk while the server writes, then make room again."""
    with _small_disk(scene.folder / "disk") as disk:
        home = Home.make(scene.rival, scene.installed, disk / "home")
        with Client(home) as client:
            acknowledged = list(range(_FEW))
            for number in acknowledged:
                client.write(number)
            ballast = disk / "ballast"
            _fill_disk(ballast)
            refusals = []
            late = []
            for number in range(_FEW, 2 * _FEW + 200):
                try:
                    client.write(number)
                    late.append(number)
                except RuntimeError as error:
                    refusals.append(str(error))
                    if len(refusals) == _FEW:
                        break
            ballast.unlink()
            again = _attempt(lambda: client.write(1_000))
        missing = _missing(home, [*acknowledged, *late])
        words = f"refuses ({_short(refusals[0])})" if refusals else "refuses nothing"
        after = "works again with room" if again is None else f"still refuses with room again ({_short(again)})"
        return Cell(f"{len(missing)} of {len(acknowledged) + len(late)}; {words}, {after}", len(missing))


@contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        raise NotMeasuredError("mounting a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _fill_disk(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as stream:
        for size in (1 << 20, _PAGE):
            try:
                while stream.write(b"\0" * size):
                    pass
            except OSError:
                continue


def _attempt(work: Callable[[], object]) -> RuntimeError | None:
    try:
        work()
    except RuntimeError as error:
        return error
    return None


def cleaned(scene: Scene) -> Cell:
    """Run ``git clean -fdx`` in the project, as an agent may that wants a clean build."""
    home, numbers = _fill_for_an_hour(scene, _FEW)
    subprocess.run(["git", "clean", "-fdxq"], cwd=home.project, check=True)
    state = _look(home, numbers)
    return Cell(state.text, state.bad)


@dataclass(frozen=True)
class _State:
    """What a server's tools show of notes, and what its way back brings, if it has one.

    Attributes:
        lost: notes that are not there in the end.
        silent: notes that are not there, of which no answer says that something is wrong.
    """

    text: str
    lost: int
    silent: int

    @property
    def bad(self) -> int:
        """A note that is missing without a word weighs more than any number of others."""
        return 1_000 * self.silent + self.lost


def _look(home: Home, numbers: Sequence[int]) -> _State:
    found: list[int] = []
    errors: list[str] = []
    texts = []

    def search() -> None:
        with Client(home) as client:
            try:
                for number in numbers:
                    found.extend({number} - set(client.missing([number])))
            finally:
                errors.extend(client.errors)

    def write() -> None:
        with Client(home) as client:
            client.write(5_000)

    unread = _attempt(search)
    unwritten = _attempt(write)
    lost = silent = len(numbers) - len(found)
    texts.append(f"{len(found)} of {len(numbers)} found")
    if unread is not None:
        silent = 0
        texts.append(f"then an error ({_short(unread)})")
        if "Traceback" in str(unread) + "".join(errors):
            texts.append("with a traceback")
    elif lost:
        texts.append("nothing said")
    if unwritten is not None and str(unwritten) != str(unread):
        texts.append(f"a write is refused ({_short(unwritten)})")
    if lost and home.rival.restore:
        command = f"`{home.rival.name} {' '.join(home.rival.restore)}`"
        if home.restore():
            lost = len(_missing(home, numbers))
            texts.append(f"after {command} {len(numbers) - lost} of {len(numbers)}")
        else:
            texts.append(f"{command} has no backup")
    return _State(", ".join(texts), lost, silent)


def crowded(scene: Scene) -> Cell:
    """Let eight servers write at once into a store that a server has used before."""
    home = scene.home()
    _fill(home, 1)
    outcome = write_together(home, _WRITERS, range(1, 1 + _WRITERS * _WRITES_OF_EACH))
    lost, refused = len(outcome.lost), _WRITERS * _WRITES_OF_EACH - len(outcome.acknowledged)
    why = f"; {refused} not written ({_short(outcome.refusals[0])})" if refused else ""
    return Cell(f"{lost} of {len(outcome.acknowledged)}{why}", lost + refused)


def ahead(scene: Scene) -> Cell:
    """Set the clock a year ahead, write, and set it back."""
    _require("faketime")
    home = scene.home()
    numbers = _fill(home)
    late = range(_FEW, 2 * _FEW)
    with Client(replace(home, prefix=_clock("+365d"))) as client:
        missing = len(client.missing(numbers))
        for number in late:
            client.write(number)
    after = len(_missing(home, [*numbers, *late]))
    return Cell(f"{missing} of {_FEW}; {after} of {2 * _FEW}", missing + after)


def mixed(scene: Scene) -> Cell:
    """Let an earlier release write, the later one after it, and the earlier one meet what that left."""
    if scene.older is None:
        raise NotMeasuredError("the earlier release does not install")
    older = scene.home(installed=scene.older)
    later = Home(older.rival, scene.installed, older.folder, older.location)
    numbers = _fill(older)
    late = range(_FEW, _FEW + 5)
    with Client(later) as client:
        missing = client.missing(numbers)
        for number in late:
            client.write(number)
    every = [*numbers, *late]
    back: list[int] = []

    def meet() -> None:
        with Client(older) as client:
            back.extend(set(every) - set(client.missing(every)))
            client.write(_FEW + 5)

    error = _attempt(meet)
    text = f"later: {_FEW - len(missing)} of {_FEW}; then the earlier: "
    text += f"{len(back)} of {len(every)}, writes" if error is None else f"refuses ({_short(error)})"
    lost = _missing(later, [*every, *([_FEW + 5] if error is None else [])])
    return Cell(f"{text}; in the end {len(lost)} lost", len(lost))


def damaged(scene: Scene, damage: Callable[[bytearray], None]) -> Cell:
    """Damage the largest file of the store while no server runs."""
    home, numbers = _fill_for_an_hour(scene, _MANY)
    file = max(home.files(), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    damage(data)
    file.write_bytes(data)
    state = _look(home, numbers)
    return Cell(f"{file.name}: {state.text}", state.bad)


def overwrite(data: bytearray) -> None:
    """Overwrite the 4 KB where a note lies with noise."""
    middle = max(data.find(b"pair%05d" % (_MANY // 2)), 0) // _PAGE * _PAGE
    data[middle : middle + _PAGE] = random.Random("noise").randbytes(min(_PAGE, len(data) - middle))


def flip(data: bytearray) -> None:
    """Flip a bit in each of 64 bytes, from the front to the end."""
    for at in range(64):
        data[len(data) * (2 * at + 1) // 128] ^= 1 << at % 8


def secret(scene: Scene) -> Cell:
    """Store secrets, then look for them in all files."""
    home = scene.home()
    with Client(home) as client:
        for number, text in enumerate(_SECRET_NOTES):
            client.call(*scene.rival.write(f"secret {number}", text))
    files = [path.read_bytes() for path in home.folder.rglob("*") if path.is_file()]
    plain = [name for name, text in SECRETS.items() if any(text.encode() in data for data in files)]
    return Cell(f"{len(plain)} of {len(SECRETS)}" + (f": {', '.join(plain)}" if plain else ""), len(plain))


def cloned(scene: Scene) -> Cell:
    """Commit a store into a repository, and start a server in somebody else's clone of it.

    It lies where the server looks by itself, if that is in the project; then where the clone's ``.mcp.json`` says.
    """
    attacker, victim = scene.folder / "attacker", scene.folder / "victim"
    theirs = Home.make(scene.rival, scene.installed, attacker)
    places = {"named by the clone's `.mcp.json`": scene.rival.location}
    if scene.rival.in_project:
        places = {"at its default place": lambda _: {}, **places}
    texts = []
    believed = 0
    for how, location in places.items():
        theirs = replace(theirs, location=location(theirs.project))
        theirs.prepare()
        numbers = _fill(theirs, 3)
        _commit(theirs.project)
        project = victim / "project"
        shutil.rmtree(victim, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", str(theirs.project), str(project)], check=True)
        mine = replace(theirs, folder=victim, location=location(project))
        found: list[int] = []
        error = _attempt(lambda: found.extend(set(numbers) - set(_missing(mine, numbers))))  # noqa: B023 -- called at once
        refusal = f", refused ({_short(error)})" if error else ""
        texts.append(f"{how}: {len(found)} of {len(numbers)}{refusal}")
        believed += len(found)
    return Cell("; ".join(texts), believed)


def _commit(project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "add", "--force", "."], cwd=project, check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "store"], cwd=project, check=True)


def _require(program: str) -> None:
    if shutil.which(program) is None:
        raise NotMeasuredError(f"there is no {program}")


ROWS: Mapping[str, Callable[[Scene], Cell]] = {
    f"`kill -9` during writes, {KILLS} times: acknowledged notes lost": killed,
    "power cut: writes that were synced before the answer": unplugged,
    "full disk: acknowledged notes lost": filled,
    "`git clean -fdx` in the project: notes found": cleaned,
    f"{_WRITERS} servers write {_WRITES_OF_EACH} notes each: acknowledged notes lost": crowded,
    "clock a year ahead: notes lost then; once it is back": ahead,
    "an earlier release, the later, the earlier again: notes found": mixed,
    "4 KB of notes overwritten: notes found": lambda scene: damaged(scene, overwrite),
    "64 bits flipped: notes found": lambda scene: damaged(scene, flip),
    "secrets in notes: in plain on disk": secret,
    "a store that a clone brings: notes believed": cloned,
}


def torture(rivals: Sequence[Rival], installed: Path, workshop: Path, rows: Sequence[str] = tuple(ROWS)) -> Rows:
    """Let each server suffer each disaster, in a home of its own.

    Args:
        installed: the folder of the installed releases.
        workshop: a folder on a real disk, since a disk in memory syncs nothing.
    """

    def suffer(row: str, rival: Rival) -> Cell:
        older = installed / f"{rival.name}-older"
        with tempfile.TemporaryDirectory(dir=workshop, ignore_cleanup_errors=True) as folder:
            scene = Scene(rival, installed / rival.name, older if older.exists() else None, Path(folder))
            try:
                return ROWS[row](scene)
            except NotMeasuredError as error:
                return Cell(f"not measured: {error}")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                return Cell(f"not measured: {_short(error)}")

    with ThreadPoolExecutor(2) as pool:
        cells = {row: {rival.name: pool.submit(suffer, row, rival) for rival in rivals} for row in rows}
        return {row: {name: cell.result() for name, cell in by_name.items()} for row, by_name in cells.items()}
