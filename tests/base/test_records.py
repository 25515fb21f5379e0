"""Records are dataclasses to everyone who looks."""

from __future__ import annotations

import copy
import dataclasses
import enum
import inspect
import pickle
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.base import records


class Colour(enum.Enum):
    """An enumeration, whose members know the class that they belong to as slots do."""

    RED = 1
    BLUE = 2


@records.dataclass(frozen=True, slots=True)
class Note:
    """A note."""

    kind: ClassVar[str] = "note"
    text: str
    line: int | None = None
    tags: dict[str, int] = records.field(default_factory=dict)
    score: float = records.field(default=0.0, compare=False, repr=False)

    @property
    def length(self) -> int:
        return len(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class TheirNote:
    """The same by the standard library."""

    kind: ClassVar[str] = "note"
    text: str
    line: int | None = None
    tags: dict[str, int] = dataclasses.field(default_factory=dict)
    score: float = dataclasses.field(default=0.0, compare=False, repr=False)


@records.dataclass(frozen=True, slots=True)
class LongNote(Note):
    pages: int = 1
    length_in_lines: int = records.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length_in_lines", self.pages * 60)


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    width: int = 1


@records.dataclass(frozen=True, slots=True, order=True)
class Ranked:
    rank: int
    name: str


@records.dataclass(slots=True)
class Count:
    first: int = 0
    seen: list[int] = records.field(default_factory=list)


@records.dataclass(frozen=True)
class Open:
    text: str = "as it is"


FIELDS = st.fixed_dictionaries(
    {"text": st.text(max_size=3)},
    optional={
        "line": st.none() | st.integers(0, 2),
        "tags": st.dictionaries(st.text(max_size=1), st.integers(0, 1), max_size=1),
        "score": st.floats(0, 1),
    },
)


@given(FIELDS, FIELDS)
def test_a_record_shows_compares_and_unfolds_as_a_dataclass_does(one: dict[str, Any], other: dict[str, Any]) -> None:
    ours, theirs = Note(**one), TheirNote(**one)

    assert repr(ours) == repr(theirs).replace("TheirNote", "Note")
    assert (ours == Note(**other)) == (theirs == TheirNote(**other))
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert dataclasses.astuple(records.replace(ours, **other)) == dataclasses.astuple(
        dataclasses.replace(theirs, **other)
    )
    assert dataclasses.replace(ours, **other) == records.replace(ours, **other)
    assert copy.deepcopy(ours) == ours == pickle.loads(pickle.dumps(ours))


def test_fields_and_signature_are_those_of_a_dataclass() -> None:
    def described(kind: Any) -> list[tuple[object, ...]]:
        return [(one.name, one.type, one.default, one.init, one.compare) for one in dataclasses.fields(kind)]

    assert dataclasses.is_dataclass(Note)
    assert described(Note) == described(TheirNote)
    assert str(inspect.signature(Note)) == str(inspect.signature(TheirNote))
    assert Note.__match_args__ == TheirNote.__match_args__
    assert records.field_names(Note("x")) == ("text", "line", "tags", "score") == records.field_names(Note)
    assert records.field_names("x") is None
    assert Note.kind == "note"
    assert Note("four").length == 4


def test_a_frozen_record_refuses_every_change() -> None:
    note = Note("x")

    with pytest.raises(dataclasses.FrozenInstanceError):
        note.text = "y"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del note.text
    with pytest.raises(AttributeError):
        note.unknown = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("arguments", [(), ("x", 1, {}, 0.0, 5)])
def test_a_record_refuses_too_few_and_too_many_values(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Note(*arguments)


def test_a_record_refuses_an_unknown_name() -> None:
    with pytest.raises(TypeError, match="colour"):
        Note("x", colour=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        records.replace(Note("x"), colour=1)  # type: ignore[call-arg]


def test_a_record_inherits_fields_and_is_no_equal_of_its_parent() -> None:
    note = LongNote("x", pages=2)

    assert (note.text, note.pages, note.length_in_lines) == ("x", 2, 120)
    assert records.replace(note, pages=3).length_in_lines == 180
    assert Note("x") != note
    assert not hasattr(note, "__dict__")


def test_a_dataclass_may_extend_a_record() -> None:
    @dataclasses.dataclass(frozen=True)
    class More(Open):
        more: int = 1

    assert More("x", 2).text == "x"
    with pytest.raises(TypeError, match="frozen"):

        @dataclasses.dataclass
        class Loose(Open):  # type: ignore[misc]
            more: int = 1


def test_values_given_by_name_alone_cannot_be_given_by_place() -> None:
    assert Named(name="x") == Named(name="x", width=1)
    with pytest.raises(TypeError, match="positional"):
        Named("x")  # type: ignore[call-arg]


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=1)), max_size=8))
def test_ordered_records_sort_by_their_values(values: list[tuple[int, str]]) -> None:
    assert [(one.rank, one.name) for one in sorted(Ranked(*pair) for pair in values)] == sorted(values)
    assert all((Ranked(*a) <= Ranked(*b)) == (a <= b) for a in values for b in values)


