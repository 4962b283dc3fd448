# cython: language_level=3
# distutils: language = c++
"""What partitions send where, and the tensors of steps that a caller exchanges itself."""

from libc.stdint cimport int64_t, uint64_t
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string

from headrace.distributed.native.arrays cimport array_from_value, value_from_array
from headrace.distributed.native.endpoint_types cimport (
    Arrival, Binding, BindingPeer, CEndpoint, Failure, StepKey, WorkerStep, getpid, hr_edge_key,
    leak, nanoseconds, now_ns, receive, text,
)
from headrace.distributed.native.memory cimport HR_CANCELLED, HR_OK, Value, hr_code, hr_dtype, hr_tensor

from headrace.formats import errors


cdef class Exchange:
    """The tensors of one step that a caller sends and receives itself."""

    cdef WorkerStep* check(self) except NULL:
        if self.step.get() == NULL:
            raise TypeError("an Exchange is made by Endpoint.open_exchange")
        if self.pid != getpid():
            raise errors.FailedPreconditionError(
                None, None, "the exchange belongs to the process of which this one is a fork")
        return self.step.get()

    def __dealloc__(self):
        if self.step.get() == NULL:
            return
        if self.pid != getpid():
            leak(self.step)
            leak(self.endpoint)
            return
        with nogil:
            self.endpoint.get().end_step(self.step)

    def send(self, int64_t edge, array, hr_dtype dtype, uint64_t frame=0, int64_t iteration=0,
             bint dead=False):
        """Sends a value to the destination of an edge, or (dead) the word that there is none."""
        cdef WorkerStep* step = self.check()
        cdef Value value
        cdef hr_edge_key key
        cdef const hr_tensor* tensor = NULL
        cdef hr_code code
        cdef Failure failure
        key.edge = edge
        key.frame = frame
        key.iteration = iteration
        if not dead:
            value_from_array(array, dtype, self.endpoint.get().memory(), &value)
            tensor = &value.tensor
        with nogil:
            code = step.send(key, tensor, dead)
            failure = step.aborted()
        if code != HR_OK:
            why = (<bytes>failure.why).decode(errors="replace") if failure.code == code else ""
            raise errors.from_code(code, why or f"the value of edge {edge} could not be sent")

    def recv(self, int64_t edge, double timeout_s=30.0, uint64_t frame=0, int64_t iteration=0):
        """Returns a value that a peer sends; None: a dead one."""
        cdef WorkerStep* step = self.check()
        cdef hr_edge_key key
        cdef shared_ptr[Arrival] arrival
        cdef int64_t until = now_ns() + nanoseconds(timeout_s)
        key.edge = edge
        key.frame = frame
        key.iteration = iteration
        with nogil:
            arrival = receive(step[0], key, until)
        if arrival.get() == NULL:
            raise errors.DeadlineExceededError(
                None, None, f"no value of edge {edge} within {timeout_s} s")
        if arrival.get().failure.code != HR_OK:
            why = (<bytes>arrival.get().failure.why).decode(errors="replace")
            raise errors.from_code(arrival.get().failure.code, why)
        return None if arrival.get().dead else array_from_value(&arrival.get().value)

    def abort(self, str why):
        """Ends all receives, now and from now on, with CancelledError."""
        cdef WorkerStep* step = self.check()
        cdef bytes reason = why.encode()
        cdef const char* start = reason
        with nogil:
            step.abort(HR_CANCELLED, start)

    def close(self):
        """Ends the part of this side; what still waits ends with CancelledError."""
        self.check()
        with nogil:
            self.endpoint.get().end_step(self.step)


cdef Exchange open_exchange(object owner, shared_ptr[CEndpoint] endpoint, StepKey key,
                            shared_ptr[Binding] binding):
    cdef Exchange made = Exchange.__new__(Exchange)
    cdef string problem
    with nogil:
        made.step = endpoint.get().open_step(binding, key, &problem)
    if made.step.get() == NULL:
        raise errors.UnavailableError(None, None, text(problem))
    made.pid = getpid()
    made.owner = owner
    made.endpoint = endpoint
    return made


cdef shared_ptr[Binding] make_binding(uint64_t session, int64_t partition, destinations,
                                      peers) except *:
    """destinations: pairs (edge, incarnation), 0 for the master; peers: (incarnation, task)."""
    cdef shared_ptr[Binding] made = make_shared[Binding]()
    cdef BindingPeer peer
    made.get().session = session
    made.get().partition = partition
    places = {0: -2}
    for incarnation, name in peers:
        places[incarnation] = made.get().peers.size()
        peer.incarnation = incarnation
        peer.name = name.encode()
        made.get().peers.push_back(peer)
    for edge, incarnation in destinations:
        if not 0 <= edge < 1 << 24 or incarnation not in places:
            raise errors.InvalidArgumentError(
                None, None, f"edge {edge} leads to {incarnation}, which is no peer")
        if edge >= <int64_t>made.get().destination.size():
            made.get().destination.resize(edge + 1, -1)
        made.get().destination[edge] = places[incarnation]
    return made
