"""All measurements, one after another: python -m bench --data FOLDER (make bench DATA=FOLDER)."""

import importlib
import sys

from bench.common import arguments

MEASUREMENTS = (
    "real_reads",
    "index_speed",
    "mapping_speed",
    "placement",
    "ties",
    "libraries",
    "read_lengths",
    "split_reads",
    "alternate",
    "finishing",
    "calls",
    "long_indels",
    "gvcf",
    "ploidy_regions",
    "pairhmm_speed",
    "pairwise",
    "mems",
    "one_answer",
    "gpu_search",
    "gpu_index",
    "gpu_mapping",
    "gpu_semiglobal",
    "gpu_pairwise",
    "gpu_answer",
    "gpu_pairhmm",
    "gpu_mems",
)


def main() -> None:
    """Run the chosen measurements, each with the same options."""
    parser = arguments(__doc__, threads=None)
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=MEASUREMENTS, help="which ones")
    given = parser.parse_args()
    options = ["--data", str(given.data), "--work", str(given.work)]
    options += ["--threads", str(given.threads)] if given.threads else []  # otherwise each uses its default
    for name in given.only:
        sys.argv = [name, *options]
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
