"""Runs that are kept: their plans, figures, decisions and events, in one SQLite file.

`recorder` writes them while a run goes on, in a thread of its own; `reading` has them for the
command line and for the page, also while they are written. `thinning` says what is kept for how
long.
"""

from slotwise.runs.reading import KeptRun, Runs
from slotwise.runs.recorder import Head, Recorder
from slotwise.runs.store import usual_file

__all__ = ["Head", "KeptRun", "Recorder", "Runs", "usual_file"]
