"""The data formats of sources and sinks: which options they have, and what can run in real time.

A source reads and a sink writes. An operator with a format does both: what comes to it is written
to a topic, and what is read from there is sent on. Such a *link* is the only way for tuples to go
back to an earlier operator.

Spark ignores an option that it does not know. Those of the formats listed here are known, so a
misspelt one is refused; a format that is not listed is Spark's or another package's, and keeps its
options to itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from slotwise.model import Logic, ModelError, Operator, SlotwiseError
from slotwise.paced import pace_of
from slotwise.suggestions import instead_of

KAFKA, JSON = "kafka", "json"
PARQUET, CONSOLE, FOREACH = "parquet", "console", "foreach"
SERVERS = "kafka.bootstrap.servers"
KEY = "key"
"""Of a Kafka sink: the field whose value is the message's key."""
DEAD_LETTERS = "dead_letters"
VARIABLE = re.compile(r"\$\{env:(\w+)\}")
REAL_TIME = (None, "paced", KAFKA)
"""Formats of sources that real-time mode can read."""
TYPED = (JSON, "csv", "parquet", "orc")
"""Formats of files with fields, which Spark reads as a stream only with their types."""
SINKS = (JSON, KAFKA, PARQUET, CONSOLE, FOREACH)
LETTERS = (JSON, KAFKA)
"""Formats of dead letters."""
ROWS = (PARQUET, FOREACH)
"""Formats of sinks that take tuples with their types, and no messages."""
CLASS, NUMBER_OF_ROWS = "class", "numRows"

_FILES = (
    "path maxFilesPerTrigger maxBytesPerTrigger latestFirst maxFileAge fileNameOnly cleanSource "
    "sourceArchiveDir maxCachedFiles discardCachedInputRatio pathGlobFilter recursiveFileLookup "
    "modifiedBefore modifiedAfter ignoreCorruptFiles ignoreMissingFiles basePath"
)
_TEXTS = (
    "mode columnNameOfCorruptRecord dateFormat timestampFormat timestampNTZFormat timeZone locale "
    "encoding charset lineSep multiLine enableDateTimeParsingFallback samplingRatio"
)
_JSON = (
    "primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames allowSingleQuotes "
    "allowNumericLeadingZeros allowNonNumericNumbers allowBackslashEscapingAnyCharacter "
    "allowUnquotedControlChars dropFieldIfAllNull ignoreNullFields"
)
_CSV = (
    "sep delimiter quote escape comment header inferSchema preferDate enforceSchema "
    "ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace nullValue nanValue positiveInf negativeInf "
    "maxColumns maxCharsPerColumn unescapedQuoteHandling charToEscapeQuoteEscaping emptyValue"
)
_KAFKA = (
    "subscribe startingOffsets startingTimestamp startingOffsetsByTimestamp "
    "startingOffsetsByTimestampStrategy failOnDataLoss kafkaConsumer.pollTimeoutMs "
    "fetchOffset.numRetries fetchOffset.retryIntervalMs maxOffsetsPerTrigger minOffsetsPerTrigger "
    "maxTriggerDelay groupIdPrefix"
)
SOURCE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    KAFKA: tuple(_KAFKA.split()),
    JSON: tuple(f"{_FILES} {_TEXTS} {_JSON}".split()),
    "csv": tuple(f"{_FILES} {_TEXTS} {_CSV}".split()),
    "text": tuple(f"{_FILES} wholetext lineSep encoding".split()),
    "parquet": (*_FILES.split(), "mergeSchema", "datetimeRebaseMode", "int96RebaseMode"),
    "orc": (*_FILES.split(), "mergeSchema"),
    "rate": ("rowsPerSecond", "rampUpTime", "numPartitions"),
    "rate-micro-batch": (
        *("rowsPerBatch", "numPartitions", "startTimestamp", "advanceMillisPerBatch"),
    ),
    "socket": ("host", "port", "includeTimestamp"),
}
SINK_OPTIONS: Mapping[str, tuple[str, ...]] = {
    KAFKA: ("topic", KEY),
    JSON: ("path",),
    PARQUET: ("path",),
    CONSOLE: (NUMBER_OF_ROWS,),
    FOREACH: (CLASS,),
}
NEEDED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("source", KAFKA): (SERVERS, "subscribe"),
    ("sink", KAFKA): (SERVERS, "topic"),
    ("sink", JSON): ("path",),
    ("sink", PARQUET): ("path",),
    ("operator", KAFKA): (SERVERS, "topic"),
    **{("source", kind): ("path",) for kind in (JSON, "csv", "text", "parquet", "orc")},
}
_LOGIC = ("expr", "where", "join", "aggregate", "distinct", "stateful", "python", "java")
_OF_SOURCES = ("schema", "id", "event_time", "partitions")
_IN_ANOTHER_WAY = {
    "assign": "set subscribe: a source reads all partitions of one topic",
    "subscribePattern": "set subscribe: a source reads one topic",
    "minPartitions": "threads follow the topic's partitions",
    "maxRecordsPerPartition": "threads follow the topic's partitions",
    "includeHeaders": "headers of messages are not read",
}
"""Options of Spark's Kafka source that would contradict what a source is here."""


