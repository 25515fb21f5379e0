"""Leases: one call at a time continues a conversation, whichever thread or process it comes from."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from consult.answered_turns import KEY, known, result, stored, take_turn
from satchel import Satchel
from satchel.base.clock import moment_text
from satchel.base.errors import Conflict, InvalidInput
from satchel.consult.conversations import LEASE_MS, LONGEST_LEASE_MS, Conversations
from satchel.consult.records import ConversationKey, ConversationState
from satchel.store.sqlite import SqliteEngine
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from conftest import ManualClock

pytestmark = pytest.mark.slow

OTHER = ConversationKey("gpt", "other")


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


class TestKeepingOut:
    def test_a_second_call_is_told_who_holds_the_conversation_since_when_and_until_when(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        conversations.acquire(KEY, 60_000, holder="Ann's review")
        since = clock.now
        clock.advance(59_999)
        with pytest.raises(Conflict) as refused:
            conversations.acquire(KEY)
        said = str(refused.value)
        assert all(
            part in said
            for part in (
                "'review'",
                "gpt",
                "Ann's review",
                moment_text(since, "2026"),
                moment_text(since + 60_000, "2026"),
            )
        )

    def test_a_holder_that_is_not_named_is_the_agent_and_the_process(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        named = Conversations(open_in(project, agent="planner").workplace)
        assert named.acquire(KEY).lease.holder.startswith("planner (process ")

    @pytest.mark.parametrize("holder", ["", "a\nb", 7])
    def test_a_holder_that_is_no_name_is_refused(self, conversations: Conversations, holder: Any) -> None:
        with pytest.raises(InvalidInput, match="holder"):
            conversations.acquire(KEY, holder=holder)

    def test_a_call_that_is_kept_out_changes_nothing(self, conversations: Conversations) -> None:
        held = conversations.acquire(KEY)
        for _ in range(2):
            with pytest.raises(Conflict):
                conversations.acquire(KEY)
        assert conversations.commit(held, result(known("a.py")))[0].turns == 1

    @pytest.mark.parametrize("end", ["release", "commit"])
    def test_the_next_call_comes_in_once_the_first_has_ended(self, conversations: Conversations, end: str) -> None:
        held = conversations.acquire(KEY)
        conversations.release(held) if end == "release" else conversations.commit(held, result())
        assert conversations.acquire(KEY).state.turns == (end == "commit")

    def test_reading_needs_no_lease(self, conversations: Conversations) -> None:
        take_turn(conversations, known("a.py"))
        conversations.acquire(KEY)
        assert conversations.state(KEY).turns == len(conversations.thread(KEY)) == conversations.list().total == 1


class TestEnding:
    def test_a_lease_that_has_ended_is_taken_over(self, conversations: Conversations, clock: ManualClock) -> None:
        take_turn(conversations, known("a.py"))
        conversations.acquire(KEY)
        clock.advance(LEASE_MS)
        assert conversations.acquire(KEY).state.files == {"a.py": known("a.py")}

    def test_whoever_lost_it_can_neither_commit_nor_renew_nor_release(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        late = conversations.acquire(KEY)
        clock.advance(LEASE_MS)
        new = conversations.acquire(KEY)
        before = stored(satchel)
        with pytest.raises(Conflict, match="taken over"):
            conversations.commit(late, result(known("a.py"), contents=("text",)))
        with pytest.raises(Conflict, match="taken over"):
            conversations.renew(late)
        assert not conversations.release(late)
        assert stored(satchel) == before
        assert conversations.commit(new, result(known("b.py")))[0].files == {"b.py": known("b.py")}

    def test_one_that_is_taken_over_before_its_files_are_read_is_not_handed_out(
        self, conversations: Conversations, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take_turn(conversations, known("a.py"))
        read = SqliteEngine.read

        def late(engine: SqliteEngine) -> AbstractContextManager[Transaction]:
            monkeypatch.undo()
            clock.advance(LEASE_MS)
            conversations.acquire(KEY, holder="Ann")
            return read(engine)

        monkeypatch.setattr(SqliteEngine, "read", late)
        with pytest.raises(Conflict, match="taken over"):
            conversations.acquire(KEY)
        with pytest.raises(Conflict, match="held by Ann"):
            conversations.acquire(KEY)

    def test_a_turn_is_recorded_once(self, conversations: Conversations) -> None:
        held = conversations.acquire(KEY)
        conversations.commit(held, result(known("a.py")))
        with pytest.raises(Conflict):
            conversations.commit(held, result(known("b.py")))
        assert conversations.state(KEY).files == {"a.py": known("a.py")}

    def test_a_late_turn_that_nobody_came_before_is_recorded(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        held = conversations.acquire(KEY)
        clock.advance(10 * LONGEST_LEASE_MS)
        assert conversations.commit(held, result(known("a.py")))[0].turns == 1

    def test_a_first_call_that_is_late_is_not_taken_for_a_crashed_one(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        held = conversations.acquire(KEY)
        clock.advance(LEASE_MS + LONGEST_LEASE_MS)
        conversations.acquire(OTHER)
        assert conversations.commit(held, result(known("a.py")))[0].turns == 1

    def test_what_a_crashed_first_call_left_is_removed_by_a_later_one(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        conversations.acquire(KEY)
        clock.advance(LEASE_MS + LONGEST_LEASE_MS + 1)
        take_turn(conversations, key=OTHER)
        assert len(stored(satchel)["conversations"]) == 1

    def test_a_renewed_lease_lasts_longer(self, conversations: Conversations, clock: ManualClock) -> None:
        held = conversations.acquire(KEY, 1_000)
        clock.advance(900)
        conversations.renew(held, 1_000)
        clock.advance(999)
        with pytest.raises(Conflict):
            conversations.acquire(KEY)
        clock.advance(1)
        conversations.acquire(KEY)

    def test_an_ended_lease_may_be_renewed_while_nobody_has_come(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        held = conversations.acquire(KEY, 1_000)
        clock.advance(5_000)
        conversations.renew(held, 1_000)
        with pytest.raises(Conflict):
            conversations.acquire(KEY)

    def test_a_clock_put_back_a_little_ends_no_lease(self, conversations: Conversations, clock: ManualClock) -> None:
        conversations.acquire(KEY, LONGEST_LEASE_MS)
        clock.advance(-60_000)
        with pytest.raises(Conflict):
            conversations.acquire(KEY)

    def test_a_clock_put_back_a_year_locks_nobody_out(self, conversations: Conversations, clock: ManualClock) -> None:
        conversations.acquire(KEY)
        clock.advance(-365 * 86_400_000)
        assert conversations.acquire(KEY).state == ConversationState()


@pytest.mark.migrates
def test_of_threads_that_take_the_first_turn_at_once_one_wins(open_in: Callable[..., Satchel], project: Path) -> None:
    conversations = [Conversations(open_in(project).workplace) for _ in range(4)]
    barrier = Barrier(4)

    def begin(one: Conversations) -> bool:
        barrier.wait()
        try:
            one.acquire(KEY)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert Counter(pool.map(begin, conversations)) == {True: 1, False: 3}


# speaks in lines: `acquire` and `commit PATH` on one conversation, at a time that is given
_CALLER = """
import sys
from pathlib import Path
from satchel import SatchelError, open_satchel
from satchel.consult.conversations import Conversations
from consult.answered_turns import KEY, known, result

