"""`slotwise submit`: a plan as a call of spark-submit, printed or run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from slotwise.cli.parameters import SparkConf, Spec


def submit(
    spec: Spec,
    /,
    *options: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    master: Annotated[
        str, Parameter(help="Where to: spark://HOST:PORT, yarn or k8s://https://HOST:PORT.")
    ],
    plan: Annotated[
        Path | None, Parameter(help="Submit a plan that 'slotwise plan --output' wrote.")
    ] = None,
    image: Annotated[
        str | None,
        Parameter(help="On Kubernetes: the image, built from Slotwise's Dockerfile."),
    ] = None,
    namespace: Annotated[str, Parameter(help="On Kubernetes: the namespace.")] = "default",
    spark_conf: SparkConf = (),
    print_: Annotated[
        bool,
        Parameter(
            name="--print", negative=(), show_default=False, help="Print the script; run nothing."
        ),
    ] = False,
) -> int:
    """Make the script; run it unless it is to be printed."""
    import subprocess

    from slotwise.cli import DONE
    from slotwise.cli.running import planned
    from slotwise.spark.submission import Submission, script

    made = planned(spec, plan, master)
    _check(spec, master, options)
    given = (*options, "--plan", str(plan)) if plan and not master.startswith("k8s") else options
    text = script(Submission(spec, made, master, given, dict(spark_conf), image, namespace))
    if print_:
        print(text, end="")
        return DONE
    return subprocess.run(["sh", "-c", text]).returncode


def _check(spec: str, master: str, options: tuple[str, ...]) -> None:
    """Raises what `slotwise run` would say of these options."""
    from slotwise.cli import app

    app.parse_args(
        ["run", spec, "--master", master, *options], exit_on_error=False, print_error=False
    )
