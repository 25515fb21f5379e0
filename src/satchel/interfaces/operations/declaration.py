"""What an operation is: its names, what it takes, what runs it, and how its answer is shown."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Self, dataclass_transform, get_args, get_origin

from satchel.base.errors import Unavailable
from satchel.client import Satchel

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
"""The name of the parameter that says who acts."""


@dataclass_transform(frozen_default=True)
class Declared:
    """A frozen record, checked as a dataclass is, whose methods need not be made at each start.

    With dataclasses this module takes 16 of the 480 million instructions of `satchel read`, so it takes 1.5.
    """

    def __init__(self, *given: object, **named: object) -> None:
        self.__dict__.update(zip(self.__annotations__, given, strict=False), **named)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of a declaration stays as it is")

    def but(self, **changes: object) -> Self:
        """Return a copy with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})


class Parameter(Declared):
    """One argument of an operation.

    Attributes:
        name: its name in the service and for agents; in an option without ``_id``, and of a list in the singular.
        type: as in an annotation: ``str``, ``int``, ``float``, ``bool``, ``list[str]``, a union of these with ``dict``,
            or with None, which then is a value that clears a field.
        about: what agents read where the name does not say it.
        help: what people read of its option.
        choices: the texts it takes, or its items.
        default: what the service does without it, where people are shown that.
        option: where it stands on the command line if that is not derived from the name: ``--why``; an argument's
            ``KEY``, or ``WORDS...`` for several, which are joined unless the type is a list; None for nowhere.
        metavar: what people give as the value of its option; derived where left out. An argument that has one does not
            list its choices in the usage line, and leaves their check to the service.
        passed_as: its name in the service, where that is another.
        reads: ``stdin`` where an argument left out, or a dash, is read from there, ``file`` where the option names one.
        left_out: what it is where people leave it out before the next argument, which they do unless they give one of
            its choices.
        for_people: agents cannot give it.
        facts: what the program of a caller elsewhere looks up of the files that it names, one of
            :data:`satchel.remote.facts.OF_PARAMETERS`; empty where it names none.
        rare: choices that agents may make, but are not shown.
        unlisted: agents may give it, but are not shown it in the listing, for which they would pay in every session.
    """

    name: str
    type: object = str
    about: str = ""
    help: str | None = None
    choices: tuple[str, ...] = ()
    default: object = None
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

    @property
    def takes_list(self) -> bool:
        """Whether it takes a list, or as an option may be repeated."""
        return any(get_origin(kind) is list for kind in self._types())

    def schema(self) -> dict[str, Any]:
        """Return what agents may give, as a lean JSON schema."""
        names = [_TYPE_NAMES[get_origin(kind) or kind] for kind in self._types()]
        schema: dict[str, Any] = {"type": names if len(names) > 1 else names[0]}
        choices = {"enum": list(self.choices)} if self.choices else {}
        items = [item for kind in self._types() if get_origin(kind) is list for item in get_args(kind)]
        schema |= {"items": {"type": _TYPE_NAMES[get_origin(items[0]) or items[0]]} | choices} if items else choices
        return schema | ({"description": self.about} if self.about else {})

    def _types(self) -> tuple[Any, ...]:
        return get_args(self.type) if isinstance(self.type, UnionType) else (self.type,)


class Table(Declared):
    """How people are shown a list.

    Attributes:
        columns: by its heading, a field of an item, or what makes a cell of it: a function or the place of one. Times
            are local, names are joined.
        usual: by its heading, what a column holds where there is nothing special to say.
    """

    columns: Mapping[str, str | Callable[[Any], object]]
    usual: Mapping[str, str] = _NOTHING


Place = str
"""Where a function stands: ``module:function`` below ``satchel.interfaces``; imported when it is needed."""


