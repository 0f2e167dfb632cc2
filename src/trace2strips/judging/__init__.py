"""How good a model is: accuracy, plans, equivalence, world-model metrics."""
