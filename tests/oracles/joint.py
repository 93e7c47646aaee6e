"""Joint genotyping position by position in plain Python, from the text of gVCFs that are right.

At every position each file has at most one record that counts. INFO is filled as by GATK's annotator classes.
"""

from collections.abc import Callable, Iterator, Sequence
from math import sqrt

import numpy as np
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION, Value, VariantRecord
from quire.rescore.genotyping import NO_CALL
from quire.rescore.genotyping.allele_frequency_cpu import genotype_counts
from quire.rescore.genotyping.annotations_cpu import MAXIMUM_QD, fisher_strand, likeliest_frequencies, strand_odds_ratio
from quire.rescore.genotyping.cohort_cpu import FEWEST_FOR_INBREEDING, excess_heterozygosity
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.joint import FIELDS
from quire.rescore.joint.all_sites import LOW_QUALITY
from quire.rescore.phasing import PHASE_KEYS, phased
from quire.rescore.records import shared_end
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

from tests.oracles.joint_sites import Gvcf, GvcfRecord, JointCall, JointGenotype, call_joint_site, integers, merge_site

Letters = Callable[[str, int, int], bytes]
"""Returns the reference's letters of a span of a contig."""


def genotype_span(
    gvcfs: Sequence[Gvcf], contig: str, within: tuple[int, int], minimum_quality: float, letters: Letters | None
) -> Iterator[VariantRecord]:
    """Yield the variants of a cohort that start in a span (0-based, half-open), in order, with `letters` all positions.

    `minimum_quality` is the lowest QUAL of a variant. Records without a variant have one allele.
    """
    start, end = within
    deleted_to = -1  # last position that a written deletion removes
    sites = {record.start for gvcf in gvcfs for record in gvcf.records[contig] if record.is_variant}
    # Deletions that reach into the span are genotyped too, since '*' may only be written for a deletion that is called.
    for position in range(_reach(gvcfs, contig, start), end):
        reaching = [gvcf.reaching(contig, position) for gvcf in gvcfs]
        found = None
        if position in sites:
            call = call_joint_site(merge_site(contig, position, reaching, gvcfs), minimum_quality, deleted_to)
            if call is not None:
                longest = max(len(call.alleles[0]) - len(allele) for allele in call.alleles)
                deleted_to = max(deleted_to, position + longest if longest else -1)
                found = joint_record(contig, call) if call.is_polymorphic else None
        if letters is not None and found is None and position >= start:
            letter = letters(contig, position, position + 1).decode()
            if any(record is not None and record.start < position and record.deletes for record in reaching):
                site = merge_site(contig, position, reaching, gvcfs, letter)
                call = call_joint_site(site, minimum_quality, deleted_to, deletions_alone=True)
                if call is not None and call.is_polymorphic:
                    found = joint_record(contig, call, (LOW_QUALITY,))
            found = found or reference_record(contig, position, reaching, gvcfs, letter)
        if found is not None and position >= start:
            yield found


def _reach(gvcfs: Sequence[Gvcf], contig: str, start: int) -> int:
    """Return the last position up to `start` that no earlier variant spans; later sites depend on no site before it."""
    every = [record for gvcf in gvcfs for record in gvcf.records[contig] if record.is_variant]
    while (before := min((r.start for r in every if r.start <= start < r.end), default=start)) < start:
        start = before
    return start


def joint_record(contig: str, call: JointCall, filters: tuple[str, ...] = ()) -> VariantRecord:
    """Return the record of a call; FORMAT has phase fields if any sample of the site has a phase."""
    shared = shared_end(call.alleles)
    phases = [None if genotype.phreds is None else genotype.source.phase for genotype in call.genotypes]
    samples: list[dict[str, Value]] = []
    for genotype, phase in zip(call.genotypes, phases, strict=True):
        members = phased(genotype.alleles, call.alleles, phase[0]) if phase else genotype.alleles
        if phase and genotype.alleles[0] == genotype.alleles[1] > 0:
            phase = ("1|1", *phase[1:])
        sign = "|" if phase else "/"
        samples.append(
            {
                "GT": sign.join("." if allele == NO_CALL else str(allele) for allele in members) or ".",
                "AD": list(genotype.allele_depths) or None,
                "DP": genotype.depth,
                "GQ": genotype.quality,
                "PL": None if genotype.phreds is None else genotype.phreds.tolist(),
                **(dict(zip(PHASE_KEYS, phase or (None,) * 3, strict=True)) if any(phases) else {}),
            }
        )
    alleles = tuple(a if a == SPANNING_DELETION else a[: len(a) - shared] for a in call.alleles)
    return VariantRecord(contig, call.site.start, alleles, call.quality, filters, annotate(call), samples)


