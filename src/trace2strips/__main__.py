"""`python -m trace2strips` is the command `trace2strips`."""

from trace2strips.cli import main

if __name__ == "__main__":
    main()
