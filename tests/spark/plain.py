"""The bundled examples again, in plain Python: what their sinks get of the same lines.

Every function takes the records of its source as (id, line), in order, and gives (sink, id, fields)
for one thread per operator.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.etree import ElementTree

from slotwise.workloads import store, video
from slotwise.workloads.data.frames import shown

Record = tuple[int, str]
Row = tuple[str, int, dict[str, Any]]
DIGITS = 130


def pi_digits(digits: int = DIGITS) -> str:
    """By Machin's formula, where the function has Viète's."""
    unit = 10 ** (digits + 10)

    def arctan_of_inverse(x: int) -> int:
        power, total, n = unit // x, unit // x, 1
        while power:
            power //= -x * x
            n += 2
            total += power // n
        return total

    pi = str((16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)) // 10**10)
    return f"{pi[0]}.{pi[1:]}"


def crc32_of_blob(name: str) -> int:
    return zlib.crc32(store.blob(name))


def factor(key: str) -> float:
    found = store.row(key)["factor"]
    assert isinstance(found, float)
    return found


class Means:
    """Of the last n values of each key."""

    def __init__(self, n: int) -> None:
        self.last: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=n))

    def add(self, key: str, value: float) -> float:
        self.last[key].append(value)
        return math.fsum(self.last[key]) / len(self.last[key])


# -- paper 1 ----------------------------------------------------------------------------------

Task = Callable[[int, str, list[str]], list[str]]


def _blob(id: int, message: str, results: list[str]) -> list[str]:
    return [*results, f"blob {crc32_of_blob(str(id % 100))}"]


def _table(id: int, message: str, results: list[str]) -> list[str]:
    return [*results, f"row {store.row(str(id % 1000))['size']}"]


def _pi(id: int, message: str, results: list[str]) -> list[str]:
    return [*results, f"pi {pi_digits()}"]


def _xml(id: int, message: str, results: list[str]) -> list[str]:
    order = ElementTree.fromstring(message)
    cost = sum(
        Decimal(position.attrib["price"]) * int(position.attrib["quantity"])
        for position in order.iter("position")
    )
    return [*results, f"order {order.findtext('customer')} {cost}"]


def _write(id: int, message: str, results: list[str]) -> list[str]:
    return [*results, f"written {len(' '.join([str(id), *results]))}"]


def _paths(*paths: tuple[Task, ...]) -> Callable[[Iterable[Record]], Iterator[Row]]:
    """A result for every way from the source to the sink."""

    def rows(records: Iterable[Record]) -> Iterator[Row]:
        for id, message in records:
            for path in paths:
                results: list[str] = []
                for task in path:
                    results = task(id, message, results)
                yield "sink", id, {"value": results}

    return rows


def traffic(records: Iterable[Record]) -> Iterator[Row]:
    speeds, pi = Means(5), float(pi_digits())
    for id, message in records:
        trace = ElementTree.fromstring(message)
        vehicle, fixes = trace.attrib["vehicle"], list(trace)
        of_fixes = {
            name: sum(float(fix.attrib[name]) for fix in fixes) / len(fixes)
            for name in ("lat", "lon", "speed")
        }
        speed = speeds.add(vehicle, of_fixes["speed"])
        slow = float(sum(float(fix.attrib["speed"]) < 3 for fix in fixes))
        found = {
            "slow fixes": slow,
            "history": float(crc32_of_blob(vehicle)),
            "wear": speed * 60 / (0.65 * pi) * factor(vehicle),
        }
        for what, amount in found.items():
            drawn = f"{what} {crc32_of_blob(what.replace(' ', '-'))}"
            yield "sink", id, {"vehicle": vehicle, "what": drawn, "amount": amount}
        size = float(len(message))
        yield "sink", id, {"vehicle": vehicle, "what": "archived bytes", "amount": size}


def finance(records: Iterable[Record]) -> Iterator[Row]:
    prices, pi = Means(10), float(pi_digits())
    for id, message in records:
        ticks = ElementTree.fromstring(message)
        symbol, ask = ticks.attrib["symbol"], ticks.find("ask")
        assert ask is not None
        trades = [(float(t.attrib["price"]), float(t.attrib["size"])) for t in ticks.iter("trade")]
        vwap = sum(price * size for price, size in trades) / sum(size for _, size in trades)
        price, size = float(ask.attrib["price"]), float(ask.attrib["size"])
        mean = prices.add(symbol, vwap)
        weight = (1 + math.cos(pi * min(1.0, 50 * abs(vwap - mean) / mean))) / 2
        trade = mean + (vwap - mean) * weight, size * factor(symbol)
        quote = vwap, min(size, float(crc32_of_blob(f"book-{symbol}") % 5000))
        for average, shares in (trade, quote):
            bargain = 0.0
            if price < average:
                z = (average - price) / (0.002 * average)
                bargain = shares / math.sqrt(2 * pi) * (1 - math.exp(-(z**2) / 2))
            written = len(f"{symbol} {id}")
            yield "sink", id, {"symbol": symbol, "bargain": bargain, "written": written}


def grid(records: Iterable[Record]) -> Iterator[Row]:
    powers, pi = Means(8), float(pi_digits())
    for id, message in records:
        root = ElementTree.fromstring(message)
        meter, weather = root.attrib["id"], root.find("weather")
        assert weather is not None
        readings = [float(reading.attrib["kw"]) for reading in root.iter("reading")]
        kw = sum(readings) / len(readings)
        usual = 0.5 + 0.3 * math.cos(2 * pi * (float(root.attrib["hour"]) - 20) / 24)
        peak = kw / 4 * factor(meter) + max(readings)
        yield "sink", id, {"meter": meter, "what": "peak", "amount": peak}
        reactive = math.tan(pi / 10) * (powers.add(meter, kw) - usual)
        use = crc32_of_blob(f"use-{crc32_of_blob(meter) % 10}") % 10
        found = {
            "building": reactive + use,
            "tariff": reactive * factor(meter),
            "loss": reactive * math.sin(pi / 3) * factor(f"line-{meter}"),
        }
        warmer = 1 + float(weather.attrib["temperature"]) / 100
        for what, amount in found.items():
            corrected = (amount + crc32_of_blob(f"forecast-{what}") % 10) * warmer
            yield "sink", id, {"meter": meter, "what": what, "amount": corrected}


# -- paper 2 ----------------------------------------------------------------------------------


def chain(records: Iterable[Record]) -> Iterator[Row]:
    def forwards(bolt: str, id: int) -> bool:
        return zlib.crc32(f"{bolt} {id}".encode()) % 2 == 0

    first, second = Counter[str](), Counter[str]()
    for id, value in records:
        value = value if forwards("simple-1", id) else "x0"
        first[value] += 1
        value = value if forwards("stateful-1", id) else "y0"
        value = value if forwards("simple-2", id) else "x0"
        second[value] += 1
        seen = second[value]
        value = value if forwards("stateful-2", id) else "y0"
        yield "ack", id, {"value": value, "seen": seen}


def soccer(records: Iterable[Record]) -> Iterator[Row]:
    before: dict[int, list[int]] = {}
    moves: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for id, line in records:
        now = [int(number) for number in line.split(",")]
        last, before[now[0]] = before.get(now[0]), now
        if last is None or now[1] <= last[1]:
            continue
        own = moves[now[0] // 2]
        own.append((math.dist(now[2:5], last[2:5]) / 1000, (now[1] - last[1]) / 1e12))
        metres, seconds = (math.fsum(each) for each in zip(*own, strict=True))
        speeds = [3.6 * far / took for far, took in own]
        fields = {
            "player": now[0] // 2,
            "metres": metres,
            "mean_kmh": 3.6 * metres / seconds,
            "fastest_kmh": max(speeds),
            "sprints": sum(speed > 24 for speed in speeds),
        }
        yield "analysis", id, fields


# -- paper 3 ----------------------------------------------------------------------------------


def word_count(records: Iterable[Record]) -> Iterator[Row]:
    counts = Counter[str]()
    for id, line in records:
        for word in json.loads(line)["text"].split(" "):
            counts[word] += 1
            if counts[word] % 10 == 0:
                yield "out", id, {"value": word, "count": counts[word]}


def twitter_sentiment(records: Iterable[Record]) -> Iterator[Row]:
    scores, tags, ranked, updates = list[int](), Counter[str](), dict[str, int](), 0
    good = {"good", "great", "love", "happy", "nice", "best"}
    bad = {"bad", "sad", "hate", "awful", "worst", "angry"}
    for id, line in records:
        yield "file-writer", id, {"value": len(line.encode())}
        tweet = json.loads(line)
        if tweet["lang"] != "en":
            continue
        words = tweet["text"].split(" ")
        scores.append(sum((word in good) - (word in bad) for word in words))
        if len(scores) % 10 == 0:
            last = scores[-1000:]
            exact = Decimal(str(sum(last) / len(last)))
            mean = float(exact.quantize(Decimal("0.001"), ROUND_HALF_UP))
            yield "sentiment-report", id, {"tweets": len(scores), "mean": mean}
        for tag in (word[1:].lower() for word in words if word.startswith("#")):
            tags[tag] += 1
            if tags[tag] % 5:
                continue
            ranked[tag] = tags[tag]
            updates += 1
            if updates % 5 == 0:
                best = sorted(ranked, key=lambda each: (-ranked[each], each))[:5]
                yield "ranking", id, {"value": ",".join(best)}


# -- papers 4 and 5, and the template ---------------------------------------------------------


def random(records: Iterable[Record]) -> Iterator[Row]:
    requests = Counter[str]()
    for id, line in records:
        host, path = line.split(" ")[0], line.split(" ")[6]
        for what, name in (("network", ".".join(host.split(".")[:2])), ("page", path)):
            requests[f"{what} {name}"] += 1
            fields = {"what": what, "name": name, "requests": requests[f"{what} {name}"]}
            yield "bolt-4", id, fields


def tapering(records: Iterable[Record]) -> Iterator[Row]:
    sent = Counter[str]()
    for id, line in records:
        parts = line.split(" ")
        if parts[5] == '"GET' and parts[8] == "200" and int(parts[9]) > 100_000:
            sent[parts[6]] += 1
            yield "bolt-4", id, {"path": parts[6], "sent": sent[parts[6]]}


def vld(records: Iterable[Record]) -> Iterator[Row]:
    """What is found is what the frames were made with."""
    for id, line in records:
        logo, matches = shown(id), video.matches(video.features(video.frame(line)))
        found = [i for i, n in enumerate(matches) if n >= 3]
        assert found == ([] if logo is None else [logo])
        yield "aggregator", id, {"value": found}


def maximal_patterns(lines: Iterable[str], threshold: int = 40) -> set[str]:
    """Of a window of tweets: sets of one to three words that more tweets have than the threshold,
    without those that are part of another.
    """
    tweets = [set(json.loads(line)["text"].split(" ")) for line in lines]
    words = {word for tweet in tweets for word in tweet if len(word) > 3}
    singles = {frozenset([word]) for word in words}
    frequent, grown = set[frozenset[str]](), singles
    for _ in range(3):
        grown = {each for each in grown if sum(each <= tweet for tweet in tweets) > threshold}
        frequent |= grown
        grown = {each | single for each in grown for single in singles} - frequent
    largest = {each for each in frequent if not any(each < other for other in frequent)}
    return {" ".join(sorted(each)) for each in largest}


def starter(records: Iterable[Record]) -> Iterator[Row]:
    views = Counter[str]()
    for id, line in records:
        click = json.loads(line)
        if not click["user"].startswith("bot"):
            views[click["page"]] += 1
            if views[click["page"]] % 10 == 0:
                yield "out", id, {"page": click["page"], "views": views[click["page"]]}


EXAMPLES: dict[str, tuple[int, Callable[[Iterable[Record]], Iterator[Row]]]] = {
    "linear": (40, _paths((_blob, _table, _pi, _xml, _write))),
    "diamond": (30, _paths((_blob, _pi), (_table, _pi), (_xml, _pi), (_write, _pi))),
    "star": (
        40,
        _paths(
            (_blob, _xml, _table), (_blob, _xml, _write), (_pi, _xml, _table), (_pi, _xml, _write)
        ),
    ),
    "traffic": (130, traffic),
    "finance": (90, finance),
    "grid": (60, grid),
    "chain": (500, chain),
    "soccer": (640, soccer),
    "word-count": (300, word_count),
    "twitter-sentiment": (400, twitter_sentiment),
    "random": (500, random),
    "tapering": (800, tapering),
    "vld": (34, vld),
    "starter": (500, starter),
}
"""Name -> how many records are enough to see all of it, and what becomes of them."""
