"""Extraction of the error from an output: its type, and its message without the surrounding text."""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass, replace
from satchel.keep.patterns.noise import is_exit, is_noise, is_wrapping, unwrapped, without_advice
from satchel.keep.patterns.stacks import without_stacks

# generic words: a type made only of these does not distinguish errors
_GENERAL = frozenset(
    "error exception panic fatal failure fail failed err unknown runtime uncaught unhandled throwable crash e".split()
)

# Number of words that make a first line sufficient: lines at the same depth are then advice, notes and other output.
# With 4, changed words of the cause were left out of pairs (precision .936 instead of .956).
_TELLING = 6

_CAUSED = "The above exception was the direct cause"


@dataclass(frozen=True, slots=True)
class OutputError:
    """An error extracted from an output.

    Attributes:
        error_type: unqualified; empty if the output names none or only a generic one.
        is_headed: whether the output names it an error; otherwise the message is everything that is not noise.
        is_panic: whether a program stopped itself; the place then says more than the message.
    """

    error_type: str
    message: str
    is_headed: bool = False
    is_panic: bool = False


def plain_type(error_type: str) -> str:
    """Return an error's type without package, such as ``java.lang.NullPointerException``; empty if generic."""
    code = _code().search(error_type)
    if code is not None:
        return code[0]
    words = error_type.strip().strip(":!'\"`[]() ")
    if " " not in words:
        words = re.split(r"::|[./\\]", words)[-1] or words
    parts = {word.lower() for word in re.findall(r"[A-Za-z]+", words)}
    return "" if parts and parts <= _GENERAL else words


def read(text: str) -> OutputError:
    """Return the first error of an output; of a chain, the Python exception raised last or the innermost JVM cause."""
    lines = unwrapped(text)
    is_python = any("Traceback (most recent call last)" in line or _python_frame().match(line) for line in lines)
    is_pytest = any(line.startswith("E   ") for line in text.splitlines())
    relevant = [line for line in _first_paragraphs(without_stacks("\n".join(lines)).splitlines()) if not is_noise(line)]
    if not any(line.strip() for line in relevant):
        relevant = [line for line in lines if line.strip()]
    inner = [line for line in relevant if not is_wrapping(line)]
    if len(inner) < len(relevant) and any(line.strip() for line in inner):
        relevant = inner
    blocks: list[tuple[re.Match[str] | None, list[str]]] = [(None, [])]
    for line in relevant:
        header = _header().match(line)
        if header is not None:
            blocks.append((header, [line[header.end() :]]))
        elif _aside().match(line):
            blocks.append((None, []))
        else:
            blocks[-1][1].append(line if line.strip() else "")
    # what follows an empty line is not part of a message that says enough
    blocks[1:] = [block for block in blocks[1:] if block[0] is not None]
    for header, block in blocks[1:]:
        if header is not None and "" in block and _is_whole(block):
            end = block.index("")
            if _operation().fullmatch(block[0]):
                end = block.index("", end + 1) if "" in block[end + 1 :] else len(block)
                block[:end] = [" ".join(block[:end])]
                end = 1
            del block[end:]
    blocks = [(header, [line for line in block if line.strip()] or block[:1]) for header, block in blocks]
    relevant = [line for line in relevant if line.strip()]
    # a program that started another reports only its status
    headed = [block for block in blocks[1:] if block[0] is not None and not is_exit(block[0].string)]
    if not headed and not any(map(_weak().match, blocks[0][1])):
        headed = blocks[1:]
    if not headed:
        rest = _shell().sub(
            lambda match: f"command not found: {match['name'] or match['named']}",
            "\n".join(_from_weak(list(dict.fromkeys(relevant)))),
        )
        return _innermost(OutputError("", without_advice(rest)))
    # a type alone on a line is only a heading if another line says more
    telling = [block for block in headed if _says_something(block[1]) and not _is_code(block)]
    block_used = telling[0] if telling else headed[0]
    if (causes := [block for block in headed if block[0] is not None and "Caused by" in block[0][0]]) and (
        _words(causes[-1][1]) - _words(headed[0][1])
    ):
        block_used = causes[-1]
    elif is_python or is_pytest:
        raised = [block for block in headed if block[0] is not None and block[0]["type"]] or headed
        block_used = raised[-1]
        if _CAUSED in text and raised[0] is not block_used and _words(raised[0][1]) - _words(block_used[1]):
            block_used = (block_used[0], [*block_used[1], *raised[0][1]])
    error = _extract(block_used)
    before = blocks[0][1]
    if block_used is headed[0] and before and (denial := _denied().match(before[-1])) is not None:
        # git and others print the reason on the line before
        error = replace(error, message=f"{denial['what']}\n{error.message}")
    return _innermost(error)


