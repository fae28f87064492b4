"""``python -m tracestream``: the command line."""

import sys

from tracestream.cli import main

if __name__ == "__main__":
    sys.exit(main())
