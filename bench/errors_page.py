"""Tables of docs/errors.md, each between two comments that name it."""

from collections.abc import Sequence
from pathlib import Path

from bench.common import REPOSITORY, print_table

PAGE = REPOSITORY / "docs" / "errors.md"


def put_table(name: str, header: Sequence[str], rows: Sequence[Sequence[object]], page: Path = PAGE) -> None:
    """Print a table, add its figures to the run, and put it into the page at its name.

    Raises:
        ValueError: the page has no place of this name.
    """
    print_table(header, rows, name)
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no table {name!r}")
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]
    page.write_text(f"{before}{begin}{chr(10).join(lines)}\n{end}{after}")
