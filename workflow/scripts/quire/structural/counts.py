"""Counts of the calls that pass, by kind, size and sample, for the report."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from quire.io.vcf import VariantRecord

KINDS = "DEL", "INS", "DUP", "INV", "BND"
SIZES = (
    (0, "50 to 99"),
    (100, "100 to 999"),
    (1_000, "1,000 to 9,999"),
    (10_000, "10,000 to 99,999"),
    (100_000, "100,000 and more"),
)


def counts_of(records: Sequence[VariantRecord], names: Sequence[str]) -> dict[str, Any]:
    """Return `samples` (their names) and `rows`: `kind`, `size`, `records` and `carried`, the numbers of all samples.

    Both records of a BND count as one. A sample counts where it carries the variant. The size of insertions whose
    bases are not all known, and of BND, is empty.
    """
    total: Counter[tuple[int, int]] = Counter()
    carried: Counter[tuple[int, int, int]] = Counter()
    for record in records:
        kind = KINDS.index(str(record.info["SVTYPE"]))
        if record.filters or (KINDS[kind] == "BND" and record.identifier.endswith(".2")):
            continue
        size = record.info.get("SVLEN")
        row = kind, max(i for i, (least, _) in enumerate(SIZES) if size[0] >= least) if isinstance(size, list) else -1
        total[row] += 1
        carried.update((*row, number) for number, own in enumerate(record.samples) if "1" in str(own["GT"]))
    rows = [
        {
            "kind": KINDS[kind],
            "size": SIZES[size][1] if size >= 0 else "",
            "records": total[kind, size],
            "carried": [carried[kind, size, number] for number in range(len(names))],
        }
        for kind, size in sorted(total)
    ]
    return {"samples": list(names), "rows": rows}
