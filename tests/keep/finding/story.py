"""A story that forty notes tell, for the tests of the search over everything kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel import Satchel
from satchel.keep.finding import Found, FoundPage

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000

# key: run, loop, author, type, file, text; written a minute apart
STORY: dict[str, tuple[str, str | None, str, str, str | None, str]] = {
    "middleware": ("r1", "auth", "Ann", "discovery", "src/auth.py", "The auth middleware checks every token on entry"),
    "expiry-asked": ("r1", "auth", "Ben", "discovery", None, "How long do login sessions stay valid before expiry?"),
    "expiry-told": ("r1", "auth", "Ann", "discovery", None, "Thirty minutes, then people have to sign in again"),
    "cookies": ("r1", "auth", "Ann", "decision", None, "Cookies are SameSite=Lax and signed with the app key"),
    "clock-skew": ("r1", "auth", "Ben", "error", "src/auth.py", "Login fails with 401 when the clock is skewed"),
    "oauth": (
        "r1",
        "auth",
        "Cleo",
        "discovery",
        "src/oauth.py",
        "OAuth callbacks land on /oauth/callback, see oauth.py",
    ),
    "hashing": ("r1", "auth", "Cleo", "decision", None, "Passwords are hashed with argon2id, never bcrypt"),
    "logout": ("r1", "auth", "Ben", "discovery", None, "Logout removes the refresh cookie on all devices"),
    "parse-camel": ("r1", "config", "Ann", "discovery", "src/config.ts", "parseConfig reads the TOML file twice"),
    "parse-snake": ("r1", "config", "Ben", "discovery", "src/config.py", "parse_config ignores unknown keys"),
    "parse-prose": ("r1", "config", "Cleo", "discovery", None, "We parse the config once the server has started"),
    "env": ("r1", "config", "Ann", "decision", None, "Environment variables win over every file"),
    "line": ("r1", "config", "Ben", "error", "src/a.ts", "src/a.ts:42 throws when the list is empty"),
    "foo-bar": ("r1", "config", "Ben", "discovery", None, "the foo-bar package was renamed to foobar-core"),
    "utf8": ("r1", "config", "Cleo", "error", None, "Reading without encoding=utf8 breaks on Windows"),
    "empty-default": (
        "r1",
        "config",
        "Ann",
        "discovery",
        None,
        "An empty list in the defaults means no plugins at all",
    ),
    "schema": ("r1", "config", "Cleo", "decision", None, "The schema of settings is checked at start, not later"),
    "cpp": ("r1", "build", "Ann", "error", None, "the C++ extension needs a newer compiler"),
    "go": ("r1", "build", "Ben", "discovery", None, "Go modules are vendored, so builds work offline"),
    "k8s": ("r1", "build", "Cleo", "discovery", None, "k8s probes hit /healthz every ten seconds"),
    "hook": ("r1", "build", "Ann", "error", None, "git commit -m fails in the pre-commit hook"),
    "cache": ("r1", "build", "Ben", "discovery", None, "CI restores the wheel cache from the main branch"),
    "pool-words": ("r1", "build", "Cleo", "discovery", None, "The pool of runners loses its connection at night"),
    "pool-phrase": ("r2", None, "Ann", "decision", None, "Limit the connection pool of the database to ten"),
    "migrations": (
        "r2",
        None,
        "Ann",
        "discovery",
        "db/migrate.sql",
        "Migrations run before the first request is served",
    ),
    "deadlock": ("r2", None, "Ben", "error", None, "Two writers deadlock when rows are locked in different order"),
    "retry": ("r2", None, "Ben", "decision", None, "don't retry on 409, ask the user instead"),
    "vacuum": ("r2", None, "Cleo", "discovery", None, "Vacuum runs at night and needs twice the disk"),
    "replica": ("r2", None, "Cleo", "discovery", None, "The replica lags behind by two seconds under load"),
    "cjk": ("r2", None, "Ann", "discovery", None, "全文検索エンジンは漢字の変換を知らない"),
    "cjk-mixed": ("r2", None, "Ben", "discovery", None, "検索APIを使う時は鍵が必要です"),
    "korean": ("r2", None, "Cleo", "discovery", None, "한국어 문서는 형태소 분석이 없다"),
    "emoji": ("r2", None, "Ann", "discovery", None, "🎒 packs a briefing for one agent"),
    "cafe": ("r2", None, "Ben", "discovery", None, "The café demo uses naïve pricing"),
    "http": ("r2", None, "Cleo", "discovery", "src/http.ts", "getHTTPResponseCode2 swallows timeouts"),
    "quota": ("r2", None, "Ann", "discovery", None, "The quota resets on the first of the month"),
    "export": ("r2", None, "Ben", "decision", None, "Exports are streamed as newline-delimited JSON"),
    "author": ("r2", None, "Cleo", "discovery", None, "Thumbnails are rendered by the image worker"),
    "author-too": ("r2", None, "Ben", "discovery", None, "Thumbnails are stored by the image worker"),
    "flag": ("r2", None, "Ann", "decision", None, "The beta flag is read once a minute"),
}


class Story:
    """The satchel with the story in it; results are told by their keys."""

    def __init__(self, satchel: Satchel, clock: ManualClock) -> None:
        self.satchel = satchel
        self.clock = clock
        self.keys: dict[str, str] = {}
        self.times: dict[str, int] = {}
        satchel.runs.start("r1")
        satchel.runs.start("r2")
        for key, (run, loop, agent, kind, file, text) in STORY.items():
            self.times[key] = clock.advance(MINUTE)
            entry = satchel.entries.write(kind, text, run_id=run, loop_id=loop, agent=agent, file=file)
            self.keys[entry.ref] = key

    def page(self, text: str | None = None, **filters: Any) -> FoundPage:
        """Search for a text."""
        return self.satchel.finding.search(text, **filters)

    def found(self, text: str | None = None, **filters: Any) -> list[str]:
        """Return the keys of all that a search finds, the best first."""
        return [self.keys[result.ref] for result in self.page(text, **{"limit": 500, **filters}).results]

    def result(self, key: str, text: str, **filters: Any) -> Found:
        """Return the result of a search that is the note of a key."""
        return next(one for one in self.page(text, limit=500, **filters).results if self.keys[one.ref] == key)
