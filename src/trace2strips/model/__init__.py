"""STRIPS models and the words that traces are written in."""
