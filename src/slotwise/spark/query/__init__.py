"""A plan as one Spark query: levels, tuple types, routes and SQL."""
