"""python3 -m assay …, and the command assay of the wheel: the program `assay`, with the rest of the line."""

import os
import sys


def _is_program(path):
    """A program, and not a script that would call this again."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def program():
    """Where the program is: $ASSAY_PROGRAM, in this package, beside it, beside this Python, on $PATH; or None."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here, os.path.dirname(os.path.dirname(here)), os.path.dirname(sys.executable), *os.get_exec_path()]
    places = [os.path.join(folder, "assay") for folder in folders]
    for path in [os.environ.get("ASSAY_PROGRAM"), *places]:
        if path and _is_program(path):
            return path
    return None


def main():
    path = program()
    if path is None:
        sys.stderr.write(
            "assay: the program is neither on $PATH nor beside this package. Build it in assay's sources:\n"
            "  make && make install PREFIX=$HOME/.local\n"
            "or name it in $ASSAY_PROGRAM. The functions of `import assay` work without it.\n"
        )
        return 3
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
