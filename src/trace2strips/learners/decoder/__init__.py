"""Decoders: the Stick-Breaking Transformer and the two baselines."""
