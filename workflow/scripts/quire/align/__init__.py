"""The align stage: FASTQ of one unit and the pages of a reference become BAM records; then samples are finished."""

from quire.align.unit import map_unit
from quire.align.warm_up import warm_up

__all__ = ["map_unit", "warm_up"]
