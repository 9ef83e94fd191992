"""The Celery application as Flower runs it: with connections for its inspections, and its open doors closed."""

from flower.api.tasks import TaskResult
from flower.views.monitor import Healthcheck, Metrics
from tornado.web import HTTPError, RequestHandler, authenticated

from broker.app import app

# Flower asks each worker nine things at once, and reads events beside that: with the fleet's four connections
# it waits for itself until they time out.
app.conf.broker_pool_limit = 16


def _refuse(_handler: RequestHandler, _task_id: str) -> None:
    raise HTTPError(403, "A reply is its caller's alone.")


# Upstream these two ask for no password (flower#1342); read-only mode still reads replies out of the result store.
for page in (Metrics, Healthcheck):
    page.get = authenticated(page.get)
TaskResult.get = authenticated(_refuse)
