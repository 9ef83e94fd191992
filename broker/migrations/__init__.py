"""The ledger's schema, step by step (Alembic). The law itself stands in functions/NNNN/*.sql."""
