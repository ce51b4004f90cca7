"""Runs computed again from their files: what matches, what is damaged, what rests on trust."""
