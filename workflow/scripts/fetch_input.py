"""Give the copy of a remote input that Snakemake fetched its place among the results, after a look at its content."""

import os
import shutil
from pathlib import Path

from quire.run.copies import Remote, require_usable
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    # The file is linked, since Snakemake removes its own, and copied if its place is on another file system.
    fetched, copy = job.input[0], job.output[0]
    require_usable(fetched, Remote(*job.params.remote))
    partial = Path(f"{copy}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.link(fetched, partial)
    except OSError:
        shutil.copyfile(fetched, partial)
    os.utime(partial)
    partial.replace(copy)
