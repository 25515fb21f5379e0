"""Teams behind one server, each in a schema of a database and as a role of its own: a token leads to its project alone.

A real server process over a real PostgreSQL: two teams with three projects between them, and both kinds of token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import postgres_cluster
from satchel.base.clock import system_clock
from satchel.base.folders import state_folder
from satchel.interfaces.http.access import ROLES
from satchel.interfaces.http.databases import store_of
from satchel.interfaces.http.public import operations
from satchel.interfaces.http.tokens import Tokens
from server_process import ServerProcess
from store.postgres.places import new_place

pytestmark = pytest.mark.slow

_TEAMS = ("red", "blue")
_PLACES = (("red", "app"), ("red", "site"), ("blue", "app"))
_VOLATILE = frozenset({"asked_at", "checked_at", "changes_since", "now", "next_look", "read_at", "cursor"})
"""What differs between two answers to the same question for its time alone."""

_TEXTS = ("the token cache retries when the parser stops", "a deadlock of the token index", "unicode in the cache")


class Teams:
    """A server, and the tokens of its projects by team, project and role."""

    def __init__(self, server: ServerProcess, schemas: dict[str, str]) -> None:
        self._server = server
        self.schemas = schemas
        tokens = Tokens(state_folder(), system_clock)
        self._tokens = {
            (team, project, role): tokens.new(
                f"{role}-{team}-{project}", store=store_of(team), project=project, role=role
            )[1]
            for team, project in _PLACES
            for role in ROLES
        }

    def ask(self, place: tuple[str, str], role: str, name: str, *, most: int = 200, **given: object) -> Any:
        """Call an operation with a token; the answer must be a good one, or at most so bad."""
        token = self._tokens[*place, role]
        answer: Any = self._server.ask(f"/api/{name}", method="POST", token=token, body=json.dumps(given).encode())
        assert answer.status <= most, (name, answer.body)
        return answer.json()

    def write(self, place: tuple[str, str], role: str, times: int = 1) -> None:
        """Write of each kind, with the same words in every project, and the place's own mark."""
        mark = f"{place[0]}{place[1]}mark"
        for number in range(times):
            for text in _TEXTS:
                self.ask(place, role, "write_context", type="discovery", content=f"{text} {mark}{number}")
            self.ask(place, role, "set_decision", key=f"cache.{number}", value=f"token {mark}")
            self.ask(place, role, "add_constraint", text=f"no deadlock {number} {mark}", category="security")
            self.ask(place, role, "send_message", message=f"the parser {mark}{number}", to="zoe")
            self.ask(place, role, "report_error", error_type="Deadlock", message=f"index {mark}", agent="ann")
            self.ask(place, role, "save_strategy", topic="cache", insight=f"retry the token {mark}{number}")
        self.ask(place, role, "claim_files", paths=["src/app.py"], agent="ann", reason=mark)
        self.ask(place, role, "record_file_change", file="src/a.py", change="modified", description=mark, agent="ann")

    def look(self, place: tuple[str, str], role: str) -> dict[str, Any]:
        """Ask everything that can be asked without arguments, and search; times are left out."""
        asked: dict[str, dict[str, object]] = {
            name: {}
            for name, one in operations().items()
            if not (one.writes or one.only_here or one.of_program or any(each.required for each in one.parameters))
        }
        asked |= {f"search {query}": {"query": query} for query in ("token cache", "deadlock", "redsitemark*", "zoe")}
        return {
            name: _timeless(self.ask(place, role, name.split()[0], most=404, **given)) for name, given in asked.items()
        }


def _timeless(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _timeless(value) for name, value in answer.items() if name not in _VOLATILE}
    return [_timeless(one) for one in answer] if isinstance(answer, list) else answer


@pytest.fixture(scope="module")
def schemas() -> Iterator[dict[str, str]]:
    """A schema for each team, which only the team's role may use, by the team's name; the role is called as it."""
    with new_place() as red, new_place() as blue:
        places = dict(zip(_TEAMS, (red, blue), strict=True))
        for place in places.values():
            place.do(f"CREATE ROLE {place.schema} NOLOGIN; CREATE SCHEMA {place.schema} AUTHORIZATION {place.schema}")
        yield {team: place.schema for team, place in places.items()}
        for place in places.values():
            place.do(f"DROP SCHEMA {place.schema} CASCADE; DROP ROLE {place.schema}")


@pytest.fixture(scope="module")
def teams(schemas: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    """A server whose configuration names both teams' databases."""
    file = tmp_path_factory.mktemp("server") / "databases.toml"
    file.write_text(
        "".join(
            f"[databases.{team}]\nurl = '{postgres_cluster.url()}'\nschema = '{schema}'\nrole = '{schema}'\n"
            for team, schema in schemas.items()
        )
    )
    file.chmod(0o600)
    with ServerProcess(None, "--config", str(file)) as server:
        yield Teams(server, schemas)


def test_nothing_of_another_project_or_team_is_read_counted_found_or_ranked_by(teams: Teams) -> None:
    teams.write(_PLACES[0], "agent")
    before = {role: teams.look(_PLACES[0], role) for role in ROLES}
    for place in _PLACES[1:]:
        for role in ROLES:
            teams.write(place, role, times=3)
    for role in ROLES:
        assert teams.look(_PLACES[0], role) == before[role]
    for place in _PLACES:
        for role in ROLES:
            told = json.dumps(teams.look(place, role)).replace("nothing contains redsitemark", "")  # what was asked
            foreign = [f"{team}{project}mark" for team, project in _PLACES if (team, project) != place]
            assert f"{place[0]}{place[1]}mark" in told
            assert [mark for mark in foreign if mark in told.replace("redsitemark*", "")] == []
            assert not any(schema in told for schema in teams.schemas.values())


def test_the_role_of_a_team_cannot_reach_the_schema_of_another(teams: Teams) -> None:
    teams.ask(_PLACES[2], "agent", "write_context", type="discovery", content="of the blue team")
    with psycopg.connect(postgres_cluster.url()) as connection:
        connection.execute(f"SET ROLE {teams.schemas['red']}".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT * FROM {teams.schemas['blue']}.context".encode())
