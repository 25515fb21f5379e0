"""Installation of the pinned releases of other servers, each into a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.rivals.servers import RIVALS, Rival

_SECONDS = 480
_INSTALLED = ".installed"


class InstallError(RuntimeError):
    """A release does not install here."""


def install(folder: Path) -> dict[str, str]:
    """Install the releases that are not there yet.

    Returns:
        The reason for each folder whose release does not install.
    """
    folder.mkdir(exist_ok=True)
    failures = {}
    for rival in RIVALS:
        for place, version in ((folder / rival.name, rival.version), (folder / f"{rival.name}-older", rival.older)):
            if (place / _INSTALLED).exists():
                continue
            shutil.rmtree(place, ignore_errors=True)
            try:
                _install(rival, version, place)
            except InstallError as error:
                failures[place.name] = f"{rival.package} {version}: {error}"
                shutil.rmtree(place)
            else:
                (place / _INSTALLED).write_text(version)
    return failures


def _install(rival: Rival, version: str, place: Path) -> None:
    place.mkdir()
    if rival.kind == "npm":
        package = f"{rival.package}@{version}"
        _run("npm", "install", "--prefix", str(place), "--ignore-scripts", "--no-audit", "--no-fund", package)
    elif rival.kind == "pip":
        _run(_python(rival.needs), "-m", "venv", str(place))
        _run(str(place / "bin/python"), "-m", "pip", "install", "--quiet", f"{rival.package}=={version}")
    elif version:
        with tarfile.open(fileobj=BytesIO(_run("git", "-C", str(ROOT), "archive", version, "src"))) as archive:
            archive.extractall(place, filter="data")


def _run(*command: str) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise InstallError(f"there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise InstallError(f"{Path(command[0]).name} had not finished after {_SECONDS // 60} minutes") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise InstallError(f"{Path(command[0]).name} failed: {lines[-1][:200] if lines else done.returncode}")
    return done.stdout


def _python(needs: str) -> str:
    for python in _pythons():
        if not Path(python).is_file():
            continue
        if subprocess.run([python, "-c", needs], capture_output=True, check=False).returncode == 0:
            return python
    raise InstallError(f"no Python here passes: {needs}")


def _pythons() -> Iterator[str]:
    for minor in (13, 12, 11):
        for folder in os.environ["PATH"].split(os.pathsep):
            yield f"{folder}/python3.{minor}"
        yield from map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
