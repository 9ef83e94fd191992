"""`python -m ops` is `outrider`."""

from ops.cli import main

if __name__ == "__main__":
    main()
