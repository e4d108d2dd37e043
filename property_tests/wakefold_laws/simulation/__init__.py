"""The parts of the simulator: scripts, worlds, shells, and what is held against them."""
