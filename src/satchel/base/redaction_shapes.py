"""Formats that no single provider owns: hashes of passwords, signatures in addresses, webhooks, keys in base 64.

Sources: the manual of crypt(5), the Apache manual "Password Formats", the manual of PostgreSQL "The Password File",
Microsoft's "Grant limited access with SAS", Amazon's "Signature Version 4", and the pages beside the entries.
"""

from __future__ import annotations

from satchel.base.redaction_formats import TokenFormat

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_SIGNATURE = r"((?:[A-Za-z0-9+/_~-]|%[0-9A-Fa-f]{2}){32,512}+={0,2})"
_CRYPT = (
    "$apr1$",
    "$1$",
    "$5$",
    "$6$",
    "$7$",
    "$2a$",
    "$2b$",
    "$2x$",
    "$2y$",
    "$y$",
    "$gy$",
    "$argon2",
    "$pbkdf2",
    "$scrypt$",
)

SHAPES: tuple[TokenFormat, ...] = (
    TokenFormat(
        "password-hash",
        _CRYPT,
        r"\$(?:(?:apr1|[1567]|2[abxy]|g?y|pbkdf2(?:-sha\d{1,3})?|scrypt)\$[A-Za-z0-9./$=+-]{22,}"
        r"|argon2(?:id|i|d)\$v=\d{1,3}\$[a-z0-9=,]{5,60}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,})",
    ),
    TokenFormat(
        "password-hash",
        ("pbkdf2_sha", "pbkdf2:sha", "scrypt:"),
        r"(?:pbkdf2_sha\d{1,3}\$|pbkdf2:sha\d{1,3}:|scrypt:)[0-9:]{4,20}\$?[A-Za-z0-9./+=_-]{4,64}\$[A-Za-z0-9./+=_-]{20,}",
    ),
    TokenFormat("password-hash", ("SHA}", "SHA256}", "SHA512}"), r"S?SHA(?:256|512)?\}([A-Za-z0-9+/]{27,}={0,2})"),
    TokenFormat("signature", ("sig=",), r"sig=" + _SIGNATURE),
    TokenFormat(
        "signature",
        ("X-Amz-Signature=", "X-Goog-Signature=", "Signature="),
        r"(?:X-Amz-|X-Goog-)?Signature=" + _SIGNATURE,
    ),
    TokenFormat(
        "aws-session-token", ("X-Amz-Security-Token=",), r"X-Amz-Security-Token=" + _SIGNATURE.replace("512", "4096")
    ),
    TokenFormat("aws-secret-key", ("AKIA",), r"AKIA[A-Z0-9]{16},([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    # gitleaks 8, microsoft-teams-webhook
    TokenFormat(
        "teams-webhook",
        ("/webhookb2/",),
        rf"/webhookb2/({_UUID}@{_UUID}/IncomingWebhook/[A-Za-z0-9]{{32}}/{_UUID}(?:/[A-Za-z0-9_-]{{20,}})?)",
        anywhere=True,
    ),
    # https://docs.oracle.com/en/database/oracle/oracle-database/23/jjdbc/data-sources-and-URLs.html
    TokenFormat(
        "url-password",
        ("jdbc:oracle:",),
        r"jdbc:oracle:(?:thin|oci8):\w{1,128}/([^\s\"'/@]{3,128})@",
        anywhere=True,
    ),
    # Feishu, guide to custom bots (its page could not be opened; copies of it agree)
    TokenFormat("feishu-webhook", ("/bot/v2/hook/",), rf"/bot/v2/hook/({_UUID})", anywhere=True),
    # https://developers.mattermost.com/integrate/webhooks/incoming
    TokenFormat("webhook", ("/hooks/",), r"/hooks/([a-z0-9]{26})(?![A-Za-z0-9])", anywhere=True),
    # IFTTT shows the address on https://ifttt.com/maker_webhooks to people who are logged in
    TokenFormat("ifttt-webhook", ("/with/key/",), r"/with/key/([A-Za-z0-9_-]{20,})", anywhere=True),
    # https://healthchecks.io/docs/http_api
    TokenFormat("healthchecks-url", ("hc-ping.com/",), rf"hc-ping\.com/({_UUID})", anywhere=True),
    TokenFormat(
        "pgpass",
        (":5432:",),
        r"[\w.-]{6,100}:5432:[\w*.-]{2,63}:[\w*.-]{2,63}:([^\s:\"'`<>{}]{4,128})",
        before=(6, 100),
    ),
    TokenFormat(
        "private-key",
        ("LS0tLS1CRUdJTiB",),
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVk|FQyBQUklW|PUEVOU1NI|EU0EgUFJJVk|FTkNSWVBURUQg|QR1AgUFJJVk)[A-Za-z0-9+/_-]{40,}={0,2}",
        anywhere=True,
    ),
)
"""As the formats of providers, and looked for in the same way."""
