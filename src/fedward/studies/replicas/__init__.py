"""M trainings that differ only in randomness."""
