"""What the ledger's tables have in common: names of constraints, instants, and storage of rows that change often."""

from sqlalchemy import DateTime, MetaData

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    }
)
INSTANT = DateTime(timezone=True)
REWRITTEN = {"fillfactor": 50, "autovacuum_vacuum_scale_factor": 0.02}
