"""The eyes: everything that people run and look at."""