def _first_paragraphs(lines: list[str]) -> list[str]:
    # cargo prints advice after the first paragraph of a cause
    remaining: list[str] = []
    inside = after = False
    for line in lines:
        if line.rstrip() == "Caused by:":
            inside, after = True, False
        elif inside and not line.strip():
            after = remaining[-1].rstrip() != "Caused by:"
        elif after and _header().match(line):
            inside = after = False
        if not after:
            remaining.append(line)
    return remaining


def _innermost(error: OutputError) -> OutputError:
    first, joint, rest = error.message.partition("\n")
    nested = list(_nested().finditer(first))
    if not nested or not first[nested[-1].end() :].strip():
        return error
    inner = nested[-1]
    return replace(error, error_type=plain_type(inner[1]), message=first[inner.end() :] + joint + rest, is_headed=True)


def _is_code(block: tuple[re.Match[str] | None, list[str]]) -> bool:
    # a block with nothing but npm's error code
    return block[0] is not None and block[0]["npm"] is not None and len(block[1]) == 1


def _extract(block: tuple[re.Match[str] | None, list[str]]) -> OutputError:
    head, lines = block
    if head is None:
        return OutputError("", "\n".join(lines))
    names = ("code", "lone", "bracketed", "coded", "named", "type", "thrown")
    error_type = next((head[name] for name in names if head[name]), "")
    if head["goal"] or _whole().search(lines[0]):
        lines = [lines[0].replace(": error: ", ": ")] if len(lines[0].split()) > 2 else lines
    elif head["placed"]:
        # a compiler's further lines are indented
        lines = lines[:1] + list(takewhile(lambda line: line[:1] in " \t", lines[1:]))
    elif not head["panic"] and _is_telling(lines[0]) and not _goes_on().search("\n".join(lines[:2])):
        depth = _depth(head.string)
        lines = lines[:1] + list(takewhile(lambda line: _depth(line) > depth, lines[1:]))
    message = "\n".join(line for line in lines if line.strip())
    if "fatal" in head[0] and (header := _include().match(message)) is not None:
        # in any language of the system, this means a missing header file
        return OutputError("", f"no header {header[1].replace('/', ' ')}", True)
    if head["panic"]:
        message = _panic_place().sub("", message.strip())
        message = message.removeprefix("'").removesuffix("'")
    if "[" in head[0] and not head["coded"] and not head["bracketed"]:
        message = message.rstrip().removesuffix("]")
    message = _shell().sub(lambda match: f"command not found: {match['name'] or match['named']}", message)
    message = without_advice(re.sub(r"\s+what\(\):\s+", " ", f"\n{message}"))
    is_panic = bool(head["panic"]) or head[0].endswith("panic: ")
    return OutputError(plain_type(error_type), message.strip(), True, is_panic)


def _is_whole(block: list[str]) -> bool:
    after = next((line for line in block[block.index("") :] if line), "")
    return len(block[0].split()) > 2 and not _goes_on().search(f"{block[0]}\n{after}")


def _says_something(lines: list[str]) -> bool:
    first = "".join(lines).strip()
    return bool(first) and not first.startswith("usage: ") and _announcing().search(first) is None


def _is_telling(line: str) -> bool:
    words = line.split()
    return len(words) >= _TELLING or (len(words) > 2 and _quoted().search(line) is not None)


def _from_weak(lines: list[str]) -> list[str]:
    # skip the lines before the first one that reports a failure, or else before the first one that mentions one
    for number, line in enumerate(lines):
        if _weak().match(line):
            named = r"[\w.\-]{1,20}: (?=(?:Error|ERROR|Failed|Cannot|Could not|Unable)\b)"
            lines[number] = re.sub(rf"^(\s*)(?:(?:[×✖✘]|(?<=\s)x|x(?= +[A-Z])) {{1,4}}|{named})", r"\1", line)
            # a line starting in lower case continues the previous one
            goes_on = line.lstrip()[:1].islower() and not re.match(r"\s*(?:\w{1,20}:|x) ", line)
            return _without_next(lines[number - 1 if number and goes_on else number :])
    mentions = next((number for number, line in enumerate(lines) if _mention().search(line)), None)
    return lines if mentions is None else _without_next(lines[mentions:])


