"""From a sample's units to one alignment file: sort, merge, mark duplicates, index and count."""
