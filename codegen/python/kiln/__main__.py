"""python -m kiln: the command line."""
import os
import sys

from . import errors, program


def main():
    """Goes on as the program `kiln`, with this process's arguments."""
    try:
        os.execv(program.path(), ["kiln", *sys.argv[1:]])
    except (errors.KilnError, OSError) as e:
        sys.exit("kiln: %s" % e)


if __name__ == "__main__":
    main()
