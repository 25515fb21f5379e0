"""The pictures of a session and of the tour show what took place, and the README quotes the briefing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from documents import ROOT
from make_picture import HOOK, TARGET, TOUR, Act, draw, draw_tour, session, tour
from satchel.base.tokens import token_counter

MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def acts() -> tuple[Act, ...]:
    return session()


@pytest.mark.slow
def test_the_picture_is_of_a_session(acts: tuple[Act, ...]) -> None:
    assert TARGET.read_text(encoding="utf-8") == draw(acts), "run: python scripts/make_picture.py"


@pytest.mark.slow
def test_the_picture_of_the_tour_is_its_third_scene() -> None:
    assert TOUR.read_text(encoding="utf-8") == draw_tour(tour()), "run: python scripts/make_picture.py"


@pytest.mark.parametrize("picture", [TARGET, TOUR], ids=lambda path: path.name)
def test_a_picture_is_small_and_stands_alone(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    namespace = "{http://www.w3.org/2000/svg}"
    assert ElementTree.fromstring(text).tag == f"{namespace}svg"
    assert len(text.encode()) <= MOST_BYTES
    assert not [word for word in ("href", "url(", "@import", "<script") if word in text]


def test_the_picture_keeps_what_looks_like_markup_as_text() -> None:
    drawn = ElementTree.fromstring(draw((Act("ann", "says <b> & more", None, "a < b & c"),)))
    assert "a < b & c" in "".join(drawn.itertext())


@pytest.mark.slow
def test_the_readme_quotes_the_briefing_and_its_tokens(acts: tuple[Act, ...]) -> None:
    (briefing,) = (act.answer for act in acts if act.tool == HOOK)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"```text\n{briefing}\n```" in readme
    counter = token_counter()
    if not counter.exact:
        pytest.skip("counts are exact only with the tokens extra")
    assert f"{counter.count(briefing)} tokens" in readme
