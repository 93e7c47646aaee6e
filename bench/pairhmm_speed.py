"""PairHMM on real regions on one core: Quire, also compiled for AVX2 only, against Intel's GKL.

GKL uses AVX-512 if the processor has it. Its classes and library come from Debian's packages libgkl-java and
libgkl-jni; a JDK of version 11 or later runs them.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from quire.algorithms.pairhmm.cpu import log10_likelihoods

from bench.common import REPOSITORY, arguments, environment, print_setting, print_table, write_measurement
from bench.pairhmm_regions import cells_of, join_batches, read_regions

JAR = Path("/usr/share/java/gkl.jar")
LIBRARIES = Path("/usr/lib/jni")
HARNESS = REPOSITORY / "bench" / "GklPairHmm.java"
PROCESSORS = {"this processor": {}, "AVX2 only": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}}
"""Environment variables that set the processor for which Numba compiles."""
LARGEST_DIFFERENCE = 1e-5  # mean per answer; GKL rounds in float32


def main() -> None:
    """Time both programs alternately, in processes of one thread."""
    parser = arguments(__doc__)
    parser.add_argument("--passes", type=int, default=15, help="passes over the regions; the fastest counts")
    parser.add_argument("--regions", type=Path, help="another file of regions")
    parser.add_argument("--quire-only", action="store_true", help="print CPU seconds and sum of each pass")
    given = parser.parse_args()
    path = given.regions or given.data / "kernel_vectors" / "1m.in"
    if given.quire_only:
        _print_passes(path, given.passes)
        return
    print_setting(())
    batch = join_batches(read_regions(path))
    size, tasks = cells_of(batch), len(batch.tasks)
    print(f"# {path.name}: {tasks} tasks, {size / 1e9:.3f} G cells", flush=True)
    ours = f"-m bench.pairhmm_speed --quire-only --data {given.data} --passes {given.passes} --regions {path}".split()
    results = {f"quire, {name}": _passes([sys.executable, *ours], more) for name, more in PROCESSORS.items()}
    if JAR.exists() and (LIBRARIES / "libgkl_pairhmm.so").exists():
        java = ["java", f"-Djava.library.path={LIBRARIES}", "-cp", str(JAR), str(HARNESS), str(path)]
        results["GKL"] = _passes([*java, str(given.passes)], {})
        for name, (_, total) in results.items():
            difference = abs(total - results["GKL"][1]) / tasks
            if difference > LARGEST_DIFFERENCE:
                sys.exit(f"{name}: its answers differ from GKL's by {difference} on average")
    else:
        print("# GKL is missing: apt install libgkl-java libgkl-jni")
    rows = []
    for name, (seconds, _) in results.items():
        over = [f"{results['GKL'][0] / seconds:.2f}"] if "GKL" in results else []
        rows.append((name, f"{seconds:.4f}", f"{size / seconds / 1e9:.2f}", *over))
    print_table(("program, one core", "processor s", "GCUPS", "over GKL"), rows)
    write_measurement()


def _print_passes(path: Path, passes: int) -> None:
    """Time Quire in this process."""
    batch = join_batches(read_regions(path))
    log10_likelihoods(batch)  # compiles, or loads from the cache
    for _ in range(passes):
        start = time.process_time()
        answers = log10_likelihoods(batch)
        print(time.process_time() - start, float(np.sum(answers)), flush=True)


def _passes(command: list[str], variables: dict[str, str]) -> tuple[float, float]:
    """Run a program on one core; return CPU seconds of the fastest pass and the sum of its answers."""
    core = min(os.sched_getaffinity(0))
    output = subprocess.run(
        ["taskset", "-c", str(core), *command],
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
    ).stdout
    passes = [tuple(map(float, line.split())) for line in output.splitlines() if line[:1].isdigit()]
    seconds, total = min(passes)
    return seconds, total


if __name__ == "__main__":
    main()
