"""The limit of open files of a process."""

import resource
from contextlib import suppress


def allow_open_files() -> None:
    """Raise the soft limit of open files to the hard limit.

    The usual soft limit of 1,024 is for old programs that rely on it; the hard limit is hundreds of times larger.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != most:
        with suppress(OSError, ValueError):  # some systems allow less than the limit they report
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
