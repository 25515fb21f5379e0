"""Looking a thing up: exactly what holds it is found, among three hundred notes in which much looks alike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import postgresql_where_asked
from keep.finding.project import FILLER, NOTES, Project
from satchel import open_satchel


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest) -> Iterator[Project]:
    """One store for all lookups."""
    with tempfile.TemporaryDirectory() as folder, postgresql_where_asked(request.config):
        (Path(folder) / ".git").mkdir()
        with open_satchel(cwd=folder, environ={}, settings={"store.durability": "relaxed"}) as satchel:
            yield Project(satchel)


def test_the_store_is_of_a_realistic_size() -> None:
    assert 290 <= len(NOTES) + len(FILLER) <= 330


@pytest.mark.parametrize(
    ("lookup", "keys"),
    [
        # identifiers
        ("mark00012", {"mark00012 was reached by probe5"}),
        ("parseConfig", {"camel", "snake"}),
        ("parse_config", {"camel", "snake"}),
        ("parseConfig()", {"camel", "snake"}),
        ("parseConfigFile", {"longer"}),
        ("TokenBucket", {"class", "instance"}),
        ("flush_queue", {"public"}),
        ("_flush_queue", {"private"}),
        ("__enter__", {"dunder"}),
        ("MAX_RETRIES", {"constant"}),
        ("k8s", {"k8s"}),
        ("OAuth2", {"oauth2"}),
        ("33146ec", {"sha"}),
        ("7f3c2a10-88de-4c1b-9b7e-0a1d2c3e4f50", {"uuid"}),
        ("getHTTPResponseCode2", {"mixed"}),
        # paths and files
        ("src/auth/tokens.py", {"path"}),
        ("`src/auth/tokens.py`", {"path"}),
        ("tokens.pyi", {"path-stub"}),
        ("src/auth", {"folder", "path", "path-copy", "path-stub", "path-test"}),
        ("src/billing/invoice.py:42", {"path-line"}),
        ("src/billing/invoice.py", {"path-line", "path-other-line"}),
        ("invoice.py", {"path-line", "path-other-line"}),
        ("billing.invoice", {"module"}),
        (".env", {"dotenv"}),
        ("config.toml", {"config-toml"}),
        (r"C:\tools\build.cmd", {"windows"}),
        ("https://status.example.org/api/v2", {"url"}),
        ("/healthz/deep", {"route-near"}),
        # versions
        ("1.2.3", {"v1.2.3"}),
        ("v1.2.3", {"v1.2.3"}),
        ("1.2", {"v1.2"}),
        ("2.0.0", {"2.0.0"}),
        ("2.0.0-beta.1", {"beta"}),
        ("python 3.12", {"python"}),
        # numbers
        ("409", {"409"}),
        ("8443", {"port"}),
        ("#311", {"issue"}),
        ("#1024", {"pull"}),
        ("2024-03-15", {"date"}),
        # error codes
        ("E501", {"E501"}),
        ("TS2345", {"TS2345"}),
        ("ORA-00942", {"ORA"}),
        ("CVE-2024-3094", {"CVE"}),
        ("0x80070005", {"hex"}),
        ("ECONNREFUSED", {"refused"}),
        ("ERR_SSL_PROTOCOL_ERROR", {"ssl"}),
        ("SQLITE_BUSY", {"sqlite-near"}),
        ("KeyError", {"exception"}),
        ("KeyError: 'user_id'", {"exception"}),
        # flags and signs
        ("--no-verify", {"no-verify"}),
        ("git commit -m", {"short-m"}),
        ("-x", {"short-x"}),
        ("C++", {"cpp"}),
        ("C#", {"csharp"}),
        ("$HOME", {"home"}),
        ("@retry", {"decorator"}),
        ("@acme/ui-kit", {"scoped"}),
        # quoted words, and words
        ('"connection pool"', {"pool"}),
        ('"too many open files"', {"quoted"}),
        ("“too many files”", {"quoted-near"}),
        ("foo-bar", {"kebab"}),
        ("auth middleware", {"middleware"}),
        ("webhook", {"webhook"}),
        ("検索", {"cjk"}),
    ],
)
def test_a_lookup_finds_exactly_what_holds_it_whole(project: Project, lookup: str, keys: set[str]) -> None:
    assert project.found(lookup) == (keys, len(keys), ())


@pytest.mark.parametrize(
    ("lookup", "keys", "instead"),
    [
        ("webhookSecret", {"webhook"}, "its parts"),
        ("SQLITE_BUSY_RECOVERY", {"sqlite", "sqlite-near"}, "its parts"),
        ("UTF-8 encoding", {"utf8"}, None),
        ("src/auth/tokens.py:99", {"path"}, "src/auth/tokens.py"),
        ("lib/src/billing/invoice.py", {"path-line", "path-other-line"}, "src/billing/invoice.py"),
        ("--verify", {"no-verify", "verify"}, "its parts"),
        ("k8", {"k8s"}, "its parts side by side"),
        ("1409", set(), None),
        ("#409", {"409"}, "409"),
        ('"connection pooling"', {"pool", "pools"}, "its words in other forms"),
    ],
)
def test_what_occurs_nowhere_is_looked_for_by_what_it_holds_and_this_is_said(
    project: Project, lookup: str, keys: set[str], instead: str | None
) -> None:
    found, total, notes = project.found(lookup)
    assert (found, total) == (keys, len(keys))
    if instead is not None:
        assert notes == (f"nothing contains {lookup} as a whole word; shown are hits of {instead}".replace('"', ""),)


@pytest.mark.parametrize("lookup", ["zebra7", "x7", "9.9.9", "77777", "#77777", "Q1", "-q", "C-12", "F#"])
def test_where_the_parts_would_be_single_letters_or_numbers_nothing_is_found(project: Project, lookup: str) -> None:
    assert project.found(lookup) == (set(), 0, (f"nothing contains {lookup}",))


@pytest.mark.parametrize(
    ("part", "keys"), [("config", {"camel", "snake", "longer", "prose", "config-toml", "config-yaml"})]
)
def test_a_word_is_found_in_identifiers_and_paths_too(project: Project, part: str, keys: set[str]) -> None:
    assert project.found(part)[0] == keys
