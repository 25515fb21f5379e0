"""Other forms of English words that the index's stemmer keeps apart: expiry and expire, chose and choose."""

from __future__ import annotations

from functools import cache, lru_cache

_FAMILIES = """
    absorb absorption|admit admission|apply application|assume assumption|break broke broken|choose chose chosen choice
    classify classification|close closure|compare comparison|comply compliance|consume consumption|convert conversion
    decide decision|deliver delivery|deny denial|describe description|destroy destruction|discover discovery
    divide division|exclude exclusion|expand expansion|expire expiry|explain explanation|expose exposure
    extend extension|fail failure|forget forgot forgotten|freeze froze frozen|grow grew grown growth|hide hid hidden
    identify identification|include inclusion|injure injury|inquire inquiry|introduce introduction|invert inversion
    lose lost loss|maintain maintenance|modify modification|multiply multiplication|notify notification
    permit permission|prefer preference|produce production|qualify qualification|receive receipt|recover recovery
    reduce reduction|refer reference|rely reliance|resolve resolution|respond response|retain retention
    revert reversion|shrink shrank shrunk|simplify simplification|solve solution|specify specification
    steal stole stolen|submit submission|subscribe subscription|succeed success|throw threw thrown|vary variation
    verify verification|write wrote written
"""


@cache
def _families() -> dict[str, tuple[str, ...]]:
    families = [family.split() for family in _FAMILIES.strip().replace("\n", "|").split("|")]
    return {word: tuple(other for other in family if other != word) for family in families for word in family}


@lru_cache(maxsize=4_096)
def forms_of(word: str) -> tuple[str, ...]:
    """Return other forms of a word in lower case; of a plural or a past form those of the word itself."""
    families = _families()
    ies = f"{word[:-3]}y" if word.endswith("ies") else word
    for base in (word, word.removesuffix("s"), word.removesuffix("d"), word.removesuffix("ed"), ies):
        if base in families:
            return families[base]
    return ()
