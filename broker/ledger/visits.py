"""Visits: a person's stay on the admin pages, from the log-in with a token to its end."""

import secrets
from dataclasses import dataclass

from sqlalchemy import Engine, text

from broker.ledger.statements import read, write
from broker.ledger.tokens import Token, digest_of_secret, token_of

VISIT_SECONDS = 8 * 3600.0  # a working day; a token that ends earlier ends it earlier

# The old visits go with the new one's coming: nobody else needs to sweep.
BEGIN = text("""
WITH swept AS (DELETE FROM visits WHERE until <= clock_timestamp()),
begun AS (
  INSERT INTO visits (digest, token_id, begun_at, until)
  SELECT :digest, id, clock_timestamp(), least(expires_at, clock_timestamp() + make_interval(secs => :seconds))
    FROM tokens WHERE id = :token
  RETURNING begun_at
)
INSERT INTO audit (at, actor, action, project, facts)
  SELECT begun_at, :actor, 'visit.begin', '*', '{}' FROM begun RETURNING at
""")
FIND = text("""
SELECT t.id, t.name, t.permissions, t.project, t.created_at, t.created_by, t.expires_at, t.revoked_at
  FROM visits v JOIN tokens t ON t.id = v.token_id
  WHERE v.digest = :digest AND v.until > clock_timestamp()
    AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()
""")
END = text("DELETE FROM visits WHERE digest = :digest RETURNING token_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One stay: whose token, and the secret that the cookie holds."""

    token: Token
    secret: str


def begin_visit(engine: Engine, token: Token) -> Visit:
    """A new visit of the token's owner. Writes an audit row."""
    secret = secrets.token_urlsafe(32)
    values = {"digest": digest_of_secret(secret), "token": token.id, "seconds": VISIT_SECONDS, "actor": token.actor()}
    write(engine, BEGIN, values)
    return Visit(token=token, secret=secret)


def find_visit(engine: Engine, secret: str) -> Visit | None:
    """The living visit of this cookie; None when it is over, or its token is."""
    rows = read(engine, FIND, {"digest": digest_of_secret(secret)})
    return Visit(token=token_of(rows[0]), secret=secret) if rows else None


def end_visit(engine: Engine, visit: Visit) -> None:
    """End it: the cookie opens nothing any more."""
    write(engine, END, {"digest": digest_of_secret(visit.secret)})