def _without_next(lines: list[str]) -> list[str]:
    # below a first line that says enough, only indented lines continue it
    if not _is_telling(lines[0]) or _goes_on().search("\n".join(lines[:2])):
        return lines
    depth = _depth(lines[0])
    return lines[:1] + list(takewhile(lambda line: _depth(line) > depth, lines[1:]))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _words(lines: list[str]) -> set[str]:
    return set(re.findall(r"\w+", " ".join(lines)))


_code = lazy_regex(r"\b[A-Z]{1,8}-?\d{3,5}\b")
_python_frame = lazy_regex(r"\s{0,40}File \"[^\"\n]{1,300}\", line \d+")
_shell = lazy_regex(
    r"^(?:[^\s:]{1,200}: )?(?:line )?(?:\d{1,6}: )?(?P<name>[^\s:]{1,100}): (?:command )?not found$"
    r"|^(?:zsh|fish): (?:command not found|Unknown command): (?P<named>\S{1,100})$",
    re.MULTILINE,
)
_quoted = lazy_regex(r"['\"`][^'\"`\n]{2,200}['\"`]")
# the first line says everything; the rest is the system's wording and advice
_whole = lazy_regex(r"^linker \S{1,200} not found$")
# the first line only announces the second
_goes_on = lazy_regex(
    r"\A(?:[^\n]*[:,({\[]\s*(?:\n|\Z)|[^\n]*\b(?:errors|failures|problems|following|below|details|reasons?)\b"
    r"|[^\n]*\n\s*(?:Caused by|Reason|Cause|Details?|DETAIL)\b)"
)
# warnings and notes between errors
_aside = lazy_regex(r"(?:\S{1,300}:\d+:\d+: )?(?:warning(?:\[\w+\])?|note): ")
# a line that only names the operation, and needs the paragraph below
_operation = lazy_regex(r"(?:Failed|Unable|Could not|Cannot|Error) [^:'\"`]{1,200}")
_announcing = lazy_regex(r"\b(?:described|listed|shown|reported) below\b")
_include = lazy_regex(r"([\w.+\-][\w./+\-]{0,200}\.(?:h|hh|hpp|hxx|cuh)): \S")
_nested = lazy_regex(r"(?<![\w.$])((?:[a-z]\w{0,40}\.){2,12}[A-Z][\w$]{0,80}?(?:Exception|Error)): ")
_panic_place = lazy_regex(r"(?:',? |\A)(?:[A-Za-z]:)?[^\s:']{1,300}:\d+:\d+:?\s*")
_denied = lazy_regex(
    r"(?:\S{1,80}@\S{1,80}: )?(?P<what>[A-Z][^:\n]{0,120}\b(?:denied|failed|refused|expired|unreachable"
    r"|timed out)\b.{0,80})$"
)
_weak = lazy_regex(
    r"\s{0,8}(?:[\w\-]{1,20}: )?(?:Error|ERROR|Failed|FAILED|Failure|Cannot|Can't|Could not|Couldn't|Unable|Fatal"
    r"|FATAL)\b"
    r"|\s{0,8}(?:[×✖✘]|(?<=\s)x|x(?= +[A-Z])) {1,4}[^\s\d]"
    r"|No [\w ]{1,40} (?:found|available|configured|specified|provided)\b"
    r"|.{0,200}\b(?:not found|cannot find|can't find|undefined reference|No such file|denied|refused|conflict"
    r"|failed to|[Cc]annot|unable to)\b|CONFLICT "
)
_mention = lazy_regex(
    r"(?i)\b(?:errors?|err|fail(?:s|ed|ure)|fatal|invalid|missing|unknown|unexpected|unsupported|illegal|mismatch"
    r"|aborted|panic|not (?:allowed|supported|permitted|available|recognized|configured)"
    r"|must be|has no|does(?: not|n't))\b"
)


