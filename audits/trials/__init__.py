"""Running trials: sequential tests, power by simulation, executors, checkpoints."""
