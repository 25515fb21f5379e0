"""What makes an error the same error: its type, and what it says without what changes from one time to the next.

Where a message is one that many errors share, the innermost frame of the project belongs to it.
"""

from __future__ import annotations

import re
from functools import cache

from satchel.base.records import dataclass
from satchel.keep.patterns.frames import innermost_frame
from satchel.keep.patterns.masking import bounded, masked_text
from satchel.keep.patterns.noise import unwrapped
from satchel.keep.patterns.saying import plain_type, read
from satchel.redaction import redact

VERSION = 2
"""The version of the rules; raise it with every change that gives an error another signature."""

_MOST_TYPE = 200


@dataclass(frozen=True, slots=True)
class Signed:
    """An error as it is recognised again.

    Attributes:
        hash: its signature.
        message: what it says, masked.
        hash_elsewhere: the signature it has where bazinga left its names out, or None where it is the same.
    """

    hash: str
    message: str
    hash_elsewhere: str | None


def signature(error_type: str, message: str, stack: str | None = None) -> str:
    """Return what identifies an error: the same for the same cause, by anyone, whatever its paths and times.

    Args:
        error_type: the class or the code of the error; its package does not count, nor a word for any error.
        message: what it said, or the whole output of the program, of any length.
        stack: its stack trace; counts only for messages that many errors share, by the innermost frame of the project.

    Returns:
        The SHA-256 of the type and of the redacted, masked message, as 64 hexadecimal digits.
    """
    return signed(error_type, message, stack).hash


def signed(error_type: str, message: str, stack: str | None = None) -> Signed:
    """Return the signature of an error with the message that it was made of; the arguments are those of signature."""
    text = bounded(message)
    said = read(text)
    name = said.error_type or plain_type(redact(error_type[:_MOST_TYPE]).text)
    message = said.message
    core = _core(message)
    if _wrapper().fullmatch(core) and not (stack or innermost_frame(text)):
        # what started the program says no more than that it failed: all that it printed tells the error
        message = "\n".join(unwrapped(text))
        core = _core(message)
    repeats = text if said.is_headed or name.isupper() else f"{message}\n{core}"
    if not said.error_type and core and (" " in name or _is_said(name, repeats)):
        # a description is no type; and what the output says itself another may not have taken for the type
        name = ""
    frame = ""
    if _generic().fullmatch(core) or (said.is_panic and not _named().search(core)):
        frame = innermost_frame("\n".join(unwrapped(text))) or (innermost_frame(bounded(stack)) if stack else "")
    there = _core(as_bazinga(message))
    return Signed(_digest(name, core, *filter(None, (frame,))), core, _digest(name, there) if there != core else None)


def as_bazinga(message: str) -> str:
    """Mask a message as bazinga does before it keeps one: folders, lines of files, quoted names of up to 50 letters.

    Source: ``bazinga_db.py`` of https://github.com/mehdic/bazinga.
    """
    text = re.sub(r"/[^\s]+/", ".../", message)
    text = re.sub(r"[A-Z]:\\[^\s]+\\", lambda _: "...\\", text)
    text = re.sub(r"line \d+", "line N", text)
    text = re.sub(r"'[^']{1,50}'", "'...'", text)
    return re.sub(r'"[^"]{1,50}"', '"..."', text).strip()[:500]


def _core(message: str) -> str:
    message = _asker().sub("", _interpreter().sub("", message))
    message = _resolved().sub(r"\1", message)
    message = _searched().sub(r"\1", _imported().sub(r"\1", message)).replace(" -> [Help 1]", "")
    message = _quoted_url().sub(r"\1", _linker().sub(r"\1", _older_resource().sub(r"\1 ", message)))
    # a number in brackets, such as a system's for the error, says nothing more
    return masked_text(_system().sub(r"\1", _resource().sub(r"\1", message))).replace(" (#)", "")


