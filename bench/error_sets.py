"""Sets of reads with a truth for `bench.errors`: alignments, reference, truth, and the regions where it is complete.

Real reads of HG001 (NA12878): `demo` (52x, 100 kb of chr20, mapped by Quire and by bwa mem), `chr20` (84x, 250 kb, its
CRAM's own alignments), 15x of these, and `chr22` (37x, 40 kb, its BAM's own alignments to the whole genome). The truth
is GIAB's. It is complete in the confident 10 kb of chr20 alone, as no other BED of confident regions is at hand.

Simulated reads: `K-12` has those of E. coli DH1, whose differences from K-12 are real, the others HG001's variants.
There is no set of yeast: its reads have no truth, and cover 0.8 of the genome.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pysam
from quire import reference as reference_stage
from quire.reference.regions import Regions, read_regions
from quire.report.known_variants import PASSING_CALLS, CallFilter
from quire.report.truth import Comparison, Variant

from bench.calling import MARGIN, comparer, indexed, letters_of, mapped_by_bwa, marked
from bench.common import Inputs, python, quire_command, run
from bench.diverged_calls import of_strain, plant, write_variants
from bench.simulate import WHOLE_GENOME

CHR20_DEPTH = 84
AT_ENDS = 50
DUPLICATED = (("20", 25_600_000, 26_319_569), ("20", 29_419_569, 30_400_000), ("21", 9_411_193, 11_188_129))
PLANTED = 0.001
CHR22_START, CHR22_END = 16_569_999, 16_610_000


@dataclass(frozen=True)
class CalledSet:
    """Alignments to call from, and the truth.

    Attributes:
        is_real: True for reads of a sequencer.
        sample: name in the read groups.
        ploidy: the sample's.
        bam: alignments that the peers call from.
        own_bam: alignments that Quire calls from.
        region: (contig, start, end), 0-based, half-open, where calls are compared.
        confident: BED of the regions in which all variants are in the truth; None if not known.
    """

    name: str
    is_real: bool
    sample: str
    ploidy: int
    fasta: Path
    bam: Path
    own_bam: Path
    truth: Path
    region: tuple[str, int, int]
    confident: Path | None

    @property
    def folder(self) -> Path:
        """The folder of the set's calls."""
        return self.bam.parent / f"{self.name.replace(' ', '_')}_calls"

    @property
    def samtools_region(self) -> str:
        """The region, 1-based and closed."""
        contig, start, end = self.region
        return f"{contig}:{start + 1}-{end}"

    def packed(self) -> Path:
        """Return Quire's reference, made once."""
        folder = self.fasta.parent / "packed"
        if not folder.exists():
            reference_stage.build(self.fasta, folder, 1 << 30)
        return folder

    @cached_property
    def letters(self) -> dict[str, str]:
        """The letters of each contig."""
        return letters_of(self.fasta)

    def sequence(self, contig: str, start: int, end: int) -> str:
        """Return letters of a contig."""
        return self.letters[contig][start:end]

    def confident_regions(self) -> Regions:
        """Return the regions of `confident`, if any."""
        lengths = {name: len(bases) for name, bases in self.letters.items()}
        return read_regions(self.confident, lengths) if self.confident else {}


def compare_with_truth(one: CalledSet, vcf: Path, keep: CallFilter = PASSING_CALLS) -> Comparison:
    """Compare a caller's records, the passing ones by default, in the set's whole region."""
    whole = one.folder / "whole.bed"
    whole.write_text("\t".join(map(str, one.region)) + "\n")
    with pysam.VariantFile(str(vcf)) as stream:
        [sample] = stream.header.samples
    return comparer(one.truth, one.letters, whole, sample)(vcf, keep)


def mapped_by_quire(folder: Path, inputs: Inputs, fasta: Path, mates: Sequence[Path], threads: int) -> Path:
    """Return the marked BAM of Quire, made once."""
    return marked(folder / "quire.bam", quire_command(inputs.quire_index(fasta), mates, Path("{}"), threads))


def demo(inputs: Inputs, threads: int) -> CalledSet:
    """Return the demo's reads, mapped by both mappers."""
    fasta = indexed(inputs.plain("demo", inputs.demo / "hg19.chr20.masked.fa.gz"))
    mates = [inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)]
    folder = inputs.work / "errors_demo"
    folder.mkdir(exist_ok=True)
    peers = mapped_by_bwa(folder / "bwa.bam", inputs.bwa_index(fasta), mates, threads)
    ours = mapped_by_quire(folder, inputs, fasta, mates, threads)
    truth, confident = inputs.demo / "giab_v3.3.2.vcf.gz", inputs.demo / "giab_confident_10kb.bed"
    region = ("chr20", 10_000_000, 10_100_000)
    return CalledSet("demo", True, "HG001", 2, fasta, peers, ours, truth, region, confident)


