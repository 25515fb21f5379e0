"""Conversations with other models belong to the person or agent of a token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.answered_turns import KEY, take_turn
from satchel import Satchel
from satchel.base.errors import NotFound
from satchel.consult.records import ConversationState
from satchel.interfaces.http.access import AGENT, PERSON, Access
from satchel.interfaces.http.stores import Stores


def token(number: int, name: str, role: str, agent: str | None = None) -> Access:
    return Access(f"id-{number}", name, role, Path(), "one", agent)


TOKENS = {
    token(1, "ann", PERSON): "person ann",
    token(2, "ann", PERSON): "person ann",
    token(3, "laptop", PERSON, "human:ann"): "person ann",
    token(4, "bob", PERSON): "person bob",
    token(5, "human", PERSON): "token 5",
    token(6, "ann", AGENT, "bob"): "agent bob",
    token(7, "bob", AGENT, "bob"): "agent bob",
    token(8, "x", AGENT, "human:ann"): "an agent of that name",
    token(9, "ann", AGENT): "token 9",
    token(10, "ann", AGENT): "token 10",
    token(11, "local", AGENT, "local"): "an agent of that name too",
}
"""Tokens of one project, and whose they are."""


@pytest.fixture
def stores(open_in: Callable[..., Satchel], project: Path) -> Stores:
    one = open_in(project, project="one")

    class Opened(Stores):
        def opened(self, store: Path | str, *, read_only: bool = False) -> Satchel:  # noqa: ARG002 -- there is but one
            return one

    return Opened({})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(TOKENS)), st.sampled_from(list(TOKENS)))
def test_a_token_reaches_the_conversations_of_its_own_person_or_agent_only(
    stores: Stores, ours: Access, theirs: Access
) -> None:
    mine = stores.satchel(ours).consulting.conversations
    others = stores.satchel(theirs).consulting.conversations
    take_turn(mine, question="mine")
    number = mine.list().items[0].id
    try:
        if TOKENS[ours] == TOKENS[theirs]:
            assert others.state(KEY).turns == 1
            return
        assert others.state(KEY) == ConversationState()
        assert (others.thread(KEY), others.past(KEY), others.sessions(KEY)) == ((), (), frozenset())
        assert others.list().total == 0
        with pytest.raises(NotFound):
            others.read(number)
        with pytest.raises(NotFound):
            others.reset(KEY)
        held = others.acquire(KEY)  # the name is free for them
        others.release(held)
    finally:
        mine.reset(KEY)


def test_a_conversation_of_this_machine_is_no_tokens(stores: Stores) -> None:
    take_turn(stores.opened(Path()).consulting.conversations)
    assert [stores.satchel(one).consulting.conversations.list().total for one in TOKENS] == [0] * len(TOKENS)
