"""``python -m softecm`` is the command line."""

from softecm.cli import main

if __name__ == "__main__":
    main()
