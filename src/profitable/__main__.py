"""`python -m profitable` is the command line."""

from profitable.cli.app import main

if __name__ == "__main__":
    main()
