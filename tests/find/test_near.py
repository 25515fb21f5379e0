from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.find.kind import Kind
from satchel.find.likeness import words_of
from satchel.find.near import contradict, most_similar, share_of_both, share_of_shorter
from tables import in_one_test


@in_one_test(
    ("one", "other", "shorter", "both"),
    [
        ("alpha beta gamma delta", "delta gamma beta alpha", 100, 100),
        ("alpha beta gamma", "gamma, beta, alpha", 100, 100),
        ("alpha beta gamma", "alpha beta gamma delta", 0, 75),
        ("alpha beta gamma delta", "alpha beta gamma delta epsilon zeta eta theta", 100, 50),
        ("alpha beta gamma delta epsilon", "alpha beta gamma delta zeta", 80, 67),
        ("alpha beta gamma delta eta", "alpha beta gamma delta one two three four five six seven eight nine", 0, 29),
        ("alpha beta gamma delta eta", "alpha beta gamma delta one two three four five six seven", 80, 33),
        ("alpha beta", "alpha beta", 0, 0),
        ("alpha beta gamma delta", "epsilon zeta eta theta", 0, 0),
    ],
)
def test_texts_are_alike_by_the_words_they_share(one: str, other: str, shorter: int, both: int) -> None:
    mine, theirs = words_of(one), words_of(other)
    assert (share_of_shorter(mine, theirs), share_of_both(mine, theirs)) == (shorter, both)


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_depends_on_which_comes_first(one: str, other: str) -> None:
    mine, theirs = words_of(one), words_of(other)
    for likeness in (share_of_shorter, share_of_both):
        assert 0 <= likeness(mine, theirs) == likeness(theirs, mine) <= 100


def test_the_most_alike_come_first_and_no_more_than_three() -> None:
    text = "alpha beta gamma delta epsilon"
    others = [(number, f"{text} {'zeta ' * (number > 3)}") for number in range(1, 6)] + [(9, "something else here")]
    assert [one.item for one in most_similar(text, others, share_of_both)] == [1, 2, 3]


def test_a_pointer_names_the_item_how_alike_it_is_and_what_it_says() -> None:
    (near,) = most_similar("alpha beta gamma delta", [(7, "alpha beta gamma delta zeta")], share_of_both)
    assert near.note(Kind.CONSTRAINT) == "c7 says nearly the same (80 % alike): alpha beta gamma delta zeta"


@in_one_test(
    ("one", "other", "is_opposite"),
    [
        ("Use os.path instead of pathlib", "Use pathlib instead of os.path", True),
        ("Use pathlib, not os.path", "Use os.path rather than pathlib", True),
        ("Money may be a float", "Rules: Money is an int in cents, never a float.", True),
        ("Money may be a float", "Money must not be a float", True),
        ("Passwords are logged", "Passwords are never logged", True),
        ("Log errors", "Never log passwords in errors", False),
        ("Money is an int in cents", "Money is an int in cents, never a float", False),
        ("Send it over HTTPS", "Send tokens over HTTPS, not over HTTP", False),
        ("Use pathlib instead of os.path", "Use pathlib instead of glob", False),
    ],
)
def test_rules_contradict_however_short_they_are(one: str, other: str, is_opposite: bool) -> None:
    assert contradict(one, other) == contradict(other, one) == is_opposite
    similar = most_similar(one, [(1, other)], share_of_shorter, with_opposites=True)
    assert [near.is_opposite for near in similar if near.is_opposite] == [True] * is_opposite
    if is_opposite:
        assert "seems to say the opposite" in similar[0].note(Kind.CONSTRAINT)
