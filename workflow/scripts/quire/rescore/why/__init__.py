"""An explanation of one position, step by step, and why a call was or was not made there.

The position is called like a unit of a run (`units.call_unit`). `listener` keeps the facts that the steps report
(`quire.rescore.trace`), and `words` prints them. The command is `quire why --at chr20:10001298`.
"""

from collections.abc import Iterator

from quire.errors import InputError
from quire.rescore.job import CallingJob, contigs_of
from quire.rescore.trace import observing
from quire.rescore.units import call_unit
from quire.rescore.why.listener import Story
from quire.rescore.why.words import lines_of


def explain(job: CallingJob, contig: str, position: int) -> Iterator[str]:
    """Yield lines that say what happened at a position (0-based) of a job; raise InputError if there is none such."""
    lengths = dict(contigs_of(job.reference))
    if contig not in lengths:
        raise InputError(f"--at: the reference has no contig {contig!r}; its first are {', '.join([*lengths][:5])}.")
    if not 0 <= position < lengths[contig]:
        raise InputError(
            f"--at: position {position + 1} is not on contig {contig}; give one of its {lengths[contig]} bases."
        )
    story = Story({id(sample.source): sample.name for sample in job.samples}, contig, position)
    with observing(story.hear):
        called = call_unit(job, [(contig, position, position + 1)])
    yield from lines_of(job, story, called.text.decode().splitlines())
