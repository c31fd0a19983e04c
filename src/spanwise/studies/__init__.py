"""Studies: arms, seeds, probes and one table that says what differs, with intervals."""

from spanwise.studies.phases import FirstPhase
from spanwise.studies.run import run_study
from spanwise.studies.study import Study
