"""Planners behind one interface: `plans`. Nothing is imported here, so that a worker process starts without Numba."""
