from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from consult.providers.asking import LASTING, PASSING, Details, Log, Pauses, content, quick
from consult.providers.openai_api import OpenAIApi
from satchel import Satchel
from satchel.base.errors import AssistantFailed, Interrupted, InvalidInput, Unavailable
from satchel.consult.assistants.openai_responses import OpenAIResponses
from satchel.consult.assistants.protocol import Ask, Exchange, ThreadLost
from satchel.consult.assistants.retrying import Patience
from satchel.consult.records import Content, Window
from satchel.consult.sweeping import LIFE_MS, VectorStore, VectorStores

if TYPE_CHECKING:
    from conftest import ManualClock

pytestmark = pytest.mark.usefixtures("direct")

WINDOW = Window(tokens=200_000, output=50_000)


FILES = {"src/auth.py": content("def refresh(): ...\n"), "Makefile": content("all:\n\ttrue\n")}


@pytest.fixture
def provider() -> Iterator[OpenAIApi]:
    with OpenAIApi() as server:
        yield server


def assistant(provider: OpenAIApi, pauses: Pauses, **times: float) -> OpenAIResponses:
    timing, patience = quick(pauses, **times), Patience(attempts=3)
    return OpenAIResponses("gpt-test", WINDOW, key="sk-test", base_url=provider.url, timing=timing, patience=patience)


def assert_nothing_is_left(provider: OpenAIApi, log: Log) -> None:
    assert (provider.stores, provider.files, log.left) == ({}, {}, {})


def test_an_answer_arrives_in_pieces_and_whole(provider: OpenAIApi, pauses: Pauses) -> None:
    pieces: list[str] = []
    reply = assistant(provider, pauses).ask(Ask("Why?", on_text=pieces.append))
    assert pieces == ["It ", "is ", "so."]
    assert (reply.text, reply.provider_ref) == ("It is so.", "resp_000001")
    assert (reply.input_tokens, reply.output_tokens, reply.notes) == (1_200, 30, ())


def test_a_thread_goes_on_where_it_ended(provider: OpenAIApi, pauses: Pauses) -> None:
    first = assistant(provider, pauses).ask(Ask("One?"))
    second = assistant(provider, pauses).ask(
        Ask("Two?", provider_ref=first.provider_ref, history=(Exchange("x", "y"),))
    )
    assert second.provider_ref is not None
    assert [text for _, text in provider.threads[second.provider_ref]] == ["One?", "It is so.", "Two?", "It is so."]
    assert provider.requests[1].json["input"] == "Two?"


def test_a_thread_that_begins_anew_takes_the_history_along(provider: OpenAIApi, pauses: Pauses) -> None:
    reply = assistant(provider, pauses).ask(Ask("Two?", history=(Exchange("One?", "Yes."),)))
    assert provider.threads[str(reply.provider_ref)] == [
        ("user", "One?"),
        ("assistant", "Yes."),
        ("user", "Two?"),
        ("assistant", "It is so."),
    ]


@pytest.mark.parametrize("files", [{}, FILES], ids=["without files", "with files"])
def test_a_lost_thread_is_told_and_nothing_is_answered(
    provider: OpenAIApi, pauses: Pauses, log: Log, files: Mapping[str, Content]
) -> None:
    with pytest.raises(ThreadLost, match="forgotten the thread"):
        assistant(provider, pauses).ask(Ask("Why?", provider_ref="resp_gone", searchable=files, stores=log))
    assert (pauses.seconds[:1], len(provider.seen("respond"))) == ([0.5] if files else [], 1)
    assert_nothing_is_left(provider, log)


def test_the_output_limit_and_the_model_are_sent(provider: OpenAIApi, pauses: Pauses) -> None:
    assistant(provider, pauses).ask(Ask("Why?"))
    body = provider.requests[0].json
    assert (body["model"], body["max_output_tokens"], "tools" in body) == ("gpt-test", 50_000, False)


