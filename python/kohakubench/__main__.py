"""python3 -m kohakubench …: the command kobench."""

import sys

from kohakubench.cli import main

if __name__ == "__main__":
    sys.exit(main())
