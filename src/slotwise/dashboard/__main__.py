"""The server's process: `python -m slotwise.dashboard`, started by serving.py."""

from slotwise.dashboard.process import main

main()
