# cython: language_level=3
# distutils: language = c++
"""The step plane of one process: an endpoint with links to other tasks, and the steps on them.

Sockets arrive here connected and authenticated. Nothing here takes the GIL but the threads that
call; the I/O thread of an endpoint never does.
"""

import threading

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector

from headrace.distributed.native.arrays cimport array_from_value, value_from_array
from headrace.distributed.native.memory cimport (
    HR_CANCELLED, HR_DEADLINE_EXCEEDED, HR_OK, HR_WORKER_CAPSULE, Memory, Value, hr_code, hr_dtype,
    hr_tensor, hr_worker,
)

from headrace.formats import errors

cdef extern from "headrace/worker.h" nogil:
    ctypedef struct hr_edge_key:
        int64_t edge
        uint64_t frame
        int64_t iteration

cdef extern from "native/exchange.hpp" namespace "headrace::distributed" nogil:
    int64_t now_ns()

    cdef cppclass LinkCounts:
        int64_t frames_sent, bytes_sent, shared_bytes_sent, frames_received, bytes_received
    cdef cppclass Link:
        int64_t number
        uint64_t peer
        string peer_name
        cbool dead
        const char* plane()
        void close(const string&)
        LinkCounts counts
    ctypedef shared_ptr[Link] LinkRef

    cdef cppclass StreamLink(Link):
        int take(string& chunk, size_t limit, int64_t wait_ns)
        void feed(const char*, size_t)
        string reason()

    cdef struct StepKey:
        uint64_t session
        uint64_t step
    cdef cppclass BindingPeer "headrace::distributed::Binding::Peer":
        uint64_t incarnation
        string name
    cdef cppclass Binding:
        uint64_t session
        int64_t partition
        vector[BindingPeer] peers
        vector[int32_t] destination
    cdef cppclass WorkerStep:
        hr_code send(const hr_edge_key&, const hr_tensor*, int32_t)
        void abort(hr_code, const string&)

    cdef cppclass Participant "headrace::distributed::StepPlan::Participant":
        uint64_t peer
        string name
        int64_t partition
    cdef cppclass PlanFeed "headrace::distributed::StepPlan::Feed":
        int64_t edge
        int32_t feed
        int32_t participant
    cdef cppclass StepPlan:
        uint64_t session
        bint call
        vector[Participant] participants
        vector[PlanFeed] feeds
        vector[int64_t] fetches
        void index()
    cdef cppclass MasterStep:
        bint wait(int32_t place, int64_t until_ns)
        bint finished()
        bint failed()
        void cancelled(hr_code, const string&)
        void expired()
        vector[Value] results
        vector[uint8_t] states
        vector[string] metadata
        vector[LinkRef] links
        hr_code code()
        const string& message()
        const string& node()
    int KDEAD "headrace::distributed::MasterStep::kDeadValue"
    int KHERE "headrace::distributed::MasterStep::kHere"
    int KTRACED "headrace::distributed::kTraced"

    cdef struct LinkEvent:
        uint64_t peer
        string reason
    cdef cppclass CEndpoint "headrace::distributed::Endpoint":
        bint start()
        void close()
        int64_t add_socket(int fd, uint64_t peer, const string& name, bint shared)
        shared_ptr[StreamLink] add_stream(uint64_t peer, const string& name)
        int64_t add_local(const shared_ptr[CEndpoint]&)
        LinkRef link_to(uint64_t peer)
        vector[LinkRef] all_links()
        void close_links(uint64_t peer, const string&)
        bint next_event(int64_t wait_ns, LinkEvent*)
        void bind(shared_ptr[Binding])
        void unbind(int64_t partition)
        shared_ptr[WorkerStep] open_step(shared_ptr[Binding], StepKey)
        void end_step(const StepKey&)
        vector[uint64_t] unlinked(const StepPlan&)
        shared_ptr[MasterStep] begin(const shared_ptr[StepPlan]&, string*)
        void launch(MasterStep&, const Value* const*, uint8_t, int64_t)
        void send_feed(MasterStep&, int32_t feed, const Value&)
        void forget(const MasterStep&)
        void offer(int64_t, shared_ptr[StepPlan])
        void withdraw(int64_t)
        const Memory* memory()
        bint closed()
        size_t n_steps()
    shared_ptr[CEndpoint] make_endpoint(string name, uint64_t incarnation, hr_worker*, int64_t,
                                        int64_t, uint64_t)
    cdef cppclass Arrival:
        bint wait(int64_t until_ns)
        hr_code code
        string message
        Value value
        int32_t dead
    shared_ptr[Arrival] receive(WorkerStep&, const hr_edge_key&)


