"""What a study would do, cost and spend, before any of it is done."""
