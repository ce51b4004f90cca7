"""What a user asks for: trainings, replicas, certifications, sweeps, inference attacks, pre-trainings."""
