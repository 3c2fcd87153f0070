"""Statistics over trials.  The unit of replication is the trial; see docs/statistics.md for what is used and why."""

from analysis.statistics.answers import EQUAL_WITHIN, Answer, answer, log_margin
from analysis.statistics.bootstrap import bootstrap_mean
from analysis.statistics.contrasts import Contrast, paired, unpaired
from analysis.statistics.effects import hedges_g, paired_effect
from analysis.statistics.intervals import Estimate, estimate
from analysis.statistics.knee import Bend, bend
from analysis.statistics.multiplicity import benjamini_hochberg, holm
from analysis.statistics.percentiles import Percentile, percentile
from analysis.statistics.ratios import Ratio, paired_logarithms, paired_ratio
from analysis.statistics.shares import Count, never_certain, share, worth
from analysis.statistics.straight import r_squared
from analysis.statistics.students import CONFIDENCE, t_factor
from analysis.statistics.trend import Trend, trend

__all__ = [
    "CONFIDENCE",
    "EQUAL_WITHIN",
    "Answer",
    "Bend",
    "Contrast",
    "Count",
    "Estimate",
    "Percentile",
    "Ratio",
    "Trend",
    "answer",
    "bend",
    "benjamini_hochberg",
    "bootstrap_mean",
    "estimate",
    "hedges_g",
    "holm",
    "log_margin",
    "never_certain",
    "paired",
    "paired_effect",
    "paired_logarithms",
    "paired_ratio",
    "percentile",
    "r_squared",
    "share",
    "t_factor",
    "trend",
    "unpaired",
    "worth",
]
