"""Lines of the joint VCF: the first columns from Python, those of the samples from kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import SPANNING_DELETION, Fields, VariantRecord
from quire.ragged import pack_bytes
from quire.rescore.filters import Filters, filtered
from quire.rescore.joint.annotations import annotate
from quire.rescore.joint.genotype import JointCall
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.joint.text_cpu import FIRST_IS_VARIANT, OTHER_PHASE, SECOND_IS_VARIANT, write_genotypes
from quire.rescore.phasing import FIRST, PHASE_KEYS, PHASED_PLOIDY, SECOND
from quire.rescore.records import shared_end

_FORMAT = "GT:AD:DP:GQ:PL"  # as `write_genotypes` writes them
_KINDS = {FIRST: FIRST_IS_VARIANT, SECOND: SECOND_IS_VARIANT}


class TextPhases(NamedTuple):
    """The phases of a window, and those of a site's samples.

    Attributes:
        text, first: uint8[] and int64[phases + 1], PGT:PID:PS.
        kind: uint8[phases], see `text_cpu`.
        phase: int64[samples], the sample's phase, or MISSING.
    """

    text: NDArray[np.uint8]
    first: NDArray[np.int64]
    kind: NDArray[np.uint8]
    phase: NDArray[np.int64]


def phase_texts(phases: Sequence[str]) -> TextPhases:
    """Return the phases of a window, without those of samples."""
    kinds = [_KINDS.get(text.partition(":")[0], OTHER_PHASE) for text in phases]
    return TextPhases(*pack_bytes([text.encode() for text in phases]), np.array(kinds, np.uint8), np.empty(0, np.int64))


def joint_line(
    contig: str,
    call: JointCall,
    phases: TextPhases,
    filters: Filters,
    fields: Fields,
    own_filters: tuple[str, ...] = (),
) -> bytes:
    """Return the line of a call. It fails `own_filters` or, without these, those of `filters` that it does not pass."""
    shared = shared_end(call.alleles)
    record = VariantRecord(
        contig=contig,
        start=call.site.start,
        alleles=tuple(a if a == SPANNING_DELETION else a[: len(a) - shared] for a in call.alleles),
        quality=call.quality,
        filters=own_filters,
        info=annotate(call),
        samples=(),
    )
    columns = filtered(record, filters, fields).line(fields).rstrip("\n")
    own = phases._replace(phase=_phases_of(call))
    keys = ":".join([_FORMAT, *(PHASE_KEYS if (own.phase != MISSING).any() else ())])
    star = call.alleles.index(SPANNING_DELETION) if SPANNING_DELETION in call.alleles else MISSING
    samples: NDArray[np.uint8] = write_genotypes(call.genotypes, own, star)
    return b"%b\t%b%b\n" % (columns.encode(), keys.encode(), samples.tobytes())


def _phases_of(call: JointCall) -> NDArray[np.int64]:
    """Return the phase of each sample in its own record; MISSING without PL."""
    genotypes, detail = call.genotypes, call.site.samples.detail
    result = np.full(len(detail), MISSING, np.int64)
    has_phase = genotypes.has_phreds & (genotypes.ploidies == PHASED_PLOIDY) & (detail >= 0)
    result[has_phase] = call.site.window.columns.phase[detail[has_phase]]
    return result
