"""`python -m spanwise ...` is the `spanwise` command."""

import sys

from spanwise.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
