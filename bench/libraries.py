"""Libraries of all orientations with inserts of 0.2 to 10 kb, on chr20 with the variants of HG001, against bwa mem.

The libraries are paired ends (FR) of 0.2 to 10 kb, mate pairs (RF) with and without paired ends of 300 bases among
them, and libraries with both mates on one strand (FF, RR). A model is missed if it has another orientation, or a mean
that is not within 5 % of the simulated one.
"""

from quire.io.files import read_json

from bench.common import Inputs, add_figures, arguments, print_setting, print_table, write_measurement
from bench.place import Placement, place
from bench.simulate import SHADOW

LIBRARIES = {
    "FR 0.2 kb": "--orientation FR --insert 200 --insert-sd 20",
    "FR 0.4 kb": "--orientation FR --insert 400 --insert-sd 80",
    "FR 2 kb": "--orientation FR --insert 2000 --insert-sd 200",
    "FR 10 kb": "--orientation FR --insert 10000 --insert-sd 1000",
    "RF 3 kb": "--orientation RF --insert 3000 --insert-sd 300",
    "RF 3 kb, shadow": "--orientation RF --insert 3000 --insert-sd 300 --shadow 0.3",
    "RF 10 kb": "--orientation RF --insert 10000 --insert-sd 1000",
    "FF 1 kb": "--orientation FF --insert 1000 --insert-sd 100",
    "RR 1 kb": "--orientation RR --insert 1000 --insert-sd 100",
}
LENGTH = 100  # bases of a read
MEAN_TOLERANCE = 0.05  # between the means of a model and of the simulated inserts


def main() -> None:
    """Simulate, map with both programs and compare, library by library."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="of each library")
    given = parser.parse_args()
    print_setting(("bwa", "samtools"))
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    rows, missed = [], 0
    for name, options in LIBRARIES.items():
        mates = inputs.simulated(fasta, "20", 1, f"--pairs {given.pairs} --length {LENGTH} {options}")
        file = "_".join(name.replace(".", "_").replace(",", "").split())
        ours, theirs = inputs.mapped(fasta, mates, f"library_{file}", given.threads)
        models = read_json(ours.with_suffix(".insert_size.json"))
        known = {name: model for name, model in models.items() if model["low"] <= model["high"]}
        missed += not are_those_of(known, options)
        rows.append((name, *compare(place(ours), place(theirs), known)))
    header = ("library", "right, Quire", "bwa", "right at MAPQ 20", "bwa", "wrong at MAPQ 20", "bwa", "proper", "bwa")
    print_table((*header, "models: mean ± deviation, pairs"), rows)
    add_figures({"libraries whose models are missed": missed})
    for name, at in (("right", 1), ("right at MAPQ 20", 3), ("properly paired", 7)):
        lowest = min(float(row[at]) - float(row[at + 1]) for row in rows)
        add_figures({f"{name} less bwa's, lowest of the libraries": round(lowest, 5)})
    highest = max(float(row[5]) / (float(row[6]) or 1e-9) for row in rows)
    add_figures({"wrong at MAPQ 20 over bwa's, highest of the libraries": round(highest, 2)})
    write_measurement()


def compare(ours: Placement, theirs: Placement, models: dict[str, dict[str, int]]) -> list[str]:
    """Return a row: the shares of both programs, alternating, and the models of Quire."""
    both = ours, theirs
    right, confident, wrong, proper = (
        [one.share_right() for one in both],
        [one.share_right(20) for one in both],
        [one.share_wrong(20) for one in both],
        [one.proper / one.reads for one in both],
    )
    told = ", ".join(f"{name} {m['mean']} ± {m['standard_deviation']}, {m['pairs']}" for name, m in models.items())
    shares = [f"{share:.5f}" for share in (*right, *confident)] + [f"{share:.2e}" for share in wrong]
    return [*shares, *(f"{share:.4f}" for share in proper), told]


def are_those_of(known: dict[str, dict[str, int]], options: str) -> bool:
    """Return True if the models have the simulated orientations and similar means."""
    words = options.split()
    insert, orientation = int(words[words.index("--insert") + 1]), words[words.index("--orientation") + 1]
    # An insert reaches from outer end to outer end, a template length from 5' end to 5' end.
    means = {orientation: insert - {"FR": 0, "RF": 2, "FF": 1, "RR": 1}[orientation] * LENGTH}
    if "--shadow" in words:
        means["FR"] = SHADOW
    near = (abs(known[name]["mean"] - mean) <= MEAN_TOLERANCE * mean for name, mean in means.items() if name in known)
    return set(known) == set(means) and all(near)


if __name__ == "__main__":
    main()