def check(operator: Operator) -> None:
    """Raise ModelError, with a path in the spec, for what a source or sink cannot have."""
    if "format" in options_of(operator):
        problem = "has an option 'format': write it beside options, as format: NAME"
        raise _problem(operator, problem, "options", "format")
    if operator.kind == "source":
        _check_source(operator)
        return
    if is_link(operator):
        _check_link(operator)
        return
    for key in _OF_SOURCES:
        returns = operator.logic.java is not None or bool(operator.logic.stateful)
        if getattr(operator.logic, key) is not None and not (key == "schema" and returns):
            raise _problem(operator, f"has {key}, which is for sources", key)
    if operator.kind == "sink":
        _check_sink(operator)
        return
    if operator.logic.options:
        raise _problem(operator, "has options, which are for sources and sinks", "options")


def is_link(operator: Operator) -> bool:
    """Its tuples go through a topic."""
    return operator.kind == "operator" and operator.logic.format is not None


def is_read(operator: Operator) -> bool:
    """It begins with records from outside the query: a source, or a link."""
    return operator.kind == "source" or is_link(operator)


def parses_messages(operator: Operator) -> bool:
    """It is sent messages as a topic has them, and parses them. Experiments of profilers have such
    operators (profilers/case.py); a spec cannot, see `check`.
    """
    logic = operator.logic
    is_typed = logic.java is not None or bool(logic.stateful)
    is_plain = operator.kind == "operator" and logic.format is None and not is_typed
    return is_plain and logic.schema is not None


def topic_of(operator: Operator) -> str:
    """The topic of an operator whose format is kafka."""
    return completed_options(operator)["subscribe" if operator.kind == "source" else "topic"]


def calls_python(operator: Operator) -> bool:
    """It is a sink whose tuples go to a Python function."""
    logic = operator.logic
    is_foreach = operator.kind == "sink" and logic.format == FOREACH
    return is_foreach and CLASS not in options_of(operator)


def check_dead_letters(logic: Logic) -> None:
    """As `check`."""
    letters = dead_letters_of(logic)
    if logic.format not in LETTERS:
        problem = f"has the format '{logic.format}': {instead_of(logic.format or '', LETTERS)}"
        raise _problem(letters, problem, "format")
    check(letters)


def dead_letters_of(logic: Logic) -> Operator:
    """Dead letters as a sink."""
    return Operator(DEAD_LETTERS, "sink", logic=logic)


def options_of(operator: Operator) -> dict[str, str]:
    """As the spec says them."""
    return dict(operator.logic.options)


def with_client(
    kind: str | None, options: Mapping[str, object], kafka: Mapping[str, object]
) -> dict[str, object]:
    """The options of an operator with the format `kind`: of Kafka, beside its own ones, the
    settings of the client that all operators share.
    """
    shared = kafka if kind == KAFKA else {}
    return {**{f"kafka.{name}": value for name, value in shared.items()}, **options}


