"""The command line: one file per command, loaded when it is called, so that --help is quick.

Exit codes: 0 done, 1 error (one sentence on stderr), 2 wrong usage, 99 a goal was missed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from inspect import cleandoc
from typing import NoReturn

from cyclopts import App, CycloptsError

from slotwise import __version__
from slotwise.cli.starting import start_quickly

COMMANDS = {
    "plan": """Make a plan: the number of threads, the machines, and the slot of each thread.

        Options of an algorithm follow its name: --placer topology:alpha=0.2. `slotwise algorithms`
        lists all of them. Exits with 99 if the plan misses a goal.""",
    "compare": """Compare allocator and placer pairs: slots, cost, capacity, latency.

        Pairs without a plan are listed with the reason. Exits with 1 if no pair has a plan.""",
    "simulate": """Simulate a plan tuple by tuple, and show the result beside the prediction.

        Plans a spec, or reads a plan, and sends tuples through it. Options follow a name:

        slotwise simulate word-count --service gamma:scv=2 --buffers block:capacity=100

        With --controller, the plan is changed while the simulation runs:

        slotwise simulate vld --controller threshold --for 1h --schedule step:at=10m,factor=2

        Exits with 99 if the simulation misses a goal, under a controller in any period, and with 1
        if it is unstable otherwise.""",
    "run": """Run a plan on Spark, every thread in its slot, and compare it with its prediction.

        Without --plan, the spec is planned first. Ctrl-C ends the run early and prints its summary.
        Exits with 99 if the run misses a goal, and with 1 if it is unstable otherwise.""",
    "submit": """Hand a plan to spark-submit, for the cluster you have; or print how.

        Makes a shell script with the exact call of spark-submit, and on Kubernetes with the
        manifests that it needs, and runs it with 'sh'. With --print, prints it only. What follows
        -- are options of 'slotwise run', which is what Spark then runs:

        slotwise submit orders.yaml --master yarn --print -- --for 1h""",
    "ui": """Serve a page that shows runs: as they were, and as they go on.

        RUN is the number of a run that is kept, or 'last'. `slotwise run --page` serves the page of
        a run while it goes on.""",
    "runs": """List, show, compare, export and remove the runs that are kept.

        Each 'slotwise run', and each 'slotwise simulate' with a controller, is kept.""",
    "replay": """Decide a recorded run again with another controller, and show the differences.

        RUN is a file that --decisions wrote. The run itself stays as it was: each decision starts
        from the plan and the observations that were recorded.

        slotwise replay decisions.jsonl --controller flink""",
    "profile": """Measure profiles on Spark: rate, CPU and memory of each operator in a slot.

        Writes them to a file that specs include, or into the spec. Records are captured from the
        spec's own sources. An interrupted call goes on where it stopped.

        slotwise profile word-count parse split --figures figures

        Exits with 1 if some operator cannot be measured.""",
    "study": """Repeat a paper's evaluation in simulation, or compare controllers.

        NAME is model-driven, adaptive, p-deployer, pipeline, drs or controllers. Writes JSON,
        Markdown, PNG files and one HTML page. With --json and without --output, no files are
        written.""",
    "init": "Write a commented spec file to start from.",
    "examples": "List the bundled examples, or show one.",
    "algorithms": "List all algorithms with their options.",
    "schema": "Print the JSON Schema of spec files, for editors.",
    "doctor": """Check this machine, and show how to fix each problem.

        Exits with 1 if planning would not work. Checks for 'slotwise run' only are marked.""",
    "prepare": """Make Spark start faster on this machine. Takes about 40 s and 180 MB, once.

        Java writes the classes that Spark loads to an archive beside Slotwise's jar, and later runs
        map it. Run it again after an update of Java or Spark. The archive may be deleted.""",
}
"""Name and help; the command itself is imported when it is called."""
DONE, ERROR, USAGE, GOAL_MISSED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 99, 130, 141

app = App(
    name="slotwise",
    help="Sizes, places and predicts streaming dataflows on Apache Spark.",
    version=__version__,
    help_epilogue="A SPEC is a file or the name of a bundled example: slotwise plan linear",
    suppress_keyboard_interrupt=False,
)
for _number, (_name, _help) in enumerate(COMMANDS.items()):
    # A module called run would hide the function `run` below.
    _module = "running" if _name == "run" else _name
    app.command(
        f"slotwise.cli.{_module}:{_name}",
        name=_name,
        help=cleandoc(_help),
        sort_key=_number,
        # One with commands of its own has its own epilogue.
        **({} if _name == "runs" else {"help_epilogue": ""}),
    )
app.register_install_completion_command(help="Install completion for your shell.")


def main() -> NoReturn:
    """The entry point of the `slotwise` script."""
    start_quickly()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show × gets a ? and not a traceback.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    status = run(sys.argv[1:])
    sys.stderr.flush()
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run the command in `arguments`, report an error in one sentence, and return the exit code."""
    try:
        status = app(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
        sys.stdout.flush()
        return status or DONE
    except CycloptsError as error:
        command = " ".join(["slotwise", *(error.command_chain or ())])
        _tell(f"{str(error).strip()}\nSee '{command} --help'.")
        return USAGE
    except KeyboardInterrupt:
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        _tell(_sentence(error))
        return ERROR


def _tell(text: str) -> None:
    print(f"slotwise: {text}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    from slotwise.model import SlotwiseError

    if os.environ.get("SLOTWISE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, SlotwiseError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"internal error ({text}): please report it with the command and the output of "
        "SLOTWISE_DEBUG=1"
    )
