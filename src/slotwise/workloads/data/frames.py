"""Frames of a video, 96 × 128 grey pixels in base64, most with one of 16 logos, for paper 5's VLD."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

LINES = 170
HEIGHT, WIDTH = 96, 128
LOGOS = 16
LOGO_SIZE, BLOCK = 36, 6
"""A logo is a pattern of 6 × 6 blocks, each of one grey."""

Image = NDArray[np.uint8]


def lines() -> Iterator[str]:
    return (base64.b64encode(_frame(number).tobytes()).decode() for number in range(LINES))


def shown(number: int) -> int | None:
    """The logo in a frame; one frame in 17 has none."""
    logo = number % (LOGOS + 1)
    return None if logo == LOGOS else logo


@cache
def logos() -> tuple[Image, ...]:
    """The logos that are looked for."""
    random = np.random.default_rng(9)
    blocks = LOGO_SIZE // BLOCK
    patterns = random.integers(0, 256, (LOGOS, blocks, blocks), dtype=np.uint8)
    return tuple(np.kron(pattern, np.ones((BLOCK, BLOCK), np.uint8)) for pattern in patterns)


def _frame(number: int) -> Image:
    random = np.random.default_rng([10, number])
    row, column = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = random.uniform(20, 40, 2)
    scene = 128 + 40 * np.sin(row / waves[0]) + 40 * np.cos(column / waves[1])
    frame = np.clip(scene + random.normal(0, 2, scene.shape), 0, 255).astype(np.uint8)
    if (logo := shown(number)) is not None:
        top, left = random.integers(0, (HEIGHT - LOGO_SIZE, WIDTH - LOGO_SIZE))
        frame[top : top + LOGO_SIZE, left : left + LOGO_SIZE] = logos()[logo]
    return frame
