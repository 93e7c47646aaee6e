"""A folder of stores: the samples of a cohort that grows.

A store has the name of a digest of its samples. The order of the samples is that of their names, so it does not depend
on the order in which gVCFs were added.
"""

import fcntl
import hashlib
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

from quire.errors import InputError
from quire.processes import in_processes
from quire.reference import Reference
from quire.rescore.job import contigs_of
from quire.rescore.joint.gvcf import read_head
from quire.rescore.joint.store import Store, import_gvcf, state_of
from quire.rescore.joint.window import require_apart

ENDING = ".records"


def stores_of(folder: Path, reference: Reference) -> list[Store]:
    """Return the stores of a cohort by the names of their samples; raise QuireError for a damaged one."""
    stores = [Store.open(path, reference) for path in folder.glob(f"*{ENDING}")]
    return sorted(stores, key=lambda store: store.samples)


def add_gvcfs(
    folder: Path,
    reference_directory: Path,
    gvcfs: Sequence[str | Path],
    processes: int,
    leaving: Set[Path] = frozenset(),
) -> None:
    """Import gVCFs into a cohort; a gVCF that has not changed since it was imported is left as it is.

    Args:
        folder: the cohort.
        reference_directory: directory written by the reference stage.
        gvcfs: the files.
        processes: gVCFs that are imported at a time.
        leaving: stores of samples that leave the cohort.

    Raises:
        InputError: a gVCF is damaged or of another reference, or has a sample of the cohort.
    """
    reference = Reference.open(reference_directory)
    contigs = dict(contigs_of(reference))
    samples = [(str(path), read_head(path, contigs).samples) for path in gvcfs]
    targets = {path: folder / f"{_digest(own)}{ENDING}" for path, own in samples}
    staying = {store.path: store for store in stores_of(folder, reference) if store.path not in leaving}
    taken = {
        sample: f"the cohort {folder} (take it out with --remove, or leave the file out)"
        for path, store in staying.items()
        for sample in store.samples
        if path not in targets.values()
    }
    require_apart(samples, taken)
    new = []
    for path, target in targets.items():
        known, state = staying.get(target), state_of(path)
        if known is not None and known.state[0] != state[0]:
            raise InputError(
                f"{path}: its samples are in the cohort {folder} from {known.state[0]}; take them out with --remove."
            )
        if known is None or known.state != state:
            new.append(path)
    for _ in in_processes(lambda path: import_gvcf(reference_directory, path, targets[path]), new, processes):
        pass


def stores_to_remove(folder: Path, reference: Reference, samples: Sequence[str]) -> dict[Path, int]:
    """Return the stores of samples that are to leave a cohort, with their inodes.

    Raises:
        InputError: a sample is not in the cohort, or shares its gVCF with samples that stay.
    """
    stores = {sample: store for store in stores_of(folder, reference) for sample in store.samples}
    for sample in samples:
        if sample not in stores:
            raise InputError(f"--remove: {sample!r} is not in the cohort {folder}.")
        if stay := sorted(set(stores[sample].samples) - set(samples)):
            raise InputError(
                f"--remove: {sample!r} shares the gVCF {stores[sample].gvcf} with {', '.join(stay)}; name them all."
            )
    return {(path := stores[sample].path): path.stat().st_ino for sample in samples}


@contextmanager
def changed_cohort(
    folder: Path, reference_directory: Path, gvcfs: Sequence[str | Path], removed: Sequence[str], processes: int
) -> Iterator[list[Store]]:
    """Add gVCFs to a cohort and take samples out, and yield its stores, while no other process changes them.

    Nothing is taken out before everything is imported.

    Raises:
        InputError: see `add_gvcfs` and `stores_to_remove`; or no sample would be left.
    """
    reference = Reference.open(reference_directory)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        leaving = stores_to_remove(folder, reference, removed)
        add_gvcfs(folder, reference_directory, gvcfs, processes, leaving.keys())
        # A new gVCF of a sample that leaves has taken the place of its store.
        gone = {path for path, inode in leaving.items() if path.stat().st_ino == inode}
        stores = [store for store in stores_of(folder, reference) if store.path not in gone]
        if not stores:
            raise InputError(f"{folder}: has no sample; give its gVCF.")
        for path in gone:
            path.unlink()
        yield stores


def _digest(samples: Sequence[str]) -> str:
    return hashlib.sha256("\t".join(samples).encode()).hexdigest()[:16]
