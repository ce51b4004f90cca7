"""The ground floor: checks, named streams, strict JSON, durable files, locks, interrupts."""
