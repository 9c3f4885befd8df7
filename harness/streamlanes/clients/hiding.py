"""Importing a library as it is where nothing optional is installed beside it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden(*packages: str) -> Iterator[None]:
    """Within the block these packages cannot be imported.

    Some libraries load others wherever they find them: httpx its command line's, the SDKs a second HTTP
    client. They are here because this project measures or uses them, and what they weigh must not be
    charged to the library that is measured.
    """
    here = {name: sys.modules.pop(name) for name in packages if name in sys.modules}
    absent = dict.fromkeys(packages)
    sys.modules.update(absent)  # type: ignore[arg-type]  # None there is how an import is refused
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(here)
