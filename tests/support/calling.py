"""Calling and joint genotyping for tests, with plain arguments instead of request objects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quire.io.bed import Interval
from quire.rescore.caller import call_interval
from quire.rescore.job import CallingRequest, Output
from quire.rescore.joint import JointRequest, genotype_interval

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


def genotype_gvcfs(*arguments: Any, **more: Any) -> int:
    """Genotype gVCFs together; arguments as in `JointRequest`."""
    return genotype_interval(JointRequest(*arguments, **more))
