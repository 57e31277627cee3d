"""The compiled inside of the simulator: plain functions on tables."""