def test_equal_records_hash_alike_and_changeable_ones_do_not_hash() -> None:
    assert len({Ranked(1, "a"), Ranked(1, "a"), Ranked(2, "a")}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Count())


def test_the_hundredth_record_is_made_like_the_first() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Line(Note):
        width: int = 80

    made = [Line("x", tags={"a": 1}, width=7) for _ in range(100)]

    assert all(one == made[0] and one.score == 0.0 for one in made)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'text'"):
        Line()  # type: ignore[call-arg]


def test_changeable_records_share_no_default() -> None:
    one, other = Count(), Count()
    one.seen.append(1)
    one.first = 3

    assert (other.first, other.seen) == (0, [])


def test_a_record_without_slots_takes_cached_values_and_keeps_its_defaults_on_the_class() -> None:
    assert Open.text == "as it is"
    assert vars(Open("x")) == {"text": "x"}


def test_a_default_may_be_a_member_of_an_enumeration() -> None:
    @records.dataclass(frozen=True)
    class Ruled:
        colour: Colour = Colour.RED

    assert (Ruled().colour, Ruled(Colour.BLUE).colour) == (Colour.RED, Colour.BLUE)


class Place(records.NamedTuple):
    """A named tuple."""

    file: str
    line: int = 1

    @property
    def said(self) -> str:
        return f"{self.file}:{self.line}"


class TestNamedTuple:
    """It is what ``typing.NamedTuple`` makes to all who use it."""

    def test_is_a_tuple_with_names_and_defaults(self) -> None:
        assert Place("a.py") == ("a.py", 1)
        assert Place(line=2, file="a.py").said == "a.py:2"
        assert Place._fields == Place.__match_args__ == ("file", "line")

    def test_is_remade_from_values_and_with_changes(self) -> None:
        place = Place._make(["a.py", 3])
        assert place._replace(line=4)._asdict() == {"file": "a.py", "line": 4}
        assert repr(place) == "Place(file='a.py', line=3)"

    @pytest.mark.parametrize("given", [(), ("a.py", 1, 2)])
    def test_refuses_too_few_and_too_many_values(self, given: tuple[Any, ...]) -> None:
        with pytest.raises(TypeError):
            Place(*given)

    def test_refuses_another_value_and_a_name_that_it_lacks(self) -> None:
        with pytest.raises(AttributeError):
            Place("a.py").line = 2  # type: ignore[misc]
        with pytest.raises(TypeError):
            Place("a.py")._replace(column=2)  # type: ignore[call-arg]

    def test_is_copied_and_pickled(self) -> None:
        place = Place("a.py", 7)
        assert copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place
        assert type(pickle.loads(pickle.dumps(place))) is Place
