"""`python -m ops.lab`: the same as `outrider lab`."""

import sys

from ops.lab.cli import main

sys.exit(main())
