"""The data sets: the same every time, and as the examples' selectivities say."""

from __future__ import annotations

import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from slotwise.model import ModelError
from slotwise.paced import data_set
from slotwise.spec import load
from slotwise.workloads import data, names
from slotwise.workloads.data.frames import shown


def sources_of(example: str) -> list[str | None]:
    options = [dict(source.logic.options) for source in load(example).topology.sources]
    return [data_set(each.get("payload", "id")) for each in options]


@pytest.mark.parametrize("name", data.NAMES)
def test_lines_are_the_same_every_time(name: str) -> None:
    lines = list(data.lines(name))
    assert lines == list(data.lines(name))
    assert len(lines) >= 100
    assert all(line and "\n" not in line for line in lines)


def test_every_data_set_is_used() -> None:
    assert {found for name in names() for found in sources_of(name) if found} == set(data.NAMES)


def test_an_unknown_data_set() -> None:
    with pytest.raises(ModelError, match="unknown data set 'tweet': did you mean 'tweets'"):
        data.lines("tweet")


@pytest.mark.parametrize(
    ("name", "root", "parts"),
    [
        ("messages", "order", "position"),
        ("gps", "trace", "fix"),
        ("ticks", "ticks", "trade"),
        ("meters", "meter", "reading"),
    ],
)
def test_messages_are_xml(name: str, root: str, parts: str) -> None:
    for line in data.lines(name):
        element = ElementTree.fromstring(line)
        assert element.tag == root
        assert len(list(element.iter(parts))) >= 30


def test_tweets_have_ten_words_and_the_selectivities_of_twitter_sentiment() -> None:
    tweets = [json.loads(line) for line in data.lines("tweets")]
    english = [tweet for tweet in tweets if tweet["lang"] == "en"]
    assert {len(set(tweet["text"].split(" "))) for tweet in tweets} == {10}
    streams = {str(s): s.selectivity for s in load("twitter-sentiment").topology.streams}
    assert len(english) / len(tweets) == streams["language → sentiment"]
    tags = sum(word.startswith("#") for tweet in english for word in tweet["text"].split(" "))
    assert tags / len(english) == pytest.approx(streams["hashtags → hashtag-filter"], rel=0.01)


def test_one_click_in_five_is_a_crawlers() -> None:
    users = [json.loads(line)["user"] for line in data.lines("clicks")]
    assert sum(user.startswith("bot") for user in users) / len(users) == 0.2


def test_the_log_has_the_selectivities_of_tapering() -> None:
    lines = [line.split(" ") for line in data.lines("access-log")]
    got = [line for line in lines if line[5] == '"GET']
    sent = [line for line in got if line[8] == "200"]
    large = [line for line in sent if int(line[9]) > 100_000]
    kept = [len(now) / len(before) for before, now in pairwise((lines, got, sent, large))]
    assert kept == [stream.selectivity for stream in load("tapering").topology.streams[1:]]


def test_players_move_as_people_do() -> None:
    """200 samples a second of each sensor, at no more than 9 m/s, rounded to millimetres."""
    shoe = [
        [int(number) for number in line.split(",")]
        for line in data.lines("positions")
        if line.startswith("7,")
    ]
    for before, now in pairwise(shoe):
        assert now[1] - before[1] == 5 * 10**9
        assert abs(now[2] - before[2]) <= 46
        assert abs(now[3] - before[3]) <= 46
    assert all(len(sample) == 13 for sample in shoe)


def test_the_logo_of_every_frame_is_found_and_no_other() -> None:
    from slotwise.workloads import video

    for number, line in zip(range(34), data.lines("frames"), strict=False):
        matches = video.matches(video.features(video.frame(line)))
        found = [logo for logo, count in enumerate(matches) if count >= 3]
        assert found == ([] if shown(number) is None else [shown(number)])
