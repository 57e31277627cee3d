"""What the meters inside the executors count, as Observations."""
