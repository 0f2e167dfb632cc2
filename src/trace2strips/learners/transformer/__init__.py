"""The STRIPS Transformer: one attention head per atom, trained by gradients; its parameters are a STRIPS model.

    parameters     which heads there are, θ, and the STRIPS model that θ is
    references     the network by its equations, slowly
    kernels        the same with gradients, fused, fast
    optimiser      RAdam for parameters that are probabilities
    network        parameters, kernels and optimiser together: what training drives
    presets        how it is trained
    alone          actions that are still wrong are trained again, each alone, with further heads
    merging        heads of several actions that are one atom become one
    extraction     the paper's reading of trained parameters as a STRIPS model
    learner        all of it as learners `strips` and `strips+completion`
    module         the same network as a `torch.nn.Module`
    illustration   every number that the network computes on one trace

`module` needs the extra `networks`.
"""
