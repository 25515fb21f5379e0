"""Values given to a secret name: assigned, paired, in an element or a call, next to it, or in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

from satchel.redaction.prefilter import Places
from satchel.redaction.values import (
    JUDGED_CHARS,
    holds_pair,
    holds_text,
    is_password,
    is_password_word,
    is_pattern,
    is_placeholder,
    is_plain_word,
    is_reference,
    is_strong_password,
    is_uuid,
    longer_password,
    looks_random,
)

# The start, end and kind of a secret.
Span = tuple[int, int, str]

ROOTS = ("pass", "pw", "secret", "token", "key", "auth", "credential", "pat")
_JOINTS = ("", "_", "-", " ", ".")
_KEY_OWNERS = ("api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master")
_OWNED_KEY = tuple(owner + joint for owner in _KEY_OWNERS for joint in _JOINTS)
# These keys are for a place, an order or an identity, not for access.
_HARMLESS_KEYS = (
    *("public", "pub", "publishable", "primary", "foreign", "cache", "sort", "partition", "idempotency", "dedup"),
    *("dedupe", "shard", "row", "hash", "map", "object", "registry", "lookup", "index", "group", "item"),
    *("site", "anon", "host", "blob", "file", "s3", "issue", "project", "unique", "natural", "surrogate", "locale"),
    *("translation", "message", "i18n", "storage-", "react", "tree", "join", "order", "range", "composite", "lock"),
)
# Paging, cancellation and vocabulary tokens do not grant access.
_HARMLESS_TOKENS = (
    *("next", "page", "continuation", "sync", "cancellation", "cancel", "eos", "bos", "pad", "public", "sep", "cls"),
    *("publickey", "mask", "unk", "stop", "special", "cursor", "scroll", "paging", "pagination", "resume", "end"),
    "start",
)
_HARMLESS = {
    "key": tuple(word + joint for word in _HARMLESS_KEYS for joint in ("", "_", "-", " ")),
    "token": tuple(word + joint for word in _HARMLESS_TOKENS for joint in ("", "_", "-", " ")),
}
_MAX_QUOTED = 2_048
_NAME_SPACE = 100
# The most characters that a ``sentence`` covers; it accepts only values with a digit.
_SENTENCE = 320

Manner = Literal["assigned", "below", "element", "called", "login", "argument", "adjacent", "sentence"]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    quote = r"(\\{0,3}[\"'`])"
    return {
        "rest": re.compile(r"word|wd|phrase|code|wort|ord|orization"),
        "suffix": re.compile(
            r"s?(?:[_-]?(?:access[_-]?key|key|token|base|value|string|hex|base64|b64|data|prod|production|dev|stage"
            r"|staging|test|live|old|new|default|primary|secondary|main|backup|\d{1,3})){0,2}(?![a-z0-9])"
        ),
        "assigned": re.compile(
            r"(?:\\{0,3}[\"'`])?\]?(?:\[\d{0,4}\])?"
            r"(?:[ \t]{0,4}:[ \t]{0,4}(?:&'?[a-z]{0,8} ?)?[a-z][a-z0-9_.|\[\]]{0,40}[ \t]{0,4}="
            r"|[ \t]{1,4}(?:as[ \t]{1,4})?(?:string|str|char|text|varchar2?)[ \t]{0,4}:?="
            r"|[ \t]{0,16}\*{0,2}(?::-|:=|=>|->|<-|\?\?=?|\?=|\+=|:::?=|\|\|=?|\?:|={1,3}|!=|<<<|:)\*{0,2})"
            rf"[ \t]{{0,16}}(?:!!?[a-z]{{1,10}}[ \t]|\{{[a-z0-9-]{{2,10}}\}})?(?:[bruf@]{{0,2}}{quote})?"
        ),
        # the value is alone on the next line, in a list, a code block or a block of YAML
        "below": re.compile(
            r"(?:(?:\\{0,3}[\"'`])?\]?[ \t]{0,4}\*{0,2}[:=]\*{0,2}|[ \t]{1,4}(?:is|was|ist|es|est)[ \t]{0,2}:)"
            r"[ \t]{0,8}(?:[|>][+-]?|\\)?\r?\n(?:[ \t]{0,16}\r?\n)?"
            rf"(?:`{{3}}[a-z]{{0,10}}\r?\n)?[ \t]{{0,16}}(?:[-*>][ \t]{{1,3}})?{quote}?"
        ),
        "condition": re.compile(r"(?:\A|\n)[ \t]*(?:el)?if\b[^\n]*\Z|(?:\A|\n)[ \t]*(?:while|for|with|case)\b[^\n]*\Z"),
        "alone": re.compile(r"[\]}),;]{0,3}[ \t]{0,8}(?:\r?\n|\Z)"),
        "element": re.compile(r"[\"']?[ \t]{0,4}>[ \t]{0,4}(?:<!\[cdata\[)?|</key>\s{0,40}<string>"),
        "pair": re.compile(
            r"(?:[\"'`]?[ \t]{0,4}[,;]?\s{1,60}+|[\"'`],)[\"']?(?:value|default|content|defaultvalue)[\"']?"
            rf"[ \t]{{0,4}}[:=][ \t]{{0,8}}{quote}?"
            rf"|\"\s{{0,4}}\{{[^{{}}]{{0,200}}?\bdefault[ \t]{{0,8}}=[ \t]{{0,8}}(\")"
        ),
        "called": re.compile(rf"(?:[\"'`][ \t]{{0,4}},\s{{0,20}}|[\"'`]?\([ \t]{{0,4}}){quote}"),
        "login": re.compile(
            rf"[ \t]{{0,4}}[=:]?[ \t]{{0,4}}\([ \t]{{0,4}}[\"'][^\"'\s]{{1,64}}[\"'][ \t]{{0,4}},[ \t]{{0,4}}{quote}"
        ),
        "typed": re.compile(r"[ \t]{1,16}(?:as[ \t]|str|char|text|varchar|value|default|content|[^a-z])"),
        "adjacent": re.compile(rf"[ \t]{{1,16}}(?:[0-9][ \t])?{quote}?"),
        "adjacent digit": re.compile(rf"[ \t]{{1,16}}(?:[0-9][ \t])?(?:{quote}|(?=\S{{0,{JUDGED_CHARS}}}[0-9]))"),
        "sentence": re.compile(
            rf"[ \t]{{1,4}}(?:[a-z?'()/-]{{1,16}}[ \t]{{1,4}}){{0,6}}?"
            r"(?:(?:is|was|are|to|be|becomes|ist|lautet|es|est|\?)(?: now| still| set to)?:?|[a-z]{1,16}[:=]|:|=|\|)"
            rf"[ \t]{{1,4}}(?:[a-z]{{1,16}}[ \t]{{1,4}}){{0,3}}?{quote}?(?=\S{{0,99}}[0-9])"
        ),
        # a command option or a line of .netrc or redis.conf: a password follows, even if it is a word
        "argument": re.compile(
            r"(?:(?:\A|[\s\"'`])--|[^\s-][ \t]{1,4}[\"'`]?-)[a-z0-9-]{0,30}\Z|(?:\A|\n|set[ \t])require\Z"
            r"|(?:\A|\n)[ \t$#>]{0,8}(?:env|setenv|setx|set[ \t]-[a-z]{1,3})[ \t]{1,4}[a-z0-9_]{0,30}\Z"
            r"|(?:\A|\n)[^\n]{0,20}(?:mysqladmin|nmcli)[^\n]{1,60}[ \t]\Z|insecure-\Z"
            r"|(?:\A|\n)[ \t]{0,8}user(?:name)?[ \t]{1,4}\S{1,60}\n[ \t]{0,8}\Z"
            r"|(?:(?:machine\s{1,4}\S{1,60}|default)\s{1,8}|\n[ \t]{1,8})login\s{1,4}\S{1,60}\s{1,8}\Z"
        ),
        "sshpass": re.compile(rf"[ \t]{{1,4}}-p[ \t]{{0,4}}{quote}?"),
        "htpasswd": re.compile(r"[ \t]{1,4}-[a-z]{0,6}b[a-z]{0,6}[ \t]{1,4}(?:\S{1,200}[ \t]{1,4}){1,2}"),
        "digit": re.compile(r"[0-9]"),
        "digest": re.compile(
            r"\b(?:sha(?:-?\d{1,3})?|commit|hash|digest|checksum|revision|fingerprint|script)[ \t:=]*\Z"
        ),
        "sha1": re.compile(r"[0-9a-f]{40}|[0-9A-F]{40}"),
        "option": re.compile(r"(?:\A|[\s\"'`])--?[a-z0-9-]{0,30}\Z"),
        "file": re.compile(r"[\w-]+\.[a-z]{1,3}"),
        "pair of a string": re.compile(r"[\w-]=[^\s=]"),
        "option before": re.compile(
            r"(?:\A|[\s\"'`])--?(?:[a-z][a-z-]{0,30}[ =][\"']?)?[\w.-]{0,30}\Z|\bkv put \S{1,99} \Z"
        ),
        "statement": re.compile(
            r"\b(?:user|role)[ \t]{1,4}\S{1,60}[ \t]{1,4}(?:with[ \t]{1,4})?(?:encrypted[ \t]{1,4})?\Z"
            r"|#define[ \t]{1,4}[a-z0-9_]{0,40}\Z"
        ),
        "other setting": re.compile(
            r"(?m)^[ \t-]*[\"']?[\w.-]{0,30}(?:user|login|host|email|database|port|server|account)"
            r"[\w.-]{0,20}[\"']?:[ \t]+[^\s,;({]+$"
        ),
        "other property": re.compile(
            r"(?m)^[\w.-]{1,30}\.(?:user|username|login|host|url|port)[ \t]*=[ \t]*[^\s,;({]+\r?$"
        ),
        "other option": re.compile(r"(?m)^[ \t]*\[[\w .:-]{1,60}\][ \t]*\r?$"),
        "name": re.compile(r"[A-Za-z0-9_.-]*\Z"),
        "bare": re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\]+"),
        "word": re.compile(r"[^\s\"'`;<>(){}\[\]|\\]+"),
    }


def assignments(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield the values of names that contain a root word.

    ``lowered`` is the text in lower case, every character in its place; ``places`` are the offsets of the root words.
    """
    for root in ROOTS:
        after = 0
        for at in places.get(root, ()):
            if at >= after and (span := _assigned_secret(text, lowered, root, at)) is not None:
                yield span
                after = span[1]


