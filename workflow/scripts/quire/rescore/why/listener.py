"""An observer of the caller that keeps the facts about one position."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode_cpu import Records, cigars_of
from quire.rescore.assembly import RegionAssembly, TriedGraph
from quire.rescore.chunks import RegionBatch
from quire.rescore.genotyping.sites import Site
from quire.rescore.haplotypes import Haplotype
from quire.rescore.haplotypes.likelihoods_cpu import RegionLikelihoods
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.filters_cpu import FILTERS
from quire.rescore.regions_cpu import AssembledRegion
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CONSUMES_READ, CONSUMES_REFERENCE
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.sequence.codes import LETTERS


@dataclass(frozen=True)
class Pile:
    """A sample's reads over the position.

    Counts of reads by outcome (FILTERS), and of used reads by their allele there: a base, "deleted", or a base and
    "+insertion".
    """

    verdicts: Counter[str]
    alleles: Counter[str]


@dataclass
class RegionStory:
    """An active region over the position; spans are 0-based, half-open.

    Attributes:
        reads: number of assembled reads.
        graphs: the graphs that were tried.
        sequences: number of distinct haplotypes, the reference included.
        aligned: the haplotypes that could be aligned to the reference.
        region: the region after trimming; None if it has no variants.
    """

    span: tuple[int, int]
    padded: tuple[int, int]
    reads: int
    graphs: Sequence[TriedGraph]
    sequences: int
    aligned: Sequence[Haplotype] = ()
    region: AssembledRegion | None = None
    likelihoods: RegionLikelihoods | None = None


@dataclass
class SiteStory:
    """A site that was genotyped.

    Attributes:
        given, site: with all alleles of its haplotypes, and with the alleles that were considered.
        touching: int64[samples], reads that touch the site.
        depths: int64[samples, alleles], reads that clearly support each allele.
        phreds: PL of all samples end to end.
        absent: log10 of the probability that each allele is absent.
        kept: numbers of the alleles that are likely enough.
    """

    given: Site
    site: Site
    touching: NDArray[np.int64]
    depths: NDArray[np.int64]
    phreds: NDArray[np.int64]
    ploidies: NDArray[np.int64]
    quality: float
    absent: NDArray[np.float64]
    kept: Sequence[int]


class Story:
    """All facts about a position (0-based).

    Attributes:
        piles: by sample.
        activity: of the positions from `activity_start` on.
        spans: active regions near the position.
        region: the active region that holds the position; None if there is none.
        sites: of that region, in order.
    """

    def __init__(self, names: Mapping[int, str], contig: str, position: int) -> None:
        """Start without facts; `names` are those of the samples, by the id of their sources of reads."""
        self.contig, self.position = contig, position
        self.piles: dict[str, Pile] = {}
        self.activity: NDArray[np.float64] = np.zeros(0)
        self.activity_start = 0
        self.spans: NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self.region: RegionStory | None = None
        self.sites: list[SiteStory] = []
        self._names = names
        self._ours = False  # True while the steps are about `region`

    def hear(self, step: str, facts: Mapping[str, Any]) -> None:
        """Keep the facts of a step that are about the position; see `quire.rescore.trace`."""
        keep: Mapping[str, Callable[..., None]] = {
            "reads": self._reads,
            "activity": self._activity,
            "assembled": self._assembled,
            "aligned": self._aligned,
            "scored": self._scored,
            "judged": self._judged,
        }
        keep[step](**facts)

    def _reads(self, source: Any, records: Records, verdicts: NDArray[np.uint8], reads: AlignedReads) -> None:
        if id(source) in self._names:
            verdict = Counter(FILTERS[verdicts[i]] for i in _over(records, self.position))
            self.piles[self._names[id(source)]] = Pile(verdict, _alleles(reads, self.position))

    def _activity(self, start: int, activity: NDArray[np.float64], spans: NDArray[np.int64]) -> None:
        if start <= self.position < start + len(activity):
            self.activity, self.activity_start, self.spans = activity, start, spans

    def _assembled(self, contig: str, batch: RegionBatch, assemblies: Sequence[RegionAssembly]) -> None:
        for r, (span, around) in enumerate(zip(batch.spans.tolist(), batch.padded.tolist(), strict=True)):
            if contig == self.contig and span[0] <= self.position < span[1]:
                count = int(np.diff(batch.reads.region_offsets)[r])
                haplotypes, graphs = assemblies[r]
                self.region = RegionStory((span[0], span[1]), (around[0], around[1]), count, graphs, len(haplotypes))

    def _aligned(self, span: NDArray[np.int64], haplotypes: Sequence[Haplotype]) -> None:
        if self.region is not None and self.region.span == tuple(span.tolist()):
            self.region.aligned = haplotypes

    def _scored(self, region: AssembledRegion, scored: RegionLikelihoods) -> None:
        self._ours = self.region is not None and region.reference_start == self.region.padded[0]
        if self._ours and self.region is not None:
            self.region.region, self.region.likelihoods = region, scored

    def _judged(self, **facts: Any) -> None:
        if self._ours:
            self.sites.append(SiteStory(**facts))


def _over(records: Records, position: int) -> list[int]:
    """Return the numbers of the records whose alignment covers a position."""
    offsets, cigars = cigars_of(records, np.arange(len(records.starts)))
    found = []
    for i, start in enumerate(records.fixed["position"].tolist()):
        elements = cigars[offsets[i] : offsets[i + 1]]
        length = sum(int(length_of(e)) for e in elements if CONSUMES_REFERENCE >> int(operation_of(e)) & 1)
        if start <= position < start + max(length, 1):
            found.append(i)
    return found


def _alleles(reads: AlignedReads, position: int) -> Counter[str]:
    """Count the reads that cover a position by their allele there."""
    found: Counter[str] = Counter()
    for i in np.flatnonzero((reads.aligned_start <= position) & (reads.aligned_end > position)).tolist():
        at, query = int(reads.aligned_start[i]), int(reads.base_offsets[i])
        letter = ""
        for element in reads.cigar[reads.cigar_offsets[i] : reads.cigar_offsets[i + 1]]:
            operation, length = int(operation_of(element)), int(length_of(element))
            if operation in (CIGAR_MATCH, CIGAR_DELETION) and at <= position < at + length:
                letter = "deleted" if operation == CIGAR_DELETION else chr(LETTERS[reads.bases[query + position - at]])
            if operation == CIGAR_INSERTION and at == position + 1 and letter:
                letter += "+" + "".join(chr(LETTERS[code]) for code in reads.bases[query : query + length])
            at += length * (CONSUMES_REFERENCE >> operation & 1)
            query += length * (CONSUMES_READ >> operation & 1)
        found[letter or "?"] += 1
    return found
