"""Alternate contigs: Quire's places, mapping qualities and records against those of bwa mem with bwa-postalt.

Pieces of real chromosomes are turned into versions (1 to 3 % divergence, gaps, one reversed, one with an inversion, one
with 2 kb of new sequence), two HLA-like alleles and decoys. Their alignments are in genome.fa.alt, and pairs of 150
bases are simulated from all of them. `--postalt` is the command of bwakit's script with the list and a SAM file as
arguments: 'k8 bwa-postalt.js'. Without it Quire is compared with bwa mem alone. Shares are of the reads for which a
program has a record on an alternate contig, or bwa's XA an entry there.
"""

import random
from collections import Counter, defaultdict
from pathlib import Path

import pysam

from bench.common import Inputs, arguments, print_setting, print_table, quire_command, run, write_measurement
from tests.support.alternate_genomes import drawn_pairs, make_alternate_genome, write_genome
from tests.support.read_builders import write_pairs

SOURCES = (("20", 5_000_000, 400_000), ("21", 16_000_000, 300_000))  # contig, first base of seed 0, bases
STEP = 3_000_000  # distance between the pieces of consecutive seeds
CERTAIN, NEAR = 20, 30
Reads = dict[tuple[str, bool], list[pysam.AlignedSegment]]
CLASSES = (
    "the same", "quality differs by more than 3, on one side of 20", "other records besides the primary one",
    "equal places, other choice", "another tag lt or om", "certain on one side only", "the primary record elsewhere",
)  # fmt: skip


def records_of(path: Path) -> Reads:
    """Return the records of each read, the primary one first."""
    found: Reads = defaultdict(list)
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        for record in stream:
            found[record.query_name, record.is_read2].append(record)
    return found


def place(record: pysam.AlignedSegment) -> tuple[str | None, int, bool]:
    """Return contig, first base and strand."""
    return record.reference_name, record.reference_start, record.is_reverse


def tag(record: pysam.AlignedSegment, name: str) -> str:
    """Return the value of a tag as text; empty if it is missing."""
    return str(record.get_tag(name)) if record.has_tag(name) else ""


def is_certain(record: pysam.AlignedSegment) -> bool:
    """Return True if the mapping quality is at least 20."""
    return record.mapping_quality >= CERTAIN


def compare(ours: list[pysam.AlignedSegment], theirs: list[pysam.AlignedSegment], same: Counter[str]) -> str:
    """Count the equal properties of a read's records; return the class of the most serious difference."""
    first, other = ours[0], theirs[0]
    own, peers = {place(r): r for r in ours}, {place(r): r for r in theirs}
    shared = [(own[where], peers[where]) for where in own if where in peers]
    # bwa's AS is the local score, even for an alignment to the end of the read, which scores up to 4 less.
    is_tie = abs(int(tag(first, "AS") or 0) - int(tag(other, "AS") or 0)) <= 4 and not (
        is_certain(first) or is_certain(other)
    )
    facts = {
        "primary place": place(first) == place(other),
        "primary place, ties left out": place(first) == place(other) or is_tie,
        "primary at MAPQ 20 or not": is_certain(first) == is_certain(other),
        "all common records at MAPQ 20 or not": all(is_certain(a) == is_certain(b) for a, b in shared),
        "flag": first.flag == other.flag or (is_tie and place(first) != place(other)),
        "quality within 3": abs(first.mapping_quality - other.mapping_quality) <= 3,
        "places of all records": set(own) == set(peers),
        "lt of common records": all(tag(a, "lt") == tag(b, "lt") for a, b in shared),
        "om or none, of common records": all(a.has_tag("om") == b.has_tag("om") for a, b in shared),
    }
    for name, holds in facts.items():
        same[name] += holds
    same["reads"] += 1
    if not facts["primary place, ties left out"]:
        return CLASSES[6]
    if not facts["all common records at MAPQ 20 or not"]:
        return CLASSES[5]
    if not facts["primary place"]:
        return CLASSES[3]
    if not facts["places of all records"]:
        return CLASSES[2]
    if not (facts["lt of common records"] and facts["om or none, of common records"]):
        return CLASSES[4]
    near = all(abs(a.mapping_quality - b.mapping_quality) <= 3 for a, b in shared)
    return CLASSES[0] if near else CLASSES[1]