_PLAIN_NEXT = frozenset("*\n\r \t=:\"'`>]([<\\?|!-")


def _assigned_secret(text: str, lowered: str, root: str, at: int) -> Span | None:
    patterns = _patterns()
    after = at + len(root)
    longer = None
    if root in {"pass", "auth"}:
        longer = patterns["rest"].match(lowered, after)
        after = longer.end() if longer else after
    elif root == "pw" and lowered.startswith("d", after):
        after += 1
    following = lowered[after : after + 1]
    if following not in _PLAIN_NEXT or following == "-":
        suffix = patterns["suffix"].match(lowered, after)
        if suffix is None or (following := lowered[(after := suffix.end()) : after + 1]) not in _PLAIN_NEXT:
            return None
    before = lowered[max(0, at - _NAME_SPACE) : at]
    if following == ":" and (before.endswith(":") or lowered.startswith(":", after + 1)):
        return None  # part of a name, as in arn:aws:secretsmanager:eu-west-1:1234:secret:notes or Password::min
    if not _begins_word(text, before, root, at, whole=longer is not None):
        return None
    if text[at:after] == "PASS" and lowered[after : after + 4].lstrip().startswith(("=", "?=")):
        following = "="  # in a Makefile
    names_password = _names_password(root, before, following, longer=longer is not None)
    if root == "pass" and following == "\n" and not names_password:
        return None  # the Python statement
    for manner, sign in _signs(lowered, before, after, root):
        span = _secret_after(text, lowered, root, at, before, manner, sign, names_password=names_password)
        if span is not None:
            return None if before.endswith(_HARMLESS.get(root, ())) else span
    return None


