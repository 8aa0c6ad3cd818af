"""The garbage collector, paused while many objects without cycles are made.

Collecting walks everything that is alive, again and again as a trace grows, and
finds nothing: traces are trees. Pausing saves a tenth to a quarter of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused"]


@contextmanager
def paused() -> Iterator[None]:
    """Run a block without collections; afterwards the collector is as it was."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
