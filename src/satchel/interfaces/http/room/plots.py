"""Plots made on the server: stacked bars and lines, with axes, a legend and a text that says the same.

Only the shapes are SVG, stretched to the width there is. Axes and legend are text beside it, so that they are as
large on a phone as on a wide screen. Colours are classes of the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from satchel.base.records import NamedTuple
from satchel.interfaces.http.room.formatting import date, shown

COLOURS = 8
"""So many series have a colour of their own; more begin with the first again."""

_WIDTH, _HEIGHT = 1_000, 200
_MOST_STEPS = 4
_LABELS = 5
"""So many labels stand below a plot: on a phone there is no room for more."""

_GAP = 0.2
"""The part of a bar's place that stays free."""


class Series(NamedTuple):
    """One series of bars: a value for each label."""

    name: str
    values: Sequence[float]


class Line(NamedTuple):
    """One line: points of a time in milliseconds UTC and a value, in order of time."""

    name: str
    points: Sequence[tuple[int, float]]


def bars(caption: str, unit: str, labels: Sequence[str], series: Sequence[Series], said: str) -> Markup:
    """Return a plot of stacked bars.

    Args:
        caption: what is shown.
        unit: of the values, as in ``tokens``.
        labels: one for each bar.
        series: from the bottom up.
        said: what the plot shows, for those who do not see it.
    """
    highest = max((sum(one.values[place] for one in series) for place in range(len(labels))), default=0)
    top, marks = _scale(highest)
    width = _WIDTH / max(1, len(labels))
    below = [0.0] * len(labels)
    shapes: list[Markup] = []
    for number, one in enumerate(series):
        path: list[str] = []
        for place, value in enumerate(one.values):
            if value:
                above = below[place] + value
                left, bar = width * (place + _GAP / 2), width * (1 - _GAP)
                path.append(f"M{left:.4g} {_y(above, top):.4g}h{bar:.4g}V{_y(below[place], top):.4g}h-{bar:.4g}z")
                below[place] = above
        shapes.append(Markup('<path class="c{} fill" d="{}"/>').format(number % COLOURS, "".join(path)))
    return _figure(caption, unit, shapes, marks, _some(labels), [one.name for one in series], said)


def lines(
    caption: str,
    unit: str,
    series: Sequence[Line],
    said: str,
    *,
    began_at: int,
    ended_at: int,
    top: float | None = None,
    level: float | None = None,
    as_label: Callable[[int], str] = date,
) -> Markup:
    """Return a plot of values over time, each of which holds until the next of its line.

    Args:
        caption, unit, said: as for :func:`bars`.
        began_at, ended_at: the times that it begins and ends with, in milliseconds UTC.
        top: the highest value of the axis; None is as much as it takes.
        level: a value that a dotted line marks.
        as_label: how a time is written below it.
    """
    top, marks = _scale(max((value for one in series for _, value in one.points), default=0) if top is None else top)
    span = max(1, ended_at - began_at)

    def x(at: int) -> float:
        return _WIDTH * min(1.0, max(0.0, (at - began_at) / span))

    shapes: list[Markup] = []
    for number, one in enumerate(series):
        if not one.points:
            continue
        places = [(x(at), _y(value, top)) for at, value in one.points]
        path = f"M{places[0][0]:.4g} {places[0][1]:.4g}"
        path += "".join(f"H{left:.4g}V{height:.4g}" for left, height in places[1:]) + f"H{_WIDTH}"
        dots = "".join(f"M{left:.4g} {height:.4g}h0" for left, height in places)
        colour = number % COLOURS
        shapes.append(Markup('<path class="c{} line" d="{}"/>').format(colour, path))
        shapes.append(Markup('<path class="c{} dots" d="{}"/>').format(colour, dots))
    if level is not None:
        shapes.append(Markup('<path class="level" d="M0 {:.4g}H{}"/>').format(_y(level, top), _WIDTH))
    labels = [as_label(began_at + span * place // (_LABELS - 1)) for place in range(_LABELS)]
    return _figure(caption, unit, shapes, marks, labels, [one.name for one in series], said)


def _y(value: float, top: float) -> float:
    return _HEIGHT * (1 - value / top)


def _scale(highest: float) -> tuple[float, list[float]]:
    """Return the top of an axis, and the values that stand at it from there down to 0."""
    if highest <= 0:
        return 1, [1, 0]
    step = 10.0 ** math.floor(math.log10(highest / _MOST_STEPS))
    step *= next(times for times in (1, 2, 5, 10) if highest <= times * step * _MOST_STEPS * (1 + 1e-9))
    steps = math.ceil(highest / step - 1e-9)
    return step * steps, [step * number for number in range(steps, -1, -1)]


def _some(labels: Sequence[str]) -> list[str]:
    """Return those of the labels that there is room for, the first and the last among them."""
    if len(labels) <= _LABELS:
        return list(labels)
    return [labels[round(place * (len(labels) - 1) / (_LABELS - 1))] for place in range(_LABELS)]


def _figure(
    caption: str,
    unit: str,
    shapes: Sequence[Markup],
    marks: Sequence[float],
    labels: Sequence[str],
    names: Sequence[str],
    said: str,
) -> Markup:
    height = _HEIGHT / (len(marks) - 1)
    grid = "".join(f"M0 {height * place:.4g}H{_WIDTH}" for place in range(len(marks)))
    legend = Markup("").join(
        Markup(
            '<li><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><path class="c{} fill" d="M0 0h12v12h-12z"/>'
            '</svg> <bdi>{}</bdi></li>'
        ).format(number % COLOURS, shown(name))
        for number, name in enumerate(names)
    )  # fmt: skip
    return Markup(
        '<figure class="plot"><figcaption>{caption} <span class="quiet">({unit})</span></figcaption>'
        '<div class="scale" aria-hidden="true">{marks}</div>'
        '<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{said}">'
        '<path class="grid" d="{grid}"/>{shapes}</svg>'
        '<div class="labels" aria-hidden="true">{labels}</div><ul class="legend">{legend}</ul></figure>'
    ).format(
        caption=shown(caption),
        unit=unit,
        said=shown(said),
        width=_WIDTH,
        height=_HEIGHT,
        grid=grid,
        marks=Markup("").join(Markup("<span>{}</span>").format(_written(mark)) for mark in marks),
        shapes=Markup("").join(shapes),
        labels=Markup("").join(Markup("<span>{}</span>").format(shown(label)) for label in labels),
        legend=legend,
    )


def _written(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.4g}"
