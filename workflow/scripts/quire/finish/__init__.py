"""From the BAM files of a sample's units to the sample's one file: sorted, merged, duplicates marked, indexed."""
