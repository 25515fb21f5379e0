"""Secrets recognised by their place: private keys, URLs, headers, commands, manifests, words of other languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from satchel.redaction.assignments import Span
from satchel.redaction.prefilter import FOREIGN_WORDS, Places
from satchel.redaction.values import (
    holds_pair,
    is_password,
    is_password_word,
    is_placeholder,
    is_reference,
    is_strong_password,
    looks_random,
)

_PASSWORD_NAMES = frozenset(("password", "passwd", "passphrase", "pwd", "pass", "token", "secret", "x-oauth-basic"))


@cache
def _pem() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    gap = r"(?:\\[nr]|[\s\"'`+,>|#*]){0,24}+"
    return (
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
            r"|---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----"
        ),
        re.compile(r"-----END [A-Z0-9 ]{0,60}-----|---- END [A-Z0-9 ]{0,60} ----"),
        re.compile(
            gap + r"(?:[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]+={0,2}(?=\s*\Z)"
            r"|[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,200})"
        ),
        re.compile(r"[A-Za-z0-9+/]{16}"),
    )


def private_keys(text: str, _: str, places: Places) -> Iterator[Span]:
    """Yield private keys in the formats of PEM, OpenPGP, SSH2 and PuTTY."""
    for at in places["key"]:
        if text.startswith("-Key-File-", at - 1):
            yield from _putty_keys(text)
            break
    for at in places["key"]:
        if text.startswith("PRIVATE KEY", at - 8):
            yield from _armoured_keys(text)
            break


def _armoured_keys(text: str) -> Iterator[Span]:
    first, last, line, body = _pem()
    heads = [match.span() for match in first.finditer(text)]
    limits = [*(at for at, _ in heads), len(text)][1:]
    for (start, after), limit in zip(heads, limits, strict=True):
        end = last.search(text, after, limit)
        if end is not None:
            if body.search(text, after, end.start()):
                yield start, end.end(), "private-key"
            continue
        # Truncated before its last line: replace everything that looks like a line of the key.
        at = after
        while (more := line.match(text, at, limit)) is not None:
            at = more.end()
        if at > after:
            yield start, at, "private-key"


@cache
def _putty() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # https://tartarus.org/~simon/putty-snapshots/htmldoc/AppendixC.html
    return (
        re.compile(r"Private-Lines: \d{1,4}((?:(?:\\[nr]|\s){1,4}+[A-Za-z0-9+/=]{4,80}+(?=[\s\\\"']|\Z)){1,200}+)"),
        re.compile(r"Private-MAC: ([0-9a-f]{40,64})"),
    )


def _putty_keys(text: str) -> Iterator[Span]:
    for pattern in _putty():
        for match in pattern.finditer(text):
            start, end = match.span(1)
            while text[start].isspace() or text.startswith(("\\n", "\\r"), start):
                start += 1 if text[start].isspace() else 2
            yield start, end, "private-key"


@cache
def _url() -> re.Pattern[str]:
    return re.compile(
        # a path in normal form has one slash
        r"(?:://|(?<=[A-Za-z]{3}):/)(?:([^\s/:@\"'`<>\\]{0,100}):([^\s/@\"'`<>\\\[\]]{1,256}+)|([A-Za-z0-9_-]{20,100}+)(?::|))@(?=[\w\[.%{$-])"
    )


def url_passwords(text: str) -> Iterator[Span]:
    """Yield passwords in URLs, and tokens in place of the user, as in a Sentry DSN."""
    for match in _url().finditer(text):
        user = 3 if match[2] is None else 1
        if looks_random(match[user], 20) and not is_placeholder(match[user]):
            yield *match.span(user), "url-token"
        if user == 1 and not is_placeholder(match[2]) and match[2].lower() not in _PASSWORD_NAMES:
            yield *match.span(2), "url-password"


@cache
def _header() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    value = r"([a-z0-9._~+/:-]{8,}+={0,2})"
    quote = r"(?:\\{0,3}[\"'`])?"
    return (
        re.compile(
            quote
            + r"\]?[ \t]{0,4}[:=,][ \t]{0,4}"
            + quote
            + r"(?:([a-z][a-z0-9-]{1,24})[ \t]{1,4})?(?:token=)?"
            + quote
            + value
        ),
        re.compile("()[ \t]{1,4}" + value),
        re.compile(r"2?[\"'`]?\]?[ \t]{0,4}[:=,(]?[ \t]{0,4}b?[\"'`]?(?=[\w.-]{1,60}=)"),
        re.compile(
            r"([\w.-]{1,60})=([^;\s\"'`,]{8,4096}+)(?:;[ \t]{0,4})?|[\w-]{1,20}(?:=[^;\n\"'`]{0,100})?;[ \t]{0,4}"
        ),
    )


def headers(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield the credentials of Authorization headers, bearer tokens, and session cookies."""
    authorization, bearer, _, _ = _header()
    for word, pattern, length in (("auth", authorization, len("authorization")), ("bearer", bearer, len("bearer"))):
        after = 0
        for at in places.get(word, ()):
            if at < after or (word == "auth" and not lowered.startswith("authorization", at)):
                continue
            match = pattern.match(lowered, at + length)
            if match is not None:
                start, end = match.span(2)
                if _is_credential(text[start:end], match[1]):
                    yield start, end, "authorization"
                    after = end
    after = 0
    for at in places.get("cookie", ()):
        if at >= after:
            for span in _cookies(text, lowered, at + len("cookie")):
                yield span
                after = span[1]


