"""Line charts as SVG files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 46
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8a5a9e", "#b08900", "#5a6872")
Points = Sequence[tuple[float, float]]


def line_chart(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Points],
    log_x: bool = False,
    log_y: bool = False,
    y_from_zero: bool = True,
) -> None:
    """Writes a chart.

    Args:
      series: points by name, in the order of the legend.
      y_from_zero: whether a linear axis begins at 0.
    """
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x_of, x_ticks = _axis(xs, LEFT, WIDTH - RIGHT, log_x, False)
    y_of, y_ticks = _axis(ys, HEIGHT - BOTTOM, TOP, log_y, y_from_zero)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 20, title, "start", ' font-weight="bold"'),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label, "middle"),
        _text(0, 0, y_label, "middle", f' transform="translate(14 {HEIGHT / 2:.0f}) rotate(-90)"'),
    ]
    for tick in x_ticks:
        parts.append(_line(x_of(tick), TOP, x_of(tick), HEIGHT - BOTTOM))
        parts.append(_text(x_of(tick), HEIGHT - BOTTOM + 16, f"{tick:g}", "middle"))
    for tick in y_ticks:
        parts.append(_line(LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick)))
        parts.append(_text(LEFT - 6, y_of(tick) + 4, f"{tick:g}", "end"))
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        places = [(round(x_of(x), 1), round(y_of(y), 1)) for x, y in points]
        route = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{route}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(points) <= 12:
            parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 12 + 18 * i
        parts.append(
            f'<rect x="{WIDTH - RIGHT + 10}" y="{y - 9}" width="12" height="4" fill="{colour}"/>'
        )
        parts.append(_text(WIDTH - RIGHT + 28, y, name, "start"))
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def _axis(
    values: Sequence[float], first: float, last: float, log: bool, from_zero: bool
) -> tuple[Callable[[float], float], list[float]]:
    """Returns: what gives the place of a value, and the values of the ticks."""
    if log:
        lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        n = max(highest - lowest, 1)
        ticks = [10.0 ** (lowest + i) for i in range(n + 1)]
        return lambda v: first + (math.log10(v) - lowest) / n * (last - first), ticks
    low, high = (0.0 if from_zero else min(values)), max(values)
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= 6)
    start, end = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(i * step, 12) for i in range(start, max(end, start + 1) + 1)]
    scale = (last - first) / (ticks[-1] - ticks[0])
    return lambda v: first + (v - ticks[0]) * scale, ticks


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
