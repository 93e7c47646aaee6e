"""The command `quire`, as `python -m quire`."""

from quire.command import main

if __name__ == "__main__":
    main()
