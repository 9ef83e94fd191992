"""${message}.

Works under the old code and the new: add first, use later, drop last. Long changes go in small batches; the whole
upgrade gives up after 4 seconds of waiting for a lock (env.py). A changed function is a new file in functions/NNNN/.
"""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

ORDER = ("tables",)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
