"""Declaration of an operation: names, parameters, implementation and rendering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Self, dataclass_transform, get_args, get_origin

from satchel.base.errors import InvalidInput, SatchelError, Unavailable
from satchel.client import Satchel
from satchel.interfaces.operations import Function, Method

Object = dict[str, Any]

_TYPE_NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
    NoneType: "null",
}


_NOTHING: Mapping[str, Any] = MappingProxyType({})

AGENT = "agent"


@dataclass_transform(frozen_default=True)
class Declared:
    """A frozen record with the checks of a dataclass, without generating methods at each start.

    With dataclasses this module takes 16 of the 480 million instructions of `satchel read`; this way it takes 1.5.
    """

    def __init__(self, *values: object, **fields: object) -> None:
        self.__dict__.update(zip(self.__annotations__, values, strict=False), **fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of a declaration stays as it is")

    def but(self, **changes: object) -> Self:
        return type(self)(**{**self.__dict__, **changes})


class Parameter(Declared):
    """A parameter of an operation.

    Attributes:
        name: its name in the service and for agents; in an option without ``_id``, and of a list in the singular.
        type: as in an annotation: ``str``, ``int``, ``float``, ``bool``, ``list[str]``, a union of these with ``dict``,
            or with None, which then is a value that clears a field.
        about: its description for agents, if the name is not enough.
        help: the help text of its option, if ``about`` is not for people too.
        choices: the allowed texts, or list items.
        default: the service's default, if people should see it; agents see that of a number.
        default_for_agents: their default of a number, if it is another.
        option: its form on the command line, if not derived from the name: ``--why``; an argument's ``KEY``, or
            ``WORDS...`` for several, which are joined unless the type is a list; None for no option.
        metavar: the placeholder for its value; derived if missing. An argument with one does not list its choices in
            the usage line, and leaves their check to the service.
        passed_as: its name in the service, if different.
        reads: ``stdin`` if a missing argument or a dash means standard input, ``file`` if the option names a file.
        left_out: its value if people omit it before the next argument, which is assumed unless the value is one of its
            choices.
        for_people: hidden from agents.
        facts: the facts that a remote caller's program collects about the files in it, one of
            :data:`satchel.remote.facts.OF_PARAMETERS`; empty if it names no files.
        rare: choices accepted from agents but not listed.
        unlisted: accepted from agents but not listed, since a listing costs tokens in every session.
        or_words: an argument for a file; a value that names no file moves to the next argument.
    """

    name: str
    type: object = str
    about: str = ""
    help: str | None = None
    choices: tuple[str, ...] = ()
    default: object = None
    default_for_agents: int | None = None
    required: bool = False
    option: str | None = ""
    metavar: str | None = None
    passed_as: str = ""
    reads: str = ""
    left_out: str = ""
    for_people: bool = False
    facts: str = ""
    rare: tuple[str, ...] = ()
    unlisted: bool = False
    or_words: bool = False

    @property
    def takes_list(self) -> bool:
        """Return whether it is a list, or an option that may be repeated."""
        return any(get_origin(kind) is list for kind in self._types())

    @property
    def takes_json(self) -> bool:
        """Return whether people give it as JSON, a mapping also as ``key=value``."""
        return dict in self._types()

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema for agents."""
        names = [_TYPE_NAMES[get_origin(kind) or kind] for kind in self._types()]
        schema: dict[str, Any] = {"type": names if len(names) > 1 else names[0]}
        choices = {"enum": list(self.choices)} if self.choices else {}
        items = [item for kind in self._types() if get_origin(kind) is list for item in get_args(kind)]
        schema |= {"items": {"type": _TYPE_NAMES[get_origin(items[0]) or items[0]]} | choices} if items else choices
        schema |= {"description": self.about} if self.about else {}
        default = self.default if self.default_for_agents is None else self.default_for_agents
        return schema | ({"default": default} if type(default) is int and default else {})

    def _types(self) -> tuple[Any, ...]:
        return get_args(self.type) if isinstance(self.type, UnionType) else (self.type,)


class Table(Declared):
    """A table of items for people.

    Attributes:
        columns: the headings in order, each with the field that it shows where that has another name: ``id=ref, text``.
            Times are local, names are joined.
        cells: by heading, a function that renders the cell instead.
        usual: by heading, the ordinary value of a column.
        noun: what people call the items, if not as their field is named.
    """

    columns: str
    cells: Mapping[str, Callable[[Any], object]] = _NOTHING
    usual: Mapping[str, str] = _NOTHING
    noun: str | None = None


