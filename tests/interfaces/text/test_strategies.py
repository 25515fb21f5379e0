"""What saving a strategy answers, and saying whether it helped."""

from __future__ import annotations

from dataclasses import replace

from satchel.interfaces.text.strategies import judged_text, saved_text
from satchel.keep.strategies import Strategy

STRATEGY = Strategy(3, "ab", 3, "token-refresh", "refresh early", None, None, 0, 0, None, None, 1, 1)


def test_the_answer_to_saving_names_the_strategy_and_what_it_is_for() -> None:
    one = replace(STRATEGY, lang="python", framework="django rest", agent="ann", notes=("s1 says nearly the same",))
    assert saved_text(one) == (
        'saved s3 token-refresh lang:python framework:"django rest" by ann\nnote: s1 says nearly the same'
    )


def test_one_for_any_language_by_nobody_says_so() -> None:
    assert saved_text(STRATEGY) == "saved s3 token-refresh by -"


def test_the_answer_to_an_outcome_counts_what_helped_and_what_did_not() -> None:
    assert judged_text(STRATEGY) == "s3 token-refresh"
    assert judged_text(replace(STRATEGY, helped=2, not_helped=1)) == "s3 token-refresh helped 2 times failed 1 time"