def chr20(inputs: Inputs, threads: int) -> CalledSet:
    """Return the CRAM's alignments."""
    source = inputs.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz"
    fasta = inputs.plain("human_20_21", source)
    indexed(fasta)
    folder = inputs.work / "errors_chr20"
    folder.mkdir(exist_ok=True)
    bam, confident = folder / "chr20.bam", folder / "confident.bed"
    if not Path(f"{bam}.bai").exists():
        [cram] = (inputs.data / "gatk_haplotypecaller").glob("*.cram")
        run(f"samtools view -b -@ {threads} -T {fasta} -o {bam} {cram} 20:9990001-10260000 && samtools index {bam}")
        bed = (inputs.demo / "giab_confident_10kb.bed").read_text()
        confident.write_text(bed.replace("chr20", "20"))
    region = ("20", 10_000_000, 10_250_000)
    return CalledSet("chr20", True, "NA12878", 2, fasta, bam, bam, inputs.truth, region, confident)


def thinned(depth: int) -> Callable[[Inputs, int], CalledSet]:
    """Return a maker of `chr20` with some of its fragments."""

    def make(inputs: Inputs, threads: int) -> CalledSet:
        whole = chr20(inputs, threads)
        bam = whole.bam.with_name(f"chr20_{depth}x.bam")
        if not Path(f"{bam}.bai").exists():
            run(f"samtools view -b -s {1 + depth / CHR20_DEPTH:.4f} -o {bam} {whole.bam} && samtools index {bam}")
        return replace(whole, name=f"chr20 {depth}x", bam=bam, own_bam=bam)

    return make


def chr22(inputs: Inputs, threads: int) -> CalledSet:
    """Return the BAM's alignments, on a chr22 that is N up to the 40 kb at hand."""
    source = inputs.data / "na12878_chr22_40kb"
    folder = inputs.work / "errors_chr22"
    folder.mkdir(exist_ok=True)
    fasta, bam, truth = folder / "chr22.fa", folder / "chr22.bam", folder / "truth.vcf.gz"
    if not Path(f"{bam}.bai").exists():
        with pysam.FastaFile(str(source / "genome.chr22_16570000_16610000.fasta")) as stream:
            fasta.write_text(f">chr22\n{'N' * CHR22_START}{stream.fetch(stream.references[0])}\n")
        _only_chr22(source / "NA12878.chr22.bam", bam)
        vcf = source / "NA12878_GIAB.chr22.vcf.gz"
        run(f"bcftools view -r chr22:{CHR22_START + 1}-{CHR22_END} -Oz -o {truth} {vcf} && bcftools index -t {truth}")
    indexed(fasta)
    region = ("chr22", CHR22_START + 500, CHR22_END - 500)
    return CalledSet("chr22", True, "NA12878", 2, fasta, bam, bam, truth, region, None)


def _only_chr22(source: Path, output: Path) -> None:
    """Copy alignments within the 40 kb to a header with chr22 alone; mates elsewhere become unmapped ones."""
    with pysam.AlignmentFile(str(source)) as reads:
        header = reads.header.to_dict()
        header["SQ"] = [{"SN": "chr22", "LN": CHR22_END}]
        header["PG"] = []
        with pysam.AlignmentFile(str(output), "wb", header=pysam.AlignmentHeader.from_dict(header)) as out:
            for read in reads.fetch("chr22", CHR22_START, CHR22_END):
                if read.reference_start < CHR22_START or (read.reference_end or 0) > CHR22_END:
                    continue
                fields = read.to_dict()
                if fields["next_ref_name"] not in ("=", "*"):
                    fields |= {"next_ref_name": "*", "next_ref_pos": "0", "flag": str((read.flag | 8) & ~2)}
                fields["tags"] = [tag for tag in fields["tags"] if not tag.startswith(("SA:", "XA:", "PG:"))]
                out.write(pysam.AlignedSegment.from_dict(fields, out.header))
    pysam.index(str(output))


