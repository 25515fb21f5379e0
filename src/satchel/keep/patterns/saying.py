"""What an output says went wrong: the type, and the message without all that is printed around it."""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from satchel.base.records import dataclass, replace
from satchel.keep.patterns.noise import is_noise, unwrapped, without_advice
from satchel.keep.patterns.stacks import without_stacks

_GENERAL = frozenset(
    "error exception panic fatal failure fail failed err unknown runtime uncaught unhandled throwable crash e".split()
)
"""Words for any error: a type of only such words tells no errors apart."""

_TELLING = 6
"""How many words of an error's line tell it by themselves: with 4, words of the cause that were changed were left out
of pairs (precision .936 instead of .956); what follows at the same depth is advice, notes and other output."""

_CAUSED = "The above exception was the direct cause"


@dataclass(frozen=True, slots=True)
class Said:
    """What an output says went wrong.

    Attributes:
        error_type: unqualified, or empty where the output names none, or one for any error.
        message: the lines of the message.
        is_headed: the output names it an error; else all that is not noise is the message.
        is_panic: a program stopped itself, for a reason that its place tells better than the message.
    """

    error_type: str
    message: str
    is_headed: bool = False
    is_panic: bool = False


def plain_type(error_type: str) -> str:
    """Return the type of an error without its package; what is left of a code stays, and a word for any error is none.

    Args:
        error_type: such as ``java.lang.NullPointerException``, ``error[E0308]`` or ``FATAL ERROR``.
    """
    code = _code().search(error_type)
    if code is not None:
        return code[0]
    words = error_type.strip().strip(":!'\"`[]() ")
    if " " not in words:
        words = re.split(r"::|[./\\]", words)[-1] or words
    told = {word.lower() for word in re.findall(r"[A-Za-z]+", words)}
    return "" if told and told <= _GENERAL else words


def read(text: str) -> Said:
    """Return what an output says went wrong.

    Of several errors it is the first; of a chain of exceptions of Python the one that was raised last, and of one of
    the JVM the innermost cause, unless that only repeats what the error says.

    Args:
        text: a message, or the whole output of a program that failed, without a terminal's escapes.
    """
    lines = unwrapped(text)
    is_python = any("Traceback (most recent call last)" in line or _python_frame().match(line) for line in lines)
    is_pytest = sum(line.startswith(("E   ", "E       ")) for line in text.splitlines()) > 0
    kept = [
        line
        for line in _first_paragraphs(without_stacks("\n".join(lines)).splitlines())
        if line.strip() and not is_noise(line)
    ]
    if not kept:
        kept = [line for line in lines if line.strip()]
    blocks: list[tuple[re.Match[str] | None, list[str]]] = [(None, [])]
    for line in kept:
        found = _header().match(line)
        if found is not None:
            blocks.append((found, [line[found.end() :]]))
        else:
            blocks[-1][1].append(line)
    headed = blocks[1:]
    if not headed:
        rest = _shell().sub(
            lambda found: f"command not found: {found['name'] or found['named']}", "\n".join(_from_weak(kept))
        )
        return _innermost(Said("", without_advice(rest)))
    # a type alone in a line is a heading where another line says more
    telling = [block for block in headed if "".join(block[1]).strip() and not _is_code(block)]
    chosen = telling[0] if telling else headed[0]
    if (causes := [block for block in headed if block[0] is not None and "Caused by" in block[0][0]]) and (
        _words(causes[-1][1]) - _words(headed[0][1])
    ):
        chosen = causes[-1]
    elif is_python or is_pytest:
        raised = [block for block in headed if block[0] is not None and block[0]["type"]] or headed
        chosen = raised[-1]
        if _CAUSED in text and raised[0] is not chosen and _words(raised[0][1]) - _words(chosen[1]):
            chosen = (chosen[0], [*chosen[1], *raised[0][1]])
    said = _said(chosen)
    before = blocks[0][1]
    if chosen is headed[0] and before and (told := _denied().match(before[-1])) is not None:
        # what ends a program in two lines, as git does, says why in the first
        said = replace(said, message=f"{told['what']}\n{said.message}")
    return _innermost(said)


def _first_paragraphs(lines: list[str]) -> list[str]:
    """Leave out what follows the first paragraph of a cause, as cargo prints it, up to the next cause or error."""
    kept: list[str] = []
    inside = after = False
    for line in lines:
        if line.rstrip() == "Caused by:":
            inside, after = True, False
        elif inside and not line.strip():
            after = kept[-1].rstrip() != "Caused by:"
        elif after and _header().match(line):
            inside = after = False
        if not after:
            kept.append(line)
    return kept


def _innermost(said: Said) -> Said:
    """Return the innermost of the exceptions of the JVM that the first line of a message names one in the other."""
    first, joint, rest = said.message.partition("\n")
    nested = list(_nested().finditer(first))
    if not nested or not first[nested[-1].end() :].strip():
        return said
    found = nested[-1]
    return replace(said, error_type=plain_type(found[1]), message=first[found.end() :] + joint + rest, is_headed=True)


