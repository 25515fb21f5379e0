"""Consulting at /mcp: whatever tokens do, in whatever order, each reaches its own conversations alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.providers.parrot import Parrot
from mcp_over_http import Served, served
from satchel import Satchel
from satchel.interfaces.http.access import AGENT, PERSON

pytestmark = pytest.mark.slow

MODEL = "compatible:tiny"
OWNERS: dict[str, dict[str, Any]] = {
    "ann": {"name": "ann", "role": PERSON},
    "ann too": {"name": "ann", "role": PERSON},
    "bob": {"name": "bob", "role": PERSON},
    "agent ann": {"name": "x", "role": AGENT, "agent": "ann"},
    "nobody": {"name": "y", "role": AGENT},
}
"""Tokens of one project; two of them are of one person."""

TOKENS = st.sampled_from(sorted(OWNERS))
STEPS = st.tuples(st.sampled_from(["ask", "background", "list", "reset", "get", "cancel"]), TOKENS, TOKENS)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parrot]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Parrot() as server:
        yield server


@pytest.fixture
def server(provider: Parrot) -> Iterator[Served]:
    environ = {
        "SATCHEL_CONSULT_BASE_URL": provider.url,
        "SATCHEL_CONSULT_WINDOW_TOKENS": "60000",
        "SATCHEL_CONSULT_OUTPUT_TOKENS": "1000",
        "SATCHEL_CONSULT_REMEMBER": "false",
    }
    with served(environ) as one:
        yield one


class Told:
    """What each owner may know: the questions of its own conversation, and its own handles."""

    def __init__(self, server: Served, provider: Parrot, tokens: dict[str, str]) -> None:
        self._server, self._provider, self._tokens = server, provider, tokens
        self._turns: Counter[str] = Counter()
        self._handles: dict[str, str] = {}

    def call(self, token: str, tool: str, **arguments: object) -> str:
        asked = {"format": "json", **arguments}
        return self._server.call(self._tokens[token], tool, asked, query="?toolsets=consult")

    def step(self, kind: str, token: str, other: str) -> None:
        owner = token.split(maxsplit=1)[0] if token == "ann too" else token
        mark = f"words of {owner}"
        if kind in {"ask", "background"}:
            answer = json.loads(
                self.call(token, "consult", assistant=MODEL, instructions=mark, background=kind == "background")
            )
            if kind == "background":
                self._handles[owner] = answer["handle"]
                done = json.loads(self.call(token, "get_consultation", handle=answer["handle"], wait=20))
                answer = done["result"]
            self._turns[owner] += 1
            assert answer["turn"] == self._turns[owner]
            thread = json.dumps(self._provider.requests[-1].json)
            assert set(re.findall(r"words of ([a-z ]+)", thread)) == {owner}
        elif kind == "list":
            listed = json.loads(self.call(token, "list_conversations"))["conversations"]
            assert [one["turns"] for one in listed] == [self._turns[owner]] * bool(self._turns[owner])
        elif kind == "reset":
            answered = self.call(token, "reset_conversation", conversation="default", confirm=True)
            assert ("there is no conversation" in answered) is (self._turns[owner] == 0)
            self._turns[owner] = 0
        else:
            whose = other.split(maxsplit=1)[0] if other == "ann too" else other
            handle = self._handles.get(whose, "none")
            answered = self.call(token, "get_consultation", handle=handle, cancel=kind == "cancel")
            assert ("there is no consultation" in answered) is (whose != owner or handle == "none")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=4, max_size=12))
def test_a_token_reaches_what_its_owner_asked_alone(
    server: Served, provider: Parrot, open_in: Callable[..., Satchel], tmp_path_factory: Any, steps: list[Any]
) -> None:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / ".git").mkdir()
    satchel = open_in(folder)
    satchel.runs.start("r1")  # a store is there
    told = Told(server, provider, {token: server.give(satchel, **rights) for token, rights in OWNERS.items()})
    for kind, token, other in steps:
        told.step(kind, token, other)


def test_the_api_of_programs_has_no_conversations(
    server: Served, open_in: Callable[..., Satchel], project: Path
) -> None:
    satchel = open_in(project)
    satchel.runs.start("r1")
    token = server.give(satchel)
    for name in ("consult", "get_consultation", "list_conversations", "reset_conversation"):
        answer = httpx2.post(f"{server.url}/api/{name}", json={}, headers={"Authorization": f"Bearer {token}"})
        assert "does not work over a server" in answer.text
