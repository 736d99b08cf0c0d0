"""The lab of rankfold: the paper's experiments, the evaluation, the benchmark, data readers."""

__version__ = "0.1.0"
