"""cowork_truth_analysis_fetch: one hit of the run, fetched once, its exact text kept as a receipt."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from schemas.destination import Destination
from schemas.document import Document
from schemas.errors import FetchLimitReached, HitNotAdmitted
from schemas.limits import Limits
from schemas.reply import Reply
from schemas.tools.cowork_truth_analysis_fetch import TOOL, Acquisition, Args, Result
from schemas.truth import QUARANTINE, instant, own_id
from workers.bench import Bench
from workers.net.judge import judge_place
from workers.truth.research import Sources, researches

SCHEMA = "outrider/truth-fetch/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The admitted hit, and where it leads."""

    hit: dict[str, Any]
    place: Destination


def plan_of(args: Args, sources: Sources) -> Plan:
    """The place of the hit, if a search of this run found it. Raises: HitNotAdmitted, Refused."""
    hit = sources.record().hit(args.hit_id)
    if hit is None:
        raise HitNotAdmitted("The hit is none of this run's.")
    place = Destination.parse(hit["url"])
    judge_place(place, sources.rules.limits)
    return Plan(hit=hit, place=place)


@researches(TOOL, plan=plan_of, key=lambda args: f"fetch/{args.hit_id}", full=FetchLimitReached)
def cowork_truth_analysis_fetch(args: Args, plan: Plan, bench: Bench) -> Result:
    """Fetch the hit once and keep its text. Raises: Refused, Failed."""
    reply = bench.ride(plan.place)
    page = bench.read(reply)
    text = _captured(page.text, bench.limits.reply_bytes)
    acquisition = _acquisition(reply, page, text, plan, bench.limits)
    return Result(
        schema=SCHEMA,
        analysis_run_id=args.run_id,
        fetch_id=own_id(args.run_id, "fetch", args.hit_id),
        hit_id=args.hit_id,
        requested_url=plan.place.href,
        source_url=reply.url(),
        title=plan.hit["title"],
        page_title=page.title,
        exact_text=text,
        text_sha256=acquisition.captured_text_sha256,
        media_type=reply.content_type,
        http_status=reply.status,
        extractor=acquisition.extractor,
        provider=plan.hit["provider"],
        redirect_chain=(*reply.came_by, reply.place.href),
        acquisition_metadata=acquisition,
        acquired_at=instant(reply.retrieved_at),
        notice=QUARANTINE,
    )


def _captured(text: str, limit_bytes: int) -> str:
    """The text's longest beginning within the bytes, ended at a code point (M61)."""
    return text.encode()[:limit_bytes].decode(errors="ignore")


def _acquisition(reply: Reply, page: Document, text: str, plan: Plan, limits: Limits) -> Acquisition:
    full, captured = page.text.encode(), text.encode()
    return Acquisition(
        method="GET",
        http_version=reply.http_version,
        bytes_received=reply.wire_bytes,
        completeness=reply.completeness,
        charset=page.charset,
        extracted_text_bytes=len(full),
        full_extracted_text_sha256=sha256(full).hexdigest(),
        captured_text_bytes=len(captured),
        captured_text_sha256=sha256(captured).hexdigest(),
        text_truncated=len(captured) < len(full) or page.source_truncated,
        extractor=f"outrider/{page.kind}",
        search_provider=plan.hit["provider"],
        limits={
            "deadline_seconds": limits.deadline_seconds,
            "request_seconds": limits.request_seconds,
            "redirects_max": limits.redirects_max,
            "response_bytes": limits.wire_bytes,
            "captured_text_bytes": limits.reply_bytes,
        },
    )
