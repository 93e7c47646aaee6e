"""Structural variants planted into a real chromosome: Quire, delly, lumpy and Manta call them from the same BAM.

The variants (`bench.structural_truth`) have the published spectrum of kinds, sizes and contexts. truvari compares the
calls that pass with the truth, by position and size (--pctseq 0), each call once; a duplication may be called as an
insertion. With --real, all call real reads instead, and calls that no other program has are counted. Manta is left out
if its `configManta.py`, or the Python 2 that it needs, is not on the PATH.
"""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pysam

from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    output_of,
    print_setting,
    print_table,
    python,
    run,
    write_measurement,
)
from bench.structural_truth import SAMPLE, simulated

PEERS = {
    "delly": "dpkg-query -W -f '${Version}' delly",
    "lumpy-sv": "dpkg-query -W -f '${Version}' lumpy-sv",
    "manta": "configManta.py --version",
    "truvari": "truvari version | sed 's/Truvari v//'",
}
KINDS = ("DEL", "INS", "DUP", "INV", "BND")
RULES = "--pctseq 0 --pctsize 0.7 --refdist 500 --sizemax 100000000 --dup-to-ins --passonly --bnddist 100"
SCRIPTS = Path("/usr/share/lumpy-sv/scripts")  # of Debian's package
NEAR = 500  # bases within which calls of two programs are the same


def aligned(folder: Path, fasta: Path, index: Path, threads: int) -> Path:
    """Map the reads by Quire; return the sorted BAM with duplicates marked."""
    bam = folder / "reads.bam"
    if not Path(f"{bam}.bai").exists():
        reads = f"{folder}/reads_1.fq.gz {folder}/reads_2.fq.gz --sample {SAMPLE} --output {bam} --threads {threads}"
        run(python(f"quire map {reads} --reference {fasta} --index-directory {index} --backend cpu"))
    return bam


def call_by_quire(
    folder: Path, reference: Path, fasta: Path, bam: Path, sample: str, threads: int
) -> tuple[Path, Timing]:
    """Call in a separate process, by compiled kernels."""
    output = folder / "quire.vcf.gz"
    given: dict[str, Any] = {"sample": sample, "ploidy": 2, "bam": str(bam)}
    code = "from pathlib import Path; from quire.structural.caller import StructuralRequest, call_structural as call; "
    files = ", ".join(f"Path({str(path)!r})" for path in (output, f"{output}.tbi", fasta))
    code += f"call(StructuralRequest(Path({str(reference)!r}), [{given!r}], {files}, {threads}))"
    run(f'{sys.executable} -c "{code}"')  # compiles
    return output, run(f'{sys.executable} -c "{code}"')


def call_by_peers(folder: Path, fasta: Path, bam: Path, threads: int) -> dict[str, tuple[Path, Timing]]:
    """Call by delly, lumpy and Manta, all with their defaults; return each one's sorted VCF and timing."""
    timing = run(f"delly call -g {fasta} -o {folder}/delly.bcf {bam} > {folder}/delly.log 2>&1")
    split = f"samtools view -h {bam} | /usr/bin/python3 {SCRIPTS}/extractSplitReads_BwaMem -i stdin"
    other = run(
        f"samtools view -b -F 1294 {bam} > {folder}/discordant.bam && {split} | samtools view -b - "
        f"| samtools sort -o {folder}/split.bam - && rm -f {folder}/lumpy.vcf && lumpyexpress -B {bam} "
        f"-S {folder}/split.bam -D {folder}/discordant.bam -o {folder}/lumpy.vcf > {folder}/lumpy.log 2>&1"
    )
    contigs = folder / "contigs.txt"
    with pysam.FastaFile(str(fasta)) as stream:
        lengths = zip(stream.references, stream.lengths, strict=True)
        contigs.write_text("".join(f"##contig=<ID={name},length={size}>\n" for name, size in lengths))
    annotated = f"(grep '^##' {folder}/lumpy.vcf; cat {contigs}; grep -v '^##' {folder}/lumpy.vcf)"
    sources = [("delly", f"cat {folder}/delly.bcf", timing), ("lumpy", annotated, other)]
    if (manta := call_by_manta(folder, fasta, bam, threads)) is not None:
        sources.append(("Manta", *manta))
    results = {}
    for name, source, spent in sources:
        vcf = folder / f"{name}.vcf.gz"
        run(f"{source} | bcftools sort -Oz -o {vcf} - 2> {folder}/sort.log && bcftools index -ft {vcf}")
        results[name] = vcf, spent
    return results