class Operation(Declared):
    """An action on the store.

    Attributes:
        run: its implementation: a method of a service, or a function of a :class:`Satchel` and the arguments.
        parameters: its parameters; one named :data:`AGENT` is the acting agent.
        tool: its name for agents, and ``toolset`` its set; None if agents do not have it.
        title: its name as hosts show it to people, if that does not follow from the name for agents.
        about: its description for agents.
        found_by: search words for hosts that list tools by name only.
        always_shown: asks such hosts to show this one in full.
        command: its name for people, such as ``("rule", "list")``; empty if there is no command.
        help: its help text, and ``examples`` the command lines after ``satchel``.
        writes: it runs in a transaction that may write.
        read_only: the hint for hosts that it only reads; None derives it from ``writes``.
        destructive: it may delete or overwrite.
        idempotent: repeating the call changes nothing more; None derives it from ``read_only``.
        reaches_out: it uses services other than the store.
        text: renders its answer for agents; if missing, as Python shows it.
        whole: shows the items of its answer in full, where it shows snippets by default.
        shown: the answer for people: a table, or a function that returns the lines above the notes, or None if it has
            printed everything itself. If missing, people get the text for agents.
        timed: the text takes a function that renders times, which for people are local.
        items: the name of the items of a list.
        fields: converts its answer to JSON, if that is not its record.
        prepare: converts the values from people to arguments, if they differ.
        corrects: at a terminal, asks a person after an error, given that and the arguments, and returns corrected ones;
            None keeps the error.
        asks: returns the question to ask after a preview, None if there is nothing to do, an empty one to act unasked.
        instead: by parameter name, the operation that this parameter selects: for people an option, declared here; for
            agents a parameter of the other operation, whose parameters they all get.
        names_files: whether to report claims of others on the files in its answer; or a function that returns those
            files if no field ``file`` has them.
        takes: returns the files in its answer that the agent is about to edit.
        lists_messages: its answer shows people the waiting messages, so the notice leaves them out.
        shows_messages: messages that its answer shows to the person they are to count as read.
        handler: answers agents, given the running call, if ``run`` alone is not enough.
        streams: runs it for people, given the store, ``quiet`` and the arguments, if it prints while it runs.
        shows_notes: its rendering for people includes the notes.
        says: tells whether its text says a note in other words, so that people do not get it besides.
        status: returns the exit status for its answer, None for success.
        reports: it takes ``progress``, a function for progress reports.
        passes_detail: for agents, its implementation gets the level of detail.
        of_program: it runs in the local program, even if the store is on a server.
        cites: its answer tells whether cited files have changed.
        only_here: why it works only on a local store, and not over a server; empty if it works on both.
    """

    run: Method | Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    tool: str | None = None
    toolset: str = ""
    title: str = ""
    about: str = ""
    found_by: str = ""
    always_shown: bool = False
    command: tuple[str, ...] = ()
    help: str = ""
    examples: tuple[str, ...] = ()
    writes: bool = False
    read_only: bool | None = None
    destructive: bool = False
    idempotent: bool | None = None
    reaches_out: bool = False
    text: Callable[..., str] = str
    whole: Callable[[Any], Any] | None = None
    shown: Callable[[Any], str | None] | Table | None = None
    timed: bool = False
    items: str = ""
    fields: Callable[[Any], Mapping[str, object]] | None = None
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    corrects: Callable[[SatchelError, dict[str, Any]], dict[str, Any] | None] | None = None
    asks: Callable[[Any], str | None] | None = None
    instead: Mapping[str, Operation] = _NOTHING
    names_files: bool | Callable[[Any], list[str | None]] = True
    takes: Callable[[Any], list[str]] | None = None
    lists_messages: bool = False
    shows_messages: bool = False
    handler: Callable[..., str] | None = None
    streams: Callable[..., Any] | None = None
    shows_notes: bool = False
    says: Callable[[str], bool] | None = None
    status: Callable[[Any], int | None] | None = None
    reports: bool = False
    passes_detail: bool = False
    cites: bool = False
    only_here: str = ""
    of_program: bool = False

    @property
    def name(self) -> str:
        """Its name in the JSON API: that of its tool, else of its command, else of its implementation."""
        if self.tool is not None:
            return self.tool
        if self.command:
            return "_".join(self.command)
        return f"{self.run.__module__.rpartition('.')[2]}_{self.run.__name__.removeprefix('_')}"

    @property
    def has_actor(self) -> bool:
        return any(one.name == AGENT for one in self.parameters)

    def bound(self, satchel: Satchel, notice: Mapping[str, object] | None = None) -> Callable[..., Any]:
        """Return its implementation for an opened store, to be called with arguments by name."""
        if satchel.remote is not None and not self.of_program:
            self.refuse_remote()
            facts = {one.passed_as or one.name: one.facts for one in self.parameters if one.facts}
            return partial(satchel.remote.call, self.name, asks_notice=notice, facts=facts, cites=self.cites)
        return self.run.of(satchel) if isinstance(self.run, Method) else partial(self.run, satchel)

    def refuse_remote(self) -> None:
        """Refuse to run over a server if it works only on a local store."""
        if self.only_here:
            raise Unavailable(f"{' '.join(self.command) or self.name} does not work over a server", self.only_here)

    def chosen_by_agents(self) -> dict[str, Operation]:
        """Return the operations that agents can select instead of it, by parameter."""
        of_people = {one.name for one in self.parameters if one.for_people}
        return {name: other for name, other in self.instead.items() if name not in of_people}

    def renamed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by their names in the service."""
        others = {one.name: one.passed_as for one in self.parameters if one.passed_as}
        return {others.get(name, name): value for name, value in arguments.items()}

    def json_maker(self) -> Callable[[Any], Mapping[str, object]]:
        """Import and return the function that converts its answer to JSON fields."""
        if self.fields:
            return load(self.fields)
        from satchel.interfaces.text.json import fields_of

        return lambda answer: fields_of(answer, self.items)

    def files(self, answer: Any) -> list[str]:
        if not self.names_files:
            return []
        if callable(self.names_files):
            files = self.names_files(answer)
        else:
            others = getattr(answer, "items", (answer,))
            items = answer if isinstance(answer, tuple) else getattr(answer, self.items, others)
            files = [getattr(item, "file", None) for item in items]
        return [file for file in files if file is not None]


def schema_of(parameters: Iterable[Parameter], *, takes_less: bool = False) -> dict[str, Any]:
    """Return the JSON schema of some parameters for agents."""
    visible = [parameter for parameter in parameters if not parameter.for_people]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema() for one in visible}}
    # a parameter that also comes in batches is not required
    takes_less = takes_less or any(one.type == list[Object] for one in visible)
    required = [] if takes_less else [one.name for one in visible if one.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def load(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, imported if that waited for its use."""
    return function.load() if isinstance(function, Function) else function


