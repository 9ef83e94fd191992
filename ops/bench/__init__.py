"""Benches: what this machine can do, measured in one run, beside what others need for the same."""
