"""Innermost frame of the project's own code in a stack."""

from __future__ import annotations

import re
from functools import cache

from satchel.base.lazy import lazy_regex

_MOST_FRAMES = 400
"""Maximum number of frames examined, from either end."""


def innermost_frame(text: str) -> str:
    """Return the file name and function of the innermost project frame in a stack or output.

    With library frames only, return the innermost of those; with frames of the language itself only, an empty text.
    """
    frames = _frames(text)
    for is_wanted in (_is_own, _is_library):
        for place, function in frames:
            if is_wanted(place, function):
                return " ".join(filter(None, (_crate(place), _file(place), _function(function))))
    return ""


def _frames(text: str) -> list[tuple[str, str]]:
    python, other = _patterns()
    lines = text.splitlines()
    ours = [
        (match["file"] or match["tested"], match["function"] or "")
        for line in lines
        if (match := python.match(line)) is not None
    ]
    if ours:
        return ours[: -_MOST_FRAMES - 1 : -1]
    frames: list[tuple[str, str]] = []
    before = ""
    for line in lines:
        match = other.match(line)
        if match is not None:
            groups = match.groupdict()
            place = next(filter(None, (groups[name] for name in "abcdefgh")), "")
            path = next(filter(None, (groups[name] for name in ("fa", "fc", "fd", "fe"))), "")
            frames.append((place, path or (before if match["b"] or match["f"] else "")))
            if len(frames) == _MOST_FRAMES:
                break
        before = line
    return frames


def _is_own(place: str, function: str) -> bool:
    return (
        _is_library(place, function)
        and not _foreign().search(place.replace("\\", "/"))
        and not (place.endswith((".java", ".kt", ".scala", ".groovy")) and _frameworks().match(function))
    )


def _is_library(place: str, function: str) -> bool:
    return not _standard().search(place.replace("\\", "/")) and not _runtime().match(function.strip())


def _file(place: str) -> str:
    return re.split(r"[/\\]", place)[-1]


def _crate(place: str) -> str:
    match = _crates().search(place.replace("\\", "/"))
    return match[1] if match else ""


def _function(function: str) -> str:
    # without arguments, package and markers of anonymous functions
    name = _arguments().sub("", function.strip())
    name = re.sub(r"^\s*\d+:\s+|::h[0-9a-f]{5,16}$|^(?:async|new) ", "", name)
    name = re.sub(r"^(?:.*/)?(?:[\w\-]+\.)*(?=[^.]*\.[^.]*$)", "", name) if "." in name else name
    return "" if name in {"<module>", "<anonymous>", "in"} else name


_arguments = lazy_regex(r"\((?![*]).{0,2000}$|\s\[as .{0,200}$|\s@ \w.{0,80}$")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    path = r"(?:[A-Za-z]:)?[^\s:()\"']{1,300}"
    prefix = r"(?:[A-Za-z]:(?=[/\\])|\w{2,20}://[^()\s:/]{0,200}(?::\d+)?)?"
    return (
        re.compile(
            r"[\s>|]{0,40}(?:File \"?(?P<file>[^\",\n]{1,300}?)\"?(?::\d+)?,(?: line \d+,?)? ?in ?"
            r"(?P<function>[^\n(]{0,200})?)"
            r"|(?P<tested>[^\s:]{1,300}\.py):\d{1,6}: (?:\w*Error|\w*Exception)?$"
        ),
        re.compile(
            rf"^\s{{0,40}}at (?P<fa>[^()\n]{{1,300}}?) ?\((?P<a>{prefix}[^()\n:]{{1,300}}):\d+[^()\n]{{0,20}}\)"
            rf"|^\s{{0,40}}at (?P<h>{prefix}[^()\s:]{{1,300}}):\d+:\d+$"
            rf"|^\s{{1,40}}(?P<b>{path}\.go):\d+(?: \+0x[0-9a-f]+|$|\s)"
            rf"|^\s{{0,8}}#\d+ .{{0,60}}?\bin (?P<fc>[^\s(]{{1,200}})[^\n]{{0,400}}? at (?P<c>{path}):\d+"
            rf"|==\d+==\s{{1,8}}(?:at|by) 0x[0-9A-F]+: (?P<fd>[^\n]{{1,200}}?) \((?P<d>{path}):\d+\)"
            rf"|^\s{{0,8}}(?P<e>{path}\.\w{{1,4}}) (?:\(\d+:\d+\) @|in) (?P<fe>[\w.$]{{1,80}})"
            rf"|^\s{{8,40}}at (?P<f>{path}\.rs):\d+|^.{{0,120}}?panicked at (?:'.{{0,400}}', )?(?P<g>{path}\.rs):\d+"
        ),
    )


_foreign = lazy_regex(
    r"(?:site|dist)-packages/|node_modules/|/pkg/mod/|/vendor/|\.cargo/(?:registry|git)/|cargo/git/checkouts/"
    r"|\.(?:gradle|m2|ivy2)/|/gems/|/usr/(?:include|share|lib)/"
)
_standard = lazy_regex(
    r"(?:^|/)lib(?:64)?/python\d[\d.]*/(?!(?:site|dist)-packages)|/Lib/(?!site-packages)(?=[\w/]*\.py$)|^<"
    r"|^(?:node:|internal/)|^(?:net|fs|vm|os|events|util|module|timers|stream|http|domain|repl"
    r"|bootstrap_node|_http_\w+|_stream_\w+|next_tick)\.js$|/go/src/(?:runtime|os|net|container|sync|reflect|fmt|io"
    r"|encoding|testing|internal|bufio|bytes|strings|sort|time|context|crypto|database|errors|syscall)/"
    r"|/usr/local/go/"
    r"|/rustc/|^(?:src/)?lib(?:core|std|alloc)/|^(?:/build/)?src/lib(?:core|std)/|library/(?:core|std|alloc)/"
)
_runtime = lazy_regex(
    r"(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|android|androidx|com\.android|dalvik|libcore)\."
    r"|java\.base|java\.\w+/|runtime\.|panic\(|std::|core::|alloc::|rust_begin_unwind"
)
_frameworks = lazy_regex(
    r"(?:org\.(?:springframework|apache|hibernate|junit|gradle|codehaus|eclipse|jboss)|io\.netty|reactor)\."
)
_crates = lazy_regex(r"(?:registry/src/[^/]+|git/checkouts)/([A-Za-z_][\w\-]*?)-(?:\d+\.\d|[0-9a-f]{6,})")
