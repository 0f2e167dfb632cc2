"""Decoders: the Stick-Breaking Transformer and the two baselines, trained on traces; a STRIPS model is then read out.

    settings         sizes and what the optimiser can be told
    packing          traces without padding, and which keys each query sees
    stick_breaking   the attention of the Stick-Breaking Transformer, fused and by its equation
    softmax          the attention of the baselines; its kernels stand in `stick_breaking`
    batches          traces of a dataset as input
    network          the decoder
    threads          how work is divided
    inference        what a trained decoder says of traces
    probing          from a trained decoder to a STRIPS model
    lengthening      traces longer than those of training
    training         the decoder with its optimiser on one training set
    presets          how each is trained
    learner          all of it as learners `sb`, `sinusoidal` and `rope`

All but `settings`, `presets` and `learner` need the extra `networks`.
"""
