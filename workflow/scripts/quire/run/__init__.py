"""What surrounds the stages: configuration and sheets before a run, and what every job does around its one call."""