def test_files_are_searched_in_a_store_that_is_gone_afterwards(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert {name.partition("--")[2]: raw for name, raw in provider.searched.items()} == {
        "src--auth.py": b"def refresh(): ...\n",
        "Makefile.txt": b"all:\n\ttrue\n",
    }
    assert (reply.queries, reply.dropped, reply.notes) == (("how is it",), (), ())
    assert reply.cited in {("src/auth.py",), ("Makefile",)}
    assert log.steps == ["announced", "made", "deleted"]
    assert_nothing_is_left(provider, log)


def test_the_store_is_recorded_before_it_is_made_and_its_id_before_it_is_filled(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    class Watching(Log):
        def announce(self, provider: str) -> VectorStore:
            assert server.seen("create_store") == []
            return super().announce(provider)

        def made(self, store: VectorStore, external_id: str) -> VectorStore:
            assert server.stores[external_id].name == store.name
            assert server.seen("upload") == []
            return super().made(store, external_id)

    server = provider
    assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=Watching()))
    assert_nothing_is_left(provider, log)


def test_what_the_store_of_the_project_records_is_gone_and_swept(
    provider: OpenAIApi, pauses: Pauses, satchel: Satchel, clock: ManualClock
) -> None:
    clock.now = provider.now * 1_000
    recorded = VectorStores(satchel.workplace)
    helper = assistant(provider, pauses)
    helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert recorded.recorded() == ()
    provider.fail("delete_store", "status", times=3)
    helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert [store.external_id for store in recorded.recorded(helper.account)] == list(provider.stores)
    clock.advance(2 * LIFE_MS)
    assert recorded.sweep(helper.account, helper.remove).deleted == 1
    assert (provider.stores, provider.files, recorded.recorded()) == ({}, {}, ())


def test_stores_of_another_key_are_not_swept_with_this_one(provider: OpenAIApi, pauses: Pauses) -> None:
    other = OpenAIResponses("gpt-test", WINDOW, key="sk-other", base_url=provider.url)
    assert other.account != assistant(provider, pauses).account
    assert "sk-other" not in other.account


def test_progress_is_told(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    told: list[str] = []
    assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log, on_progress=told.append))
    assert told == [
        "making a vector store",
        "uploaded 2 of 2 files",
        "indexed 0 of 2 files",
        "indexed 0 of 2 files",
        "asking openai:gpt-test",
    ]


