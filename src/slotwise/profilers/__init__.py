"""Models measured, not typed: profile(operator) -> ProfileForms, on Spark or from a run."""
