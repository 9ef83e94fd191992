"""Truth analysis: who may work on a run, what it searched and fetched, and what it submitted."""
