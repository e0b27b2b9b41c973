"""Tests of the steps in the simulator."""
