"""Settings of Spark that users give, without Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import app
from slotwise.model import SlotwiseError
from slotwise.spark.cluster import conf, java
from slotwise.spark.cluster.libraries import settings
from slotwise.spec import SpecError, dump, loads

SPEC = """
topology:
  name: t
  operators: {s: {kind: source}, k: {kind: sink}}
  streams: [{from: s, to: k}]
profiles: {s: {fixed: {}}, k: {fixed: {}}}
cluster: [{name: a, slots: 1, memory_gb: 1}]
conf: {spark.ui.enabled: true, spark.ui.port: 4050, spark.io.compression.codec: zstd}
"""


def test_settings_of_a_spec_are_texts_and_written_as_they_were() -> None:
    pipeline = loads(SPEC)
    assert dict(pipeline.conf) == {
        "spark.ui.enabled": "true",
        "spark.ui.port": "4050",
        "spark.io.compression.codec": "zstd",
    }
    assert loads(dump(pipeline)) == pipeline


def test_those_of_a_run_come_before_those_of_a_spec() -> None:
    made = settings(loads(SPEC), {"spark.ui.port": "0", "spark.eventLog.enabled": "true"})
    assert made == {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.io.compression.codec": "zstd",
        "spark.eventLog.enabled": "true",
        "spark.jars": str(java.JAR),
    }


@pytest.mark.parametrize("name", [*conf.OWNED, "spark.dynamicAllocation.enabled"])
def test_what_a_plan_says_is_refused(name: str) -> None:
    with pytest.raises(SlotwiseError, match=f"{name} is set by slotwise: remove it; "):
        settings(loads(SPEC), {name: "x"})


def test_other_names_are_refused() -> None:
    with pytest.raises(SlotwiseError, match=r"'hadoop\.x' is no setting of Spark: .*'spark\.had"):
        settings(loads(SPEC), {"hadoop.x": "y"})


def test_a_setting_without_a_value_is_refused() -> None:
    with pytest.raises(SpecError, match=r"8:25: conf\.spark\.ui\.enabled is empty"):
        loads(SPEC.replace("true,", ","))


def test_lists_keep_what_is_ours() -> None:
    ours = {"spark.sql.extensions": "org.slotwise.Functions", "spark.executor.extraJavaOptions": ""}
    given = {"spark.sql.extensions": "theirs", "spark.executor.extraJavaOptions": "-Xss2m"}
    assert conf.joined(ours, given) == {
        "spark.sql.extensions": "org.slotwise.Functions,theirs",
        "spark.executor.extraJavaOptions": "-Xss2m",
    }


def test_masters_and_workers_get_what_both_ends_must_agree_on() -> None:
    given = {"spark.authenticate.secret": "s", "spark.ssl.enabled": "true", "spark.ui.port": "1"}
    assert set(conf.of_daemons(given)) == {"spark.authenticate.secret", "spark.ssl.enabled"}


@pytest.mark.parametrize("text", ["spark.ui.enabled", "=true", ""])
def test_the_command_line_takes_names_and_values(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["run", "diamond", "--spark-conf", text])
    assert ended.value.code == 2
    assert "expected NAME=VALUE" in capsys.readouterr().err
