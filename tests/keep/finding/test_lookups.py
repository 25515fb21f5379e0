"""Looking a thing up: exactly what holds it is found, among three hundred notes in which much looks alike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import postgresql_where_asked
from keep.finding.project import FILLER, NOTES, Project
from satchel import open_satchel
from tables import in_one_test


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest) -> Iterator[Project]:
    """One store for all lookups."""
    with tempfile.TemporaryDirectory() as folder, postgresql_where_asked(request.config):
        (Path(folder) / ".git").mkdir()
        with open_satchel(cwd=folder, environ={}, settings={"store.durability": "relaxed"}) as satchel:
            yield Project(satchel)


def test_the_store_is_of_a_realistic_size() -> None:
    assert 290 <= len(NOTES) + len(FILLER) <= 330


@in_one_test(
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


@in_one_test(
    ("lookup", "keys", "instead"),
    [
        ("UTF-8 encoding", {"utf8"}, None),
        ("src/auth/tokens.py:99", {"path"}, "src/auth/tokens.py"),
        ("/home/ann/shop/src/billing/invoice.py", {"path-line", "path-other-line"}, "src/billing/invoice.py"),
        ("./src/auth/tokens.py", {"path"}, "src/auth/tokens.py"),
        ('"connection pooling"', {"pool", "pools"}, "its words in other forms"),
    ],
)
def test_a_place_without_its_line_or_root_and_a_phrase_in_other_forms_are_found_and_this_is_said(
    project: Project, lookup: str, keys: set[str], instead: str | None
) -> None:
    found, total, notes = project.found(lookup)
    assert (found, total) == (keys, len(keys))
    if instead is not None:
        assert notes == (f"nothing contains {lookup} as a whole word; shown are hits of {instead}".replace('"', ""),)


@in_one_test(
    ("lookup", "nearest"),
    [
        # identifiers
        ("parseConfg", "parseConfig"),
        ("parse_confgi", "parse_config"),
        ("parseConfigs", "parseConfig"),
        ("TokenBuckets", "TokenBucket"),
        ("token_bukket", "token_bucket"),
        ("flush_queues", "flush_queue"),
        ("MAX_RETRY", "MAX_RETRIES"),
        ("webhookSecret", "webhook"),
        ("SQLITE_BUSY_RECOVERY", "SQLITE_BUSY"),
        ("SQLITE_BUSY_SNAPSHOTS", "SQLITE_BUSY_SNAPSHOT"),
        ("k8", "k8s"),
        ("mark00999", "mark00099"),
        ("KeyErrors", "KeyError"),
        ("getHTTPResponseCode3", "getHTTPResponseCode2"),
        ("middelware", "middleware"),
        # paths
        ("lib/src/billing/invoice.py", "src/billing/invoice.py:42"),
        ("src/billing/tokens.py", "src/auth/tokens.py"),
        ("src/auth/token.py", "src/auth/tokens.py"),
        ("/opt/tokens.py", "tokens.py"),
        ("deploy/config.json", "deploy/config.toml"),
        ("/healthz/deeper", "/healthz/deep"),
        ("https://status.example.org/api/v3", "https://status.example.org/api/v2"),
        ("satchel.billing.invoices", "satchel.billing.invoice"),
        # versions
        ("1.2.4", "1.2.3"),
        ("v1.2.31", "1.2.30"),
        ("4.41.0", "4.1.0"),
        ("2.0.0-beta.2", "2.0.0-beta.1"),
        # numbers, codes, ids and flags
        ("18444", "18443"),
        ("#409", "409"),
        ("#312", "#311"),
        ("8444", "8443"),
        ("2024-03-16", "2024-03-15"),
        ("E502", "E501"),
        ("W699", "W609"),
        ("TS2346", "TS2345"),
        ("ORA-00943", "ORA-00942"),
        ("CVE-2024-3095", "CVE-2024-3094"),
        ("0x80070006", "0x80070005"),
        ("33146ef", "33146ec"),
        ("7f3c2a10-88de-4c1b-9b7e-0a1d2c3e4f52", "7f3c2a10-88de-4c1b-9b7e-0a1d2c3e4f50"),
        ("--verify", "--no-verify"),
        ("--no-verfy", "--no-verify"),
    ],
)
def test_a_lookup_of_what_is_nowhere_finds_nothing_and_names_the_nearest(
    project: Project, lookup: str, nearest: str
) -> None:
    found, total, (note,) = project.found(lookup)
    assert (found, total) == (set(), 0)
    start = f"nothing contains {lookup}; nearest: "
    assert note.startswith(start)
    names = note.removeprefix(start).split(", ")
    assert len(names) <= 3
    assert any(nearest in name for name in names), names


@in_one_test("lookup", ["E502", "parse_confgi"])
def test_a_search_that_only_counts_looks_for_nothing_similar(project: Project, lookup: str) -> None:
    _, total, notes = project.found(lookup, limit=0)
    assert (total, notes) == (0, (f"nothing contains {lookup}",))


@in_one_test("lookup", ["zebra7", "x7", "97531", "-q", "C-12", "F#", "src/nowhere/gone.rs"])
def test_what_resembles_nothing_here_has_no_nearest(project: Project, lookup: str) -> None:
    assert project.found(lookup) == (set(), 0, (f"nothing contains {lookup}",))


@pytest.mark.parametrize(
    ("part", "keys"), [("config", {"camel", "snake", "longer", "prose", "config-toml", "config-yaml"})]
)
def test_a_word_is_found_in_identifiers_and_paths_too(project: Project, part: str, keys: set[str]) -> None:
    assert project.found(part)[0] == keys
