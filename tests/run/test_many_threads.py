"""What a process with many threads sets for itself holds, and memory stays with it."""

import subprocess
import sys
import textwrap

from quire import sources


def test_large_arrays_come_from_memory_that_was_there() -> None:
    """Freed and asked for again, an array takes no new pages; without `prepare` each is new, and so is a larger one."""
    script = """
        import resource, sys
        import numpy as np
        from quire import many_threads

        def new_pages(megabytes):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(10):
                np.ones(megabytes << 20, np.uint8)[:1].sum()
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        first = new_pages(40)
        many_threads.prepare()
        np.ones(41 << 20, np.uint8)
        print(sys.getswitchinterval(), first, new_pages(40), new_pages(80))
    """
    environment = {"PYTHONPATH": str(sources.SCRIPTS)}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    interval, before, after, large = map(float, result.stdout.split())
    assert interval == 0.0005
    assert after < before / 5, (before, after)
    assert large > after + 200, (after, large)
