"""Queues, routes and delivery settings. Each value that is not a default carries its reason.

Delivery is at least once (acks late) and may repeat at any time; the ledger makes egress at most once. The numbers
are bound: deadline < lease < redelivery timeout, checked at start-up by `broker.promises`.
"""

from kombu import Queue

from broker.settings import settings
from schemas.tools import catalogue, tool_names

_settings = settings()

# Where -----------------------------------------------------------------------------------------------------------
broker_url = _settings.require_broker_url()
result_backend = _settings.require_result_url()

# Redelivery after 90 s: twice the longest lease, so that a repeated message normally finds a decided operation.
REDELIVERY_SECONDS = 90

broker_transport_options = {
    "visibility_timeout": REDELIVERY_SECONDS,
    "unacked_restore_interval": 5,  # the default scans only every ~100 s
    "unacked_restore_throttle": 1,
    "unacked_mutex_expire": 30,  # a dead holder's mutex would block every restore for 300 s
    "unacked_restore_limit": 200,
    "socket_timeout": 10,  # None hangs for ever on a half-open connection
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
    "retry_on_timeout": False,
    "priority_steps": [0],  # one list to BRPOP instead of four: 5-8 % of a no-op
    "queue_order_strategy": "priority",
}
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_channel_error_retry = True  # a read-only or full broker makes the worker wait instead of exit
broker_pool_limit = 4
broker_pool_acquire_timeout = 5

# What ------------------------------------------------------------------------------------------------------------
# A message without a queue of its own lands on `celery`: it is served too.
# Each has a key of its own: with the shared default key, a message to the exchange would reach all of them.
task_queues = [Queue(name, routing_key=name) for name in ("search", "fetch", "models", "care", "celery")]
task_default_queue = "celery"
task_create_missing_queues = False
task_routes = {tool.name: {"queue": tool.queue} for tool in catalogue().values()} | {
    name: {"queue": "care"} for name in ("finalize_stale", "repost_accepted")
}
task_routes["analyse_run"] = {"queue": "models"}
include = [f"workers.tools.{name}" for name in tool_names()] + ["workers.care"]  # strings: no arrow up
include += ["workers.keeper"]
if _settings.models_file is not None:  # where no model works, its libraries cost every worker nothing
    include += ["workers.analysis"]
beat_schedule = {
    # Readers finalize lazily as well; a missed tick is not worth keeping.
    "finalize_stale": {"task": "finalize_stale", "schedule": 5.0, "options": {"queue": "care", "expires": 10}},
    # The ledger says which messages are due; two of these at once share the work.
    "repost_accepted": {"task": "repost_accepted", "schedule": 5.0, "options": {"queue": "care", "expires": 10}},
}

# How -------------------------------------------------------------------------------------------------------------
task_serializer = result_serializer = event_serializer = "json"
accept_content = result_accept_content = ["json"]
task_acks_late = True
task_reject_on_worker_lost = True
task_acks_on_failure = task_acks_on_timeout = (
    True  # an exception is an end that the ledger holds; requeueing would loop
)
task_publish_retry_policy = {"max_retries": 5, "interval_start": 0, "interval_step": 0.2, "interval_max": 1}
task_send_sent_event = False
worker_pool = "threads"  # pycurl blocks a gevent hub; prefork costs 60 MB per concurrent fetch
worker_concurrency = 32
worker_prefetch_multiplier = 1
worker_disable_prefetch = True
worker_cancel_long_running_tasks_on_connection_loss = False  # cancelling a ride only makes unknown outcomes
worker_soft_shutdown_timeout = 50  # how long a drain may take: longer than the longest lease
worker_enable_soft_shutdown_on_idle = False
worker_consumer = "workers.door:Consumer"
worker_hijack_root_logger = False
worker_redirect_stdouts = False
worker_send_task_events = True
worker_proc_alive_timeout = 10

# Replies: kept for their reader, for five minutes at most, never extended with arguments.
result_expires = 300
result_extended = False
result_backend_always_retry = True
result_backend_max_retries = 40
result_backend_max_sleep_between_retries_ms = 1_000
redis_socket_timeout = 10
redis_socket_connect_timeout = 5
redis_socket_keepalive = result_backend.startswith(("redis:", "rediss:"))  # a Unix socket knows no keepalive
redis_backend_health_check_interval = 10
redis_retry_on_timeout = True
