"""Lines of text that explain a position by its `Story`."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import NON_REFERENCE
from quire.rescore.genotyping import best_alleles
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, genotype_counts
from quire.rescore.genotyping.sites import SPANNING, Site
from quire.rescore.haplotypes import Haplotype
from quire.rescore.job import CallingJob
from quire.rescore.parameters import ACTIVITY_THRESHOLD, INFORMATIVE_LOG10, MAXIMUM_HAPLOTYPES
from quire.rescore.records import allele_text, trim_right
from quire.rescore.regions_cpu import AssembledRegion
from quire.rescore.why.listener import RegionStory, SiteStory, Story
from quire.sam import CIGAR_LETTERS

_SHOWN_AROUND = 20  # positions on either side whose activity is shown, in steps of 5
_MOST_HAPLOTYPES = 16
_MOST_GENOTYPES = 15


def lines_of(job: CallingJob, story: Story, records: Sequence[str]) -> Iterator[str]:
    """Yield all lines for the facts that a job's steps reported, and the lines of the VCF written for the position."""
    contig, position = story.contig, story.position
    letter = job.reference.sequence(contig, position, position + 1).decode()
    ploidies = ", ".join(f"{name} {ploidy}" for name, ploidy in _ploidies(job, story).items())
    yield f"{contig}:{position + 1}, reference {letter}; ploidy: {ploidies}"
    yield ""
    yield from _piles(job, story)
    yield ""
    yield from _activity(story)
    if story.region is not None:
        yield ""
        yield from _assembly(story.region)
        yield from _likelihoods(story.region)
        yield from _sites(job, story)
    yield ""
    yield from _verdict(job, story, records)


def _ploidies(job: CallingJob, story: Story) -> dict[str, int]:
    """Return the ploidy of each sample at the position."""
    return {sample.name: sample.ploidies.at(story.contig, story.position) for sample in job.samples}


def _piles(job: CallingJob, story: Story) -> Iterator[str]:
    yield "Reads over the position"
    for name, ploidy in _ploidies(job, story).items():
        pile = story.piles.get(name)
        if pile is None or not pile.verdicts:
            yield f"  {name}: none"
            continue
        if not ploidy:
            yield f"  {name}: {pile.verdicts.total()}, left out since the ploidy is 0"
            continue
        verdicts = ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in pile.verdicts.most_common())
        alleles = ", ".join(f"{allele} {count}" for allele, count in pile.alleles.most_common())
        yield f"  {name}: {pile.verdicts.total()} ({verdicts}); alleles: {alleles or 'none'}"


def _activity(story: Story) -> Iterator[str]:
    yield f"Activity (a region is assembled where it is above {ACTIVITY_THRESHOLD})"
    if not len(story.activity):
        yield "  not computed: there are no usable reads near the position"
        return
    at = story.position - story.activity_start
    shown = range(max(0, at - _SHOWN_AROUND), min(len(story.activity), at + _SHOWN_AROUND + 1))
    values = [f"{p - at:+d}: {story.activity[p]:.4f}" for p in shown if (p - at) % 5 == 0]
    yield f"  at the position {story.activity[at]:.6f}; around it {', '.join(values)}"
    if story.region is not None:
        (start, end), (low, high) = story.region.span, story.region.padded
        yield f"  active region {start + 1}-{end}, padded to {low + 1}-{high} for the assembly"
    elif len(story.spans):
        distances = np.maximum(story.spans[:, 0] - story.position, story.position - story.spans[:, 1] + 1)
        start, end = story.spans[int(distances.argmin())].tolist()
        yield f"  in no active region; the nearest is {start + 1}-{end}"
    else:
        yield "  in no active region; there is none nearby"


def _assembly(region: RegionStory) -> Iterator[str]:
    yield f"Assembly of {region.reads} reads"
    for k, served, complete, haplotypes in region.graphs:
        if not served:
            yield f"  {k}-mers: not usable (a cycle, or too many repeated k-mers)"
        elif not complete:
            yield f"  {k}-mers: more than {MAXIMUM_HAPLOTYPES} haplotypes, of which the most likely were kept"
        else:
            yield f"  {k}-mers: {haplotypes} haplotypes"
    yield f"  {region.sequences} distinct haplotypes including the reference; {len(region.aligned)} of them align to it"
    own = region.region
    if own is None or region.likelihoods is None:
        return
    yield (
        f"  variants in {own.variants[0] + 1}-{own.variants[1]} are called; reads and haplotypes are cut to "
        f"{own.span[0] + 1}-{own.span[1]}"
    )
    yield ""
    yield f"Haplotypes ({len(own.haplotypes)}) and reads that prefer them by more than {INFORMATIVE_LOG10} in log10"
    matrix = region.likelihoods.matrix
    support = np.bincount(best_alleles(matrix) + 1, minlength=len(own.haplotypes) + 1)[1:]
    for h in sorted(range(len(own.haplotypes)), key=lambda h: (-support[h], h))[:_MOST_HAPLOTYPES]:
        haplotype = own.haplotypes[h]
        cigar = "".join(f"{length}{CIGAR_LETTERS[operation]}" for operation, length in haplotype.cigar)
        yield f"  {h}: {support[h]} reads, {cigar}, {_events(haplotype, own)}"
    if len(own.haplotypes) > _MOST_HAPLOTYPES:
        yield f"  and {len(own.haplotypes) - _MOST_HAPLOTYPES} more"


def _events(haplotype: Haplotype, region: AssembledRegion) -> str:
    """Return the variants of a haplotype as position, reference and alternate."""
    texts = []
    for start, event in sorted(haplotype.events.items()):
        at = start - region.reference_start
        reference = region.reference[at : at + event.reference_length]
        texts.append(f"{start + 1} {allele_text(reference)}>{allele_text(event.alternate)}")
    return ", ".join(texts) or "the reference"