@cache
def _header() -> re.Pattern[str]:
    exception = (
        r"(?:[A-Za-z_$][\w$]{0,80}(?:\.|::|/)){0,12}(?:(?:[A-Z][\w$]{0,80}?)?(?:Error|Exception)"
        r"|[A-Z][\w$]{0,80}?(?:Warning|Interrupt|Exit|Failure|Fault))"
        r"|(?:[a-z_]\w{0,40}\.){1,8}[A-Z]\w{2,80}(?=: \S)"
    )
    place = (
        r"(?:(?P<place>(?:[A-Za-z]{1,20}:)?[^\s:()]{1,300})(?::\d+(?:[:.]\d+(?:-\d+)?)?:? ?-?|\(\d+(?:,\d+)?\):?"
        r"|:\([^()\n]{0,200}\):?) )?"
    )
    return re.compile(
        r"\s{0,80}(?:.{0,80}\.\.\. ?(?=Exception in thread|(?:[A-Z]\w{0,40})?(?:Error|Exception)\b)"
        r"|Error happened \{ )?"
        r"(?:[^\s:]{1,20}: (?=(?:[a-z]\w{0,40}\.){2,12}[A-Z][\w$]{0,80}?(?:Exception|Error)\b)"
        r"|Exception in thread \"?[^\"\n]{0,80}\"? |Uncaught (?:\(in promise\):? )?|Caused by: |Exception: "
        r"|\[!\] |An error (?:has )?occurred: "
        r"|Module not found: |Unhandled \w{1,20}: "
        r"|(?:PHP )?Fatal error: {1,2}Uncaught |Unhandled [Ee]xception\. |\[(?=(?:[A-Z]\w{0,60})?(?:Error"
        r"|Exception)\b)|[⠀-⣿] {0,2}|panic: (?=\w{0,40}Error)|✘ |× |> (?=\w{0,60}Error)){0,3}"
        r"(?:"
        rf"(?P<type>{exception})(?: \[(?P<coded>[A-Z_]{{3,60}})\])?(?::(?= |\S|$)|$|(?= \())\s?"
        r"|(?P<goal>Failed to execute goal \S{1,200} (?:\([^()\n]{0,80}\) )?on project [^\s:]{1,100}: )(?:error: )?"
        r"|(?:go: (?:\S{1,300} \([^()\n]{0,300}\): )?)?\S{0,300}go\.mod:\d{1,5}: "
        rf"|(?:==\d{{1,8}}==)?{place}(?:(?:[\w\-+.]{{1,40}}(?: [\w\-]{{1,20}}){{0,2}}: )?(?:[A-Za-z]{{3,12}} ){{0,2}}?"
        r"(?:[Ee]rror|ERROR|FATAL ERROR|FATAL|[Ff]atal|ERR!)(?:\[(?P<bracketed>\w{1,20})\])?"
        r"(?: (?P<code>[A-Z]{1,8}\d{1,5})|(?: \d{1,6} \(\w{1,10}\))?(?: (?:near|at|on) line \d+)?"
        r"| \(at [^()\n]{1,300}\))?:(?: |$)"
        r"|(?:[✘✖✗×❌] )?\[ ?ERROR ?\]:? |(?P<bare>(?=undefined reference|missing go\.sum|undefined: |no required)))"
        r"|(?:\^-{0,200}\^? )?(?P<lone>[A-Z]{1,8}-?\d{3,5})(?: \(\w{1,10}\))?: |error (?=[A-Z][a-z']{2})"
        r"|Error in [^:\n]{1,200} : |(?P<named>ERR_[A-Z_]{3,60}) {1,4}"
        r"|(?P<panic>thread '[^'\n]{0,100}' (?:\(\d+\) )?panicked at )"
        r"|panic: |terminate called after throwing an instance of '(?P<thrown>[^'\n]{1,200})'"
        r"|(?:\S{0,200}[/\\])?ld(?:\.\w{1,10})?: (?!warning)(?:.{0,200}: (?=undefined))?"
        r"|CMake Error(?: at \S{1,300}(?: \(\w{1,40}\))?)?:|g?make(?:\[\d{1,3}\])?: \*\*\* "
        r"|(?:[\w./\-]{1,200}: line|-?\w{0,4}sh:(?: line)?) \d+: |[\w./\-]{1,200}:\d+: \*\*\* "
        r"|[a-z][\w\-]{1,20}: \(\d{1,3}\) |FAILED: (?=\S+ \S+ \S)"
        r"|(?P<placed>(?<!\s)(?:[\w.\-]{1,40}: )?\S{1,300}\.[A-Za-z]\w{0,4}:\d{1,6}(?::\d{1,4})?: "
        r"(?!\[?(?i:note|warning|debug|info|trace)\b|in |\w*Warning\b)"
        r"|\s{1,8}\S{1,200}: (?=package \S{1,200} is not in ))"
        r"|(?P<npm>code (?=E[A-Z0-9]{2,20}$))"
        r")"
    )
