"""Map a unit without Snakemake: python -m quire.align --index DIR --fq1 R1 --fq2 R2 --out x.bam."""

import logging
import sys

from quire import many_threads
from quire.align.command import clipping_of, inputs_of, parser, read_group_of
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitOutputs
from quire.device.backend import look_for_card
from quire.errors import QuireError


def main() -> None:
    """Parse the command line and map one unit."""
    arguments = parser().parse_args()
    many_threads.prepare()
    look_for_card(arguments.backend)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    outputs = UnitOutputs(
        records=arguments.out,
        ledger=arguments.out.with_suffix(".ledger.json"),
        insert_size=arguments.out.with_suffix(".insert_size.json"),
    )
    settings = MappingSettings(arguments.threads, arguments.backend, arguments.memory, arguments.batch or "auto")
    try:
        inputs, read_group, clipping = inputs_of(arguments), read_group_of(arguments), clipping_of(arguments)
        map_unit(inputs, outputs, read_group, settings, clipping, arguments.umis)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


if __name__ == "__main__":
    main()
