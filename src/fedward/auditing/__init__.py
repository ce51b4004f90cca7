"""Lower bounds on ε from attacks, each with what it assumes; and broken mechanisms to try them on."""
