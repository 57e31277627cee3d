from scipy.special import stdtrit

from slotwise.simulation.observe import BATCHES, STUDENT_T_95


def test_confidence_intervals_have_the_quantile_of_their_number_of_batches() -> None:
    assert stdtrit(BATCHES - 1, 0.975) == STUDENT_T_95
