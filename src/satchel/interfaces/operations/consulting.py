"""Consultations: a second opinion from another model, which gets each file once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from satchel.base.errors import InvalidInput
from satchel.base.paging import DEFAULT_LIMIT
from satchel.interfaces.operations import text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import AGENT_UNLISTED, LIMIT, OFFSET, PAGE, RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from satchel.client import Satchel
    from satchel.consult.consultation import BackgroundConsultation, Consultation, Panel
    from satchel.consult.records import ConversationHistory
    from satchel.interfaces.mcp.call import Call
    from satchel.interfaces.text.consultations import Conversations, Reset
    from satchel.keep.common_filters import CommonFilters

# Characters between two progress reports of an answer.
_TOLD_EVERY_CHARS = 400


def answer_agent(call: Call[Satchel], /, *, format: str = "text", **request: Any) -> str:  # noqa: A002 -- on the wire
    """Ask another model, and report each step to the caller."""
    from satchel.consult.consultation import BackgroundConsultation
    from satchel.interfaces.mcp.call import answer
    from satchel.interfaces.text.consultations import background_fields, background_text, consultation_text
    from satchel.interfaces.text.json import fields_of

    call.check()
    on_progress, on_text = _tellers(call)
    done = ask_models(
        call.service, **request, on_text=on_text, shows_text=False, on_progress=on_progress, is_cancelled=call.cancelled
    )
    if isinstance(done, BackgroundConsultation):
        return answer(call, format, lambda: background_text(done), lambda: background_fields(done))
    return answer(
        call,
        format,
        lambda: consultation_text(done),
        lambda: fields_of(done),
        agent=request.get("agent"),
        files=done.paths,
    )


def ask_models(
    satchel: Satchel,
    *,
    assistant: str,
    also: Sequence[str] = (),
    synthesis: str | None = None,
    background: bool = False,
    on_text: Callable[[str], None] | None = None,
    shows_text: bool = True,
    **request: Any,
) -> Consultation | Panel | BackgroundConsultation:
    """Ask one model, whose answer is passed on as it arrives, or several, or begin to."""
    if background:
        del request["on_progress"], request["is_cancelled"]
        return satchel.consulting.start((assistant, *also), synthesis=synthesis, **request)
    if also or synthesis:
        return satchel.consulting.consult_many((assistant, *also), synthesis=synthesis, **request)
    return satchel.consulting.consult(assistant, on_text=on_text, shows_text=shows_text, **request)


def _tellers(call: Call[Satchel]) -> tuple[Callable[[str], None], Callable[[str], None]]:
    """Return a function that reports each step, and one that reports the length of the answer so far."""
    steps = 0
    chars = 0
    last = 0

    def step(what: str) -> None:
        nonlocal steps
        steps += 1
        call.progress(steps, message=what)

    def arrived(text: str) -> None:
        nonlocal chars, last
        chars += len(text)
        if not last or chars - last >= _TOLD_EVERY_CHARS:
            last = chars
            step(f"answering: {chars:,} characters")

    return step, arrived


def _with_keeping(values: dict[str, Any]) -> dict[str, Any]:
    keep, key = values.pop("keep", None), values.pop("decide", None)
    if keep is not None and key is not None:
        raise InvalidInput("--keep and --decide were given", "Leave one of them out")
    if not values.get("briefing") and not values.keys().isdisjoint({"role", "task_id"}):
        raise InvalidInput("--role and --task are for a briefing", "Give --briefing, or leave them out")
    if not values["instructions"].strip():
        raise InvalidInput("the question is empty", "Give it as an argument or on standard input")
    keep_as = keep if key is None else f"decision:{key}"
    return values | ({} if keep_as is None else {"keep_as": keep_as})


def _list(
    satchel: Satchel,
    *,
    conversation: str | None = None,
    assistant: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    **filters: Unpack[CommonFilters],
) -> Conversations:
    from satchel.interfaces.text.consultations import Conversations

    page = satchel.consulting.conversations.list(
        conversation=conversation, assistant=assistant, limit=limit, offset=offset, **filters
    )
    return Conversations(page, satchel.consulting.providers(), with_files=conversation is not None)


def _show_turns(
    satchel: Satchel, *, conversation: str, assistant: str | None = None, limit: int = DEFAULT_LIMIT, offset: int = 0
) -> ConversationHistory:
    from satchel.consult.question import find_conversation

    match = find_conversation(satchel.consulting.conversations, conversation, assistant)
    return satchel.consulting.conversations.read(match.id, limit=limit, offset=offset)


def _reset(
    satchel: Satchel,
    *,
    conversation: str,
    assistant: str | None = None,
    confirm: bool = False,
    dry_run: bool | None = None,
) -> Reset:
    from satchel.consult.question import find_conversation
    from satchel.interfaces.text.consultations import Reset

    match = find_conversation(satchel.consulting.conversations, conversation, assistant)
    is_done = confirm if dry_run is None else not dry_run
    if is_done:
        satchel.consulting.conversations.reset(match.key)
    return Reset(match, is_done)


def _ask(satchel: Satchel, *, quiet: bool, **values: Any) -> Consultation | Panel:
    from satchel.interfaces.cli.consulting import ask

    return ask(satchel, ask_models, quiet=quiet, **values)


def _show(done: Consultation | Panel) -> None:
    from satchel.interfaces.cli.consulting import show_consultation

    show_consultation(done)


def _get(satchel: Satchel, *, handle: str, wait: float = 0, cancel: bool = False) -> BackgroundConsultation:
    return satchel.consulting.get(handle, wait=wait, cancel=cancel)


_ASSISTANT = Parameter("assistant", about="Only with this model")
_TO_RESET = Parameter(
    "reset",
    help="Forget this conversation; its next question starts over.",
    metavar="NAME",
    passed_as="conversation",
    for_people=True,
)
_TO_SHOW = Parameter(
    "show",
    help="Show the questions and answers of this conversation.",
    metavar="NAME",
    passed_as="conversation",
    for_people=True,
)
_ONLY_HERE = "Run `satchel consult`, which asks from your machine, or call the tool consult at /mcp with text only"
_operation = partial(Operation, only_here=_ONLY_HERE, of_program=True)
_RESET = _operation(
    tool="reset_conversation",
    toolset="consult",
    about="Forget a conversation with a model; only says what would go unless confirm is true.",
    found_by="reset forget conversation start over",
    idempotent=True,
    parameters=(
        Parameter("conversation", about="Its name", required=True),
        _ASSISTANT,
        Parameter("confirm", bool, about="True forgets it"),
    ),
    run=_reset,
    writes=True,
    destructive=True,
    text=text.consultations.reset_text,
    fields=text.consultations.reset_fields,
    asks=text.consultations.may_reset,
)

_GET = _operation(
    tool="get_consultation",
    toolset="consult",
    about="The answer of a consultation in the background.",
    found_by="background consultation answer handle wait",
    parameters=(
        Parameter("handle", about="From consult", required=True),
        Parameter("wait", float, about="Seconds, up to 45"),
        Parameter("cancel", bool, about="End it", unlisted=True),
    ),
    run=_get,
    text=text.consultations.background_text,
    fields=text.consultations.background_fields,
    names_files=lambda state: list(state.result.paths) if state.result else [],
)

_LIST = _operation(
    tool="list_conversations",
    toolset="consult",
    about="Conversations with other models, with their files and tokens; and who can be asked.",
    found_by="conversations models consulted who can be asked",
    parameters=(
        Parameter("conversation", about="Only this one, with its files", metavar="NAME"),
        _ASSISTANT,
        *PAGE,
    ),
    run=_list,
    items="conversations",
    text=text.consultations.conversations_text,
    fields=text.consultations.conversations_fields,
    shown=text.consultations.show_conversations,
)

_TURNS = _operation(
    parameters=(_TO_SHOW, _ASSISTANT, LIMIT, OFFSET),
    run=_show_turns,
    text=text.consultations.turns_text,
    fields=text.consultations.turns_fields,
)

OPERATIONS = (
    _operation(
        tool="consult",
        toolset="consult",
        title="Consult another model",
        about="Ask another model for a second opinion; files are sent once, then only their changes.",
        found_by="second opinion ask another model review advice gpt gemini claude",
        reaches_out=True,
        command=("consult",),
        help="Ask MODEL a question; without QUESTION, or with -, it is read from standard input.\n\n"
        "The answer is printed as it arrives; what it cost goes to stderr. A conversation remembers which files the "
        "model has: the next question sends only what changed. With --list or --reset, MODEL limits them to its "
        "conversations.",
        examples=(
            'consult gpt-6-sol "Is the refresh of tokens safe?" --file src/auth --dry-run',
            'consult ollama:qwen3:8b "Is the refresh of tokens safe?" --file src/auth --conversation auth',
            "consult --list --conversation auth",
        ),
        parameters=(
            Parameter(
                "assistant",
                about="As gpt-6-sol, ollama:qwen3:8b, cli:claude",
                required=True,
                option="MODEL",
            ),
            Parameter("instructions", about="The question", required=True, option="QUESTION", reads="stdin"),
            Parameter("also", list[str], about="More models", metavar="MODEL"),
            Parameter(
                "synthesis", help="The model that compares the answers of several.", metavar="MODEL", unlisted=True
            ),
            Parameter("conversation", about="Name; reuse it to continue", metavar="NAME"),
            Parameter("context", list[str], about="Files and folders", option="--file", metavar="PATH"),
            Parameter("priority", list[str], about="Files to send first", metavar="PATH"),
            Parameter(
                "attachments", list[str], about="Files to search, this turn only", option="--attach", metavar="PATH"
            ),
            Parameter("briefing", bool, about="Put what the store knows first"),
            Parameter("role", unlisted=True, help="Whose briefing, as for packages."),
            Parameter("task_id", unlisted=True, help="The task of the briefing."),
            Parameter("force", bool, about="Send secrets too"),
            Parameter(
                "effort",
                help="How much the model should think; a model that cannot refuses.",
                choices=("low", "medium", "high"),
                unlisted=True,
            ),
            Parameter("background", bool, about="Answer later, by get_consultation", option=None, unlisted=True),
            Parameter(
                "schema",
                dict,
                help="A file with a JSON Schema that the answer must match.",
                metavar="FILE",
                reads="file",
                unlisted=True,
            ),
            Parameter(
                "web_search",
                bool,
                help="Let the provider search the web, which it may bill on top.",
                option="--web",
                unlisted=True,
            ),
            Parameter("temperature", float, help="Temperature of the sampling, 0 to 2.", unlisted=True),
            Parameter(
                "takes_over",
                bool,
                help="Begin with the files and the discussion of the conversation of this name with another model.",
                option="--take-over",
                unlisted=True,
            ),
            Parameter(
                "reuse",
                bool,
                help="Return an earlier answer to nearly the same question about unchanged files, where there is one.",
                unlisted=True,
            ),
            Parameter("dry_run", bool, about="Send nothing, only plan"),
            Parameter(
                "allow_roots",
                list[str],
                help="A folder outside the project whose files may be sent too.",
                option="--allow-root",
                metavar="FOLDER",
                for_people=True,
            ),
            Parameter("keep_as", about="Keep the answer as discovery, error or decision:KEY", option=None),
            Parameter(
                "keep",
                help="Keep the answer as a note of this type.",
                choices=("discovery", "error", "decision"),
                for_people=True,
            ),
            Parameter("decide", help="Keep the answer as the decision of this key.", metavar="KEY", for_people=True),
            RUN,
            Parameter("list", bool, help="List conversations, and who can be asked, instead.", for_people=True),
            _TO_SHOW,
            _TO_RESET,
            AGENT_UNLISTED,
        ),
        run=ask_models,
        writes=True,
        prepare=_with_keeping,
        handler=answer_agent,
        streams=_ask,
        text=text.consultations.consultation_text,
        shown=_show,
        shows_notes=True,
        names_files=lambda done: list(done.paths),
        status=lambda done: done.failure and done.failure.kind.exit_status,
        instead={
            "list": _LIST,
            "show": _TURNS,
            "reset": _RESET.but(parameters=(_TO_RESET, _ASSISTANT)),
        },
    ),
    _GET,
    _LIST,
    _RESET,
)
