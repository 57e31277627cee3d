"""Slotwise: how many threads, on how many machines, and which thread where, on Spark."""

__version__ = "0.1.0"
