"""Tweets of ten words as JSON: three in five are English, and these have three hashtags in two.

Words come about as often as 1/rank, as in natural text. English tweets have two function words, and
one in two has a word with a sentiment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

LINES = 5000
WORDS = 10
ENGLISH = (
    "morning coffee train city music game team today people phone work friend summer movie "
    "photo dinner weather school street dog book party road night home beach garden river song "
    "market window winter travel story news idea paper light doctor market bridge"
).split()
FUNCTION_WORDS = "the and is of to in with for".split()
OTHERS = {
    "es": "el de que y la en mañana trabajo amigo ciudad música fiesta noche casa playa".split(),
    "de": "der und ist das nicht ein morgen arbeit freund stadt musik abend haus spiel zug".split(),
}
FEELINGS = "good great love happy nice best bad sad hate awful worst angry".split()
HASHTAGS = "Monday football music travel food news weather work love tech games city".split()


def lines() -> Iterator[str]:
    random = Random(6)
    return (_tweet(number, random) for number in range(LINES))


def _tweet(number: int, random: Random) -> str:
    language = "en" if number % 5 in (0, 2, 4) else random.choice(sorted(OTHERS))
    words = _english(number, random) if language == "en" else _others(language, random)
    tweet = {"user": f"u{random.randrange(2000)}", "lang": language, "text": " ".join(words)}
    return json.dumps(tweet, ensure_ascii=False)


def _english(number: int, random: Random) -> list[str]:
    # 0, 2, 4, 10, 12, 14, … (mod 20): of these as many have one hashtag as have two.
    words = [f"#{_ranked(HASHTAGS, random)}" for _ in range(1 + number // 5 % 2)]
    words += random.sample(FUNCTION_WORDS, 2)
    if random.random() < 0.5:
        words.append(random.choice(FEELINGS))
    words += [_ranked(ENGLISH, random) for _ in range(WORDS - len(words))]
    random.shuffle(words)
    return words


def _others(language: str, random: Random) -> list[str]:
    return [_ranked(OTHERS[language], random) for _ in range(WORDS)]


def _ranked(words: Sequence[str], random: Random) -> str:
    """A log-uniform rank: word r comes about as often as 1/r."""
    return words[int(len(words) ** random.random()) - 1]
