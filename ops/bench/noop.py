"""The no-op tasks that web_fetch is measured against: the same app, broker, events and worker, and nothing to do."""

from broker.app import app


@app.task(name="bench_noop")
def answered() -> None:
    """Do nothing; the reply is stored, as every task's of this stack is."""


@app.task(name="bench_noop_silent", ignore_result=True)
def silent() -> None:
    """Do nothing and say nothing: the least that a Celery task can be."""
