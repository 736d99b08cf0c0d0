"""The evaluation: faces with known truth under declared protocols, and test-retest."""
