"""Every false and missed call of Quire, GATK and bcftools on the sets at hand, with its cause.

Calls are compared as pairs of haplotypes (`quire.report.truth`) in a set's whole region. Quire counts with its default
filters, with both error models, GATK with the limits that it recommends, bcftools from QUAL 20 on. The sets are those
of `bench.error_sets`. The rules, first match wins.

A missed variant is one of the truth that is not called with the right genotype:

- `filter`: called with the right genotype, and filtered
- `genotype`: called with another genotype
- `mapping`: fewer than three reads over it have a mapping quality of 20 or more, or only reads with less contain it
- `reads`: fewer than two reads contain the alternate with its flanks
- `assembly`: no assembled haplotype contains it (Quire only)
- `likelihood`: a haplotype contains it, but it is not called (Quire only)
- `caller`: one of the last two, for the peers

A false call is one that is not in the truth with the same genotype:

- `genotype`: the truth has the allele with another genotype
- `allele`: the truth has a missed variant within 30 bases, so another allele was called in its place
- `mapping`: reads with poor mapping quality are over a third of those there, or twice as many reads as usual are there
- `truth`: outside the confident regions, and Quire, GATK and bcftools call it with the same genotype
- `unsettled`: outside the confident regions, and not all call it
- `likelihood`: inside them, and in less than a fifth of the reads
- `systematic`: inside them, and in more

GATK is needed (GATK_JARS, docs/benchmarks.md). All errors go to docs/benchmarks/errors.tsv, and the tables to
docs/errors.md.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pysam
from quire.reference.regions import Regions, contains
from quire.report.known_variants import ALL_RECORDS, PASSING_CALLS
from quire.report.truth import CLUSTER_GAP, Comparison, Variant
from quire.rescore.dragen.tables import DEFAULT, write_tables
from quire.rescore.job import CallingJob, Output, open_job
from quire.run.schema import SCHEMAS, complete_settings, read_schema

from bench.calling import GATK, PEERS_CALLS, bcftools_command, call_by_quire
from bench.common import REPOSITORY, Inputs, arguments, print_setting, print_table, run, write_measurement
from bench.error_evidence import Evidence, Spellings, evidence, is_assembled, spellings
from bench.error_sets import MAKERS, CalledSet, compare_with_truth, require_tools

DRAGEN = "Quire, dragen"
CALLERS = ("Quire", DRAGEN, "GATK", "bcftools")
KEEP = dict.fromkeys(CALLERS, PASSING_CALLS) | {"bcftools": PEERS_CALLS}
PAGE = REPOSITORY / "docs" / "errors.md"
LISTED = REPOSITORY / "docs" / "benchmarks" / "errors.tsv"
LONGEST_SHOWN = 20
LEAST_READS, LEAST_HOLDING = 3, 2
POOR_SHARE, DEEP, LOW_SHARE = 1 / 3, 2.0, 0.2
MISSED_CAUSES = ("filter", "genotype", "mapping", "reads", "assembly", "likelihood", "caller")
FALSE_CAUSES = ("genotype", "allele", "mapping", "truth", "unsettled", "likelihood", "systematic")
_SIGNS = {"minimum_": "<", "maximum_": ">"}


GATK_LIMITS: dict[str, dict[str, float | None]] = {
    "snv": {
        "minimum_QUAL": 30,
        "minimum_QD": 2,
        "maximum_FS": 60,
        "maximum_SOR": 3,
        "minimum_MQ": 40,
        "minimum_MQRankSum": -12.5,
        "minimum_ReadPosRankSum": -8,
    },
    "indel": {"minimum_QUAL": 30, "minimum_QD": 2, "maximum_FS": 200, "minimum_ReadPosRankSum": -20},
}
"""GATK's recommendation for hard filters."""
Limits = Mapping[str, Mapping[str, float | None]]
"""Hard filters by kind, as in the configuration's `rescore.filters`."""


def filter_command(source: Path, output: Path, limits: Limits) -> str:
    """Return the command that copies a VCF with its filters replaced by hard filters, as Quire applies them."""
    command = f"bcftools annotate -x FILTER {source}"
    for kind, own in limits.items():
        failing = [
            f"{'' if key.endswith('QUAL') else 'INFO/'}{key.removeprefix(bound)}{sign}{limit}"
            for key, limit in own.items()
            for bound, sign in _SIGNS.items()
            if key.startswith(bound) and limit is not None
        ]
        if failing:
            where = f"""TYPE{"=" if kind == "indel" else "!="}"indel" && ({" || ".join(failing)})"""
            command += f" | bcftools filter -m + -s {kind.upper()} -e '{where}'"
    return f"{command} | bcftools view -Oz -o {output} && bcftools index -f -t {output}"


