"""The private internet: run a command in a network of its own, whose DNS and sites do as they are told.

Three processes serve a lab: `names` (DNS), `web` (origins) and `witness` (the counting origin and the canaries). A zone
file (zone.toml) says what they say; a LabControl changes it while it runs. Nothing in the product knows it is a test.
"""

from ops.lab.cli import main
from ops.lab.control import ControlRefused, LabControl
from ops.lab.errors import LabUnavailable, ZoneWrong
from ops.lab.namespace import available
from ops.lab.session import LabSession

__all__ = ["ControlRefused", "LabControl", "LabSession", "LabUnavailable", "ZoneWrong", "available", "main"]
