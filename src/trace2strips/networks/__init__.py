"""Networks that predict which actions of a trace are inapplicable. May import up to `traces`."""
