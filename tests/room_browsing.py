"""A browser without a screen for the pages of a server in a thread of the test: it keeps its cookie and its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode

from http_serving import Answer, Served
from satchel import Satchel
from satchel.interfaces.web.guard import cookie_name
from satchel.interfaces.web.logins import Logins, form_key
from satchel.keep import following, projects

HTML = {"Accept": "text/html,*/*;q=0.8"}


class Browser:
    """One browser.

    Args:
        server: what it asks.
        cookie: what it keeps; None is not logged in.
    """

    def __init__(self, server: Served, cookie: str | None = None) -> None:
        self.server = server
        self.cookie = cookie

    @classmethod
    def of(cls, server: Served, logins: Logins, person: str = "ann") -> Browser:
        """Return a browser that has come in by a link."""
        answer = cls(server).get(f"/login?key={logins.new_link(person, server.port)}")
        found = re.match(r"satchel_(\d+)=([^;]+); Path=/; ", answer.headers["set-cookie"])
        assert found is not None
        assert int(found[1]) == server.port
        return cls(server, found[2])

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page."""
        return self.server.ask(path, token=None, headers=self._headers(HTML | headers))

    def post(self, path: str, fields: Mapping[str, str], *, key: str | None = None, **headers: str) -> Answer:
        """Send a form, with the right key unless another is given."""
        own = form_key(self.cookie or "") if key is None else key
        body = urlencode({**fields, "form_key": own} if own else fields).encode()
        sent = {"Origin": f"http://127.0.0.1:{self.server.port}", "Sec-Fetch-Site": "same-origin", **HTML}
        sent |= {"Content-Type": "application/x-www-form-urlencoded"} | headers
        sent = {name: value for name, value in sent.items() if value}
        return self.server.ask(path, method="POST", token=None, headers=self._headers(sent), body=body)

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        cookie = {} if self.cookie is None else {"Cookie": f"{cookie_name(self.server.port)}={self.cookie}"}
        return {**headers, **cookie}


class Parsed(HTMLParser):
    """A page, parsed: its elements with their attributes, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.others: list[str] = []
        self.text = ""
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element."""
        self.elements.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        """Take in a text."""
        self.text += data

    def handle_comment(self, data: str) -> None:
        """Take in a comment."""
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        """Take in what is no element."""
        self.others.append(data)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements with the names of their attributes."""
        return [(tag, tuple(name for name, _ in attributes)) for tag, attributes in self.elements]


def form_of(page: Answer, button: str) -> tuple[str, dict[str, str]]:
    """Return where the form of a button goes, and what it sends."""
    parsed, path, fields, inside = Parsed(page.body), "", {}, ""
    text = unescape(page.body.decode())
    for piece in text.split("<form")[1:]:
        inside = piece.partition("</form>")[0]
        if f">{button}</button>" in inside:
            break
    else:
        raise AssertionError(f"no form has the button {button!r}")
    small = Parsed(f"<form{inside}".encode())
    for tag, attributes in small.elements:
        given = dict(attributes)
        if tag == "form":
            path = given["action"] or ""
        elif tag == "input":
            fields[given["name"] or ""] = given.get("value") or ""
    fields.pop("form_key", None)
    assert parsed.elements
    return path, fields


def undo(browser: Browser, done: Answer) -> Answer:
    """Follow an action, and take it back with the button of the page that it leads to."""
    assert done.status == 303, unescape(done.body.decode())
    return browser.post(*form_of(browser.get(done.headers["location"]), "Undo"))


def events_of(satchel: Satchel) -> list[tuple[str, str | None, str | None]]:
    """Return what has happened: the kind, the item, and who did it."""
    work = satchel.workplace
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
        return [(one.kind, one.item, one.agent) for one in following.events_after(transaction, project.id, 0, 10_000)]


def ref_of(done: Answer) -> str:
    return done.headers["location"].partition("?")[0].rpartition("/")[2]
