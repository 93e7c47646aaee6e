"""Hard filters: what a variant's annotations must reach to say PASS. A filtered record stays in the file.

GATK's recommendation for cohorts that are too small for a learned filter (VariantFiltration, "Hard-filtering germline
short variants"): one set of limits for SNVs and one for indels; a record with an indel among its alleles is one. A
limit without its annotation in the record filters nothing, and annotations count as they are written.
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
    """A limit on one annotation.

    Attributes:
        kind: of KINDS, the records that it judges.
        annotation: key of INFO, or QUALITY.
        bound: "minimum_" or "maximum_".
        limit: the value that still passes.
    """

    kind: str
    annotation: str
    bound: str
    limit: float

    @property
    def name(self) -> str:
        """As it stands in FILTER, whatever the limit."""
        return f"{self.kind.upper()}_{self.annotation}"

    @property
    def definition(self) -> str:
        """The header's line."""
        kind = {"snv": "SNV", "indel": "Record with an indel"}[self.kind]
        expression = f"{self.annotation} {_SIGN[self.bound]} {self.limit:g}"
        return f'##FILTER=<ID={self.name},Description="{kind} with {expression}">'

    def fails(self, record: VariantRecord, fields: Fields) -> bool:
        """Whether a record of the filter's kind is beyond the limit."""
        is_quality = self.annotation == QUALITY
        value = record.quality if is_quality else record.info.get(self.annotation)
        digits = ".2f" if is_quality else fields.info[self.annotation].digits
        if not isinstance(value, int | float):
            return False
        return bool(_FAILS[self.bound](float(format(value, digits)), self.limit))


Filters = Mapping[str, tuple[Filter, ...]]
"""Filters by kind."""


def filters_of(settings: Mapping[str, Mapping[str, Any]]) -> Filters:
    """Filters of the validated block `rescore.filters`: limits by kind and key; None switches one off, {} all."""
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
    """The header's lines."""
    return [one.definition for kind in KINDS for one in filters[kind]]


def filtered(record: VariantRecord, filters: Filters, fields: Fields) -> VariantRecord:
    """The record with the names of the filters that it fails; one that has failed another already stays as it is.

    Args:
        record: of a variant.
        filters: by kind.
        fields: of the record, which say how numbers are written.
    """
    if record.filters:
        return record
    names = tuple(one.name for one in filters[kind_of(record)] if one.fails(record, fields))
    return replace(record, filters=names) if names else record


def kind_of(record: VariantRecord) -> str:
    """`indel` where an allele is of another length than the reference, else `snv`."""
    length = len(record.alleles[0])
    others = (allele for allele in record.alleles[1:] if allele != SPANNING_DELETION)
    return "snv" if all(len(allele) == length for allele in others) else "indel"