def help_text(text: str, examples: tuple[str, ...]) -> str:
    r"""Return a help text as click takes it, with its examples; ``\b`` keeps their lines apart."""
    lines = "\n".join(f"  {example if 'satchel ' in example else f'satchel {example}'}" for example in examples)
    return f"{text}\n\n\b\nExample{'s' * (len(examples) > 1)}:\n{lines}"


def option_of(parameter: Parameter) -> str | None:
    """Return the option of a parameter, or the name of its argument in capitals; None for neither."""
    if parameter.option is None or parameter.option:
        return parameter.option and parameter.option.rstrip(".")
    derived = parameter.name.removesuffix("_id")
    derived = derived.removesuffix("s") if parameter.takes_list else derived
    return f"--{derived.replace('_', '-')}"


FULL, SNIPPETS = "full", "snippets"
_NOUNS = {"entries": "entry", "strategies": "strategy", "changes": "file change", "patterns": "error"}


def usual(operation: Operation) -> str:
    return SNIPPETS if operation.whole else FULL


def with_whole_texts(operation: Operation, detail: str | None, answer: Any) -> Any:
    """Return an answer with full items, if requested and not the default."""
    return load(operation.whole)(answer) if detail == FULL and operation.whole else answer


def text_maker(
    operation: Operation, detail: str | None, when: Callable[[int], str] | None = None
) -> Callable[[Any], str]:
    """Import and return the function that renders the text of an answer."""
    if detail in {None, FULL, usual(operation)}:
        return load(operation.text)
    from satchel.interfaces.text.parts import page_of
    from satchel.interfaces.text.search import outlines_text

    noun = _NOUNS.get(operation.items, operation.items.removesuffix("s"))
    return lambda answer: outlines_text(page_of(answer), noun, str(detail), when)


def fields_maker(operation: Operation, detail: str | None) -> Callable[[Any], Mapping[str, object]]:
    """Import and return the function that converts an answer to JSON fields."""
    if detail in {None, FULL, usual(operation)}:
        return operation.json_maker()
    from satchel.interfaces.text.parts import page_of
    from satchel.interfaces.text.search import outlines_fields

    return lambda answer: outlines_fields(page_of(answer), operation.items, str(detail))


def items_of(
    tool: str,
    fields: Sequence[Parameter],
    values: Mapping[str, object],
    name: str,
    several: Sequence[Mapping[str, object]] | None,
) -> list[dict[str, Any]]:
    """Return the checked items of a call: one from its fields, or several."""
    if several is None and all(one.name in values for one in fields if one.required):
        return [dict(values)]
    # people pass one at a time, and agents' arguments were checked except for those that a batch makes optional
    from satchel.interfaces.mcp.schema import check_arguments

    schema = schema_of(fields)
    if several is None:
        return [check_arguments(schema, values, tool)]
    own = [one.name for one in fields if one.required and not one.choices and one.name in values]
    if own:
        raise InvalidInput(
            f"{name} was given beside {', '.join(own)}",
            f"Put each into {name}; only what all share may stand beside it",
        )
    return [
        check_arguments(schema, {**values, **item}, tool, f"{name}[{place}].") for place, item in enumerate(several)
    ]
