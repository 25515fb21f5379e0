"""Stores of a month of memory about public libraries, one grown to thousands of items, and the sessions over them.

``data/memory`` holds the items and sessions; its README says how they were made and labelled.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.content import sqlite_of
from benchmarks.harness import ROOT
from satchel import Satchel, open_satchel
from satchel.base.clock import DAY_MS, system_clock
from satchel.keep.entries.records import NewEntry
from satchel.keep.sessions.caller import COMMAND, Caller
from satchel.keep.sessions.standing import PERSON_VARIABLE

DATA = ROOT / "benchmarks" / "data" / "memory"
NAMES = ("tenacity", "httpx", "express")
GROWN = "httpx"
SIZE, RULES, DECISIONS = 3_000, 60, 200
"""How many items the grown store holds, and how many of them are rules and keys of decisions."""

_ERROR_SHARE = 0.13
_DAYS = 30

Item = dict[str, Any]
Areas = Mapping[str, tuple[str, str]]
"""What can be said about files: things in each, and cases that it handles, both with commas."""


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """The items of one store in the order in which they were stored, and the sessions of a day over them."""

    name: str
    items: Sequence[Item]
    sessions: Sequence[Mapping[str, Any]]

    @property
    def task(self) -> str:
        """The prompt of the main session's task."""
        return next(str(event["prompt"]) for event in self.sessions[0]["events"] if event.get("task"))

    def live(self) -> dict[str, Item]:
        """Return what holds at the end, by its label: the key of a decision, the ``id`` of others that have one."""
        replaced = {item.get("replaces") for item in self.items}
        by_label = {item.get("decision") or item.get("id"): item for item in self.items}
        return {name: item for name, item in by_label.items() if name is not None and name not in replaced}


def load(name: str) -> MemoryStore:
    """Return a store and its sessions."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    day = json.loads((DATA / f"{name}.day.json").read_text(encoding="utf-8"))
    return MemoryStore(name, [json.loads(line) for line in lines], day["sessions"])


def grown(store: MemoryStore, size: int = SIZE, areas: Areas | None = None) -> MemoryStore:
    """Return a store with distractors about its library's files put in between its items: the same for each call."""
    chance = random.Random(store.name)
    about = _AREAS if areas is None else areas
    rules = RULES - sum("rule" in item for item in store.items)
    decisions = DECISIONS - len({item["decision"] for item in store.items if "decision" in item})
    rest = size - len(store.items) - rules - decisions
    errors = int(rest * _ERROR_SHARE)
    made = [
        *_several(chance, _rule, about, rules),
        *_several(chance, _decision, about, decisions),
        *_several(chance, _error, about, errors),
        *_several(chance, _note, about, rest - errors),
    ]
    chance.shuffle(made)
    places = sorted(chance.randrange(len(made) + 1) for _ in store.items)
    for place, item in zip(reversed(places), reversed(store.items), strict=True):
        made.insert(place, item)
    return MemoryStore(f"{store.name}, {size:,} items", made, store.sessions)


def joined(*stores: MemoryStore) -> MemoryStore:
    """Return one store with the items of several in turn, each with a label: the store's name before the item's own."""
    items: list[tuple[float, Item]] = []
    sessions: list[Mapping[str, Any]] = []
    for store in stores:

        def label(own: str, of: str = store.name) -> str:
            return f"{of}.{own}"

        for place, item in enumerate(store.items):
            own = item.get("decision") or item.get("id") or str(place)
            named = {"decision": label(own)} if "decision" in item else {"id": label(own)}
            replaced = {"replaces": label(item["replaces"])} if "replaces" in item else {}
            items.append((place / len(store.items), item | named | replaced))
        for session in store.sessions:
            events = [
                event | {"needs": [label(own) for own in event["needs"]]} if "needs" in event else event
                for event in session["events"]
            ]
            sessions.append({**session, "events": events, "fits": [label(own) for own in session["fits"]]})
    items.sort(key=lambda one: one[0])
    return MemoryStore(" and ".join(store.name for store in stores), [item for _, item in items], sessions)


def fill(project: Path, store: MemoryStore) -> dict[str, str]:
    """Write a store into ``.satchel`` of a project's folder, over a month; return labels by short ids."""
    (project / ".git").mkdir(parents=True)
    (project / ".satchel").mkdir(mode=0o700)
    events = [event for session in store.sessions for event in session["events"]]
    touched = {str(path) for one in (*store.items, *events) for path in (one.get("file"), one.get("read")) if path}
    for name in sorted(touched):
        if Path(name).suffix:
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name}\n", encoding="utf-8")
    return write(project, store)


