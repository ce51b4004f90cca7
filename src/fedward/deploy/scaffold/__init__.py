"""The files that ``fedward flower new`` writes."""
