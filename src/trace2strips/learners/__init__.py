"""Learners: traces in, models out."""
