"""Completion: exact effects, preconditions and atoms from the labels."""
