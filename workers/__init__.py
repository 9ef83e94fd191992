"""The hands: ride out, bring back. No SQL, no Celery settings."""
