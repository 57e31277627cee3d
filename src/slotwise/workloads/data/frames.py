"""Frames of a video, 96 × 128 grey pixels in base64, most with a logo, for paper 5's VLD."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np

from slotwise.workloads.video import HEIGHT, LOGO_SIZE, LOGOS, WIDTH, Image, logos

LINES = 170
PATTERNS = logos()


def lines() -> Iterator[str]:
    return (base64.b64encode(_frame(number).tobytes()).decode() for number in range(LINES))


def shown(number: int) -> int | None:
    """The logo in a frame; one frame in 17 has none."""
    logo = number % (LOGOS + 1)
    return None if logo == LOGOS else logo


def _frame(number: int) -> Image:
    random = np.random.default_rng([10, number])
    row, column = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = random.uniform(20, 40, 2)
    scene = 128 + 40 * np.sin(row / waves[0]) + 40 * np.cos(column / waves[1])
    frame: Image = np.clip(scene + random.normal(0, 2, scene.shape), 0, 255).astype(np.uint8)
    if (logo := shown(number)) is not None:
        top, left = random.integers(0, (HEIGHT - LOGO_SIZE, WIDTH - LOGO_SIZE))
        frame[top : top + LOGO_SIZE, left : left + LOGO_SIZE] = PATTERNS[logo]
    return frame
