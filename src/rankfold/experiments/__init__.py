"""The evaluation protocol, the ablation table, and the paper's experiments, declared as data."""
