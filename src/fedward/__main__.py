"""``python -m fedward`` is the command ``fedward``."""

from fedward_command import main

if __name__ == "__main__":
    main()
