"""Planners behind one interface."""
