"""`python -m headrace.board` is `headrace-board`."""

import sys

from headrace.board.cli import main

sys.exit(main())
