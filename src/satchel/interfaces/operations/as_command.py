"""Operations as click commands."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import replace
from satchel.interfaces.cli import common
from satchel.interfaces.cli.opening import done, opened
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.operations.declaration import (
    AGENT,
    FULL,
    Operation,
    Parameter,
    Table,
    fields_maker,
    help_text,
    option_of,
    text_maker,
    usual,
    with_whole_texts,
)
from satchel.interfaces.operations.parameters import DETAIL

if TYPE_CHECKING:
    from satchel.base.tokens import TokenCount
    from satchel.client import Satchel

_METAVARS = {
    "author": "AGENT",
    "file": "PATH",
    "path": "PATH",
    **dict.fromkeys(("description", "evidence", "hints", "reason", "solution"), "TEXT"),
    **dict.fromkeys(("wait_seconds", "window_seconds"), "SECONDS"),
}
_FILE_NAME = re.compile(r"\S*\w\.[A-Za-z]\w*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ALWAYS_TAKEN = {"db", "project", "as_json"}
_YES, _DRY_RUN = _ASKING = ("yes", "dry_run")


def command_named(name: str, module: str, purpose: str) -> click.Command:
    """Return a command, or the group of all commands with this first word, declared in a module of operations."""
    declaring = importlib.import_module(f"satchel.interfaces.operations.{module}")
    declared = {one.command: one for one in declaring.OPERATIONS if one.command[:1] == (name,)}
    if (name,) in declared:
        return _command(declared[name,])
    return _Group(name, f"{purpose}.", {words[1]: operation for words, operation in declared.items()})


class _Group(SuggestingGroup):
    def __init__(self, name: str, purpose: str, operations: Mapping[str, Operation]) -> None:
        first, *_ = operations.values()
        super().__init__(name, help=help_text(purpose, first.examples[:1]))
        self._operations = operations

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return sorted(self._operations)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        operation = self._operations.get(cmd_name)
        return None if operation is None else _command(operation)


def _command(operation: Operation) -> click.Command:
    parameters = _by_click_name(operation)
    function: Callable[..., int | None] = common.store_options(common.json_option(partial(_run, operation, parameters)))
    others = _selectable(operation).values()
    if any(one.asks for one in (operation, *others)):
        if _DRY_RUN not in parameters:
            function = click.option("--dry-run", is_flag=True, help="Only say what would be done.")(function)
        function = click.option("--yes", is_flag=True, help="Do it without asking; --json alone only previews.")(
            function
        )
    if operation.has_actor:
        function = common.agent_option(function)
    shared = reversed(getattr(function, "__click_params__", ()))
    always = _required(operation).intersection(*map(_required, others))
    return click.Command(
        operation.command[-1],
        params=[*(_click_parameter(name, one, one.name in always) for name, one in parameters.items()), *shared],
        callback=function,
        help=help_text(operation.help, operation.examples),
    )


def _selectable(operation: Operation) -> dict[str, Operation]:
    declared = {one.name for one in operation.parameters}
    return {name: other for name, other in operation.instead.items() if name in declared}


def _by_click_name(operation: Operation) -> dict[str, Parameter]:
    by_name: dict[str, Parameter] = {}
    for one in (operation, *_selectable(operation).values()):
        for parameter in one.parameters:
            by_name.setdefault(parameter.name, parameter)
    return {_click_name(one): one for one in by_name.values() if one.option is not None and one.name != AGENT}


def _required(operation: Operation) -> set[str]:
    return {one.name for one in operation.parameters if one.required and not (one.reads or one.left_out)}


def _names_for(operation: Operation, parameters: Mapping[str, Parameter]) -> set[str]:
    names = {one.name for one in operation.parameters}
    asking = _ASKING if operation.asks else ()
    return {*asking, *({AGENT} & names), *(name for name, one in parameters.items() if one.name in names)}


def _run(
    operation: Operation,
    parameters: Mapping[str, Parameter],
    db: str | None,
    project: str | None,
    as_json: bool,
    agent: str | None = None,
    **values: Any,
) -> int | None:
    others = _selectable(operation)
    _move_words(parameters, values)
    selector = next((name for name in others if values.get(name)), None)
    if selector is not None:
        operation = others[selector]
    names = _names_for(operation, parameters)
    _refuse_others(names, {name: _names_for(other, parameters) for name, other in others.items()}, selector)
    yes = values.pop(_YES, False)
    dry_run = bool(operation.asks) and values.pop(_DRY_RUN)
    own = {one.name for one in operation.parameters} - ({*others} if selector is None else set())
    parameters = {name: one for name, one in parameters.items() if one.name in own}
    _refuse_missing(operation, parameters, values)
    _fill_left_out(parameters, values)
    read = {one.name: _read(one, values[name]) for name, one in parameters.items()}
    arguments = {name: value for name, value in read.items() if value is not None}
    with_tokens = arguments.pop("tokens", False)
    detail = arguments.pop(DETAIL.name, None)
    if operation.prepare is not None:
        arguments = operation.prepare(arguments)
    reads = not operation.writes or bool(arguments.get("dry_run"))
    with _in_words_of(operation), opened(db, project, agent=agent, read_only=reads) as satchel:
        notice = {"shown_by": common.shown_by(lists_messages=operation.lists_messages)}
        run = operation.bound(satchel, notice)
        if operation.streams:
            run = partial(operation.streams, satchel, quiet=as_json)
        act = partial(_act, operation, run, arguments)
        is_new = not reads and satchel.remote is None and not satchel.place.exists
        answer = _run_after_confirm(operation, act, as_json=as_json, yes=yes, dry_run=dry_run)
        answer = answer if detail is None else with_whole_texts(operation, detail, answer)
        done(satchel)
        cost = _cost(satchel, operation, answer) if with_tokens else None
        if as_json:
            common.show_json(
                {**fields_maker(operation, detail)(answer), **({} if cost is None else {"answer_tokens": cost})}
            )
        else:
            _show(operation, detail, answer)
            if agent is None and operation.shows_messages:
                common.mark_shown(answer, db, project)
            if is_new and sys.stderr.isatty() and satchel.place.exists:
                common.warn_notes([f"made the project's store {satchel.place.file}"])
            if cost is not None:
                common.warn_notes([f"{cost.tokens} tokens ({cost.counter}{'' if cost.exact else ', not exact'})"])
        common.tell(satchel, operation.files(answer), db, project, lists_messages=operation.lists_messages)
    return None if operation.status is None else operation.status(answer)


def _act(operation: Operation, run: Callable[..., Any], arguments: dict[str, Any], **more: object) -> Any:
    try:
        return run(**{**operation.renamed(arguments), **more})
    except SatchelError as error:
        changed = operation.corrects(error, arguments) if operation.corrects and _is_terminal() else None
        if changed is None:
            raise
        return run(**operation.renamed(changed))


def _is_terminal() -> bool:
    return sys.stdin.isatty()


@contextmanager
def _in_words_of(operation: Operation) -> Iterator[None]:
    try:
        yield
    except SatchelError as error:
        from satchel.interfaces.cli.wording import reword

        reword(error, operation)
        raise


def _refuse_others(names: Collection[str], others: Mapping[str, Collection[str]], selector: str | None) -> None:
    context = click.get_current_context()
    options = {one.name or "": one for one in context.command.params}
    labels = {name: one.opts[0] if isinstance(one, click.Option) else name.upper() for name, one in options.items()}
    for name in options:
        is_given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if not is_given or name in {*names, *_ALWAYS_TAKEN, selector}:
            continue
        if selector is not None:
            raise click.UsageError(f"{labels[name]} cannot be combined with {labels[selector]}", context)
        needed = [labels[one] for one, names_of_other in others.items() if name in names_of_other]
        raise click.UsageError(f"{labels[name]} needs {' or '.join(needed)}", context)


def _refuse_missing(operation: Operation, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    required = _required(operation)
    for name, one in parameters.items():
        if one.name in required and values[name] in {None, ()}:
            raise click.UsageError(f"Missing argument '{name.upper()}'.", click.get_current_context())


def _fill_left_out(parameters: Mapping[str, Parameter], values: dict[str, Any]) -> None:
    for (name, one), (after, _) in pairwise(parameters.items()):
        value = values[name]
        if one.left_out and (value is None or (values[after] is None and value not in one.choices)):
            values[name], values[after] = one.left_out, value


def _move_words(parameters: Mapping[str, Parameter], values: dict[str, Any]) -> None:
    for (name, one), (after, _) in pairwise(parameters.items()):
        value = values[name] if one.or_words else None
        if value is not None and "/" not in value and not _FILE_NAME.fullmatch(value) and not os.path.isfile(value):  # noqa: PTH113 -- pathlib is not needed
            values[name], values[after] = None, (value, *values[after])


def _run_after_confirm(
    operation: Operation, act: Callable[..., Any], *, as_json: bool, yes: bool, dry_run: bool
) -> Any:
    if operation.asks is None:
        return act()
    answer = act(dry_run=True)
    question = operation.asks(answer)
    if dry_run or question is None:
        return answer
    if question and not (yes or (not as_json and common.confirm(question))):
        return answer
    # remove exactly what was confirmed, even if another run is the only active one by now
    same_run = {"run_id": answer.run_id} if hasattr(answer, "run_id") else {}
    with common.progress(click.get_current_context().info_name or "", quiet=as_json) as report:
        return act(dry_run=False, **same_run, **({"progress": report} if operation.reports else {}))


def _cost(satchel: Satchel, operation: Operation, answer: Any) -> TokenCount:
    from satchel.base.tokens import token_counter

    return token_counter(satchel.config.tokens_encoding).measure(operation.text(answer))


def _show(operation: Operation, detail: str | None, answer: Any) -> None:
    from satchel.interfaces.text.parts import with_shown_names

    answer = with_shown_names(answer)
    says = operation.says or (lambda _: False)
    if detail not in {None, FULL, usual(operation)}:
        from satchel.interfaces.text.lists import local_time

        click.echo(text_maker(operation, detail, local_time)(answer))
        return
    if isinstance(operation.shown, Table):
        from satchel.interfaces.text.lists import show_list

        show_list(answer, operation.items, operation.shown)
    elif operation.shown:
        lines = operation.shown(answer)
        if lines is not None:
            click.echo(lines)
    else:
        text, bare = operation.text, _without_notes(answer, says)
        if operation.timed:
            from satchel.interfaces.text.lists import local_time

            text = partial(text, when=local_time)
        if lines := text(bare):
            click.echo(lines)
    if not operation.shows_notes:
        for one in answer if isinstance(answer, tuple) else (answer,):
            others = [note for note in getattr(one, "notes", ()) if not says(note)]
            common.warn_notes(_reworded(others, operation))


def _without_notes(answer: Any, says: Callable[[str], bool]) -> Any:
    # people read notes on stderr, but for what the text says itself
    if type(answer) is tuple:
        return tuple(_without_notes(one, says) for one in answer)
    notes = getattr(answer, "notes", ())
    return replace(answer, notes=tuple(filter(says, notes))) if notes else answer


def _reworded(notes: Sequence[str], operation: Operation) -> list[str]:
    if not notes:
        return []
    from satchel.interfaces.cli.wording import for_people

    return [for_people(note, operation) for note in notes]


def _read(parameter: Parameter, value: Any) -> Any:
    if parameter.reads == "stdin":
        return common.given_or_read(value, _click_name(parameter))
    if parameter.reads == "file" and value is not None:
        value = value.read()
    if parameter.takes_json and value is not None:
        return _json_of(parameter, value)
    if isinstance(value, tuple):
        return (list(value) if parameter.takes_list else " ".join(value)) or None
    return value


def _json_of(parameter: Parameter, text: str) -> Any:
    import json

    is_pair = parameter.metavar == "KEY=VALUE" and not text.startswith("{")
    key, equals, value = text.partition("=") if is_pair else ("", "", text)
    try:
        read = json.loads(value)
    except (ValueError, RecursionError) as error:
        if equals:
            return {key: value}
        remedy = "Give key=value, or a JSON object" if is_pair else "Give valid JSON"
        raise InvalidInput(f"{option_of(parameter)} is no JSON ({error})", remedy) from None
    return {key: read if isinstance(read, int | float) else value} if is_pair else read


def _click_name(parameter: Parameter) -> str:
    option = parameter.option or ""
    return option.rstrip(".").lower() if option.isupper() else parameter.name


def _click_parameter(name: str, parameter: Parameter, is_required: bool) -> click.Parameter:
    option = parameter.option or ""
    kind = _click_type(parameter)
    if option.isupper():
        return click.Argument(
            [name],
            nargs=-1 if option.endswith("...") else 1,
            required=is_required,
            type=click.STRING if parameter.metavar else kind,
        )
    return click.Option(
        [str(option_of(parameter)), name],
        type=kind,
        is_flag=parameter.type is bool,
        multiple=parameter.takes_list,
        default=bool(parameter.default) if parameter.type is bool else parameter.default,
        show_default=parameter.default is not None and parameter.type is not bool,
        required=is_required,
        metavar=parameter.metavar or _metavar(parameter),
        help=_help(parameter),
    )


def _help(parameter: Parameter) -> str | None:
    text = parameter.help or (f"{parameter.about}." if parameter.about else None)
    if not parameter.takes_list:
        return text
    return f"{text.removesuffix('.')}; may be repeated." if text else "May be repeated."


def _click_type(parameter: Parameter) -> click.ParamType[Any] | None:
    if parameter.choices and parameter.metavar is None:
        return click.Choice(parameter.choices)
    if parameter.reads == "file":
        return click.File(errors="replace")
    if parameter.type is int:
        return click.INT
    if parameter.type is float:
        from click.types import FuncParamType

        return FuncParamType(_number)
    return None if parameter.type is bool else click.STRING


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise click.BadParameter(f"{text!r} is not a number")
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _metavar(parameter: Parameter) -> str | None:
    if parameter.choices or parameter.type is bool:
        return None
    default = "N" if parameter.type in {int, float} else "ID" if parameter.name.endswith("_id") else "NAME"
    return _METAVARS.get(parameter.name, default)
