"""The kernels that a run's jobs use, compiled before jobs run side by side: once for sources and processor."""

import gc
import logging
import time
from collections.abc import Callable

from quire.simd import stamps

SCRIPT = "compile_kernels.py"  # on whose imports, this module's among them, compiled kernels depend
log = logging.getLogger("quire.compiled")


def compile_stage(stage: str, **options: bool) -> None:
    """Compile the kernels of a stage, unless that was done before.

    Args:
        stage: a key of `STAGES`.
        options: what of the configuration takes more kernels, or others.
    """
    began, name = time.time(), "-".join([stage, *(option for option, chosen in options.items() if chosen)])
    if stamps.are_compiled(name, SCRIPT):
        log.info("the kernels of %s were compiled before", name)
        return
    gc.disable()  # Numba's millions of objects all stay; looking for garbage among them took a fifth of the time
    try:
        STAGES[stage](**options)
    finally:
        gc.enable()
    stamps.remember(name, SCRIPT, began)
    log.info("the kernels of %s are compiled: %.1f s", name, time.time() - began)


# Stages are imported by name, for the digests of sources, and late, since they take seconds.
def _align(optical: bool, umis: bool, adapters: bool, poly_g: bool) -> None:
    from quire.align.compile_kernels import compile_kernels as compile_mapping
    from quire.align.read_ends import Clipping
    from quire.finish.compile_kernels import compile_kernels as compile_finishing

    compile_mapping(Clipping(adapters, poly_g), umis)
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
