"""The index of a page, opened for use: an FM-index on memory-mapped arrays, checked against its reference."""

from dataclasses import dataclass
from pathlib import Path

from quire.algorithms.fm_index.pages import IndexOfPage
from quire.errors import InputError
from quire.index.construction import FORMAT_VERSION, page_checksum
from quire.reference import Reference
from quire.reference.storage import open_array, read_manifest


@dataclass(frozen=True)
class PageIndex(IndexOfPage):
    """The FM-index of a page, opened and checked (attributes of `IndexOfPage`); arrays are read-only."""

    @classmethod
    def open(cls, directory: str | Path, reference: Reference, verify: bool = True) -> "PageIndex":
        """Open the index of a page of `reference`; `verify` compares the arrays with their checksums, once per process.

        Raises:
            InputError: a wrong format version, a damaged file, or the index of another reference or page size.
        """
        directory = Path(directory)
        manifest = read_manifest(directory, "index", FORMAT_VERSION)
        number, bounds = manifest["page_number"], manifest["page"]
        page = reference.pages[number] if number < len(reference.pages) else None
        if page is None or vars(page) != bounds or manifest["text_checksum"] != page_checksum(reference, page):
            raise InputError(
                f"{directory}: was built from another reference or page size than {reference.directory}; "
                f"delete {directory} and build it again."
            )
        names = ("blocks", "C", "prefix_table", "suffix_array", "sampled_rows", "unowned_rows")
        arrays = {name: open_array(directory, manifest, name, verify) for name in names}
        words_per_block = arrays["blocks"].shape[1]
        arrays["blocks"] = arrays["blocks"].reshape(-1)
        return cls(
            **arrays,
            start=page.start,
            owned_end=page.owned_end,
            length=manifest["length"],
            words_per_block=words_per_block,
            primary=manifest["primary"],
            prefix_length=manifest["prefix_length"],
            sa_sampling=manifest["parameters"]["sa_sampling"],
        )
