"""Model workers: a route to a provider, a ceiling on its cost, and an agent that has the gateway's tools alone."""
