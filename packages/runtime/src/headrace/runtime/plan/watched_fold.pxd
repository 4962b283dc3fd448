"""Computing a node while its segment is planned, so that the run can be ended meanwhile."""

from headrace.runtime.state.context cimport Run
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_tensor
from headrace.runtime.plan.segment_builder cimport Step

# cost_ns: what the kernel expects. Raises where the run that plans is to end.
cdef hr_code compute_watched(Step* step, Run* run, const hr_tensor* const* inputs,
                             hr_tensor* const* outputs, void* workspace,
                             double cost_ns) except? -1
