"""What holds for the whole suite: no telemetry from the reference, no deadline for a slow machine."""

import os

from hypothesis import settings

# praisonaiagents reads these when it is imported, which only test modules do.
for _name in ("PRAISONAI_TELEMETRY_DISABLED", "PRAISONAI_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
    os.environ[_name] = "true"

settings.register_profile("tracestream", deadline=None)
settings.load_profile("tracestream")
