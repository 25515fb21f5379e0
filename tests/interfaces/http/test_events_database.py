"""Listeners of a project in a database: told what any program commits, and that the store is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

import postgres_cluster
from http_serving import FixedTokens, Served, databases_of, served
from satchel import open_satchel
from satchel.interfaces.http.databases import Databases, store_of
from store.postgres.places import Place

pytestmark = pytest.mark.slow


@pytest.fixture
def server(place: Place, tmp_path: Path) -> Iterator[Served]:
    """A server of the store."""
    databases = Databases(databases_of(place.address, tmp_path))
    with served(FixedTokens(store_of("team")), databases=databases) as running:
        yield running


@pytest.fixture
def stream(server: Served) -> Iterator[HTTPResponse]:
    """What a listener is sent."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/api/events", headers={"Authorization": "Bearer agent-token"})
    response = connection.getresponse()
    assert response.status == 200
    assert told(response)[0] == "ready"
    yield response
    connection.close()


def told(stream: HTTPResponse) -> tuple[str, Any]:
    """Return the next event and its data."""
    event = ""
    while not (line := stream.readline().decode().strip()).startswith("data: "):
        event = line.removeprefix("event: ") if line.startswith("event: ") else event
    return event, json.loads(line.removeprefix("data: "))


def test_a_listener_is_told_what_another_program_commits_in_its_project_alone(
    place: Place, stream: HTTPResponse
) -> None:
    for project in ("another", "project"):
        with open_satchel(place.address, project, cwd="/", environ={}) as satchel:
            kept = satchel.entries.write("discovery", f"of {project}", agent="ann")
    items = []
    while kept.ref not in items:
        items.append(told(stream)[1]["item"])
    assert "e1" not in items


def test_a_listener_is_told_that_the_store_is_gone(place: Place, stream: HTTPResponse) -> None:
    with open_satchel(place.address, "project", cwd="/", environ={}) as satchel:
        satchel.entries.write("discovery", "the last", agent="ann")
    assert told(stream)[0] == "change"
    postgres_cluster.run(f'DROP SCHEMA "{place.schema}" CASCADE')
    while (last := told(stream))[0] == "change":
        pass
    assert (last[0], last[1]["code"]) == ("failed", "store_missing")
