"""Hard filters: limits on the annotations of a variant. A record that fails one stays in the file.

The defaults are GATK's recommendation for cohorts that are too small for a learned filter (VariantFiltration,
"Hard-filtering germline short variants"), but for the strand bias of SNVs (docs/decisions/0031). There is one set of
limits for SNVs and one for indels. A record with an indel among its alleles counts as an indel. A limit is ignored if
the record lacks its annotation. Annotations are compared as they are written, that is rounded.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quire.io.vcf import SPANNING_DELETION, Fields, VariantRecord

QUALITY = "QUAL"
KINDS = ("snv", "indel")
_MINIMUM, _MAXIMUM = "minimum_", "maximum_"
_FAILS = {_MINIMUM: operator.lt, _MAXIMUM: operator.gt}
_SIGN = {_MINIMUM: "<", _MAXIMUM: ">"}


@dataclass(frozen=True)
class Filter:
    """A limit, inclusive, on one annotation (key of INFO, or QUALITY) of the records of one of KINDS."""

    kind: str
    annotation: str
    bound: str
    limit: float

    @property
    def name(self) -> str:
        """The name in FILTER, which does not depend on the limit."""
        return f"{self.kind.upper()}_{self.annotation}"

    @property
    def definition(self) -> str:
        """The line of the header."""
        kind = {"snv": "SNV", "indel": "Record with an indel"}[self.kind]
        expression = f"{self.annotation} {_SIGN[self.bound]} {self.limit:g}"
        return f'##FILTER=<ID={self.name},Description="{kind} with {expression}">'

    def fails(self, record: VariantRecord, fields: Fields) -> bool:
        """Return True if a record of the filter's kind is beyond the limit."""
        is_quality = self.annotation == QUALITY
        value = record.quality if is_quality else record.info.get(self.annotation)
        digits = ".2f" if is_quality else fields.info[self.annotation].digits
        if not isinstance(value, int | float):
            return False
        return bool(_FAILS[self.bound](float(format(value, digits)), self.limit))


Filters = Mapping[str, tuple[Filter, ...]]
"""Filters by kind."""


def filters_of(settings: Mapping[str, Mapping[str, Any]]) -> Filters:
    """Return the filters of the validated block `rescore.filters`; a limit of None switches one off, {} all."""
    return {
        kind: tuple(
            Filter(kind, key.removeprefix(bound), bound, float(limit))
            for key, limit in settings.get(kind, {}).items()
            for bound in _FAILS
            if key.startswith(bound) and limit is not None
        )
        for kind in KINDS
    }


def definitions(filters: Filters) -> list[str]:
    """Return the lines of the header."""
    return [one.definition for kind in KINDS for one in filters[kind]]


def filtered(record: VariantRecord, filters: Filters, fields: Fields) -> VariantRecord:
    """Return the record with the names of the filters that it fails; a record that has a filter already is unchanged.

    Numbers are compared as `fields` write them.
    """
    if record.filters:
        return record
    names = tuple(one.name for one in filters[kind_of(record)] if one.fails(record, fields))
    return replace(record, filters=names) if names else record


def kind_of(record: VariantRecord) -> str:
    """Return `indel` if an allele differs in length from the reference, else `snv`."""
    length = len(record.alleles[0])
    others = (allele for allele in record.alleles[1:] if allele != SPANNING_DELETION)
    return "snv" if all(len(allele) == length for allele in others) else "indel"
