"""The ledger of calling: numbers of reads by outcome, summed over the pieces of the genome."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from quire.io.files import read_json, write_json_atomic
from quire.ledger import require_balance


def gather_ledgers(ledgers: Sequence[str | Path], output: str | Path, variants: int) -> None:
    """Sum the ledgers (JSON) of the parts, which must balance, and add the number of variants."""
    samples: dict[str, dict[str, int]] = {}
    regions: Counter[str] = Counter()
    for path in ledgers:
        ledger = read_json(path)
        regions.update(ledger["regions"])
        for sample, counts in ledger["reads"].items():
            total = samples.setdefault(sample, dict.fromkeys(counts, 0))
            for name, count in counts.items():
                total[name] += count
    for sample, counts in samples.items():
        require_balance(
            "rescore", sample, {"reads": counts["reads"]}, {name: n for name, n in counts.items() if name != "reads"}
        )
    write_json_atomic(output, {"stage": "rescore", "samples": samples, "regions": dict(regions), "variants": variants})
