"""What every rule's script does around its one library call: the log, and errors as one sentence.

Snakemake gives a script the object `snakemake`; `run_job` sends logging and stderr to the rule's log file and turns
a user's mistake into one line on the log and on the terminal with exit status 1.
"""

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quire.errors import QuireError


def run_job(snakemake: Any, main: Callable[[], None]) -> None:
    """Run `main` with the log of the rule; exit with status 1 and one line on a QuireError or an OSError.

    Args:
        snakemake: the object that Snakemake injects into scripts; only `log` and `rule` are used.
        main: the job, without arguments.

    Raises:
        SystemExit: status 1 after a user's mistake. Any other exception is logged with its traceback and raised again.
    """
    terminal = os.fdopen(os.dup(2), "w")
    log = Path(snakemake.log[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as stream:
        # File descriptor 2 itself is redirected, so that messages of C libraries (htslib) land in the log too.
        os.dup2(stream.fileno(), 2)
        logging.basicConfig(
            stream=stream, level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S", force=True
        )
        try:
            main()
        except (QuireError, OSError) as error:
            message = f"quire: error: {describe(error)}"
            logging.getLogger("quire").error(message)
            print(message, file=terminal, flush=True)
            sys.exit(1)
        except Exception:
            logging.getLogger("quire").exception("unexpected failure in rule %s", snakemake.rule)
            print(f"quire: error: unexpected failure in rule {snakemake.rule}; see {log}", file=terminal, flush=True)
            raise


def describe(error: Exception) -> str:
    """One sentence for an error: a QuireError's own, or the file and reason of an OSError."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path, its permissions and the free space."
    if isinstance(error, OSError):
        return f"{error.strerror or error}; check permissions and the free space of the output and temporary folders."
    return str(error)
