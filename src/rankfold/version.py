"""The version of rankfold, which results carry along."""

__version__ = "0.1.0"
"""The version of rankfold."""
