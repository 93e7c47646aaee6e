"""Copy numbers planted into a real chromosome: Quire, CNVkit, cnvpytor and delly cnv call them from the same BAM.

The reads (`bench.copies_truth`) have a bias for GC content. A call is right if it has the planted copy number and its
span and the planted one have 80 % of either in common; half of either and the direction alone are counted too. The time
of copy numbers alone is that beside the evidence, which the structural variants need anyway. With --real, spans are
counted in real reads of a yeast.
"""

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import WINDOW
from quire.reference import Reference
from quire.rescore.ploidy import PloidyMap
from quire.structural.content_cpu import content_of
from quire.structural.copies import copies_of
from quire.structural.evidence_cpu import collect

from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    output_of,
    print_setting,
    print_table,
    run,
    write_measurement,
)
from bench.copies_truth import simulated
from bench.structural import aligned, call_by_quire, times_of
from bench.structural_truth import SAMPLE

PEERS = {
    "CNVkit": "cnvkit.py version",
    "cnvpytor": "cnvpytor --version | sed 's/.* //'",
    "delly": "dpkg-query -W -f '${Version}' delly",
}
LEAST_BASES = 10_000


class Copies(NamedTuple):
    """A span with its copy number."""

    contig: str
    start: int
    end: int
    copies: int


def of_vcf(path: Path) -> list[Copies]:
    """Return the spans of passing records with a copy number other than 2."""
    found = []
    with pysam.VariantFile(str(path)) as records:
        for record in records:
            copies = record.samples[0].get("CN")
            if [*record.filter] in ([], ["PASS"]) and copies is not None and round(copies) != 2:
                found.append(Copies(record.contig, record.start + 1, record.stop, round(copies)))
    return found


def _is_right(call: Copies, planted: Copies, least: float, exact: bool) -> bool:
    common = min(call.end, planted.end) - max(call.start, planted.start)
    same = call.copies == planted.copies if exact else (call.copies > 2) == (planted.copies > 2)
    longest = max(call.end - call.start, planted.end - planted.start)
    return call.contig == planted.contig and same and common >= least * longest


def scores(
    calls: Sequence[Copies], planted: Sequence[Copies], least: float, exact: bool
) -> tuple[int, int, float, float, float]:
    """Return found and planted spans, recall, precision and F1; each call counts for one planted span at most."""
    left, found = [call for call in calls if call.end - call.start >= LEAST_BASES], 0
    count = len(left)
    for one in planted:
        right = next((call for call in left if _is_right(call, one, least, exact)), None)
        if right is not None:
            left.remove(right)
            found += 1
    recall, precision = found / max(1, len(planted)), found / max(1, count)
    return found, len(planted), recall, precision, 2 * recall * precision / max(1e-9, recall + precision)


def call_by_cnvkit(folder: Path, fasta: Path, bam: Path) -> tuple[list[Copies], Timing]:
    """Call whole genomes by CNVkit without controls, with its own choice of bins and its default segmentation."""
    work = folder / "cnvkit"
    timing = run(
        f"cnvkit.py batch {bam} -m wgs -n -f {fasta} -p 2 -d {work} > {folder}/cnvkit.log 2>&1 && cnvkit.py call "
        f"{work}/{bam.stem}.cns -m threshold -o {work}/called.cns >> {folder}/cnvkit.log 2>&1"
    )
    with (work / "called.cns").open() as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    spans = [Copies(row["chromosome"], int(row["start"]), int(row["end"]), int(row["cn"])) for row in rows]
    return [one for one in spans if one.copies != 2], timing


def call_by_cnvpytor(folder: Path, fasta: Path, bam: Path) -> tuple[list[Copies], Timing]:
    """Call by cnvpytor in bins of 1,000 bases with the GC content of this FASTA, and its usual limit of q0."""
    work, genome, log = folder / "cnvpytor", folder / "cnvpytor_genome.py", f">> {folder}/cnvpytor.log 2>&1"
    work.mkdir(exist_ok=True)
    with pysam.FastaFile(str(fasta)) as stream:
        lengths = {name: (size, "A") for name, size in zip(stream.references, stream.lengths, strict=True)}
    known = {"name": "GRCh37", "species": "human", "chromosomes": lengths, "gc_file": str(work / "gc.pytor")}
    genome.write_text(f"import_reference_genomes = {{'hg19': {known!r}}}\n")  # by which it knows chr20
    run(f"rm -f {work}/* {folder}/cnvpytor.log; cnvpytor -root {work}/gc.pytor -gc {fasta} -make_gc_file {log}")
    root = f"cnvpytor -conf {genome} -root {work}/reads.pytor"
    timing = run(
        f"{root} -rd {bam} {log} && {root} -his 1000 {log} && {root} -partition 1000 {log} && "
        f"{root} -call 1000 > {work}/calls.tsv 2>> {folder}/cnvpytor.log"
    )
    found = []
    with (work / "calls.tsv").open() as stream:
        for row in csv.reader(stream, delimiter="\t"):
            contig, span = row[1].rsplit(":", 1)
            start, end = map(int, span.split("-"))
            if float(row[8]) < 0.5:
                found.append(Copies(contig, start - 1, end, round(2 * float(row[3]))))
    return [one for one in found if one.copies != 2], timing


def call_by_delly(folder: Path, fasta: Path, bam: Path, mappable: Path) -> tuple[list[Copies], Timing]:
    """Call by delly cnv with its defaults, and the places that Quire finds mappable as its map."""
    timing = run(
        f"delly cnv -g {fasta} -m {mappable} -o {folder}/delly_cnv.bcf -c {folder}/delly_cnv.cov.gz {bam} "
        f"> {folder}/delly_cnv.log 2>&1"
    )
    return of_vcf(folder / "delly_cnv.bcf"), timing


