"""Placement on the whole of chr20 with the real variants of HG001, pooled over seeds: Quire against bwa mem.

The last seed's fragments are about as short as a read and run into adapters. Bars: right overall and right at MAPQ 20
no more than 0.0003 below bwa; wrong at MAPQ 20 and at MAPQ 60 at most 1.15 times bwa's. With --sets other kinds of
reads are mapped instead (bench.read_sets), a row of the table each; with --genome these are drawn from every contig of
another FASTA, whose sample differs from it by NATURAL_DIVERGENCE. bwa's records of a set are kept and used again.
"""

import argparse
from pathlib import Path

from bench.common import Inputs, arguments, bwa_command, print_setting, print_table, quire_command, run
from bench.place import Placement, place, print_placement
from bench.read_sets import SETS, ReadSet
from bench.simulate import WHOLE_GENOME

LOWEST_DIFFERENCE = -0.0003
HIGHEST_RATIO = 1.15
NATURAL_DIVERGENCE = " --divergence 0.001"  # of a sample whose set has no other and whose genome has no known variants
HEADER = (
    "set", "reads", "unmapped", "bwa", "right", "bwa", "right at MAPQ 20", "bwa", "wrong at MAPQ 20", "bwa",
    "wrong at MAPQ 60", "bwa", "bars",
)  # fmt: skip


def main() -> None:
    """Simulate, map with both programs, pool and print."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="number of simulations")
    parser.add_argument("--first-seed", type=int, default=1, help="of the sets")
    parser.add_argument("--pairs", type=int, default=280_000, help="of each; fragments of many Ns are left out of them")
    parser.add_argument("--region", default="20")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument("--genome", type=Path, help="FASTA, gzip or plain, that the sets are drawn from")
    given = parser.parse_args()
    if given.genome and not given.sets:
        parser.error("--genome goes with --sets")
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.genome(given.genome) if given.genome else inputs.chromosome_20()
    bwa_index, quire_index = inputs.bwa_index(fasta), inputs.quire_index(fasta)
    if given.sets:
        rows = []
        for name in given.sets:
            rows.append(_row(name, *_place_set(SETS[name], given, inputs, (quire_index, bwa_index))))
            print_table(HEADER, rows[-1:])
        print_table(HEADER, rows)
        return
    pooled = {"quire": Placement(), "bwa": Placement()}
    usual = dict(pooled)
    for seed in range(1, given.seeds + 1):
        adapters = " --adapters --insert 160" if seed == given.seeds else ""
        mates = inputs.simulated(fasta, given.region, seed, f"--pairs {given.pairs}{adapters}")
        ours, theirs = (given.work / f"placement_{seed}.{name}.bam" for name in pooled)
        run(quire_command(quire_index, mates, ours, given.threads))
        run(bwa_command(bwa_index, mates, theirs, given.threads))
        placements = {"quire": place(ours), "bwa": place(theirs)}
        print(f"## seed {seed}{adapters}")
        print_placement(placements)
        pooled = {name: pooled[name] + placements[name] for name in pooled}
        if not adapters:
            usual = {name: usual[name] + placements[name] for name in usual}
    print("## pooled over the seeds with usual fragments")
    print_placement(usual)
    print_bars(usual["quire"], usual["bwa"])
    print(f"## pooled over {given.seeds} seeds")
    print_placement(pooled)
    print_bars(pooled["quire"], pooled["bwa"])


def _place_set(
    kind: ReadSet, given: argparse.Namespace, inputs: Inputs, indexes: tuple[Path, Path]
) -> tuple[Placement, Placement]:
    """Placement of a set by Quire and by bwa, pooled over the seeds."""
    ours, theirs = Placement(), Placement()
    options = kind.simulation(given.pairs)
    if given.genome and "--divergence" not in options:
        options += NATURAL_DIVERGENCE
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        region = WHOLE_GENOME if given.genome else given.region
        mates = inputs.simulated(indexes[1], region, seed, options, has_variants=not given.genome)[: kind.mates]
        stem = f"{mates[0].name.removesuffix('_1.fq.gz')}_{kind.mates}"
        ours_bam, theirs_bam = (mates[0].parent / f"{stem}.{name}.bam" for name in ("quire", "bwa"))
        run(quire_command(indexes[0], mates, ours_bam, given.threads))
        if not theirs_bam.exists():
            unfinished = theirs_bam.with_suffix(".tmp.bam")
            run(bwa_command(indexes[1], mates, unfinished, given.threads))
            unfinished.rename(theirs_bam)
        ours, theirs = ours + place(ours_bam), theirs + place(theirs_bam)
    return ours, theirs


def _row(name: str, ours: Placement, theirs: Placement) -> tuple[object, ...]:
    """A line of the table of sets."""
    pairs = [(ours.unmapped, theirs.unmapped)]
    pairs += [(f"{ours.share_right(at):.5f}", f"{theirs.share_right(at):.5f}") for at in (0, 20)]
    pairs += [(f"{ours.share_wrong(at):.2e}", f"{theirs.share_wrong(at):.2e}") for at in (20, 60)]
    passed = [ours.share_right(at) - theirs.share_right(at) >= LOWEST_DIFFERENCE for at in (0, 20)]
    passed += [ours.share_wrong(at) <= HIGHEST_RATIO * theirs.share_wrong(at) for at in (20, 60)]
    return name, ours.reads, *(value for pair in pairs for value in pair), " ".join(map(met, passed))


def print_bars(ours: Placement, theirs: Placement) -> None:
    """Print the figures that have a bar."""
    overall = ours.share_right() - theirs.share_right()
    confident = ours.share_right(20) - theirs.share_right(20)
    lowest = LOWEST_DIFFERENCE
    rows = [
        ("right overall, difference", f"{overall:+.5f}", lowest, met(overall >= lowest)),
        ("right at MAPQ 20, difference", f"{confident:+.5f}", lowest, met(confident >= lowest)),
    ]
    for threshold in (20, 60):
        ratio = ours.share_wrong(threshold) / (theirs.share_wrong(threshold) or 1e-9)
        rows.append((f"wrong at MAPQ {threshold}, ratio", f"{ratio:.3f}", HIGHEST_RATIO, met(ratio <= HIGHEST_RATIO)))
    print_table(("to bwa mem", "measured", "bar", ""), rows)


def met(condition: bool) -> str:
    """One word for a bar."""
    return "met" if condition else "missed"


if __name__ == "__main__":
    main()
