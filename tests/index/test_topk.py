import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from combray.index.topk import top_k


@given(st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 1.0, 2.0]), max_size=60), st.integers(1, 70))
def test_top_k_is_a_stable_sort_cut_off(scores, k):
    ranked = sorted(
        (i for i, s in enumerate(scores) if np.isfinite(s)), key=lambda i: (-scores[i], i)
    )
    assert top_k(np.array(scores), k).tolist() == ranked[:k]
