"""How to do a run again: the command, the experiment file, or the objects of a program."""