def is_right(name: str, records: list[pysam.AlignedSegment], listed: list[str]) -> Counter[str]:
    """Count a read as right: by its primary record on the primary assembly, by any record elsewhere."""
    contig, start, _ = name.split("!")
    candidates = records if contig in listed else records[:1]
    certain = [r for r in candidates if not r.is_unmapped and is_certain(r)]
    inserts = 700  # both mates are within this distance of the fragment's first base, which the name gives
    right = any(r.reference_name == contig and -NEAR <= r.reference_start - int(start) <= inserts for r in certain)
    of = "alternate" if contig in listed else "primary"
    return Counter(
        {f"{of} reads": 1, f"{of} right": right, f"{of} wrong": contig not in listed and bool(certain) and not right}
    )


def run_seed(given, inputs: Inputs, seed: int, totals: dict[str, Counter[str]], classes: Counter[str]) -> None:
    """Map the reads of one seed with both programs, and add the counts."""
    generator, folder = random.Random(seed), given.work / f"alternate_{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    source = inputs.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz"
    with pysam.FastaFile(str(source)) as stream:
        pieces = [stream.fetch(name, at + seed * STEP, at + seed * STEP + size).upper() for name, at, size in SOURCES]
    genome = make_alternate_genome(generator, *pieces)
    fasta, listed = write_genome(folder, genome)
    mates = write_pairs(folder, drawn_pairs(generator, genome, given.pairs, errors=0.004))
    index = inputs.quire_index(fasta)
    ours, theirs, lifted = folder / "quire.bam", folder / "bwa.sam", folder / "postalt.sam"
    run(f"{quire_command(index, mates, ours, given.threads, log=False)} --alternate {listed} 2> {ours}.log")
    run(f"bwa index {fasta} 2> {fasta}.log")
    run(f"bwa mem -t {given.threads} {fasta} {mates[0]} {mates[1]} 2> {theirs}.log > {theirs}")
    programs = {"Quire": records_of(ours), "bwa mem": records_of(theirs)}
    if given.postalt:
        run(f"{given.postalt} {listed} {theirs} > {lifted}")
        programs["bwa mem and bwa-postalt"] = records_of(lifted)
    peer = [*programs.values()][-1]
    alternate = {*genome.listed}
    for read, records in peer.items():
        own = programs["Quire"][read]
        names = {r.reference_name for r in (*own, *records)} | {
            entry.split(",")[0] for r in records for entry in tag(r, "XA").split(";")
        }
        if names & alternate:
            classes[compare(own, records, totals["same"])] += 1
        for program, found in programs.items():
            totals[program] += is_right(read[0], found[read], genome.listed)


def main() -> None:
    """Simulate, map and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--postalt", default="", help="command of bwa-postalt.js, such as 'k8 bwa-postalt.js'")
    parser.add_argument("--pairs", type=int, default=10_000, help="of each seed")
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    print_setting(("bwa", "samtools"))
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    classes: Counter[str] = Counter()
    for seed in range(given.seeds):
        run_seed(given, Inputs(given.data, given.work), seed, totals, classes)
    same = totals.pop("same")
    reads = same.pop("reads")
    print(f"{reads} reads with a hit on an alternate contig; the same as the peer's:")
    print_table(("what", "share"), [(name, f"{count / reads:.4f}") for name, count in same.items()])
    print_table(
        ("gravest difference", "reads", "share"),
        [(name, classes[name], f"{classes[name] / reads:.4f}") for name in CLASSES],
    )
    rows = [
        (
            name,
            f"{c['primary right'] / c['primary reads']:.5f}",
            c["primary wrong"],
            f"{c['alternate right'] / c['alternate reads']:.5f}",
        )
        for name, c in totals.items()
    ]
    print_table(
        (
            "program",
            "right at MAPQ 20 of reads of the primary assembly",
            "wrong",
            "origin found at MAPQ 20 of reads of alternate contigs",
        ),
        rows,
    )
    write_measurement()


if __name__ == "__main__":
    main()
