# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Loops over a series, compiled; curve_loops_numpy.py has the same functions and results."""

from libc.math cimport INFINITY, isfinite, isnan
from libc.stdint cimport int64_t
from libc.string cimport memmove
from libcpp.vector cimport vector

import numpy as np

cdef enum:
    KEPT = 10  # maximum number of points per bin


ctypedef fused real:
    const float
    const double


def m4(real[::1] y, const int64_t[::1] starts):
    """Returns the points that each bin must show: see `reduced` in reduction.py.

    Args:
      y: [n].
      starts: [bins + 1], ascending; bin k has the points from starts[k] up to starts[k + 1].
    Returns: indices of y, ascending.
    """
    cdef int64_t bins = starts.shape[0] - 1, k, i, n = 0, begin, end
    if bins > 0 and (starts[0] < 0 or starts[bins] > y.shape[0]):
        raise ValueError("m4: the bins reach beyond the series")
    cdef vector[int64_t] out
    cdef int64_t picked[KEPT]
    with nogil:
        for k in range(bins):
            begin, end = starts[k], starts[k + 1]
            if end - begin <= 2:
                for i in range(begin, end):
                    out.push_back(i)
                continue
            n = pick(&y[0], begin, end, picked)
            for i in range(n):
                out.push_back(picked[i])
    found = np.empty(out.size(), np.int64)
    cdef int64_t[::1] view = found
    for i in range(<int64_t>out.size()):
        view[i] = out[i]
    return found


cdef int64_t pick(real* y, int64_t begin, int64_t end, int64_t* to) noexcept nogil:
    """Writes the indices that a bin keeps, ascending and without duplicates; returns their number."""
    cdef int64_t least = -1, greatest = -1, i, j, n = 0
    cdef int64_t odd[6]  # first and last NaN, +Inf, -Inf
    cdef int64_t kind
    cdef double v, low = INFINITY, high = -INFINITY
    for i in range(6):
        odd[i] = -1
    for i in range(begin, end):
        v = y[i]
        if v < low and v > -INFINITY:
            low, least = v, i
        if v > high and v < INFINITY:
            high, greatest = v, i
        if not isfinite(v):
            kind = 0 if isnan(v) else 2 if v > 0 else 4
            if odd[kind] < 0:
                odd[kind] = i
            odd[kind + 1] = i
    n = insert(to, n, begin)
    n = insert(to, n, end - 1)
    n = insert(to, n, least)
    n = insert(to, n, greatest)
    for j in range(6):
        n = insert(to, n, odd[j])
    return n


cdef int64_t insert(int64_t* to, int64_t n, int64_t value) noexcept nogil:
    cdef int64_t at = n
    if value < 0:
        return n
    while at > 0 and to[at - 1] > value:
        at -= 1
    if at > 0 and to[at - 1] == value:
        return n
    memmove(to + at + 1, to + at, (n - at) * sizeof(int64_t))
    to[at] = value
    return n + 1


def ema(const double[::1] y, double weight):
    """Returns the debiased exponential moving average of finite values.

    Args:
      y: [n], finite.
      weight: of the past, from 0 to below 1.
    """
    smooth = np.empty(y.shape[0])
    cdef double[::1] out = smooth
    cdef double last = 0, power = 1, rest = 1 - weight
    cdef int64_t i
    with nogil:
        for i in range(y.shape[0]):
            last = last * weight + rest * y[i]
            if power > 1e-18:  # below, 1 - power is 1
                power *= weight
                out[i] = last / (1 - power)
            else:
                out[i] = last
    return smooth


def median(const double[::1] y, int64_t width):
    """Returns the median of the window around each of the finite values; it is cut at the ends.

    Args:
      y: [n], finite.
      width: points in the window; of an even one the longer half is to the right.
    """
    smooth = np.empty(y.shape[0])
    cdef double[::1] out = smooth
    cdef vector[double] window
    cdef int64_t n = y.shape[0], i, entering = 0, size = 0, leaving
    cdef int64_t left = (width - 1) // 2, right = width // 2
    window.resize(min(width, n) + 1)
    cdef double* sorted_window = window.data()
    with nogil:
        for i in range(n):
            while entering < n and entering <= i + right:
                put(sorted_window, size, y[entering])
                entering += 1
                size += 1
            leaving = i - left - 1
            if leaving >= 0:
                size -= 1
                take(sorted_window, size, y[leaving])
            if size % 2:
                out[i] = sorted_window[size // 2]
            else:
                out[i] = mean(sorted_window[size // 2 - 1], sorted_window[size // 2])
    return smooth


cdef double mean(double low, double high) noexcept nogil:
    # A half of a denormal loses its last bit, a sum of large numbers overflows.
    cdef double middle = (low + high) / 2
    return middle if isfinite(middle) else low / 2 + high / 2


cdef int64_t place(double* values, int64_t n, double value) noexcept nogil:
    """Returns the first index whose value is not below `value`."""
    cdef int64_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


cdef void put(double* values, int64_t n, double value) noexcept nogil:
    cdef int64_t at = place(values, n, value)
    memmove(values + at + 1, values + at, (n - at) * sizeof(double))
    values[at] = value


cdef void take(double* values, int64_t n_after, double value) noexcept nogil:
    cdef int64_t at = place(values, n_after + 1, value)
    memmove(values + at, values + at + 1, (n_after - at) * sizeof(double))