_SCHEMES = frozenset(
    ("bearer", "token", "bot", "apikey", "api-key", "key", "ssws", "sso-key", "geniekey", "splunk", "oauth")
)


def _is_credential(value: str, scheme: str | None) -> bool:
    if is_placeholder(value):
        return False
    if scheme == "basic":
        return holds_pair(value)
    return looks_random(value, 8 if scheme in _SCHEMES else 16)


_SESSION_WORDS = ("sess", "sid", "auth", "token", "jwt", "csrf", "login", "remember")
_MAX_COOKIES = 40


def _cookies(text: str, lowered: str, after: int) -> Iterator[Span]:
    _, _, sign, cookie = _header()
    match = sign.match(lowered, after)
    at = match.end() if match is not None else len(text)
    for _ in range(_MAX_COOKIES):
        pair = cookie.match(text, at)
        if pair is None:
            return
        at = pair.end()
        name, value = pair[1], pair[2]
        if value is None or is_placeholder(value) or is_reference(value, "", upper=True):
            continue
        min_length = 8 if any(word in name.lower() for word in _SESSION_WORDS) else 16
        if looks_random(value, min_length):
            yield *pair.span(2), "cookie"


@cache
def _options() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    quoted = r"(?:\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|([^\s\"'`]{3,200}))"
    return (
        (("curl",), re.compile(r"-(?:[a-zA-Z]{0,6}u|-user|U)[ =]?[\"']?[^\s\"':]{1,100}:([^\s\"']{3,200})")),
        (("mysql", "mariadb"), re.compile(r"-p" + quoted)),
        (("http ",), re.compile(r"-a[ =]?[\"']?[^\s\"':]{1,100}:([^\s\"']{3,200})")),
        (("smbclient",), re.compile(r"-U[ =]?[\"']?[^\s\"'%]{1,100}%([^\s\"']{3,200})")),
        (("ssh-keygen",), re.compile(r"-N[ \t]+" + quoted)),
        (("mongo", " login ", "useradd", "usermod"), re.compile(r"-p[ =]?[ \t]*" + quoted)),
        (("ldap",), re.compile(r"-w[ \t]+" + quoted)),
        (("zip ", "7z "), re.compile(r"-[pP][ \t]?" + quoted)),
        (("redis-cli ",), re.compile(r"-a[ \t]+" + quoted)),
        (("securestring",), re.compile(r"-[a-zA-Z]{0,20}[ \t]+" + quoted)),
        (("secret set ",), re.compile(r"-(?:b|-body)[ =]" + quoted)),
    )


_LONGEST_COMMAND = 400


