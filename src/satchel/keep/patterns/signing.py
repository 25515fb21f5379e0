"""Signatures of errors: the type and the masked message; for generic messages also the innermost project frame."""

from __future__ import annotations

import re
from functools import cache

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.find.words import STOP_WORDS, words_in
from satchel.keep.patterns.noise import VARIANTS, peeled, rewritten, unwrapped
from satchel.keep.patterns.saying import plain_type, read
from satchel.keep.patterns.stacks import innermost_frame, without_stacks
from satchel.redaction import redact

# the mark for anything volatile: a number in one report may be a hash or a UUID in the next
_MARK = "#"

# numbers that are part of a name: int32, sha256, base64
_WIDTHS = frozenset(("16", "32", "64", "128", "256", "384", "512"))

_MOST = 6_000  # maximum number of characters masked; no error needs more to be recognized

_MOST_LINES = 1_000  # maximum number of lines read, half from either end

_QUOTES = str.maketrans('`‘’“”"', "''''''")  # programs differ in the quotes they use

_BESIDE_NAMES = "'\"`.[]"  # a word next to one of these is quoted, or part of a longer name


def mask(message: str) -> str:
    """Return a message without secrets, stack and volatile parts.

    Of a message over 6,000 characters (without its stack), only the first and last 3,000 are used, so that the time
    stays bounded.
    """
    return masked_text(without_stacks(bounded(message)))


