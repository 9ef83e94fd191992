"""Search providers: what is asked of each, and what its answer means."""
