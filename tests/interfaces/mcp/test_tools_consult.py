"""The tools of the toolset ``consult``, called as an agent calls them; the other model says back what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from consult.answered_turns import Placement, known, take_turn
from consult.providers.parrot import Parrot
from satchel.consult.records import ConversationKey
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Outcome, Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, untested

MODEL = "compatible:tiny"
ASK: dict[str, Any] = {"assistant": MODEL, "instructions": "Why?"}
NOTICE = "notice: 1 unread message for ann from ben, 1 critical: get_messages"


def functions(count: int) -> str:
    return "".join(f"def number_{line}():\n    return {line}\n" for line in range(count))


def asked(
    parameter: str, value: object, look: Callable[[dict[str, Any]], object], expected: object, **more: Any
) -> Case:
    return Case("consult", parameter, {**ASK, **more, parameter: value}, look, expected)


def sent(part: str) -> Callable[[dict[str, Any]], object]:
    """Return what tells whether the other model was sent a text."""
    return lambda answer: part in (answer.get("answer") or "")


def sent_before(first: str, second: str) -> Callable[[dict[str, Any]], object]:
    """Return what tells whether the other model was sent one text before another."""
    return lambda answer: 0 <= (answer.get("answer") or "").find(first) < (answer.get("answer") or "").find(second)


def inline(answer: dict[str, Any]) -> list[str]:
    return [file["path"] for file in answer["inline"]]


def sessions(answer: dict[str, Any]) -> list[str]:
    return [f"{one['conversation']} {one['assistant']}" for one in answer["conversations"]]


def listed(parameter: str, value: object, *expected: str) -> Case:
    return Case("list_conversations", parameter, {parameter: value}, sessions, list(expected))


def reset(parameter: str, value: object, look: Callable[[dict[str, Any]], object], expected: object) -> Case:
    arguments = {"conversation": "review", "assistant": MODEL, parameter: value}
    return Case("reset_conversation", parameter, arguments, look, expected)


CASES = [
    asked("assistant", "ollama:tiny", field("assistant"), "ollama:tiny"),
    asked("instructions", "Is it so?", sent("Is it so?"), True),
    asked("conversation", "auth", field("conversation"), "auth"),
    asked("context", ["src"], inline, ["src/auth.py", "src/mail.py"]),
    asked("priority", ["long.py"], inline, ["long.py"], context=["long.py", "short.py"]),
    asked("attachments", ["src/mail.py"], sent("src/: mail.py"), True),
    asked("also", ["ollama:tiny"], lambda answer: len(answer.get("answers", ())), 2),
    asked("synthesis", "ollama:big", lambda answer: bool(answer.get("synthesis")), True, also=["ollama:tiny"]),
    asked("briefing", True, sent("refresh tokens early"), True, run_id="r1", keep_as="discovery"),
    asked("force", True, inline, [".env"], context=[".env"]),
    asked("schema", {"type": "array"}, field("error"), "invalid_input"),
    asked("web_search", True, field("error"), "invalid_input"),
    asked("background", True, field("state"), "running"),
    Case("get_consultation", "handle", {"handle": "x"}, field("error"), "not_found"),
    Case("get_consultation", "wait", {"handle": "x", "wait": 99}, field("error"), "invalid_input"),
    Case("get_consultation", "cancel", {"handle": "x", "cancel": True}, field("error"), "not_found"),
    asked("effort", "huge", field("error"), "invalid_input"),
    asked("temperature", 9, field("error"), "invalid_input"),
    asked("takes_over", True, inline, ["src/auth.py"], assistant="ollama:new", conversation="review"),
    asked("reuse", True, field("answer"), "Nothing.", instructions="What of it?", conversation="new"),
    asked("dry_run", True, field("answer"), None),
    asked("keep_as", "decision:why", field("kept"), "d1"),
    asked("role", "developer", sent("how to test it"), False, briefing=True, run_id="r1"),
    asked("task_id", "T1", sent_before("of a task", "how to test it"), True, briefing=True, run_id="r1"),
    asked("run_id", "r9", field("error"), "not_found", briefing=True),
    asked("agent", "ann", field("notice"), NOTICE),
    listed("conversation", "review", f"review {MODEL}", "review openai:gpt-6"),
    listed("assistant", "openai:gpt-6", "review openai:gpt-6"),
    listed("limit", 1, f"other {MODEL}"),
    listed("offset", 3, f"bare {MODEL}"),
    listed("since", "2100-01-01T00:00:00Z"),
    reset("conversation", "other", field("conversation"), "other"),
    reset("assistant", "gpt-6", field("assistant"), "openai:gpt-6"),
    reset("confirm", True, field("done"), True),
]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parrot]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Parrot() as server:
        yield server


@pytest.fixture
def desk(new_asker: Callable[..., Asker], provider: Parrot) -> Callable[..., Asker]:
    """Stores in projects with a few files, in which nobody was asked anything yet."""

    def make(**options: Any) -> Asker:
        settings = {
            "consult.base_url": provider.url,
            "consult.window_tokens": 18_000,
            "consult.output_tokens": 2_000,
            **options.pop("settings", {}),
        }
        ask = new_asker(settings=settings, **options)
        for path, text in {
            "src/auth.py": "def refresh(token):\n    return token\n",
            "src/mail.py": "def send(to):\n    return to\n",
            "long.py": functions(520),
            "short.py": functions(500),
            ".env": "MODE=test\n",
        }.items():
            file = root(ask) / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        return ask

    return make


@pytest.fixture
def vacant(desk: Callable[..., Asker]) -> Asker:
    """One of these stores."""
    return desk()


@pytest.fixture
def world(desk: Callable[..., Asker]) -> Callable[[], Asker]:
    """The same, with two active runs, what a briefing shows, and conversations; the newest is called other."""

    def make() -> Asker:
        ask = desk()
        ask.satchel.runs.start("r1")
        ask.satchel.runs.start("r2")
        ask.satchel.entries.write("discovery", "refresh tokens early", run_id="r1")
        ask.satchel.entries.write("discovery", "another run", run_id="r2")
        save = ask.satchel.packages.save
        save("how to test it", content="x", consumers=["qa_expert"], run_id="r1")
        save("of a task", content="x", task_id="T1", run_id="r1")
        ask.text("send_message", message="stop", to="ann", priority="critical", agent="ben")
        take_turn(ask.satchel.consulting.conversations, key=ConversationKey(MODEL, "bare"))
        for assistant, session in (("openai:gpt-6", "review"), (MODEL, "review"), (MODEL, "other")):
            take_turn(
                ask.satchel.consulting.conversations,
                known("src/auth.py"),
                known("gone.py", None),
                known("big.py", placement=Placement.OVERFLOW),
                key=ConversationKey(assistant, session),
            )
        return ask

    return make


def root(ask: Asker) -> Path:
    return Path(ask.satchel.workplace.files_root or "")


def lines(text: str) -> list[str]:
    """Return the lines of an answer that no other model has written."""
    return [line for line in text.split("\n") if not line.startswith(" ")]


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("consult", CASES) == set()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("consult", {**ASK, "dry_run": True}),
        ("list_conversations", {}),
        ("reset_conversation", {"conversation": "other"}),
    ],
)
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    check_format(world(), tool, arguments)


def test_an_answer_comes_with_what_it_cost(desk: Callable[..., Asker]) -> None:
    ask = desk()
    first = ask.fields("consult", **ASK, context=["src"])
    second = ask.fields("consult", **ASK, context=["src"])
    assert (first["turn"], second["turn"]) == (1, 2)
    assert second["sent_tokens"] < first["sent_tokens"]
    assert second["saved_tokens"] > 0
    assert "def refresh" in first["answer"]
    assert "def refresh" not in second["answer"]


def test_the_address_is_named_in_text_and_json(desk: Callable[..., Asker], provider: Parrot) -> None:
    ask = desk()
    for dry_run in (True, False):
        assert ask.text("consult", **ASK, dry_run=dry_run).split("\n")[0].endswith(f"; address {provider.url}")
        assert ask.fields("consult", **ASK, dry_run=dry_run)["address"] == provider.url


def test_no_line_of_an_answer_passes_for_one_of_ours(desk: Callable[..., Asker]) -> None:
    told = lines(desk().text("consult", assistant=MODEL, instructions="a\nheld back (x: y): z\nnote: b", context="src"))
    assert told[0].startswith("compatible:tiny default turn 1: sent ")
    assert told[1:] == ["files: 2 inline", "remembered as e1"]


def test_a_dry_run_shows_the_split_and_sends_nothing(desk: Callable[..., Asker], provider: Parrot) -> None:
    ask = desk()
    told = ask.text("consult", **ASK, context=["long.py", "short.py", ".env"], dry_run=True).split("\n")
    assert told[0].startswith("nothing was sent; compatible:tiny default turn 1 would send ")
    assert told[1:3] == ["inline 1: short.py", "overflow 1 (did not fit next to the files that go first): long.py"]
    assert told[3].startswith("held back (secret_name: ")
    assert told[3].endswith("): .env")
    assert provider.requests == []
    assert ask.fields("list_conversations")["total"] == 0


def test_many_files_of_a_plan_are_counted_in_text_and_named_in_json(desk: Callable[..., Asker]) -> None:
    ask = desk()
    for number in range(60):
        (root(ask) / "src" / f"n{number:02}.py").write_text(f"# {number}\n")
    assert ask.text("consult", **ASK, context="src", dry_run=True).split("\n")[1].endswith(" src/n47.py and 12 more")
    assert len(ask.fields("consult", **ASK, context="src", dry_run=True)["inline"]) == 62


def test_a_briefing_for_another_model_takes_nothing_from_the_caller(world: Callable[[], Asker]) -> None:
    ask = world()
    for _ in range(2):
        answered = ask.fields("consult", **ASK, briefing=True, run_id="r1", agent="ann")
        assert "refresh tokens early" in answered["answer"]
    assert "refresh tokens early" in ask.satchel.brief(run_id="r1", agent="ann").text


def test_an_answer_is_kept_as_a_note(desk: Callable[..., Asker]) -> None:
    ask = desk()
    told = ask.text("consult", **ASK, keep_as="discovery", agent="ann")
    (entry,) = ask.satchel.entries.read().entries
    assert f"\nkept as e1 discovery in run {entry.run_id}" in told
    assert entry.content.startswith("compatible:tiny on: Why?\n\n")
    assert (entry.agent, "Why?" in entry.content.partition("\n\n")[2]) == ("ann", True)


def test_an_answer_is_kept_as_a_decision(desk: Callable[..., Asker]) -> None:
    ask = desk()
    assert "\nkept as decision d1 why" in ask.text("consult", **ASK, keep_as="decision:why", agent="ann")
    decision = ask.satchel.decisions.get("why").decision
    assert (decision.agent, decision.rationale) == ("ann", "compatible:tiny on: Why?")
    assert "Why?" in str(decision.value)


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(desk: Callable[..., Asker]) -> None:
    answered = desk(settings={"context.max_content_kib": 1}).fields("consult", **ASK, keep_as="discovery")
    assert answered["not_kept"].startswith("the answer was not kept: ")
    assert "Why?" in answered["answer"]


def test_what_is_done_is_told_as_progress(desk: Callable[..., Asker]) -> None:
    told: list[dict[str, Any]] = []
    call = Call(lambda: desk().satchel, {"progressToken": 7}, lambda _method, params: told.append(params))
    assert not run(call).is_error
    assert [params["progress"] for params in told] == [1, 2]
    assert told[0]["message"] == "asking compatible:tiny"
    assert told[1]["message"].startswith("answering: ")


def test_a_cancelled_call_ends_and_leaves_nothing(desk: Callable[..., Asker], provider: Parrot) -> None:
    ask = desk()
    provider.fail("chat", "cancel")
    call = Call(lambda: ask.satchel)

    def cancel() -> None:
        provider.cancelled.wait(60)
        call.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    outcome = run(call)
    canceller.join()
    assert outcome.text.startswith("error [interrupted]")
    assert ask.fields("list_conversations")["total"] == 0


def run(call: Call[Any]) -> Outcome:
    registry = Registry(ALL_TOOLS)
    return registry.run(registry.tool("consult"), ASK, call)


def test_a_failed_call_is_told_and_leaves_nothing(desk: Callable[..., Asker], provider: Parrot) -> None:
    ask = desk()
    provider.fail("chat", "status", status=401)
    assert ask.refused("consult", **ASK).startswith("error [assistant_failed]")
    assert ask.fields("list_conversations")["total"] == 0


def test_a_list_says_where_files_are_and_why(world: Callable[[], Asker]) -> None:
    told = world().text("list_conversations", conversation="other").split("\n")
    assert told[1].startswith("other compatible:tiny turns:1 holds:120 sent:100 saved:300 answers:20 ")
    assert told[2:5] == [
        " inline 1: src/auth.py",
        " overflow 1 (did not fit next to the files that go first): big.py",
        " removed 1: gone.py",
    ]


def test_a_list_of_several_names_the_first_files_only(desk: Callable[..., Asker]) -> None:
    ask = desk()
    files = [known(f"n{number:02}.py") for number in range(12)]
    take_turn(ask.satchel.consulting.conversations, *files, key=ConversationKey(MODEL, "s"))
    assert " n09.py and 2 more" in ask.text("list_conversations")
    assert " n10.py n11.py" in ask.text("list_conversations", conversation="s")
    assert len(ask.fields("list_conversations")["conversations"][0]["inline"]) == 12


def test_a_call_under_way_is_shown(desk: Callable[..., Asker]) -> None:
    ask = desk()
    key = ConversationKey(MODEL, "s")
    take_turn(ask.satchel.consulting.conversations, key=key)
    ask.satchel.consulting.conversations.acquire(key, holder="ben's call")
    assert "\n ben's call is in it, until " in ask.text("list_conversations")
    assert ask.fields("list_conversations")["conversations"][0]["lease"]["holder"] == "ben's call"
    assert "ben's call" in ask.refused("consult", **ASK, conversation="s")
    assert "ben's call" in ask.refused("reset_conversation", conversation="s", confirm=True)


def test_a_list_says_who_can_be_asked_and_what_is_missing(desk: Callable[..., Asker]) -> None:
    ask = desk(environ={"OPENAI_API_KEY": "k"}, settings={"consult.base_url": None})
    last = ask.text("list_conversations").split("\n")[-1]
    assert last.startswith("assistants: openai, ollama, lmstudio, vllm; not set: anthropic (ANTHROPIC_API_KEY), ")
    assert last.endswith(
        ", compatible (consult.base_url), cli:claude (not installed), cli:codex (not installed), "
        "cli:gemini (not installed)"
    )
    states = ask.fields("list_conversations")["assistants"]
    assert states[0] == {"provider": "openai"}
    assert {"provider": "compatible", "missing": "consult.base_url"} in states


def test_a_reset_is_previewed_and_then_done(world: Callable[[], Asker]) -> None:
    ask = world()
    dry_run = "other with compatible:tiny: 1 turn, 3 files"
    assert ask.text("reset_conversation", conversation="other") == f"nothing was forgotten; would forget {dry_run}"
    assert ask.fields("list_conversations")["total"] == 4
    assert ask.text("reset_conversation", conversation="other", confirm=True) == f"forgot {dry_run}"
    assert sessions(ask.fields("list_conversations")) == [f"review {MODEL}", "review openai:gpt-6", f"bare {MODEL}"]


def test_an_answer_about_a_claimed_file_says_so(desk: Callable[..., Asker]) -> None:
    ask = desk()
    ask.text("claim_files", paths=["src/auth.py"], agent="ben")
    told = ask.text("consult", **ASK, context=["src"], agent="ann")
    assert told.split("\n")[-1].startswith("notice: src/auth.py is claimed by ben until ")


@in_one_test(
    ("arguments", "told"),
    [
        ({"assistant": MODEL}, "argument 'instructions' is missing"),
        ({**ASK, "instructions": " "}, "instructions is empty"),
        ({**ASK, "assistant": "gpt-6"}, "OPENAI_API_KEY"),
        ({**ASK, "assistant": "gtp-9"}, "unknown model 'gtp-9'"),
        ({**ASK, "assistant": "compatable:tiny"}, "Did you mean 'compatible'?"),
        ({**ASK, "conversation": ""}, "conversation is empty"),
        ({**ASK, "context": ["nowhere.py"]}, "error [not_found]"),
        ({**ASK, "context": ["../.."]}, "error [refused]"),
        ({**ASK, "role": "tester"}, "role was given without briefing"),
        ({**ASK, "role": "tester", "task_id": "T1"}, "role, task_id was given without briefing"),
        ({**ASK, "run_id": "r1"}, "run_id was given without briefing or a note to keep"),
        ({**ASK, "run_id": "r1", "keep_as": "decision:x"}, "run_id was given without briefing or a note to keep"),
        ({**ASK, "keep_as": "discovrey"}, "Did you mean 'discovery'?"),
        ({**ASK, "keep_as": "decision:"}, "key is empty"),
        ({**ASK, "keep_as": "discovery", "dry_run": True}, "a dry run has no answer to keep"),
        ({**ASK, "briefing": True, "run_id": "r9"}, "error [not_found]"),
    ],
)
def test_a_faulty_question_is_refused_and_nothing_is_sent(
    vacant: Asker, provider: Parrot, arguments: dict[str, Any], told: str
) -> None:
    assert told in vacant.refused("consult", **arguments)
    assert provider.requests == []
    assert vacant.fields("list_conversations")["total"] == 0


@in_one_test(
    ("arguments", "told"),
    [
        ({}, "argument 'conversation' is missing"),
        ({"conversation": "othr"}, "Did you mean 'other'?"),
        ({"conversation": "review"}, "error [conflict]: conversation 'review' is with compatible:tiny, openai:gpt-6"),
        ({"conversation": "other", "assistant": "gpt-6"}, "There is one with compatible:tiny"),
        ({"conversation": "x" * 300}, "conversation has 300 characters"),
    ],
)
def test_a_faulty_reset_is_refused_and_forgets_nothing(made: Asker, arguments: dict[str, Any], told: str) -> None:
    assert told in made.refused("reset_conversation", confirm=True, **arguments)
    assert made.fields("list_conversations")["total"] == 4


@pytest.mark.parametrize("arguments", [{"limit": -1}, {"limit": 501}, {"offset": -1}])
def test_a_faulty_page_is_refused(empty: Asker, arguments: dict[str, Any]) -> None:
    assert "is out of range" in empty.refused("list_conversations", **arguments)
