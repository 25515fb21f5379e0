"""The databases of a server's configuration: what is read, and what is refused without repeating a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from http_serving import FixedTokens, served
from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.interfaces.http.databases import Databases, store_of
from satchel.store.postgres import Address


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The configuration."""
    return tmp_path / "config.toml"


def written(file: Path, text: str, mode: int = 0o600) -> Databases:
    file.write_text(text)
    file.chmod(mode)
    return Databases(file)


def test_a_table_says_where_a_database_is(file: Path) -> None:
    secret = file.with_name("secret")
    secret.write_text("hunter2\n")
    secret.chmod(0o600)
    known = written(
        file,
        '[databases.team]\nurl = "postgresql://srv@db/app"\nschema = "team_a"\nrole = "a"\npassword_file = "secret"\n'
        '[databases.other]\nurl = "postgresql://srv@db/app?schema=team_b"\n',
    )
    assert known.every() == {
        "team": Address("postgresql://srv@db/app", "team_a", "a", "hunter2"),
        "other": Address("postgresql://srv@db/app", "team_b"),
    }


@pytest.mark.parametrize("text", ["", '[server]\nurl = "https://h"\n'])
def test_a_configuration_need_not_name_any(file: Path, text: str) -> None:
    assert written(file, text).every() == {}
    assert Databases(file.with_name("none.toml")).every() == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[databases]\nteam = "postgresql://h/hunter2"\n', "team in .* has no url"),
        ('[databases.team]\nschema = "a"\n', "has no url"),
        ('[databases.team]\nurl = "postgresql://h/d"\nuser = "hunter2"\n', "unknown key 'user'"),
        ('[databases.team]\nurl = "postgresql://h/d"\nrole = 3\n', "role is no text"),
        ('[databases.team]\nurl = "postgresql://a:hunter2@h"\n', "databases.team in .*names no database"),
        ('[databases."a b"]\nurl = "postgresql://h/d"\n', "no name of a database"),
        ('[databases.team]\nurl = "postgresql://h/d"\npassword_file = "none"\n', "cannot be read"),
        ('databases = "hunter2"\n', "is no table"),
        ("[databases.team\n", "not valid TOML"),
    ],
)
def test_what_is_malformed_is_said_to_without_what_may_be_a_password(file: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        written(file, text).every()
    assert "hunter2" not in str(caught.value)


def test_a_password_that_others_can_read_is_refused(file: Path) -> None:
    url = '[databases.team]\nurl = "postgresql://a:hunter2@h/d"\n'
    with pytest.raises(Refused, match="chmod 600"):
        written(file, url, 0o644).every()
    assert written(file, url).address("team").url.endswith("@h/d")
    secret = file.with_name("secret")
    secret.write_text("hunter2")
    secret.chmod(0o640)
    with pytest.raises(Refused, match="others can read"):
        written(file, '[databases.team]\nurl = "postgresql://h/d"\npassword_file = "secret"\n', 0o644).every()


def test_neither_callers_nor_the_log_are_told_a_password(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = written(file, '[databases.team]\nurl = "postgresql://a:hunter2@127.0.0.1:1/d"\n')
    told = []
    for store in (store_of("team"), store_of("none")):
        with served(FixedTokens(store), databases=known) as server:
            answers = [server.ask(f"/api/{name}", token="agent-token") for name in ("read_context", "get_stats")]
            told += [answer.body.decode() for answer in (*answers, server.ask("/health"))]
            assert {answer.status for answer in answers} <= {501, 502, 503}
    assert "cannot be reached" in told[0]
    assert "cannot open the database of this token" in told[3]
    assert "hunter2" not in "".join([*told, *capfd.readouterr()])


def test_a_database_that_is_not_there_is_answered_with_those_that_are(file: Path) -> None:
    known = written(file, '[databases.team]\nurl = "postgresql://h/d"\n')
    with pytest.raises(SatchelError, match="Did you mean team"):
        known.address("teem")
