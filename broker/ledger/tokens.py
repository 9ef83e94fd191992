"""Tokens: who may administer, and who may call tools, kept as digests.

A token is 32 random bytes, so one SHA-256 is a sound way to keep it: nothing that short of the token itself can be
guessed from its digest, and a slow hash would only slow us (decision 0014).
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Engine, RowMapping, text

from broker.ledger.statements import read, write
from schemas.grants import FLEET, TOOLS, Claim, Permission

PREFIX = "outrider_"  # so that scanners of leaked secrets know one when they see it
TOKEN_BYTES = 32
ANY = "*"  # the audit's word for every project: no project can have that id

_CLAIM = ("agent", "run", "step", "session")
_COLUMNS = "id, name, permissions, project, created_at, created_by, expires_at, revoked_at, agent, run, step, session"
CREATE = text(f"""
WITH made AS (
  INSERT INTO tokens (id, name, digest, permissions, project, created_at, created_by, expires_at,
    agent, run, step, session)
  VALUES (:id, :name, :digest, :permissions, :project, clock_timestamp(), :actor,
    clock_timestamp() + make_interval(secs => :seconds), :agent, :run, :step, :session)
  RETURNING {_COLUMNS}
), noted AS (
  INSERT INTO audit (at, actor, action, project, facts)
  SELECT created_at, :actor, 'token.create', coalesce(project, '*'),
    jsonb_build_object('token', id, 'name', name, 'permissions', permissions, 'expires_at', expires_at,
      'agent', agent, 'run', run, 'step', step, 'session', session) FROM made
)
SELECT {_COLUMNS} FROM made
""")  # noqa: S608 - constants
REVOKE = text(f"""
WITH ended AS (
  UPDATE tokens SET revoked_at = clock_timestamp() WHERE id = :id AND revoked_at IS NULL RETURNING {_COLUMNS}
), noted AS (
  INSERT INTO audit (at, actor, action, project, facts)
  SELECT revoked_at, :actor, 'token.revoke', coalesce(project, '*'), jsonb_build_object('token', id, 'name', name)
    FROM ended
)
SELECT {_COLUMNS} FROM ended
""")  # noqa: S608 - constants
# Each door knows its own tokens alone: an agent's opens no page, and an administrator's calls no tool.
FIND = text(
    f"SELECT {_COLUMNS} FROM tokens "  # noqa: S608 - constants
    "WHERE digest = :digest AND revoked_at IS NULL AND expires_at > clock_timestamp() AND (agent IS NOT NULL) = :agents"
)
LIST = text(f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at, id")  # noqa: S608 - constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token, without its secret. Shape: `project` None is every project; `claim` is an agent's."""

    id: str
    name: str
    permissions: tuple[Permission, ...]
    project: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    claim: Claim | None = None

    def actor(self) -> str:
        """Its name in the audit trail."""
        return f"token:{self.id}:{self.name}"

    def covers(self, permission: Permission, project_id: str | None = None) -> bool:
        """Whether it carries the permission, for this project where one is named.

        A token of one project watches no fleet, whatever it carries: what the fleet does names the other projects.
        """
        if permission == FLEET and self.project is not None:
            return False
        return permission in self.permissions and (project_id is None or self.project in {None, project_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A token as asked for. Shape: with a `claim` it is an agent's, for one project and with one permission."""

    name: str
    permissions: tuple[Permission, ...]
    project: str | None
    seconds: float
    claim: Claim | None = None


def create_token(engine: Engine, wanted: Wanted, *, actor: str) -> tuple[Token, str]:
    """A new token and its secret, which is told here and never again. Writes an audit row."""
    secret = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    values = {
        "id": f"tk-{secrets.token_hex(5)}",
        "name": wanted.name,
        "digest": digest_of_secret(secret),
        "permissions": list(dict.fromkeys(wanted.permissions)),
        "project": wanted.project,
        "seconds": wanted.seconds,
        "actor": actor,
        **{name: getattr(wanted.claim, name, None) for name in _CLAIM},
    }
    return token_of(write(engine, CREATE, values)[0]), secret


def agent_token(name: str, claim: Claim, project_id: str, *, seconds: float) -> Wanted:
    """What to ask for, so that an agent can call its tools and do nothing else."""
    return Wanted(name=name, permissions=(TOOLS,), project=project_id, seconds=seconds, claim=claim)


def find_token(engine: Engine, secret: str) -> Token | None:
    """The living administrator's token of this secret; None for an unknown, expired or revoked one, or an agent's."""
    return _find(engine, secret, agents=False)


def find_agent_token(engine: Engine, secret: str) -> Token | None:
    """The living agent's token of this secret, with its claim and project; None for any other."""
    return _find(engine, secret, agents=True)


def _find(engine: Engine, secret: str, *, agents: bool) -> Token | None:
    rows = read(engine, FIND, {"digest": digest_of_secret(secret), "agents": agents})
    return token_of(rows[0]) if rows else None


def list_tokens(engine: Engine) -> tuple[Token, ...]:
    """Every token that was ever made. Order: oldest first."""
    return tuple(token_of(row) for row in read(engine, LIST))


def revoke_token(engine: Engine, token_id: str, *, actor: str) -> Token | None:
    """The token, ended now; None when there is no living one of that id. Its visits end with it."""
    rows = write(engine, REVOKE, {"id": token_id, "actor": actor})
    return token_of(rows[0]) if rows else None


def digest_of_secret(secret: str) -> str:
    """What is kept of a secret. Shape: lower-case hex."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def token_of(row: RowMapping) -> Token:
    """The token in a row that holds its columns."""
    plain = {name: value for name, value in row.items() if name not in _CLAIM}
    claim = None if row.get("agent") is None else Claim(**{name: row[name] for name in _CLAIM})
    return Token(**{**plain, "permissions": tuple(row["permissions"])}, claim=claim)
