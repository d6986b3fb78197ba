"""python -m cfx: the program cfx."""

import os
import shutil
import sys


def program():
    """The program that came with the package, else that of the system."""
    here = os.path.dirname(os.path.abspath(__file__))
    own = os.path.join(here, "bin", "cfx")
    if os.path.exists(own):
        os.environ.setdefault("CFX_MACHINES", os.path.join(here, "machines"))
        return own
    return shutil.which("cfx")


def main():
    path = program()
    if path is None:
        sys.exit("cfx: the program cfx is not installed")
    os.execv(path, ["cfx", *sys.argv[1:]])


if __name__ == "__main__":
    main()