def _begins_word(text: str, before: str, root: str, at: int, *, whole: bool) -> bool:
    if whole or root not in {"pass", "auth", "pat", "pw"} or not before[-1:].isalnum():
        return True
    if root == "auth" and before.endswith("master"):
        return True
    return (
        (text[at].isupper() and text[at - 1].islower())
        or (root == "pw" and text[at + 2 : at + 3] in {"d", "D"})
        or (root == "pass" and before.endswith(_BEFORE_PASS))
    )


def _names_password(root: str, before: str, following: str, *, longer: bool) -> bool:
    if root == "pw":
        return True
    if root != "pass":
        return False
    return longer or before[-1:] in {"_", "-", "."} or following in {"=", '"', "'"} or before.endswith(_BEFORE_PASS)


_BEFORE_PASS = (
    *("ssh", "require", "-store", "-key", "-pass ", "-passin ", "-passout "),
    *("db", "user", "root", "admin", "ftp", "smtp", "mail"),
)


def _signs(lowered: str, before: str, after: int, root: str) -> Iterator[tuple[Manner, re.Match[str]]]:
    patterns = _patterns()
    following = lowered[after]
    is_prose = following in {" ", "\t"} and patterns["typed"].match(lowered, after) is None
    match = None if is_prose else patterns["assigned"].match(lowered, after)
    if match is not None:
        yield "assigned", match
        if lowered.startswith(("\n", "\r", "|", ">", "\\"), match.end()) and (
            below := patterns["below"].match(lowered, after)
        ):
            yield "below", below
        if root != "auth":
            return
    if following in {">", '"', "'", "<"}:
        match = patterns["element"].match(lowered, after)
        if match is not None:
            yield "element", match
    if following in {'"', "'", "`", "(", "="} and (match := patterns["called"].match(lowered, after)) is not None:
        yield "called", match
    if root in {"auth", "credential"} and (match := patterns["login"].match(lowered, after)) is not None:
        yield "login", match
    if not is_prose and (following in {'"', "'", "\\"} or following.isspace()):
        match = patterns["pair"].match(lowered, after)
        if match is not None:
            yield "assigned", match
    if following not in {" ", "\t"}:
        return
    if lowered.find(":\n", after, after + 12) > 0 and (match := patterns["below"].match(lowered, after)) is not None:
        yield "below", match
    has_digit = patterns["digit"].search(lowered, after, after + _SENTENCE) is not None
    command = "sshpass" if before.endswith("ssh") else "htpasswd" if before.endswith("ht") else None
    if command is not None and (match := patterns[command].match(lowered, after)) is not None:
        yield "argument", match
    if has_digit and (match := patterns["sentence"].match(lowered, after)) is not None:
        yield "sentence", match
    if root not in {"pass", "pw"}:
        # an unquoted word without a digit is not a token
        if (has_digit or not is_prose) and (match := patterns["adjacent digit"].match(lowered, after)):
            yield "argument" if root == "token" and patterns["option"].search(before) else "adjacent", match
    elif (match := patterns["adjacent"].match(lowered, after)) is not None:
        yield "argument" if patterns["argument"].search(before) else "adjacent", match


