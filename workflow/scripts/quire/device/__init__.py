"""Where a kernel runs: the choice of the backend, and what the CPU backend's kernels share (vectors, bits)."""

from quire.errors import InputError


def resolve_backend(requested: str) -> tuple[str, str]:
    """The backend that a job uses, and in one sentence why.

    Args:
        requested: the configuration's device.backend, "auto" or "cpu".

    Raises:
        InputError: a backend that this version does not have.
    """
    if requested == "cpu":
        return "cpu", "it was asked for."
    if requested == "auto":
        return "cpu", "this version has no other backend."
    raise InputError(f"device.backend is {requested}; give auto or cpu.")


def require_cpu(algorithm: str, device: str) -> None:
    """Refuse a device that an algorithm has no backend for.

    Raises:
        ValueError: any device but "cpu".
    """
    if device != "cpu":
        raise ValueError(f"{algorithm} has no backend {device!r}; there is 'cpu'")
