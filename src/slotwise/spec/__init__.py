"""YAML spec files <-> model; errors name the file, the line and what to write instead."""

from slotwise.spec.errors import SpecError
from slotwise.spec.files import dump, load, loads

__all__ = ["SpecError", "dump", "load", "loads"]
