"""`python -m headrace.board` is `headrace-board`."""

import sys

from headrace.board.command_line import main

sys.exit(main())