def _is_code(block: tuple[re.Match[str] | None, list[str]]) -> bool:
    """Whether npm says no more than its code there."""
    return block[0] is not None and block[0]["npm"] is not None and len(block[1]) == 1


def _said(block: tuple[re.Match[str] | None, list[str]]) -> Said:
    found, lines = block
    if found is None:
        return Said("", "\n".join(lines))
    named = (
        found["code"] or found["lone"] or found["bracketed"] or found["coded"] or found["type"] or found["thrown"] or ""
    )
    if found["goal"] or _whole().search(lines[0]):
        lines = [lines[0].replace(": error: ", ": ")] if len(lines[0].split()) > 2 else lines
    elif found["placed"]:
        # what a compiler says beyond its line is indented
        lines = lines[:1] + list(takewhile(lambda line: line[:1] in " \t", lines[1:]))
    elif not found["panic"] and len(lines[0].split()) >= _TELLING and not _goes_on().search("\n".join(lines[:2])):
        depth = _depth(found.string)
        lines = lines[:1] + list(takewhile(lambda line: _depth(line) > depth, lines[1:]))
    message = "\n".join(line for line in lines if line.strip())
    if "fatal" in found[0] and (header := _include().match(message)) is not None:
        # whatever language the system speaks, a header that is no file is all that this can mean
        return Said("", f"no header {' '.join(re.split(r'[/]', header[1]))}", True)
    if found["panic"]:
        message = _panic_place().sub("", message.strip())
        message = message.removeprefix("'").removesuffix("'")
    if "[" in found[0] and not found["coded"] and not found["bracketed"]:
        message = message.rstrip().removesuffix("]")
    place = found["place"] or found["source"] or ""
    if place and not _missing().search(message):
        message = f"{place} {message}"
    message = _shell().sub(lambda found: f"command not found: {found['name'] or found['named']}", message)
    message = without_advice(re.sub(r"\s+what\(\):\s+", " ", f"\n{message}"))
    is_panic = bool(found["panic"]) or found[0].endswith("panic: ")
    return Said(plain_type(named), message.strip(), True, is_panic)


def _from_weak(lines: list[str]) -> list[str]:
    """Leave out what stands before the first line that speaks of a failure."""
    for number, line in enumerate(lines):
        if _weak().match(line):
            lines[number] = re.sub(r"^\s*[\w.\-]{1,20}: (?=(?:Error|ERROR|Failed|Cannot|Could not|Unable)\b)", "", line)
            # a line that goes on in lower case belongs to the one before
            goes_on = line.lstrip()[:1].islower() and not re.match(r"\s*\w{1,20}: ", line)
            return lines[number - 1 if number and goes_on else number :]
    return lines


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _words(lines: list[str]) -> set[str]:
    return set(re.findall(r"\w+", " ".join(lines)))


@cache
def _code() -> re.Pattern[str]:
    """Return the pattern of an error's code: E0308, TS2322, CS0246, ORA-00942."""
    return re.compile(r"\b[A-Z]{1,8}-?\d{3,5}\b")


@cache
def _python_frame() -> re.Pattern[str]:
    return re.compile(r"\s{0,40}File \"[^\"\n]{1,300}\", line \d+")


@cache
def _shell() -> re.Pattern[str]:
    """Return the pattern of what shells say of a command that is not there."""
    return re.compile(
        r"^(?:[^\s:]{1,200}: )?(?:line )?(?:\d{1,6}: )?(?P<name>[^\s:]{1,100}): (?:command )?not found$"
        r"|^(?:zsh|fish): (?:command not found|Unknown command): (?P<named>\S{1,100})$",
        re.MULTILINE,
    )


@cache
def _missing() -> re.Pattern[str]:
    """Return the pattern of messages of what is missing elsewhere: where it was asked for tells no errors apart."""
    return re.compile(
        r"[Nn]o such file or directory|undefined reference to|cannot find -l|file not found|[Cc]annot find module"
        r"|not found$|is not in (?:GOROOT|std)\b"
        r"|missing go\.sum entry|no required module provides"
    )


@cache
def _whole() -> re.Pattern[str]:
    """Return the pattern of a first line that says all: what is noted below is how the system puts it, and advice."""
    return re.compile(r"^linker \S{1,200} not found$")


@cache
def _goes_on() -> re.Pattern[str]:
    """Return the pattern of two first lines of a message of which the first one announces what follows."""
    return re.compile(
        r"\A(?:[^\n]*[:,({\[]\s*(?:\n|\Z)|[^\n]*\b(?:errors|failures|problems|following|below|details|reasons?)\b"
        r"|[^\n]*\n\s*(?:Caused by|Reason|Cause|Details?|DETAIL)\b)"
    )


@cache
def _include() -> re.Pattern[str]:
    """Return the pattern of what a compiler says of a header, and the system of why it is not read."""
    return re.compile(r"([\w.+\-][\w./+\-]{0,200}\.(?:h|hh|hpp|hxx|cuh)): \S")


