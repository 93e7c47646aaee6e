"""Calling and joint genotyping for tests, with plain arguments instead of request objects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quire.io.bed import Interval
from quire.rescore.caller import call_interval
from quire.rescore.job import CallingRequest, Output
from quire.rescore.joint import JointRequest, genotype_interval
from quire.rescore.joint.store import import_gvcf

Samples = Sequence[Mapping[str, Any]]


def call_variants(
    reference: Path, samples: Samples, intervals: Sequence[Interval], part: Path, *arguments: Any, **more: Any
) -> int:
    """Call the variants of samples; further arguments as in `CallingRequest`."""
    return call_interval(CallingRequest(Output.VARIANTS, reference, samples, intervals, part, *arguments, **more))


def call_gvcf(
    reference: Path, samples: Samples, intervals: Sequence[Interval], part: Path, *arguments: Any, **more: Any
) -> int:
    """Write the gVCF of one sample; further arguments as in `CallingRequest`."""
    return call_interval(CallingRequest(Output.GVCF, reference, samples, intervals, part, *arguments, **more))


def genotype_gvcfs(
    reference: Path, gvcfs: Sequence[Path], intervals: Sequence[Interval], part: Path, *arguments: Any, **more: Any
) -> int:
    """Import gVCFs and genotype them together; further arguments as in `JointRequest`."""
    with TemporaryDirectory() as folder:
        stores = [Path(folder) / f"{number}.records" for number in range(len(gvcfs))]
        for gvcf, store in zip(gvcfs, stores, strict=True):
            import_gvcf(reference, gvcf, store)
        return genotype_interval(JointRequest(reference, stores, intervals, part, *arguments, **more))
