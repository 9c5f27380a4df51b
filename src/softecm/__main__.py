"""Run the command line by ``python -m softecm``."""

from softecm.cli import main

if __name__ == "__main__":
    main()
