"""The published bounds of a tool call: what one fetch may take, and what a project may spend."""

from dataclasses import dataclass, field
from typing import Literal

Media = Literal["html", "text", "markdown", "json", "any"]
# What quotas and slots are counted for; `desk` for tools that ride nowhere.
Family = Literal["search", "fetch", "truth_search", "truth_fetch", "desk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one fetch may take.

    Unit: seconds, bytes, characters (code points), counts, as the names say. KB in the source documents is decimal
    for the web tools (64 KB = 64,000) and binary for the others (C7).
    """

    deadline_seconds: float
    lease_seconds: float
    request_seconds: float
    redirects_max: int
    wire_bytes: int
    decoded_bytes: int
    media: tuple[Media, ...]
    methods: tuple[Literal["GET", "POST"], ...] = ("GET",)
    redirect_scope: Literal["public", "same_target"] = "public"
    downgrade_allowed: bool = False
    ports: Literal["scheme", "any"] = "scheme"
    gzip: bool = False
    non_2xx: Literal["failed", "normal"] = "failed"
    header_bytes: int = 65_536  # libcurl cuts at 300 KB and 5,000 lines; ours are the bounds of the cases
    header_lines: int = 200
    gzip_members: int = 64  # more is a bomb of tiny members (aiohttp#13362)
    dns_answers_max: int = 64
    cname_max: int = 8
    source_chars: int = 400_000
    reply_bytes: int = 64_000
    links_max: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a project may spend on one family of tools.

    Shape: counts per logical step and per top-level run never come back; `active_max` counts live leases.
    """

    step_max: int
    run_max: int
    active_max: int
    gap_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One tool's bounds, as data: the column of DESIGN section 5 that a tool name stands for.

    Shape: with `text_kept` a receipt holds the whole value and full URLs, and a repeat is answered with them.
    """

    name: str
    family: Family
    limits: Limits
    quota: Quota = field(kw_only=True)
    text_kept: bool = False
