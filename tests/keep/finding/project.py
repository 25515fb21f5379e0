"""The notes of a project in which much looks alike, for the tests of looking things up."""

from __future__ import annotations

from satchel import NewEntry, Satchel

NOTES: dict[str, str] = {
    # identifiers
    "camel": "parseConfig reads the TOML file twice at start",
    "snake": "parse_config ignores keys it does not know",
    "longer": "parseConfigFile takes a path, not a text",
    "prose": "We parse the config once the server has started",
    "class": "class TokenBucket refills ten times a second",
    "instance": "one token_bucket for each tenant, kept in memory",
    "bucket": "the bucket of the tenant holds one token too many",
    "private": "_flush_queue is called by the timer alone",
    "public": "flush_queue waits until the queue is empty",
    "dunder": "__enter__ takes the lock of the store",
    "enter": "enter the maintenance mode before the upgrade",
    "constant": "MAX_RETRIES is read once, when the module loads",
    "k8s": "k8s probes hit /healthz every ten seconds",
    "oauth2": "oauth2 callbacks need the exact redirect",
    "sha": "bisecting ends at 33146ec, the change of the engine",
    "sha-near": "reverted by 33146ed a day later",
    "uuid": "tenant 7f3c2a10-88de-4c1b-9b7e-0a1d2c3e4f50 has no plan",
    "uuid-near": "tenant 7f3c2a10-88de-4c1b-9b7e-0a1d2c3e4f51 has two plans",
    # paths and files
    "path": "src/auth/tokens.py signs with the old key",
    "path-test": "tests/src/auth/test_tokens.py covers the old key alone",
    "path-copy": "src/auth/tokens.py.orig was committed by mistake",
    "path-stub": "src/auth/tokens.pyi is out of date",
    "path-line": "src/billing/invoice.py:42 divides by the number of seats",
    "path-other-line": "src/billing/invoice.py:421 rounds half up",
    "folder": "everything under src/auth/ is owned by the platform team",
    "module": "satchel.billing.invoice imports the clock lazily",
    "dotenv": "the .env file wins over the shell",
    "env": "env is passed on to the workers unchanged",
    "makefile": "Makefile targets run with -e",
    "config-toml": "deploy/config.toml holds the regions",
    "config-yaml": "deploy/config.yaml is generated",
    "windows": r"C:\tools\build.cmd needs an administrator",
    "url": "https://status.example.org/api/v2 answers with 503 at night",
    "route": "/healthz is served before the migrations have run",
    "route-near": "/healthz/deep asks the database too",
    # versions
    "v1.2": "since version 1.2 the cache is shared",
    "v1.2.3": "v1.2.3 broke the import of archives",
    "1.2.30": "1.2.30 brings it back",
    "11.2.3": "11.2.3 of the driver leaks handles",
    "1.2.3.4": "the resolver is at 1.2.3.4 in the test network",
    "beta": "2.0.0-beta.1 was tagged from the wrong branch",
    "2.0.0": "2.0.0 drops the old protocol",
    "python": "wheels for Python 3.12 are built by hand",
    "python-patch": "Python 3.12.1 crashes in the profiler",
    # numbers
    "409": "a second claim is answered with 409",
    "409-price": "the plan costs 1,409 a year",
    "409-part": "build409 was the last green one",
    "port": "the gateway listens on port 8443",
    "port-near": "18443 is forwarded to the gateway",
    "issue": "the flicker is #311, open since spring",
    "issue-near": "311 users saw the flicker",
    "pull": "fixed by #1024",
    "memory": "1024 handles are open after a day",
    "date": "the freeze begins on 2024-03-15",
    "date-near": "the freeze ended on 2024-03-18",
    # error codes
    "E501": "ruff reports E501 in the generated client",
    "E50": "E50 is no code of ours",
    "TS2345": "TS2345 where the reducer is typed as any",
    "TS2322": "TS2322 in the same file once that is fixed",
    "ORA": "ORA-00942 when the synonym is missing",
    "ORA-near": "ORA-00904 when the column is misspelt",
    "CVE": "CVE-2024-3094 does not concern us, we link statically",
    "CVE-near": "CVE-2024-3099 does, in the image of the runner",
    "hex": "the installer stops with 0x80070005",
    "refused": "ECONNREFUSED from the sidecar for the first two seconds",
    "ssl": "ERR_SSL_PROTOCOL_ERROR behind the company proxy",
    "sqlite": "SQLITE_BUSY_SNAPSHOT after a long read",
    "sqlite-near": "SQLITE_BUSY is retried for five seconds",
    "exception": "KeyError: 'user_id' for anonymous sessions",
    "exception-near": "KeyErrorGroup is ours, not Python's",
    # flags and signs
    "no-verify": "git commit --no-verify skips the hook on release branches",
    "verify": "verify the signature, no exceptions",
    "short-m": "git commit -m fails in the hook",
    "short-x": "pytest -x stops at the first failure",
    "mx": "the mx record points to the old host",
    "define": "-DNDEBUG hides the assertion",
    "cpp": "the C++ extension needs a newer compiler",
    "c": "plain C is enough for the shim",
    "csharp": "the C# client pools its sockets",
    "home": "$HOME is read-only in the sandbox",
    "home-word": "the home page is cached for a minute",
    "decorator": "@retry wraps the whole handler, not the call",
    "retry": "retry after the header says so",
    "scoped": "@acme/ui-kit pulls in two copies of react",
    "scoped-near": "@acme/ui-kit-icons is tree-shaken",
    # words and quoted words
    "pool": "Limit the connection pool of the database to ten",
    "pools": "connection pools are pinned to a core",
    "pool-words": "The pool of runners loses its connection at night",
    "quoted": "it prints 'too many open files' and goes on",
    "quoted-near": "too many files are open in the importer",
    "kebab": "the foo-bar package was renamed",
    "kebab-longer": "foo-bar-core took its place",
    "utf8": "Reading without encoding=utf8 breaks on Windows",
    "middleware": "The auth middleware checks every token on entry",
    "auth": "auth is off in the demo",
    "webhook": "webhook deliveries are signed with the tenant's secret",
    "mixed": "getHTTPResponseCode2 swallows timeouts",
    "cjk": "検索APIを使う時は鍵が必要です",
}

_SUBJECTS = ("worker", "scheduler", "importer", "exporter", "mailer", "indexer", "router", "archiver")
_STATES = ("is slow after a restart", "logs too much", "needs more memory", "waits for the disk", "was moved last week")

# near misses by the dozen, and notes of everyday
FILLER = [
    *(f"mark{number:05d} was reached by probe{number % 7}" for number in range(1, 101)),
    *(f"{one} {number} {state}" for number, state in enumerate(_STATES) for one in _SUBJECTS),
    *(f"tenant{number} runs release 4.{number}.0 on node-{number:02d}" for number in range(40)),
    *(f"rule W{600 + number} is off in src/gen/part{number}.py" for number in range(20)),
]


class Project:
    """The store with the notes in it; results are told by their keys."""

    def __init__(self, satchel: Satchel) -> None:
        self._satchel = satchel
        texts = {**NOTES, **{text: text for text in FILLER}}
        written = satchel.entries.write_many([NewEntry("discovery", text) for text in texts.values()])
        self._keys = {entry.ref: key for entry, key in zip(written, texts, strict=True)}

    def found(self, text: str, limit: int = 500) -> tuple[set[str], int, tuple[str, ...]]:
        """Return the keys of all that a search finds, how many it says there are, and its notes."""
        page = self._satchel.finding.search(text, limit=limit)
        return {self._keys[one.ref] for one in page.results}, page.total, page.notes