def bounded(text: str) -> str:
    """Return the start and end of a text, without secrets and terminal escapes."""
    # cut wider before redacting than after, so that no half of a secret remains
    text = redact(_cut(text, 4 * _MOST)).text
    text = _cut(_patterns()[1].sub("", text), 2 * _MOST)
    if text.count("\n") <= _MOST_LINES:
        return text
    lines = text.split("\n")
    return "\n".join(lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


def masked_text(text: str) -> str:
    scanner, _, lists = _patterns()
    masked = scanner.sub(_masked, _cut(text, _MOST))
    words: list[str] = []
    lines = dict.fromkeys(" ".join(line.split()) for line in masked.splitlines())
    for line in (line for line in lines if line != _MARK or len(lines) == 1):
        words += (word for word in line.split() if not words or word != words[-1])
    return lists.sub(_MARK, " ".join(words).translate(_QUOTES)).strip(" .,:;!")


def _masked(match: re.Match[str]) -> str:
    text = match[0]
    match match.lastgroup:
        case "url":
            return _masked_url(text)
        case "request":
            # the target of a request that was served does not distinguish failures
            query = _MARK if match["served"] else _masked_words(match["asked"])
            return " ".join(filter(None, (text.split()[0], query, match["answer"])))
        case "path" | "spaced":
            return _masked_path(text)
        case "word":
            around = (
                match.string[max(0, match.start() - 1) : match.start()] + match.string[match.end() : match.end() + 1]
            )
            return _masked_word(text, is_exact=any(char in _BESIDE_NAMES for char in around))
        case "who":
            return text[: -len(match["whose"])] + _MARK
        case "server":
            return text[: -len(match["named_host"])] + _MARK
        case "named" | "numbered" | "reply":
            return text
        case "at":
            return "@" + _MARK
        case "status":
            # a successful response's status does not distinguish failures; an exit status does
            before, number = text[: -len(match["number"])], match["number"]
            is_fine = len(number) == 3 and number[0] in "123" and _answer().match(before)
            return before + (_MARK if is_fine else number)
        case "octets" | "uppercase" if not any(char.isdigit() for char in text):
            return text
        case _:
            return _MARK


def _masked_url(url: str) -> str:
    # keep the scheme, a host that is not a machine's, and the words of the path
    scheme, _, rest = url.partition("://")
    if scheme.lower() == "file":
        return _masked_path(rest)
    end = len(rest.rstrip(".,:;!"))
    tail = rest[end:]
    rest = _query_start().split(rest[:end], maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].partition(":")[0]
    if any(char.isdigit() for char in host.partition(".")[0]) or "." not in host:
        host = _MARK
    return f"{scheme}://{host}{slash}{_masked_words(path)}{tail}"


def _masked_words(path: str) -> str:
    return "/".join(map(_masked_name, _query_start().split(path, maxsplit=1)[0].split("/")))


def _masked_path(path: str) -> str:
    # keep a file's name; in a slashed name that is not a path, such as a package's, keep every part
    key, joint, value = path.partition("=")
    if joint and (value[:1] in {"/", "~", "\\"} or value[1:2] == ":"):
        return f"{key}={_masked_path(value)}"
    end = len(path.rstrip(".,")) or len(path)
    path, tail = path[:end], path[end:]
    names = re.split(r"[/\\]+", path.rstrip("/\\"))
    last = names[-1]
    is_path = path[:1] in {*"/~\\."} or path[1:2] == ":" or "\\" in path or _extension().search(last)
    if is_path and last not in {".", "..", "~", ""}:
        return _masked_name(last) + tail
    return "/".join(map(_masked_name, names)) + tail


def _masked_name(name: str) -> str:
    return _patterns()[0].sub(_masked, name) if any(char.isdigit() for char in name) else name


def _masked_word(word: str, *, is_exact: bool) -> str:
    # a single digit at the end belongs to the name: 'urllib3'
    if _code().fullmatch(word):
        return word
    if _is_id(word) or _temporary().fullmatch(word):
        return _MARK
    parts: list[str] = []
    for part in word.split("_"):
        if part.isdigit() and len(part) >= 5 and parts:
            # after a long number the rest of the word is an id too: task_1445144423722_0020_m_000002
            parts.append(_MARK)
            break
        masked = _MARK if _is_id(part) else _digits().sub(_masked_digits, part)
        counted = not is_exact and masked[-1:].isdigit() and len(masked) > 4 and masked[:-1].isalpha()
        parts.append(masked[:-1] + _MARK if counted else masked)
    return "_".join(parts)


def _is_id(word: str) -> bool:
    digits = sum(char.isdigit() for char in word)
    if digits == len(word):
        return digits > 0
    if digits and len(word) + digits >= 8 and not word[:-1].isalpha() and _hexadecimal().fullmatch(word):
        return True
    return len(_turns().findall(word)) >= 4


def _masked_digits(match: re.Match[str]) -> str:
    digits = match[0]
    if len(digits) == 1 or (digits in _WIDTHS and _wide().match(match.string[: match.start()])):
        return digits
    return _MARK


# the start of a URL's query or fragment, but not a mark left by earlier masking
_query_start = lazy_regex(r"\?|#(?=\w)")
_answer = lazy_regex(r"(?i)http|status|respon|returned")


@cache
def _wide() -> re.Pattern[str]:
    # prefixes of a width: int32, utf16, sha256, base64, i64
    stems = "int|float|complex|datetime|timedelta|utf|ucs|sha|base|fp|bf|aes|rsa|crc|arm|amd|win"
    return re.compile(rf"(?i)(?:.*(?:{stems})|[iufvx])\Z")


# such as E0308, TS2322, CS0246
_code = lazy_regex(r"[A-Z]{1,8}\d{3,5}[A-Z]?")
# names generated by Python's tempfile
_temporary = lazy_regex(r"tmp[a-z0-9_]{8}")
_extension = lazy_regex(r"[^.]\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_hexadecimal = lazy_regex(r"[0-9a-f]+|[0-9A-F]+")
_digits = lazy_regex(r"\d+")
_turns = lazy_regex(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # every repetition is bounded or possessive, and none restarts within what an earlier one rejected
    digits = r"\d{1,2}[:_-]?\d{2}[:_-]?\d{2}(?:[.,_]\d{1,9})?"
    clock = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s?[AP]M\b)?"
    zone = r"(?:\s?(?:Z\b|UTC\b|GMT\b|[A-Z]{1,2}[SD]T\b|[+-]\d{2}:?\d{2}\b)){0,2}"
    month = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
    day = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s)?"
    year = r"(?:,?\s\d{4}\b)?"
    unit = (
        r"(?:\s?(?:[kKMGTP]i?[Bb]|bytes?|[num]s|[µμ]s|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|hrs?"
        r"|(?:milli|micro|nano)seconds?|[kMG]?Hz)\b|[smhdB]\b|\s?%|\s[sB]\b)"
    )
    quad = r"\d{1,3}(?:[.-]\d{1,3}){3}"
    method = "(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|CONNECT|TRACE)"
    name = r"[\w.@%+~$=\-]"
    top = "(?:com|net|org|edu|gov|io|local|internal|lan|localdomain)"
    scanner = "|".join(
        (
            r"(?<![A-Za-z0-9])(?P<url>[A-Za-z][A-Za-z0-9+.\-]{1,20}+://[^\s\"'<>`|\\^{}()\[\],;]*+)",
            rf"\b(?P<time>\d{{4}}(?P<joint>[-/.])\d{{1,2}}(?P=joint)\d{{1,2}}(?:[T _:-]{{0,2}}{digits})?{zone}",
            rf"{day}{month}\.?\s{{1,2}}\d{{1,2}}\b(?:{year}[ ,]\s?{clock}{zone}{year}|{year})",
            rf"{day}\d{{1,2}}[-/ ]{month}[-/ ]\d{{4}}(?:[ :]{clock})?{zone}",
            rf"[IWEF]\d{{4}}\s{{1,2}}{clock}",  # dates of glog and klog
            rf"{clock}{zone})(?![^\W_])",
            rf"\b(?P<request>{method}\s(?P<asked>[/*][^\s\"'<>]*+)(?:\s(?P<answer>[45]\d\d)\b"
            r"|(?P<served>\sHTTP/\d(?:\.\d)?\"\W{1,4}(?i:status\W{1,3})?[123]\d\d\b))?)",
            r"(?<![\w-])(?P<uuid>[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})(?![^\W_])",
            # a host name next to its address, or containing it, is as volatile as the address
            rf"(?<![\w.\-])(?P<machine>(?:localhost(?![\w.-])|(?:[\w.\-]{{1,253}}+/)?{quad})(?::\d{{1,5}})?(?![\w.-]*\w)"
            r"(?:\s\([\w.\-]{0,253}\))?",
            rf"(?=[\w\-]{{0,40}}?\d{{1,3}}[.-])[A-Za-z\-]{{0,40}}{quad}[\w\-]{{0,63}}(?:\.[\w\-]{{1,63}}+){{1,8}}+)",
            r"(?P<bracketed>\[[0-9A-Fa-f.]{0,15}(?::[0-9A-Fa-f.]{0,15}){2,8}\]:\d{1,5}\b)",
            r"(?P<server>\b(?i:host(?:name)?|server)(?:=|\s)[\"'`](?P<named_host>[\w.\-:]{1,253})(?=[\"'`]))",
            r"(?<![A-Za-z0-9])(?P<who>(?i:[a-z_]{0,20}(?:host|hostname|user|username)=|for\suser\s[\"']?)"
            r"(?P<whose>[^\s\"'`,;(){}\[\]]++))",
            r"(?<![\w:.])(?P<octets>(?:[0-9A-Fa-f]{0,4}:){3,15}[0-9A-Fa-f]{1,4}"
            r"|[0-9A-Fa-f]{0,4}::[0-9A-Fa-f]{1,4})(?![\w:])",
            r"(?i:\b(?P<named>(?:UTF|UCS|SHA|RFC|CP|ISO|IEEE|ECMA|ES|Windows|Latin|KOI|EUC|GB|MD|IPv)"
            r"[-_ ]?\d{1,5}(?:-\d{1,2}\b|[A-Z]{1,2})?\b|x86_64\b|NET(?:\sCore|\sStandard)?\s\d{1,2}\.\d\b"
            r"|SQLSTATE\W{0,3}[0-9A-Z]{5}\b|edition-?20\d\d\b"
            r"|(?:source|target)\srelease:?\s\d{1,3}(?:\.\d{1,2})?\b|\d{1,4}(?:\.\d{1,3}){0,3}(?=\sor\s(?:higher|newer|later|above|greater)\b)|\d{1,4}(?:\.\d{1,3}){1,3}(?=\sis\srequired\b)|(?:(?<=>=)|(?<=>=\s))\d{1,4}(?:\.\d{1,3}){1,3}\b|lib[\w+\-]{1,60}+\.so(?:\.\d{1,4}){1,4}\b))",
            r"(?i:\b(?P<status>(?:(?:os\serror|errno|winerror|hresult|exit(?:ed)?(?:\swith)?(?:\sstatus)?|status|signal"
            r"|(?:error|status|exit|return|response|result)?[ _-]?code|rc|exception(?=\W{1,3}0x))(?:\sof)?\W{1,3}?"
            r"|error(?:\s|[(\[#=]){1,2}(?=0x|-?\d{1,5}\b)|http(?:/\d(?:\.\d)?\"?)?\s"
            r"|(?:returned|responded|response)(?:\swith)?[ :=]{1,2}(?=[1-5]\d\d\b))"
            r"(?P<number>-?(?:0x[0-9a-f]{1,8}|\d{1,10})))(?![\w%]|[.:,/-]\d|\s---))",
            r"\b(?P<numbered>[A-Z]{2,8}-\d{3,6}(?=:)|CVE-\d{4}-\d{4,7}\b)",
            r"(?P<reply>\b[45]\d\d(?=\s(?:[A-Z][a-z]|page not)))",
            r"(?<=[\"'])(?P<spaced>[A-Za-z]:[/\\][^\"'<>|:*?\n]{1,400})(?=[\"'])",
            rf"(?<![\w.@%+~$=\-/\\<\]}})#])(?P<path>(?:[A-Za-z]:(?=[/\\]))?"
            rf"{name}*+(?:[/\\]{{1,8}}+{name}++)++(?:[/\\]{{1,8}}+(?!#))?)",
            r"(?<=[\w\"'])(?P<at>@(?:npm:)?[~^]?v?\d[\w.+\-]{0,60}+)",  # package versions
            r"(?<![\w.+-])(?P<mail>[\w.+-]{1,64}+@(?![\dv]\d*\.)[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}+)",
            r"(?<![\w.-])(?P<host>(?=[^\W\d]*+\d|\w+-[\w-]*?\d)[\w-]{1,63}+"
            rf"(?:\.[A-Za-z][\w-]{{0,62}}+){{1,6}}?\.{top})(?![\w-]|\.\w)",
            r"(?<![\w.])(?P<amount>(?:(?<![\w)\]}])[-+])?(?:\d{1,3}(?:,\d{3}){1,8}+|\d[\d_]*+)(?:\.\d++)*+"
            rf"(?:e[+-]?\d++)?{unit}?)(?!\w)",
            r"(?<![\w.])(?P<span>(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s|us|µs|ns|d)){1,5})(?!\w)",
            r"(?P<release>\bv?\d+\.\d[\w.+-]*+)",
            r"\b(?P<address>0[xX][0-9A-Fa-f]+)(?!\w)",
            r"(?<=@)(?P<identity>[0-9a-f]{5,16})(?!\w)",
            r"\b(?P<letters>(?:[a-f]{8}|[A-F]{8}|[a-f]{16}))(?!\w)",
            r"(?<!\w)(?P<word>(?=[^\W\d]*+\d)\w++)",
        )
    )
    return (
        re.compile(scanner),
        re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)"),
        re.compile(r"#(?:(?:[.:,;/-]|,? )#)+"),
    )


