"""Operations: the fleet's workers, queues and leases, and the way to Flower."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from broker.ledger.activity import read_leases, read_unknown
from ops.admin.desk import AtDesk
from ops.admin.pages.rendering import page
from ops.admin.pages.visiting import Visitor, insist
from ops.cli import watching
from ops.stack import home
from schemas.grants import FLEET

router = APIRouter(prefix="/admin/fleet", include_in_schema=False)


@router.get("")
def show(visit: Visitor, desk: AtDesk) -> HTMLResponse:
    """The page. It asks the workers, and gives them a second to answer."""
    insist(visit, FLEET)
    state = home.read_state(desk.settings.home)
    return page(
        "fleet.html",
        visit,
        fleet=watching.look(desk.settings),
        leases=read_leases(desk.ledger),
        unknown=read_unknown(desk.ledger),
        flower_url=None if state is None else state.flower_url,
    )
