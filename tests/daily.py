"""Selects the part of a test's cases that is tried today, so that all are tried within a few days.

KILN_DAY is the number of the day, to repeat another day's sample. KILN_ALL=1 tries all cases (ninja check-all)."""
import os, time

DAY = int(os.environ.get("KILN_DAY") or time.time() // 86400)


def sample(cases, days):
    """Returns the cases of today. Each case is selected once in `days` days."""
    return list(cases) if os.environ.get("KILN_ALL") else [c for i, c in enumerate(cases) if (i + DAY) % days == 0]
