"""Ranking by meaning, where the extra is installed and may be loaded."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from satchel import NewEntry, Satchel, open_satchel
from satchel.brief.briefing import collecting
from satchel.find import meaning, search
from satchel.keep.sessions.caller import Caller

Open = Callable[..., Satchel]

INSTALLED = meaning.is_installed

TEXTS = (
    "The search for a parking space takes a while",
    "The search for a physician takes a while",
    "The search for a doctor takes a while",
)


@pytest.fixture(autouse=True)
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "_LOADING", {choice: meaning._Loading(choice) for choice in meaning.MODELS})
    monkeypatch.setattr(meaning, "is_installed", INSTALLED)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    (tmp_path / ".git").mkdir()
    every: list[Satchel] = []

    def open_here(**more: Any) -> Satchel:
        every.append(open_satchel(cwd=tmp_path, environ={}, **more))
        return every[-1]

    first = open_here()
    first.entries.write_many([NewEntry("discovery", text) for text in TEXTS])
    yield open_here
    for one in every:
        one.close()


class Favouring:
    """A model for which a text means the query if it contains a word."""

    WEIGHTS = (0.4, 0.9)
    word = "parking"

    def tokens(self, text: str) -> tuple[list[str], float]:
        return text.lower().split(), 1.0

    def rarity(self, *_: object) -> None: ...

    def vector(self, tokens: list[str], _: None) -> Any:
        return _Number(self.word in tokens or "query" in tokens)


class _Number(float):
    def __matmul__(self, other: float) -> float:
        return self * other


@pytest.fixture
def favouring(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Favouring)


def offer(monkeypatch: pytest.MonkeyPatch, model: Callable[[], object]) -> None:
    monkeypatch.setattr(meaning, "is_installed", lambda choice: choice in meaning.MODELS)
    monkeypatch.setattr(meaning, "MODELS", dict.fromkeys(meaning.MODELS, model))


def refs(satchel: Satchel, query: str) -> list[str]:
    return [one.ref for one in satchel.finding.search(query).results]


@pytest.mark.usefixtures("favouring")
def test_the_meaning_changes_the_order_and_its_share_is_explained(opened: Open) -> None:
    query = "query: search for a doctor or physician while parking"
    first = opened().finding.search(query, explain=True).results[0]
    assert first.ref == "e1"
    explanation = first.explanation
    assert explanation is not None
    assert explanation.meaning > 0
    parts = sum(one.own + one.around for one in explanation.shares) + explanation.segment + explanation.meaning
    assert parts == pytest.approx(first.score, abs=0.01)


@pytest.mark.usefixtures("favouring")
@pytest.mark.parametrize("read", ["entries", "briefing"])
def test_reading_and_briefings_with_a_query_rank_by_meaning(opened: Open, read: str) -> None:
    query = "query about the search that takes"
    with_meaning, without = (opened(settings={"search.meaning": choice}) for choice in ("wordllama", "off"))
    if read == "entries":
        firsts = [one.entries.read(query=query).items[0].id for one in (with_meaning, without)]
        assert firsts == [1, 3]
    else:
        texts = [one.brief(query=query, agent=None).text for one in (with_meaning, without)]
        assert [text.find("parking") < text.find("physician") for text in texts] == [True, False]


@pytest.mark.usefixtures("favouring")
@pytest.mark.parametrize(
    "more", [{"caller": Caller.of_hook({}, "claude", "5e55", begins=False)}, {"settings": {"search.meaning": "off"}}]
)
def test_a_hook_and_who_switches_it_off_load_no_model(opened: Open, more: Mapping[str, Any]) -> None:
    refs(opened(**more), "query: search for a doctor while")
    assert [one.model for one in meaning._LOADING.values()] == [None, None]


@pytest.mark.parametrize("query", ["search", '"search for"', "parse_config search"])
@pytest.mark.usefixtures("favouring")
def test_words_and_names_that_are_looked_up_are_not_compared(opened: Open, query: str) -> None:
    assert all(
        one.explanation is not None and not one.explanation.meaning
        for one in opened().finding.search(query, explain=True).results
    )


def test_without_the_extra_a_search_is_lexical(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "is_installed", lambda _: False)
    page = opened().finding.search("search for a doctor while ill")
    assert (page.results[0].ref, page.notes) == ("e3", ())


def test_a_model_that_cannot_be_loaded_is_named_and_the_search_is_lexical(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ValueError("no weights")

    offer(monkeypatch, broken)
    page = opened().finding.search("search for a doctor while ill")
    assert page.results[0].ref == "e3"
    assert page.notes == ("search by meaning is off, its model cannot be loaded: ValueError('no weights')",)


def test_a_search_that_lacks_the_model_it_was_set_to_use_names_the_extra(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "is_installed", lambda _: False)
    (note,) = opened(settings={"search.meaning": "minilm"}).finding.search("search for a doctor while ill").notes
    assert note.startswith('search.meaning = "minilm" has no effect without its extra: `')


def test_vectors_that_take_long_leave_the_other_matches_as_they_are(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, Favouring)
    monkeypatch.setattr(meaning, "monotonic", iter(range(0, 1_000, 2)).__next__)
    results = opened().finding.search("query: search for a doctor or physician while parking", explain=True).results
    assert [one.explanation is not None and one.explanation.meaning for one in results] == [0, 0, 0]


@pytest.mark.parametrize("asked", ["search", "list", "briefing"])
def test_the_time_of_a_search_begins_once_the_model_is_loaded(
    opened: Open, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    now = [0.0]
    monkeypatch.setattr(search, "monotonic", lambda: now[0])
    monkeypatch.setattr(collecting, "monotonic", lambda: now[0])

    def slow() -> Favouring:
        now[0] += 60
        return Favouring()

    offer(monkeypatch, slow)
    query = "query: search for a doctor or physician while parking"
    if asked == "briefing":
        briefing = opened().brief(query=query, agent=None)
        assert (briefing.text.find("parking") < briefing.text.find("physician"), briefing.notes) == (True, ())
    elif asked == "list":
        page = opened().entries.read(query=query)
        assert (page.items[0].id, page.notes) == (1, ())
    else:
        results = opened().finding.search(query)
        assert (results.results[0].ref, results.notes) == ("e1", ())


@pytest.mark.parametrize("choice", meaning.MODELS)
def test_each_model_ranks_what_means_the_same_first_without_the_network(
    opened: Open, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    for package in meaning.MODELS[choice].PACKAGES:
        if util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    here = opened(settings={"search.meaning": choice})
    assert refs(here, "search for a surgeon in the clinic while ill")[-1] == "e1"
    assert meaning._LOADING[choice].problem is None
    assert meaning._LOADING[choice].model is not None


@pytest.mark.parametrize("choice", meaning.MODELS)
def test_a_long_text_counts_less_by_its_meaning(choice: str) -> None:
    if not INSTALLED(choice):
        pytest.skip(f"the extra of {choice} is not installed")
    model = meaning.MODELS[choice]()
    assert model.tokens("a short text")[1] == 1.0
    assert model.tokens("many words " * 600)[1] < 0.3
