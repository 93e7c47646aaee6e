"""Check that the settings of a process with many threads take effect and that it keeps its memory."""

import ctypes
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest
from quire import many_threads, sources


def test_large_arrays_come_from_memory_that_was_there() -> None:
    """A freed array's memory is reused without new pages, unless `prepare` was not called or the array is larger."""
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


@pytest.mark.parametrize(
    ("most", "asked"), [(1 << 30, [-3, -8, -1, -2]), (1 << 25, [-3, -3, -8, -1, -2]), (0, [-3, -3])]
)
def test_a_c_library_that_refuses_the_threshold(most: int, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2.35 glibc accepts at most 32 MB. If it accepts neither threshold, the other options would do harm."""
    seen = []

    def set_option(option: int, value: int) -> int:
        seen.append(option)
        return int(option != -3 or value <= most)

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=set_option))
    interval = sys.getswitchinterval()
    many_threads.prepare()
    sys.setswitchinterval(interval)
    assert seen == asked