def settings_of(caller: str) -> dict[str, Any]:
    """Return the configuration's block `rescore` for one of Quire's error models, with its defaults."""
    raw = {"reference": {"fasta": "-"}, "samples": "-", "units": "-"}
    raw["rescore"] = {"error_model": "dragen" if caller == DRAGEN else "gatk"}
    block: dict[str, Any] = complete_settings(raw, read_schema(SCHEMAS / "config.schema.yaml"))["rescore"]
    return block


def row_of(one: CalledSet) -> dict[str, Any]:
    """Return the sample's row, with DRAGEN's default tables of repeats: no set is large enough for its own."""
    one.folder.mkdir(exist_ok=True)
    tables = one.folder / "repeats.txt"
    write_tables(DEFAULT, one.sample, tables)
    return {"sample": one.sample, "ploidy": one.ploidy, "bam": str(one.own_bam), "repeats": str(tables)}


def call_quire(one: CalledSet, threads: int, caller: str = "Quire") -> Path:
    """Call a set by Quire with one of its error models and return the VCF."""
    row, output = row_of(one), one.folder / f"{caller.replace(', ', '_')}.vcf.gz"
    call_by_quire(output, one.packed(), one.own_bam, [one.region], threads, row, **settings_of(caller))
    return output


def call_all(one: CalledSet, threads: int) -> dict[str, Path]:
    """Return each caller's VCF; the peers' are made once."""
    folder = one.folder
    found = {name: call_quire(one, threads, name) for name in ("Quire", DRAGEN)}
    found |= {name: folder / f"{name}.vcf.gz" for name in ("GATK", "bcftools")}
    region, fasta, bam = one.samtools_region, one.fasta, one.bam
    raw = folder / "GATK.raw.vcf.gz"
    if not raw.exists():
        run(
            f"{GATK} HaplotypeCaller -R {fasta} -I {bam} -L {region} -ploidy {one.ploidy} -O {raw} 2> {folder}/gatk.log"
        )
    if not found["bcftools"].exists():
        run(bcftools_command(fasta, bam, region, one.ploidy).replace("{}", str(found["bcftools"])))
        run(f"bcftools index -f -t {found['bcftools']}")
    run(filter_command(raw, found["GATK"], GATK_LIMITS))
    return found


class Error(NamedTuple):
    """A missed or false call, `what`, with its cause and the evidence for it."""

    caller: str
    what: str
    contig: str
    variant: Variant
    cause: str
    evidence: Evidence


@dataclass
class Compared:
    """A set with the comparisons of all callers; `every` is without any filter."""

    one: CalledSet
    jobs: Mapping[str, CallingJob]
    confident: Regions
    kept: Mapping[str, Comparison]
    every: Mapping[str, Comparison]
    usual_depth: float

    def near(self, variant: Variant) -> list[Variant]:
        """Return the variants of the truth near a variant."""
        return [other for other in self._known if abs(other.position - variant.position) <= 2 * CLUSTER_GAP]

    def __post_init__(self) -> None:
        with pysam.VariantFile(str(self.one.truth)) as records:
            contig, start, end = self.one.region
            self._known = sorted(
                {
                    Variant(record.start, str(record.ref), allele)
                    for record in records.fetch(contig, start, end)
                    for allele in record.alts or ()
                }
            )

    def errors(self, caller: str) -> list[Error]:
        """Return the errors of a caller."""
        kept, every = self.kept[caller], self.every[caller]
        missed, missed_without = {one for _, one in kept.missed}, {one for _, one in every.missed}
        false_without = {one for _, one in every.false_calls}
        others = [{one for _, one in self.kept[name].false_calls} for name in ("Quire", "GATK", "bcftools")]
        found = []
        for contig, one in kept.missed:
            spelled = spellings(contig, one, self.near(one), self.one.sequence)
            seen = evidence(self._bam(caller), contig, one, spelled)
            if one not in missed_without:
                cause = "filter"
            elif one in false_without:
                cause = "genotype"
            else:
                cause = self._missed(caller, contig, one, spelled, seen)
            found.append(Error(caller, "missed", contig, one, cause, seen))
        for contig, one in kept.false_calls:
            seen = evidence(self._bam(caller), contig, one, spellings(contig, one, self.near(one), self.one.sequence))
            if one in missed:
                cause = "genotype"
            elif any(abs(other.position - one.position) <= CLUSTER_GAP for other in missed):
                cause = "allele"
            else:
                cause = self._false(contig, one, seen, agreed=all(one in other for other in others))
            found.append(Error(caller, "false", contig, one, cause, seen))
        return found

    def _bam(self, caller: str) -> Path:
        return self.one.own_bam if caller in self.jobs else self.one.bam

    def _missed(self, caller: str, contig: str, one: Variant, spelled: Spellings, seen: Evidence) -> str:
        if seen.usable < LEAST_READS or (seen.holding < LEAST_HOLDING <= seen.poor_holding):
            return "mapping"
        if seen.holding < LEAST_HOLDING:
            return "reads"
        if caller not in self.jobs:
            return "caller"
        return "likelihood" if is_assembled(self.jobs[caller], contig, one, spelled) else "assembly"

    def _false(self, contig: str, one: Variant, seen: Evidence, agreed: bool) -> str:
        total = seen.usable + seen.poor
        if seen.poor > POOR_SHARE * total or total > DEEP * self.usual_depth:
            return "mapping"
        if contig not in self.confident or not contains(self.confident[contig], one.position, one.end):
            return "truth" if agreed else "unsettled"
        return "likelihood" if seen.share < LOW_SHARE else "systematic"


