"""Codecs of fields: what a line may hold, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from satchel.base.errors import InvalidInput
from satchel.keep.fields import choice
from tables import in_one_test


@in_one_test("value", ["third", 1, ["first"], None])
def test_a_value_that_is_none_of_the_names_is_refused_with_the_valid_ones(value: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        choice({"first": 1, "second": 2}).read(value, None, "of")  # type: ignore[arg-type]

    assert refusal.value.remedy == "Valid: first, second"
