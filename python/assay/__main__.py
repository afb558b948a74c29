"""python3 -m assay …: the program `assay`, with the rest of the line."""

import os
import sys


def program():
    """Where the program is: $ASSAY_PROGRAM, beside this package, beside this Python, on $PATH; or None."""
    import shutil

    here = os.path.dirname(os.path.abspath(__file__))
    places = [
        os.environ.get("ASSAY_PROGRAM"),
        os.path.join(here, "assay"),
        os.path.join(os.path.dirname(os.path.dirname(here)), "assay"),
        os.path.join(os.path.dirname(sys.executable), "assay"),
        shutil.which("assay"),
    ]
    for path in places:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
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