def annotate(call: JointCall) -> dict[str, Value]:
    """Return the INFO fields of a call in the order of FIELDS; fields without data are left out."""
    called = [allele for genotype in call.genotypes if genotype.is_called for allele in genotype.alleles]
    counts = [called.count(a) for a in range(1, len(call.alleles))]
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / len(called) if called else 0.0 for count in counts],
        "AN": len(called),
        "DP": call.site.depth,
    }
    tables = np.array([g.source.strands for g in call.genotypes if g.source.strands]).reshape(-1, 4)
    if len(tables):  # a sample counts for FS if it has more clear reads than two
        info["FS"] = fisher_strand(tuple(tables[tables.sum(axis=1) > 2].sum(axis=0).tolist()))
        info["SOR"] = strand_odds_ratio(tuple(tables.sum(axis=0).tolist()))
    for key in RANK_SUMS:
        values = sorted(float(record.info[key]) for record in call.site.records if key in record.info)
        if values:
            info[key] = values[len(values) // 2]
    squares = [record.info[RAW_MAPPING_QUALITY] for record in call.site.records if RAW_MAPPING_QUALITY in record.info]
    if squares:
        square, reads = np.array([integers(text) for text in squares]).sum(axis=0).tolist()
        info["MQ"] = sqrt(square / reads)
    if depth := _variant_depth(call.genotypes):
        info["QD"] = float(min(call.quality / depth, MAXIMUM_QD))
    info |= likeliest_frequencies(call.likeliest_counts, len(called)) | _cohort_info(call)
    return {key: info[key] for key in FIELDS.info if key in info}


def _variant_depth(genotypes: Sequence[JointGenotype]) -> int:
    """Return the depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    depth, restricted = 0, 0
    for genotype in genotypes:
        if any(allele > 0 for allele in genotype.alleles):
            own = sum(genotype.allele_depths)
            if own - (genotype.allele_depths or (0,))[0] > 1:
                restricted += own
            depth += own or genotype.depth or 0
    return restricted or depth


def _cohort_info(call: JointCall) -> dict[str, float]:
    """Return ExcessHet and InbreedingCoeff of the diploid samples (GenotypeUtils.computeDiploidGenotypeCounts)."""
    diploid = [g for g in call.genotypes if len(g.alleles) == 2 and g.phreds is not None]
    likely = [_three_classes(g.phreds.tolist(), len(call.alleles)) for g in diploid]
    info = {}
    if any(g.is_called for g in diploid):
        references = sum(int(reference + 0.5) for reference, _, _ in likely)
        heterozygous = sum(int(het + 0.5) for reference, het, _ in likely if reference != het)
        others = sum(int(other + 0.5) for _, het, other in likely if other != het)
        p = excess_heterozygosity(heterozygous, references, others)
        info["ExcessHet"] = -10 * log10(p if p >= 10e-60 else 1e-16) + 0.0
    if len(likely) >= FEWEST_FOR_INBREEDING:
        sums = np.array(likely).sum(axis=0)
        p = (2 * sums[0] + sums[1]) / (2 * sums.sum())
        if 0 < p < 1:
            info["InbreedingCoeff"] = float(1 - sums[1] / (2 * p * (1 - p) * len(likely)))
    return info


def _three_classes(phreds: Sequence[int], alleles: int) -> tuple[float, float, float]:
    """Return the probabilities of two, one and no copy of the reference; of several alternates, the likeliest counts.

    If the best genotype is without the reference, the third probability is 1.
    """
    shares = [power_of_ten(phred / -10.0) for phred in phreds]
    het, other = 1, 2
    if alleles > 2:
        firsts = [a * (a + 1) // 2 for a in range(1, alleles)]  # number of the genotype 0/a
        best = shares.index(max(shares))
        if best and best not in firsts:
            return 0.0, 0.0, 1.0
        het = max(firsts, key=lambda g: shares[g])
        other = het + firsts.index(het) + 1
    total = shares[0] + shares[het] + shares[other]
    return shares[0] / total, shares[het] / total, shares[other] / total


def reference_record(
    contig: str, position: int, reaching: Sequence[GvcfRecord | None], gvcfs: Sequence[Gvcf], letter: str
) -> VariantRecord:
    """Return the record of a position without a variant."""
    samples: list[dict[str, Value]] = []
    depth = 0
    for record, gvcf in zip(reaching, gvcfs, strict=True):
        if record is None:
            samples += [_nothing(gvcf.ploidies.at(contig, position)) for _ in range(gvcf.samples)]
            continue
        own = [_reference_sample(record, column, position) for column in range(gvcf.samples)]
        samples += own
        depth += int(record.info["DP"]) if "DP" in record.info else sum(int(str(one["DP"] or 0)) for one in own)
    known = any(one["DP"] is not None for one in samples)
    samples = samples if known else [{"GT": one["GT"]} for one in samples]
    return VariantRecord(contig, position, (letter,), None, (), {"DP": depth} if depth else {}, samples)


def _nothing(ploidy: int) -> dict[str, Value]:
    return {"GT": "/".join("." * ploidy) or ".", "DP": None, "RGQ": None}


def _reference_sample(record: GvcfRecord, column: int, position: int) -> dict[str, Value]:
    """Return FORMAT of a sample: the reference if it is more likely than anything else, otherwise no call."""
    values, genotype = record.samples[column], record.genotypes[column]
    ploidy = genotype.replace("|", "/").count("/") + 1
    depth, phreds = int(values.get("MIN_DP", values.get("DP", 0))), np.array(integers(values.get("PL")))
    quality = None
    if len(phreds):
        # In a record that starts before the position, only deletions change the position.
        keeps = [
            a == 0 or (position > record.start and allele != NON_REFERENCE and len(allele) >= len(record.reference))
            for a, allele in enumerate((record.reference, *record.alternates))
        ]
        unchanged = genotype_counts(ploidy, len(keeps))[:, keeps].sum(axis=1) == ploidy
        quality = int(min(max(phreds[~unchanged].min() - phreds[unchanged].min(), 0), 99))
    elif "GQ" in values:
        quality = int(values["GQ"]) if {*genotype} <= {*"0/|"} else 0
    if not depth or quality is None:
        return _nothing(ploidy)
    return {"GT": "/".join(("0" if quality else ".") * ploidy), "DP": depth, "RGQ": quality}
