"""The lifted STRIPS Transformer: heads are predicates, and all groundings of an action schema share its parameters.

layout       predicates, patterns of arguments, the atoms that each token touches
kernels      loss and gradient of the factored form over these atoms, fused, fast
references   the same by its equations, slowly
network      parameters, kernels and the optimiser of the ground form together: what training drives
extraction   trained parameters as a lifted world
learner      all of it as learner `lifted-strips`
"""
