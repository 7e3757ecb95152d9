"""``python -m ikcore``: the command line, where its script is not on the path."""

import sys

from ikcore.command.cli import main

sys.exit(main())
