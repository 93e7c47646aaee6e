"""From hits to candidates: the places where a read may lie, one extension each."""
