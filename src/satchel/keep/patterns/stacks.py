"""Removal of stack traces from a program's output."""

from __future__ import annotations

import re
from functools import cache

from satchel.base.lazy import lazy_regex

_SOURCE_AHEAD = 6  # maximum number of source and mark lines after a frame


def without_stacks(text: str) -> str:
    """Return a text without the stack lines that Python, JavaScript, Java, C#, Go and Rust print."""
    if "\n" not in text:
        return text
    lines = text.splitlines()
    frame, frame_with_source, marks, place, step, source, message, caret = _patterns()
    remaining: list[str] = []
    inside = -1
    below = 0
    in_backtrace = False
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        indent = len(line) - len(line.lstrip(" \t|"))
        if below and indent > inside and line.strip(" \t|"):
            below -= 1
            continue
        if below == _SOURCE_AHEAD and indent == inside and not message.match(line):
            # without indentation, the line below a frame is source unless it is a message
            below = 0
            continue
        below = 0
        in_backtrace = "stack backtrace:" in line or (in_backtrace and line[:1] == " ")
        if (match := frame_with_source.match(line)) is not None:
            inside, below = match.end(1), _SOURCE_AHEAD
        elif not (
            frame.match(line)
            or marks.fullmatch(line)
            or ("^" in after and caret.fullmatch(after))
            or (step.match(line) and (in_backtrace or source.match(after)))
            or (place.match(after) and _is_call(line))
            or (place.match(line) and number > 0 and _is_call(lines[number - 1]))
        ):
            remaining.append(line)
    whole = "\n".join(remaining)
    return whole if whole.strip() else text


def _is_call(line: str) -> bool:
    return line.endswith(")") or line.startswith("created by ")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    # in order: a frame, a frame with source below, marks below source, the second line of a Go frame, the two lines of
    # a Rust frame, a line that is not source, a mark below source
    return (
        re.compile(
            r"[ \t|+-]{0,80}+(?:"
            r"Traceback(?: \(most recent call last\))?:"
            r"|\[Previous line repeated \d+ more times?\]"
            r"|(?:async )?at (?:.*\(.*|.*:\d+|<anonymous>|native\b.*)$"  # JavaScript, Java, C#, Rust
            r"|\.\.\. \d+ (?:more|common frames omitted|lines matching\b)"
            r"|goroutine \d+ \[.*\]:|exit status [12]$"
            r"|stack backtrace:|note: run with `RUST_BACKTRACE=|note: [Ss]ome details are omitted"
            r"|@ (?:\.|multi )\S* \d+:\d+"  # webpack
            r")"
        ),
        re.compile(r"([ \t|+-]{0,80}+)(?:File \"[^\"\n]{1,1000}\", line \d+|[^\s:\"']{1,300}:\d+: in [\w<>.]+$)"),
        re.compile(r"(?=\s*\S)[\s|^~\-+>=_]*(?:\d{1,6}[\s|^~\-+=_]*)?"),
        re.compile(
            r"\s{0,40}(?:[A-Za-z]:)?[^\s:]{1,500}(?:\.(?:go|s)|(?<=\t)[^\s:]{1,8}):\d+(?: \+0x[0-9a-f]+.{0,200})?$"
            r"|\t(?:[A-Za-z]:)?[^\s:]{1,500}:\d+$"
        ),
        re.compile(r" {1,10}\d{1,5}: "),
        re.compile(r" {1,30}at \S"),
        re.compile(r"\s{0,40}(?:File \"|[A-Za-z_][\w.]{0,120}(?::|$)|\[|$)"),
        re.compile(r"[\s|]{0,200}\^[\s^~]{0,300}"),
    )


_MOST_FRAMES = 400  # maximum number of frames examined, from either end


