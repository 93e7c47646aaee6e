"""Records of structural variants: VCF 4.4, alleles as letters where the bases are known and few, else symbolic."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Field, Fields, Value, VariantRecord
from quire.reference import Reference
from quire.rescore.genotyping import Call, call_site, likeliest_genotype
from quire.rescore.genotyping.sites import Site
from quire.rescore.long_indels import CONFLICT, SHORTEST
from quire.rescore.parameters import INFORMATIVE_LOG10
from quire.rescore.records import FIELDS as CALL_FIELDS
from quire.rescore.records import allele_text, variant_record
from quire.simd.powers_of_ten import LOG10_OF_E
from quire.structural.junctions import End, Junction, away, complement
from quire.structural.repeats import LONGEST_REPEAT, is_repeat
from quire.structural.support import Fragments, known_bases

LONGEST_DELETION_IN_LETTERS = 1000
LEAST_FRAGMENTS, LEAST_SHARE = 3, 0.2  # of one sample that must show the junction
UNKNOWN = 300  # bases within which an end is that only pairs show: what lies between the reads of a pair
MOST_RIVALS = 10  # records before one that may be at its place
_GAIN = {"INS": True, "DUP": True, "DEL": False}
LEAST_FOR_DEPTH = 500  # bases of a variant whose genotypes its depth counts for
MOST_BY_DEPTH = 30.0  # phred
LEAST_TO_FILTER, LEAST_CHANGE = 1000, 0.15  # bases of a variant whose relative depth must change, and by how much
FEW, DEPTH, ONE_JUNCTION, TANDEM_REPEAT = "FEW_READS", "DEPTH", "ONE_JUNCTION", "TANDEM_REPEAT"
DEFINITIONS = [
    '##ALT=<ID=DEL,Description="Deletion">',
    '##ALT=<ID=DUP,Description="Region with more copies">',
    '##ALT=<ID=DUP:TANDEM,Description="Tandem duplication">',
    '##ALT=<ID=INV,Description="Inversion">',
    '##ALT=<ID=INS,Description="Insertion whose bases are not all known">',
    f'##FILTER=<ID={FEW},Description="Fewer than {LEAST_FRAGMENTS} fragments of every sample, or a smaller share '
    f'than {LEAST_SHARE} ({LEAST_SHARE * 0.75:g} of a duplication), show the variant">',
    f'##FILTER=<ID={DEPTH},Description="The copy number between its ends is the ploidy, or no pairs show it and the '
    f'depth of its {LEAST_TO_FILTER} or more bases is as beside them">',
    f'##FILTER=<ID={ONE_JUNCTION},Description="Only one of the two junctions of an inversion was found">',
    f'##FILTER=<ID={TANDEM_REPEAT},Description="The duplicated bases are a tandem repeat already, and the number of '
    'further copies is not known">',
]
FIELDS = Fields.of(
    info=(
        Field("SVTYPE", "1", "String", "Kind of structural variant"),
        Field("SVLEN", "A", "Integer", "Bases deleted, duplicated, inverted or inserted"),
        Field("END", "1", "Integer", "Last position of the variant"),
        Field("SVCLAIM", "A", "String", "J: the claim is by a junction, D: by depth"),
        Field("CIPOS", ".", "Integer", "Interval of POS by which the variant can be shifted"),
        Field("CIEND", ".", "Integer", "The same of END"),
        Field("HOMLEN", "A", "Integer", "Bases of micro-homology at the junction"),
        Field("HOMSEQ", "A", "String", "The bases of the micro-homology"),
        Field("IMPRECISE", "0", "Flag", "Only pairs or the depth show the variant"),
        Field("SVINSSEQ", "A", "String", "Bases inserted at the junction"),
        Field("LEFT_SVINSSEQ", "A", "String", "Known first bases of an insertion"),
        Field("RIGHT_SVINSSEQ", "A", "String", "Known last bases of an insertion"),
        Field("SOURCE", "1", "String", "Place that has the inserted bases too: contig:first-last:strand"),
        Field("EVENT", "A", "String", "Name of the event that several records describe"),
        Field("MATEID", "A", "String", "ID of the other end's record"),
        *(CALL_FIELDS.info[key] for key in ("AC", "AF", "AN")),
    ),
    format=(
        *CALL_FIELDS.format.values(),
        Field("SR", "1", "Integer", "Fragments with a read across the junction"),
        Field("PR", "1", "Integer", "Pairs with a wrong distance or orientation around the junction"),
        Field("CN", "1", "Float", "Copy number by depth"),
        Field("CNQ", "1", "Float", "Lead of the copy number's likelihood over the next, phred, at most 99", ".0f"),
    ),
)


def records_of(
    reference: Reference,
    junction: Junction,
    fragments: Fragments,
    ploidies: NDArray[np.int64],
    minimum_quality: float,
    name: str,
) -> list[VariantRecord]:
    """Return the records of a junction, two for a BND; none if no sample carries it."""
    start = junction.first.position - 1
    if (start < 0 and junction.kind != "BND") or not len(fragments.sample) or _is_gap(reference, junction):
        return []
    site = Site(start, (b"\0", b"\0\1"), np.eye(2, dtype=np.bool_))  # to the model, an indel
    call = call_site(site, fragments.matrix, fragments.sample, ploidies, minimum_quality, False)
    if call is None:
        return []
    call = _with_depth(call, junction, fragments.depth)
    called = [allele for genotype in call.genotypes for allele in genotype if allele >= 0]
    counts: dict[str, Value] = {"AC": [sum(called)], "AF": [sum(called) / max(1, len(called))], "AN": len(called)}
    genotyped = variant_record(reference.contig_names[junction.first.contig], call, {})
    depths = [_depths(fragments, sample) for sample in range(len(ploidies))]
    samples = [
        {**own, "AD": depth, "DP": sum(depth), "SR": int(split), "PR": int(spanning)}
        for own, depth, split, spanning in zip(
            genotyped.samples, depths, fragments.split, fragments.spanning, strict=True
        )
    ]
    carriers = [max(genotype) > 0 for genotype in call.genotypes]
    shown = not junction.imprecise and int(fragments.spanning.max()) >= LEAST_FRAGMENTS
    has_depth = shown or _has_depth(junction, fragments.depth[carriers])
    share = LEAST_SHARE * (0.75 if junction.kind == "DUP" else 1)  # both haplotypes have the reference at its ends
    is_frequent = any(other >= max(LEAST_FRAGMENTS, share * (own + other)) for own, other in depths)
    filters = _filters(reference, junction, is_frequent, has_depth)

    def record(end: End, alleles: tuple[str, str], info: dict[str, Value], identifier: str) -> VariantRecord:
        contig, at = reference.contig_names[end.contig], end.position - int(end.right or junction.kind != "BND")
        return VariantRecord(contig, at, alleles, call.quality, filters, {**info, **counts}, samples, identifier)

    if junction.kind == "BND":
        one, other = junction.first, junction.second
        ends = ((one, other, junction.inserted, 1), (other, one, complement(junction.inserted), 2))
        return [
            record(own, _bnd(reference, own, mate, inserted),
                   {"SVTYPE": "BND", **_shared_info(reference, junction, own), "EVENT": [name],
                    "MATEID": [f"{name}.{3 - number}"]}, f"{name}.{number}")
            for own, mate, inserted, number in ends
        ]  # fmt: skip
    alleles, info = _alleles(reference, junction)
    return [record(junction.first, alleles, info, name)]


def _is_gap(reference: Reference, junction: Junction) -> bool:
    """Return True for a deletion of a gap of the reference alone, whose size says nothing."""
    ends = junction.first, junction.second
    return junction.kind == "DEL" and not any(known_bases(away(reference, end, SHORTEST)) for end in ends)


def _with_depth(call: Call, junction: Junction, depth: NDArray[np.float64]) -> Call:
    """Return the call of a long deletion or duplication with genotypes that its depth counts for too."""
    if junction.kind not in ("DEL", "DUP") or junction.size < LEAST_FOR_DEPTH:
        return call
    change = -1 if junction.kind == "DEL" else 1
    phreds, genotypes, qualities = [], [], []
    for (ratio, deviation), own in zip(depth.tolist(), call.phreds, strict=True):
        expected = 1 + change * np.arange(len(own)) / (len(own) - 1)
        by_depth = np.zeros(len(own)) if np.isnan(ratio) else 5 * ((ratio - expected) / deviation) ** 2 * LOG10_OF_E
        both = np.rint(own + np.minimum(by_depth - by_depth.min(), MOST_BY_DEPTH)).astype(np.int64)
        both, genotype, quality = likeliest_genotype(both, len(own) - 1, 2)
        phreds.append(both)
        genotypes.append(genotype)
        qualities.append(quality)
    return replace(call, phreds=phreds, genotypes=genotypes, genotype_qualities=qualities)


def _has_depth(junction: Junction, depth: NDArray[np.float64]) -> bool:
    """Return False if no carrier of a long deletion or duplication has another depth between its ends."""
    if junction.kind not in ("DEL", "DUP") or junction.size < LEAST_TO_FILTER or np.isnan(depth[:, 0]).any():
        return True
    change = 1 - depth[:, 0] if junction.kind == "DEL" else depth[:, 0] - 1
    return bool((change > LEAST_CHANGE).any())


def _filters(reference: Reference, junction: Junction, is_frequent: bool, has_depth: bool) -> tuple[str, ...]:
    """Return the names of the failed filters, given if enough fragments show the junction, and the depth or pairs."""
    failed = {
        FEW: not is_frequent,
        DEPTH: not has_depth,
        ONE_JUNCTION: junction.kind == "INV" and not junction.both,
        TANDEM_REPEAT: is_repeat(reference, junction),
    }
    return tuple(name for name, has_failed in failed.items() if has_failed)


def _depths(fragments: Fragments, sample: int) -> list[int]:
    """Return the fragments of a sample that clearly show the reference and the junction, by their weight."""
    difference = fragments.matrix[:, 1] - fragments.matrix[:, 0]
    own, clear = fragments.sample == sample, np.abs(difference) > INFORMATIVE_LOG10 * fragments.weight
    return [int(np.rint(fragments.weight[own & clear & side].sum())) for side in (difference < 0, difference > 0)]


def _alleles(reference: Reference, junction: Junction) -> tuple[tuple[str, str], dict[str, Value]]:
    """Return the alleles of a variant on one contig, and its INFO."""
    kind, contig = junction.kind, junction.first.contig
    start, end = junction.first.position - 1, junction.second.position
    base = allele_text(reference.contig_codes(contig, start, start + 1).tobytes())
    inserted = allele_text(junction.inserted)
    info: dict[str, Value] = {"SVTYPE": kind, "SVLEN": [junction.size], "END": end}
    if kind in ("DEL", "DUP"):
        info["SVCLAIM"] = ["J"]
    info |= _shared_info(reference, junction, junction.first)
    if junction.imprecise:
        info |= {"IMPRECISE": True, "CIPOS": [0, UNKNOWN], "CIEND": [-UNKNOWN, 0]}
        return (base, "<DEL>"), info
    if junction.homology:
        shifted = [0, junction.homology]
        info["CIEND"] = shifted if junction.second_shift > 0 else [-junction.homology, 0]
    if junction.ending is not None:
        del info["SVLEN"]
        info |= {"LEFT_SVINSSEQ": [inserted], "RIGHT_SVINSSEQ": [allele_text(junction.ending)]}
        return (base, "<INS>"), info
    if junction.source is not None:
        at, first, last, forward = junction.source
        info["SOURCE"] = f"{reference.contig_names[at]}:{first + 1}-{last}:{'+' if forward else '-'}"
    if kind == "INS" or (kind == "DEL" and junction.size < LONGEST_DELETION_IN_LETTERS):
        return (allele_text(reference.contig_codes(contig, start, end).tobytes()), base + inserted), info
    if inserted:
        info["SVINSSEQ"] = [inserted]
    return (base, {"DEL": "<DEL>", "DUP": "<DUP:TANDEM>", "INV": "<INV>"}[kind]), info


def _shared_info(reference: Reference, junction: Junction, end: End) -> dict[str, Value]:
    """Return the INFO of one end's micro-homology."""
    size = junction.homology
    if not size:
        return {}
    is_least = end == junction.first or junction.second_shift > 0  # of the positions to which the end can be shifted
    text = away(reference, end._replace(right=is_least), size).tobytes()
    return {
        "CIPOS": [0, size] if is_least else [-size, 0],
        "HOMLEN": [size],
        "HOMSEQ": [allele_text(text if is_least else complement(text))],
    }