cdef int64_t SLICE_NS = 50_000_000       # between checks for signals
cdef int64_t GRACE_NS = 1_000_000_000    # for participants that were told to abort
cdef int64_t NO_LIMIT_NS = 1 << 62


cdef class Stream:
    """A link whose bytes the caller carries, one thread in each direction."""
    cdef shared_ptr[StreamLink] link

    def next(self, double timeout_s=1.0):
        """Returns up to 1 MiB for the peer, or None if there is nothing yet.

        Raises: UnavailableError once the link is closed.
        """
        cdef string chunk
        cdef int how
        cdef int64_t wait = <int64_t>(timeout_s * 1e9)
        with nogil:
            how = self.link.get().take(chunk, 1 << 20, wait)
        if how == 2:
            raise errors.UnavailableError(
                None, None, f"the link was closed: {text(self.link.get().reason())}")
        return None if how == 1 else as_bytes(chunk)

    def feed(self, bytes data):
        """Hands over bytes of the peer, in order."""
        cdef const char* start = data
        cdef size_t size = len(data)
        with nogil:
            self.link.get().feed(start, size)

    def close(self, str reason):
        cdef string why = reason.encode()
        with nogil:
            self.link.get().close(why)

    @property
    def closed(self):
        return self.link.get().dead


cdef class Endpoint:
    """The links of a task, and the steps on them.

    Args:
      name: the task, "/job:ps/replica:0/task:3", for errors.
      incarnation: a random number, above 0, of this start of the task.
      worker: a services.Worker whose partitions run here, or None.
      heartbeat_s: after this time of silence the peer is asked for a sign of life.
      dead_after_s: after this time of silence a link is closed.
      max_tensor_bytes: a larger tensor ends its link.
    """
    cdef shared_ptr[CEndpoint] endpoint
    cdef readonly object worker
    cdef readonly uint64_t incarnation
    cdef readonly str name

    def __init__(self, str name, uint64_t incarnation, worker=None, double heartbeat_s=1.0,
                 double dead_after_s=5.0, uint64_t max_tensor_bytes=1 << 40):
        cdef hr_worker* abi = NULL
        if not 0 < incarnation < 1 << 63:
            raise errors.InvalidArgumentError(
                None, None, f"the incarnation is {incarnation}; it must be a positive int64")
        if worker is not None:
            abi = <hr_worker*>PyCapsule_GetPointer(worker.capsule, HR_WORKER_CAPSULE)
        self.name = name
        self.incarnation = incarnation
        self.worker = worker
        self.endpoint = make_endpoint(
            name.encode(), incarnation, abi, <int64_t>(heartbeat_s * 1e9),
            <int64_t>(dead_after_s * 1e9), max_tensor_bytes)
        if not self.endpoint.get().start():
            self.endpoint.reset()
            raise errors.ResourceExhaustedError(
                None, None, f"{name}: the system gives no descriptor or thread for its links")

    def __dealloc__(self):
        if self.endpoint.get() != NULL:
            with nogil:
                self.endpoint.get().close()

    def close(self):
        """Ends all links and steps."""
        with nogil:
            self.endpoint.get().close()

    # ---- links

    def add_socket(self, int fd, uint64_t peer, str peer_name, bint shared_memory):
        """Takes over a connected stream socket.

        Args:
          fd: its descriptor, which the link closes.
          peer: the incarnation of the other side.
          peer_name: its task, for errors.
          shared_memory: whether large tensors pass through shared memory; both sides say the same,
            over a UNIX socket.
        Returns: the number of the link; None if the endpoint is closed.
        """
        cdef int64_t number
        cdef string name = peer_name.encode()
        with nogil:
            number = self.endpoint.get().add_socket(fd, peer, name, shared_memory)
        return None if number < 0 else number

    def add_local(self, Endpoint other):
        """Makes a link by reference to an endpoint of this process, for both directions.

        Returns: its number; None if one of the two is closed.
        """
        cdef int64_t number
        with nogil:
            number = self.endpoint.get().add_local(other.endpoint)
        return None if number < 0 else number

    def add_stream(self, uint64_t peer, str peer_name):
        """Makes a link whose bytes the caller carries.

        Returns: a Stream; None if the endpoint is closed.
        """
        cdef Stream made = Stream()
        made.link = self.endpoint.get().add_stream(peer, peer_name.encode())
        return made if made.link.get() != NULL else None

    def has_link(self, uint64_t peer):
        return self.endpoint.get().link_to(peer).get() != NULL

    def close_link(self, uint64_t peer, str reason):
        """Ends all links to a peer."""
        cdef string why = reason.encode()
        with nogil:
            self.endpoint.get().close_links(peer, why)

    def links(self):
        """Returns a dict per link: number, peer, name, plane, and counts of frames and bytes."""
        found = []
        cdef Link* link
        cdef vector[LinkRef] links = self.endpoint.get().all_links()
        cdef size_t i
        for i in range(links.size()):
            link = links[i].get()
            found.append({
                "number": link.number, "peer": link.peer, "name": text(link.peer_name),
                "plane": link.plane().decode(),
                "frames_sent": <int64_t>link.counts.frames_sent,
                "bytes_sent": <int64_t>link.counts.bytes_sent,
                "shared_bytes_sent": <int64_t>link.counts.shared_bytes_sent,
                "frames_received": <int64_t>link.counts.frames_received,
                "bytes_received": <int64_t>link.counts.bytes_received})
        return found

    def next_event(self, double timeout_s):
        """Waits for the loss of a link.

        Returns: ("lost", incarnation of the peer, reason); None if nothing happened in time.
        """
        cdef LinkEvent event
        cdef bint came
        cdef int64_t wait = <int64_t>(timeout_s * 1e9)
        with nogil:
            came = self.endpoint.get().next_event(wait, &event)
        return ("lost", event.peer, text(event.reason)) if came else None

    @property
    def closed(self):
        return self.endpoint.get().closed()

    @property
    def n_steps(self):
        """The number of steps and calls in progress."""
        return self.endpoint.get().n_steps()

    # ---- the worker's side

    def bind(self, uint64_t session, int64_t partition, destinations, peers):
        """Says what a registered partition sends where, and on whom its steps depend.

        Args:
          destinations: pairs (edge, incarnation of the receiver); 0: the master of the step.
          peers: pairs (incarnation, task) of all tasks that it sends to or receives from.
        """
        self.endpoint.get().bind(make_binding(session, partition, destinations, peers))

    def unbind(self, int64_t partition):
        self.endpoint.get().unbind(partition)

    def open_exchange(self, uint64_t session, uint64_t step, destinations, peers):
        """Takes part in a step without a partition: the caller sends and receives its tensors.

        Raises: UnavailableError if there is no link to one of the peers.
        """
        cdef Exchange made = Exchange()
        made.endpoint = self
        made.key.session = session
        made.key.step = step
        made.step = self.endpoint.get().open_step(
            make_binding(session, 0, destinations, peers), made.key)
        if made.step.get() == NULL:
            raise errors.UnavailableError(None, None, f"{self.name} has no link to a peer")
        return made

    # ---- the master's side

    def make_step(self, uint64_t session, participants, feeds, fetches, feed_dtypes):
        """Makes a step of a signature whose partitions are registered.

        Args:
          session: a number; partitions are bound under it.
          participants: triples (incarnation, task, partition).
          feeds: triples (edge, number of the feed, number of the participant).
          fetches: per fetch its edge, or -1 - the number of a feed that is fetched itself.
          feed_dtypes: DataType per feed.
        """
        cdef Step made = Step()
        cdef shared_ptr[StepPlan] plan = make_shared[StepPlan]()
        cdef Participant participant
        cdef PlanFeed feed
        plan.get().session = session
        for peer, task, partition in participants:
            participant.peer = peer
            participant.name = task.encode()
            participant.partition = partition
            plan.get().participants.push_back(participant)
        for edge, number, place in feeds:
            feed.edge = edge
            feed.feed = number
            feed.participant = place
            plan.get().feeds.push_back(feed)
        for edge in fetches:
            plan.get().fetches.push_back(edge)
        plan.get().index()
        made.endpoint = self
        made.plan = plan
        made.dtypes = list(feed_dtypes)
        return made

    def make_call(self, uint64_t peer, str peer_name, uint64_t session, int64_t callable,
                  feed_dtypes, int n_fetches):
        """Makes a step that a master, linked to this client, runs as one of its callables.

        Args:
          session: a random number of the client's.
        """
        feeds = [(i, i, 0) for i in range(len(feed_dtypes))]
        cdef Step made = self.make_step(session, [(peer, peer_name, callable)], feeds,
                                        range(n_fetches), feed_dtypes)
        made.plan.get().call = True
        return made

    def serve(self, int64_t callable, Step step):
        """Lets linked clients run a step by number."""
        cdef shared_ptr[StepPlan] plan = step.served()
        self.endpoint.get().offer(callable, plan)

    def unserve(self, int64_t callable):
        self.endpoint.get().withdraw(callable)


