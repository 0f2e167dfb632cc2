"""The STRIPS Transformer."""
