"""Metrics for Prometheus: what the ledger and the broker say of the fleet, at `/metrics` of a small server.

It is a process of its own (`outrider metrics`) and asks no worker: it tells the truth when none lives any more.
Labels hold words of closed sets, and the ids of at most ten projects; never a host, a URL or what an agent wrote.
"""
