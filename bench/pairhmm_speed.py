"""PairHMM on real regions on one core: Quire, also compiled for AVX2 only, against Intel's GKL.

GKL uses AVX-512 if the processor has it. To measure it without, a copy of its library is patched so that its AVX-512
functions jump to those for AVX. Its classes and library come from Debian's packages libgkl-java and libgkl-jni; a JDK
of version 11 or later runs them.
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
LIBRARY = "libgkl_pairhmm.so"
JUMP = b"\xe9"  # x86: relative jump, followed by 32 bits
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
    if JAR.exists():
        for name, folder in {"GKL": LIBRARIES, "GKL, AVX only": _without_avx512(given.work / "gkl")}.items():
            java = ["java", f"-Djava.library.path={folder}:{LIBRARIES}", "-cp", str(JAR), str(HARNESS), str(path)]
            results[name] = _passes([*java, str(given.passes)], {})
        for name, (_, total) in results.items():
            difference = abs(total - results["GKL"][1]) / tasks
            if difference > LARGEST_DIFFERENCE:
                sys.exit(f"{name}: its answers differ from GKL's by {difference} on average")
    else:
        print(f"# {JAR} is missing: apt install libgkl-java libgkl-jni")
    peers = [name for name in results if name.startswith("GKL")]
    rows = [
        (
            name,
            f"{seconds:.4f}",
            f"{size / seconds / 1e9:.2f}",
            *(f"{results[peer][0] / seconds:.2f}" for peer in peers),
        )
        for name, (seconds, _) in results.items()
    ]
    print_table(("program, one core", "processor s", "GCUPS", *(f"over {peer}" for peer in peers)), rows)
    write_measurement()


def _without_avx512(folder: Path) -> Path:
    """Write a copy of GKL's library that does not use AVX-512; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    library = bytearray((LIBRARIES / LIBRARY).read_bytes())
    listed = subprocess.run(["nm", "-D", LIBRARIES / LIBRARY], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1]: int(line.split()[0], 16) for line in listed.splitlines() if len(line.split()) == 3}
    for size, kind in (("s", "f"), ("d", "d")):
        wide = symbols[f"_Z25compute_full_prob_avx512{size}I{kind}ET_P8testcase"]
        narrow = symbols[f"_Z22compute_full_prob_avx{size}I{kind}ET_P8testcase"]
        # File offsets of code equal its addresses.
        library[wide : wide + 5] = JUMP + (narrow - wide - 5).to_bytes(4, "little", signed=True)
    (folder / LIBRARY).write_bytes(library)
    return folder


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