def days_of(store: MemoryStore) -> Iterator[tuple[int, Sequence[Item]]]:
    """Yield the days on which a store was written, as the time of their begin in milliseconds, with their items."""
    begin = system_clock() - _DAYS * DAY_MS
    a_day = -(-len(store.items) // (_DAYS - 1))
    for start in range(0, len(store.items), a_day):
        yield begin + start // a_day * DAY_MS, store.items[start : start + a_day]


def write(project: Path, store: MemoryStore) -> dict[str, str]:
    """Write a store's items into ``.satchel`` of a folder that has one; return labels by short ids."""
    labels: dict[str, str] = {}
    refs: dict[str, str] = {}
    now = system_clock()

    def clock() -> int:
        return now

    def remember(item: Item, ref: str) -> None:
        label = item.get("decision") or item.get("id") or ref
        refs[label] = ref
        labels[ref] = label

    person = {PERSON_VARIABLE: "sofia"}  # what persons wrote only a person may replace
    at_terminal = Caller(COMMAND, person, programs=())
    with open_satchel(project / ".satchel" / "satchel.db", cwd=project, clock=clock, caller=at_terminal) as satchel:
        with sqlite_of(satchel).exclusive() as connection:
            connection.pragma("synchronous", "OFF")
        for day, items in days_of(store):
            now = day
            for author in sorted({item["by"] for item in items if "note" in item}):
                notes = [item for item in items if "note" in item and item["by"] == author]
                made = [NewEntry("discovery", item["note"], file=item.get("file")) for item in notes]
                for item, entry in zip(notes, satchel.entries.write_many(made, agent=author), strict=True):
                    remember(item, entry.ref)
            for item in items:
                now += DAY_MS // (2 * len(items))
                if "note" not in item:
                    remember(item, _write(satchel, item, refs))
    return labels


def _write(satchel: Satchel, item: Item, refs: Mapping[str, str]) -> str:
    by = item["by"]
    if "rule" in item:
        replaced = refs.get(item.get("replaces", ""))
        return satchel.constraints.add(
            item["rule"], priority=item["priority"], supersedes=replaced, agent=by, **_paths(item)
        ).ref
    if "decision" in item:
        return satchel.decisions.set(
            item["decision"],
            item["value"],
            rationale=item.get("rationale"),
            agent=by,
            **_paths(item),
        ).ref
    return satchel.patterns.report(item["error"], item["message"], solution=item["fix"], agent=by).pattern.ref


def _paths(item: Item) -> dict[str, Any]:
    # a decision that is set again keeps its paths
    return {"paths": item["paths"]} if "paths" in item else {}


def _several(chance: random.Random, make: Any, areas: Areas, number: int) -> list[Item]:
    made: dict[str, Item] = {}
    while len(made) < number:
        item: Item = make(chance, areas)
        made.setdefault(item.get("decision") or item.get("rule") or item.get("message") or item["note"], item)
    return list(made.values())


_AUTHORS = ("claude-3f2b", "codex-91ae", "gemini-44e8")
_PERSONS = ("human:sofia", "human:devin")

_AREAS: Areas = {
    "httpx/_client.py": (
        "Client.send, _transport_for_url, the mounts, base_url, the event hooks, the redirect history, "
        "_merge_cookies, trust_env, Client.stream, BoundAsyncStream, cookie persistence, _redirect_headers",
        "a redirect to another port, a relative base_url, a closed client, a hook that raises, nested clients",
    ),
    "httpx/_models.py": (
        "Response.iter_lines, Headers.get_list, Cookies.set, Response.history, Request.read, Response.links, "
        "the encoding guess, Response.next_request, Headers.update, elapsed, Response.aiter_text",
        "a missing charset, two Set-Cookie headers, an empty body, a header in latin-1, an unread stream",
    ),
    "httpx/_decoders.py": (
        "GZipDecoder, DeflateDecoder, LineDecoder, TextChunker, MultiDecoder, TextDecoder, the zstd frames",
        "a truncated gzip trailer, a lone carriage return, an unknown Content-Encoding, identity",
    ),
    "httpx/_auth.py": (
        "BasicAuth, DigestAuth, NetRCAuth, FunctionAuth, the nonce counter, the auth flow, the challenge parser",
        "a 401 without a challenge, two challenges, a netrc without a default, a password with a colon",
    ),
    "httpx/_config.py": (
        "Timeout, Limits, Proxy, create_ssl_context, the cipher list, SSLKEYLOGFILE, keepalive_expiry",
        "SSL_CERT_DIR, a timeout of 0, an http proxy for https, an expired intermediate",
    ),
    "httpx/_urls.py": (
        "URL.copy_with, URL.join, QueryParams, raw_path, URL.netloc, the userinfo, copy_merge_params",
        "a fragment, a plus sign in the query, a trailing dot of the host, an empty path",
    ),
    "httpx/_urlparse.py": (
        "percent_encoded, normalize_path, encode_host, the port check, the IDNA branch, validate_path",
        "dot segments, a zone id, a backslash, a non-printable character, an upper-case scheme",
    ),
    "httpx/_multipart.py": (
        "DataField, FileField, the boundary, MultipartStream, peek_filelike_length, render_headers",
        "a file without a name, a BytesIO at its end, a pipe, a text mode file, a header per part",
    ),
    "httpx/_content.py": (
        "encode_json, encode_urlencoded_data, IteratorByteStream, encode_html, UnattachedStream",
        "a generator that was consumed, bytes as data, NaN, a nested form value",
    ),
    "httpx/_transports/default.py": (
        "HTTPTransport, map_httpcore_exceptions, the socket options, uds, local_address, retries, http1 and http2",
        "a reset connection, a GOAWAY frame, a unix socket, a half-closed stream",
    ),
    "httpx/_transports/asgi.py": (
        "ASGITransport, the lifespan, root_path, raise_app_exceptions, the disconnect event",
        "an app that never answers, a second response start, a websocket scope",
    ),
    "httpx/_transports/wsgi.py": (
        "WSGITransport, the environ, wsgi.errors, the start_response callable",
        "an app that yields empty chunks, exc_info, a bytes header",
    ),
    "httpx/_utils.py": (
        "get_environment_proxies, URLPattern, is_ipv4_hostname, unquote, primitive_value_to_str, to_bytes_or_str",
        "NO_PROXY with a port, an all:// pattern, a quoted value",
    ),
    "httpx/_main.py": (
        "the command-line client, the rich output, the --auth option, the download bar, the pygments lexer",
        "a terminal without colours, a binary body, --verbose with http2",
    ),
    "tests/conftest.py": (
        "the server fixture, the cert fixtures, the echo app, the slow response app, clean_environ",
        "a busy port, trio, xdist, an IPv6 loopback",
    ),
    "docs/advanced/transports.md": (
        "the page on transports, the mock example, the caching example, the routing table",
        "a custom transport, a dead link, an outdated import",
    ),
    "docs/advanced/proxies.md": (
        "the page on proxies, the SOCKS example, the auth section, the table of variables",
        "a reader from requests, a proxy with TLS",
    ),
    "docs/compatibility.md": (
        "the page on compatibility, the section on cookies, the section on redirects, the section on encodings",
        "a migration from requests, a wrong claim",
    ),
    ".github/workflows/test-suite.yml": (
        "the matrix, the pip cache, the coverage step, the release job, the docs job",
        "a new Python, a forked pull request, a flaky runner",
    ),
}

_TEAMS = "the parcel team, the press portal, the billing jobs, the tracking service, the mobile backend, the crawler"

_NOTE_FORMS = (
    "Looked into {a} because of {e}: nothing is wrong there, {b} does it. Took {n} minutes.",
    "{a} ignores {e}. {t} noticed it after the update, they work around it.",
    "{A} and {b} both handle {e}, in different ways; only one of them is tested.",
    "With {e}, {a} is called {n} times per request, measured with a counter in {f}.",
    "{t} asked whether {a} could skip {b}. Answer so far: no, see {e}.",
    "Tried to simplify {a}: {n} lines less, but {e} broke, so it stays.",
    "in {f} the comment above {a} is wrong since {b} was moved",
    "{a} ist bei {e} langsam ({n} ms), lohnt aber keinen Umbau. {t} merkt davon nichts.",
    "{A}: {e} → see line {n}; {b} comes later",
    "Session notes: read {f} from top to bottom for {t}. {A} is clear, {b} less so, the case of {e} is handled twice "
    "({n} lines apart). A test for it would have caught the regression of last month. Did not change anything.",
    "{e} needs {a} and a fresh connection, otherwise {b} reports the state of the one before",
    "PR {n} changes how {a} treats {e}; waits for Sofia.",
    "upstream does {e} differently from us since {a} was rewritten; the merge kept ours",
    "Reproduced {e} in {n} of 200 runs; a race between {a} and {b}, only under trio",
    "{t} mocks {a} in its tests, so renaming it breaks them. They know.",
    "Der Fall „{e}“ kommt laut {t} etwa {n} mal am Tag vor; {a} loggt ihn nicht.",
    "{a} allocates about {n} kB with {e}, all of it freed when {b} ends",
    "docs say that {a} covers {e}. It does not, {b} does.",
)
_COMMIT_FORMS = (
    "Fix {a} with {e} (#{n})",
    "Test {a} with {e} (#{n})",
    "Refactor {a}: no change of behaviour (#{n})",
    "Document {a} (#{n})",
    "Move {a} next to {b} (#{n})",
    'Revert "Speed up {a}" (#{n})',
    "Type {a} (#{n})",
)
_ERROR_FORMS = (
    ("AssertionError", "test of {a} with {e}: {n} != {m}", "the fixture had state of {b}; build a new one"),
    ("TypeError", "{a}: expected str, got bytes ({e}), line {n}", "decode before {b}"),
    ("ReadTimeout", "{a} after {n} ms with {e}", "the stub slept; patch {b}"),
    ("ConnectError", "[Errno {n}] in {a}, {e}", "start the server of {b} first"),
    ("KeyError", "'{a}' at {e}, line {n}", "it is set by {b} since the merge; use get"),
    ("mypy error", "{f}:{n}: error: Incompatible types in assignment near {a}", "annotate {b}, not the caller"),
    ("ValueError", "{a}: {e} is not allowed here ({n})", "normalise in {b}"),
    ("AttributeError", "'NoneType' object has no attribute of {a}, {e}, line {n}", "{b} returns None then; check it"),
    ("ruff", "{f}:{n}: B0{m} near {a}", "rewrite it as in {b}"),
    ("RuntimeError", "{a} was used after close with {e} ({n})", "keep the client of {b} open"),
)
_RULE_FORMS = (
    "{A} is not changed without asking {t} first",
    "Tests of {a} cover {e}",
    "{A} stays private, {b} is what others may use",
    "Whoever touches {a} runs the docs examples of {f}",
    "{e} is never handled in {a}, that belongs to {b}",
    "Keep {a} free of logging",
)
_ASPECTS = ("default", "order", "naming", "fallback", "errors", "cache", "owner", "typing", "scope", "tests")
_VALUE_FORMS = (
    "as it is; {e} is the caller's business",
    "{b} decides",
    "handled before {b}",
    "one way only, no option",
    "raises for {e}",
    "kept for {t}",
    "like requests does it",
    "after {n} tries",
)


def _filling(chance: random.Random, areas: Areas) -> tuple[str, dict[str, Any]]:
    file = chance.choice(list(areas))
    things, cases = ([one.strip() for one in part.split(", ")] for part in areas[file])
    first, second = chance.sample(things, 2)
    return file, {
        "a": first,
        "A": first[0].upper() + first[1:] if first.startswith("the ") else first,
        "b": second,
        "e": chance.choice(cases),
        "f": file,
        "n": chance.randrange(3, 990),
        "m": chance.randrange(3, 99),
        "t": chance.choice(_TEAMS.split(", ")),
    }


def _note(chance: random.Random, areas: Areas) -> Item:
    file, words = _filling(chance, areas)
    if chance.random() < 0.3:
        number = f"{chance.randrange(16**7):07x}"
        text = f"commit {number}: {chance.choice(_COMMIT_FORMS).format(**words)}"
        return {"note": text, "by": _AUTHORS[0], "file": file, "commit": number}
    item = {"note": chance.choice(_NOTE_FORMS).format(**words), "by": chance.choice(_AUTHORS)}
    return item | ({"file": file} if chance.random() < 0.7 else {})


def _error(chance: random.Random, areas: Areas) -> Item:
    file, words = _filling(chance, areas)
    kind, message, fix = (part.format(**words) for part in chance.choice(_ERROR_FORMS))
    return {"error": kind, "message": message, "fix": fix, "by": chance.choice(_AUTHORS), "file": file}


def _rule(chance: random.Random, areas: Areas) -> Item:
    file, words = _filling(chance, areas)
    priority = chance.choices(("low", "medium", "high"), (3, 5, 2))[0]
    item = {"rule": chance.choice(_RULE_FORMS).format(**words), "by": chance.choice(_PERSONS), "priority": priority}
    return item | ({"paths": [file]} if chance.random() < 0.6 else {})


def _decision(chance: random.Random, areas: Areas) -> Item:
    file, words = _filling(chance, areas)
    thing = words["a"].removeprefix("the ").replace(" ", "_").replace("--", "").strip("_").lower()
    key = f"{Path(file).stem.strip('_').lstrip('.')}.{thing.rpartition('.')[2]}.{chance.choice(_ASPECTS)}"
    item = {"decision": key, "value": chance.choice(_VALUE_FORMS).format(**words), "by": chance.choice(_PERSONS)}
    return item | ({"paths": [file]} if chance.random() < 0.3 else {})