def completed_options(operator: Operator) -> dict[str, str]:
    """With the values of environment variables in place of `${env:NAME}`. Only what is handed to
    Spark and to clients has them: plans, checkpoints and kept runs do not.

    Raises SlotwiseError for a variable that is not set.
    """

    def value_of(found: re.Match[str]) -> str:
        if (value := os.environ.get(found[1])) is not None:
            return value
        raise SlotwiseError(
            f"{operator.kind} '{operator.name}' has the environment variable {found[1]} in its "
            "options, and it is not set"
        )

    return {name: VARIABLE.sub(value_of, value) for name, value in options_of(operator).items()}


def _check_source(operator: Operator) -> None:
    logic = operator.logic
    if pace_of(operator) is not None:
        for key in _OF_SOURCES:
            if getattr(logic, key) is not None:
                problem = f"has {key}, and is paced: set its format, or remove {key}"
                raise _problem(operator, problem, key)
        return
    assert logic.format is not None
    if logic.format != KAFKA and logic.partitions is not None:
        problem = f"has partitions, and reads {logic.format}: only topics have partitions"
        raise _problem(operator, problem, "partitions")
    _check_options(operator, "reads", SOURCE_OPTIONS.get(logic.format))
    if logic.format in TYPED and logic.schema is None:
        problem = (
            f"reads {logic.format}: add its schema, such as schema: 'country STRING, n BIGINT'"
        )
        raise _problem(operator, problem)
    if logic.format == KAFKA and "," in options_of(operator)["subscribe"]:
        problem = "subscribes to several topics: use a source for each"
        raise _problem(operator, problem, "options", "subscribe")


def _check_link(operator: Operator) -> None:
    logic = operator.logic
    if logic.format != KAFKA:
        problem = (
            f"has the format '{logic.format}': an operator may have format: {KAFKA}, for tuples "
            "that go through a topic; other formats are for sources and sinks"
        )
        raise _problem(operator, problem, "format")
    for key in (*_LOGIC, "id", "event_time"):
        if getattr(logic, key):
            problem = f"is a topic that tuples go through, and has {key}: use an operator for each"
            raise _problem(operator, problem, key)
    if logic.schema is None:
        problem = "has no schema: say which fields its tuples have, as in schema: 'n BIGINT'"
        raise _problem(operator, problem)
    _check_options(operator, "goes through", SINK_OPTIONS[KAFKA])


def _check_sink(operator: Operator) -> None:
    kind = operator.logic.format
    if kind is None:
        for name in options_of(operator):
            problem = f"has the option '{name}' and no format: add its format"
            raise _problem(operator, problem, "options", name)
        return
    if kind not in SINKS:
        raise _problem(operator, f"has the format '{kind}': {instead_of(kind, SINKS)}", "format")
    _check_options(operator, "writes", SINK_OPTIONS[kind])
    number = options_of(operator).get(NUMBER_OF_ROWS, "0")
    if not number.isdecimal():
        problem = f"has {NUMBER_OF_ROWS}: {number}: expected an integer ≥ 0"
        raise _problem(operator, problem, "options", NUMBER_OF_ROWS)


def _check_options(operator: Operator, does: str, known: tuple[str, ...] | None) -> None:
    """None: any option may be right."""
    kind, options = operator.logic.format or "", options_of(operator)
    for name in options if known is not None else ():
        if kind == KAFKA and name.startswith("kafka."):
            continue
        if kind == KAFKA and operator.kind == "source" and name in _IN_ANOTHER_WAY:
            problem = f"cannot have the option '{name}': {_IN_ANOTHER_WAY[name]}"
            raise _problem(operator, problem, "options", name)
        if name not in (known or ()):
            spelling = instead_of(name, [*(known or ()), *NEEDED.get((operator.kind, kind), ())])
            problem = f"{does} {kind}, which has no option '{name}': {spelling}"
            raise _problem(operator, problem, "options", name)
    for name in NEEDED.get((operator.kind, kind), ()):
        if name not in options:
            shared = ", or set it for all with kafka: {bootstrap.servers: …}"
            advice = f"add the option '{name}'{shared if name == SERVERS else ''}"
            raise _problem(operator, f"{does} {kind}: {advice}", "options")


def _problem(operator: Operator, problem: str, *key: str) -> ModelError:
    path = ("topology", "operators", operator.name, *key)
    return ModelError(f"{operator.kind} '{operator.name}' {problem}", path)
