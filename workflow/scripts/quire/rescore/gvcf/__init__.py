"""The gVCF of a sample: its variants, and between them blocks of positions with the confidence in the reference.

Follows HaplotypeCallerEngine.callRegion with reference confidence. `chunk` calls some tiles, `variants` genotypes a
site with `<NON_REF>` among the alleles, `blocks` joins positions of similar confidence, `records` makes the records of
both. `quire.rescore.joint` genotypes the gVCFs of many samples together.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.reference import Reference
from quire.rescore.chunks import read_chunks
from quire.rescore.gvcf.blocks import with_blocks
from quire.rescore.gvcf.chunk import LOOK_BACK, call_chunk
from quire.rescore.job import CallingJob
from quire.rescore.tally import Tally


def stretch_records(
    job: CallingJob, contig: str, intervals: NDArray[np.int64], tally: Tally
) -> Iterator[VariantRecord]:
    """Return variants and blocks of intervals (int64[n, 2]) of a contig, in order; the job has one sample."""
    chunks = read_chunks(job, contig, intervals, tally, LOOK_BACK)
    called = (call_chunk(job, chunk, tally) for chunk in chunks)
    return with_blocks(contig, called, intervals, partial(_letters, job.reference, contig), job.samples[0].ploidy)


def _letters(reference: Reference, contig: str, start: int, end: int) -> str:
    return reference.sequence(contig, start, end).decode()
