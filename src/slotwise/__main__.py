"""`python -m slotwise`."""

from slotwise.cli import main

if __name__ == "__main__":
    main()
