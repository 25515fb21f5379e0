"""What a secret looks like: the token formats that providers publish, and the shape of an assigned value.

Sources of the formats: GitHub's "Supported secret scanning patterns" and "Behind GitHub's new authentication
token formats", the default configuration of gitleaks 8, and the providers' own pages where there is one
(Cloudflare "Token formats", GitLab "Token prefixes", Slack "Token types", Stripe "API keys"). The thresholds
for assigned values are our own, set on Python's standard library.

Every pattern is linear: repeats are bounded or take a whole run at once, none is nested in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

# A token starts where a word starts; an escaped line break (backslash, n) ends a word too.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
# The rest of the run belongs to the token: nothing stays behind, and no second token can touch the first.
_REST = r"[A-Za-z0-9_-]*+"


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One published format.

    Args:
        kind: what the marker says, as in ``github-token``.
        literals: ASCII text of which at least one occurs in every such token; tried before the pattern.
        pattern: the regular expression; a capturing group marks the secret part when the rest should stay.
        anywhere: the prefix is so telling that it counts in the middle of a word.
        before: the fewest and the most characters of a match in front of its literal; None where the literal is
            not part of the match.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    anywhere: bool = False
    before: tuple[int, int] | None = (0, 0)


TOKEN_FORMATS: tuple[TokenFormat, ...] = (
    TokenFormat("age-secret-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}", anywhere=True),
    TokenFormat("alibaba-key", ("LTAI",), r"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    TokenFormat("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}", anywhere=True),
    TokenFormat("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", anywhere=True),
    TokenFormat("aws-access-key", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    TokenFormat("aws-bedrock-key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    TokenFormat("azure-client-secret", ("Q~",), r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", before=(4, 4)),
    TokenFormat(
        "azure-storage-key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,86}={0,2}+)",
        anywhere=True,
    ),
    TokenFormat("brevo-key", ("xkeysib-",), r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", anywhere=True),
    TokenFormat("circleci-token", ("CCIPAT_",), r"CCIPAT_[A-Za-z0-9]{20,}_[a-f0-9]{40}", anywhere=True),
    TokenFormat("cloudflare-token", ("cfk_", "cfut_", "cfat_"), r"cf(?:k|ut|at)_[A-Za-z0-9]{40,}"),
    TokenFormat("databricks-token", ("dapi",), r"dapi[a-f0-9]{32}"),
    TokenFormat("digitalocean-token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{64}", anywhere=True, before=(3, 3)),
    TokenFormat("discord-token", ("iscord", "ISCORD"), r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}", before=None),
    TokenFormat(
        "discord-webhook",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/\d{16,20}/([\w-]{60,})",
        anywhere=True,
        before=(11, 14),
    ),
    TokenFormat("docker-token", ("dckr_",), r"dckr_[op]at_[A-Za-z0-9_-]{27,}", anywhere=True),
    TokenFormat(
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"dp\.(?:pt|ct|sa|scim|audit|st\.[a-z0-9_-]{2,35}|st)\.[A-Za-z0-9]{40,}",
    ),
    TokenFormat("dynatrace-token", ("dt0c01.",), r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    TokenFormat("figma-token", ("figd_",), r"figd_[A-Za-z0-9_-]{40,}", anywhere=True),
    TokenFormat("fly-token", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/_=-]{43,}"),
    TokenFormat(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghr_", "ghs_", "github_pat_"),
        r"(?:gh[opur]_[A-Za-z0-9]{36,}|ghs_[A-Za-z0-9._-]{36,}|github_pat_[A-Za-z0-9_]{60,})",
        anywhere=True,
    ),
    TokenFormat(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"),
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,}",
        anywhere=True,
    ),
    TokenFormat("google-api-key", ("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    TokenFormat("google-oauth", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{24,}", anywhere=True),
    TokenFormat("google-oauth", ("ya29.", "1//0"), r"(?:ya29\.|1//0)[A-Za-z0-9_-]{30,}"),
    TokenFormat(
        "grafana-token",
        ("glsa_", "glc_"),
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3})",
    ),
    TokenFormat("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    TokenFormat("heroku-key", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{36,}"),
    TokenFormat("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    # Not after a hyphen either: the run could otherwise be entered at many places.
    TokenFormat("jwt", ("eyJ",), r"(?<!-)eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    TokenFormat("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", anywhere=True),
    TokenFormat("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}", anywhere=True),
    TokenFormat("mailchimp-key", ("-us",), r"[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])", before=(32, 32)),
    TokenFormat("mailgun-key", ("key-",), r"key-[a-f0-9]{32}"),
    TokenFormat("netlify-token", ("nfp_",), r"nfp_[A-Za-z0-9]{36,}"),
    TokenFormat("new-relic-key", ("NRAK-", "NRII-"), r"NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9-]{32})"),
    TokenFormat("notion-token", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    TokenFormat("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    TokenFormat("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{60,}"),
    TokenFormat(
        "openai-key",
        ("sk-",),
        r"sk-(?:(?:proj|svcacct|admin|service)-[A-Za-z0-9_-]{20,}|or-v1-[a-f0-9]{64}|[A-Za-z0-9]{32,})",
    ),
    TokenFormat("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    TokenFormat("planetscale-token", ("pscale_",), r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}", anywhere=True),
    TokenFormat("postman-key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", anywhere=True),
    TokenFormat("pulumi-token", ("pul-",), r"pul-[a-f0-9]{40}"),
    TokenFormat("pypi-token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}", anywhere=True),
    TokenFormat("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    TokenFormat("rubygems-key", ("rubygems_",), r"rubygems_[a-f0-9]{48}", anywhere=True),
    TokenFormat("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    TokenFormat(
        "sentry-token",
        ("sntrys_", "sntryu_"),
        r"(?:sntrys_eyJ[A-Za-z0-9+/=_-]{40,}|sntryu_[a-f0-9]{64})",
        anywhere=True,
    ),
    TokenFormat(
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
        anywhere=True,
    ),
    TokenFormat(
        "slack-token",
        ("xox", "xapp-"),
        r"(?:xox[abceoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{16,}",
        anywhere=True,
    ),
    TokenFormat(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,})",
        anywhere=True,
    ),
    TokenFormat("square-token", ("EAAA", "sq0"), r"(?:EAAA[A-Za-z0-9_-]{56,60}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,})"),
    TokenFormat(
        "stripe-key", ("k_live_", "k_test_"), r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}", anywhere=True, before=(1, 1)
    ),
    TokenFormat("stripe-webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{32,}={0,2}", anywhere=True),
    TokenFormat("supabase-token", ("sbp_", "sb_secret_"), r"(?:sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{30,})"),
    TokenFormat("telegram-token", (":AA",), r"\d{8,10}:AA[A-Za-z0-9_-]{33}", before=(8, 10)),
    TokenFormat("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", before=(14, 14)),
    TokenFormat("twilio-key", ("SK",), r"SK[a-f0-9]{32}"),
    TokenFormat("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[bsr]\.[A-Za-z0-9_-]{24,}"),
    TokenFormat("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,}"),
)

LITERALS: tuple[tuple[str, TokenFormat], ...] = tuple(
    (literal, entry) for entry in TOKEN_FORMATS for literal in entry.literals
)
"""Every literal with its format, in the order of the table."""


@cache
def compiled(entry: TokenFormat) -> re.Pattern[str]:
    """Return the compiled pattern of one format; compiled when it is first needed."""
    start = "" if entry.anywhere else _START
    rest = "" if re.compile(entry.pattern).groups else _REST
    return re.compile(f"{start}(?:{entry.pattern}){rest}", re.ASCII)


_DENSE = 16
"""Characters to a literal under which one search of the whole text costs less than a call for each literal."""


def matches(entry: TokenFormat, literals: list[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what one pattern finds in a text, as ``finditer`` does, but looking only where a literal stands.

    A long text holds a short literal such as ``SK`` by chance, so that whole searches would grow with the length
    and with the number of formats that occur in it.

    Args:
        entry: the format.
        literals: those of its literals that may be part of a match; the others are not looked for.
        text: where to look.
    """
    pattern = compiled(entry)
    if entry.before is None or sum(map(text.count, literals)) > len(text) // _DENSE:
        yield from pattern.finditer(text)
        return
    fewest, most = entry.before
    after = 0
    for place in sorted([at for literal in literals for at in _places(literal, text)]):
        for start in range(max(after, place - most), place - fewest + 1):
            match = pattern.match(text, start)
            if match is not None:
                yield match
                after = match.end()
                break


