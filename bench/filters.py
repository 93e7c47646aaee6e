"""SNVs that Quire misses or calls falsely under other hard filters, on the sets of `bench.error_sets`.

Limits are chosen on the sets of FITTED, by the fewest missed and false SNVs, and tested on the others. Nothing is
called again: limits are applied to the records of one VCF. All records have QUAL 30 or more, so that `none` is also a
filter of QUAL alone, as GATK's DRAGEN mode has it.
"""

from typing import Any

from bench.common import Inputs, arguments, print_setting, run, write_measurement
from bench.error_sets import MAKERS, compare_with_truth, require_tools
from bench.errors import GATK_LIMITS, call_quire, filter_command
from bench.errors_page import put_table

FITTED = ("chr20", "chr20 15x", "simulated 30x")
CHOICES: dict[str, dict[str, Any] | None] = {
    "GATK's": {},
    "SOR 4": {"maximum_SOR": 4},
    "SOR off": {"maximum_SOR": None},
    "SOR off, FS 50": {"maximum_SOR": None, "maximum_FS": 50},
    "SOR off, FS 40": {"maximum_SOR": None, "maximum_FS": 40},
    "SOR off, FS 30": {"maximum_SOR": None, "maximum_FS": 30},
    "SOR off, FS 20": {"maximum_SOR": None, "maximum_FS": 20},
    "SOR and MQ off, FS 40": {"maximum_SOR": None, "maximum_FS": 40, "minimum_MQ": None},
    "none": None,
}
"""Changes of GATK's limits for SNVs; None is no filter."""


def main() -> None:
    """Filter the calls of each set by each choice, and compare."""
    given = arguments(__doc__).parse_args()
    require_tools()
    print_setting(("bwa", "samtools", "bcftools", "mummer"))
    inputs = Inputs(given.data, given.work)
    rows: dict[str, list[int | str]] = {choice: [0, 0] for choice in CHOICES}
    for name, make in MAKERS.items():
        one = make(inputs, given.threads)
        vcf, filtered = call_quire(one, given.threads), one.folder / "filtered.vcf.gz"
        for choice, changed in CHOICES.items():
            limits = {} if changed is None else GATK_LIMITS | {"snv": GATK_LIMITS["snv"] | changed}
            run(filter_command(vcf, filtered, limits))
            counts = compare_with_truth(one, filtered).counts["snv"]
            rows[choice][name not in FITTED] += counts.missed + counts.false_calls  # type: ignore[operator]
            rows[choice].append(f"{counts.missed} + {counts.false_calls}")
    put_table("filters", ("filters", "fitted", "held out", *MAKERS), [(choice, *row) for choice, row in rows.items()])
    write_measurement()


if __name__ == "__main__":
    main()
