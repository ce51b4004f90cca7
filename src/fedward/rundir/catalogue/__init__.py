"""Many runs: what they were, what came out, and how they compare.

facts.py      one run directory as flat facts, read from its plain files
index.py      the facts of all runs below a directory, and a cache of them that can be made again
conditions.py what a person asks for: ``accuracy>0.9``, ``algorithm.preset=fedavg``
export.py     the same for other programs
"""