cdef class Step:
    """A signature that can be run many times, from several threads at once."""
    cdef Endpoint endpoint
    cdef shared_ptr[StepPlan] plan
    cdef list dtypes

    cdef shared_ptr[StepPlan] served(self):
        return self.plan

    def lost(self):
        """Returns the incarnations of participants to which there is no link."""
        return list(self.endpoint.endpoint.get().unlinked(self.plan.get()[0]))

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
        running.launch(timeout_ms, traced)
        return running.results(timeout_ms)

    def start(self):
        """Starts a run whose values are fed and fetched by and by; returns a Running."""
        cdef Running running = Running.__new__(Running)
        running.begin(self)
        running.launch(0, False)
        return running


cdef class Running:
    """A run in progress."""
    cdef Step of
    cdef shared_ptr[MasterStep] step
    cdef vector[Value] values
    cdef vector[const Value*] given

    cdef int begin(self, Step of) except -1:
        cdef string missing
        self.of = of
        self.given.resize(len(of.dtypes), NULL)
        self.step = of.endpoint.endpoint.get().begin(of.plan, &missing)
        if self.step.get() == NULL:
            raise errors.UnavailableError(
                None, None, f"there is no link to {text(missing)}", details="not started")
        return 0

    def __dealloc__(self):
        if self.step.get() != NULL:
            with nogil:
                if not self.step.get().finished():
                    self.step.get().cancelled(HR_CANCELLED, string(b"the run was abandoned"))
                self.of.endpoint.endpoint.get().forget(self.step.get()[0])

    cdef int feed_all(self, values) except -1:
        cdef size_t i, n = len(self.of.dtypes)
        cdef const Memory* memory = self.of.endpoint.endpoint.get().memory()
        if len(values) != <Py_ssize_t>n:
            raise errors.InvalidArgumentError(
                None, None, f"{len(values)} values for {n} feeds")
        self.values = vector[Value](n)
        for i in range(n):
            value_from_array(values[i], self.of.dtypes[i], memory, &self.values[i])
            self.given[i] = &self.values[i]
        return 0

    cdef int launch(self, int64_t timeout_ms, bint traced) except -1:
        with nogil:
            self.of.endpoint.endpoint.get().launch(
                self.step.get()[0], self.given.data(), KTRACED if traced else 0, timeout_ms)
        return 0

    def feed(self, int number, array):
        """Sends the value of one feed."""
        cdef Value value
        if not 0 <= number < len(self.of.dtypes):
            raise IndexError(number)
        value_from_array(array, self.of.dtypes[number], self.of.endpoint.endpoint.get().memory(),
                         &value)
        with nogil:
            self.of.endpoint.endpoint.get().send_feed(self.step.get()[0], number, value)

    def fetch(self, int number, int64_t timeout_ms=0):
        """Waits for the value of one fetch. Raises: as Step.run."""
        if not 0 <= number < <int>self.step.get().results.size():
            raise IndexError(number)
        self.wait(number, timeout_ms)
        if self.step.get().states[number] == KHERE:
            return array_from_value(&self.step.get().results[number])
        self.check()
        raise no_value(number)

    def finish(self, int64_t timeout_ms=0):
        """Waits for the end of the run. Raises: as Step.run."""
        self.wait(-1, timeout_ms)
        self.check()

    def cancel(self, str why):
        cdef string reason = why.encode()
        with nogil:
            self.step.get().cancelled(HR_CANCELLED, reason)

    cdef int wait(self, int32_t place, int64_t timeout_ms) except -1:
        """Waits for the end or for a fetch, checks for signals, and ends the run in time."""
        cdef int64_t now = now_ns()
        cdef int64_t end = now + timeout_ms * 1_000_000 if timeout_ms > 0 else NO_LIMIT_NS
        cdef int64_t until
        cdef bint done
        cdef string why
        while True:
            until = min(end, now + SLICE_NS)
            with nogil:
                done = self.step.get().wait(place, until)
            if done:
                return 0
            now = now_ns()
            if self.step.get().failed():
                if end == NO_LIMIT_NS or now >= end:
                    end = now + GRACE_NS
                self.let_end(end)
                return 0
            if now >= end:
                why = f"the step took longer than {timeout_ms} ms".encode()
                with nogil:
                    self.step.get().cancelled(HR_DEADLINE_EXCEEDED, why)
                self.let_end(now + GRACE_NS)
                return 0
            try:
                PyErr_CheckSignals()
            except BaseException:
                with nogil:
                    self.step.get().cancelled(HR_CANCELLED, string(b"the caller was interrupted"))
                self.let_end(now + GRACE_NS)
                raise

    cdef int let_end(self, int64_t until) except -1:
        cdef bint done
        with nogil:
            done = self.step.get().wait(-1, min(until, now_ns() + GRACE_NS))
            if not done:
                self.step.get().expired()
        return 0

    cdef object results(self, int64_t timeout_ms):
        cdef size_t i
        cdef MasterStep* step = self.step.get()
        self.wait(-1, timeout_ms)
        self.check()
        arrays = []
        for i in range(step.results.size()):
            if step.states[i] != KHERE:
                raise no_value(i)
            arrays.append(array_from_value(&step.results[i]))
        metadata = b"".join([as_bytes(step.metadata[i]) for i in range(step.metadata.size())])
        return arrays, metadata

    cdef int check(self) except -1:
        cdef MasterStep* step = self.step.get()
        if step.code() != HR_OK:
            raise errors.from_code(step.code(), text(step.message()),
                                   text(step.node()) or None)
        return 0


