"""How well texts match: term weights in the manner of BM25, and what stands around an entry.

BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with idf as ln(1 + (N - n + .5) / (n + .5)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# one pair for short notes and for code: measured on LoCoMo and CoSQA, where the pairs made for either lose on the other
K1 = 1.0
B = 0.7
PARTS_WEIGHT = 0.5
"""What a match in the parts of identifiers counts, against one in the text."""

NEIGHBOUR_WEIGHTS = (0.5, 0.25)
"""What a term counts for an entry when its next neighbour has it, and the one after that."""

LOOSE_NEIGHBOUR_WEIGHTS = (0.15, 0.05)
"""The same where only time holds the entries together."""

SEGMENT_WEIGHT = 0.2
"""What the best matches of an entry's loop or task count for it."""

AUTHOR_BONUS = 1.5
"""What an entry gains when the question names its author."""


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
    for _, counts in matched:
        total_length += (counts[0] << 8) + counts[1]
        for term in range(size):
            if counts[2 * term + 2] or counts[2 * term + 3]:
                frequencies[term] += 1
    population = max(population, len(matched))
    idf = [math.log(1 + (population - n + 0.5) / (n + 0.5)) for n in frequencies]
    average = max(1.0, total_length / max(1, len(matched)))
    factors = [value * weight * (K1 + 1) for value, weight in zip(idf, weights, strict=True)]
    scores: dict[int, list[float]] = {}
    for document, counts in matched:
        softening = K1 * (1 - B + B * ((counts[0] << 8) + counts[1]) / average)
        scores[document] = [
            factor * (text + PARTS_WEIGHT * parts) / (text + PARTS_WEIGHT * parts + softening) if text or parts else 0.0
            for factor, text, parts in zip(factors, counts[2::2], counts[3::2], strict=True)
        ]
    return scores, idf


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
    known = list(places)
    size = len(next(iter(scores.values()), ()))
    segments: dict[tuple[int, str], list[float]] = {}
    gathered: dict[int, list[float]] = {}
    segment_of: dict[int, tuple[int, str] | None] = {}
    for place in known:
        own = scores[place.document]
        around = NEIGHBOUR_WEIGHTS if place.segment is not None else LOOSE_NEIGHBOUR_WEIGHTS
        if place.segment is not None:
            best = segments.setdefault(place.segment, [0.0] * size)
            for term, value in enumerate(own):
                best[term] = max(best[term], value)
        for distance, document in ((0, place.document), *place.neighbours):
            share = around[distance - 1] if distance else 1.0
            segment_of[document] = place.segment
            values = gathered.setdefault(document, list(scores.get(document, [0.0] * size)))
            for term, value in enumerate(own):
                values[term] = max(values[term], share * value)
    for document, values in gathered.items():
        segment = segment_of[document]
        values.append(SEGMENT_WEIGHT * sum(segments[segment]) if segment is not None else 0.0)
    return gathered