def k12(inputs: Inputs, threads: int) -> CalledSet:
    """Return reads of DH1 at 15x on K-12, mapped by both mappers; 30x of them would take twice as long."""
    fasta = inputs.genome(inputs.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    sample = inputs.genome(inputs.data / "genomes" / "ecoli_DH1.fa.gz")
    indexed(fasta)
    folder = inputs.work / "errors_K12"
    folder.mkdir(exist_ok=True)
    letters = letters_of(fasta)
    lengths = {name: len(bases) for name, bases in letters.items()}
    [(contig, length)] = lengths.items()
    truth, confident = folder / "truth.vcf.gz", folder / "confident.bed"
    mates = folder / "reads_1.fq.gz", folder / "reads_2.fq.gz"
    if not mates[1].exists():
        write_variants(truth, lengths, of_strain(fasta, sample, folder, letters))
        options = f"--seed 1 --quals {inputs.qualities} --coverage 15"
        run(python(f"bench.simulate {sample} none {WHOLE_GENOME} {folder / 'reads'} {options}"))
    _aligned(folder / "strain.1delta", contig, confident)
    peers = mapped_by_bwa(folder / "bwa.bam", inputs.bwa_index(fasta), mates, threads)
    ours = mapped_by_quire(folder, inputs, fasta, mates, threads)
    return CalledSet("K-12", False, "HG001", 1, fasta, peers, ours, truth, (contig, MARGIN, length - MARGIN), confident)


def _aligned(delta: Path, contig: str, output: Path) -> None:
    """Write the parts of the reference that MUMmer aligned, without their ends, where longer indels may lie."""
    coordinates = output.with_suffix(".coords")
    run(f"show-coords -TrH {delta} > {coordinates}")
    spans = [line.split("\t")[:2] for line in coordinates.read_text().splitlines()]
    output.write_text("".join(f"{contig}\t{int(start) + AT_ENDS}\t{int(end) - AT_ENDS}\n" for start, end in spans))


def simulated(depth: int, first: int, bases: int, seed: int) -> Callable[[Inputs, int], CalledSet]:
    """Return a maker of a set of simulated reads with HG001's variants, mapped by bwa mem."""

    def make(inputs: Inputs, threads: int) -> CalledSet:
        fasta = indexed(inputs.chromosome_20())
        region = f"20:{first + 1}-{first + bases}"
        mates = inputs.simulated(fasta, region, seed, f"--coverage {depth}")
        bam = Path(str(mates[0]).removesuffix("_1.fq.gz") + ".bam")
        mapped_by_bwa(bam, inputs.bwa_index(fasta), mates, threads)
        inner = ("20", first + MARGIN, first + bases - MARGIN)
        confident = bam.with_suffix(".inner.bed")
        confident.write_text("\t".join(map(str, inner)) + "\n")
        return CalledSet(f"simulated {depth}x", False, "HG001", 2, fasta, bam, bam, inputs.truth, inner, confident)

    return make


def duplications(inputs: Inputs, threads: int) -> CalledSet:
    """Return reads of chr20 and chr21 around their centromeres, where segmental duplications lie, mapped by Quire."""
    fasta = inputs.plain("human_20_21", inputs.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz")
    indexed(fasta)
    folder = inputs.work / "errors_duplications"
    folder.mkdir(exist_ok=True)
    truth, confident = folder / "truth.vcf.gz", folder / "confident.bed"
    mates = folder / "reads_1.fq.gz", folder / "reads_2.fq.gz"
    if not mates[1].exists():
        _write_planted(truth, letters_of(fasta), np.random.default_rng(7))
        parts = []
        for number, (contig, start, end) in enumerate(DUPLICATED):
            parts.append(folder / f"part{number}")
            options = f"--seed {number + 1} --quals {inputs.qualities} --coverage 30"
            run(python(f"bench.simulate {fasta} {truth} {contig}:{start + 1}-{end} {parts[-1]} {options}"))
        for mate, path in enumerate(mates, 1):
            run(f"cat {' '.join(f'{part}_{mate}.fq.gz' for part in parts)} > {path}")
    bam = mapped_by_quire(folder, inputs, fasta, mates, threads)
    contig, start, end = DUPLICATED[-1]
    region = contig, start + MARGIN, end - MARGIN
    confident.write_text("\t".join(map(str, region)) + "\n")
    return CalledSet("duplications", False, "HG001", 2, fasta, bam, bam, truth, region, confident)


def _write_planted(path: Path, letters: dict[str, str], generator: np.random.Generator) -> None:
    """Write variants at a thousandth of the bases of DUPLICATED, on one or both haplotypes."""
    lengths = {name: len(bases) for name, bases in letters.items()}
    planted: dict[str, list[Variant]] = {name: [] for name in letters}
    for contig, start, end in DUPLICATED:
        for one in plant(letters[contig][start:end], contig, PLANTED, generator):
            planted[contig].append(one._replace(position=one.position + start))
    genotypes = [(0, 1), (1, 0), (1, 1)]
    write_variants(path, lengths, planted, lambda: genotypes[int(generator.integers(3))])


MAKERS: dict[str, Callable[[Inputs, int], CalledSet]] = {
    "demo": demo,
    "chr20": chr20,
    "chr20 15x": thinned(15),
    "chr22": chr22,
    "K-12": k12,
    "duplications": duplications,
    "simulated 30x": simulated(30, 20_000_000, 2_000_000, 1),
    "simulated 8x": simulated(8, 24_000_000, 2_000_000, 2),
}


def require_tools() -> None:
    """End with a message if a program is missing."""
    for program in ("bwa", "samtools", "bcftools", "nucmer"):
        if not shutil.which(program):
            raise SystemExit(f"{program} is missing")
