"""A process that moves a store is killed, again and again, and the move comes to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres_cluster
from faults.processes import Child
from satchel import open_satchel
from store.filled import contents, failed, fill
from store.opened import OpenStore

pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store."""
    if request.param == "sqlite":
        yield str(tmp_path / "there.db")
        return
    address = postgres_cluster.url()
    yield f"{address}{'&' if '?' in address else '?'}schema=killed"
    postgres_cluster.run("DROP SCHEMA IF EXISTS killed CASCADE")


def test_a_move_that_is_killed_again_and_again_loses_nothing(
    target: str, open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    source = open_store()
    written = fill(source, 300)
    source.close()
    kills = 0
    while kills < 12:
        with Child("move-until-told", store_file, target) as child:
            steps = 0
            while (said := child.hear()) != "done" and steps < 12 * kills + 1:
                child.tell()
                steps += 1
            if said == "done":
                break
            child.tell()
            child.kill()
            kills += 1
    assert kills > 5, "it was killed while it copied, compared and indexed"
    with open_satchel(target, "p", cwd=tmp_path, environ={}) as moved:
        assert contents(moved) == written
        assert moved.finding.search("note 77").results[0].ref == "e78"
        assert failed(moved) == []
