"""Everything around the stages: checks of configuration and sheets before a run, logs and errors of each job."""
