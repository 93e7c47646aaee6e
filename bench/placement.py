"""Placement on chr20 with the real variants of HG001, pooled over seeds: Quire against bwa mem.

The fragments of the last seed are about as short as a read and run into adapters. With --sets other kinds of reads are
mapped (bench.simulate), with a row of the table for each. With --genome they are drawn from every contig of
another FASTA, whose sample differs from it by NATURAL_DIVERGENCE. bwa's records of a set are kept and reused. With
--jobs sets and seeds are simulated and mapped in parallel, and a set's row is printed when its last seed ends.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pysam
from quire.kernels import compile_stage

from bench.common import (
    Inputs,
    add_figures,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.place import Placement, place, print_placement
from bench.simulate import SETS, WHOLE_GENOME

NATURAL_DIVERGENCE = " --divergence 0.001"  # for sets without their own divergence, if the genome has no known variants
HEADER = (
    "set", "reads", "unmapped", "bwa", "right", "bwa", "right at MAPQ 20", "bwa", "wrong at MAPQ 20", "bwa",
    "wrong at MAPQ 60", "bwa",
)  # fmt: skip


def main() -> None:
    """Simulate, map with both programs, pool and print."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="number of simulations")
    parser.add_argument("--first-seed", type=int, default=1, help="of the sets")
    parser.add_argument("--pairs", type=int, default=280_000, help="of each; fragments of many Ns are left out of them")
    parser.add_argument(
        "--reads", type=int, help="of each set and seed, in place of --pairs: 1x sets have as many as 2x"
    )
    parser.add_argument("--jobs", type=int, default=1, help="of the sets and seeds, side by side, each of --threads")
    parser.add_argument("--region", default="20")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument("--genome", type=Path, help="FASTA, gzip or plain, that the sets are drawn from")
    given = parser.parse_args()
    if given.genome and not given.sets:
        parser.error("--genome goes with --sets")
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.genome(given.genome) if given.genome else inputs.chromosome_20()
    if given.sets:
        _place_sets(given, inputs, fasta)
        write_measurement(fasta.stem if given.genome else f"seeds from {given.first_seed}")
        return
    pooled = {"quire": Placement(), "bwa": Placement()}
    usual = dict(pooled)
    for seed in range(1, given.seeds + 1):
        adapters = " --adapters --insert 160" if seed == given.seeds else ""
        mates = inputs.simulated(fasta, given.region, seed, f"--pairs {given.pairs}{adapters}")
        bams = inputs.mapped(fasta, mates, f"placement_{seed}", given.threads)
        placements = dict(zip(pooled, map(place, bams), strict=True))
        print(f"## seed {seed}{adapters}")
        print_placement(placements)
        pooled = {name: pooled[name] + placements[name] for name in pooled}
        if not adapters:
            usual = {name: usual[name] + placements[name] for name in usual}
    print("## pooled over the seeds with usual fragments")
    print_placement(usual)
    print(f"## pooled over {given.seeds} seeds")
    print_placement(pooled)
    _add_differences(pooled["quire"], pooled["bwa"])
    write_measurement()


def _place_sets(given: argparse.Namespace, inputs: Inputs, fasta: Path) -> None:
    """Print a row for each set, pooled over the seeds, as soon as its last seed has been placed."""
    pysam.FastaFile(str(fasta)).close()  # writes its .fai once, before parallel simulations would
    if given.jobs > 1:
        compile_stage("align", given.jobs)  # once, before parallel jobs would each compile the kernels
    indexes = inputs.quire_index(fasta), inputs.bwa_index(fasta)
    region, seeds = (
        WHOLE_GENOME if given.genome else given.region,
        range(given.first_seed, given.first_seed + given.seeds),
    )
    work = [(name, _simulation(name, given), seed) for name in given.sets for seed in seeds]
    pooled = {name: (Placement(), Placement()) for name in given.sets}
    rows: list[tuple[object, ...]] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        simulated = {  # 1x and 2x sets may share pairs
            (options, seed): pool.submit(inputs.simulated, fasta, region, seed, options, not given.genome)
            for options, seed in dict.fromkeys((options, seed) for _, options, seed in work)
        }
        mates = [simulated[options, seed].result()[: SETS[name].mates] for name, options, seed in work]
        placed = [pool.submit(_place_mates, pair, indexes, given.threads) for pair in mates]
        for (name, _, seed), future in zip(work, placed, strict=True):
            pooled[name] = (pooled[name][0] + future.result()[0], pooled[name][1] + future.result()[1])
            if seed == seeds[-1]:
                rows.append(_row(name, *pooled[name]))
                print_table(HEADER, rows[-1:])
    print_table(HEADER, rows)
    both = pooled.values()
    for at in (0, 20):
        lowest = min(ours.share_right(at) - theirs.share_right(at) for ours, theirs in both)
        add_figures({f"right at MAPQ {at} less bwa's, lowest of the sets": round(lowest, 5)})
    for at in (20, 60):
        highest = max(ours.share_wrong(at) / (theirs.share_wrong(at) or 1e-9) for ours, theirs in both)
        add_figures({f"wrong at MAPQ {at} over bwa's, highest of the sets": round(highest, 2)})


def _simulation(name: str, given: argparse.Namespace) -> str:
    """Return the options of bench.simulate for a set."""
    kind = SETS[name]
    options = kind.simulation(-(-given.reads // kind.mates) if given.reads else given.pairs)
    return options + (NATURAL_DIVERGENCE if given.genome and "--divergence" not in options else "")


def _place_mates(mates: tuple[Path, ...], indexes: tuple[Path, Path], threads: int) -> tuple[Placement, Placement]:
    """Return the placement of the reads by Quire and by bwa."""
    stem = f"{mates[0].name.removesuffix('_1.fq.gz')}_{len(mates)}"
    ours_bam, theirs_bam = (mates[0].parent / f"{stem}.{name}.bam" for name in ("quire", "bwa"))
    run(quire_command(indexes[0], mates, ours_bam, threads))
    if not theirs_bam.exists():
        unfinished = theirs_bam.with_suffix(".tmp.bam")
        run(bwa_command(indexes[1], mates, unfinished, threads))
        unfinished.rename(theirs_bam)
    return place(ours_bam), place(theirs_bam)


def _row(name: str, ours: Placement, theirs: Placement) -> tuple[object, ...]:
    """Return a row of the table of sets."""
    pairs = [(ours.unmapped, theirs.unmapped)]
    pairs += [(f"{ours.share_right(at):.5f}", f"{theirs.share_right(at):.5f}") for at in (0, 20)]
    pairs += [(f"{ours.share_wrong(at):.2e}", f"{theirs.share_wrong(at):.2e}") for at in (20, 60)]
    return name, ours.reads, *(value for pair in pairs for value in pair)


def _add_differences(ours: Placement, theirs: Placement) -> None:
    """Add the figures that have a bar."""
    for what, at in (("right overall", 0), ("right at MAPQ 20", 20)):
        add_figures({f"{what}, difference: measured": round(ours.share_right(at) - theirs.share_right(at), 5)})
    for at in (20, 60):
        ratio = ours.share_wrong(at) / (theirs.share_wrong(at) or 1e-9)
        add_figures({f"wrong at MAPQ {at}, ratio: measured": round(ratio, 3)})


if __name__ == "__main__":
    main()
