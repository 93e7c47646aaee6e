"""Counters of a card for each kernel: time, bytes of memory, bandwidth, instructions and occupancy.

Run one of the measurements of a card under NVIDIA's `ncu` (which must be on the PATH); it profiles the last call of
each kind, one kernel at a time:

    python -m bench.counters gpu_mapping --data FOLDER --work FOLDER --bases 0 --file-pairs 0
"""

import argparse
import csv
import io
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from math import nan

from bench.common import environment, print_setting, print_table, write_measurement

METRICS = {
    "seconds": "gpu__time_duration.sum",
    "bytes": "dram__bytes.sum",
    "cache_bytes": "lts__t_bytes.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
UNITS = {"nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1.0, "s": 1.0,
         "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12}  # fmt: skip
HEADER = ("kernel", "calls", "ms", "share", "MB of memory", "GB/s", "GB/s of the cache", "M warp instructions",
          "issue slots", "occupancy", "registers")  # fmt: skip


def read_counters(text: str) -> dict[str, list[dict[str, float]]]:
    """Return the launches of each kernel, from the CSV that `ncu --csv` prints after other lines.

    Raises:
        ValueError: There are none.
    """
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        raise ValueError(f"ncu printed no counters: {text[-2000:]}")
    names = {metric: name for name, metric in METRICS.items()}
    launches: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in csv.DictReader(io.StringIO("\n".join(lines[begin:]))):
        if row["Metric Name"] in names:
            launch = launches[row["ID"], row["Kernel Name"].partition("(")[0]]
            try:
                value = float(row["Metric Value"].replace(",", ""))
            except ValueError:  # this card does not count it
                value = nan
            launch[names[row["Metric Name"]]] = value * UNITS.get(row["Metric Unit"], 1.0)
    kernels: dict[str, list[dict[str, float]]] = defaultdict(list)
    for (_, kernel), values in launches.items():
        kernels[kernel].append(values)
    return kernels


def rows(kernels: dict[str, list[dict[str, float]]]) -> Iterable[tuple[object, ...]]:
    """Yield rows of HEADER, the slowest kernel first; percentages are weighted by time, nan if a counter is missing."""
    kernels = {kernel: [dict.fromkeys(METRICS, nan) | values for values in launches]
               for kernel, launches in kernels.items()}  # fmt: skip
    total = sum(values["seconds"] for launches in kernels.values() for values in launches)
    for kernel, launches in sorted(kernels.items(), key=lambda item: -sum(values["seconds"] for values in item[1])):
        summed = {name: sum(values[name] for values in launches) for name in METRICS}
        seconds = summed["seconds"]
        issue, occupancy = (sum(v[name] * v["seconds"] for v in launches) / seconds for name in ("issue", "occupancy"))
        yield (
            kernel, len(launches), f"{seconds * 1e3:.3f}", f"{seconds / total:.1%}", f"{summed['bytes'] / 1e6:.1f}",
            f"{summed['bytes'] / seconds / 1e9:.0f}", f"{summed['cache_bytes'] / seconds / 1e9:.0f}",
            f"{summed['instructions'] / 1e6:.1f}", f"{issue:.0f} %", f"{occupancy:.0f} %",
            f"{max(values['registers'] for values in launches):.0f}",
        )  # fmt: skip


def main() -> None:
    """Run a measurement under ncu and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", choices=("gpu_index", "gpu_search", "gpu_mapping"))
    parser.add_argument("--least-share", type=float, default=0.005, help="of the time, for a kernel to be listed")
    given, options = parser.parse_known_args()
    # The card's clocks are not changed, because the machine may be shared.
    command = ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--target-processes",
               "application-only", "--csv", "--print-units", "base", "--metrics", ",".join(METRICS.values()),
               sys.executable, "-m", f"bench.{given.measurement}", *options]  # fmt: skip
    finished = subprocess.run(command, env=environment(MEASUREMENTS=os.devnull), capture_output=True, text=True)
    if finished.returncode:
        sys.exit(f"{finished.stdout[-3000:]}\n{finished.stderr[-3000:]}")
    try:
        listed = list(rows(read_counters(finished.stdout)))
    except ValueError as error:
        sys.exit(str(error))
    print_setting(())
    print_table(HEADER, [row for row in listed if float(str(row[3]).rstrip("%")) >= 100 * given.least_share])
    write_measurement(given.measurement)


if __name__ == "__main__":
    main()
