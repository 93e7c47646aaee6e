"""Records of copy numbers: junctions with the copies of their span, and segments without a junction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quire.finish.evidence_cpu import WINDOW
from quire.io.vcf import Value, VariantRecord
from quire.reference import Reference
from quire.rescore.records import allele_text
from quire.structural.copies import LEAST_CHANGE, SampleCopies, Segment, SpanCopies, copies_within
from quire.structural.records import DEPTH

LEAST_BASES = 10_000  # of a segment without a junction, and of a junction that the depth may contradict
LEAST_QUALITY, MOST_QUALITY, MOST_CNQ = 30.0, 1000.0, 99
COMMON = 0.8  # share of a segment and of the span of a junction that lies in both
APART = 2  # windows between the ends of one segment in two samples


@dataclass(frozen=True)
class CopyRecords:
    """Copy numbers of all samples, None for one without."""

    reference: Reference
    samples: Sequence[SampleCopies | None]

    def added_to(self, records: Sequence[VariantRecord]) -> list[VariantRecord]:
        """Return the records with the copies of their spans, and after them records of segments without a junction."""
        segments, result = self._joined(), list[VariantRecord]()
        for record in records:
            if record.info["SVTYPE"] in ("DEL", "DUP"):
                contig, end = self.reference.contig_number[record.contig], int(str(record.info["END"]))
                is_gain, span = record.info["SVTYPE"] == "DUP", (record.start + 1, end)
                agreeing = [one for one in segments if _agrees(one, contig, is_gain, span)]
                if agreeing:  # what the reads at the junction lack, the depth has
                    segments = [one for one in segments if one not in agreeing]
                    record = replace(record, filters=(), info={**record.info, "SVCLAIM": ["DJ"]})
                record = _with_values(record, self._copies(contig, *span), is_gain, span[1] - span[0])
            result.append(record)
        made = (self._record(one, f"quire.depth.{number + 1}") for number, one in enumerate(segments))
        return result + [record for record in made if record is not None]

    def _joined(self) -> list[Segment]:
        """Return the long segments; of those that are the same in several samples, the one whose ends are surest."""
        found = [one for sample in self.samples if sample for one in sample.segments if one.bases >= LEAST_BASES]
        apart = APART * WINDOW * max((sample.depth.size for sample in self.samples if sample), default=0)
        kept: list[Segment] = []
        for one in sorted(found, key=lambda own: own.end.high - own.end.low + own.start.high - own.start.low):
            if not any(
                (one.contig, one.is_gain) == (other.contig, other.is_gain)
                and abs(one.start.position - other.start.position) <= apart
                and abs(one.end.position - other.end.position) <= apart
                for other in kept
            ):
                kept.append(one)
        return sorted(kept)

    def _copies(self, contig: int, start: int, end: int) -> list[SpanCopies | None]:
        return [own and copies_within(own, contig, start, end) for own in self.samples]

    def _record(self, segment: Segment, name: str) -> VariantRecord | None:
        """Return the record of a segment without a junction; None if no sample has it with LEAST_QUALITY."""
        start, end = segment.start.position, segment.end.position
        copies = self._copies(segment.contig, start, end)
        carriers = [own for own in copies if own and own.is_changed(segment.is_gain)]
        quality = max((own.change for own in carriers), default=0.0) - 2 * LEAST_CHANGE
        if quality < LEAST_QUALITY:
            return None
        genotypes = [own and _genotype(own, segment.is_gain) for own in copies]
        alleles = [int(allele) for own in genotypes for allele in own or () if allele != "."]
        at, kind, total = max(0, start - 1), "DUP" if segment.is_gain else "DEL", sum(alleles)
        info: dict[str, Value] = {
            "SVTYPE": kind,
            "SVLEN": [segment.bases],
            "END": end,
            "SVCLAIM": ["D"],
            "CIPOS": [segment.start.low - start, segment.start.high - start],
            "CIEND": [segment.end.low - end, segment.end.high - end],
            "IMPRECISE": True,
            **{"AC": [total], "AF": [total / max(1, len(alleles))], "AN": len(alleles)},
        }
        base = allele_text(self.reference.contig_codes(segment.contig, at, at + 1).tobytes())
        samples: list[dict[str, Value]] = [
            {"GT": "/".join(genotype or "."), **_values(own)} for genotype, own in zip(genotypes, copies, strict=True)
        ]
        contig, quality = self.reference.contig_names[segment.contig], min(quality, MOST_QUALITY)
        return VariantRecord(contig, at, (base, f"<{kind}>"), quality, (), info, samples, name)


def _agrees(one: Segment, contig: int, is_gain: bool, span: tuple[int, int]) -> bool:
    """Return True if a segment has the kind of a junction, and COMMON of both lies in the other."""
    common = min(one.end.position, span[1]) - max(one.start.position, span[0])
    is_alike = common >= COMMON * max(one.bases, span[1] - span[0])
    return is_alike and (one.contig, one.is_gain) == (contig, is_gain)


def _with_values(
    record: VariantRecord, copies: Sequence[SpanCopies | None], is_gain: bool, bases: int
) -> VariantRecord:
    """Return the record of a junction with copy numbers; a long one whose carriers have the usual one fails DEPTH.

    The ends of a copy that is inserted elsewhere look like those of a deletion and of a duplication.
    """
    if not any(copies):
        return record
    samples = [{**own, **_values(more)} for own, more in zip(record.samples, copies, strict=True)]
    carriers = [own for own, sample in zip(copies, samples, strict=True) if own and "1" in str(sample["GT"])]
    filters = record.filters or ()
    if bases >= LEAST_BASES and carriers and not any(own.is_changed(is_gain) for own in carriers):
        filters = tuple(dict.fromkeys((*filters, DEPTH)))
    return replace(record, samples=samples, filters=filters)


def _values(own: SpanCopies | None) -> dict[str, Value]:
    """Return the values of CN and CNQ of a sample."""
    return {"CN": None, "CNQ": None} if own is None else {"CN": own.copies, "CNQ": min(own.lead, MOST_CNQ)}


def _genotype(own: SpanCopies, is_gain: bool) -> list[str]:
    """Return the alleles of a sample; two copies more may be on one haplotype, or one on each."""
    changed = own.copies - own.ploidy if is_gain else own.ploidy - own.copies
    if is_gain and changed > 1:
        return ["."] * (own.ploidy - 1) + ["1"]
    carriers = min(max(changed, 0), own.ploidy)
    return ["0"] * (own.ploidy - carriers) + ["1"] * carriers
