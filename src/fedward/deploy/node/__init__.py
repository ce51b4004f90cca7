"""The side of the data: what a node does for its server, and what it does not, whoever asks."""
