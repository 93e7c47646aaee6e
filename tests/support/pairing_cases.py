"""Insert sizes and reads shared by the tests of pairing on the CPU and on a card; needs only NumPy."""

import pytest
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes

from tests.support.places import Place

AT_300 = InsertSize(1000, 280, 300, 320, 300, 30, 180, 420)
NEAR = InsertSize(1000, 80, 100, 120, 100, 30, 1, 240)
MODELS = {
    "300": InsertSizes(FR=AT_300),
    "short": InsertSizes(FR=InsertSize(1000, 90, 100, 110, 100, 15, 1, 190)),  # most templates are shorter than a read
    "one length": InsertSizes(FR=InsertSize(1000, 250, 250, 250, 250, 0, 250, 250)),
    "all": InsertSizes(NEAR, AT_300, AT_300, NEAR),
    "none": NO_INSERT_SIZES,
}
FOREIGN_IN_PART = [
    pytest.param(150, 75, Place(150, 1, 40_000, 0, 150), 60, id="half of the read"),
    pytest.param(150, 74, Place(150, 1, 40_000, 0, 150), 59, id="less"),
    pytest.param(150, 50, Place(150, 1, 40_000, 0, 150), 40, id="a third"),
    pytest.param(150, 50, None, 40, id="mate unmapped"),
    pytest.param(150, 25, Place(150, 1, 250, 0, 150), 60, id="a sixth beside the mate"),
    pytest.param(300, 25, Place(300, 1, 100, 0, 300), 40, id="a twelfth beside it"),
    pytest.param(150, 25, Place(30, 1, 250, 0, 30), 60, id="beside what is reported alone"),
    pytest.param(150, 25, Place(29, 1, 250, 0, 29), 30, id="beside what is not"),
]
"""Bases of a read, the score of its alignment at 100 (that of so many first bases), its mate's place, the quality."""
