"""The embedded stack: PostgreSQL, two Valkeys and the fleet, under one home, supervised.

`life.run` runs a plan while a block runs, `sharing.embedded_stack` finds a running stack or makes one for a call, and
`python -m ops.stack` runs the stores alone.
"""
