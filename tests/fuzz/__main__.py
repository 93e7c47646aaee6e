"""`python -m tests.fuzz TARGET [--count N] [--seed S] [--jobs J]`: fuzz one reader and list its faults."""

import argparse
import math
import resource
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz import runner
from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--count", type=int, default=1000, help="number of mutated files")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after these, with fewer files")
    parser.add_argument("--most", type=int, default=20, help="faults that are listed")
    parser.add_argument("--stricter", action="store_true", help="list also what Quire alone refuses")
    parser.add_argument("--save", type=int, metavar="NUMBER", help="write the file of one case here, and run nothing")
    parser.add_argument("--work", type=int, nargs=2, metavar=("FIRST", "END"), help=argparse.SUPPRESS)
    parser.add_argument("--dev", action="store_true", help="run Python under -X dev")
    given = parser.parse_args()
    target = TARGETS[given.target]
    if given.work:
        runner.work(target, given.seed, *given.work)
        return
    if given.save is not None:
        path = Path(f"{target.name}_{given.seed}_{given.save}{target.suffix}")
        with tempfile.TemporaryDirectory() as folder:
            read = Path(folder, f"case{target.suffix}")
            read.write_bytes(runner.case(target, target.valid(Path(folder)), given.seed, given.save))
            shutil.copy(read, path)
            print(path, *runner.run_case(target, read), sep="\n")
        return
    end = given.first + given.count
    bounds = [given.first + given.count * job // given.jobs for job in range(given.jobs)] + [end]
    options = ("-X", "dev") if given.dev else ()
    until = time.time() + 60 * given.minutes

    def part(job: int) -> list[runner.Result]:
        return list(runner.results(target.name, given.seed, bounds[job], bounds[job + 1], options, until))

    with ThreadPoolExecutor(given.jobs) as pool:
        found = [result for results in pool.map(part, range(given.jobs)) for result in results]
    wanted = runner.faults(found) + [one for one in found if one.outcome is runner.Outcome.UNDEFINED]
    if given.stricter:
        wanted += [result for result in found if result.outcome is runner.Outcome.STRICTER]
    for result in wanted[: given.most]:
        print(result.number, result.outcome, result.detail, sep="\t")
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    print(f"{target.name}: {len(found)} files of seed {given.seed} in {used:.0f} CPU seconds; {runner.summary(found)}")
    raise SystemExit(bool(runner.faults(found)))


if __name__ == "__main__":
    main()
