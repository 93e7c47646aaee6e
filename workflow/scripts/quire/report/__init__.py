"""Last stage of a run: an HTML report and summary.json on sample quality, findings, run time and lost reads."""
