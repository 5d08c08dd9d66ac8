"""`python -m accord`: the `accord` command, where it is not on the path."""

from __future__ import annotations

import sys

from accord.cli import main

sys.exit(main())
