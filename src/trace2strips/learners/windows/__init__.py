"""The version space of a log: what every STRIPS model that fits it agrees on, and one small model in it."""