class Operation(Declared):
    """What can be asked of the store.

    Attributes:
        run: does it: the dotted name of a method of :class:`Satchel`, or a function of that and the arguments.
        parameters: what it takes; one named :data:`AGENT` says who acts.
        tool: its name for agents, and ``toolset`` the set it is served with; None where agents do not have it.
        title: its name as hosts show it to people.
        about: what agents read of it.
        found_by: words under which an agent may look for the tool where its host shows names alone.
        always_shown: hosts that show tools by name alone are asked to show this one in full.
        command: its name for people, such as ``("rule", "list")``; empty where they have no such command.
        help: what people read of it, and ``examples`` what they could type after ``satchel``.
        writes: it runs in a transaction that may write.
        read_only: whether hosts are told that it only reads; None where that is what ``writes`` says.
        destructive: it may delete or overwrite.
        idempotent: the same call again changes nothing more; None where that is what ``read_only`` says.
        reaches_out: it speaks to others than the store.
        text: renders its answer for agents.
        whole: shows the items of its answer whole, where it shows snippets of them unless it is asked for more.
        shown: for people its answer is this table, or the lines that this function returns, above the notes; it returns
            None where it has printed all itself. Left out, people read the text of agents.
        timed: the text takes how to render a time, which for people is local.
        items: the name of the items, where it answers a list.
        fields: makes JSON of its answer where that is not its record.
        prepare: makes arguments of what people gave, where that is not the same.
        corrects: at a terminal, asks people after an error, given that and their arguments, and returns others; None
            leaves the error.
        asks: for what removes something, after a preview: the question to people, or None where nothing is left to do.
        instead: by the name of a parameter the operation that giving it chooses: an option for people alone, which is
            then declared here, or for agents the other operation's, who get all its parameters with it.
        names_files: whether others' claims of the files that its answer names are told; or what returns those files
            where no field ``file`` names them.
        takes: returns of its answer the files that its receiver is about to edit.
        lists_messages: its answer shows people which messages wait, so that no line says so.
        handler: answers agents in its stead, given the running call, where more is to be done than to run it.
        streams: runs it in its stead for people, given the store, ``quiet`` and the arguments, where it prints on
            the way.
        shows_notes: what shows people its answer prints the notes too.
        status: the exit status that its answer leaves its command with, None for success.
        reports: it takes ``progress``, which is told how far it is.
        passes_detail: for agents what runs it is told how much of each item its answer shows.
        of_program: it asks the program that it runs in, and no store.
        cites: its answer says whether cited files have changed.
        only_here: why it works only where the store is, and not over a server; empty where it works over both.
    """

    run: str | Callable[..., Any]
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
    text: Place = ""
    whole: Place = ""
    shown: Place | Table = ""
    timed: bool = False
    items: str = ""
    fields: Place = ""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    corrects: Place = ""
    asks: Place = ""
    instead: Mapping[str, Operation] = _NOTHING
    names_files: bool | Callable[[Any], list[str | None]] = True
    takes: Callable[[Any], list[str]] | None = None
    lists_messages: bool = False
    handler: Place = ""
    streams: Place = ""
    shows_notes: bool = False
    status: Callable[[Any], int | None] | None = None
    reports: bool = False
    passes_detail: bool = False
    cites: bool = False
    only_here: str = ""
    of_program: bool = False

    @property
    def name(self) -> str:
        """Its name in the JSON API: that of its tool, else of its command, else of what runs it."""
        if self.tool is not None:
            return self.tool
        if self.command:
            return "_".join(self.command)
        place = (
            self.run if isinstance(self.run, str) else f"{self.run.__module__.rpartition('.')[2]}.{self.run.__name__}"
        )
        return place.replace("._", "_").replace(".", "_")

    @property
    def has_actor(self) -> bool:
        """Whether it matters who acts."""
        return any(one.name == AGENT for one in self.parameters)

    def bound(self, satchel: Satchel, notice: Mapping[str, object] | None = None) -> Callable[..., Any]:
        """Return what runs it in an opened store, given the arguments by name.

        Args:
            notice: what the notice beside its answer is made for, which a server sends with it.

        Raises:
            Unavailable: it works only where the store is, and a server has that.
        """
        if satchel.remote is not None and not self.of_program:
            self.refuse_remote()
            facts = {one.passed_as or one.name: one.facts for one in self.parameters if one.facts}
            return partial(satchel.remote.call, self.name, asks_notice=notice, facts=facts, cites=self.cites)
        bound = attrgetter(self.run)(satchel) if isinstance(self.run, str) else partial(self.run, satchel)
        work: Callable[..., Any] = satchel.workplace.engine.retrying(bound)
        return work

    def refuse_remote(self) -> None:
        """Refuse to run it over a server where it works only where the store is.

        Raises:
            Unavailable: it does.
        """
        if self.only_here:
            raise Unavailable(f"{' '.join(self.command) or self.name} does not work over a server", self.only_here)

    def chosen_by_agents(self) -> dict[str, Operation]:
        """Return what agents choose instead of it, by the parameter that does."""
        of_people = {one.name for one in self.parameters if one.for_people}
        return {name: other for name, other in self.instead.items() if name not in of_people}

    def renamed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by their names in the service."""
        others = {one.name: one.passed_as for one in self.parameters if one.passed_as}
        return {others.get(name, name): value for name, value in arguments.items()}

    def as_json(self, answer: Any) -> Mapping[str, object]:
        """Return its answer as JSON fields."""
        return self.json_maker()(answer)

    def json_maker(self) -> Callable[[Any], Mapping[str, object]]:
        """Return what makes JSON fields of its answer, imported."""
        if self.fields:
            return load(self.fields)
        from satchel.interfaces.text.json import fields_of

        return lambda answer: fields_of(answer, self.items)

    def files(self, answer: Any) -> list[str]:
        """Return the files that its answer names."""
        if not self.names_files:
            return []
        if callable(self.names_files):
            files = self.names_files(answer)
        else:
            items = answer if isinstance(answer, tuple) else getattr(answer, self.items or "items", (answer,))
            files = [getattr(item, "file", None) for item in items]
        return [file for file in files if file is not None]


class Group(Declared):
    """What people read of commands that share their first word."""

    help: str
    examples: tuple[str, ...]


def schema_of(parameters: Iterable[Parameter], *, takes_less: bool = False) -> dict[str, Any]:
    """Return what agents may give for some parameters, as a lean JSON schema of an object.

    Args:
        takes_less: what is required depends on what else is given.
    """
    taken = [parameter for parameter in parameters if not parameter.for_people]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema() for one in taken}}
    # what may be given several at once need not be given as one
    takes_less = takes_less or any(one.type == list[Object] for one in taken)
    required = [] if takes_less else [one.name for one in taken if one.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def load(place: Place) -> Callable[..., Any]:
    """Import a function by its place."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(f"satchel.interfaces.{module}"), name)
    return function


def help_text(text: str, examples: tuple[str, ...]) -> str:
    r"""Return a help text as click takes it, with its examples; ``\b`` keeps their lines apart."""
    lines = "\n".join(f"  {example if 'satchel ' in example else f'satchel {example}'}" for example in examples)
    return f"{text}\n\n\b\nExample{'s' * (len(examples) > 1)}:\n{lines}"


def option_of(parameter: Parameter) -> str | None:
    """Return the option that people have for a parameter, or the name of its argument in capitals; None for neither."""
    if parameter.option is None or parameter.option:
        return parameter.option and parameter.option.rstrip(".")
    derived = parameter.name.removesuffix("_id")
    derived = derived.removesuffix("s") if parameter.takes_list else derived
    return f"--{derived.replace('_', '-')}"
