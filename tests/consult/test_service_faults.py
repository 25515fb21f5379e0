"""Whatever goes wrong at a provider, in a first turn and in a later one, nothing is recorded that did not happen."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from consult.answered_turns import stores_left
from consult.consulted import HUGE, SMALL, Consulted
from consult.providers.asking import LASTING, PASSING, Details, silence_until
from consult.providers.chat_completions import ChatCompletions, Said
from consult.providers.openai_api import OpenAIApi
from consulting import Reader, blocks_of
from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult.vector_stores import LIFE_MS, VectorStores

if TYPE_CHECKING:
    from conftest import ManualClock

pytestmark = pytest.mark.slow

STEPS = {"compatible": ("chat",), "openai": ("create_store", "upload", "add_batch", "poll", "list_batch", "respond")}
AT_EACH_STEP = [pytest.param(kind, step, id=f"{kind}-{step}") for kind, steps in STEPS.items() for step in steps]
BOTH = pytest.mark.parametrize(("consulted", "step"), AT_EACH_STEP, indirect=["consulted"])
# every step in a later turn, which has more to lose; in a first one the last
BOTH_AND_TURN = pytest.mark.parametrize(
    ("consulted", "step", "turn"),
    [
        pytest.param(kind, step, turn, id=f"{kind}-{step}-turn {turn}")
        for kind, steps in STEPS.items()
        for step in steps
        for turn in ((1, 2) if step == steps[-1] else (2,))
    ],
    indirect=["consulted"],
)
OPENAI = pytest.mark.parametrize("consulted", ["openai"], indirect=True)
TURN = pytest.mark.parametrize("turn", [1, 2], ids="turn {}".format)


def prepare(consulted: Consulted, turn: int) -> None:
    """Bring a conversation to the turn that a test is about, which changes, adds and removes files."""
    consulted.write("src/huge.py", HUGE)
    consulted.write("src/small.py", SMALL)
    consulted.write("src/gone.py", SMALL)
    if turn == 2:
        consulted.ask(context=["src"])
        (consulted.root / "src/gone.py").unlink()
        consulted.write("src/small.py", SMALL + SMALL)
        consulted.write("src/new.py", SMALL)
    # long enough for a stream to be cut in its middle
    if isinstance(consulted.provider, OpenAIApi):
        consulted.provider.pieces = ("It is so.",) * 8
    elif isinstance(consulted.provider, ChatCompletions):
        consulted.provider.model.script = [Said(("It is so.",) * 8)]


def fail(consulted: Consulted, step: str, kind: str, times: int = 1, **details: Any) -> None:
    """Let a step fail; which files of a batch failed is asked for only where one does."""
    if isinstance(consulted.provider, OpenAIApi) and step == "list_batch":
        consulted.write("src/broken.py", HUGE)
        consulted.provider.unreadable = {"broken"}
    consulted.provider.fail(step, kind, times=times, **details)


def assert_nothing_happened(consulted: Consulted, before: object, *, may_be_sought: bool = False) -> None:
    """Check the conversation, its turns and contents, the lease, and what is left at the provider."""
    assert consulted.snapshot() == before
    assert consulted.leases() == []
    if isinstance(consulted.provider, OpenAIApi):
        assert (consulted.provider.stores, consulted.provider.files) == ({}, {})
    recorded = stores_left(VectorStores(consulted.satchel.workplace))
    assert len(recorded) <= may_be_sought


def assert_goes_on(consulted: Consulted, turn: int) -> None:
    """Check that the turn can be taken after all, with everything that it has to say."""
    consulted.provider.faults.clear()
    consulted.be_quick()
    done = consulted.ask(context=["src"])
    assert done.turn == turn
    assert done.answer == "It is so." * 8
    assert "small.py" in consulted.prompts()[-1]


@BOTH_AND_TURN
@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_after_a_fault_that_lasts_all_is_as_before(
    consulted: Consulted, step: str, kind: str, details: Details, reason: str, turn: int
) -> None:
    prepare(consulted, turn)
    before = consulted.snapshot()
    consulted.be_quick(silence=silence_until(kind))
    fail(consulted, step, kind, times=1_000, **details)
    with pytest.raises(AssistantFailed) as failed:
        consulted.ask(context=["src"])
    # a file that is refused is dropped; it is none left that fails the call
    is_dropped = step == "upload" and reason in {"refused", "too_long"}
    assert failed.value.reason == ("not_indexed" if is_dropped else reason)
    assert_nothing_happened(consulted, before, may_be_sought=step == "create_store")
    assert_goes_on(consulted, turn)


@BOTH
@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_a_fault_that_passes_costs_a_pause_and_no_more(
    consulted: Consulted, step: str, kind: str, details: Details, pause: float
) -> None:
    prepare(consulted, 2)
    fail(consulted, step, kind, **details)
    done = consulted.ask(context=["src"])
    assert (done.turn, done.answer) == (2, "It is so." * 8)
    assert pause in consulted.pauses.seconds
    assert_nothing_happened(consulted, consulted.snapshot())


@TURN
@BOTH
def test_a_call_cancelled_at_any_step_leaves_all_as_before(consulted: Consulted, step: str, turn: int) -> None:
    prepare(consulted, turn)
    before = consulted.snapshot()
    fail(consulted, step, "cancel")
    with pytest.raises(Interrupted):
        consulted.ask(context=["src"], is_cancelled=consulted.provider.cancelled.is_set)
    assert_nothing_happened(consulted, before, may_be_sought=step == "create_store")
    assert_goes_on(consulted, turn)


@TURN
def test_a_call_cancelled_while_its_answer_arrives_leaves_all_as_before(consulted: Consulted, turn: int) -> None:
    prepare(consulted, turn)
    before = consulted.snapshot()
    cancelled = threading.Event()
    consulted.provider.fail("chat", "cut")
    consulted.provider.fail("respond", "cut")
    with pytest.raises(Interrupted):
        consulted.ask(context=["src"], on_text=lambda _: cancelled.set(), is_cancelled=cancelled.is_set)
    assert_nothing_happened(consulted, before)


@pytest.mark.parametrize("consulted", ["openai"], indirect=True)
@pytest.mark.parametrize("step", ["delete_store", "delete_file"])
def test_a_call_cancelled_after_its_answer_leaves_all_as_before(consulted: Consulted, step: str) -> None:
    prepare(consulted, 2)
    before = consulted.snapshot()
    asked = len(consulted.provider.seen(step))
    with pytest.raises(Interrupted):
        consulted.ask(context=["src"], is_cancelled=lambda: len(consulted.provider.seen(step)) > asked)
    assert_nothing_happened(consulted, before)
    assert_goes_on(consulted, 2)


def test_a_call_that_is_cancelled_from_the_start_sends_nothing(consulted: Consulted) -> None:
    prepare(consulted, 1)
    before = consulted.snapshot()
    with pytest.raises(Interrupted):
        consulted.ask(context=["src"], is_cancelled=lambda: True)
    assert consulted.provider.requests == []
    assert_nothing_happened(consulted, before)


@TURN
@pytest.mark.parametrize("error", [ValueError("the terminal is gone"), KeyboardInterrupt()], ids=repr)
def test_an_error_of_the_caller_leaves_all_as_before(consulted: Consulted, error: BaseException, turn: int) -> None:
    def broken(_: str) -> None:
        raise error

    prepare(consulted, turn)
    before = consulted.snapshot()
    with pytest.raises(type(error)):
        consulted.ask(context=["src"], on_text=broken)
    assert_nothing_happened(consulted, before)


@TURN
def test_an_answer_without_a_word_leaves_all_as_before(consulted: Consulted, turn: int) -> None:
    prepare(consulted, turn)
    before = consulted.snapshot()
    if isinstance(consulted.provider, OpenAIApi):
        consulted.provider.pieces = ()
    elif isinstance(consulted.provider, ChatCompletions):
        consulted.provider.model.script = [Said(())]
    with pytest.raises(AssistantFailed) as failed:
        consulted.ask(context=["src"])
    assert failed.value.reason == "empty"
    assert_nothing_happened(consulted, before)


def test_an_answer_that_cannot_be_recorded_leaves_all_as_before(consulted: Consulted) -> None:
    prepare(consulted, 2)
    before = consulted.snapshot()
    with consulted.satchel.workplace.engine.write() as transaction:
        transaction.run("CREATE UNIQUE INDEX one_turn ON conversation_turns (length(prompt) >= 0)")
    with pytest.raises(apsw.ConstraintError, match="one_turn"):
        consulted.ask(context=["src"])
    assert_nothing_happened(consulted, before)


def forget(provider: OpenAIApi) -> None:
    """Let the provider lose every thread."""
    provider.threads.clear()


@OPENAI
def test_a_thread_goes_on_with_what_is_new(consulted: Consulted) -> None:
    prepare(consulted, 2)
    consulted.ask(context=["src"])
    assert consulted.provider.requests[-1].step != "respond"
    first, second = consulted.provider.seen("respond")
    assert "previous_response_id" not in first.json
    assert second.json["previous_response_id"].startswith("resp_")
    assert consulted.heard().files == {"src/small.py": SMALL + SMALL}


@OPENAI
def test_a_lost_thread_begins_anew_with_all_its_files(consulted: Consulted) -> None:
    prepare(consulted, 2)
    assert isinstance(consulted.provider, OpenAIApi)
    forget(consulted.provider)
    done = consulted.ask("And now?", context=["src"])
    _, lost, again = consulted.provider.seen("respond")
    assert ("previous_response_id" in lost.json, "previous_response_id" in again.json) == (True, False)
    assert (done.turn, done.answer) == (2, "It is so." * 8)
    assert [note for note in done.notes if "forgotten the thread" in note]
    reader = Reader()
    reader.hear(consulted.prompts()[-1], ())
    assert reader.files == {"src/small.py": SMALL + SMALL}
    said = [block for block in blocks_of(consulted.prompts()[-1]) if block.name in {"asked", "answered"}]
    assert [(block.attributes["turn"], block.body) for block in said] == [("1", "Why?\n"), ("1", "It is so.\n")]
    assert {name.partition("--")[2] for name in consulted.provider.searched} == {"src--huge.py", "src--new.py"}
    assert_nothing_happened(consulted, consulted.snapshot())


@OPENAI
def test_after_a_lost_thread_the_new_one_goes_on(consulted: Consulted) -> None:
    prepare(consulted, 2)
    assert isinstance(consulted.provider, OpenAIApi)
    forget(consulted.provider)
    consulted.ask(context=["src"])
    third = consulted.ask("What else?", context=["src"])
    assert (third.turn, third.notes) == (3, ())
    assert consulted.prompts()[-1].count("<file-") == 0
    assert len(consulted.provider.seen("respond")) == 4


@OPENAI
@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_a_lost_thread_whose_new_beginning_fails_is_as_before(
    consulted: Consulted, kind: str, details: Details, reason: str
) -> None:
    prepare(consulted, 2)
    assert isinstance(consulted.provider, OpenAIApi)
    forget(consulted.provider)
    before = consulted.snapshot()
    consulted.be_quick(silence=silence_until(kind))
    consulted.provider.fail("respond", kind, skip=1, times=1_000, **details)
    with pytest.raises(AssistantFailed) as failed:
        consulted.ask(context=["src"])
    assert failed.value.reason == reason
    assert_nothing_happened(consulted, before)
    assert_goes_on(consulted, 2)


@OPENAI
@pytest.mark.parametrize("status", [400, 401, 429, 500])
@pytest.mark.parametrize("step", ["list_stores", "list_files", "delete_store", "delete_file"])
def test_what_fails_once_the_answer_is_there_is_recorded_and_swept_by_a_later_call(
    consulted: Consulted, clock: ManualClock, step: str, status: int
) -> None:
    prepare(consulted, 1)
    if step.startswith("list"):
        # a store and files whose names were lost have to be looked for
        consulted.provider.fail("create_store", "lose")
        consulted.provider.fail("upload", "lose")
    consulted.provider.fail(step, "status", status=status, times=1_000)
    done = consulted.ask(context=["src"])
    assert (done.turn, done.answer) == (1, "It is so." * 8)
    assert len([note for note in done.notes if "will be later" in note]) == 1
    assert len(stores_left(VectorStores(consulted.satchel.workplace))) == 1
    consulted.provider.faults.clear()
    clock.advance(2 * LIFE_MS)
    consulted.ask("A question without files", conversation="other")
    assert isinstance(consulted.provider, OpenAIApi)
    assert (consulted.provider.stores, consulted.provider.files) == ({}, {})
    assert stores_left(VectorStores(consulted.satchel.workplace)) == ()


@OPENAI
def test_a_store_that_a_crash_left_is_swept_by_a_later_call(consulted: Consulted, clock: ManualClock) -> None:
    class Crash(BaseException):
        pass

    def crash(step: str) -> None:
        if step.startswith("asking"):
            # as if the process were gone: nothing of it reaches the provider any more
            consulted.provider.fail("delete_store", "drop", times=1_000)
            consulted.provider.fail("delete_file", "drop", times=1_000)
            raise Crash

    prepare(consulted, 1)
    with pytest.raises(Crash):
        consulted.ask(context=["src"], on_progress=crash)
    assert isinstance(consulted.provider, OpenAIApi)
    assert len(consulted.provider.stores) == 1
    consulted.provider.faults.clear()
    clock.advance(2 * LIFE_MS)
    consulted.ask("A question without files", conversation="other")
    assert (consulted.provider.stores, consulted.provider.files) == ({}, {})
    assert stores_left(VectorStores(consulted.satchel.workplace)) == ()


@OPENAI
def test_a_sweep_that_fails_is_said_and_keeps_nobody_from_an_answer(consulted: Consulted, clock: ManualClock) -> None:
    prepare(consulted, 1)
    consulted.provider.fail("delete_store", "status", times=1_000)
    consulted.ask(context=["src"])
    clock.advance(2 * LIFE_MS)
    done = consulted.ask("A question without files", conversation="other")
    assert done.answer == "It is so." * 8
    assert [note for note in done.notes if "that an earlier call left is still there" in note]
