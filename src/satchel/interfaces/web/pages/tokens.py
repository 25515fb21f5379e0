"""Tokens added to the context of agents: a stacked bar chart, made on the server, and the same as a table.

Only the bars are SVG, stretched to the available width. Axes and legend are text, so that they are readable on a phone.
Colours are classes of the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from satchel.base.records import NamedTuple
from satchel.brief.room.memory import Spending
from satchel.interfaces.web.rendering import date, visible
from satchel.interfaces.web.request import Page, PageRequest, View

_DAYS = (14, 30, 90)
_COLOURS = 8
"""More series begin with the first colour again."""

_WIDTH, _HEIGHT = 1_000, 200
_MOST_STEPS = 4
_LABELS = 5
"""A phone has no room for more labels below a chart."""

_GAP = 0.2
"""The part of a bar's place that stays free."""


class Series(NamedTuple):
    """One series of bars: a value for each label."""

    name: str
    values: Sequence[float]


def tokens(request: PageRequest) -> Page:
    """Return the page of the tokens added to context."""
    days = request.number("days", _DAYS[0])
    spending = request.reader.room.spending(days)
    context = {"spending": spending, "days": days, "day_choices": _DAYS, "chart": _chart_of(spending)}
    return Page(f"Tokens of {request.project.name}", "tokens.html", context, spending, request.project)


def chart(caption: str, unit: str, labels: Sequence[str], series: Sequence[Series], description: str) -> Markup:
    """Return a chart of stacked bars.

    Args:
        caption: the title.
        unit: of the values, as in ``tokens``.
        labels: one for each bar.
        series: from the bottom up.
        description: the content as text, for people who do not see the chart.
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
                start, bar = width * (place + _GAP / 2), width * (1 - _GAP)
                path.append(f"M{start:.4g} {_y(above, top):.4g}h{bar:.4g}V{_y(below[place], top):.4g}h-{bar:.4g}z")
                below[place] = above
        shapes.append(Markup('<path class="c{} fill" d="{}"/>').format(number % _COLOURS, "".join(path)))
    height = _HEIGHT / (len(marks) - 1)
    grid = "".join(f"M0 {height * place:.4g}H{_WIDTH}" for place in range(len(marks)))
    legend = Markup("").join(
        Markup(
            '<li><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><path class="c{} fill" d="M0 0h12v12h-12z"/>'
            '</svg> <bdi>{}</bdi></li>'
        ).format(number % _COLOURS, visible(name))
        for number, name in enumerate(one.name for one in series)
    )  # fmt: skip
    return Markup(
        '<figure class="plot"><figcaption>{caption} <span class="quiet">({unit})</span></figcaption>'
        '<div class="scale" aria-hidden="true">{marks}</div>'
        '<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{description}">'
        '<path class="grid" d="{grid}"/>{shapes}</svg>'
        '<div class="labels" aria-hidden="true">{labels}</div><ul class="legend">{legend}</ul></figure>'
    ).format(
        caption=visible(caption),
        unit=unit,
        description=visible(description),
        width=_WIDTH,
        height=_HEIGHT,
        grid=grid,
        marks=Markup("").join(Markup("<span>{}</span>").format(_written(mark)) for mark in marks),
        shapes=Markup("").join(shapes),
        labels=Markup("").join(Markup("<span>{}</span>").format(visible(label)) for label in _some(labels)),
        legend=legend,
    )


def _y(value: float, top: float) -> float:
    return _HEIGHT * (1 - value / top)


def _scale(highest: float) -> tuple[float, list[float]]:
    """Return the top of an axis, and its marks from there down to 0."""
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


def _written(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.4g}"


def _chart_of(spending: Spending) -> Markup:
    labels = [date(day.began_at) for day in spending.days]
    series = [
        Series(one.name, [day.tokens[place] for day in spending.days]) for place, one in enumerate(spending.moments)
    ]
    description = f"No tokens were added to context in {len(labels)} days"
    if spending.tokens:
        most = max(spending.days, key=lambda day: sum(day.tokens))
        shares = ", ".join(f"{one.name} {one.tokens / spending.tokens:.0%}" for one in spending.moments)
        description = (
            f"Tokens added to context on each of {len(labels)} days: {spending.tokens:,} in all, most on "
            f"{date(most.began_at)} with {sum(most.tokens):,}; {shares}"
        )
    return chart("Tokens added to context", "tokens per day, UTC", labels, series, description)


PAGES: Mapping[str, View] = {"/tokens": tokens}