store, name, now = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with open_satchel(store, "p", cwd=store.parent, environ={}, clock=lambda: now) as satchel:
    conversations = Conversations(satchel.workplace)
    print("ready", flush=True)
    for line in sys.stdin:
        command, *rest = line.split()
        try:
            if command == "acquire":
                held = conversations.acquire(KEY, holder=name)
                print(f"turn {held.state.turns + 1} after {','.join(sorted(held.state.files))}", flush=True)
            elif command == "commit":
                print(f"committed {conversations.commit(held, result(known(rest[0])))[0].turns}", flush=True)
            else:
                done = 0
                while done < int(rest[0]):
                    try:
                        held = conversations.acquire(KEY, holder=name)
                    except SatchelError as error:
                        assert error.code == "conflict"
                        continue
                    path = f"{name}-{done}"
                    conversations.commit(held, result(known(path), answer=path))
                    done += 1
                print("done", flush=True)
        except SatchelError as error:
            print(error, flush=True)
"""


class Caller:
    """A process that consults."""

    def __init__(self, store: Path, name: str, now: int) -> None:
        tests = str(Path(__file__).parents[1])
        start = f"import sys; sys.path.insert(0, {tests!r})\n"
        self.process = subprocess.Popen(
            [sys.executable, "-c", start + _CALLER, str(store), name, str(now)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class TestProcesses:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        return tmp_path / "s.db"

    @pytest.fixture
    def satchel(self, store: Path, open_in: Callable[..., Satchel]) -> Satchel:
        return open_in(store.parent, db=store, project="p")

    @pytest.fixture
    def conversations(self, satchel: Satchel) -> Conversations:
        return Conversations(satchel.workplace)

    @pytest.fixture
    def call(self, store: Path, clock: ManualClock) -> Callable[..., Any]:
        @contextmanager
        def start(count: int) -> Iterator[list[Caller]]:
            with ExitStack() as stack:
                callers = []
                for number in range(count):
                    callers.append(Caller(store, f"caller-{number}", clock.now))
                    stack.callback(callers[-1].end)
                assert [caller.hear() for caller in callers] == ["ready"] * count
                yield callers

        return start

    def test_of_two_first_turns_at_once_one_wins_and_the_other_reads_again(
        self, call: Callable[..., Any], conversations: Conversations
    ) -> None:
        with call(2) as callers:
            for caller in callers:
                caller.tell("acquire")
            said = [caller.hear() for caller in callers]
            winner = said.index("turn 1 after ")
            loser = 1 - winner
            assert f"held by caller-{winner} since" in said[loser]
            assert callers[winner].ask("commit won.py") == "committed 1"
            assert callers[loser].ask("acquire") == "turn 2 after won.py"
            assert callers[loser].ask("commit second.py") == "committed 2"
        assert sorted(conversations.state(KEY).files) == ["second.py", "won.py"]

    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_call_that_was_killed_keeps_nobody_out_and_leaves_nothing(
        self, call: Callable[..., Any], conversations: Conversations, is_first: bool
    ) -> None:
        if not is_first:
            take_turn(conversations, known("a.py"))
        with call(1) as (caller,):
            caller.ask("acquire")
            with pytest.raises(Conflict, match="held by caller-0"):
                conversations.acquire(KEY)
            caller.end()
        assert conversations.list().items == () or conversations.list().items[0].lease is None
        assert conversations.acquire(KEY).state.files == ({} if is_first else {"a.py": known("a.py")})

    def test_a_call_of_another_machine_keeps_others_out_for_its_lease(
        self, call: Callable[..., Any], conversations: Conversations, clock: ManualClock, satchel: Satchel
    ) -> None:
        take_turn(conversations, known("a.py"))
        with call(1) as (caller,):
            assert caller.ask("acquire") == "turn 2 after a.py"
            caller.end()
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE conversations SET lease_process = 'elsewhere 1'")
        clock.advance(LEASE_MS - 1)
        with pytest.raises(Conflict, match="held by caller-0"):
            conversations.acquire(KEY)
        clock.advance(1)
        assert conversations.acquire(KEY).state.files == {"a.py": known("a.py")}

    def test_processes_that_take_turns_lose_none(self, call: Callable[..., Any], conversations: Conversations) -> None:
        count, turns = 3, 5
        with call(count) as callers:
            for caller in callers:
                caller.tell(f"turns {turns}")
            assert [caller.hear() for caller in callers] == ["done"] * count
        expected = {f"caller-{number}-{turn}" for number in range(count) for turn in range(turns)}
        state, history = conversations.state(KEY), conversations.read(conversations.list().items[0].id).turns
        assert (state.turns, state.held_tokens, set(state.files)) == (15, 15 * 120, expected)
        assert [turn.n for turn in history] == list(range(15, 0, -1))
        assert {turn.answer for turn in history} == expected
