"""Studies: trainings, replicas, certifications, sweeps, inference attacks and pre-trainings."""
