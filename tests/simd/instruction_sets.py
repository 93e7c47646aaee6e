"""Print digests of values that decide answers; `test_instruction_sets` compares them between instruction sets."""

import hashlib
import json
from typing import Any

import numpy as np
from quire.algorithms.pairhmm.cpu import log10_likelihoods
from quire.align.insert_size import InsertSize
from quire.align.parameters import COUNT_COST, LENGTH_FACTOR
from quire.io.bgzf_cpu import compress_blocks
from quire.rescore.genotyping.cohort_cpu import cohort_info
from quire.rescore.haplotypes.likelihoods_cpu import pcr_gap_qualities
from quire.rescore.long_indels.support import _dilution
from quire.rescore.reference_confidence.model import base_table, indel_table
from quire.simd.powers_of_ten import log10, power_of_ten

from tests.support.pairhmm_cases import region_of


def _cohort() -> list[float]:
    generator = np.random.default_rng(4)
    phreds = np.array([generator.permutation([0, 7 * i, 11 * i + 5]) for i in range(1, 25)])
    return [value for count in range(1, 25) for value in cohort_info(phreds[:count], True, 2).values()]


def values() -> dict[str, Any]:
    """Return arrays by name."""
    generator = np.random.default_rng(3)
    numbers = generator.random(20_000)
    return {
        "log10": log10(numbers),
        "powers of ten": power_of_ten(-30 * numbers),
        "reference confidence": np.concatenate(
            [table(p).ravel() for table in (base_table, indel_table) for p in (2, 5)]
        ),
        "share of reads at a long insertion": np.array([_dilution(room, np.arange(1, 900)) for room in range(900)]),
        "INFO of a cohort": _cohort(),
        "template lengths": [InsertSize(9, 0, 0, 0, 350, s, 0, 900).penalties() for s in range(1, 300, 7)],
        "mapping quality": [*LENGTH_FACTOR, *COUNT_COST],
        "gaps": pcr_gap_qualities(),
        "PairHMM": log10_likelihoods(region_of(generator, [40, 99, 150, 7] * 9, [180, 60, 210])),
        "BGZF": [compress_blocks(generator.integers(65, 69, 150_000).astype(np.uint8), level) for level in (1, 2)],
    }


if __name__ == "__main__":
    found = {}
    for name, value in values().items():
        parts = value if isinstance(value, list) else [value]
        found[name] = hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()
    print(json.dumps(found))
