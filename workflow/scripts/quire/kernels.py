"""Compilation of a run's kernels before its jobs run in parallel, once for each state of sources and processor."""

import gc
import logging
import time
from collections.abc import Callable

from quire.simd import stamps
from quire.sources import SCRIPTS, dependencies, state, states

SCRIPT = "compile_kernels.py"  # compiled kernels depend on its imports, which include this module
log = logging.getLogger("quire.compiled")
_FOUND = states()  # before Numba and the kernels are imported


def compile_stage(stage: str, **options: bool) -> None:
    """Compile the kernels of a stage (a key of `STAGES`), unless they are; `options` select additional kernels."""
    began, name = time.time(), "-".join([stage, *(option for option, chosen in options.items() if chosen)])
    if stamps.are_compiled(name, SCRIPT):
        log.info("the kernels of %s are compiled already", name)
        return
    gc.disable()  # Numba's millions of objects all stay alive; collecting garbage among them took a fifth of the time
    before = logging.root.manager.disable
    logging.disable(logging.INFO)  # the progress of a tiny genome's jobs says nothing about this job
    try:
        STAGES[stage](**options)
    finally:
        logging.disable(before)
        gc.freeze()  # no collection at the end of the process either, where it took three seconds
        gc.enable()
    if _sources_changed():
        log.warning("sources changed while the kernels of %s were compiled: the next run compiles them again", name)
    else:
        stamps.remember(name, SCRIPT, began)
    log.info("the kernels of %s are compiled: %.1f s", name, time.time() - began)


def _sources_changed() -> bool:
    """Return True if a source changed since this process began; kernels are not kept then (`quire.simd.compiled`)."""
    return any(state(path) != _FOUND.get(path) for path in dependencies(SCRIPTS / SCRIPT))


# Stages are imported by name, so that digests of sources see them, and late, since their import takes seconds.
def _align(optical: bool, umis: bool, adapters: bool, poly_g: bool, alternate: bool) -> None:
    from quire.align.compile_kernels import compile_kernels as compile_mapping
    from quire.align.read_ends import Clipping
    from quire.finish.compile_kernels import compile_kernels as compile_finishing

    compile_mapping(Clipping(adapters, poly_g), umis, alternate)
    compile_finishing(optical, umis)


def _rescore(gvcf: bool, dragen: bool) -> None:
    from quire.rescore.compile_kernels import compile_kernels

    compile_kernels(gvcf, dragen)


def _complete() -> None:
    from quire.complete.compile_kernels import compile_kernels

    compile_kernels()


def _mems() -> None:
    from quire.mems.compile_kernels import compile_kernels

    compile_kernels()


def _pairwise() -> None:
    from quire.pairwise.compile_kernels import compile_kernels

    compile_kernels()


STAGES: dict[str, Callable[..., None]] = {
    "align": _align,
    "rescore": _rescore,
    "complete": _complete,
    "mems": _mems,
    "pairwise": _pairwise,
}
