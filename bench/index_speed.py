"""Reference and index of chr20: time and memory, first and warm."""

import tempfile

from bench.common import Inputs, arguments, print_setting, print_table, python, run, write_measurement


def main() -> None:
    """Build in a fresh folder, without and with compiled kernels, and time bwa's index in the same run."""
    parser = arguments(__doc__)
    given = parser.parse_args()
    print_setting(("bwa",))
    fasta = Inputs(given.data, given.work).chromosome_20()
    rows = []
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        build = python(f"bench.build_index {fasta} {folder}/index --threads {given.threads}")
        for name in ("quire, first run (compiles)", "quire, warm"):
            rows.append((name, run(build, {"NUMBA_CACHE_DIR": f"{folder}/cache"})))
        rows.append(("bwa index", run(f"bwa index -p {folder}/bwa {fasta} 2> {folder}/bwa.log")))
    table = [(name, f"{timing.seconds:.1f}", f"{timing.peak_megabytes:.0f}") for name, timing in rows]
    print_table(("program", "s", "peak MB"), table)
    write_measurement()


if __name__ == "__main__":
    main()
