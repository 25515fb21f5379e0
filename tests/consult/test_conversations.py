"""Conversations: what a turn leaves, what a failed one does not, and who sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.answered_turns import KEY, Placement, digest, known, placement_of, result, stored, stores_left, take_turn
from every_table import is_untouched
from examples import examples
from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, NotFound, SatchelError, StoreDamaged
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey, ConversationState, Exchange, FileState, Overflow
from satchel.consult.vector_stores import VectorStores
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


def test_a_conversation_begins_with_nothing(conversations: Conversations) -> None:
    assert conversations.acquire(KEY).state == ConversationState()


def test_what_a_turn_left_is_what_the_next_one_finds(conversations: Conversations) -> None:
    files = [
        known("a.py"),
        known("src/deep/b.py", "b\r\n"),
        known("src/c.py", None),
        known("/etc/motd", placement=Placement.OVERFLOW),
        known("übersicht 日本.md", placement=Placement.OVERFLOW),
    ]
    committed = take_turn(conversations, *files, ref="thread-9")
    expected = ConversationState(1, {one.path: one for one in files}, 120, True, "thread-9")
    assert committed == expected
    assert conversations.acquire(KEY).state == expected


def test_tokens_add_up_over_turns(conversations: Conversations) -> None:
    take_turn(conversations, known("a.py"))
    assert take_turn(conversations, known("a.py"), tokens=30).held_tokens == 120 + 50


def test_a_file_that_a_turn_does_not_name_stays_as_it_was(conversations: Conversations) -> None:
    take_turn(conversations, known("a.py"), known("b.py"))
    assert take_turn(conversations, known("b.py", "new")).files == {"a.py": known("a.py"), "b.py": known("b.py", "new")}


def test_a_removed_file_keeps_its_place_until_it_comes_back(conversations: Conversations) -> None:
    take_turn(conversations, known("a.py", placement=Placement.OVERFLOW))
    gone = known("a.py", None, Placement.OVERFLOW)
    assert take_turn(conversations, gone).files == {"a.py": gone}
    back = known("a.py", "again", Placement.OVERFLOW)
    assert take_turn(conversations, back).files == {"a.py": back}


def test_a_turn_that_would_move_a_file_is_recorded_in_no_part(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, known("a.py"), contents=("text",))
    before = stored(satchel)
    held = conversations.acquire(KEY)
    moved = result(known("new.py", "n"), known("a.py", placement=Placement.OVERFLOW), contents=("n",))
    with pytest.raises(SatchelError, match=r"a\.py would move between the prompt and what is searched"):
        conversations.commit(held, moved)
    assert stored(satchel) == before
    assert conversations.release(held)


@pytest.mark.parametrize("turns", [0, 2])
def test_a_call_that_failed_leaves_everything_as_it_was(
    conversations: Conversations, satchel: Satchel, turns: int
) -> None:
    for _ in range(turns):
        take_turn(conversations, known("a.py"), contents=("text",))
    before = stored(satchel)
    assert conversations.release(conversations.acquire(KEY))
    assert stored(satchel) == before
    assert conversations.acquire(KEY).state.turns == turns


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_block_that_fails_lets_the_next_call_in(conversations: Conversations, error: type[BaseException]) -> None:
    with pytest.raises(error), conversations.acquire_lease(KEY):
        raise error
    assert conversations.acquire(KEY).state == ConversationState()


def test_a_block_that_commits_has_nothing_left_to_release(conversations: Conversations) -> None:
    with conversations.acquire_lease(KEY) as held:
        conversations.commit(held, result(known("a.py")))
        assert not conversations.release(held)
    assert conversations.state(KEY).turns == 1


@pytest.mark.parametrize(
    "other",
    [ConversationKey("gpt", "other"), ConversationKey("gemini", "review")],
    ids=["session", "assistant"],
)
def test_a_conversation_is_apart_from_one_that_differs_in_one_part_of_its_key(
    conversations: Conversations, other: ConversationKey
) -> None:
    take_turn(conversations, known("a.py"))
    assert conversations.state(other) == ConversationState()
    assert conversations.thread(other) == ()
    held = conversations.acquire(KEY)
    assert take_turn(conversations, known("b.py"), key=other).files == {"b.py": known("b.py")}
    conversations.release(held)
    conversations.reset(other)
    assert conversations.state(KEY).files == {"a.py": known("a.py")}


def test_a_conversation_of_another_project_is_apart(open_in: Callable[..., Satchel], project: Path) -> None:
    one = Conversations(open_in(project, project="one").workplace)
    other = Conversations(open_in(project, project="other").workplace)
    take_turn(one, known("a.py"), contents=("text",))
    held = other.acquire(KEY)
    assert held.state == ConversationState()
    assert other.read_content(digest("text")) is None
    other.release(held)
    assert other.list().total == 0
    with pytest.raises(NotFound):
        other.reset(KEY)


@in_one_test("part", ["assistant", "conversation"])
@in_one_test("value", ["", " ", "a\nb", "x" * 201, "{{session}}", SECRET, None, 7])
def test_a_key_that_is_no_name_is_refused(conversations: Conversations, part: str, value: Any) -> None:
    parts = {"assistant": "gpt", "conversation": "review", part: value}
    with pytest.raises(InvalidInput, match=part):
        conversations.acquire(ConversationKey(**parts))


def test_reading_makes_no_store(conversations: Conversations, satchel: Satchel) -> None:
    assert conversations.state(KEY) == ConversationState()
    assert conversations.thread(KEY) == ()
    assert conversations.list().total == 0
    assert is_untouched(satchel.workplace.engine)


def test_the_history_is_what_was_said(conversations: Conversations, clock: ManualClock) -> None:
    prompt = "\ufeffa\r\nb\rc\td \udcff e\x1b"
    take_turn(conversations, prompt=prompt, answer="One.", ref=None)
    clock.advance(5)
    take_turn(conversations, prompt="again", answer="Two.", ref="t2", tokens=3, resent_tokens=9)
    # the provider has the second prompt
    assert conversations.thread(KEY) == (Exchange(prompt, "One."), Exchange("", "Two."))
    second, first = conversations.read(conversations.list().items[0].id).turns
    assert [(one.n, one.answer) for one in (first, second)] == [(1, "One."), (2, "Two.")]
    assert (second.sent_tokens, second.resent_tokens, second.answer_tokens) == (3, 9, 20)
    assert second.created_at - first.created_at == 5
    assert conversations.list(since=first.created_at).total == 1
    assert conversations.list(since=first.created_at + 1).total == 0


def test_a_thread_that_starts_over_has_the_history_and_the_tokens_of_its_own_turns(
    conversations: Conversations,
) -> None:
    take_turn(conversations, known("a.py"), answer="lost")
    state = take_turn(conversations, known("a.py"), answer="found", ref="thread-2", starts_over=True)
    assert (state.turns, state.held_tokens, state.provider_ref) == (2, 120, "thread-2")
    take_turn(conversations, known("a.py"), answer="more", ref="thread-2")
    assert [turn.answer for turn in conversations.thread(KEY)] == ["found", "more"]
    (listed,) = conversations.list()
    assert (listed.held_tokens, listed.sent_tokens) == (240, 300)


def test_secrets_are_stored_in_no_part_of_a_turn(conversations: Conversations, satchel: Satchel) -> None:
    held = conversations.acquire(KEY)
    secret = f"token = {SECRET}\n"
    said: dict[str, Any] = {"prompt": f"See:\n{secret}", "answer": f"Revoke {SECRET}\x07.", "ref": None}
    answered = result(known("s.py", secret), contents=(secret,), **said)
    notes = conversations.commit(held, answered)[1]
    assert SECRET not in repr(conversations.thread(KEY))
    assert conversations.read_content(digest(secret)) is None
    assert stored(satchel)["blobs"] == []
    assert notes == (
        "a secret was redacted in what is stored of the prompt (github-token)",
        "stored answer: 1 control character removed",
        "stored answer: a secret was redacted (github-token)",
    )


def test_a_turn_without_a_secret_has_nothing_to_note(conversations: Conversations) -> None:
    assert conversations.commit(conversations.acquire(KEY), result(known("a.py")))[1] == ()


def test_a_turn_that_cannot_be_read_is_said(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE conversation_turns SET prompt = :bytes", {"bytes": b"no zlib"})
    with pytest.raises(StoreDamaged, match="turn 1"):
        conversations.thread(KEY)


def test_an_earlier_content_is_read_by_its_digest(conversations: Conversations) -> None:
    take_turn(conversations, known("a.py", "old\r\n"), contents=("old\r\n",))
    read_old = conversations.read_content
    assert read_old(digest("old\r\n")) == "old\r\n"
    assert read_old(digest("never sent")) is None


class TestListing:
    def test_what_is_where_and_why(self, conversations: Conversations) -> None:
        first = [known("b.py"), known("a.py"), known("big.py", why=Overflow.TOO_LARGE, tokens=900)]
        take_turn(conversations, *first)
        take_turn(conversations, *first[1:], known("b.py", None), known("late.py", why=Overflow.LATE, first_turn=2))
        (listed,) = conversations.list()
        assert [(one.path, one.tokens, one.is_removed, one.why) for one in listed.inline] == [
            ("a.py", 7, False, None),
            ("b.py", 7, True, None),
        ]
        assert [(one.path, one.tokens, one.why) for one in listed.overflow] == [
            ("big.py", 900, "larger alone than the part of the window that files may take"),
            ("late.py", 7, "new in turn 2, after others had overflowed in turn 1"),
        ]

    def test_a_new_file_that_did_not_fit_is_told_from_one_that_came_after_it(
        self, conversations: Conversations
    ) -> None:
        late = known("late.py", why=Overflow.NO_ROOM, first_turn=2)
        later = known("later.py", why=Overflow.LATE, first_turn=3)
        take_turn(conversations, known("a.py"))
        take_turn(conversations, late)
        take_turn(conversations, late, later)
        (listed,) = conversations.list()
        assert [one.why for one in listed.overflow] == [
            "new in turn 2, when it did not fit any more",
            "new in turn 3, after others had overflowed in turn 2",
        ]

    def test_tokens_sent_and_saved(self, conversations: Conversations) -> None:
        take_turn(conversations, tokens=400, resent_tokens=400)
        take_turn(conversations, tokens=50, resent_tokens=420)
        (listed,) = conversations.list()
        assert (listed.turns, listed.sent_tokens, listed.resent_tokens, listed.answer_tokens) == (2, 450, 820, 40)
        assert (listed.held_tokens, listed.saved_tokens) == (490, 370)

    def test_saved_tokens_are_never_fewer_than_none(self, conversations: Conversations) -> None:
        take_turn(conversations, tokens=12, resent_tokens=10)
        assert conversations.list().items[0].saved_tokens == 0

    def test_the_newest_come_first_and_pages_follow_on(self, conversations: Conversations, clock: ManualClock) -> None:
        for name in ("one", "two", "three"):
            take_turn(conversations, key=ConversationKey("gpt", name))
            clock.advance(1)
        take_turn(conversations, key=ConversationKey("gpt", "one"))
        page = conversations.list(limit=2)
        assert [one.key.conversation for one in page] == ["three", "two"]
        assert (page.total, page.next_offset) == (3, 2)
        assert [one.key.conversation for one in conversations.list(limit=2, offset=2)] == ["one"]
        assert (conversations.list(limit=0).items, conversations.list(limit=0).total) == ((), 3)

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"assistant": "gpt"}, {("gpt", "a"), ("gpt", "b")}),
            ({"conversation": "a"}, {("gpt", "a"), ("gemini", "a")}),
            ({"assistant": "gemini", "conversation": "b"}, set()),
        ],
    )
    def test_it_is_filtered(
        self, conversations: Conversations, filters: dict[str, Any], expected: set[tuple[str, str]]
    ) -> None:
        for key in (("gpt", "a"), ("gpt", "b"), ("gemini", "a")):
            take_turn(conversations, key=ConversationKey(*key))
        page = conversations.list(**filters)
        assert {(one.key.assistant, one.key.conversation) for one in page} == expected
        assert page.total == len(expected)

    def test_a_call_under_way_is_shown_and_one_that_never_succeeded_is_not(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        held = conversations.acquire(KEY, 1_000)
        conversations.acquire(ConversationKey("gpt", "first call"))
        (listed,) = conversations.list()
        assert (listed.key, listed.lease) == (KEY, held.lease)
        clock.advance(1_000)
        assert conversations.list().items[0].lease is None

    @in_one_test("page", [{"limit": -1}, {"limit": 501}, {"offset": -1}])
    def test_what_is_no_page_is_refused(self, conversations: Conversations, page: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            conversations.list(**page)

    def test_every_turn_takes_the_next_seq(self, conversations: Conversations) -> None:
        take_turn(conversations)
        first = conversations.list().items[0].seq
        take_turn(conversations)
        assert conversations.list().items[0].seq > first


class TestResetting:
    def test_nothing_is_left_but_what_other_conversations_need(
        self, conversations: Conversations, satchel: Satchel
    ) -> None:
        other = ConversationKey("gpt", "other")
        take_turn(conversations, known("b.py", "both"), contents=("both",), key=other)
        before = stored(satchel)
        mine = [known("a.py", "mine"), known("src/b.py", "both"), known("o.py", placement=Placement.OVERFLOW)]
        take_turn(conversations, *mine, contents=("mine", "both"))
        conversations.reset(KEY)
        after = stored(satchel)
        assert after == before
        assert conversations.state(KEY) == ConversationState()

    def test_the_next_call_begins_anew_and_may_place_files_anew(self, conversations: Conversations) -> None:
        take_turn(conversations, known("a.py"))
        conversations.reset(KEY)
        state = take_turn(conversations, known("a.py", placement=Placement.OVERFLOW), ref="thread-2")
        assert (state.turns, state.held_tokens, placement_of(state.files["a.py"])) == (1, 120, Placement.OVERFLOW)

    def test_one_that_a_call_holds_is_refused(self, conversations: Conversations) -> None:
        take_turn(conversations)
        conversations.acquire(KEY, holder="Ann")
        with pytest.raises(Conflict, match="held by Ann"):
            conversations.reset(KEY)
        assert conversations.state(KEY).turns == 1

    def test_a_call_that_comes_back_after_a_reset_records_nothing(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        late = conversations.acquire(KEY, 1_000)
        clock.advance(1_000)
        conversations.reset(KEY)
        with pytest.raises(Conflict, match="or was reset"):
            conversations.commit(late, result(known("a.py")))
        assert stored(satchel)["conversations"] == stored(satchel)["conversation_turns"] == []

    def test_one_that_is_not_there_is_said_with_the_nearest(self, conversations: Conversations) -> None:
        with pytest.raises(NotFound, match="list_conversations"):
            conversations.reset(KEY)

    def test_vector_stores_stay_recorded(self, conversations: Conversations, satchel: Satchel) -> None:
        take_turn(conversations)
        held = conversations.acquire(KEY)
        stores = VectorStores(satchel.workplace, held.id)
        store = stores.announce("openai")
        conversations.release(held)
        conversations.reset(KEY)
        (left,) = stores_left(stores)
        assert (left.name, left.conversation_id) == (store.name, None)


_TURN = st.dictionaries(
    st.sampled_from(["a.py", "b", "src/a.py", "src/é.py", "/x/a.py", "src/in/a.py"]),
    st.one_of(st.none(), st.sampled_from(["one", "two", "three"])),
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_TURN, max_size=5))
def test_after_any_turns_the_state_is_what_they_said(
    conversations: Conversations, turns: list[dict[str, str | None]]
) -> None:
    expected: dict[str, FileState] = {}
    for turn in turns:
        files = [
            known(path, text, Placement.OVERFLOW if "in/" in path else Placement.INLINE) for path, text in turn.items()
        ]
        expected |= {one.path: one for one in files}
        assert take_turn(conversations, *files).files == expected
    assert conversations.state(KEY).files == expected
    if turns:
        conversations.reset(KEY)
