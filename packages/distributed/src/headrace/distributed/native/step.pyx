# cython: language_level=3
# distutils: language = c++
"""The steps that an endpoint leads: as the master of their participants, or as its client."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.distributed.native.arrays cimport array_from_value, value_from_array
from headrace.distributed.native.endpoint_types cimport (
    FETCH_HERE, FETCH_MISSING, FETCH_TAKEN, TRACED, CEndpoint, MasterStep, Participant, PlanFeed,
    StepPlan, as_bytes, getpid, leak, now_ns, text,
)
from headrace.distributed.native.memory cimport (
    HR_CANCELLED, HR_DEADLINE_EXCEEDED, HR_OK, Memory, Value, is_sendable,
)

from headrace.formats import errors

cdef int64_t SLICE_NS = 50_000_000       # between checks for signals
cdef int64_t GRACE_NS = 1_000_000_000    # for participants that were told to abort
cdef int64_t MAX_MS = 1_000_000_000_000  # longer limits are none


cdef class Step:
    """A signature that can be run many times, from several threads at once."""

    cdef CEndpoint* check(self) except NULL:
        if self.endpoint.get() == NULL:
            raise TypeError("a Step is made by Endpoint.make_step or make_call")
        if self.pid != getpid():
            raise errors.FailedPreconditionError(
                None, None, "the step belongs to the process of which this one is a fork")
        return self.endpoint.get()

    def __dealloc__(self):
        if self.pid != getpid():
            leak(self.endpoint)

    def lost(self):
        """Returns the incarnations of participants to which there is no link."""
        return list(self.check().unlinked(self.plan.get()[0]))

    def __call__(self, values):
        return self.run(values)[0]

    def run(self, values, int64_t timeout_ms=0, bint traced=False):
        """Runs the step.

        Args:
          values: an array per feed.
          timeout_ms: 0: no limit.
          traced: whether the tasks trace the step.
        Returns: (arrays, metadata): an array or scalar per fetch; a serialized RunMetadata.
        Raises: OpError with the name of the node that failed; UnavailableError for a lost
          participant, with details "not started" if nothing was run; DeadlineExceededError.
        """
        cdef Running running = Running.__new__(Running)
        running.begin(self)
        running.feed_all(values)
        running.launch(traced)
        return running.results(timeout_ms)

    def start(self):
        """Starts a run whose values are fed and fetched by and by; returns a Running."""
        cdef Running running = Running.__new__(Running)
        running.begin(self)
        running.launch(False)
        return running


cdef class Running:
    """A run in progress. A value is fetched once, by one thread."""

    cdef int begin(self, Step of) except -1:
        cdef string missing
        cdef CEndpoint* endpoint = of.check()
        self.pid = of.pid
        self.of = of
        self.endpoint = of.endpoint
        self.given.resize(len(of.dtypes), NULL)
        with nogil:
            self.step = endpoint.begin(of.plan, &missing)
        if self.step.get() == NULL:
            raise errors.UnavailableError(
                None, None, f"there is no link to {text(missing)}", details="not started")
        return 0

    cdef MasterStep* running(self) except NULL:
        if self.step.get() == NULL:
            raise TypeError("a Running is made by Step.start")
        self.of.check()
        return self.step.get()

    def __dealloc__(self):
        if self.step.get() == NULL:
            return
        if self.pid != getpid():
            leak(self.step)
            leak(self.endpoint)
            return
        with nogil:
            if not self.step.get().finished():
                self.step.get().cancelled(HR_CANCELLED, string(b"the run was abandoned"))
            self.endpoint.get().forget(self.step.get()[0])

    cdef int feed_all(self, values) except -1:
        cdef size_t i, n = len(self.of.dtypes)
        cdef const Memory* memory = self.endpoint.get().memory()
        if len(values) != <Py_ssize_t>n:
            raise errors.InvalidArgumentError(
                None, None, f"{len(values)} values for {n} feeds")
        self.values = vector[Value](n)
        for i in range(n):
            value_from_array(values[i], self.of.dtypes[i], memory, &self.values[i])
            self.given[i] = &self.values[i]
        return 0

    cdef int launch(self, bint traced) except -1:
        with nogil:
            self.endpoint.get().launch(self.step.get()[0], self.given.data(),
                                       TRACED if traced else 0)
        return 0

    def feed(self, int number, array):
        """Sends the value of one feed."""
        cdef Value value
        cdef MasterStep* step = self.running()
        if not 0 <= number < len(self.of.dtypes):
            raise IndexError(number)
        value_from_array(array, self.of.dtypes[number], self.endpoint.get().memory(), &value)
        with nogil:
            self.endpoint.get().send_feed(step[0], number, value)

    def fetch(self, int number, int64_t timeout_ms=0):
        """Waits for the value of one fetch.

        Raises: as Step.run; InvalidArgumentError if it was fetched before.
        """
        if not 0 <= number < <int>self.running().results.size():
            raise IndexError(number)
        self.wait(number, timeout_ms)
        return self.value(number)

    def finish(self, int64_t timeout_ms=0):
        """Waits for the end of the run. Raises: as Step.run."""
        self.running()
        self.wait(-1, timeout_ms)
        self.check()

    def cancel(self, str why):
        """Ends the run with CancelledError."""
        cdef string reason = why.encode()
        cdef MasterStep* step = self.running()
        with nogil:
            step.cancelled(HR_CANCELLED, reason)

    cdef int wait(self, int32_t place, int64_t timeout_ms) except -1:
        """Waits for the end or for a fetch, checks for signals, and ends the run in time."""
        cdef int64_t now = now_ns()
        cdef bint limited = 0 < timeout_ms < MAX_MS
        cdef int64_t end = now + timeout_ms * 1_000_000 if limited else 0
        cdef MasterStep* step = self.step.get()
        cdef bint done
        cdef string why
        while True:
            with nogil:
                done = step.wait(place, min(end, now + SLICE_NS) if limited else now + SLICE_NS)
            now = now_ns()
            if done:
                # The participants that were told to abort have some time, and so has the step.
                if step.failed():
                    self.let_end(min(end, now + GRACE_NS) if limited else now + GRACE_NS)
                return 0
            if limited and now >= end:
                why = f"the step took longer than {timeout_ms} ms".encode()
                with nogil:
                    step.cancelled(HR_DEADLINE_EXCEEDED, why)
                self.let_end(now + GRACE_NS)
                return 0
            try:
                PyErr_CheckSignals()
            except BaseException:
                with nogil:
                    step.cancelled(HR_CANCELLED, string(b"the caller was interrupted"))
                self.let_end(now + GRACE_NS)
                raise

    cdef int let_end(self, int64_t until) except -1:
        """Waits for the end of a run that has failed, but not for long."""
        with nogil:
            if not self.step.get().wait_for_end(until):
                self.step.get().expired()
        return 0

    cdef object value(self, int32_t number):
        cdef MasterStep* step = self.step.get()
        cdef int state = step.take(number)
        if state == FETCH_HERE:
            return array_from_value(&step.results[number])
        self.check()
        if state == FETCH_TAKEN:
            raise errors.InvalidArgumentError(None, None, f"fetch {number} was fetched before")
        if state == FETCH_MISSING:
            raise errors.InternalError(
                None, None, f"the run is over, but the value of fetch {number} has not come")
        raise errors.InvalidArgumentError(
            None, None,
            f"Retval[{number}] does not have value: it is in a branch that was not taken")

    cdef object results(self, int64_t timeout_ms):
        cdef size_t i
        cdef MasterStep* step = self.step.get()
        self.wait(-1, timeout_ms)
        self.check()
        arrays = [self.value(i) for i in range(step.results.size())]
        metadata = b"".join([as_bytes(step.metadata[i]) for i in range(step.metadata.size())])
        return arrays, metadata

    cdef int check(self) except -1:
        cdef MasterStep* step = self.step.get()
        if step.failed():
            raise errors.from_code(step.code(), text(step.message()),
                                   text(step.node()) or None)
        return 0


cdef Step make_step(object owner, shared_ptr[CEndpoint] endpoint, uint64_t session, participants,
                    feeds, fetches, feed_dtypes, bint call):
    """The step of a plan, which is checked."""
    cdef Step made = Step.__new__(Step)
    cdef shared_ptr[StepPlan] plan = make_shared[StepPlan]()
    cdef Participant participant
    cdef PlanFeed feed
    cdef set peers = set()
    made.dtypes = [int(dtype) % 100 for dtype in feed_dtypes]  # 100 more: of a reference
    plan.get().session = session
    plan.get().call = call
    for peer, task, partition in participants:
        if peer in peers:
            raise errors.InvalidArgumentError(
                None, None, f"{task} takes part in the step twice: give it one partition")
        peers.add(peer)
        participant.peer = peer
        participant.name = task.encode()
        participant.partition = partition
        plan.get().participants.push_back(participant)
    for dtype in made.dtypes:
        if not is_sendable(dtype):
            raise errors.InvalidArgumentError(
                None, None, f"a tensor of DataType {dtype} cannot be sent to another task")
        plan.get().feed_dtypes.push_back(dtype)
    for edge, number, place in feeds:
        if not (0 <= number < len(made.dtypes) and 0 <= place < len(peers)):
            raise errors.InvalidArgumentError(
                None, None, f"edge {edge} leads from feed {number} to participant {place}; there "
                f"are {len(made.dtypes)} feeds and {len(peers)} participants")
        feed.edge = edge
        feed.feed = number
        feed.participant = place
        plan.get().feeds.push_back(feed)
    for edge in fetches:
        if edge < -len(made.dtypes):
            raise errors.InvalidArgumentError(
                None, None, f"feed {-1 - edge} is fetched; there are {len(made.dtypes)}")
        plan.get().fetches.push_back(edge)
    plan.get().index()
    made.pid = getpid()
    made.owner = owner
    made.endpoint = endpoint
    made.plan = plan
    return made
