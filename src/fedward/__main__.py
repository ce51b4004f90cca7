"""``python -m fedward`` is the command ``fedward``."""

from fedward.cli import main

if __name__ == "__main__":
    main()
