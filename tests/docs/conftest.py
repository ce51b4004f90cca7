from __future__ import annotations

import sys
from pathlib import Path

# The tools that read and run pages; scripts in tools/ find each other the same way.
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
