"""Version of Quire, as written into @PG lines, VCF headers and the report."""

VERSION = "0.1.0"