def innermost_frame(text: str) -> str:
    """Return file name and function of the innermost project frame, else library frame, of a stack or output."""
    frames, unnamed = _frames(text)
    for is_wanted in (_is_own, _is_library):
        for number, (place, function) in enumerate(frames):
            if is_wanted(place, function):
                # a panic's backtrace names the function that the panic's own line does not
                below = (name for file, name in frames[number + 1 :] if name and _file(file) == _file(place))
                unnamed = unnamed if is_wanted is _is_own else ""
                name_of_function = _function(function or next(below, "")) or unnamed
                return " ".join(filter(None, (_crate(place), _file(place), name_of_function)))
    return ""


def _frames(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return places with their functions, and the substitute for the function of a panic without a backtrace."""
    python, other = _frame_patterns()
    lines = text.splitlines()
    ours = [
        (
            match["file"] or match["tested"] or match["failed"],
            match["function"] or match["within"] or match["test"] or "",
        )
        for line in sorted(lines, key=lambda line: not line.startswith("FAILED "))
        if (match := python.match(line)) is not None
    ]
    if ours:
        return ours[: -_MOST_FRAMES - 1 : -1], ""
    frames: list[tuple[str, str]] = []
    before = tested = unnamed = ""
    for line, after in zip(lines, [*lines[1:], ""], strict=False):
        match = other.match(line)
        if match is not None:
            groups = match.groupdict()
            place = next(filter(None, (groups[name] for name in "abcdefgh")), "")
            path = next(filter(None, (groups[name] for name in ("fa", "fc", "fd", "fe"))), "")
            if groups["column"] and not unnamed:
                # lines move more often than columns, but all assertions of tests share one
                unnamed = tested if tested and after.startswith("assertion") else f"column {groups['column']}"
            frames.append((place, path or (before if match["b"] or match["f"] else "")))
            if len(frames) == _MOST_FRAMES:
                break
        elif line.startswith("---- ") and line.endswith(" stdout ----"):
            tested = line[5:-12]
        before = line
    return frames, unnamed


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
def _frame_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    path = r"(?:[A-Za-z]:)?[^\s:()\"']{1,300}"
    prefix = r"(?:[A-Za-z]:(?=[/\\])|\w{2,20}://[^()\s:/]{0,200}(?::\d+)?)?"
    return (
        re.compile(
            r"[\s>|]{0,40}(?:File \"?(?P<file>[^\",\n]{1,300}?)\"?(?::\d+)?,(?: line \d+,?)? ?in ?"
            r"(?P<function>[^\n(]{0,200})?)"
            r"|(?P<tested>[^\s:]{1,300}\.py):\d{1,6}: (?:in (?P<within>\S{1,200})|(?:\w*Error|\w*Exception)(?::.*)?)?$"
            r"|FAILED (?P<failed>[^\s:]{1,300}\.py)::(?P<test>[^\s\[]{1,200}).*"
        ),
        re.compile(
            rf"^\s{{0,40}}at (?P<fa>[^()\n]{{1,300}}?) ?\((?P<a>{prefix}[^()\n:]{{1,300}}):\d+[^()\n]{{0,20}}\)"
            rf"|^\s{{0,40}}at (?P<h>{prefix}[^()\s:]{{1,300}}):\d+:\d+$"
            rf"|^\s{{1,40}}(?P<b>{path}\.go):\d+(?: \+0x[0-9a-f]+|$|\s)"
            rf"|^\s{{0,8}}#\d+ .{{0,60}}?\bin (?P<fc>[^\s(]{{1,200}})(?:[^\n]{{0,400}}? at)? (?P<c>{path}):\d+"
            rf"|==\d+==\s{{1,8}}(?:at|by) 0x[0-9A-F]+: (?P<fd>[^\n]{{1,200}}?) \((?P<d>{path}):\d+\)"
            rf"|^\s{{0,8}}(?P<e>{path}\.\w{{1,4}}) (?:\(\d+:\d+\) @|in) (?P<fe>[\w.$]{{1,80}})"
            rf"|^\s{{8,40}}at (?P<f>{path}\.rs):\d+|^.{{0,120}}?panicked at (?:'.{{0,400}}', )?(?P<g>{path}\.rs):\d+"
            r":(?P<column>\d+)"
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
