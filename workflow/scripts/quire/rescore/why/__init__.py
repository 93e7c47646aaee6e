"""What happened at one position, step by step, and why a call was or was not made there.

The caller itself runs on the position, by either road; `listener` keeps what its steps say (`quire.rescore.trace`) and
`words` puts it into lines. `python -m quire.rescore why --at chr20:10001298` is the command.
"""

from collections.abc import Iterator
from functools import partial

from quire.errors import InputError
from quire.io.vcf import VariantRecord
from quire.rescore.caller import call_records, contigs_of
from quire.rescore.chunks import CallingJob
from quire.rescore.filters import Filters
from quire.rescore.gvcf import call_gvcf_records
from quire.rescore.gvcf.records import FIELDS as GVCF_FIELDS
from quire.rescore.records import FIELDS
from quire.rescore.trace import listening
from quire.rescore.why.listener import Story
from quire.rescore.why.words import lines_of


def explain(job: CallingJob, contig: str, position: int, gvcf: bool, filters: Filters) -> Iterator[str]:
    """Lines that say what happened at a position.

    Args:
        job: with all samples that are called jointly; one sample for a gVCF.
        contig: name.
        position: 0-based.
        gvcf: whether by the sample's gVCF, rather than by calling all samples at once.
        filters: for the FILTER of a record, without gvcf.

    Raises:
        InputError: the reference has no such contig or position.
    """
    lengths = dict(contigs_of(job.reference))
    if contig not in lengths:
        raise InputError(f"--at: the reference has no contig {contig!r}; its first are {', '.join([*lengths][:5])}.")
    if not 0 <= position < lengths[contig]:
        raise InputError(
            f"--at: position {position + 1} is not on contig {contig}; give one of its {lengths[contig]} bases."
        )
    story = Story({id(sample.source): sample.name for sample in job.samples}, contig, position)
    call = call_gvcf_records if gvcf else partial(call_records, filters)
    with listening(story.hear):
        records = list(call(job, [(contig, position, position + 1)]))
    fields = GVCF_FIELDS if gvcf else FIELDS
    yield from lines_of(job, story, [(record, record.line(fields).rstrip("\n")) for record in records])


__all__ = ["VariantRecord", "explain"]
