"""Reductions over more elements than 31 bits count, by the kernels for GPUs."""

from __future__ import annotations

from opencl_children import Run


def test_a_mean_of_more_than_two_thousand_million_elements(run: Run) -> None:
    # The product is never in memory: the reduction computes it.
    script = """
        rows, columns = 65536, 33000
        a = hr.placeholder(hr.float32, [rows, 1])
        b = hr.placeholder(hr.float32, [1, columns])
        with hr.device("/gpu:0"):
            mean = hr.reduce_mean(a * b)
        with hr.Session() as session:
            feeds = {a: np.full([rows, 1], 2), b: np.full([1, columns], 3)}
            print(session.run(mean, feeds))
    """
    assert float(run(script, HEADRACE_OPENCL_TEMPLATES="gpu", HEADRACE_OPENCL_TUNING="off")) == 6.0
