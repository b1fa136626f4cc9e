"""`python -m heedful`: the same as `heedful`."""

from heedful.cli import main

if __name__ == "__main__":  # worker processes import this module too
    main()
