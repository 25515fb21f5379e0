"""Texts of documents on the page of proposals."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from http_serving import FixedTokens, served
from repositories import commit_all, make_repository
from room_browsing import Browser, form_of
from satchel import Satchel, open_satchel
from satchel.interfaces.web.logins import Logins

RULES = ("Every fix comes with a test", "Amounts are whole cents", "Never push on Friday")


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    """The project of a repository with three rules in a document."""
    top = make_repository(tmp_path.resolve() / "project")
    (top / "AGENTS.md").write_text("# Rules\n\n" + "".join(f"- {rule}\n" for rule in RULES))
    commit_all(top)
    with open_satchel(cwd=top, environ={}) as opened:
        opened.entries.write("discovery", "The port is 8080", agent="builder")
        yield opened


def test_texts_of_a_document_are_rejected_one_by_one_and_accepted_together(satchel: Satchel, logins: Logins) -> None:
    with served(FixedTokens(satchel.place.file), logins=logins) as server:
        ann = Browser.of(server, logins, "ann")
        page = ann.get("/p/project/proposals")
        assert all(rule in unescape(page.body.decode()) for rule in RULES)
        path, fields = form_of(page, "Reject")
        changed = {"refs": f"{fields['refs'].partition(' ')[0]} {'0' * 16}"}
        assert ann.post(path, fields | changed).status == 409
        assert ann.post(path, fields).status == 303
        page = ann.get("/p/project/proposals")
        assert RULES[0] not in unescape(page.body.decode())
        assert ann.post(*form_of(page, "Accept 2 together")).status == 303
        assert {one.text.rpartition("- ")[2] for one in satchel.constraints.find(limit=20)} == set(RULES[1:])
        assert b"No proposals" in ann.get("/p/project/proposals").body
