"""A file of the run itself that is damaged: the next run that reads it names it in one sentence."""

from collections.abc import Callable

import pytest

from tests.workflow.runs import Run, errors_of

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rescore/pieces.json", ("--dry-run", "call")),
        ("align/NA12878.counts.json", ("--forcerun", "write_report", "--", "report")),
    ],
)
def test_a_damaged_file_is_named(continued: Callable[[], Run], name: str, arguments: tuple[str, ...]) -> None:
    run = continued()
    path = run.output / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    with path.open("r+b") as stream:
        stream.write(content)
    done = run.snakemake(*arguments)
    assert done.returncode == 1
    (error,) = errors_of(done.stdout)
    assert f"{name}: does not match its checksum" in error
    assert "Traceback" not in done.stdout
