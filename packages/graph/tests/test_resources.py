"""Registered resources are created and reported."""

from __future__ import annotations

import headrace.graph as hr
from headrace.graph.variables import resources


def test_resources_are_registered_by_kind():
    queue = hr.FIFOQueue(1, [hr.float32])
    create, exists = hr.no_op(), hr.constant(True)
    resources.register_resource(queue.queue_ref, create, exists)
    resources.register_resource(queue.queue_ref, create, exists, is_shared=False)
    assert len(resources.shared_resources()) == len(resources.local_resources()) == 1
    init = resources.initialize_resources(resources.shared_resources())
    assert create in init.control_inputs
    from headrace.graph.python.ops import resources as inner

    assert inner.shared_resources is resources.shared_resources


def test_missing_resources_are_reported(service):
    assert resources.report_uninitialized_resources().shape.as_list() == [0]
    queue = hr.FIFOQueue(1, [hr.float32])
    resources.register_resource(queue.queue_ref, hr.no_op(), hr.constant(True))
    found = resources.report_uninitialized_resources()
    assert found.dtype == hr.string and found.shape.ndims == 1