VERSION = 3  # version of the rules; raise it with every change to signatures

_MOST_TYPE = 200
_MOST_OF_MESSAGE = 2  # a text of more lines, without the indented ones, is a program's output

_ENOUGH = 4  # a message of so many words tells errors apart without their types

_TELLING = 3  # a sentence of more words says enough


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed error.

    Attributes:
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
    if _wrapper().fullmatch(core) and not (stack or innermost_frame("\n".join(peeled(text)))):
        # the wrapper only reports the failure: use the whole output
        message = "\n".join(unwrapped(text))
        core = _core(message)
    if not error.error_type and core and (not _is_type(name) or _is_output(text) or _occurs_in(name, text)):
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


def _occurs_in(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


_sentence = lazy_regex(r"\s*([^\n]{10,400}?[\w'\"`)\]])(?:[.;](?=\s+[A-Z`'\"(\[])| \((?=[A-Z]+ \d)).{0,10}", re.DOTALL)
# a panic message that is specific enough
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
    r"|cannot (?:read|set) propert(?:y|ies) .{0,80}|.{0,40} (?:is not a function|is (?:undefined|null)|is not iterable)"
    r"|cannot (?:invoke '(?:java[.x]|String|Object|Integer|Long|List|Map|Set)|load from|store to|read the array"
    r"|throw).{1,300}is null"
    r"|attempt to (?:invoke .{1,30}(?:java|android)|read|write|get).{1,200}(?:null object reference|null array)"
    r"|(?:(?:list|string|tuple|array|slice|runtime error)[: ]{1,2}){0,3}(?:assignment )?(?:index"
    r"|slice bounds).{0,20}out of (?:range|bounds).{0,80}"
    r"|index out of (?:range|bounds).{0,80}|.{0,10}out of bounds for length.{0,10}"
    r"|(?:runtime error: )?invalid memory address or nil pointer dereference.{0,120}"
    r"|called '(?:option|result)::(?:unwrap|expect)\(\)' on an? '(?:none|err)' value.{0,200}"
    r"|\w+sanitizer: .{0,100}"
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
