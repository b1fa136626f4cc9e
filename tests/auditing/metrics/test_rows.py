import numpy as np
import pytest

from heedful.auditing.metrics.ranking import pearson
from heedful.errors import DataError


def test_arrays_of_different_numbers_of_examples_are_refused():
    five, four = np.ones((5, 2)), np.ones((4, 2))
    with pytest.raises(DataError, match=r"pearson compares arrays row by row.* 4 and 5 examples"):
        pearson(five, four, np.ones((5, 2), dtype=bool))
