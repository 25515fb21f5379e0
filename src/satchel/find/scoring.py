"""How well texts match: term weights in the manner of BM25, and what stands around an entry.

BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with idf as ln(1 + (N - n + .5) / (n + .5)).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from satchel.base.records import dataclass

# one pair for short notes and for code: measured on LoCoMo and CoSQA, where the pairs made for either lose on the other
K1 = 1.0
B = 0.7
PARTS_WEIGHT = 0.5
"""What a match in the parts of identifiers counts, against one in the text."""

NEIGHBOUR_WEIGHTS = (0.5, 0.25)
"""What a term counts for an entry when its next neighbour has it, and the one after that."""

LOOSE_NEIGHBOUR_WEIGHTS = (0.1, 0.03)
"""The same where only time holds the entries together."""

SEGMENT_WEIGHT = 0.2
"""What the best matches of an entry's loop or task count for it."""

AUTHOR_BONUS = 3.0
"""What an entry gains when the question names its author."""

OTHERS_SHARE = 0.85
"""What the score of an entry by anyone else counts then.

On LoCoMo recall@10 is .765 with .85 and with .8, .762 without; questions that name the wrong one lose .08 with .8, .05
with .85.
"""

LEAST_OF_BEST = 0.25
"""What answers a question scores at least this share of the best; on LoCoMo that leaves out six hits of ten, and none
of the first 20 that were looked for."""

LEAST_OF_LENDER = 0.8
"""What only stands beside a match is shown where that match scores at least this share of the best."""


Matched = tuple[int, bytes]
"""A document that matched, and what the index reports of it: its length in words as two bytes, then for each term two
more, how often it is in the text and in the parts, up to 255."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A document's place: its segment, whether that is named, and its neighbours by distance, nearest first.

    Attributes:
        segment: what tells it from others; None where only time bounds it.
        neighbours: pairs of (distance 1 or 2, document).
    """

    document: int
    segment: tuple[int, str] | None
    neighbours: tuple[tuple[int, int], ...]


def term_scores(
    matched: Sequence[Matched], weights: Sequence[float], population: int
) -> tuple[dict[int, list[float]], list[float]]:
    """Score every term for every document.

    Args:
        matched: the documents that match.
        weights: the weight of each term.
        population: how many documents there are to choose from.

    Returns:
        For each document the score of each term, and the idf of each term.
    """
    size = len(weights)
    frequencies = [0] * size
    total_length = 0
    # many documents of one search are alike in length and counts, so each such pair is scored once
    alike = Counter([counts for _, counts in matched])
    for counts, times in alike.items():
        total_length += times * ((counts[0] << 8) + counts[1])
        for term in range(size):
            if counts[2 * term + 2] or counts[2 * term + 3]:
                frequencies[term] += times
    population = max(population, len(matched))
    idf = [math.log(1 + (population - n + 0.5) / (n + 0.5)) for n in frequencies]
    average = max(1.0, total_length / max(1, len(matched)))
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


def holding_most(
    matched: Sequence[Matched], things: Sequence[Sequence[int]], names: int, population: int, least_share: float
) -> list[Matched]:
    """Return the documents that hold at least a share of what the best one holds, and of the names that occur one.

    Args:
        matched: the documents that match.
        things: for each thing that is looked for, the places of the terms of which any is enough.
        names: how many of them, the first, are names.
        population: how many documents there are to choose from.
        least_share: of the idf of the things, 0 to 1.
    """
    alike = Counter([counts for _, counts in matched])
    held = {
        counts: [any(counts[2 * term + 2] or counts[2 * term + 3] for term in thing) for thing in things]
        for counts in alike
    }
    population = max(population, len(matched))
    worth: list[float] = []
    for place in range(len(things)):
        number = sum(times for counts, times in alike.items() if held[counts][place])
        worth.append(math.log(1 + (population - number + 0.5) / (number + 0.5)))
    shares = {
        counts: sum(value for value, there in zip(worth, holds, strict=True) if there) for counts, holds in held.items()
    }
    least = least_share * max(shares.values(), default=0.0)
    named = {counts for counts, holds in held.items() if any(holds[:names])} or held.keys()
    return [row for row in matched if shares[row[1]] >= least and row[1] in named]


def with_surroundings(scores: Mapping[int, Sequence[float]], places: Iterable[Surroundings]) -> dict[int, list[float]]:
    """Let what stands around an entry speak for it.

    Each term counts for a document with the best evidence there is: its own, or a share of a neighbour's; and besides,
    a share of the best in its loop or task. Measured on LoCoMo, taking the best of each term beats adding up whole
    scores: what neighbours repeat is not counted twice.

    Args:
        scores: what :func:`term_scores` returned.
        places: the best documents, with their neighbours.

    Returns:
        New term scores for those documents and their neighbours, with one more value at the end: the segment's share.
    """
    segments: dict[tuple[int, str], list[float]] = {}
    gathered: dict[int, list[float]] = {}
    segment_of: dict[int, tuple[int, str] | None] = {}

    def gather(document: int, segment: tuple[int, str] | None, values: Sequence[float]) -> None:
        segment_of[document] = segment
        known = gathered.get(document) or scores.get(document)
        gathered[document] = list(values) if known is None else _better(known, values)

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
    """Return the scores that are not far below the best.

    Args:
        totals: the scores of documents.
        own: the term scores of those that hold a term themselves; a share of the best of these is enough too.
        evidence: what :func:`with_surroundings` returned; it alone brings the others.
    """
    best = max(totals.values(), default=0.0)
    best_own = max(map(sum, own.values()), default=0.0)
    in_segment, loose = (LEAST_OF_LENDER * weights[0] for weights in (NEIGHBOUR_WEIGHTS, LOOSE_NEIGHBOUR_WEIGHTS))

    def is_near(document: int, total: float) -> bool:
        if document in own:
            return total >= LEAST_OF_BEST * best or sum(own[document]) >= LEAST_OF_BEST * best_own
        return total >= (in_segment if evidence[document][-1] else loose) * best

    return {document: total for document, total in totals.items() if is_near(document, total)}


def _better(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the higher score of each term."""
    return [max(other, one) for one, other in zip(first, second, strict=True)]
