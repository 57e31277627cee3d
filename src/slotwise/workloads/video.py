"""Paper 5's video logo detection: features of frames, and their matches with logos.

Features are as SIFT's, at one scale: at corners, histograms of gradient directions in 4 × 4 cells
of 4 × 4 pixels, 128 numbers. Both functions take Arrow batches, so they run in micro-batches.
"""

from __future__ import annotations

import base64

import numpy as np
import pyarrow
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

HEIGHT, WIDTH = 96, 128
LOGOS, LOGO_SIZE, BLOCK = 16, 36, 6
"""A logo is a pattern of 6 × 6 blocks, each of one grey."""
CORNERS = 40
PATCH, CELL, DIRECTIONS = 16, 4, 8
NUMBERS = (PATCH // CELL) ** 2 * DIRECTIONS
RATIO = 0.7
"""Lowe's test: a match is this much nearer than the next best."""
FARTHEST = 0.3
"""And not farther than this: features have length 1."""

Image = NDArray[np.uint8]
Array = NDArray[np.float32]


def extract(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """value (a frame) -> features, 128 numbers each, one after the other."""
    found = [features(frame(value)).ravel() for value in batch.column("value").to_pylist()]
    column = pyarrow.array(found, pyarrow.list_(pyarrow.float32()))
    return pyarrow.RecordBatch.from_arrays([column], ["features"])


def match(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """features -> matches: per logo, how many of them it has, too."""
    found = [
        matches(np.array(each, np.float32).reshape(-1, NUMBERS))
        for each in batch.column("features").to_pylist()
    ]
    column = pyarrow.array(found, pyarrow.list_(pyarrow.int32()))
    return pyarrow.RecordBatch.from_arrays([column], ["matches"])


def features(image: Image) -> Array:
    """One row of 128 numbers, of length 1, for each of the image's strongest corners."""
    down, right = (np.asarray(slope) for slope in np.gradient(image.astype(np.float32)))
    found = [_feature(down, right, row, column) for row, column in _corners(down, right)]
    return np.array(found, np.float32).reshape(-1, NUMBERS)


def matches(found: Array) -> list[int]:
    """Per logo, how many of the features are one of its own."""
    return [_matched(found, known) for known in LOGO_FEATURES]


def logos() -> tuple[Image, ...]:
    """The logos that are looked for."""
    random = np.random.default_rng(9)
    blocks = LOGO_SIZE // BLOCK
    patterns = random.integers(0, 256, (LOGOS, blocks, blocks), dtype=np.uint8)
    return tuple(np.kron(pattern, np.ones((BLOCK, BLOCK), np.uint8)) for pattern in patterns)


def _matched(found: Array, known: Array) -> int:
    if not len(found):
        return 0
    distances = np.linalg.norm(found[:, None, :] - known[None, :, :], axis=2)
    nearest = np.sort(distances, axis=1)
    is_match = (nearest[:, 0] < RATIO * nearest[:, 1]) & (nearest[:, 0] < FARTHEST)
    return int(np.count_nonzero(is_match))


def frame(value: str) -> Image:
    return np.frombuffer(base64.b64decode(value), np.uint8).reshape(HEIGHT, WIDTH)


def _corners(down: Array, right: Array) -> list[tuple[int, int]]:
    """Where both gradients are strong (Harris): the strongest of 3 × 3 pixels, away from edges."""
    squares = [_blurred(product) for product in (down * down, right * right, down * right)]
    strength = squares[0] * squares[1] - squares[2] ** 2 - 0.05 * (squares[0] + squares[1]) ** 2
    around = sliding_window_view(np.pad(strength, 1), (3, 3)).max(axis=(2, 3))
    strength = np.where((strength == around) & (strength > 1e4), strength, 0)
    edge = PATCH // 2
    inside = np.zeros_like(strength)
    inside[edge:-edge, edge:-edge] = strength[edge:-edge, edge:-edge]
    best = np.argsort(-inside, axis=None, kind="stable")[:CORNERS]
    places = np.unravel_index(best, inside.shape)
    return [(int(r), int(c)) for r, c in zip(*places, strict=True) if inside[r, c] > 0]


def _blurred(image: Array) -> Array:
    mean: Array = sliding_window_view(np.pad(image, 1), (3, 3)).mean(axis=(2, 3))
    return mean


def _feature(down: Array, right: Array, row: int, column: int) -> Array:
    half = PATCH // 2
    patch = np.s_[row - half : row + half, column - half : column + half]
    length = np.hypot(down[patch], right[patch])
    turn = (np.arctan2(down[patch], right[patch]) / (2 * np.pi)) % 1
    direction = np.minimum((turn * DIRECTIONS).astype(int), DIRECTIONS - 1)
    cells = PATCH // CELL
    at = np.arange(PATCH) // CELL
    cell = at[:, None] * cells + at[None, :]
    histogram = np.bincount((cell * DIRECTIONS + direction).ravel(), length.ravel(), NUMBERS)
    size = np.linalg.norm(histogram)
    return (histogram / size if size else histogram).astype(np.float32)


LOGO_FEATURES = tuple(features(logo) for logo in logos())
"""Made once: Spark sends this module, with what it holds, to its Python workers."""
