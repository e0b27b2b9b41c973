"""Tests; what runs as `python -m tests.sim.mutants` imports from the course's other folders."""
