"""Serving the explorer's page on this machine alone, with planning."""
