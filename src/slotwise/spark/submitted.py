"""What spark-submit runs: `slotwise` with the arguments that follow, in the driver's Python."""

import sys
from pathlib import Path


def is_kept(entry: str) -> bool:
    """Whether Python looks for modules there. Not in this folder, whose modules have common names;
    and not in the archives that spark-submit puts first: pyspark is installed beside slotwise.
    """
    path = Path(entry).resolve()
    is_archive = path.suffix == ".zip" and path.name.startswith(("pyspark", "py4j"))
    return path != Path(__file__).resolve().parent and not is_archive


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if is_kept(entry)]

    from slotwise.cli import main

    main()
