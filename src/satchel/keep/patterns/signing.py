"""Signatures of errors: the type and the masked message; for generic messages also the innermost project frame."""

from __future__ import annotations

import re

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.find.words import STOP_WORDS, words_in
from satchel.keep.patterns.frames import innermost_frame
from satchel.keep.patterns.headlines import VARIANTS, rewritten
from satchel.keep.patterns.masking import bounded, masked_text
from satchel.keep.patterns.noise import peeled, unwrapped
from satchel.keep.patterns.saying import plain_type, read
from satchel.redaction import redact

VERSION = 3
"""Version of the rules; raise it with every change to signatures."""

_MOST_TYPE = 200
_MOST_OF_MESSAGE = 2
"""A text of more lines, without the indented ones, is a program's output."""

_ENOUGH = 4
"""A message of so many words tells errors apart without their types."""

_TELLING = 3
"""A sentence of more words says enough."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed error.

    Attributes:
        hash: its signature.
        message: its masked message.
        hash_elsewhere: its signature without names, as bazinga stores it, or None if equal.
    """

    hash: str
    message: str
    hash_elsewhere: str | None


def signature(error_type: str, message: str, stack: str | None = None) -> str:
    """Return the signature of an error: equal for the same cause, whoever reports it, regardless of paths and times.

    Args:
        error_type: the class or code of the error; its package and generic words are ignored.
        message: the message, or the whole output of the program, of any length.
        stack: the stack trace; used only with generic messages, by its innermost project frame.
    """
    return signed(error_type, message, stack).hash


def signed(error_type: str, message: str, stack: str | None = None) -> Signed:
    """Return an error's signature and masked message; the arguments are those of :func:`signature`."""
    text = bounded(message)
    error = read(text)
    name = error.error_type or plain_type(redact(error_type[:_MOST_TYPE]).text)
    message = _first_sentence(error.message)
    if name == "ImportError" and "No module named" in message:
        name = "ModuleNotFoundError"
    core = _core(message)
    if _wrapper().fullmatch(core) and not (stack or innermost_frame(text)):
        # the wrapper only reports the failure: use the whole output
        message = "\n".join(unwrapped(text))
        core = _core(message)
    if not error.error_type and core and (not _is_type(name) or _is_output(text) or _is_said(name, text)):
        # other reporters of an output may not use this type
        name = ""
    frame = ""
    if _generic().fullmatch(core) or (error.is_panic and not _telling_panic().search(core)):
        frame = innermost_frame("\n".join(peeled(text))) or (innermost_frame(bounded(stack)) if stack else "")
    if not any(char.isdigit() for char in name) and _says_enough(core):
        # layers between raise the same error under other classes
        name = ""
    there = _core(as_bazinga(message))
    return Signed(_digest(name, core, *filter(None, (frame,))), core, _digest(name, there) if there != core else None)


def as_bazinga(message: str) -> str:
    """Mask a message as bazinga does before storing: folders, line numbers, quoted names of up to 50 letters.

    Source: ``bazinga_db.py`` of https://github.com/mehdic/bazinga.
    """
    text = re.sub(r"/[^\s]+/", ".../", message)
    text = re.sub(r"[A-Z]:\\[^\s]+\\", lambda _: "...\\", text)
    text = re.sub(r"line \d+", "line N", text)
    text = re.sub(r"'[^']{1,50}'", "'...'", text)
    return re.sub(r'"[^"]{1,50}"', '"..."', text).strip()[:500]


def _first_sentence(message: str) -> str:
    # releases and posters differ in what follows a sentence that says enough
    match = _sentence().match(message)
    return match[1] if match is not None and len(match[1].split()) > _TELLING else message


def _core(message: str) -> str:
    # a bracketed number, such as the system's error number, is redundant
    return masked_text(rewritten(message, VARIANTS)).replace(" (#)", "")


def _digest(*parts: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _is_type(name: str) -> bool:
    return " " not in name and not name.islower()


def _says_enough(core: str) -> bool:
    return len({word for word in words_in(core.lower()) if len(word) > 2} - STOP_WORDS) >= _ENOUGH


def _is_output(text: str) -> bool:
    return sum(line[:1] > " " for line in text.splitlines()) > _MOST_OF_MESSAGE


def _is_said(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


_sentence = lazy_regex(r"\s*([^\n]{10,400}?[\w'\"`)\]])(?:[.;](?=\s+[A-Z`'\"(\[])| \((?=[A-Z]+ \d)).{0,10}", re.DOTALL)
# a panic message that is specific by itself
_telling_panic = lazy_regex(
    r"['\"<#/=]|[a-z][A-Z]|\w[_.]\w"
    r"|(?i:refused|denied|time[d ]?out|no such|not found|unreachable|reset|closed|exists|unavailable|invalid)"
)
# a tool's report that a program it started failed
_wrapper = lazy_regex(
    r"(?i)|(?:.{0,60}\b)?(?:exit(?:ed)?(?: with)?|return(?:ed)?)(?: non-zero)?(?: exit)? (?:status|code).{0,10}"
    r"|command failed.{0,80}|spawn ENOENT|(?:build|compilation) fail(?:ed|ure).{0,40}|\[?\S{0,80}\]? error [\d#]+"
    r"|there (?:are|were) (?:test failures|failing tests).{0,80}|errors? occurred.{0,20}|see above.{0,40}"
    r"|execution failed for task \S{1,80}|.{0,40}did(?: not|n't) (?:complete|exit) successfully.{0,80}"
)
# messages shared by many errors, which need the place too
_generic = lazy_regex(
    r"(?i)#?|null|(?:assertion(?:error)?(?: failed)?|\(no message\)|none|undefined|killed|aborted|panic|boom)"
    r"|.{0,60}segmentation (?:fault|violation).{0,60}|.{0,20}core dumped\)?|object reference not set.{0,40}"
    r"|assert # [=<>!]{1,2} #|assertion '?\(?left [=!]= right\)?'? failed.{0,300}"
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