cdef class Exchange:
    """The tensors of one step that a caller sends and receives itself."""
    cdef Endpoint endpoint
    cdef StepKey key
    cdef shared_ptr[WorkerStep] step

    def send(self, int64_t edge, array, hr_dtype dtype, uint64_t frame=0, int64_t iteration=0,
             bint dead=False):
        cdef Value value
        cdef hr_edge_key key
        cdef const hr_tensor* tensor = NULL
        cdef hr_code code
        key.edge = edge
        key.frame = frame
        key.iteration = iteration
        if not dead:
            value_from_array(array, dtype, self.endpoint.endpoint.get().memory(), &value)
            tensor = &value.tensor
        with nogil:
            code = self.step.get().send(key, tensor, dead)
        if code != HR_OK:
            raise errors.from_code(code, "the value could not be sent")

    def recv(self, int64_t edge, double timeout_s=30.0, uint64_t frame=0, int64_t iteration=0):
        """Returns a value that a peer sends; None: a dead one."""
        cdef hr_edge_key key
        cdef shared_ptr[Arrival] arrival
        cdef bint came
        cdef int64_t until = now_ns() + <int64_t>(timeout_s * 1e9)
        key.edge = edge
        key.frame = frame
        key.iteration = iteration
        with nogil:
            arrival = receive(self.step.get()[0], key)
            came = arrival.get().wait(until)
        if not came:
            raise errors.DeadlineExceededError(None, None, f"no value within {timeout_s} s")
        if arrival.get().code != HR_OK:
            raise errors.from_code(arrival.get().code, text(arrival.get().message))
        return None if arrival.get().dead else array_from_value(&arrival.get().value)

    def abort(self, str why):
        cdef string reason = why.encode()
        with nogil:
            self.step.get().abort(HR_CANCELLED, reason)

    def close(self):
        self.endpoint.endpoint.get().end_step(self.key)


cdef shared_ptr[Binding] make_binding(uint64_t session, int64_t partition, destinations,
                                      peers) except *:
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


cdef object no_value(number):
    return errors.InvalidArgumentError(
        None, None, f"Retval[{number}] does not have value: it is in a branch that was not taken")


cdef str text(const string& of):
    return as_bytes(of).decode(errors="replace")


cdef bytes as_bytes(const string& of):
    return of.data()[:of.size()]