def time_alone(folder: Path, fasta: Path, reference: Path, bam: Path, threads: int) -> tuple[float, Path]:
    """Return the seconds of copy numbers when the evidence is there, and write delly's map from the words."""
    opened = Reference.open(reference)
    evidence = collect(FinishedSample(SAMPLE, bam, reference, fasta), folder / "scratch", threads)
    for _ in range(2):  # the first one compiles
        begin = time.perf_counter()
        content = content_of(opened, evidence.first_window)
        copies = copies_of(opened, evidence, content, PloidyMap(2, {}, {}))
        seconds = time.perf_counter() - begin
    if copies is None:
        sys.exit(f"{bam}: no copy numbers")
    print(copies.depth.text)
    path = folder / "map.fa"
    unique = np.repeat((content.single == content.words) & (content.words > 0), WINDOW)
    with path.open("w") as out:
        for contig, name in enumerate(opened.contig_names):
            first, size = int(evidence.first_window[contig]) * WINDOW, int(opened.contig_lengths[contig])
            letters = np.where(unique[first : first + size], ord("C"), ord("N")).astype(np.uint8).tobytes().decode()
            out.write(f">{name}\n" + "".join(f"{letters[at : at + 60]}\n" for at in range(0, size, 60)))
    run(f"bgzip -f {path} && samtools faidx {path}.gz")
    return seconds, Path(f"{path}.gz")


def print_scores(results: dict[str, tuple[list[Copies], Timing]], planted: Sequence[Copies]) -> None:
    """Print the tables of all programs, and the figures that the bars are about."""
    rows, exact_f1 = [], {}
    for name, (calls, _) in results.items():
        for what, least, exact in (("copies", 0.8, True), ("direction", 0.5, False)):
            found, count, recall, precision, f1 = scores(calls, planted, least, exact)
            exact_f1[name] = f1 if exact else exact_f1[name]
            rows.append([f"{name}, {what}", found, count, f"{recall:.3f}", f"{precision:.3f}", f"{f1:.3f}"])
    print_table(["caller", "found", "planted", "recall", "precision", "F1"], rows)
    best = max(f1 for name, f1 in exact_f1.items() if name != "Quire")
    add_figures({"F1 of Quire by that of the best peer": round(exact_f1["Quire"] / max(best, 1e-9), 2)})
    times = times_of({name: (Path(), spent) for name, (_, spent) in results.items()})
    print_table(["caller", "wall s", "CPU s", "MB"], times)


def call_yeast(work: Path, inputs: Inputs, threads: int) -> None:
    """Count the spans that Quire and delly cnv call in 200,000 real pairs of a yeast's whole genome (3x)."""
    source, folder = inputs.data / "yeast_100k", work / "copies_yeast"
    fasta = inputs.plain("yeast", source / "genome.fa.gz")
    index = inputs.quire_index(fasta)
    folder.mkdir(exist_ok=True)
    if not Path(f"{fasta}.fai").exists():
        run(f"samtools faidx {fasta}")
    for mate in (1, 2):
        run(f"cat {source}/*_R{mate}.fastq.gz > {folder}/reads_{mate}.fq.gz")
    bam = aligned(folder, fasta, index, threads)
    calls, _ = call_by_quire(folder, index / "reference", fasta, bam, SAMPLE, threads)
    _, mappable = time_alone(folder, fasta, index / "reference", bam, threads)
    results = {"Quire": of_vcf(calls), "delly": call_by_delly(folder, fasta, bam, mappable)[0]}
    rows = [[name, sum(one.end - one.start >= LEAST_BASES for one in own)] for name, own in results.items()]
    print_table(["caller on yeast", "spans of 10 kb or more"], rows)


def main() -> None:
    """Plant, simulate, map, call by all and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=100, help="spans")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--real", action="store_true", help="call the real reads of a yeast instead")
    given = parser.parse_args()
    print_setting({peer: output_of(command) for peer, command in PEERS.items()})
    inputs = Inputs(given.data, given.work)
    if given.real:
        call_yeast(given.work, inputs, given.threads)
        write_measurement("yeast")
        return
    fasta = inputs.chromosome_20()
    if not Path(f"{fasta}.fai").exists():
        run(f"samtools faidx {fasta}")
    index = inputs.quire_index(fasta)
    folder = given.work / f"copies_{given.seed}_{given.count}"
    folder.mkdir(parents=True, exist_ok=True)
    truth = simulated(folder, fasta, inputs.truth, inputs.qualities, given.count, given.coverage, given.seed)
    bam = aligned(folder, fasta, index, given.threads)
    calls, timing = call_by_quire(folder, index / "reference", fasta, bam, SAMPLE, given.threads)
    seconds, mappable = time_alone(folder, fasta, index / "reference", bam, given.threads)
    results = {
        "Quire": (of_vcf(calls), timing),
        "CNVkit": call_by_cnvkit(folder, fasta, bam),
        "cnvpytor": call_by_cnvpytor(folder, fasta, bam),
        "delly": call_by_delly(folder, fasta, bam, mappable),
    }
    print_scores(results, of_vcf(truth))
    add_figures({"Quire, copy numbers alone: s": round(seconds, 2)})
    write_measurement(f"{given.count} spans, {given.coverage:g}x, seed {given.seed}")


if __name__ == "__main__":
    main()
