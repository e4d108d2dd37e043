"""This project beside the released JavaScript package: `python -m tests.benchmarks`."""

import sys
from pathlib import Path

# The helpers of the tests are found here as pytest finds them.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