def options(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield passwords in short options of commands such as curl, mysql, redis-cli and mongo."""
    for at in places.get("-", ()):
        line = lowered[max(0, at - _LONGEST_COMMAND) : at].replace("\\\n", " ").rpartition("\n")[2]
        for commands, option in _options():
            if any(command in line for command in commands) and (match := option.match(text, at)) is not None:
                span = next(match.span(n) for n in range(1, option.groups + 1) if match[n] is not None)
                if _is_option(text[slice(*span)]):
                    yield *span, "password"


def _is_option(value: str) -> bool:
    return not value.startswith(("-", "$", "/")) and not is_placeholder(value) and value.lower() not in _PASSWORD_NAMES


@cache
def _statements() -> tuple[tuple[str, int, re.Pattern[str]], ...]:
    quoted = r"[ \t]{1,4}([\"'])([^\"'\n]{4,200})\1"
    words = re.compile(
        r"[^\n]{0,30}?[:=][ \t]{0,4}(\\?[\"'`]?)((?:[a-z]{3,8} ){11}(?:[a-z]{3,8} ){0,12}?[a-z]{3,8})(?![a-z ])"
    )
    return (
        # https://learn.microsoft.com/powershell/module/microsoft.powershell.security/convertto-securestring
        ("securestring", 12, re.compile(r"(?:[ \t]{1,4}-string)?" + quoted, re.IGNORECASE)),
        ("identified by", 13, re.compile(r"(?:[ \t]{1,4}password)?" + quoted, re.IGNORECASE)),
        ("mnemonic", 8, words),
        ("phrase", 6, words),
    )


def statements(text: str, _: str, places: Places) -> Iterator[Span]:
    """Yield passwords in SQL and PowerShell statements, and the words of a seed phrase."""
    for word, length, pattern in _statements():
        after = 0
        for at in places.get(word, ()):
            if at < after or (match := pattern.match(text, at + length)) is None or is_placeholder(match[2]):
                continue
            yield *match.span(2), "password"
            after = match.end()


@cache
def _manifest() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(
            r"^([ \t]{0,20})(?:data|stringData):[ \t]*\n((?:\1[ \t]{1,8}[^\s\[].{0,4000}+(?:\n|\Z)){1,500}+)",
            re.MULTILINE,
        ),
        re.compile(r"^[ \t]+[\w.\"'-]{1,200}:[ \t]*[\"']?([^\s\"'|>\[{$]{4,4000}+)[\"']?[ \t]*$", re.MULTILINE),
        re.compile(r"\"(?:data|stringData)\"\s{0,8}:\s{0,8}\{([^{}]{1,20000})\}"),
        re.compile(r"\"[\w.-]{1,200}\"\s{0,8}:\s{0,8}\"([^\"\[{$]{4,4000}+)\""),
    )


def manifests(text: str, _: str, __: Places) -> Iterator[Span]:
    """Yield the values of Kubernetes Secrets under any name."""
    block, line, map_, item = _manifest()
    at = text.find("kind: Secret\n")
    while at >= 0:
        begin = text.rfind("\n---", 0, at) + 1
        end = text.find("\n---", at)
        yield from _values(block, 2, line, text, begin, end if end >= 0 else len(text))
        at = text.find("kind: Secret\n", end) if end >= 0 else -1
    if '"kind": "Secret"' in text or '"kind":"Secret"' in text:
        yield from _values(map_, 1, item, text, 0, len(text))


def _values(
    block: re.Pattern[str], group: int, item: re.Pattern[str], text: str, begin: int, end: int
) -> Iterator[Span]:
    for block_match in block.finditer(text, begin, end):
        for match in item.finditer(text, *block_match.span(group)):
            if not is_placeholder(match[1]):
                yield *match.span(1), "secret"


_QUOTED = r"\"([^\"\n$`]{3,200})\"|'([^'\n]{3,200})'"
_BARE = r"([^\s\"'`|$<>;&()]{3,200})"
_LONGEST_COMMAND = 300
# The groups of the value in the patterns: quoted, bare, or a line of a here-document.
_VALUE_GROUPS = (1, 2, 3, 5)


@cache
def _piping() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(
            r"(?:\A|[;&(])[ \t]{0,4}(?:sudo[ \t]{1,4})?"
            r"(?:(?:docker|podman|nerdctl|buildah|skopeo|oras|helm)[ \t](?:registry[ \t])?login|kinit|cryptsetup|su"
            r"|(?:ch|smb)?passwd)(?![\w.-])"
            r"|\bsudo[ \t][^\n]{0,100}?(?<=[ \t])-(?:[A-Za-z]{0,3}S[A-Za-z]{0,3}|-stdin)(?![\w-])"
            r"|\blogin[ \t][^\n]{0,100}?--stdin\b"
            r"|-pass[a-z]{2,10}-(?:stdin|fd)\b|-with-token\b|-pass(?:in)?[ \t]stdin\b"
        ),
        re.compile(
            r"(?:echo|printf)[ \t]{1,4}(?:-[a-zA-Z]{1,3}[ \t]{1,4}){0,2}(?:[\"']?%s(?:\\{1,2}n)?[\"']?[ \t]{1,4})?"
            rf"(?:{_QUOTED}|{_BARE})"
            rf"(?=[ \t]{{0,4}}(?:[;)][^|\n]{{0,200}})?\|(?P<command>[^|\n]{{0,{_LONGEST_COMMAND}}}))"
        ),
        re.compile(
            rf"<<<[ \t]{{0,4}}(?:{_QUOTED}|{_BARE})"
            rf"|<<-?[ \t]{{0,4}}[\"']?([A-Za-z_]{{1,20}})[\"']?[ \t]{{0,4}}\n[ \t]{{0,16}}{_BARE}\n[ \t]{{0,16}}\4\b"
        ),
    )


def piped(text: str, _: str, places: Places) -> Iterator[Span]:
    """Yield what is written to a command that reads a password."""
    reader, echoed, here = _piping()
    for word in ("echo", "printf"):
        for at in places.get(word, ()):
            match = echoed.match(text, at)
            if match is not None and (command := reader.search(match["command"])) is not None:
                yield from _piped_secrets(match, command[0])
    for at in places.get("<<", ()):
        match = here.match(text, at)
        if match is not None:
            line = text[max(0, at - _LONGEST_COMMAND) : at].rpartition("\n")[2].rpartition("|")[2]
            if (command := reader.search(line)) is not None:
                yield from _piped_secrets(match, command[0])


def _piped_secrets(match: re.Match[str], command: str) -> Iterator[Span]:
    start, end = match.span(max(number for number in _VALUE_GROUPS if number <= match.re.groups and match[number]))
    if "chpasswd" in command and "[redacted" not in match[0]:
        start = match.string.rfind(":", start, end) + 1 or start
    while match.string.endswith("\\n", start, end):
        end -= 2
    if not is_placeholder(match.string[start:end]):
        yield start, end, "password"


_BEFORE_PASSE = re.compile(r"(?:mot[ _-]?de[ _-]?|palavra[ _-]?)\Z")
# Words for key and token: their values are random.
_KEYS = frozenset(("chlüssel", "clé", "ключ", "密钥", "密鑰", "令牌"))


@cache
def _foreign_signs() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # an ending or a particle, which has no ASCII letters in some languages, and the parts of a variable's name
    ending = r"[^\x00-\x7f]{0,4}(?:[ _]d.ordine|[A-Za-z]{1,4}(?=[ \t:=?\"'_-]))?"
    rest = ending + r"(?:[_-][A-Za-z0-9]{1,12}){0,2}"
    quote = "[\"'`«“„「]?"
    colon = "[:=：＝]"
    return (
        re.compile(
            rf"{rest}(?:[ \t]API)?[\"'`]?\]?[ \t]{{0,8}}(?:{colon}=?|=>|\?=|\||[-–—](?=[ \t]))"
            rf"[ \t]{{0,8}}(?:\r?\n[ \t]{{0,16}})?{quote}"
        ),
        re.compile(
            rf"{ending}(?:[ \t]{{1,3}}(?:[^\s\d:=：＝]{{1,16}}[ \t]{{1,3}}){{0,5}}?"
            r"(?:ist|lautet|es|est|este|is|jest|je|to|on|är|er|olarak|adalah|e|é|è|[-–—]"
            rf"|[^\s\d:=：＝]{{0,16}}{colon})[ \t]{{1,3}}|[ \t]?){quote}"
        ),
        re.compile(r"[^\s\"'`,;<>(){}\[\]|\\»”」。，、]{6,64}"),
    )


def foreign(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield the passwords after words of ``FOREIGN_WORDS``."""
    assigned, stated, value = _foreign_signs()
    for word in FOREIGN_WORDS:
        after = 0
        for at in places.get(word, ()):
            if at < after or not _is_foreign_word(text, lowered, word, at):
                continue
            after = at + len(word)
            for sign in (assigned, stated):
                match = sign.match(text, after)
                secret = None if match is None else value.match(text, match.end())
                if match is None or secret is None:
                    continue
                password = secret[0].rstrip(".:")
                if match[0].endswith("="):
                    password = password.partition("&")[0]
                end = secret.start() + len(password)
                if word in _KEYS:
                    is_secret = sign is assigned and looks_random(password, 16)
                elif sign is stated:
                    is_secret = is_strong_password(password)
                else:
                    is_secret = is_password(password) or looks_random(password, 12)
                    is_secret = is_secret or _is_foreign_setting(text, at, match, end, password)
                if (
                    is_secret
                    and not is_placeholder(password)
                    and not is_reference(password, text[end : end + 1], upper=False)
                ):
                    yield secret.start(), end, "password"
                    after = end
                    break


def _is_foreign_word(text: str, lowered: str, word: str, at: int) -> bool:
    if word == "passe":
        return _BEFORE_PASSE.search(lowered, max(0, at - 10), at) is not None
    if word == "kode":
        return lowered.startswith("ord", at + 4) or lowered.startswith("adgangs", at - 7)
    return not word.isascii() or at == 0 or not lowered[at - 1].isalnum() or text[at].isupper()


def _is_foreign_setting(text: str, at: int, sign: re.Match[str], end: int, value: str) -> bool:
    return (
        text[at].isupper()
        and text[at + 1].isupper()
        and sign[0].endswith("=")
        and text[end : end + 1].strip() == ""
        and is_password_word(value)
    )
