"""How a browser comes in, and who does not."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from http_serving import FixedTokens, Served, served
from room_browsing import Browser
from satchel import Satchel, open_satchel
from satchel.base.errors import InvalidInput, NotFound
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.web.logins import LINK_MS, LOGIN_MS, Logins


class Time:
    """A clock that stands."""

    now = 1_000_000_000_000

    def __call__(self) -> int:
        """Return the time."""
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def timed(tmp_path: Path, time: Time) -> Logins:
    return Logins(tmp_path / "state", time)


def test_a_link_is_good_once(timed: Logins) -> None:
    secret = timed.new_link("ann", 7347)
    begun = timed.trade_link(secret, 7347)
    assert begun is not None
    assert timed.login(begun[1]) == begun[0]
    assert begun[0].author == "human:ann"
    assert timed.trade_link(secret, 7347) is None


def test_a_link_is_good_for_a_minute_and_one_server(timed: Logins, time: Time) -> None:
    late, foreign = timed.new_link("ann", 7347), timed.new_link("ann", 7347)
    assert timed.trade_link(foreign, 7348) is None
    assert timed.trade_link(foreign, 7347) is None
    time.now += LINK_MS
    assert timed.trade_link(late, 7347) is None
    assert not timed.is_waiting(late)


def test_only_digests_are_kept_in_a_file_of_the_user_alone(timed: Logins, tmp_path: Path) -> None:
    used, waiting = timed.new_link("ann", 7347), timed.new_link("ann", 7347)
    begun = timed.trade_link(used, 7347)
    assert begun is not None
    file = tmp_path / "state" / "logins.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert not any(secret in text for secret in (used, waiting, begun[1], begun[1].partition(".")[2]))


def test_a_login_ends_after_twelve_hours_however_much_it_is_used(timed: Logins, time: Time) -> None:
    begun = timed.trade_link(timed.new_link("ann", 7347), 7347)
    assert begun is not None
    for _ in range(11):
        time.now += 3_600_000
        assert timed.login(begun[1]) is not None
    time.now += LOGIN_MS - 11 * 3_600_000
    assert timed.login(begun[1]) is None
    assert timed.every() == []


def test_a_login_is_revoked_and_others_stay(timed: Logins) -> None:
    (one, first), (_, second) = (timed.begin("ann", "t1"), timed.begin("bob", "t2"))
    assert [login.id for login in timed.revoke(one.id)] == [one.id]
    assert timed.login(first) is None
    assert timed.login(second) is not None
    with pytest.raises(NotFound, match="there is no login"):
        timed.revoke(one.id)
    timed.revoke()
    assert timed.login(second) is None


@pytest.mark.parametrize("name", ["a\nb", "x" * 1_000, "\u202e"])
def test_a_name_must_be_one(timed: Logins, name: str) -> None:
    with pytest.raises(InvalidInput):
        timed.new_link(name, 7347)


def test_a_used_link_shows_the_login_page_and_gives_no_cookie(room: Served, logins: Logins) -> None:
    path = f"/login?key={logins.new_link('ann', room.port)}"
    first, second = Browser(room).get(path), Browser(room).get(path)
    assert first.status == 200
    cookie = first.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert second.status == 403
    assert "set-cookie" not in second.headers
    assert b"has expired" in second.body


def test_without_a_login_browsers_are_sent_to_it_and_programs_are_told(room: Served) -> None:
    for path in ("/", "/p/project/", "/p/project/items/e1"):
        answer = Browser(room).get(path)
        assert (answer.status, answer.headers["location"]) == (303, "/login")
        program = room.ask(path, token=None, headers={"Accept": "application/json"})
        assert (program.status, program.json()["error"]["code"]) == (401, "refused")
    for path in ("/api/search", "/mcp"):
        assert Browser(room).get(path).status == 401
    discovery = room.ask("/.well-known/oauth-protected-resource", token=None, headers={"Accept": "application/json"})
    assert discovery.status == 404


@pytest.mark.parametrize("cookie", ["", "x", "0123456789." + "A" * 43, "../../etc", "ÿ"])
def test_a_forged_cookie_is_none(room: Served, cookie: str) -> None:
    assert Browser(room, cookie).get("/p/project/").status == 303


def test_a_cookie_is_no_token(ann: Browser) -> None:
    assert ann.get("/p/project/").status == 200
    assert ann.get("/api/search?query=sessions").status == 401
    assert ann.server.ask("/api/search", token=ann.cookie).status == 401


def test_a_revoked_browser_is_out(ann: Browser, logins: Logins) -> None:
    assert ann.cookie is not None
    logins.revoke(ann.cookie.partition(".")[0])
    assert ann.get("/p/project/").status == 303


def test_logging_out_ends_the_login(ann: Browser, logins: Logins) -> None:
    assert ann.post("/logout", {}).headers["location"] == "/login"
    assert ann.get("/").status == 303
    assert logins.login(ann.cookie or "") is None


def test_a_token_of_a_person_is_traded_and_an_agents_is_not(room: Served) -> None:
    answer = Browser(room).post("/login", {"token": "person-token"}, key="")
    assert answer.status == 200
    cookie = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert Browser(room, cookie).get("/p/project/").status == 200
    assert b"<bdi>person</bdi>" in Browser(room, cookie).get("/p/project/").body
    for wrong in ("agent-token", "unknown", ""):
        refused = Browser(room).post("/login", {"token": wrong}, key="")
        assert refused.status == 403
        assert "set-cookie" not in refused.headers


def test_a_login_by_token_sees_no_path_of_the_server(tmp_path: Path, logins: Logins) -> None:
    (tmp_path / "secret place" / ".git").mkdir(parents=True)
    with open_satchel(cwd=tmp_path / "secret place", environ={"SATCHEL_PROJECT": "project"}) as new:
        new.messages.send("So", agent="builder", to="all")
        with served(FixedTokens(new.place.file), logins=logins) as running:
            _, cookie = logins.begin("bob", "id-person")
            assert Browser(running, cookie).get("/").headers["location"] == "/p/project/"  # it is the only one
            for path in ("/projects.json", "/p/project/", "/p/project.json", "/p/project/health"):
                bob, ann = Browser(running, cookie).get(path), Browser.of(running, logins).get(path)
                assert (bob.status, b"secret place" in bob.body) == (200, False)
                assert (ann.status, b"secret place" in ann.body) == (200, path != "/p/project.json")


def test_a_login_by_token_leads_to_its_project_alone_and_ends_with_it(satchel: Satchel, logins: Logins) -> None:
    with satchel.workplace.engine.write() as transaction:
        transaction.run(
            "INSERT OR IGNORE INTO projects (uid, name, root, created_at) VALUES (randomblob(16), 'other', NULL, 1)"
        )
    tokens = FixedTokens(satchel.place.file)
    with served(tokens, logins=logins) as running:
        by_link, (_, cookie) = Browser.of(running, logins), logins.begin("person", "id-person")
        by_token = Browser(running, cookie)
        assert by_link.get("/p/other/").status == 200
        assert by_token.get("/p/other/").status == 404
        assert by_token.get("/p/project/").status == 200
        del tokens._accesses["person-token"]
        assert by_token.get("/p/project/").status == 303


def test_wrong_links_are_limited(satchel: Satchel, logins: Logins) -> None:
    with served(FixedTokens(satchel.place.file), Settings(failures_per_minute=2), logins=logins) as running:
        answers = [Browser(running).get("/login?key=wrong").status for _ in range(3)]
        assert answers == [403, 403, 429]


def test_behind_tls_the_cookie_is_secure_but_for_loopback(satchel: Satchel, logins: Logins) -> None:
    settings = Settings(host_names=("satchel.example.org",), behind_tls=True)
    with served(FixedTokens(satchel.place.file), settings, logins=logins) as running:
        paths = [f"/login?key={logins.new_link('ann', running.port)}" for _ in range(2)]
        outside = Browser(running).get(paths[0], Host="satchel.example.org")
        assert "; Secure" in outside.headers["set-cookie"]
        assert "; Secure" not in Browser(running).get(paths[1]).headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_what_a_page_of_another_site_sends_is_refused(ann: Browser, headers: dict[str, str]) -> None:
    assert ann.post("/p/project/items/e1/retract", {"reason": "x"}, **headers).status == 403
    assert Browser(ann.server).post("/login", {"token": "person-token"}, key="", **headers).status == 403
    assert b"Retract" in ann.get("/p/project/items/e1").body


def test_a_form_for_a_token_must_come_from_this_server(room: Served) -> None:
    answer = Browser(room).post("/login", {"token": "person-token"}, key="", **{"Origin": "", "Sec-Fetch-Site": ""})
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_a_form_needs_the_key_of_its_own_login(ann: Browser, logins: Logins) -> None:
    other = Browser.of(ann.server, logins)
    key = other.get("/p/project/").body.decode().partition('name="form_key" value="')[2].partition('"')[0]
    assert key
    for wrong in ("", "0" * 32, key):
        assert ann.post("/p/project/items/e1/retract", {"reason": "x"}, key=wrong).status == 403
    assert b"Retract" in ann.get("/p/project/items/e1").body
    answer = ann.post("/p/project/items/e1/retract", {"reason": "x"}, **{"Content-Type": "text/plain"})
    assert answer.status == 400


def test_a_page_of_another_site_reads_nothing(ann: Browser) -> None:
    for path in ("/p/project.json", "/p/project/"):
        answer = ann.get(path, **{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"})
        assert answer.status == 403
    assert ann.get("/p/project/", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status == 200
