"""A thread that we keep: prompts are stored as words and shared contents, and asked again byte for byte or not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.answered_turns import KEY, known, take_turn
from consult.consulted import LONG, Consulted
from consulting import Desk, Reader
from satchel import Satchel
from satchel.consult.conversations import Conversations
from satchel.consult.models import ThreadLost
from satchel.consult.records import ConversationKey, TurnRequest, TurnResult, cut_out, put_back

if TYPE_CHECKING:
    from conftest import ManualClock

COMPATIBLE = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)
SECRET = "ghp_" + "a1B2" * 9

PATHS = tuple(f"src/{name}.py" for name in "abcdef")
CONTENTS = st.one_of(
    st.sampled_from(
        ["", "x\n", LONG, LONG + "# end\n", LONG.replace("number_7", "number_x"), f"{LONG}t = '{SECRET}'\n"]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300),
)
TURNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(PATHS), st.none() | CONTENTS, max_size=4),
        st.sampled_from(["What is wrong?", "And now?", f"Is {SECRET} valid?", LONG]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=TURNS, limit=st.sampled_from([0, 200, 1_500, 1_000_000]), lost=st.sets(st.integers(0, 30), max_size=2))
def test_a_thread_is_what_was_sent_or_is_lost(
    satchel: Satchel, turns: list[tuple[dict[str, str | None], str]], limit: int, lost: set[int]
) -> None:
    conversations = Conversations(satchel.workplace, max_blob_bytes=limit)
    key = ConversationKey("gpt", os.urandom(8).hex())
    desk, sent = Desk(), []
    for changed, question in turns:
        for path, text in changed.items():
            if text is None:
                desk.disk.pop(path, None)
            else:
                desk.write(path, text)
        plan = desk.commit(desk.plan(request=TurnRequest("s", question, desk.now)))
        desk.now += 10_000
        sent.append((plan.prompt.replace(SECRET, ""), "So."))
        conversations.commit(conversations.acquire(key), TurnResult(plan, "So.", 3))
    with satchel.workplace.engine.write() as transaction:
        rows = transaction.all("SELECT id FROM blobs ORDER BY id")
        gone = [row[0] for number, row in enumerate(rows) if number in lost]
        for one in gone:
            transaction.run("DELETE FROM blobs WHERE id = :id", {"id": one})
    try:
        thread = conversations.thread(key)
    except ThreadLost:
        assert gone or limit in {200, 1_500}
    else:
        assert [(one.prompt.replace("[redacted:github-token]", ""), one.answer) for one in thread] == sent


@given(st.lists(st.text("ab\n", max_size=5), max_size=6), st.lists(st.text("ab\nc", max_size=3), max_size=7))
def test_what_was_cut_out_is_put_back(parts: list[str], words: list[str]) -> None:
    words += [""] * (len(parts) + 1 - len(words))
    prompt = words[0] + "".join(part + word for part, word in zip(parts, words[1:], strict=False))
    assert put_back(cut_out(prompt, parts), parts) == prompt


def in_tables(satchel: Satchel, text: str) -> list[str]:
    """Return the words of each stored prompt that has a text."""
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all("SELECT prompt FROM conversation_turns ORDER BY id")
    return [words for (prompt,) in rows if text in (words := zlib.decompress(prompt).decode())]


@COMPATIBLE
def test_files_and_diffs_are_stored_once_and_not_with_the_turn(consulted: Consulted) -> None:
    consulted.write("a.py", LONG)
    consulted.ask(context=["a.py"])
    consulted.write("a.py", LONG.replace("number_7", "number_x"))
    consulted.ask(context=["a.py"])
    assert "number_x" in consulted.prompts()[1]
    assert "number_1" in consulted.prompts()[0]
    assert in_tables(consulted.satchel, "number_") == []
    consulted.ask("What else?")
    messages = consulted.provider.requests[-1].json["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == consulted.prompts()


@COMPATIBLE
def test_where_contents_are_not_kept_the_turn_has_them(consulted: Consulted) -> None:
    consulted.satchel.consulting.conversations._max_blob_bytes = 0
    consulted.write("a.py", LONG)
    consulted.ask(context=["a.py"])
    assert len(in_tables(consulted.satchel, "number_1")) == 1
    again = consulted.ask("What else?", context=["a.py"])
    assert again.sent_tokens < 200
    assert consulted.heard().files == {"a.py": LONG}


@COMPATIBLE
def test_a_turn_that_is_more_than_all_contents_may_take_keeps_its_own(consulted: Consulted) -> None:
    consulted.satchel.consulting.conversations._max_blob_bytes = 100
    consulted.write("a.py", LONG)
    consulted.ask(context=["a.py"])
    consulted.ask("What else?")
    assert len(consulted.provider.requests[-1].json["messages"]) == 3
    assert consulted.heard().files == {"a.py": LONG}


@COMPATIBLE
def test_a_thread_that_names_more_contents_than_there_are_begins_anew(consulted: Consulted) -> None:
    consulted.write("a.py", LONG)
    consulted.ask(context=["a.py"])
    with consulted.satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE conversation_parts SET last_blob = 9000000000000000000")
    done = consulted.ask("What else?", context=["a.py"])
    assert any("not stored any more" in note for note in done.notes)
    assert len(consulted.provider.requests[-1].json["messages"]) == 1


@COMPATIBLE
def test_a_thread_with_a_content_that_is_gone_begins_anew_with_its_files(consulted: Consulted) -> None:
    consulted.write("a.py", LONG)
    consulted.write("b.py", LONG.replace("number", "other"))
    consulted.ask(context=["."])
    with consulted.satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM blobs WHERE id = (SELECT min(id) FROM blobs)")
    done = consulted.ask("And now?", context=["."])
    assert any("not stored any more" in note for note in done.notes)
    reader = Reader()
    reader.hear(consulted.prompts()[-1], ())
    assert reader.files == {"a.py": LONG, "b.py": LONG.replace("number", "other")}
    assert "Hello, world" in consulted.prompts()[-1]
    assert [one["role"] for one in consulted.provider.requests[-1].json["messages"]] == ["user"]
    third = consulted.ask("What else?", context=["."])
    assert third.turn == 3
    assert not any("not stored any more" in note for note in third.notes)


class TestContents:
    @pytest.fixture
    def conversations(self, satchel: Satchel) -> Conversations:
        return Conversations(satchel.workplace)

    @pytest.fixture
    def count(self, satchel: Satchel) -> Callable[[], int]:
        def count() -> int:
            with satchel.workplace.engine.read() as transaction:
                return len(transaction.all("SELECT 1 FROM blobs"))

        return count

    def _say(self, conversations: Conversations, text: str, *, starts_over: bool = False) -> None:
        said: dict[str, Any] = {"prompt": f"See:\n{text}", "parts": (text,), "contents": (text,), "ref": None}
        take_turn(conversations, known("a.py", text), starts_over=starts_over, **said)

    def test_earlier_versions_stay_while_the_thread_needs_them(
        self, conversations: Conversations, satchel: Satchel, count: Callable[[], int]
    ) -> None:
        self._say(conversations, LONG)
        self._say(conversations, LONG + "# 2\n")
        satchel.housekeeping.compact()
        assert [one.prompt for one in conversations.thread(KEY)] == [f"See:\n{LONG}", f"See:\n{LONG}# 2\n"]
        self._say(conversations, LONG + "# 3\n", starts_over=True)
        satchel.housekeeping.compact()
        assert count() == 1
        assert [one.prompt for one in conversations.thread(KEY)] == [f"See:\n{LONG}# 3\n"]

    def test_they_go_with_the_conversation(self, conversations: Conversations, count: Callable[[], int]) -> None:
        self._say(conversations, LONG)
        self._say(conversations, LONG + "# 2\n")
        conversations.reset(KEY)
        assert count() == 0

    def test_they_count_as_used_when_it_goes_on(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        self._say(conversations, LONG)
        self._say(conversations, LONG + "# 2\n")
        clock.advance(2 * 3_600_000)
        take_turn(conversations, ref=None)
        with satchel.workplace.engine.read() as transaction:
            assert transaction.all("SELECT DISTINCT last_used FROM blobs") == [(clock.now,)]

    def test_a_secret_stays_in_no_content(self, conversations: Conversations) -> None:
        self._say(conversations, f"{LONG}token = '{SECRET}'\n")
        assert SECRET not in conversations.thread(KEY)[0].prompt
        assert LONG in conversations.thread(KEY)[0].prompt

    def test_two_projects_share_none(
        self, open_in: Callable[..., Satchel], project: Path, count: Callable[[], int]
    ) -> None:
        for name in ("one", "two"):
            self._say(Conversations(open_in(project, project=name).workplace), LONG)
        assert count() == 2