def test_many_files_go_in_batches(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    files = {f"f{number:04d}.py": content(f"x = {number}\n") for number in range(501)}
    assistant(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert [len(request.json["file_ids"]) for request in provider.seen("add_batch")] == [500, 1]
    assert provider.peak_files == 501
    assert_nothing_is_left(provider, log)


def test_files_beyond_the_limit_of_a_store_are_named(
    provider: OpenAIApi, pauses: Pauses, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.consult.vector_stores.hosted.MOST_FILES", 2)
    files = {f"f{number}.py": content("x\n") for number in range(4)}
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert [(held.path, held.reason) for held in reply.dropped] == [("f2.py", "too_many"), ("f3.py", "too_many")]


def test_files_that_the_provider_does_not_take_are_named_with_the_reason(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    provider.unreadable = {"odd"}
    provider.refused_files = {"worst"}
    files = {name: content(text) for name, text in [("a.py", "x"), ("worst.py", "x"), ("odd.py", "x"), ("z.py", " \n")]}
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert [(held.path, held.reason) for held in reply.dropped] == [
        ("odd.py", "not_indexed"),
        ("worst.py", "not_taken"),
        ("z.py", "empty"),
    ]
    assert reply.dropped[0].detail == "the file cannot be read"
    assert_nothing_is_left(provider, log)


def test_a_store_that_takes_nothing_fails_the_call(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.unreadable = {"satchel"}
    with pytest.raises(AssistantFailed, match="took none of the files: the file cannot be read"):
        assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert provider.seen("respond") == []
    assert_nothing_is_left(provider, log)


def test_only_empty_files_make_no_store(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable={"a.py": content("")}, stores=log))
    assert ([held.path for held in reply.dropped], log.steps) == (["a.py"], [])
    assert "tools" not in provider.requests[0].json


@pytest.mark.parametrize(
    "path", ["a b/ü \U0001f600.rs", 'quo"te.py', "x/" * 150 + "deep.py", ".hidden", "new\nline.md"]
)
def test_any_path_can_be_uploaded(provider: OpenAIApi, pauses: Pauses, log: Log, path: str) -> None:
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable={path: content("x")}, stores=log))
    assert (reply.cited, list(provider.searched.values())) == ((path,), [b"x"])


def test_the_searched_passages_leave_room_in_the_window(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    ask = Ask("Why?", searchable=FILES, stores=log, tokens=WINDOW.tokens - WINDOW.output - 4_000)
    assistant(provider, pauses).ask(ask)
    assert provider.seen("respond")[0].json["tools"][0]["max_num_results"] == 5


def test_files_without_a_log_of_stores_are_refused(provider: OpenAIApi, pauses: Pauses) -> None:
    with pytest.raises(InvalidInput, match="has to be recorded"):
        assistant(provider, pauses).ask(Ask("Why?", searchable=FILES))
    assert provider.requests == []


def test_indexing_that_takes_too_long_is_given_up(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.polls = 1_000_000
    with pytest.raises(AssistantFailed, match=r"not done indexing within 0\.1 seconds"):
        assistant(provider, pauses, indexing=0.1).ask(Ask("Why?", searchable=FILES, stores=log))
    assert_nothing_is_left(provider, log)


BEFORE_THE_ANSWER = ("create_store", "upload", "add_batch", "poll", "respond")


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_is_tried_again_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str, kind: str, details: Details, pause: float
) -> None:
    provider.fail(step, kind, **details)
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert (reply.text, reply.notes) == ("It is so.", ())
    assert pause in pauses.seconds
    assert_nothing_is_left(provider, log)


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_what_lasts_is_told_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str, kind: str, details: Details, reason: str
) -> None:
    provider.fail(step, kind, times=1_000, **details)
    provider.pieces = ("It is so.",) * 8
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses, silence=0.3).ask(Ask("Why?", searchable=FILES, stores=log))
    # a file that is refused is dropped; it is none left that fails the call
    is_dropped = step == "upload" and reason in {"refused", "too_long"}
    assert failed.value.reason == ("not_indexed" if is_dropped else reason)
    assert (provider.stores, provider.files) == ({}, {})
    # a store whose making was never confirmed stays recorded, to be looked for again
    is_unsure = step == "create_store" and (kind in {"hang", "drop", "html"} or details.get("status") == 500)
    assert len(log.left) == is_unsure


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
def test_a_call_cancelled_at_any_step_ends_at_once_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str
) -> None:
    provider.fail(step, "cancel")
    with pytest.raises(Interrupted):
        assistant(provider, pauses).ask(
            Ask("Why?", searchable=FILES, stores=log, is_cancelled=provider.cancelled.is_set)
        )
    assert (provider.stores, provider.files) == ({}, {})
    assert len(log.left) == (step == "create_store")


def test_a_call_cancelled_between_pieces_ends_at_once_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    cancelled = threading.Event()
    provider.fail("respond", "cut")
    provider.pieces = ("a",) * 8
    ask = Ask("Why?", searchable=FILES, stores=log, on_text=lambda _: cancelled.set(), is_cancelled=cancelled.is_set)
    with pytest.raises(Interrupted):
        assistant(provider, pauses).ask(ask)
    assert_nothing_is_left(provider, log)


def test_an_error_of_the_caller_leaves_nothing(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    def broken(_: str) -> None:
        raise ValueError("the terminal is gone")

    with pytest.raises(ValueError, match="the terminal is gone"):
        assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log, on_text=broken))
    assert_nothing_is_left(provider, log)


@pytest.mark.parametrize("step", ["delete_store", "delete_file"])
@pytest.mark.parametrize("kind", ["drop", "lose", "status"])
def test_a_deletion_that_fails_once_is_tried_again(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str, kind: str
) -> None:
    provider.fail(step, kind)
    reply = assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert (reply.text, reply.notes) == ("It is so.", ())
    assert_nothing_is_left(provider, log)


@pytest.mark.parametrize(("kind", "said"), [("status", "answered 500"), ("hang", "did not send anything")])
def test_what_cannot_be_deleted_is_said_and_swept_later(
    provider: OpenAIApi, pauses: Pauses, log: Log, kind: str, said: str
) -> None:
    provider.fail("delete_store", kind, times=3)
    helper = assistant(provider, pauses, silence=0.2)
    reply = helper.ask(Ask("Why?", searchable=FILES, stores=log))
    assert reply.text == "It is so."
    assert [said in note and "will be later" in note for note in reply.notes] == [True]
    provider.faults.clear()
    (left,) = log.left.values()
    helper.remove(left)
    assert (provider.stores, provider.files) == ({}, {})


