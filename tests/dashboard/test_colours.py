"""The page's colours, as style.css has them: told apart by people without red, green or blue cones,
and with text on them that can be read, in the light and in the dark theme.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from slotwise.dashboard.one_file import PAGE

Colour = npt.NDArray[np.float64]
"""Red, green and blue, linear, 0 to 1."""

SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""What a colour looks like to somebody: Machado, Oliveira and Fernandes 2009, severity 1."""
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""Of sRGB, at daylight (D65)."""

FILLS = ("idle", "low", "moderate", "high", "over")
MARKS = ("mark-decision", "mark-restart", "mark-fault", "quiet")
LINES = ("first", "second", "third", "fourth", "goal")
TOLD_APART = 15.0
"""ΔE (CIE 1976); about 2 is the least that people with normal sight see side by side."""
READ, SEEN = 4.5, 3.0
"""WCAG 2.2: contrast of text (1.4.3), and of lines (1.4.11)."""

CSS = (PAGE / "style.css").read_text(encoding="utf-8")
THEMES = {
    theme: {
        name: pair[position]
        for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
    }
    for position, theme in enumerate(("light", "dark"))
}


def linear(colour: str) -> Colour:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, sight: str) -> Colour:
    """CIE L*a*b* of what is seen."""
    seen = np.clip(SIGHTS[sight] @ linear(colour), 0, 1)
    parts = (XYZ @ seen) / XYZ.sum(axis=1)
    x, y, z = np.where(parts > 216 / 24389, np.cbrt(parts), (24389 / 27 * parts + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: str, other: str, sight: str) -> float:
    return float(np.linalg.norm(lab(one, sight) - lab(other, sight)))


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def test_the_measures_are_those_of_the_standards() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert lab("#ff0000", "normal") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    assert difference("#97690d", "#b9481a", "deuteranopia") < 1


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("names", [FILLS, MARKS, LINES], ids=["fills", "marks", "lines"])
def test_colours_are_told_apart(names: tuple[str, ...], sight: str, theme: str) -> None:
    colours = THEMES[theme]
    alike = {
        pair: round(found, 1)
        for pair in combinations(names, 2)
        if (found := difference(colours[pair[0]], colours[pair[1]], sight)) < TOLD_APART
    }
    assert alike == {}


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_read_and_lines_are_seen(theme: str) -> None:
    colours = THEMES[theme]
    wanted = {(name, "ink"): READ for name in (*FILLS, "ground", "surface", "marked")}
    wanted |= {(name, "surface"): READ for name in (*MARKS, "goal", "warning", "accent")}
    wanted |= {(name, "surface"): SEEN for name in LINES if name != "goal"}
    wanted |= {("on-accent", "accent"): READ}
    faint = {
        pair: round(found, 2)
        for pair, least in wanted.items()
        if (found := contrast(*(colours[name] for name in pair))) < least
    }
    assert faint == {}
