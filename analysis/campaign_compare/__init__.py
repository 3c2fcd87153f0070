"""Two campaigns against each other: is the second no worse than the first?"""

from analysis.campaign_compare.matching import NothingToCompare, Tolerance, match
from analysis.campaign_compare.record import Between, Row, Side, Verdict
from analysis.campaign_compare.result import between
from analysis.campaign_compare.write import write

__all__ = [
    "Between",
    "NothingToCompare",
    "Row",
    "Side",
    "Tolerance",
    "Verdict",
    "between",
    "match",
    "write",
]