def compared(one: CalledSet, calls: Mapping[str, Path]) -> Compared:
    """Compare all calls of a set with its truth."""
    jobs = {
        name: open_job(Output.VARIANTS, one.packed(), [row_of(one)], settings_of(name)) for name in ("Quire", DRAGEN)
    }
    kept = {name: compare_with_truth(one, calls[name], KEEP[name]) for name in CALLERS}
    every = {name: compare_with_truth(one, calls[name], ALL_RECORDS) for name in CALLERS}
    return Compared(one, jobs, one.confident_regions(), kept, every, _usual_depth(one))


def _usual_depth(one: CalledSet) -> float:
    """Return the median depth of the region, looked at every 500 bases."""
    contig, start, end = one.region
    with pysam.AlignmentFile(str(one.bam)) as reads:
        return statistics.median(reads.count(contig, at, at + 1) for at in range(start + 250, end, 500))


def write_list(path: Path, errors: Mapping[str, list[Error]]) -> None:
    """Write one line for each error."""
    header = "set caller what kind contig position reference alternate cause usable poor holding poor_holding share"
    lines = ["\t".join(header.split())]
    for name, own in errors.items():
        for one in own:
            seen, variant = one.evidence, one.variant
            alleles = [_short(allele) for allele in (variant.reference, variant.alternate)]
            place = one.contig, variant.position + 1, *alleles
            counts = seen.usable, seen.poor, seen.holding, seen.poor_holding, f"{seen.share:.2f}"
            lines.append("\t".join(map(str, (name, one.caller, one.what, variant.kind, *place, one.cause, *counts))))
    path.write_text("\n".join(lines) + "\n")


def _short(allele: str) -> str:
    return allele if len(allele) <= LONGEST_SHOWN else f"{len(allele)} bases"


def put_table(name: str, header: Sequence[str], rows: Sequence[Sequence[object]], page: Path = PAGE) -> None:
    """Print a table, add its figures to the run, and put it into the page at its name.

    Raises:
        ValueError: the page has no place of this name.
    """
    print_table(header, rows, name)
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no table {name!r}")
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]
    page.write_text(f"{before}{begin}{chr(10).join(lines)}\n{end}{after}")


def main() -> None:
    """Call the sets, compare, find causes and write the lists."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--list", type=Path, default=LISTED, help="file of all errors")
    given = parser.parse_args()
    require_tools()
    print_setting(("bwa", "samtools", "bcftools", "mummer"))
    inputs = Inputs(given.data, given.work)
    errors: dict[str, list[Error]] = {}
    totals = []
    for name in given.sets:
        one = MAKERS[name](inputs, given.threads)
        each = compared(one, call_all(one, given.threads))
        errors[name] = [error for caller in CALLERS for error in each.errors(caller)]
        for caller in CALLERS:
            counts = each.kept[caller].counts
            cells = [(f"{own.f1:.4f}", own.missed, own.false_calls) for own in (counts["snv"], counts["indel"])]
            totals.append((name, caller, *cells[0], *cells[1]))
    put_table("counts", ("set", "caller", "SNV F1", "missed", "false", "indel F1", "missed", "false"), totals)
    for what, causes in (("missed", MISSED_CAUSES), ("false", FALSE_CAUSES)):
        rows = []
        for name, own in errors.items():
            for caller in CALLERS:
                count = Counter(error.cause for error in own if (error.caller, error.what) == (caller, what))
                rows.append((name, caller, *(count[cause] for cause in causes)))
        put_table(what, ("set", "caller", *causes), rows)
    write_list(given.list, errors)
    write_measurement()


if __name__ == "__main__":
    main()