def test_a_cleanup_takes_no_longer_than_it_may(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.fail("delete_store", "hang", times=1_000)
    reply = assistant(provider, pauses, cleanup=0.3).ask(Ask("Why?", searchable=FILES, stores=log))
    assert "not done within" in reply.notes[0]
    assert len(log.left) == 1


def leave_behind(provider: OpenAIApi, pauses: Pauses, log: Log) -> VectorStore:
    """Leave a store with files, as a crash does: nothing can be deleted, then what was known is forgotten."""
    provider.fail("delete_store", "status", times=3)
    provider.fail("delete_file", "status", times=3)
    assistant(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    provider.faults.clear()
    (left,) = log.left.values()
    return left


def test_a_store_whose_id_was_never_learnt_is_swept_by_its_name(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    assert len(provider.files) == 2
    assistant(provider, pauses).remove(replace(left, external_id=None))
    assert (provider.stores, provider.files) == ({}, {})


def test_a_sweep_touches_nothing_of_others(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left, other = leave_behind(provider, pauses, log), Log()
    kept = leave_behind(provider, pauses, other)
    assistant(provider, pauses).remove(left)
    assert [store.id for store in provider.stores.values()] == [kept.external_id]
    assert len(provider.files) == 2


def test_sweeping_what_is_gone_already_succeeds(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    assistant(provider, pauses).remove(left)
    assistant(provider, pauses).remove(left)
    assert provider.stores == {}


def test_a_sweep_that_cannot_tell_fails(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    provider.fail("list_stores", "status", times=3)
    with pytest.raises(AssistantFailed):
        assistant(provider, pauses).remove(left)


ENDINGS = [
    (("incomplete", "max_output_tokens"), "the answer ends at the output limit and is not whole"),
    (("incomplete", "content_filter"), "the provider's content filter ended the answer"),
]


@pytest.mark.parametrize(("ending", "note"), ENDINGS)
def test_an_answer_that_is_not_whole_says_so(
    provider: OpenAIApi, pauses: Pauses, ending: tuple[str, str], note: str
) -> None:
    provider.ending = ending
    reply = assistant(provider, pauses).ask(Ask("Why?"))
    assert (reply.text, reply.notes) == ("It is so.", (note,))


@pytest.mark.parametrize("kind", ["failed", "error"])
@pytest.mark.parametrize(("code", "attempts"), [("server_error", 3), ("rate_limit_exceeded", 3), ("invalid_prompt", 1)])
def test_a_failure_inside_the_stream_is_tried_again_if_it_passes(
    provider: OpenAIApi, pauses: Pauses, kind: str, code: str, attempts: int
) -> None:
    provider.pieces = ()
    provider.ending = (kind, code)
    with pytest.raises(AssistantFailed, match="had an accident"):
        assistant(provider, pauses).ask(Ask("Why?"))
    assert len(provider.requests) == attempts


@pytest.mark.parametrize("kind", ["failed", "error"])
def test_a_failure_after_text_is_never_tried_again(provider: OpenAIApi, pauses: Pauses, kind: str) -> None:
    provider.ending = (kind, "server_error")
    with pytest.raises(AssistantFailed, match="had an accident"):
        assistant(provider, pauses).ask(Ask("Why?"))
    assert len(provider.requests) == 1


def test_input_that_does_not_fit_is_told(provider: OpenAIApi, pauses: Pauses) -> None:
    body = {"error": {"message": "Your input exceeds the context window", "code": "context_length_exceeded"}}
    provider.fail("respond", "status", status=400, body=body)
    with pytest.raises(AssistantFailed, match="another session id") as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "too_long"


@pytest.mark.parametrize("pieces", [(), (" ", "\n")])
def test_an_answer_without_a_word_fails(provider: OpenAIApi, pauses: Pauses, pieces: tuple[str, ...]) -> None:
    provider.pieces = pieces
    with pytest.raises(AssistantFailed) as failed:
        assistant(provider, pauses).ask(Ask("Why?"))
    assert failed.value.reason == "empty"


def test_without_the_sdk_the_extra_is_named(
    provider: OpenAIApi, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(Unavailable, match=r"Install satchel\[openai\]"):
        assistant(provider, pauses).ask(Ask("Why?"))