def call_by_manta(folder: Path, fasta: Path, bam: Path, threads: int) -> tuple[str, Timing] | None:
    """Call by Manta; return the command that prints its calls with inversions in one record, and its timing."""
    program = shutil.which("configManta.py")
    if program is None or shutil.which("python2") is None:
        print("Manta is left out: configManta.py or python2 is not on the PATH", flush=True)
        return None
    work = folder / "manta"
    timing = run(
        f"rm -rf {work} && {program} --bam {bam} --referenceFasta {fasta} --runDir {work} > {folder}/manta.log && "
        f"{work}/runWorkflow.py -j {threads} >> {folder}/manta.log 2>&1"
    )
    script = Path(program).resolve().parents[1] / "libexec" / "convertInversion.py"
    return f"python2 {script} $(which samtools) {fasta} {work}/results/variants/diploidSV.vcf.gz", timing


def kinds_of(path: Path) -> Counter[str]:
    """Return the number of records of each kind."""
    with pysam.VariantFile(str(path)) as records:
        return Counter(str(record.info["SVTYPE"]) for record in records)


def compared(folder: Path, name: str, truth: Path, calls: Path) -> tuple[dict[str, list[float]], float]:
    """Return found, planted, recall, precision and F1 by kind and of all, and the share of right genotypes."""
    output = folder / f"truvari_{name}"
    shutil.rmtree(output, ignore_errors=True)
    run(f"truvari bench -b {truth} -c {calls} -o {output} {RULES} 2> {folder}/truvari_{name}.log")
    found, missed, right, wrong = (kinds_of(output / f"{part}.vcf.gz") for part in ("tp-base", "fn", "tp-comp", "fp"))
    rows: dict[str, list[float]] = {}
    for kind in (*KINDS, "all"):
        counts = [own.total() if kind == "all" else own[kind] for own in (found, missed, right, wrong)]
        recall, precision = counts[0] / max(1, sum(counts[:2])), counts[2] / max(1, sum(counts[2:]))
        f1 = 2 * recall * precision / max(1e-9, recall + precision)
        rows[kind] = [counts[0], sum(counts[:2]), recall, precision, f1]
    return rows, float(json.loads((output / "summary.json").read_text())["gt_concordance"])


def print_scores(folder: Path, truth: Path, results: dict[str, tuple[Path, Timing]]) -> None:
    """Compare all with the truth, and print the table and the ratios that the bars are about."""
    scores = {name: compared(folder, name, truth, calls) for name, (calls, _) in results.items()}
    table = []
    for name, (rows, genotypes) in scores.items():
        for kind, (found, planted, recall, precision, f1) in rows.items():
            row = [f"{name}, {kind}", found, planted, f"{recall:.3f}", f"{precision:.3f}", f"{f1:.3f}"]
            table.append([*row, f"{genotypes:.3f}" if kind == "all" else ""])
    print_table(["caller", "found", "planted", "recall", "precision", "F1", "right genotypes"], table)
    for kind in ("DEL", "DUP", "INS"):
        best = max(rows[kind][-1] for name, (rows, _) in scores.items() if name != "Quire")
        add_figures(
            {f"{kind}: F1 of Quire by that of the best peer": round(scores["Quire"][0][kind][-1] / max(best, 1e-9), 2)}
        )
    print_table(["caller", "wall s", "CPU s", "MB"], times_of(results))


def times_of(results: dict[str, tuple[Path, Timing]]) -> list[list[object]]:
    """Return the rows of the table of times."""
    return [
        [name, f"{timing.seconds:.1f}", f"{timing.cpu_seconds:.1f}", f"{timing.peak_megabytes:.0f}"]
        for name, (_, timing) in results.items()
    ]


def places_of(path: Path) -> list[tuple[str, int, int]]:
    """Return contig, start and end of the calls that pass."""
    with pysam.VariantFile(str(path)) as records:
        passing = [one for one in records if [*one.filter] in ([], ["PASS"])]
        return [(one.contig, one.start, one.stop) for one in passing]


