"""Connections as they are in the world: encrypted, with certificates that are trusted or not, and through proxies."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from consult.providers.asking import Log, Pauses, content
from consult.providers.every_kind import KINDS, Line, line_to
from consult.providers.openai_api import OpenAIApi
from consult.providers.proxy import Proxy
from satchel.base.errors import AssistantFailed, Interrupted, Unavailable
from satchel.consult.models import Ask
from tables import in_one_test

FILES = {"src/auth.py": content("def refresh(): ...\n")}
PASSWORD = "hunter2-of-the-proxy"


@pytest.fixture(params=KINDS)
def line(request: pytest.FixtureRequest, pauses: Pauses) -> Iterator[Line]:
    with line_to(request.param, pauses) as one:
        yield one


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of connections."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    return monkeypatch


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def encrypted(line: Line, authority: trustme.CA) -> Line:
    """A provider whose certificate is signed by an authority that nobody knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    line.provider.speak_tls(context)
    return line


@pytest.fixture
def trusted(encrypted: Line, authority: trustme.CA, bare: pytest.MonkeyPatch, tmp_path: Path) -> Line:
    """The same, with the authority named in the environment."""
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    bare.setenv("SSL_CERT_FILE", str(file))
    return encrypted


def test_an_encrypted_connection_works(trusted: Line) -> None:
    assert trusted.provider.url.startswith("https://")
    assert trusted.ask()


def test_a_certificate_that_is_not_trusted_is_told_and_not_tried_again(encrypted: Line) -> None:
    with pytest.raises(AssistantFailed, match=r"the certificate of .* is not trusted: ") as failed:
        encrypted.ask()
    assert failed.value.reason == "untrusted"
    assert "SSL_CERT_FILE" in str(failed.value.remedy)
    assert (encrypted.provider.requests, encrypted.pauses.seconds) == ([], [])


def test_a_certificate_of_another_host_is_not_trusted(trusted: Line) -> None:
    with pytest.raises(AssistantFailed) as failed:
        trusted.ask(trusted.provider.url.replace("127.0.0.1", "localhost"))
    assert failed.value.reason == "untrusted"


def test_a_call_cancelled_while_an_encrypted_connection_is_silent_ends_at_once(trusted: Line) -> None:
    trusted.provider.fail(trusted.step, "cancel")
    with pytest.raises(Interrupted):
        trusted.assistant(silence=60.0).ask(Ask("Why?", is_cancelled=trusted.provider.cancelled.is_set))
    assert len(trusted.provider.requests) == 1


def test_a_call_cancelled_while_hands_are_shaken_ends_at_once(line: Line) -> None:
    cancelled, ending = threading.Event(), list[bytes]()

    def say_nothing() -> None:
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(60.0)
            connection.recv(65_536)
            cancelled.set()
            ending.append(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as silent:
        listener = threading.Thread(target=say_nothing)
        listener.start()
        helper = line.assistant(f"https://127.0.0.1:{silent.getsockname()[1]}/v1", connect=60.0)
        with pytest.raises(Interrupted):
            helper.ask(Ask("Why?", is_cancelled=cancelled.is_set))
        listener.join()
    assert ending == [b""]


@pytest.mark.parametrize("line", ["openai"], indirect=True)
@pytest.mark.parametrize("step", ["upload", "poll", "respond"])
def test_a_cancelled_call_leaves_nothing_at_a_provider_behind_encryption_and_a_proxy(
    trusted: Line, bare: pytest.MonkeyPatch, log: Log, step: str
) -> None:
    provider = trusted.provider
    assert isinstance(provider, OpenAIApi)
    provider.fail(step, "cancel")
    with Proxy() as proxy:
        bare.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        with pytest.raises(Interrupted):
            trusted.assistant(silence=60.0).ask(
                Ask("Why?", searchable=FILES, stores=log, is_cancelled=provider.cancelled.is_set)
            )
    assert (provider.stores, provider.files, log.left) == ({}, {}, {})


def test_a_proxy_passes_on_what_is_encrypted(trusted: Line, bare: pytest.MonkeyPatch) -> None:
    with Proxy(f"ann:{PASSWORD}") as proxy:
        bare.setenv("HTTPS_PROXY", f"http://ann:{PASSWORD}@{proxy.address}")
        assert trusted.ask()
    assert {method for method, _ in proxy.seen} == {"CONNECT"}


def test_a_proxy_passes_on_what_is_not(line: Line, bare: pytest.MonkeyPatch) -> None:
    with Proxy() as proxy:
        bare.setenv("HTTP_PROXY", f"http://{proxy.address}")
        assert line.ask()
    assert [method for method, _ in proxy.seen] == ["POST"]


def test_a_host_that_needs_no_proxy_is_asked_directly(line: Line, bare: pytest.MonkeyPatch) -> None:
    bare.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    bare.setenv("NO_PROXY", "localhost,127.0.0.1")
    assert line.ask()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
def test_a_dead_proxy_is_named_without_its_password(trusted: Line, bare: pytest.MonkeyPatch, variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = f"127.0.0.1:{closed.getsockname()[1]}"
    bare.setenv(variable, f"http://ann:{PASSWORD}@{dead}")
    with pytest.raises(AssistantFailed, match=f"through the proxy {dead}: .*refused") as failed:
        trusted.ask()
    assert (failed.value.reason, trusted.pauses.seconds) == ("unreachable", [0.5])
    assert PASSWORD not in f"{failed.value}{failed.value.remedy}"
    assert "NO_PROXY" in str(failed.value.remedy)


@pytest.mark.parametrize(("status", "pauses_made"), [(407, 0), (403, 0), (502, 1)])
def test_a_proxy_that_lets_nobody_through_is_named(
    trusted: Line, bare: pytest.MonkeyPatch, status: int, pauses_made: int
) -> None:
    with Proxy(refuses=status) as proxy:
        bare.setenv("HTTPS_PROXY", f"http://ann:{PASSWORD}@{proxy.address}")
        with pytest.raises(AssistantFailed, match=f"through the proxy {proxy.address}: {status}") as failed:
            trusted.ask()
    assert (failed.value.reason, len(trusted.pauses.seconds)) == ("unreachable", pauses_made)
    assert PASSWORD not in str(failed.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", f"socks5://ann:{PASSWORD}@127.0.0.1:1080"),
        ("HTTPS_PROXY", f"ftp://ann:{PASSWORD}@127.0.0.1:21"),
        ("SSL_CERT_FILE", "/nowhere/authority.pem"),
    ],
)
def test_an_environment_that_cannot_be_used_is_told(
    line: Line, bare: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    bare.setenv(variable, value)
    with pytest.raises(Unavailable, match=r"no connection for .* can be prepared") as failed:
        line.ask()
    assert variable in str(failed.value.remedy)
    assert PASSWORD not in str(failed.value)


@in_one_test("url", ["nonsense", "ftp://127.0.0.1/v1", "127.0.0.1:8080/v1"])
def test_an_address_that_is_none_is_told(line: Line, url: str) -> None:
    with pytest.raises((AssistantFailed, Unavailable)) as failed:
        line.ask(url)
    assert "address" in str(failed.value.remedy)
    assert line.pauses.seconds == []