def _likelihoods(region: RegionStory) -> Iterator[str]:
    if region.likelihoods is None:
        return
    matrix, usable = region.likelihoods.matrix, region.likelihoods.usable == 1
    scored = ~np.isnan(matrix[:, 0])
    yield ""
    yield (
        f"Likelihoods: {int(scored.sum())} reads scored, {int((usable & ~scored).sum())} that no haplotype explains, "
        f"{int((~usable).sum())} whose mate is on another contig"
    )
    if scored.any():
        best = np.sort(matrix[scored].max(axis=1))
        low, middle, high = (best[int(q * (len(best) - 1))] for q in (0, 0.5, 1))
        yield f"  log10 of each read under its best haplotype: {low:.2f} to {high:.2f}, median {middle:.2f}"


def _sites(job: CallingJob, story: Story) -> Iterator[str]:
    if not story.sites:
        return
    yield ""
    places = ", ".join(f"{own.site.start + 1} {'/'.join(_names(own.given))}" for own in story.sites)
    yield f"Sites of the region: {places}"
    present = [name for name, ploidy in _ploidies(job, story).items() if ploidy]
    for own in story.sites:
        if own.site.start == story.position:
            yield ""
            yield from _site(job, own, present)


def _site(job: CallingJob, own: SiteStory, names: Sequence[str]) -> Iterator[str]:
    yield f"Site {own.site.start + 1}: alleles {', '.join(_names(own.given))}; {own.touching.sum()} reads touch it"
    dropped = [name for name in _names(own.given) if name not in _names(own.site)]
    if dropped:
        yield f"  too many alleles; the least likely are left out: {', '.join(dropped)}"
    alleles = _names(own.site)
    at = 0
    for s, ploidy in enumerate(own.ploidies.tolist()):
        depths = own.depths[s].tolist()
        unclear = int(own.touching[s]) - sum(depths)
        support = ", ".join(f"{name} {count}" for name, count in zip(alleles, depths, strict=True))
        yield f"  {names[s]}: reads that clearly support {support}; unclear {unclear}"
        spelled = alleles
        # In a gVCF <NON_REF> is an allele too: there are then more genotypes than the named alleles make.
        if len(own.phreds) > sum(genotype_count(p, len(alleles)) for p in own.ploidies.tolist()):
            spelled = [*alleles, NON_REFERENCE]
        count = genotype_count(ploidy, len(spelled))
        yield f"    PL {_genotypes(own.phreds[at : at + count], ploidy, spelled)}"
        at += count
    absent = ", ".join(
        f"{name} {min(0.0, value):.2f}" for name, value in list(zip(alleles, own.absent.tolist(), strict=False))[1:]
    )
    yield f"  log10 of the probability that an allele is absent: {absent}"
    yield f"  QUAL {own.quality:.2f}; required: {job.parameters.minimum_quality:g}"


def _genotypes(phreds: NDArray[np.int64], ploidy: int, alleles: Sequence[str]) -> str:
    """Return the PLs of the most likely genotypes, with their alleles."""
    counts = genotype_counts(ploidy, len(alleles))
    texts = [
        f"{'/'.join(name for name, n in zip(alleles, counts[g].tolist(), strict=True) for _ in range(n))} {phreds[g]}"
        for g in np.argsort(phreds, kind="stable")[:_MOST_GENOTYPES]
    ]
    return ", ".join(texts) + (", ..." if len(phreds) > _MOST_GENOTYPES else "")


def _names(site: Site) -> list[str]:
    return [allele_text(allele) for allele in trim_right(site.alleles)]


def _verdict(job: CallingJob, story: Story, records: Sequence[str]) -> Iterator[str]:
    called = [line for line in records if _is_variant(line, story.position)]
    if called:
        yield "Called:"
        yield from (f"  {line}" for line in called)
        return
    yield f"Not called: {_reason(job, story)}."
    yield from (f"  written instead: {line}" for line in records)


def _is_variant(line: str, position: int) -> bool:
    """Return True for a record of a variant that starts at a position (0-based)."""
    fields = line.split("\t", 5)
    return int(fields[1]) == position + 1 and fields[4] != NON_REFERENCE


def _reason(job: CallingJob, story: Story) -> str:
    """Return why there is no call, naming the step that ended it."""
    if not any(_ploidies(job, story).values()):
        return "no sample has this chromosome, by rescore.ploidy_regions"
    if not any(pile.verdicts["used"] for pile in story.piles.values()) and story.region is None:
        return "no read over the position is used"
    if story.region is None:
        return "too few reads differ from the reference to make the position active, so nothing was assembled"
    if story.region.sequences == 1:
        return "the reads were assembled to the reference's own sequence"
    if story.region.region is None:
        return "no assembled haplotype that aligns to the reference has a variant in the region"
    here = [own for own in story.sites if own.site.start == story.position]
    if not here:
        over = [own for own in story.sites if own.site.start < story.position < own.site.end]
        if over:
            places = ", ".join(str(own.site.start + 1) for own in over)
            return f"no haplotype has a variant that starts here; see the one that covers it from {places} on"
        return "no haplotype has a variant that starts here"
    own = here[0]
    if own.quality < job.parameters.minimum_quality:
        return f"QUAL {own.quality:.2f} is below rescore.minimum_quality {job.parameters.minimum_quality:g}"
    kept = [own.site.alleles[a] for a in own.kept[1:]]
    if not kept:
        return "a variant is likely, but no single allele is likely enough"
    if kept == [SPANNING]:
        return "only a deletion that starts earlier is likely enough"
    return "the genotype is the reference"