def _is_near(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and min(abs(one[1] - other[1]), abs(one[2] - other[2])) <= NEAR


def unexplained(results: dict[str, tuple[Path, Timing]], sample: str) -> dict[str, int]:
    """Return how many calls that pass no other program has an end near, by program, and print them."""
    places = {name: places_of(calls) for name, (calls, _) in results.items()}
    rows: list[list[object]] = []
    for name, own in places.items():
        others = [place for other, calls in places.items() if other != name for place in calls]
        alone = [one for one in own if not any(_is_near(one, other) for other in others)]
        rows.append([name, len(own), len(alone)])
    print_table([f"caller on {sample}", "calls", "of no other caller"], rows, sample)
    print_table(["caller", "wall s", "CPU s", "MB"], times_of(results), sample)
    return {str(name): int(str(alone)) for name, _, alone in rows}


def call_real_reads(work: Path, inputs: Inputs, fasta: Path, index: Path, threads: int) -> None:
    """Call 450 kb of NA12878 (bwa's alignments) and 100 kb of HG002 (mapped by Quire), and count unexplained calls."""
    (cram,) = inputs.truth.parent.glob("*.cram")
    total: Counter[str] = Counter()
    for sample in ("NA12878", "HG002"):
        folder = work / f"structural_{sample}"
        folder.mkdir(exist_ok=True)
        bam = folder / "reads.bam"
        if not Path(f"{bam}.bai").exists() and sample == "NA12878":
            run(f"samtools view -b -T {fasta} -o {bam} {cram} && samtools index {bam}")
        elif not Path(f"{bam}.bai").exists():
            mates = f"{folder}/1.fq {folder}/2.fq"
            run(
                f"samtools collate -u -O {inputs.qualities} {folder}/collated | samtools fastq -n -s /dev/null "
                f"-0 /dev/null -1 {folder}/1.fq -2 {folder}/2.fq - 2> {folder}/fastq.log"
            )
            given = f"{mates} --sample {sample} --output {bam} --threads {threads}"
            run(python(f"quire map {given} --reference {fasta} --index-directory {index} --backend cpu"))
        results = {"Quire": call_by_quire(folder, index / "reference", fasta, bam, sample, threads)}
        results |= call_by_peers(folder, fasta, bam, threads)
        total.update(unexplained(results, sample))
    fewest = min(count for name, count in total.items() if name != "Quire")
    add_figures({"unexplained calls less the best peer's": total["Quire"] - fewest})


def main() -> None:
    """Plant, simulate, map, call by all and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--region", default="20:60001-62965520")
    parser.add_argument("--partner", default="21:20000001-30000000", help="the other side of the translocations")
    parser.add_argument("--count", type=int, default=1000, help="variants")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--real", action="store_true", help="call the real reads of the data instead")
    given = parser.parse_args()
    print_setting({peer: output_of(command) for peer, command in PEERS.items()})
    inputs = Inputs(given.data, given.work)
    source = given.data / "gatk_haplotypecaller"
    fasta = inputs.plain("chr20_21", source / "human_g1k_v37.20.21.fasta.gz")
    if not Path(f"{fasta}.fai").exists():
        run(f"samtools faidx {fasta}")
    index = inputs.quire_index(fasta)
    if given.real:
        call_real_reads(given.work, inputs, fasta, index, given.threads)
        write_measurement("real reads")
        return
    folder = given.work / f"structural_{given.seed}_{given.count}"
    folder.mkdir(parents=True, exist_ok=True)
    truth = simulated(folder, fasta, inputs, given)
    bam = aligned(folder, fasta, index, given.threads)
    results = {"Quire": call_by_quire(folder, index / "reference", fasta, bam, SAMPLE, given.threads)}
    print_scores(folder, truth, results | call_by_peers(folder, fasta, bam, given.threads))
    other_seed = "" if given.seed == parser.get_default("seed") else f", seed {given.seed}"
    write_measurement(f"{given.count} variants, {given.region}, {given.coverage:g}x{other_seed}")


if __name__ == "__main__":
    main()
