"""One algorithm is one directory: the public function in __init__, oracle.py (slow, obviously right), cpu.py."""
