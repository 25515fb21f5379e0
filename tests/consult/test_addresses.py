"""The address of a provider as it is shown, and that it is the one that is asked, with no key but its own."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consult.providers.asking import Pauses
from consult.providers.chat_completions import ChatCompletions
from consult.providers.every_kind import KINDS, line_to
from consult.providers.proxy import Proxy
from satchel.base.errors import AssistantFailed
from satchel.consult.models import Ask, Timing
from satchel.consult.providers import AssistantSettings, open_assistant
from satchel.consult.wire import public_address

pytestmark = pytest.mark.slow

KEYS = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-ant-test", "GEMINI_API_KEY": "gemini-test-key"}
ADDRESS_VARIABLES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
OWN = {
    "gpt-5": "https://api.openai.com/v1",
    "claude-opus-5": "https://api.anthropic.com",
    "gemini-4-argon": "https://generativelanguage.googleapis.com",
}
SETTINGS = AssistantSettings(base_url=None, window=32_000)
TEXT = st.text(st.characters(blacklist_characters="@/?#", blacklist_categories=("Cs", "Cc", "Cf", "Zs", "Zl", "Zp")))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://ann:hunter2@host:8080/v1", "http://host:8080/v1"),
        ("http://ann:hun@ter2@host/v1", "http://host/v1"),
        ("http://host/v1?key=hunter2#hunter2", "http://host/v1"),
        ("http://stranger/@api.openai.com/v1", "http://stranger/@api.openai.com/v1"),
        ("ann:hunter2@host/v1", "(not a URL)"),
        ("http:/ann:hunter2@host/v1", "(not a URL)"),
        ("http://host/\x1b[2J\u202ev1", "http://host/[2Jv1"),
        ("nonsense", "nonsense"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_secret(url: str, shown: str) -> None:
    assert public_address(url) == shown


@given(user=TEXT, password=TEXT.filter(lambda text: len(text) > 3), path=st.sampled_from(["", "/v1", "/a/b"]))
def test_no_password_is_ever_shown(user: str, password: str, path: str) -> None:
    assert public_address(f"https://{user}:{password}@host.test{path}") == f"https://host.test{path}"


def test_a_long_address_is_shown_in_part() -> None:
    assert len(public_address(f"http://host/{'x' * 10_000}")) == 200


@pytest.mark.parametrize(("name", "address"), OWN.items())
def test_a_vendor_is_asked_where_the_assistant_says(name: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ADDRESS_VARIABLES:
        # only the environment that the assistant was opened with counts
        monkeypatch.setenv(variable, "http://127.0.0.1:1/stranger")
    for variable in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    assistant = open_assistant(name, KEYS, SETTINGS, timing=Timing(attempts=1))
    with Proxy(refuses=403) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        with pytest.raises(AssistantFailed, match=f"{name} at {address} cannot be reached") as failed:
            assistant.ask(Ask("Why?"))
    assert failed.value.reason == "unreachable"
    assert assistant.address == address
    assert proxy.seen == [("CONNECT", f"{address.removeprefix('https://').partition('/')[0]}:443")]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("model", ["compatible:tiny", "ollama:tiny"])
@pytest.mark.parametrize("key", [None, "key-of-the-endpoint"])
def test_no_key_of_a_vendor_goes_to_a_configured_address(
    model: str, key: str | None, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {
        **KEYS,
        "OPENAI_ADMIN_KEY": "sk-admin",
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer sk-custom\nX-Gateway: sk-gateway",
        "ANTHROPIC_AUTH_TOKEN": "sk-ant-token",
        "GOOGLE_API_KEY": "google-key",
    }
    for variable, value in secrets.items():
        monkeypatch.setenv(variable, value)
    environ = secrets if key is None else {**secrets, "SATCHEL_CONSULT_KEY": key}
    with ChatCompletions() as provider:
        settings = AssistantSettings(base_url=provider.url, window=32_000)
        assert open_assistant(model, environ, settings).ask(Ask("Why?")).text
        (request,) = provider.requests
    sent = str(dict(request.headers)) + request.body.decode()
    assert [value for value in secrets.values() if value in sent] == []
    assert not {"sk-custom", "sk-gateway"} & set(sent.replace("'", " ").split())
    assert request.headers["authorization"] == f"Bearer {key or 'none'}"


@pytest.mark.parametrize(("name", "address"), OWN.items())
def test_the_key_of_an_endpoint_goes_to_no_vendor(name: str, address: str) -> None:
    environ = {**KEYS, "SATCHEL_CONSULT_KEY": "key-of-the-endpoint"}
    settings = AssistantSettings(base_url="http://127.0.0.1:1/v1", window=32_000)
    assistant = open_assistant(name, environ, settings)
    assert assistant.address == address
    assert "key-of-the-endpoint" not in repr(vars(assistant))


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_is_in_what_the_sdks_log(
    pauses: Pauses, direct: None, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with line_to(kind, pauses) as line:
        line.key = line.provider.key = "sk-the-key-of-a-vendor"  # type: ignore[attr-defined]
        assert line.ask() == "It is so."
    assert caplog.text
    assert "sk-the-key-of-a-vendor" not in caplog.text
