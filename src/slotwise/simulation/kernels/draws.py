"""Random numbers as a function of (seed, who, how many before): no state, no order.

A drawer's numbers are splitmix64 (Steele, Lea, Flood 2014) started at a hashed key: number n is
mixed(key + n·γ). So the n-th service time of a thread is the same whichever kernel asks for it,
and whenever. What a number is for is a salt on the key.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slotwise import keys
from slotwise.simulation.kernels.jit import kernel, part

GAMMA = np.uint64(0x9E3779B97F4A7C15)
ARRIVAL = np.uint64(0xD1B54A32D192ED03)
SERVICE = np.uint64(0x8CB92BA72F3D8DD7)
COUNT = np.uint64(0xABC98388FB8FAC03)
TARGET = np.uint64(0x2545F4914F6CDD1D)
KEY = np.uint64(0xDB4F0B9175AE2165)
FORWARD = np.uint64(0xBBE0563303A4615F)

DETERMINISTIC, EXPONENTIAL, GAMMA_SHAPED, LOGNORMAL, SAMPLES = range(5)
"""How service times vary, as the kernels know it."""

_OWN_KEY = np.uint64(0x94D049BB133111EB)
_S11 = np.uint64(11)
_UNIT = 2.0**-53
_LAYERS = np.uint64(255)
_TAIL = 7.69711747013104972
"""The ziggurat's lowest layer ends here, and each layer has this area:"""
_AREA = 0.0039496598225815571993


def thread_keys(seed: int, part: int, threads: int) -> NDArray[np.uint64]:
    """One key per thread; `part` distinguishes the stretches between plan changes."""
    words = np.random.SeedSequence((seed, part)).generate_state(2, np.uint64)
    keys = np.empty(threads, dtype=np.uint64)
    _fill(keys, words[0], words[1])
    return keys


@kernel
def _fill(keys: NDArray[np.uint64], first: np.uint64, second: np.uint64) -> None:
    for thread in range(len(keys)):
        keys[thread] = mixed(first + mixed(second + np.uint64(thread) * GAMMA))


mixed = part(keys.mixed)
"""splitmix64's finaliser."""


@part
def number(key: np.uint64, salt: np.uint64, index: int) -> np.uint64:
    """64 random bits."""
    return mixed((key ^ salt) + np.uint64(index) * GAMMA)


@part
def own_key(keys: int, thread: int) -> int:
    """The constant that a thread writes in place of a key; beyond all `keys` that are drawn, so
    that no thread's constant is one of them.
    """
    return int(keys + int(mixed(_OWN_KEY + np.uint64(thread)) % np.uint64(1 << 40)))


@part
def unit(word: np.uint64) -> float:
    """A number strictly between 0 and 1, from 64 random bits."""
    # As a signed number: processors turn only those into a float at once.
    return float((np.float64(np.int64(word >> _S11)) + 0.5) * _UNIT)


def _ziggurat() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Marsaglia and Tsang's layers under exp(-x): their right edges, and the heights there."""
    edges = [_AREA * math.exp(_TAIL), _TAIL]
    while len(edges) < 256:
        edges.append(-math.log(_AREA / edges[-1] + math.exp(-edges[-1])))
    x = np.array([*edges, 0.0])
    return x, np.exp(-x)


_EDGE, _HEIGHT = _ziggurat()


@part
def exponential(word: np.uint64) -> float:
    """By the ziggurat (Marsaglia and Tsang 2000): mostly one product; seldom a logarithm."""
    layer = word & _LAYERS
    x = unit(word) * _EDGE[layer]
    return x if x < _EDGE[layer + np.uint64(1)] else _exponential_edge(word, layer, x)


@kernel
def _exponential_edge(word: np.uint64, layer: np.uint64, x: float) -> float:
    """Where a layer sticks out: the tail, or accept by height, or draw again."""
    while True:
        word = mixed(word + GAMMA)
        if layer == 0:
            return _TAIL - math.log(unit(word))
        low, high = _HEIGHT[layer], _HEIGHT[layer + np.uint64(1)]
        if low + unit(word) * (high - low) < math.exp(-x):
            return x
        word = mixed(word + GAMMA)
        layer = word & _LAYERS
        x = unit(word) * _EDGE[layer]
        if x < _EDGE[layer + np.uint64(1)]:
            return x


@part
def service_factor(
    kind: int, shape: float, samples: NDArray[np.float64], key: np.uint64, index: int
) -> float:
    """A service time as a multiple of its mean: always 1 in the mean.

    `shape`: of gamma 1/scv, of log-normal the standard deviation of the logarithm.
    """
    if kind == EXPONENTIAL:
        return exponential(number(key, SERVICE, index))
    return _other_factor(kind, shape, samples, number(key, SERVICE, index))


@kernel
def _other_factor(kind: int, shape: float, samples: NDArray[np.float64], word: np.uint64) -> float:
    if kind == DETERMINISTIC:
        return 1.0
    if kind == GAMMA_SHAPED:
        return _gamma(shape, word) / shape
    if kind == LOGNORMAL:
        return math.exp(shape * _normal(word, mixed(word + GAMMA)) - shape * shape / 2)
    return float(samples[int(unit(word) * len(samples))])


@kernel
def _normal(word: np.uint64, other: np.uint64) -> float:
    """Box and Muller."""
    return math.sqrt(2 * exponential(word)) * math.cos(2 * math.pi * unit(other))


@kernel
def _gamma(shape: float, word: np.uint64) -> float:
    """Marsaglia and Tsang 2000; the draws of one number are a splitmix64 run of their own."""
    boost = 1.0
    if shape < 1:
        word += GAMMA
        boost = unit(mixed(word)) ** (1 / shape)
        shape += 1
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = _normal(mixed(word + GAMMA), mixed(word + GAMMA + GAMMA))
        word += GAMMA + GAMMA + GAMMA
        v = (1 + c * x) ** 3
        if v > 0 and math.log(unit(mixed(word))) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost
