"""Tweets of ten words as JSON: three in five are English, and these have three hashtags in two.

Words come about as often as 1/rank, as in natural text, and no word twice in a tweet. English
tweets have two function words, and one in two has a word with a sentiment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

LINES = 5000
WORDS = 10


def _words(text: str) -> list[str]:
    return text.split()


ENGLISH = _words(
    "morning coffee train city music game team today people phone work friend summer movie "
    "photo dinner weather school street dog book party road night home beach garden river song "
    "market window winter travel story news idea paper light doctor mountain bridge"
)
FUNCTION_WORDS = _words("the and is of to in with for")
FEELINGS = _words("good great love happy nice best bad sad hate awful worst angry")
HASHTAGS = _words("Monday football music travel food news weather work love tech games city")
OTHERS = {
    "es": _words(
        "el de que y la en un por mañana trabajo amigo ciudad música fiesta noche casa playa calle "
        "libro tiempo agua sol luna gente"
    ),
    "de": _words(
        "der und ist das nicht ein mit auf morgen arbeit freund stadt musik abend haus spiel zug "
        "straße buch wetter wasser sonne mond leute"
    ),
}


def lines() -> Iterator[str]:
    random = Random(6)
    return (_tweet(number, random) for number in range(LINES))


def _tweet(number: int, random: Random) -> str:
    language = "en" if number % 5 in (0, 2, 4) else random.choice(sorted(OTHERS))
    english = language == "en"
    words = _english(number, random) if english else _ranked(OTHERS[language], WORDS, random)
    tweet = {"user": f"u{random.randrange(2000)}", "lang": language, "text": " ".join(words)}
    return json.dumps(tweet, ensure_ascii=False)


def _english(number: int, random: Random) -> list[str]:
    # As many have one hashtag as have two.
    words = [f"#{tag}" for tag in _ranked(HASHTAGS, 1 + number // 5 % 2, random)]
    words += random.sample(FUNCTION_WORDS, 2)
    if random.random() < 0.5:
        words.append(random.choice(FEELINGS))
    words += _ranked(ENGLISH, WORDS - len(words), random)
    random.shuffle(words)
    return words


def _ranked(words: Sequence[str], count: int, random: Random) -> list[str]:
    """Different words, of log-uniform ranks: word r comes about as often as 1/r."""
    found: list[str] = []
    while len(found) < count:
        word = words[int(len(words) ** random.random()) - 1]
        if word not in found:
            found.append(word)
    return found