def _bnd(reference: Reference, own: End, mate: End, inserted: bytes) -> tuple[str, str]:
    """Return the alleles of one end of a BND; `inserted` are the bases as read away from it."""
    at = own.position - int(own.right)
    base = allele_text(reference.contig_codes(own.contig, at, at + 1).tobytes())
    bracket = "]" if mate.right else "["
    place = f"{bracket}{reference.contig_names[mate.contig]}:{mate.position + int(not mate.right)}{bracket}"
    if own.right:
        return base, base + allele_text(inserted) + place
    return base, place + allele_text(complement(inserted)) + base


def with_absent(record: VariantRecord, ploidies: NDArray[np.int64]) -> VariantRecord:
    """Return a record of the present samples with columns for those of ploidy 0 too."""
    present = iter(record.samples)
    nothing = dict.fromkeys(record.samples[0]) | {"GT": "."}
    return replace(record, samples=[next(present) if ploidy else nothing for ploidy in ploidies])


def ordered(records: Iterable[VariantRecord], contigs: Sequence[str]) -> list[VariantRecord]:
    """Return records in the order of the genome."""
    rank = {name: number for number, name in enumerate(contigs)}
    return sorted(records, key=lambda record: (rank[record.contig], record.start, record.identifier))


def without_conflicts(records: Sequence[VariantRecord]) -> list[VariantRecord]:
    """Return ordered records without the worse of two short gains, or losses, of bases at one place."""
    kept: list[VariantRecord] = []
    for record in records:
        rivals = [other for other in kept[-MOST_RIVALS:] if _is_rival(record, other)]
        if all((record.quality or 0) > (other.quality or 0) for other in rivals):
            for other in rivals:
                kept.remove(other)
            kept.append(record)
    return kept


def _is_rival(one: VariantRecord, other: VariantRecord) -> bool:
    sides = [_GAIN.get(str(record.info["SVTYPE"])) for record in (one, other)]
    near = one.contig == other.contig and abs(one.start - other.start) <= CONFLICT
    return near and sides[0] is not None and sides[0] == sides[1] and _is_short(one) and _is_short(other)


def _is_short(record: VariantRecord) -> bool:
    size = record.info.get("SVLEN")
    return size is None or (isinstance(size, list) and size[0] <= LONGEST_REPEAT)
