"""The Celery application. Importing it reads no environment: the settings load at first use."""

from celery.signals import setup_logging

from broker import carrier, logs
from broker.sealing import SealedCelery

carrier.install()
app = SealedCelery("outrider", config_source="broker.celeryconfig", task_cls="broker.sealing:SealedTask")
setup_logging.connect(logs.configure_for_celery, weak=False)
