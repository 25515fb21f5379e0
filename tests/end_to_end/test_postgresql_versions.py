"""Other versions of PostgreSQL hold stores as that of the tests does, also where texts are ordered as people do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_cluster
from satchel import Satchel, open_satchel

ROOT = Path(__file__).parents[2]
NAMES = ["zoo", "Zebra", "apple", "Äpfel", "_mark", "a-b", "ab", "aB", "éclair", "中文", "Öl"]

pytestmark = pytest.mark.referee


class Cluster:
    """A cluster of Debian's PostgreSQL that listens at a socket of its own.

    Args:
        programs: the folder with its programs.
        locale: what it orders texts by; that of the tests orders them by their bytes.
    """

    def __init__(self, programs: Path, locale: str) -> None:
        self._programs = programs
        # a short path: that of a socket has at most 107 bytes
        self._folder = Path(tempfile.mkdtemp(prefix="satchel-debian-"))
        self._user: dict[str, Any] = (
            {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        )
        if self._user:  # the programs refuse to run as root
            shutil.chown(self._folder, "nobody", "nogroup")
        self._environ = {"PATH": os.environ["PATH"], "LOCPATH": str(self._folder / "locales"), "LC_ALL": "C"}
        (self._folder / "locales").mkdir()
        language, _, charmap = locale.partition(".")
        compiled = ["localedef", "-i", language, "-f", charmap, str(self._folder / "locales" / locale)]
        subprocess.run(compiled, check=True, capture_output=True, timeout=300)
        self._run("initdb", "--encoding=UTF8", f"--locale={locale}", "--auth=trust", "--username=postgres", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "start", "--wait", "--silent", f"--log={self._folder / 'log'}", f"--options={options}")
        self.url = f"postgresql://postgres@/postgres?host={self._folder}"

    def close(self) -> None:
        """Stop it, and remove all of it."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode=immediate")
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), f"--pgdata={self._folder / 'data'}", *arguments]
        # no pipe: the server would hold it open
        done = subprocess.run(
            command, check=False, cwd="/", env=self._environ, stdout=subprocess.DEVNULL, timeout=300, **self._user
        )
        assert done.returncode == 0, program


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not installed:
        pytest.skip("Debian's PostgreSQL is not installed")
    made = Cluster(installed[-1].parent, "en_US.UTF-8")
    yield made
    made.close()


def ordered(names: Sequence[str], url: str) -> list[str]:
    """Return names in the order that a cluster has of itself."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT name FROM unnest(%s::text[]) AS of (name) ORDER BY name", (list(names),))
        return [name for (name,) in rows]


def walked(satchel: Satchel) -> list[object]:
    """Write a little of what agents write, and return what they are answered."""
    satchel.decisions.set("db.engine", "PostgreSQL", rationale="operations run it", tags=NAMES)
    for name in NAMES:
        satchel.entries.write("discovery", f"The gateway caches what belongs to {name}", file=f"src/{name}.py")
        satchel.constraints.add(f"Name {name} in full", tags=[name, "ab", "Zebra", "Äpfel"])
    satchel.files.claim([f"src/{name}.py" for name in NAMES])
    found = satchel.finding.search("what does the gateway cache of Äpfel")
    prefixed = satchel.finding.search('"belongs to" AND a*', syntax="operators")
    return [
        [(one.ref, one.snippet.text, round(one.score, 6)) for one in (*found.results, *prefixed.results)],
        [(one.key, one.tags) for one in satchel.decisions.find().items],
        [(one.ref, one.tags) for one in satchel.constraints.find(tags=["Zebra"]).items],
        [one.path for one in satchel.files.claims().items],
        [entry.file for entry in satchel.entries.read(file="src/").items],
        satchel.brief(query="gateway").text,
    ]


def keep_the_contract(**environ: str) -> None:
    """Run the tests of an engine in a process of their own, on another PostgreSQL."""
    command = [sys.executable, "-m", "pytest", "tests/store/test_engine_contract.py", "-n", "0", "-k", "postgresql"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=600
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-4_000:]
    assert passed is not None
    assert int(passed[1]) > 20


def test_the_engine_keeps_its_contract_on_debians(cluster: Cluster) -> None:
    keep_the_contract(**{postgres_cluster.RUNNING: cluster.url})


def test_the_engine_keeps_its_contract_on_the_older_one_that_comes_with_that_of_the_tests() -> None:
    keep_the_contract(PGSERVER_POSTGRES_VERSION="16")


def test_agents_are_answered_as_by_a_file(cluster: Cluster, tmp_path: Path) -> None:
    answers = []
    for db in (tmp_path / "s.db", f"{cluster.url}&schema=walked"):
        with open_satchel(db, "p", agent="ann", cwd=tmp_path, environ={}, clock=lambda: 1_795_000_000_000) as satchel:
            answers.append(walked(satchel))
    of_a_file, of_the_cluster = answers
    assert of_the_cluster == of_a_file


def test_the_cluster_orders_texts_as_people_do(cluster: Cluster) -> None:
    assert ordered(NAMES, cluster.url) != sorted(NAMES)
