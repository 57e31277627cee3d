"""Schedules of the input rate as text: in specs, in sweep files and on the command line.

constant                                 the nominal rate
step:at=60s,factor=2                     from 60 s on, twice the nominal rate
ramp:from=0s,to=60s,factor=5             linearly to five times the nominal rate
sine:period=60s,amplitude=0.5            between half and one and a half times the nominal rate
burst:period=60s,length=5s,factor=3      in each minute, three times the rate for the last 5 s
"""

from __future__ import annotations

from datetime import timedelta

from slotwise import forms, registry
from slotwise.forms import Form
from slotwise.model import Choice, Schedule

SCHEDULES = {
    "constant": Form(),
    "step": Form({"at": timedelta, "factor": float}),
    "ramp": Form({"from": timedelta, "to": timedelta, "factor": float}),
    "sine": Form({"period": timedelta, "amplitude": float}),
    "burst": Form({"period": timedelta, "length": timedelta, "factor": float}),
}


def schedule(given: Choice | str) -> Schedule:
    """The schedule that is meant. Raises ModelError.

    >>> schedule("ramp:from=10s,to=1m,factor=3").points
    ((0.0, 1.0), (10.0, 1.0), (60.0, 3.0))
    """
    choice = registry.choice(given)
    options = forms.read("schedule", SCHEDULES, choice)
    types = SCHEDULES[choice.name].needs
    made: Schedule = getattr(Schedule, choice.name)(
        **{f"{name}_s" if types[name] is timedelta else name: options[name] for name in options}
    )
    return made
