"""The commands of ``fedward``, one topic a file; ``fedward.cli`` puts them together."""
