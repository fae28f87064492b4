"""What holds for the whole suite: no telemetry from the reference, no deadline for a slow machine."""

import os

import pytest
from hypothesis import settings

from tracestream.cli import main

# praisonaiagents reads these when it is imported, which only test modules do.
for _name in ("PRAISONAI_TELEMETRY_DISABLED", "PRAISONAI_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
    os.environ[_name] = "true"

settings.register_profile("tracestream", deadline=None)
settings.load_profile("tracestream")


@pytest.fixture
def run(capfdbinary):
    """Run a command in this process; return exit code, stdout and stderr."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run
