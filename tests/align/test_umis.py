"""UMIs out of names: where they stand, and names without one."""

import numpy as np
import pytest
from quire.align.umis import with_umis
from quire.errors import InputError
from quire.ragged import unpack_bytes
from quire.reads import PairBatch

from tests.support.builders import Read, read_batch

UMIS = {
    "A00296:43:HCLHLDSXX:2:2670:29252:13385:ACGTNACG": b"ACGTNACG",
    "A00296:43:HCLHLDSXX:2:2670:29252:13385:ACGT+TTGA": b"ACGT-TTGA",
    "A00296:43:HCLHLDSXX:2:2670:29252:13385_ACGT": b"ACGT",
    "SRR1.1_T": b"T",
    "x_AC-GT": b"AC-GT",
}


def batch_of(names: list[str]) -> PairBatch:
    reads = read_batch([Read(name, "ACGT", "IIII") for name in names], 40)
    return PairBatch(reads, reads)


def test_umis_of_names() -> None:
    (batch,) = with_umis(iter([batch_of(list(UMIS))]))
    assert batch.umis is not None
    assert batch.umi_offsets is not None
    assert unpack_bytes(batch.umis, batch.umi_offsets) == list(UMIS.values())
    part = batch.part(1, 3)
    assert part.umis is not None
    assert part.umi_offsets is not None
    assert unpack_bytes(part.umis, part.umi_offsets) == list(UMIS.values())[1:3]
    np.testing.assert_array_equal(part.mate1.name_offsets[0], 0)


@pytest.mark.parametrize(
    "name",
    ["A00296:43:HCLHLDSXX:2:2670:29252:13385", "read", "ACGT", "x_", "x_acgt", "x_AC+", "x_+AC", "x_A++C", "x_AU"],
)
def test_names_without_a_umi(name: str) -> None:
    with pytest.raises(InputError, match=r"align.umi: read 42 \(.*\) has no UMI of A, C, G, T and N behind the last"):
        list(with_umis(iter([batch_of(["x_AC", name, "read"])])))
