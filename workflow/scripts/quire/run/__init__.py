"""Everything around the stages: configuration and sheets before a run, logs and errors around each job's call."""
