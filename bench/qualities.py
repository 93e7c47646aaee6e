"""QUAL and GQ of Quire's calls against the errors that the truth shows, on the sets of `bench.error_sets`.

Records of any QUAL are called, without filters. QUAL is the Phred probability that there is no variant: a record is an
error if none of its alternates is in the truth, and its genotype does not make the truth's haplotypes. GQ is the Phred
probability that the genotype is wrong: among records of QUAL 30 or more that are no such error, one with another
genotype than the truth is an error. Outside the confident regions a record that is not in the truth is left out, but on
real reads it is an error if bcftools, whose model is another, does not make the call (docs/errors.md).

docs/images/qualities.svg is drawn from the counts.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pysam
from quire.reference.regions import contains
from quire.report.drawing import FIRST, SECOND, THIRD, Drawing, Scale
from quire.report.known_variants import ALL_RECORDS
from quire.report.truth import Variant, normalise

from bench.calling import call_by_quire
from bench.common import REPOSITORY, Inputs, arguments, print_setting, write_measurement, write_svg
from bench.error_sets import MAKERS, CalledSet, compare_with_truth, require_tools
from bench.errors import KEEP, call_all, put_table, row_of

LOWEST = (0, 5, 10, 15, 20, 30, 40, 60, 99)
"""Lower ends of the bins of QUAL and GQ."""
HIGHEST = 60.0
"""Highest Phred value that counts in a bin's mean and is drawn: no set is large enough to see an error in a million."""
CALLED = 30.0
PLOT = REPOSITORY / "docs" / "images" / "qualities.svg"
STYLE = (
    "text{font:11px sans-serif}.x{fill:none;stroke:#444}.a{fill:#2b6cb0}.b{fill:#c05621}.c{fill:#718096}"
    ".l{fill:none}.l.a{stroke:#2b6cb0}.l.b{stroke:#c05621}.l.c{stroke:#718096}.l.g{stroke:#999}"
)


class Judged(NamedTuple):
    """A call's Phred value, and whether the call is an error."""

    phred: float
    is_error: bool


class Bin(NamedTuple):
    """Calls of similar Phred values: the lowest value, calls, errors, and the errors that the values predict."""

    lowest: int
    calls: int
    errors: int
    predicted: float


def judged(one: CalledSet, threads: int) -> tuple[list[Judged], list[Judged]]:
    """Return the QUALs and the GQs of a set's records."""
    vcf, contig = one.folder / "unlimited.vcf.gz", one.region[0]
    call_by_quire(vcf, one.packed(), one.own_bam, [one.region], threads, row_of(one), minimum_quality=0)
    theirs = compare_with_truth(one, call_all(one, threads)["bcftools"], KEEP["bcftools"]).false_calls
    also_theirs = {variant for _, variant in theirs}
    wrong = {found for _, found in compare_with_truth(one, vcf, ALL_RECORDS).false_calls}
    confident = one.confident_regions().get(contig)
    with pysam.VariantFile(str(one.truth)) as records:
        known = {variant for record in records.fetch(contig) for variant in _alternates(one, record).values()}
    qualities, genotype_qualities = [], []
    with pysam.VariantFile(str(vcf)) as records:
        for record in records.fetch(*one.region):
            alternates, quality = _alternates(one, record), float(record.qual or 0)
            carried = [alternates[a] for a in record.samples[0].allele_indices or () if a in alternates]
            is_right = bool(carried) and wrong.isdisjoint(carried)
            is_known = is_right or not known.isdisjoint(alternates.values())
            if is_known and quality >= CALLED:
                genotype_qualities.append(Judged(float(record.samples[0]["GQ"] or 0), not is_right))
            is_settled = confident is not None and contains(confident, record.start, record.stop)
            alone = one.is_real and also_theirs.isdisjoint(alternates.values())
            if is_known or is_settled or alone:
                qualities.append(Judged(quality, not is_known))
    return qualities, genotype_qualities


def _alternates(one: CalledSet, record: pysam.VariantRecord) -> dict[int, Variant]:
    """Return the normalised alternates of a record by their numbers."""
    contig, start, reference, *alternates = record.contig, record.start, *(record.alleles or ())
    return {
        number: normalise(contig, Variant(start, str(reference).upper(), str(alternate).upper()), one.sequence)
        for number, alternate in enumerate(alternates, 1)
        if str(alternate).isalpha()
    }


def bins_of(calls: Sequence[Judged]) -> list[Bin]:
    """Return the bins that hold calls."""
    sorted_calls: dict[int, list[Judged]] = {}
    for call in calls:
        sorted_calls.setdefault(LOWEST[bisect_right(LOWEST, call.phred) - 1], []).append(call)
    return [
        Bin(lowest, len(own), sum(call.is_error for call in own), sum(_probability(call.phred) for call in own))
        for lowest, own in sorted(sorted_calls.items())
    ]


def _probability(phred: float) -> float:
    return 10 ** (-min(phred, HIGHEST) / 10)


def phred(probability: float) -> float:
    """Return a probability as a Phred value."""
    return -10 * math.log10(probability)


def draw(curves: Sequence[tuple[str, Sequence[Bin]]], path: Path = PLOT) -> None:
    """Draw observed over predicted errors of up to three curves' bins as Phred values.

    A bin without errors shows a lower bound: a point of half an error, and a line from it upwards.
    """
    drawing = Drawing(Scale("predicted (Phred)", 0, HIGHEST), Scale("observed (Phred)", 0, HIGHEST))
    drawing.line((0, HIGHEST), (0, HIGHEST), "g")
    colors = (FIRST, SECOND, THIRD)
    for color, (name, bins) in zip(colors, curves, strict=False):
        points = []
        for own in bins:
            text = f"{name} from {own.lowest}: {own.errors} errors in {own.calls} calls, {own.predicted:.2g} predicted"
            x, y = phred(own.predicted / own.calls), phred(max(own.errors, 0.5) / own.calls)
            points.append((x, y, text))
            if not own.errors:
                drawing.line((x, x), (y, HIGHEST), color)
        drawing.points(points, color)
    drawing.legend([(color, name) for color, (name, _) in zip(colors, curves, strict=False)])
    title = "Observed against predicted errors by bin of QUAL and GQ"
    write_svg(path, drawing.svg(title), title, STYLE)


def main() -> None:
    """Judge the calls of all sets, and write the tables and the plot."""
    parser = arguments(__doc__)
    parser.add_argument("--plot", type=Path, default=PLOT, help="SVG to write")
    given = parser.parse_args()
    require_tools()
    print_setting(("bwa", "samtools", "bcftools", "mummer"))
    inputs = Inputs(given.data, given.work)
    sets = {name: make(inputs, given.threads) for name, make in MAKERS.items()}
    found = {name: judged(one, given.threads) for name, one in sets.items()}
    curves = []
    for kind, what in enumerate(("QUAL", "GQ")):
        rows = []
        for group, is_real in (("real", True), ("simulated", False)):
            bins = bins_of([call for name in MAKERS if sets[name].is_real is is_real for call in found[name][kind]])
            rows += [(group, f"from {one.lowest}", one.calls, one.errors, f"{one.predicted:.3g}") for one in bins]
            if what == "QUAL":
                curves.append((f"QUAL, {group}", bins))
        put_table(what, ("reads", what, "calls", "errors", "predicted errors"), rows)
    curves.append(("GQ, all", bins_of([call for _, calls in found.values() for call in calls])))
    draw(curves, given.plot)
    write_measurement()


if __name__ == "__main__":
    main()