def _places(literal: str, text: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=+~"
_WORDS = bytes(0x78 if byte in _WORD_BYTES else 0x20 for byte in range(256))
_SHORTEST = b"x" * 18


def long_words(text: str) -> str:
    """Return the words of a text that are long enough to hold a token (18 bytes), one a line, once each.

    Every format is one unbroken word, so its literal need only be looked for in here. Two passes at the speed
    of memory replace a hundred searches of the whole text.
    """
    data = text.encode("utf-8", "replace")
    shape = data.translate(_WORDS)
    at = shape.find(_SHORTEST)
    words: set[bytes] = set()
    while at >= 0:
        end = shape.find(b" ", at)
        if end < 0:
            end = len(shape)
        words.add(data[at:end])
        at = shape.find(_SHORTEST, end)
    return b"\n".join(words).decode()


_SAMPLE_SIGNS = (
    *(
        "example",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "your-",
        "your_",
        "your ",
        "yourpassword",
    ),
    *(
        "yourtoken",
        "yourkey",
        "yoursecret",
        "redacted",
        "dummy",
        "replace",
        "insert-",
        "insert_",
        "xxxxx",
        "***",
    ),
    *("...", "\u2026", "<", "{", "$(", "%(", "%s"),
)
_SPECIAL = frozenset("!@#$%^&*?+")
JUDGED_CHARS = 256
"""How much of an assigned value decides whether it is a secret."""


@cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of what is no secret, of a reference in code, of a chunk of a word, of a digit."""
    harmless = (
        r"\$[A-Z_][A-Z0-9_]*+|\$[a-z_]++|%[A-Za-z_]++%?"
        r"|(?:sha\d{1,3}|md5)[:-].*+"
        r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
        r"|(?:u?int|float|bytes|sha|md|utf|base|o?auth|http|ipv|aes|[rhep]s|argon|pbkdf|ed|x|v)[-_]?\d{1,5}[a-z]{0,2}"
    )
    return (
        re.compile(harmless, re.DOTALL),
        re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]*+"),
        re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"),
        re.compile(r"[0-9]"),
    )


def is_sample(token: str) -> bool:
    """Say whether a token is an example: a telling word in it, or hardly any different characters."""
    lowered = token.lower()
    return len(set(lowered)) < 7 or any(sign in lowered for sign in _SAMPLE_SIGNS)


def is_placeholder(value: str) -> bool:
    """Say whether an assigned value stands for a secret, is a digest or an id, or too uniform to be one."""
    lowered = value.lower()
    return (
        len(set(lowered)) < 4
        or any(sign in lowered for sign in _SAMPLE_SIGNS)
        or "://" in value
        or _shapes()[0].fullmatch(value) is not None
    )


def is_reference(value: str, following: str, *, loud: bool) -> bool:
    """Say whether an unquoted value is code: a call, a subscript, an attribute, or a variable for a secret.

    Args:
        value: the value, up to the first character that cannot belong to it.
        following: that character, or nothing at the end of the text.
        loud: the key is in capitals, as in an environment file, where every value is text.
    """
    if _shapes()[1].fullmatch(value) is None:
        return False
    if following in {"(", "["}:
        return True
    lowered = value.lower()
    if "." in value:
        return _mean_chunk(value) >= 3.0
    return not loud and any(word in lowered for word in ("passw", "pwd", "secret", "token", "_key", "auth"))


def _mean_chunk(value: str) -> float:
    """Return the mean length of a value's chunks: words written in one case, or numbers.

    Words have about five letters; chunks of random base 62 under two characters, of hexadecimal just over.
    """
    chunks = _shapes()[2].findall(value[:JUDGED_CHARS])
    return sum(map(len, chunks)) / len(chunks) if chunks else 0.0


def _entropy(value: str) -> float:
    """Return Shannon's entropy of the characters in bits per character (Shannon 1948, section 6)."""
    from math import log2

    shares = [value.count(char) / len(value) for char in set(value)]
    return -sum(share * log2(share) for share in shares)


def looks_random(value: str, least: int) -> bool:
    """Say whether a value was generated: long enough, no white space, mixed, short chunks, high entropy.

    Args:
        value: the value; its first 256 characters decide.
        least: the number of characters under which nothing counts as random.
    """
    judged = value[:JUDGED_CHARS]
    if len(judged) < least or " " in value or not value.isprintable():
        return False
    has_digit = _shapes()[3].search(judged) is not None
    if not has_digit and (len(judged) < 20 or judged.islower() or judged.isupper()):
        return False
    mean = _mean_chunk(judged)
    if mean >= (3.5 if has_digit else 2.6):
        return False
    if judged.startswith(("/", "./", "../", "~/")) and mean >= 2.5:
        return False
    return sum(map(str.isalpha, judged)) >= 3 and _entropy(judged) >= 2.8


def is_password(value: str) -> bool:
    """Say whether a value given to a password is a literal: short, unbroken, letters with digits or signs."""
    if not 6 <= len(value) <= 64 or not value.isprintable() or " " in value:
        return False
    special = not _SPECIAL.isdisjoint(value)
    if not special and not {"/", ":", "."}.isdisjoint(value):
        return False
    return any(map(str.isalpha, value)) and (special or any(map(str.isdigit, value)))