def _secret_after(
    text: str,
    lowered: str,
    root: str,
    at: int,
    before: str,
    manner: Manner,
    sign: re.Match[str],
    *,
    names_password: bool,
) -> Span | None:
    start = sign.end()
    joint = text[sign.start() : start]
    if not joint.isascii() and not all(char.isascii() or char.isalpha() or char == "\u00a0" for char in joint):
        return None  # the lower-case text has ? for them, which is a sign too
    upper = text[at].isupper() and text[at + 1 : at + 2].isupper()
    # & and , may be part of a password in a sentence or environment file, but end it in code or a query
    open_ended = manner in {"sentence", "adjacent", "argument", "below"} or (
        names_password and upper and sign[0].endswith("=") and text[_name_start(text, at) - 1 :][:1].isspace()
    )
    bare_value = _patterns()["word" if open_ended else "bare"]
    quote = next(filter(None, sign.groups()), None)
    if quote:
        end = text.find(quote, start, start + _MAX_QUOTED)
        value = text[start:end] if end > 0 else ""
    else:
        bare = bare_value.match(text, start, start + JUDGED_CHARS)
        value = bare[0].rstrip(".:,!?*_" if manner == "sentence" else ".:,") if bare is not None else ""
        end = start + len(value)
        if manner == "element" and not text.startswith(("</", "]]>"), end):
            return None
        if text[end : end + 1].strip():
            line, word = _settings(text, at, before, manner, sign, upper=upper)
            value = longer_password(text, start, is_line=line, is_word=word) or value
            end = start + len(value)
    if manner == "below" and (
        _patterns()["alone"].match(text, end + len(quote or "")) is None or _patterns()["condition"].search(before)
    ):
        return None
    if (
        manner in {"sentence", "adjacent"}
        and quote is None
        and not upper
        and _is_digest_or_file(value, sign[0], before)
    ):
        return None
    is_secret = _is_secret(
        value, root, before, manner, quoted=quote is not None, upper=upper, names_password=names_password
    )
    if not (is_secret and not is_placeholder(value)) and not (
        names_password
        and is_password_word(value)
        and _is_word_password(text, root, at, before, manner, sign, value, upper=upper, quoted=quote is not None)
    ):
        return None
    if quote is None and is_reference(value, text[end : end + 1], upper=upper and manner == "assigned"):
        return None
    if quote is None and len(value) == JUDGED_CHARS and (whole := bare_value.match(text, start)) is not None:
        end = whole.end()
    name = lowered[at - len(before) : start]
    is_aws_key = len(value) == 40 and "access" in name and "secret" in before + root
    return (
        start,
        end,
        "aws-secret-key" if is_aws_key else "password" if names_password or manner == "login" else "secret",
    )


