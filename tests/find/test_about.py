"""What a text is about: items that hold enough of its rare words, in a store of any size, or nothing."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.find.about import RelatedItem, related
from satchel.find.scopes import Scope
from satchel.keep import projects
from satchel.keep.entries.records import NewEntry

OF_NOTE = 1.0
"""The strength from which a prompt shows a note."""

NOTE = "DHL's tracking gives Berlin's local times without an offset"
PROMPT = "tracking events from DHL appear two hours early in the app"


def fill(satchel: Satchel, others: int) -> str:
    """Write one note and many others that share everyday words with all; return its ref."""
    ref = satchel.entries.write("discovery", NOTE, agent="ann").ref
    things = ("gateway", "router", "scanner", "ledger", "planner", "printer", "terminal", "archive", "portal", "driver")
    made = [
        f"The {things[n % 10]} of host{n} reports to the {things[n // 10 % 10]} before the app can start in two hours"
        for n in range(others)
    ]
    for start in range(0, others, 500):
        some = [NewEntry("discovery", text) for text in made[start : start + 500]]
        satchel.entries.write_many(some, agent="ben")
    return ref


def asked(satchel: Satchel, text: str) -> list[RelatedItem]:
    with satchel.workplace.engine.read() as transaction:
        project = projects.find(transaction, satchel.workplace)
        assert project is not None
        items = related(transaction, text, Scope(project.id, now=satchel.workplace.clock())).items
        return [one for one in items if one.strength >= OF_NOTE]


@pytest.mark.parametrize("others", [3, 50, 400])
class TestSizes:
    def test_what_shares_its_rare_words_is_found(self, satchel: Satchel, others: int) -> None:
        ref = fill(satchel, others)
        (met,) = asked(satchel, PROMPT)
        assert met.ref == ref
        assert set(met.words) >= {"tracking", "dhl"}

    def test_what_says_nothing_finds_nothing(self, satchel: Satchel, others: int) -> None:
        fill(satchel, others)
        texts = (
            "continue",
            "yes do it",
            "why does the app start so late? two hours!",
            "is there anything about tracking?",
            "rename the variable to something better",
            "请继续",
            "",
            "?!",
        )
        assert {text: met for text in texts if (met := asked(satchel, text))} == {}


def test_the_strongest_comes_first(satchel: Satchel) -> None:
    ref = fill(satchel, 200)
    best = satchel.entries.write(
        "discovery", "DHL events of the tracking appear early where clocks are wrong", agent="ann"
    )
    assert [one.ref for one in asked(satchel, PROMPT)] == [best.ref, ref]


def test_one_word_written_twice_counts_once(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "Cookies of the portal: one cookie for each", agent="ann")
    fill(satchel, 100)
    assert asked(satchel, "the cookie banner hides the cookies") == []


def test_a_number_counts_as_a_word_but_not_one_of_a_list_or_a_version(satchel: Satchel) -> None:
    fill(satchel, 50)
    ref = satchel.entries.write("discovery", "DHL answers 4711 in step 12 when a parcel is lost", agent="ann").ref
    assert [one.ref for one in asked(satchel, "users see a 4711 from DHL")] == [ref]
    assert asked(satchel, "users see a 12 from DHL") == []


def test_a_name_tells_something_even_if_its_words_do_not(satchel: Satchel) -> None:
    fill(satchel, 50)
    ref = satchel.entries.write("discovery", "on_start must set what get_state returns", agent="ann").ref
    satchel.entries.write("discovery", "get the state of the portal before it can start", agent="ann")
    with satchel.workplace.engine.read() as transaction:
        project = projects.find(transaction, satchel.workplace)
        scope = Scope(project.id, now=satchel.workplace.clock())
        (item,) = related(transaction, "why is get_state called?", scope).items
        assert (item.ref, item.words[0], item.has_rare) == (ref, "get state", True)
        assert related(transaction, "why do we get the state?", scope).items == ()
        assert related(transaction, "why is 2.10 on-off?", scope).items == ()


def test_what_was_replaced_is_not_found(satchel: Satchel) -> None:
    ref = fill(satchel, 20)
    satchel.entries.write("discovery", "Times of carriers are all in UTC now", supersedes=ref, agent="ann")
    assert ref not in [one.ref for one in asked(satchel, PROMPT)]


def test_of_a_long_text_the_begin_and_the_end_are_read(satchel: Satchel) -> None:
    ref = fill(satchel, 200)
    log = " ".join(f"frame{number} at 0x{number:08x}" for number in range(2_000))
    assert [one.ref for one in asked(satchel, f"{PROMPT}\n{log}")] == [ref]
    assert [one.ref for one in asked(satchel, f"{log}\n{PROMPT}")] == [ref]


def test_another_form_of_a_word_counts_less_than_the_word(satchel: Satchel) -> None:
    fill(satchel, 50)
    satchel.entries.write("discovery", "the expiry of carrier labels is checked at noon", agent="ann")
    satchel.entries.write("discovery", "tokens expire", agent="ann")
    (same,) = asked(satchel, "expiry of carrier labels")
    (other,) = asked(satchel, "do carrier labels expire?")
    assert other.ref == same.ref
    assert other.strength < same.strength
