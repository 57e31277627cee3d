"""Stock ticks: the last trades and the best ask of a symbol, as XML, for paper 1's Finance."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

LINES = 800
SYMBOLS = 40
TRADES = 40


def lines() -> Iterator[str]:
    """Symbols in turn; the price of each is a random walk."""
    random = Random(3)
    prices = [random.uniform(10, 500) for _ in range(SYMBOLS)]
    return (_ticks(number, prices, random) for number in range(LINES))


def _ticks(number: int, prices: list[float], random: Random) -> str:
    symbol = number % SYMBOLS
    trades = []
    for _ in range(TRADES):
        prices[symbol] *= 1 + random.gauss(0, 0.001)
        size = 100 * random.randint(1, 20)
        trades.append(f'<trade price="{prices[symbol]:.2f}" size="{size}"/>')
    ask = prices[symbol] * (1 + random.gauss(0.001, 0.002))
    return (
        f'<ticks symbol="S{symbol:02}" round="{number // SYMBOLS}">'
        f'{"".join(trades)}<ask price="{ask:.2f}" size="{100 * random.randint(1, 50)}"/></ticks>'
    )
