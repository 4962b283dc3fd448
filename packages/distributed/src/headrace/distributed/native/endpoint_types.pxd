# cython: language_level=3
"""The C++ classes of the step plane, as the Cython modules use them."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.distributed.native.memory cimport Memory, Value, hr_code, hr_dtype, hr_tensor, hr_worker

cdef extern from "unistd.h" nogil:
    int getpid()

cdef extern from "headrace/worker.h" nogil:
    ctypedef struct hr_edge_key:
        int64_t edge
        uint64_t frame
        int64_t iteration

cdef extern from "native/exchange.hpp" namespace "headrace::distributed" nogil:
    int64_t now_ns()
    void leak[T](shared_ptr[T]&)

    # ---- links

    cdef cppclass LinkCounts:
        int64_t frames_sent, bytes_sent, shared_bytes_sent, frames_received, bytes_received
    cdef cppclass Link:
        int64_t number
        uint64_t peer
        string peer_name
        cbool dead
        const char* plane()
        void fail(const char*)
        string reason() except +
        LinkCounts counts
    ctypedef shared_ptr[Link] LinkRef
    cdef cppclass StreamLink(Link):
        int wait(size_t limit, int64_t wait_ns, size_t* size)
        cbool take(char* to, size_t size)
        void feed(const char*, size_t)
    int STREAM_CLOSED "headrace::distributed::StreamLink::kClosed"
    int STREAM_NOTHING_YET "headrace::distributed::StreamLink::kNothingYet"
    cbool is_unix "headrace::distributed::SocketLink::is_unix"(int fd)

    # ---- the steps of a worker

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
    cdef cppclass Failure:
        hr_code code
        char why[512]
    cdef cppclass WorkerStep:
        hr_code send(const hr_edge_key&, const hr_tensor*, int32_t)
        void abort(hr_code, const char*)
        Failure aborted()

    # ---- the steps of a master

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
        cbool call
        vector[Participant] participants
        vector[PlanFeed] feeds
        vector[hr_dtype] feed_dtypes
        vector[int64_t] fetches
        void index() except +
    cdef cppclass MasterStep:
        cbool wait(int32_t place, int64_t until_ns)
        cbool wait_for_end(int64_t until_ns)
        cbool finished()
        cbool failed()
        int take(int32_t place)
        void cancelled(hr_code, const string&)
        void expired()
        vector[Value] results
        vector[string] metadata
        hr_code code()
        const string& message()
        const string& node()
    int FETCH_MISSING "headrace::distributed::MasterStep::kMissing"
    int FETCH_HERE "headrace::distributed::MasterStep::kHere"
    int FETCH_TAKEN "headrace::distributed::MasterStep::kTaken"
    int TRACED "headrace::distributed::kTraced"

    # ---- endpoints

    cdef struct LinkEvent:
        uint64_t peer
        string reason
    cdef struct StepCounts:
        size_t running, waiting, ended
    cdef cppclass CEndpoint "headrace::distributed::Endpoint":
        cbool start() except +
        void close()
        int64_t add_socket(int fd, uint64_t peer, const string& name, cbool shared) except +
        shared_ptr[StreamLink] add_stream(uint64_t peer, const string& name) except +
        int64_t add_local(const shared_ptr[CEndpoint]&) except +
        LinkRef link_to(uint64_t peer)
        vector[LinkRef] all_links() except +
        void close_links(uint64_t peer, const string&) except +
        cbool next_event(int64_t wait_ns, LinkEvent*)
        void bind(shared_ptr[Binding]) except +
        void unbind(int64_t partition)
        shared_ptr[WorkerStep] open_step(shared_ptr[Binding], StepKey, string*) except +
        void end_step(const shared_ptr[WorkerStep]&)
        vector[uint64_t] unlinked(const StepPlan&) except +
        shared_ptr[MasterStep] begin(const shared_ptr[StepPlan]&, string*) except +
        void launch(MasterStep&, const Value* const*, uint8_t) except +
        void send_feed(MasterStep&, int32_t feed, const Value&) except +
        void forget(const MasterStep&)
        void offer(int64_t, shared_ptr[StepPlan]) except +
        void withdraw(int64_t)
        const Memory* memory()
        cbool closed()
        StepCounts count_steps()
    shared_ptr[CEndpoint] make_endpoint(string name, uint64_t incarnation, hr_worker*,
                                        shared_ptr[void], int64_t, int64_t, uint64_t) except +
    cdef cppclass Arrival:
        Failure failure
        Value value
        int32_t dead
    shared_ptr[Arrival] receive "headrace::distributed::Receive::wait"(
        WorkerStep&, const hr_edge_key&, int64_t until_ns) except +


cdef inline bytes as_bytes(const string& of):
    return of.data()[:of.size()]


cdef inline str text(const string& of):
    return as_bytes(of).decode(errors="replace")


cdef inline int64_t nanoseconds(double seconds) noexcept nogil:
    """0 for a time that is negative or no number; some years at most."""
    if not seconds > 0:
        return 0
    return <int64_t>(seconds * 1e9) if seconds < 1e9 else 1_000_000_000_000_000_000
