"""`spanwise report`: run folders in, one HTML page out."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from spanwise.cli.console import print_json, say


def report(*runs: Annotated[Path, Parameter(required=True)], out: Path | None = None, json: bool = False) -> None:
    """Put runs into one HTML page that works offline: curves, timing, masks and scores side by side.

    Parameters
    ----------
    runs
        Run folders, also of runs that are not finished; or the one folder of a quickstart.
    out
        File to write. Default: report.html in the run's folder, or here where there are several.
    json
        Print the name of the file as one JSON object.
    """
    from spanwise.quickstart.run import RESULT_NAME, rewrite_report
    from spanwise.reporting.report import write_report

    if len(runs) == 1 and (runs[0] / RESULT_NAME).exists():  # the folder of a quickstart
        target = rewrite_report(runs[0], out)
    else:
        target = write_report(list(runs), out or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html")))
    if json:
        print_json({"report": str(target), "runs": [str(run) for run in runs]})
    else:
        say(f"Wrote {target}")