def _digest(*parts: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _is_said(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


@cache
def _older_resource() -> re.Pattern[str]:
    """Return the pattern of the same as older releases of Node say it."""
    return re.compile(r"\b(watch|open|scandir|mkdir|write) \S{1,300} (?=(?:ENOSPC|EMFILE|ENFILE)\b)")


@cache
def _interpreter() -> re.Pattern[str]:
    """Return the pattern of the shell and the script before what says that the script's interpreter is not there."""
    return re.compile(r"^-?(?:\w{0,10}sh: )?(?:\S{1,200}: )?(?=\S{1,200}: bad interpreter)", re.MULTILINE)


@cache
def _asker() -> re.Pattern[str]:
    """Return the pattern of who asked for a library or a program that is not there: any other would fail too."""
    return re.compile(
        r"^[^\n:]{0,300}: (?=error while loading shared libraries: )"
        r"|^(?:[^\n]{0,200}: )?(?=exec: \"[^\"\n]{1,100}\": executable file not found)",
        re.MULTILINE,
    )


@cache
def _searched() -> re.Pattern[str]:
    """Return the pattern of a program that is not there, with where it was looked for, as each system writes it."""
    return re.compile(r"(executable file not found) in (?:\$PATH|%PATH%)")


@cache
def _resolved() -> re.Pattern[str]:
    """Return the pattern of a package that is not there, with the folder that asked for it; a relative one needs it."""
    return re.compile(r"(Can't resolve '[^'.\n][^'\n]{0,100}') in '[^'\n]{1,300}'")


@cache
def _imported() -> re.Pattern[str]:
    """Return the pattern of a name that a module lacks, with the module's file, which not every release prints."""
    return re.compile(r"(cannot import name \S{1,100} from \S{1,200}) \([^()\n]{0,300}[/\\][^()\n]{0,300}\)")


@cache
def _linker() -> re.Pattern[str]:
    """Return the pattern of a missing library with the system's words, which older linkers do not print."""
    return re.compile(r"(cannot find -l[\w.+\-]{1,100}): No such file or directory")


@cache
def _quoted_url() -> re.Pattern[str]:
    """Return the pattern of an address in quotes, which not every release of a program sets around it."""
    return re.compile(r"[\"']([a-z][a-z0-9+.\-]{1,20}://[^\s\"'<>]{1,500})[\"']")


@cache
def _system() -> re.Pattern[str]:
    """Return the pattern of a system's error code with its words, which not every release prints."""
    return re.compile(r"\b(E[A-Z]{3,15}): [a-z][a-z \-]{3,50}?(?=,| ['\":\d/[]|\s*$)", re.MULTILINE)


@cache
def _resource() -> re.Pattern[str]:
    """Return the pattern of what was asked for when a resource of the machine was used up: any other would fail too."""
    return re.compile(r"((?:ENOSPC|EMFILE|ENFILE|ENOMEM|EDQUOT)\b[^,\n]{0,80}), \w{3,10}(?: ['\"`][^\n]{0,500})?")


@cache
def _named() -> re.Pattern[str]:
    """Return the pattern of what a panic's message tells by itself: a name, a number, or what is wrong outside it."""
    return re.compile(
        r"['\"<#/=]|[a-z][A-Z]|\w[_.]\w"
        r"|(?i:refused|denied|time[d ]?out|no such|not found|unreachable|reset|closed|exists|unavailable|invalid)"
    )


@cache
def _wrapper() -> re.Pattern[str]:
    """Return the pattern of what a tool says of a program that it started and that failed, without its reason."""
    return re.compile(
        r"(?i)|(?:.{0,60}\b)?(?:exit(?:ed)?(?: with)?|return(?:ed)?)(?: non-zero)?(?: exit)? (?:status|code).{0,10}"
        r"|command failed.{0,80}|spawn ENOENT|(?:build|compilation) fail(?:ed|ure).{0,40}|\[?\S{0,80}\]? error [\d#]+"
        r"|there (?:are|were) (?:test failures|failing tests).{0,80}|errors? occurred.{0,20}|see above.{0,40}"
        r"|execution failed for task \S{1,80}|.{0,40}did(?: not|n't) (?:complete|exit) successfully.{0,80}"
    )


@cache
def _generic() -> re.Pattern[str]:
    """Return the pattern of masked messages that many errors share: the place where they arose tells them apart."""
    return re.compile(
        r"(?i)#?|null|(?:assertion(?:error)?(?: failed)?|\(no message\)|none|undefined|killed|aborted|panic|boom)"
        r"|.{0,60}segmentation (?:fault|violation).{0,60}|.{0,20}core dumped\)?|object reference not set.{0,40}"
        r"|assert # [=<>!]{1,2} #"
        r"|(?:access violation|bus error).{0,40}"
        r"|'?(?:nonetype|int|str|float|list|dict|tuple|set|bool|bytes|function|module|method|generator"
        r"|coroutine)'? object"
        r" (?:has no attribute|is not|does not|cannot).{0,80}|.{0,20}'nonetype'"
        r"|unsupported operand type.{0,80}|pop from (?:an )?empty .{0,20}|.{0,20} changed size during iteration"
        r"|(?:not enough|too many) values to unpack.{0,40}|(?:max|min)\(\) .{0,20}empty.{0,20}|unhashable type.{0,20}"
        r"|(?:string|list) indices must be .{0,60}|can only concatenate .{0,60}|no value present"
        r"|i/o operation on closed file"
        r"|cannot (?:read|set) propert(?:y|ies) .{0,80}|.{0,40} (?:is not a function|is (?:undefined|null)"
        r"|is not (?:defined|iterable))"
        r"|cannot (?:invoke '(?:java[.x]|String|Object|Integer|Long|List|Map|Set)|load from|store to|read the array"
        r"|throw).{1,300}is null"
        r"|attempt to (?:invoke .{1,30}(?:java|android)|read|write|get).{1,200}(?:null object reference|null array)"
        r"|(?:(?:list|string|tuple|array|slice|runtime error)[: ]{1,2}){0,3}(?:assignment )?(?:index"
        r"|slice bounds).{0,20}out of (?:range|bounds).{0,80}"
        r"|index out of (?:range|bounds).{0,80}|.{0,10}out of bounds for length.{0,10}"
        r"|(?:runtime error: )?invalid memory address or nil pointer dereference.{0,120}"
        r"|called '(?:option|result)::(?:unwrap|expect)\(\)' on an? '(?:none|err)' value.{0,200}"
        r"|concurrent map (?:read and map write|writes?|iteration and map write)|all goroutines are asleep.{0,20}"
        r"|invalid syntax.{0,60}|unexpected (?:indent|identifier|end of input).{0,40}|unindent does not match.{0,60}"
        r"|(?:integer |float )?division(?: or modulo)? by zero|/ by zero|attempt to (?:divide|subtract|add"
        r"|multiply).{0,30}"
        r"|expecting value: .{0,40}|unexpected (?:end of json input|token .{0,40} in json.{0,40}|eof)|end of file|eof"
        r"|(?:.{0,30}\b)?(?:exit(?:ed)?(?: with)?|return(?:ed)?)(?: non-zero)?(?: exit)? (?:status|code) .{0,10}"
        r"|command failed.{0,40}"
        r"|std::bad_alloc|stack overflow|maximum (?:recursion depth|call stack size) exceeded.{0,60}|broken pipe"
        r"|unreachable.{0,40}|could not initialize proxy.{0,80}|failed to lazily initialize.{0,200}"
    )
