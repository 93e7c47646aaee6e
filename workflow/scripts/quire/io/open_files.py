"""How many files a process may have open at a time."""

import resource
from contextlib import suppress


def allow_open_files() -> None:
    """Raise the limit of open files as far as the system lets a user.

    The usual limit of 1,024 is for programs of old that count on it; what may be asked for is hundreds of times that.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != most:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
