"""Facts about the caller's machine, collected before a call and sent to the server with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from satchel.base import processes
from satchel.base.errors import InvalidInput, Refused, SatchelError, system_error
from satchel.base.file_checks import is_inside
from satchel.base.git_files import read_head
from satchel.base.machine import telling
from satchel.base.project_paths import canonical_path
from satchel.base.text import check_name
from satchel.base.wire import error_fields, packed, unpacked
from satchel.keep.names import check_file
from satchel.keep.projects import Workplace

# the name of a function, the arguments that distinguish its answers, and its `answer` or `error`
Fact = list[Any]

# how long processes are not looked up again, which takes a tenth of a call
_KEPT_SECONDS = 5.0

_MOST = 500


class Facts:
    """The facts of one caller. Thread-safe."""

    def __init__(self, here: Workplace) -> None:
        self._here = here
        self._caller = here.caller
        self._kept: tuple[int, float, list[Fact]] = 0, 0.0, []
        self._recorded: list[processes.Process] = []

    def of_caller(self) -> list[Fact]:
        """Return the facts for every call: the program's processes, and its checkout."""
        root = self._here.files_root
        head = [] if self._caller is None else [fact(read_head, root)]
        return [*self._of_processes(), *head]

    def _of_processes(self) -> list[Fact]:
        process, until, facts = self._kept
        if process == os.getpid() and time.monotonic() < until:
            return facts
        caller, facts = self._caller, [fact(processes.machine)]
        if caller is not None:
            facts += [fact(processes.own), fact(processes.ancestors)]
            client = caller.own_client
            facts += [fact(processes.find_client, () if client is None else client.prefixes)]
            facts += [fact(processes.is_alive, one) for one in self._recorded]
        self._kept = os.getpid(), time.monotonic() + _KEPT_SECONDS, facts
        return facts

    def of_parameters(self, kinds: Mapping[str, str], arguments: Mapping[str, Any]) -> Iterator[Fact]:
        """Yield the facts about the files in an operation's arguments."""
        lists = [value[:_MOST] for value in arguments.values() if isinstance(value, list)]
        items = [item for items in lists for item in items if isinstance(item, dict)]
        for one in (arguments, *({**arguments, **item} for item in items)):
            for name, kind in kinds.items():
                if one.get(name) is not None:
                    yield from OF_PARAMETERS[kind](self._here, name, one)

    def of_edits(self, folder: str, edits: Iterable[tuple[str, str]]) -> Iterator[Fact]:
        """Yield the facts about the files that a client's tool edits."""
        from satchel.keep.files.places import edited_file, tree_of

        tree = tree_of(self._here)
        for path, _change in edits:
            yield from _with_disk(tree, fact(edited_file, tree, folder, path))

    def compared(self, recorded: object, is_over: Callable[[], bool]) -> list[Fact]:
        """Return the current state of the recorded facts: which processes run, and how citations compare."""
        try:
            return self._compared(recorded, is_over)
        except (TypeError, ValueError, AttributeError):
            raise InvalidInput(
                "what the server has recorded cannot be read", "Bring server and local program to the same version"
            ) from None

    def _compared(self, recorded: Any, is_over: Callable[[], bool]) -> list[Fact]:
        from satchel.keep.citations import COMPARED, Comparing, compared_as

        some, cited = recorded
        self._recorded = [processes.Process(int(one.pid), one.started) for one in islice(some, _MOST)]
        self._kept = 0, 0.0, []
        root = self._here.files_root
        places = {
            number: place for number, place in islice(cited, _MOST) if root is not None and _is_within(place.path, root)
        }
        citations = Comparing(root, is_over, is_apart=True).compare(places)
        return [fact(processes.is_alive, one) for one in self._recorded] + [
            [COMPARED, packed(list(compared_as(number, places[number]))), {"answer": packed(citation)}]
            for number, citation in citations.items()
        ]


def fact(function: Callable[..., Any], *arguments: Any) -> Fact:
    """Return the fact for a function of :func:`satchel.base.machine.seen_by_caller`."""
    name = function.__name__
    try:
        result = {"answer": packed(function(*arguments))}
    except (SatchelError, OSError, ValueError) as error:
        result = {"error": error_fields(_as_ours(name, error))}
    return [name, packed(list(telling(name, arguments))), result]


def _as_ours(name: str, error: Exception) -> SatchelError:
    ours = system_error(error) if isinstance(error, OSError) else error
    return ours if isinstance(ours, SatchelError) else Refused(f"{name} failed here ({type(error).__name__})")


def _answer(one: Fact) -> Any:
    return unpacked(one[2].get("answer"))


def _with_disk(tree: Any, one: Fact) -> Iterator[Fact]:
    from satchel.keep.files.places import look_at

    yield one
    place = _answer(one)
    if place is not None:
        yield fact(look_at, tree, place)


def _claimed(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.files.places import place_named, tree_of

    tree, value = tree_of(here), arguments[name]
    is_list = isinstance(value, (list, tuple))
    texts = value if is_list else list(value) if isinstance(value, dict) else [value]
    for number, text in enumerate(texts[:_MOST]):
        field = f"{name}[{number}]" if is_list else name
        with suppress(InvalidInput):  # the server reports it too
            yield from _with_disk(tree, fact(place_named, tree, check_name(text, field), field))


def _file(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.files.places import file_named, tree_of

    with suppress(InvalidInput):  # as above
        yield fact(file_named, tree_of(here), check_name(arguments[name], name), name)


def _lines(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.paths import check_lines

    yield fact(check_lines, arguments[name], here.files_root, name)


def _cited(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.citations import cited_in, is_missing

    (one,) = _lines(here, name, arguments)
    yield one
    place, line = _answer(one), arguments.get("line")
    if place is not None and here.files_root is not None and (line is None or isinstance(line, int)):
        path, first, last = place
        cited = fact(cited_in, here.files_root, path, *((first, last) if line is None else (line, None)))
        yield cited
        if _answer(cited) is None:
            yield fact(is_missing, here.files_root, path)


def _opened(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.paths import FILE_REF

    value = arguments[name]
    for text in value[:_MOST] if isinstance(value, (list, tuple)) else ():
        if isinstance(text, str) and text.startswith(FILE_REF):
            (one,) = _lines(here, "file", {"file": text.removeprefix(FILE_REF)})
            yield one
            place = _answer(one)
            if place is not None:
                path = place[0].removesuffix("**")
                yield from _lines(here, "file", {"file": path})
                yield from _claimed(here, "files", {"files": [path]})


def _package(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    from satchel.keep.packages.contents import check_saved

    yield from _path(here, name, arguments)
    with suppress(SatchelError):
        path = check_file(arguments[name], here.files_root, name)
        yield fact(check_saved, path, here.files_root, here.max_content_bytes)


def _path(here: Workplace, name: str, arguments: Mapping[str, Any]) -> Iterator[Fact]:
    yield fact(canonical_path, arguments[name], here.files_root, name)


# what is looked up of a parameter that names files, by what an operation declares it as
OF_PARAMETERS: Mapping[str, Callable[[Workplace, str, Mapping[str, Any]], Iterator[Fact]]] = {
    "claimed": _claimed,
    "file": _file,
    "lines": _lines,
    "cited": _cited,
    "opened": _opened,
    "package": _package,
    "path": _path,
}


def _is_within(path: str, root: str) -> bool:
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        return False
    base = os.path.realpath(root)
    return is_inside(os.path.realpath(f"{base}/{path}"), base)
