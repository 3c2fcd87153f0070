"""Two campaigns against each other: is the second no worse than the first?"""

from analysis.between.matching import NothingToCompare, Tolerance, match
from analysis.between.record import Between, Row, Side, Verdict
from analysis.between.result import between
from analysis.between.write import write

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
