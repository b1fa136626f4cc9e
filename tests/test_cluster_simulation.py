"""The simulation of `benchmarks/cluster_simulation.py` against schedules worked out by hand."""

import pytest

from benchmarks.cluster_simulation import Costs, shares_of, simulate


def test_shares_take_every_nth_group():
    assert shares_of([1, 2, 3, 4, 5], 2) == [[1, 3, 5], [2, 4]]


def test_one_worker_takes_the_sum_and_two_the_longer_half():
    work = [[2.0, 2.0], [3.0], [1.0]]
    assert simulate(work, 1, start=5, load=1).seconds == 5 + 3 + 8
    # a: 6..10 and then the third to 12; b: 6..9, and before that its load
    two = simulate(work, 2, start=5, load=1)
    assert two.seconds == 11  # a until 10, b until 9 and takes the third: load 1, group 1
    assert two.worked == 3 + 8


def test_a_worker_that_dies_loses_its_group_and_its_share_is_taken_up_again_first():
    # worker 0 has measured one group at 2 and dies at 3.5; it is replaced at 4.5 and loads again
    found = simulate([[2.0, 2.0], [9.0]], 2, start=1, load=0, deaths={0: [4.5]})
    assert (found.deaths, found.most_deaths) == (1, 1)
    assert found.seconds == 10  # worker 1: 1..10; the second group again: 5.5..7.5
    alone = simulate([[2.0, 2.0]], 1, start=1, load=0.5, deaths={0: [4.5]})
    assert alone.seconds == 4.5 + 1 + 0.5 + 2
    assert alone.worked == 3.5 + 2.5


def test_a_slow_worker_takes_longer_and_others_take_more():
    work = [[1.0]] * 6
    assert simulate(work, 2).seconds == 3
    assert simulate(work, 2, slowness={1: 5.0}).seconds == 5  # 1 of six; the other takes five


def test_costs_grow_with_the_documents():
    costs = Costs(load=1, load_each=0.01, merge=2, merge_each=0.1)
    assert costs.loading(100) == pytest.approx(2)
    assert costs.merging(100) == pytest.approx(12)
