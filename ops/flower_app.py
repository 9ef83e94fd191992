"""The Celery application as Flower runs it: with connections enough for inspections that it makes side by side."""

from broker.app import app

# Flower asks each worker nine things at once, and reads events beside that: with the fleet's four connections
# it waits for itself until they time out.
app.conf.broker_pool_limit = 16
