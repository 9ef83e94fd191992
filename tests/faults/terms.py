"""The short terms under which the struck workers run. Unit: seconds. Imports nothing: the launcher needs them first."""

LEASE_SECONDS = 6.0  # three of them are the attempt's own, to settle in
DEADLINE_SECONDS = 2.0
SOON_SECONDS = 1.0  # a broker's visibility under which what a dead worker held comes back at once
FINALIZER_SECONDS = 5.0  # beat's period, which is the product's own
