"""The type of a cohort."""

from __future__ import annotations

import numpy as np

Cohort = np.ndarray[tuple[int], np.dtype[np.int64]]
"""The users of a round, ascending."""
