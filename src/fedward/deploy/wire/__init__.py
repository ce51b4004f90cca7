"""Messages between a server and its nodes: a version, named fields, raw arrays; nothing that runs code."""
