"""A folder of stores: the samples of a cohort that grows.

A store has the name of a digest of its samples. The order of the samples is that of their names, so it does not depend
on the order in which gVCFs were added.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from quire.errors import InputError
from quire.processes import in_processes
from quire.reference import Reference
from quire.rescore.job import contigs_of
from quire.rescore.joint.gvcf import read_head
from quire.rescore.joint.store import Store, import_gvcf
from quire.rescore.joint.window import require_apart

ENDING = ".records"


def stores_of(folder: Path, reference: Reference) -> list[Store]:
    """Return the stores of a cohort by the names of their samples; raise QuireError for a damaged one."""
    stores = [Store.open(path, reference) for path in folder.glob(f"*{ENDING}")]
    return sorted(stores, key=lambda store: store.samples)


def add_gvcfs(folder: Path, reference_directory: Path, gvcfs: Sequence[str | Path], processes: int) -> None:
    """Import gVCFs into a cohort; a gVCF whose store is newer than the file is left as it is.

    Raises:
        InputError: a gVCF is damaged or of another reference, or has a sample of the cohort.
    """
    reference = Reference.open(reference_directory)
    contigs = dict(contigs_of(reference))
    samples = [(str(path), read_head(path, contigs).samples) for path in gvcfs]
    targets = {path: folder / f"{_digest(own)}{ENDING}" for path, own in samples}
    taken = {
        sample: f"the cohort {folder} (take it out with --remove, or leave the file out)"
        for store in stores_of(folder, reference)
        for sample in store.samples
        if store.path not in targets.values()
    }
    require_apart(samples, taken)
    for path, target in targets.items():
        if target.exists() and (known := Store.open(target, reference).gvcf) != path:
            raise InputError(
                f"{path}: its samples are in the cohort {folder} from {known}; take them out with --remove first."
            )
    new = [path for path, target in targets.items() if not _is_newer(target, Path(path))]
    for _ in in_processes(lambda path: import_gvcf(reference_directory, path, targets[path]), new, processes):
        pass


def remove_samples(folder: Path, reference: Reference, samples: Sequence[str]) -> None:
    """Take samples out of a cohort.

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
    for path in {stores[sample].path for sample in samples}:
        path.unlink()


def _digest(samples: Sequence[str]) -> str:
    return hashlib.sha256("\t".join(samples).encode()).hexdigest()[:16]


def _is_newer(store: Path, gvcf: Path) -> bool:
    return store.exists() and store.stat().st_mtime_ns > gvcf.stat().st_mtime_ns
