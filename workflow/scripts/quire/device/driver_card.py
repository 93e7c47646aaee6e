"""Choice of the requirements file for a machine's card, by asking the driver before CuPy is installed.

`python -m quire.device.driver_card` prints the name of the file, or nothing if no card can be used.
"""

import ctypes

COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76  # values of the driver's enumeration CUdevice_attribute
LIBRARY = "libcuda.so.1"
NEWER, OLDER = "requirements-gpu.txt", "requirements-gpu-cuda12.txt"
# For CUDA 13 and CUDA 12: the driver's version, and the oldest compute capability as 10 major + minor.
CHOICES = ((NEWER, 13000, 75), (OLDER, 12000, 70))


def requirements_for(driver: int, capabilities: list[int]) -> str | None:
    """Return the requirements file for a driver (1000 major + 10 minor) and its cards' capabilities, or None."""
    for name, oldest_driver, oldest_card in CHOICES:
        if driver >= oldest_driver and any(capability >= oldest_card for capability in capabilities):
            return name
    return None


def has_driver() -> bool:
    """Return True if the driver's library can be loaded."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def ask_driver(library: str = LIBRARY) -> tuple[int, list[int]]:
    """Return the driver's CUDA version and each visible card's capability (10 major + minor); (0, []) without cards."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return 0, []
    version, count = ctypes.c_int(), ctypes.c_int()
    failed = (
        cuda.cuInit(0) or cuda.cuDriverGetVersion(ctypes.byref(version)) or cuda.cuDeviceGetCount(ctypes.byref(count))
    )
    if failed:
        return 0, []
    return version.value, [_capability(cuda, ordinal) for ordinal in range(count.value)]


def _capability(cuda: ctypes.CDLL, ordinal: int) -> int:
    parts = []
    for attribute in (COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR):
        value = ctypes.c_int()
        parts.append(0 if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, ordinal) else value.value)
    return 10 * parts[0] + parts[1]


if __name__ == "__main__":
    print(requirements_for(*ask_driver()) or "")