def _settings(
    text: str, at: int, before: str, manner: Manner, sign: re.Match[str], *, upper: bool
) -> tuple[bool, bool]:
    """Return whether all of the line may be the value, and whether all of the word may."""
    if manner != "assigned":
        return manner == "below", manner == "sentence"
    prefix = text[at - len(before) : _name_start(text, at)].rpartition("\n")[2]
    is_setting = prefix.strip().lower() in _BEFORE_SETTING and (sign[0].endswith(": ") or sign[0] == "=")
    return is_setting, upper and sign[0] == "=" and (not prefix or prefix[-1].isspace())


def _is_digest_or_file(value: str, sign: str, before: str) -> bool:
    patterns = _patterns()
    if patterns["digest"].search(sign) or patterns["file"].fullmatch(value):
        return True
    # commits and GnuPG keys are identified by 40 digits
    return (
        patterns["sha1"].fullmatch(value) is not None
        and before[-1:] in {"", " ", "\t", "\n"}
        and not sign.rstrip().endswith(("is", "to", "be", ":", "=", "|"))
        and patterns["option"].search(before) is None
    )


def _is_secret(
    value: str, root: str, before: str, manner: Manner, *, quoted: bool, upper: bool, names_password: bool
) -> bool:
    if is_uuid(value):
        return True
    if manner == "login":
        return is_password(value)
    if quoted and is_pattern(value):
        return False
    direct = manner in {"assigned", "below", "element"}
    min_length = (
        12 if names_password or root == "secret" else 14 if root == "token" and (direct or manner == "argument") else 16
    )
    if root == "key" and not upper and not before.endswith(_OWNED_KEY):
        min_length = 20
    if manner in {"adjacent", "called"} and root not in {"pass", "pw"}:
        min_length = max(min_length, 16)
    if looks_random(value, min_length) and (direct or quoted or any(map(str.isdigit, value))):
        return True
    if root == "auth":
        return direct and holds_pair(value)
    if not names_password:
        return False
    if direct or manner == "argument" or (manner == "called" and quoted):
        return is_password(value) or (direct and holds_text(value)) or (manner == "argument" and is_plain_word(value))
    return is_strong_password(value)


