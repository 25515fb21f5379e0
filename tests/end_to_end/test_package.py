"""What is published: an sdist and a wheel that hold the whole program and nothing else, and work on their own."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import satchel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
INFO = f"satchel-{satchel.__version__}.dist-info"
BASE_INSTALL_BYTES = 21_000_000


@dataclass(frozen=True, slots=True)
class Built:
    """Where the files of a release are: the wheel made from the clone, the sdist, and the wheel made from that."""

    wheel: Path
    sdist: Path
    wheel_of_sdist: Path


def build(source: Path, kind: str, target: Path) -> Path:
    """Build an sdist or a wheel with the backend that pyproject.toml names, as every installer does."""
    script = f"from flit_core import buildapi; print(buildapi.build_{kind}({str(target)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        cwd=source,
        env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    clone, from_sdist, unpacked = (tmp_path_factory.mktemp(name) for name in ("clone", "from_sdist", "unpacked"))
    sdist = build(ROOT, "sdist", clone)
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    source = unpacked / f"satchel-{satchel.__version__}"
    return Built(build(ROOT, "wheel", clone), sdist, build(source, "wheel", from_sdist))


def test_the_sdist_builds_the_same_wheel(built: Built) -> None:
    assert built.wheel.read_bytes() == built.wheel_of_sdist.read_bytes()


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        held = set(archive.namelist())
    source = ROOT / "src"
    package = {
        str(path.relative_to(source))
        for path in (source / "satchel").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert held == package | {f"{INFO}/{name}" for name in names}
    assert {Path(name).suffix for name in package} == {*".py .typed .sql .txt .html .css .js .svg".split()}


def test_the_wheel_says_its_license_and_its_readme(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        metadata = archive.read(f"{INFO}/METADATA").decode()
        licensed = archive.read(f"{INFO}/licenses/LICENSE").decode()
    head, _, description = metadata.partition("\n\n")
    assert "License-Expression: Apache-2.0" in head.splitlines()
    assert description.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    assert "Apache License" in licensed


def test_the_changelog_has_the_version_first() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if line.startswith("## ")) == f"## {satchel.__version__}"


def needed(name: str) -> Iterator[importlib.metadata.Distribution]:
    """Yield what a distribution needs on this platform without extras, and what that needs in turn."""
    for line in importlib.metadata.distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield importlib.metadata.distribution(requirement.name)
            yield from needed(requirement.name)


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that holds Satchel, what it needs, and nothing else; a project to use it in."""

    folder: Path
    packages: Path
    project: Path

    def run(self, *arguments: str, typed: str | None = None) -> str:
        """Run ``satchel`` as its user does, and return what it prints."""
        home = self.project.parent
        done = subprocess.run(
            [self.folder / "bin" / "satchel", *arguments],
            check=False,
            cwd=self.project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a bare environment, beside copies of what it needs from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("bare") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    packages = next((folder / "lib").glob("python*/site-packages"))
    for distribution in {one.name: one for one in needed("satchel")}.values():
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(str(distribution.locate_file(file))), target)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    install = ["install", "--quiet", "--no-index", "--no-deps", str(built.wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True, timeout=60)
    project = tmp_path_factory.mktemp("home") / "project"
    (project / ".git").mkdir(parents=True)
    return Installed(folder, packages, project)


def test_the_base_install_is_small(installed: Installed) -> None:
    files = [path for path in installed.packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) <= BASE_INSTALL_BYTES


def test_an_installed_satchel_tells_its_version(installed: Installed) -> None:
    assert installed.run("--version").split()[-1] == satchel.__version__


def test_an_installed_satchel_keeps_a_note_and_serves_it(installed: Installed) -> None:
    installed.run("init")
    installed.run("write", "discovery", "Sessions expire after 300 s", "--agent", "ann")
    assert "Sessions expire after 300 s" in installed.run("read", "when", "do", "sessions", "expire")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
    search = {"name": "search", "arguments": {"query": "when do sessions expire"}}
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate((("initialize", hello), ("tools/call", search)))
    ]
    printed = installed.run("mcp", typed="".join(json.dumps(line) + "\n" for line in asked))
    answers = sorted(map(json.loads, printed.splitlines()), key=lambda answer: int(answer["id"]))
    assert answers[0]["result"]["serverInfo"]["version"] == satchel.__version__
    assert "Sessions expire after 300 s" in answers[1]["result"]["content"][0]["text"]
