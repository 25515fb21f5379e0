"""Masking of the volatile parts of error messages.

Kept are words, names of modules and types, quoted names, file names, error codes and HTTP statuses of failures. Masked
are numbers, ids, hashes, addresses, times, sizes, directories and stacks. The rules are stateless and specific to no
program, so the same message is always masked alike.
"""

from __future__ import annotations

import re
from functools import cache

from satchel.base.lazy import lazy_regex
from satchel.keep.patterns.stacks import without_stacks
from satchel.redaction import redact

_MARK = "#"
"""The mark for anything volatile: a number in one report may be a hash or a UUID in the next."""

_WIDTHS = frozenset(("16", "32", "64", "128", "256", "384", "512"))
"""Numbers that are part of a name: int32, sha256, base64."""

_MOST = 6_000
"""Maximum number of characters masked; no error needs more to be recognized."""

_MOST_LINES = 1_000
"""Maximum number of lines read, half from either end."""

_QUOTES = str.maketrans('`‘’“”"', "''''''")
"""Programs differ in the quotes they use."""

_BESIDE_NAMES = "'\"`.[]"
"""A word next to one of these is quoted, or part of a longer name."""


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
    """Mask a text and drop repeated lines and words."""
    scanner, _, lists = _patterns()
    masked = scanner.sub(_masked, _cut(text, _MOST))
    words: list[str] = []
    for line in dict.fromkeys(" ".join(line.split()) for line in masked.splitlines()):
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
    is_path = path[0] in "/~\\." or path[1:2] == ":" or "\\" in path or _extension().search(last)
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
            r"(?<![A-Za-z0-9])(?P<who>(?i:[a-z_]{0,20}(?:host|hostname|user|username)=|for\suser\s)"
            r"(?P<whose>[^\s\"'`,;(){}\[\]]++))",
            r"(?<![\w:.])(?P<octets>(?:[0-9A-Fa-f]{0,4}:){3,15}[0-9A-Fa-f]{1,4}"
            r"|[0-9A-Fa-f]{0,4}::[0-9A-Fa-f]{1,4})(?![\w:])",
            r"(?i:\b(?P<named>(?:UTF|UCS|SHA|RFC|CP|ISO|IEEE|ECMA|ES|Windows|Latin|KOI|EUC|GB|MD|IPv)"
            r"[-_ ]?\d{1,5}(?:-\d{1,2}\b|[A-Z]{1,2})?\b|x86_64\b|SQLSTATE\W{0,3}[0-9A-Z]{5}\b|edition-?20\d\d\b"
            r"|(?:source|target)\srelease:?\s\d{1,3}(?:\.\d{1,2})?\b|\d{1,4}(?:\.\d{1,3}){0,3}(?=\sor\s(?:higher|newer|later|above|greater)\b)|(?:(?<=>=)|(?<=>=\s))\d{1,4}(?:\.\d{1,3}){1,3}\b|lib[\w+\-]{1,60}+\.so(?:\.\d{1,4}){1,4}\b))",
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