def _name_start(text: str, at: int) -> int:
    name = _patterns()["name"].search(text, max(0, at - _NAME_SPACE), at)
    return name.start() if name is not None else at


def _is_word_password(
    text: str,
    root: str,
    at: int,
    before: str,
    manner: Manner,
    sign: re.Match[str],
    value: str,
    *,
    upper: bool,
    quoted: bool,
) -> bool:
    if manner == "assigned":
        if quoted:
            return _is_quoted_word(text, root, at, sign, value)
        return before.endswith("-pass ") or _is_set_word(text, at, sign, value, upper=upper)
    if manner == "element":
        return sign[0].strip() == ">"
    if not quoted or len(value) < 7 or not value.islower():
        return False
    if manner == "called":
        return ("(" in sign[0] and before.endswith((".", "set"))) or ("," in sign[0] and upper)
    return manner == "adjacent" and _patterns()["statement"].search(before) is not None


def _is_quoted_word(text: str, root: str, at: int, sign: re.Match[str], value: str) -> bool:
    if len(value) < 7 or (value.istitle() and "=" not in sign[0]):
        return False
    longer = text[at + len(root) : at + len(root) + 1].isalpha()
    return root != "pass" or longer or not text[at - 1 : at].isalnum()


_BEFORE_SETTING = frozenset(("", "-", "-e", "arg", "env", "export", "local", "override", "readonly", "set", 'set "'))


def _is_set_word(text: str, at: int, sign: re.Match[str], value: str, *, upper: bool) -> bool:
    begins, ends = _name_start(text, at), sign.end() + len(value)
    line_start, line_end = text.rfind("\n", 0, begins) + 1, text.find("\n", ends)
    before = text[max(line_start, begins - 80) : begins]
    after = text[ends : min(ends + 80, line_end if line_end >= 0 else len(text))].rstrip("\r")
    following = after[:1]
    if sign[0] == "=" and following in {"", " ", "\t", '"', "'", "&", ";"}:
        if before[-1:] in {"", ";", "&", "?", " ", "\t", ",", "'", '"'} and "(" not in before:
            pair = _patterns()["pair of a string"]
            if pair.search(before) or (following in {";", "&", " "} and pair.search(after)):
                return True
        if upper and following not in {"&", ";"} and before[-1:] in {"", " ", "\t", "'", '"', "="}:
            return True
        if _patterns()["option before"].search(text[max(line_start, at - 120) : at]) is not None:
            return True
    if after or before.strip().lower() not in _BEFORE_SETTING:
        return False
    if sign[0].endswith("="):
        return True
    if upper:
        return sign[0].endswith((": ", "?= ", ":= "))
    # in YAML or INI a user or host is next to a password, and in code a password is rarely a word
    own = text[max(line_start - 200, 0) : line_start] + text[ends : ends + 200]
    if sign[0].endswith(" = ") and begins == line_start and "." in text[begins:at]:
        return _patterns()["other property"].search(own) is not None
    return (
        sign[0].endswith((": ", " = "))
        and _patterns()["other setting" if sign[0].endswith(": ") else "other option"].search(own) is not None
    )
