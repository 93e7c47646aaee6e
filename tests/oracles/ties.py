"""Hashes that break ties, in plain Python integers."""

_WORD = (1 << 64) - 1


def hash_name(name: bytes) -> int:
    """Return FNV-1a of a read's name, finished by one shift."""
    value = 0xCBF29CE484222325
    for letter in name:
        value = (value ^ letter) * 0x100000001B3 & _WORD
    return value ^ (value >> 29)


def tie_hash(name_hash: int, position: int) -> int:
    """Return the hash that orders equally good places: splitmix64's finaliser of name hash and axis position."""
    value = (int(name_hash) ^ (int(position) * 0x9E3779B97F4A7C15)) & _WORD
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _WORD
    return value ^ (value >> 31)
