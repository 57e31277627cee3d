"""Plans and comparisons for people: tables for the terminal."""