@cache
def _nested() -> re.Pattern[str]:
    """Return the pattern of an exception of the JVM, with its package, within a message."""
    return re.compile(r"(?<![\w.$])((?:[a-z]\w{0,40}\.){2,12}[A-Z][\w$]{0,80}?(?:Exception|Error)): ")


@cache
def _panic_place() -> re.Pattern[str]:
    return re.compile(r"(?:',? |\A)(?:[A-Za-z]:)?[^\s:']{1,300}:\d+:\d+:?\s*")


@cache
def _denied() -> re.Pattern[str]:
    """Return the pattern of a line that says why what the next one names could not be done."""
    return re.compile(
        r"(?:\S{1,80}@\S{1,80}: )?(?P<what>[A-Z][^:\n]{0,120}\b(?:denied|failed|refused|expired|unreachable"
        r"|timed out)\b.{0,80})$"
    )


@cache
def _weak() -> re.Pattern[str]:
    return re.compile(
        r"\s{0,8}(?:[\w\-]{1,20}: )?(?:Error|ERROR|Failed|FAILED|Failure|Cannot|Could not|Couldn't|Unable|Fatal"
        r"|FATAL)\b"
        r"|.{0,200}\b(?:not found|cannot find|can't find|undefined reference|No such file|denied|refused)\b"
    )


@cache
def _header() -> re.Pattern[str]:
    """Return the pattern of what begins the line of an error."""
    exception = (
        r"(?:[A-Za-z_$][\w$]{0,80}(?:\.|::|/)){0,12}(?:(?:[A-Z][\w$]{0,80}?)?(?:Error|Exception)"
        r"|[A-Z][\w$]{0,80}?(?:Warning|Interrupt|Exit|Failure|Fault))"
    )
    place = (
        r"(?:(?P<place>(?:[A-Za-z]:)?[^\s:()]{1,300})(?::\d+(?:[:.]\d+(?:-\d+)?)?:? ?-?|\(\d+,\d+\):?"
        r"|:\([^()\n]{0,200}\):?) )?"
    )
    return re.compile(
        r"\s{0,80}(?:.{0,80}\.\.\. ?(?=Exception in thread|(?:[A-Z]\w{0,40})?(?:Error|Exception)\b)"
        r"|Error happened \{ )?"
        r"(?:[^\s:]{1,20}: (?=(?:[a-z]\w{0,40}\.){2,12}[A-Z][\w$]{0,80}?(?:Exception|Error)\b)"
        r"|Exception in thread \"?[^\"\n]{0,80}\"? |Uncaught (?:\(in promise\):? )?|Caused by: |Exception: "
        r"|Module not found: |Unhandled \w{1,20}: "
        r"|(?:PHP )?Fatal error: {1,2}Uncaught |Unhandled [Ee]xception\. |\[(?=(?:[A-Z]\w{0,60})?(?:Error"
        r"|Exception)\b)|[⠀-⣿] {1,2}|panic: (?=\w{0,40}Error)|✘ |× |> (?=\w{0,60}Error)){0,3}"
        r"(?:"
        rf"(?P<type>{exception})(?: \[(?P<coded>[A-Z_]{{3,60}})\])?(?::(?= |\S|$)|$|(?= \())\s?"
        r"|(?P<goal>Failed to execute goal \S{1,200} (?:\([^()\n]{0,80}\) )?on project [^\s:]{1,100}: )(?:error: )?"
        r"|(?:go: (?:\S{1,300} \([^()\n]{0,300}\): )?)?\S{0,300}go\.mod:\d{1,5}: "
        r"|(?P<placed>(?P<source>\S{1,300}\.go):\d{1,6}:\d{1,4}: |\s{1,8}\S{1,200}: (?=package \S{1,200} is not in ))"
        rf"|{place}(?:(?:[\w\-+.]{{1,40}}: )?(?:internal compiler |fatal |syntax |runtime |link )?(?:[Ee]rror|ERROR"
        rf"|FATAL ERROR|FATAL|[Ff]atal|ERR!)"
        r"(?:\[(?P<bracketed>\w{1,20})\])?(?: (?P<code>[A-Z]{1,8}\d{1,5}))?:(?: |$)|(?P<bare>(?=undefined reference"
        r"|missing go\.sum|undefined: |no required)))"
        r"|(?P<lone>[A-Z]{1,8}\d{3,5}): |(?P<panic>thread '[^'\n]{0,100}' (?:\(\d+\) )?panicked at )"
        r"|panic: |terminate called after throwing an instance of '(?P<thrown>[^'\n]{1,200})'"
        r"|(?:\S{0,200}[/\\])?ld(?:\.\w{1,10})?: (?!warning)(?:.{0,200}: (?=undefined))?"
        r"|CMake Error(?: at \S{1,300}(?: \(\w{1,40}\))?)?:|g?make(?:\[\d{1,3}\])?: \*\*\* "
        r"|(?P<npm>code (?=E[A-Z0-9]{2,20}$))"
        r")"
    )
