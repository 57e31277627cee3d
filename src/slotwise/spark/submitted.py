"""What spark-submit runs: `slotwise` with the arguments that follow, in the driver's Python."""

import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    # Python looks for modules beside the file that it runs, and ours have common names.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]

    from slotwise.cli import main

    main()
