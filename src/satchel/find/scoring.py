"""Scoring: BM25 term weights, and evidence from the neighbours of an entry."""

# BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with idf as ln(1 + (N - n + .5) / (n +
# .5)).

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from satchel.base.records import dataclass, field

# one pair for short notes and for code: pairs tuned for LoCoMo or CoSQA alone lose on the other
K1 = 1.0
B = 0.7
# Weight of a match in the parts of identifiers, relative to one in the text.
PARTS_WEIGHT = 0.5

# Weight of a term in the next neighbour, and in the one after that.
NEIGHBOUR_WEIGHTS = (0.5, 0.25)

# The same where the neighbours share neither loop nor task.
LOOSE_NEIGHBOUR_WEIGHTS = (0.1, 0.03)

# Weight of the best matches in the same loop or task.
SEGMENT_WEIGHT = 0.2

# Bonus for an entry whose author is named in the question.
AUTHOR_BONUS = 3.0

# Factor for entries by anyone else in that case.
#
# On LoCoMo recall@10 is .765 with .85 and with .8, .762 without; questions that name the wrong one lose .08 with .8,
# .05 with .85.
OTHERS_SHARE = 0.85

# An answer to a question scores at least this share of the best; on LoCoMo this drops six hits of ten, but none of the
# expected ones among the first 20.
LEAST_OF_BEST = 0.25

# A neighbour without a term is shown if its match scores at least this share of the best.
LEAST_OF_NEIGHBOUR = 0.8


# A matching document and the report of the index: its length in words as two bytes, then for each term two more, its
# counts in the text and in the parts, up to 255.
Matched = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Matches:
    """The documents that match a query, and of those that were not read how many have which report."""

    read: list[Matched]
    unread: Counter[bytes] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The segment and the neighbours of a document, nearest first.

    Attributes:
        segment: the loop or task; None where only time groups the documents.
        neighbours: pairs of (distance 1 or 2, document).
    """

    document: int
    segment: tuple[int, str] | None
    neighbours: tuple[tuple[int, int], ...]


def term_scores(
    matched: Sequence[Matched],
    weights: Sequence[float],
    population: int,
    words: Mapping[int, int] | None = None,
    unread: Counter[bytes] | None = None,
) -> tuple[dict[int, list[float]], list[float]]:
    """Return the score of each term by document, and the idf of each term.

    ``words`` has for the position of another form that of its word: a form counts as no rarer than the word.
    """
    size = len(weights)
    frequencies = [0] * size
    total_length = 0
    # many matches have the same length and counts, so each combination is scored once
    alike = Counter([counts for _, counts in matched])
    every = alike + unread if unread else alike
    for counts, times in every.items():
        total_length += times * ((counts[0] << 8) + counts[1])
        for term in range(size):
            if counts[2 * term + 2] or counts[2 * term + 3]:
                frequencies[term] += times
    population = max(population, every.total())
    idf = [math.log(1 + (population - n + 0.5) / (n + 0.5)) for n in frequencies]
    for form, word in (words or {}).items():
        idf[form] = min(idf[form], idf[word])
    average = max(1.0, total_length / max(1, every.total()))
    factors = [value * weight * (K1 + 1) for value, weight in zip(idf, weights, strict=True)]
    scored: dict[bytes, list[float]] = {}
    for counts in alike:
        softening = K1 * (1 - B + B * ((counts[0] << 8) + counts[1]) / average)
        scores = [0.0] * size
        for term in range(size):
            amount = counts[2 * term + 2] + PARTS_WEIGHT * counts[2 * term + 3]
            if amount:
                scores[term] = factors[term] * amount / (amount + softening)
        scored[counts] = scores
    return {document: scored[counts] for document, counts in matched}, idf


def with_most(
    matched: Sequence[Matched],
    things: Sequence[Sequence[int]],
    names: int,
    population: int,
    least_share: float,
    unread: Counter[bytes] | None = None,
) -> list[Matched]:
    """Return the documents that contain at least a share of what the best one contains, by idf.

    ``things`` are the positions of alternative terms. The first ``names`` of them are exact names; if any document
    contains one of those, the others are dropped.
    """
    alike = Counter([counts for _, counts in matched])
    alike.update(unread or {})
    contained = {
        counts: [any(counts[2 * term + 2] or counts[2 * term + 3] for term in thing) for thing in things]
        for counts in alike
    }
    population = max(population, alike.total())
    idf: list[float] = []
    for place in range(len(things)):
        number = sum(times for counts, times in alike.items() if contained[counts][place])
        idf.append(math.log(1 + (population - number + 0.5) / (number + 0.5)))
    shares = {
        counts: sum(value for value, is_contained in zip(idf, holds, strict=True) if is_contained)
        for counts, holds in contained.items()
    }
    least = least_share * max(shares.values(), default=0.0)
    with_name = {counts for counts, holds in contained.items() if any(holds[:names])} or contained.keys()
    return [row for row in matched if shares[row[1]] >= least and row[1] in with_name]


def with_surroundings(scores: Mapping[int, Sequence[float]], places: Iterable[Surroundings]) -> dict[int, list[float]]:
    """Return term scores that include evidence from neighbours, with the segment's share as one more value.

    Each term counts with the best evidence there is: the document's own, or a share of a neighbour's. The segment adds
    a share of its best scores. On LoCoMo, taking the best of each term beats adding whole scores: a term that
    neighbours repeat is not counted twice.
    """
    segments: dict[tuple[int, str], list[float]] = {}
    gathered: dict[int, list[float]] = {}
    segment_of: dict[int, tuple[int, str] | None] = {}

    def gather(document: int, segment: tuple[int, str] | None, values: Sequence[float]) -> None:
        segment_of[document] = segment
        earlier = gathered.get(document) or scores.get(document)
        gathered[document] = list(values) if earlier is None else _better(earlier, values)

    for place in places:
        own = scores[place.document]
        around = LOOSE_NEIGHBOUR_WEIGHTS
        if place.segment is not None:
            around = NEIGHBOUR_WEIGHTS
            segments[place.segment] = _better(segments.get(place.segment, own), own)
        gather(place.document, place.segment, own)
        shares = [[share * value for value in own] for share in around]
        for distance, document in place.neighbours:
            gather(document, place.segment, shares[distance - 1])
    evidence: dict[int, list[float]] = {}
    for document, values in gathered.items():
        segment = segment_of[document]
        evidence[document] = [*values, SEGMENT_WEIGHT * sum(segments[segment]) if segment is not None else 0.0]
    return evidence


def near_best(
    totals: Mapping[int, float], own: Mapping[int, Sequence[float]], evidence: Mapping[int, Sequence[float]]
) -> dict[int, float]:
    """Return the scores that are not far below the best."""
    best = max(totals.values(), default=0.0)
    best_own = LEAST_OF_BEST * max(map(sum, own.values()), default=0.0)
    in_segment, loose = (LEAST_OF_NEIGHBOUR * weights[0] for weights in (NEIGHBOUR_WEIGHTS, LOOSE_NEIGHBOUR_WEIGHTS))
    least = {
        document: (in_segment if shares[-1] else loose) * best
        for document, shares in evidence.items()
        if document not in own
    }
    usual = LEAST_OF_BEST * best
    return {
        document: total
        for document, total in totals.items()
        if total >= least.get(document, usual) or (document in own and sum(own[document]) >= best_own)
    }


def _better(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [max(other, one) for one, other in zip(first, second, strict=True)]
