# cython: language_level=3
# distutils: language = c++
"""The step plane of one process: an endpoint with links to other tasks, and the steps on them.

Sockets arrive here connected and authenticated. What the threads of an endpoint do for a step takes
no GIL.
"""

import atexit
import weakref

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.distributed.native.endpoint_types cimport (
    STREAM_CLOSED, STREAM_NOTHING_YET, CEndpoint, Link, LinkEvent, LinkRef, StepKey, StreamLink,
    getpid, is_unix, leak, make_endpoint, nanoseconds, text,
)
from headrace.distributed.native.exchange cimport Exchange, make_binding, open_exchange
from headrace.distributed.native.memory cimport HR_WORKER_ABI, HR_WORKER_CAPSULE, hr_worker
from headrace.distributed.native.step cimport Running, Step, make_step

from headrace.distributed.native import exchange as _exchange, step as _step
from headrace.formats import errors

# Their types, for annotations.
globals().update(Exchange=_exchange.Exchange, Running=_step.Running, Step=_step.Step)

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

cdef extern from *:
    """
    #include <memory>
    typedef void (*release_function)(void*);
    static std::shared_ptr<void> owned(void* object, release_function release) {
      return std::shared_ptr<void>(object, release);
    }
    """
    ctypedef void (*release_function)(void*) noexcept nogil
    shared_ptr[void] owned(void*, release_function) except + nogil


cdef class Stream:
    """A link whose bytes the caller carries, one thread in each direction."""
    cdef shared_ptr[StreamLink] link
    cdef int pid

    cdef StreamLink* check(self) except NULL:
        if self.link.get() == NULL:
            raise TypeError("a Stream is made by Endpoint.add_stream")
        if self.pid != getpid():
            raise errors.FailedPreconditionError(
                None, None, "the stream belongs to the process of which this one is a fork")
        return self.link.get()

    def __dealloc__(self):
        if self.link.get() == NULL:
            return
        if self.pid != getpid():
            leak(self.link)
            return
        with nogil:
            self.link.get().fail("the stream was abandoned")

    def next(self, double timeout_s=1.0):
        """Returns up to 1 MiB for the peer, or None if there is nothing yet.

        Raises: UnavailableError once the link is closed.
        """
        cdef StreamLink* link = self.check()
        cdef size_t size = 0
        cdef int how
        cdef int64_t wait = nanoseconds(timeout_s)
        cdef bytes chunk
        cdef char* start
        with nogil:
            how = link.wait(1 << 20, wait, &size)
        if how == STREAM_NOTHING_YET:
            return None
        if how != STREAM_CLOSED:
            chunk = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
            start = PyBytes_AS_STRING(chunk)
            with nogil:
                if not link.take(start, size):
                    how = STREAM_CLOSED
        if how == STREAM_CLOSED:
            raise errors.UnavailableError(
                None, None, f"the link was closed: {text(link.reason())}")
        return chunk

    def feed(self, bytes data):
        """Hands over bytes of the peer, in order."""
        cdef StreamLink* link = self.check()
        cdef const char* start = data
        cdef size_t size = len(data)
        with nogil:
            link.feed(start, size)

    def close(self, str reason):
        """Ends the link; the first reason counts."""
        cdef StreamLink* link = self.check()
        cdef bytes why = reason.encode()
        cdef const char* start = why
        with nogil:
            link.fail(start)

    @property
    def closed(self):
        return self.check().dead


cdef class Endpoint:
    """The links of a task, and the steps on them.

    It is closed at the latest when the process ends. A process that forks keeps it; the child's copy
    can do nothing.

    Args:
      name: the task, "/job:ps/replica:0/task:3", for errors.
      incarnation: a random number, above 0, of this start of the task.
      worker: a services.Worker whose partitions run here, or None.
      heartbeat_s: each side sends a sign of life after this time of silence.
      dead_after_s: after this time without a sign of life a link is closed.
      max_tensor_bytes: a larger tensor ends its link.
    """
    cdef shared_ptr[CEndpoint] endpoint
    cdef readonly object worker
    cdef readonly uint64_t incarnation
    cdef readonly str name
    cdef int pid
    cdef object __weakref__

    def __init__(self, str name, uint64_t incarnation, worker=None, double heartbeat_s=1.0,
                 double dead_after_s=5.0, uint64_t max_tensor_bytes=1 << 40):
        cdef hr_worker* abi = NULL
        cdef shared_ptr[void] owner
        cdef shared_ptr[CEndpoint] made
        cdef bint started
        if self.endpoint.get() != NULL:
            raise TypeError("the endpoint was made before")
        if not 0 < incarnation < 1 << 63:
            raise errors.InvalidArgumentError(
                None, None, f"the incarnation is {incarnation}; it must be a positive int64")
        if not (heartbeat_s > 0 and dead_after_s > 0):
            raise errors.InvalidArgumentError(
                None, None, f"heartbeat_s is {heartbeat_s} and dead_after_s is {dead_after_s}; "
                "both must be above 0")
        if worker is not None:
            abi = <hr_worker*>PyCapsule_GetPointer(worker.capsule, HR_WORKER_CAPSULE)
            if abi.size < sizeof(hr_worker) or abi.abi != HR_WORKER_ABI:
                raise errors.FailedPreconditionError(
                    None, None, f"the runtime's worker has ABI {abi.abi}, this package needs "
                    f"{HR_WORKER_ABI}: install versions that belong together")
            Py_INCREF(worker)
            owner = owned(<void*>worker, release_object)
        made = make_endpoint(name.encode(), incarnation, abi, owner, nanoseconds(heartbeat_s),
                             nanoseconds(dead_after_s), max_tensor_bytes)
        with nogil:
            started = made.get().start()
        if not started:
            raise errors.ResourceExhaustedError(
                None, None, f"{name}: the system gives no descriptor or thread for its links")
        self.name = name
        self.incarnation = incarnation
        self.worker = worker
        self.pid = getpid()
        self.endpoint = made
        _endpoints.add(self)

    cdef CEndpoint* check(self) except NULL:
        if self.endpoint.get() == NULL:
            raise TypeError("the endpoint was not initialised")
        if self.pid != getpid():
            raise errors.FailedPreconditionError(
                None, None, f"{self.name} belongs to the process of which this one is a fork: a "
                "child makes an endpoint of its own")
        return self.endpoint.get()

    def __dealloc__(self):
        if self.endpoint.get() == NULL:
            return
        if self.pid != getpid():
            leak(self.endpoint)
            return
        with nogil:
            self.endpoint.get().close()

    def close(self):
        """Ends all links and steps. It does nothing in a forked child."""
        if self.endpoint.get() == NULL or self.pid != getpid():
            return
        with nogil:
            self.endpoint.get().close()

    # ---- links

    def add_socket(self, int fd, uint64_t peer, str peer_name, bint shared_memory):
        """Takes over a connected stream socket.

        Args:
          fd: its descriptor, which the link closes, also after an error.
          peer: the incarnation of the other side.
          peer_name: its task, for errors.
          shared_memory: whether large tensors pass through shared memory; both sides say the same,
            over a UNIX socket.
        Returns: the number of the link; None if the endpoint is closed.
        Raises: InvalidArgumentError if it is no such socket, or the peer is this endpoint.
        """
        cdef CEndpoint* endpoint = self.check()
        cdef int64_t number
        cdef string name = peer_name.encode()
        problem = None
        if not 0 < peer < 1 << 63 or peer == self.incarnation:
            problem = f"the incarnation of {peer_name} is {peer}, that of {self.name} itself is " \
                      f"{self.incarnation}"
        elif shared_memory and not is_unix(fd):
            problem = f"a link to {peer_name} with shared memory needs a UNIX socket"
        if problem is not None:
            close_descriptor(fd)
            raise errors.InvalidArgumentError(None, None, problem)
        with nogil:
            number = endpoint.add_socket(fd, peer, name, shared_memory)
        if number < 0:
            raise errors.InvalidArgumentError(
                None, None, f"descriptor {fd} for a link to {peer_name} is no open socket")
        return number or None

    def add_local(self, Endpoint other):
        """Makes a link by reference to an endpoint of this process, for both directions.

        Returns: its number; None if one of the two is closed.
        """
        cdef CEndpoint* endpoint = self.check()
        cdef int64_t number
        other.check()
        if other.incarnation == self.incarnation:
            raise errors.InvalidArgumentError(
                None, None, f"{self.name} and {other.name} have one incarnation, {self.incarnation}")
        with nogil:
            number = endpoint.add_local(other.endpoint)
        return number or None

    def add_stream(self, uint64_t peer, str peer_name):
        """Makes a link whose bytes the caller carries.

        Returns: a Stream; None if the endpoint is closed.
        """
        cdef CEndpoint* endpoint = self.check()
        cdef Stream made = Stream.__new__(Stream)
        cdef string name = peer_name.encode()
        if not 0 < peer < 1 << 63 or peer == self.incarnation:
            raise errors.InvalidArgumentError(
                None, None, f"the incarnation of {peer_name} is {peer}, that of {self.name} itself "
                f"is {self.incarnation}")
        made.pid = self.pid
        with nogil:
            made.link = endpoint.add_stream(peer, name)
        return made if made.link.get() != NULL else None

    def has_link(self, uint64_t peer):
        """Whether there is a link to an incarnation."""
        cdef CEndpoint* endpoint = self.check()
        cdef bint found
        with nogil:
            found = endpoint.link_to(peer).get() != NULL
        return found

    def close_link(self, uint64_t peer, str reason):
        """Ends all links to a peer. Steps that use them end soon after."""
        cdef CEndpoint* endpoint = self.check()
        cdef string why = reason.encode()
        with nogil:
            endpoint.close_links(peer, why)

    def links(self):
        """Returns a dict per link: number, peer, name, plane, and counts of frames and bytes."""
        cdef CEndpoint* endpoint = self.check()
        cdef vector[LinkRef] links
        cdef Link* link
        cdef size_t i
        found = []
        with nogil:
            links = endpoint.all_links()
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

        Returns: ("lost", incarnation of the peer, reason); None if nothing happened in time, or if
          the endpoint is closed.
        """
        cdef CEndpoint* endpoint = self.check()
        cdef LinkEvent event
        cdef bint came
        cdef int64_t wait = nanoseconds(timeout_s)
        with nogil:
            came = endpoint.next_event(wait, &event)
        return ("lost", event.peer, text(event.reason)) if came else None

    @property
    def closed(self):
        """Whether it can do nothing any more."""
        return self.endpoint.get() == NULL or self.pid != getpid() or self.endpoint.get().closed()

    @property
    def n_steps(self):
        """The number of steps and calls in progress."""
        return self.check().count_steps().running

    def step_counts(self):
        """Returns a dict of numbers of steps and calls: "running"; "waiting", of which values have
        come, but no order to run, for a minute or as long as their link; "ended" by failure in the
        last minute, of which late values may come.
        """
        return self.check().count_steps()

    # ---- the worker's side

    def bind(self, uint64_t session, int64_t partition, destinations, peers):
        """Says what a registered partition sends where, and on whom its steps depend.

        Args:
          destinations: pairs (edge, incarnation of the receiver); 0: the master of the step.
          peers: pairs (incarnation, task) of all tasks that it sends to or receives from.
        """
        self.check().bind(make_binding(session, partition, destinations, peers))

    def unbind(self, int64_t partition):
        """Forgets a partition. Steps in progress go on."""
        self.check().unbind(partition)

    def open_exchange(self, uint64_t session, uint64_t step, destinations, peers):
        """Takes part in a step without a partition: the caller sends and receives its tensors.

        Raises: UnavailableError if there is no link to one of the peers, or the step has ended.
        """
        cdef StepKey key
        self.check()
        key.session = session
        key.step = step
        return open_exchange(self, self.endpoint, key,
                             make_binding(session, 0, destinations, peers))

    # ---- the master's side

    def make_step(self, uint64_t session, participants, feeds, fetches, feed_dtypes):
        """Makes a step of a signature whose partitions are registered.

        Args:
          session: a number, which no other master uses; partitions are bound under it.
          participants: triples (incarnation, task, partition), each task once.
          feeds: triples (edge, number of the feed, number of the participant).
          fetches: per fetch its edge, or -1 - the number of a feed that is fetched itself.
          feed_dtypes: DataType per feed.
        """
        self.check()
        return make_step(self, self.endpoint, session, participants, feeds, fetches, feed_dtypes,
                         False)

    def make_call(self, uint64_t peer, str peer_name, uint64_t session, int64_t callable,
                  feed_dtypes, int n_fetches):
        """Makes a step that a master, linked to this client, runs as one of its callables.

        Args:
          session: a random number of the client's.
        """
        self.check()
        feeds = [(i, i, 0) for i in range(len(feed_dtypes))]
        return make_step(self, self.endpoint, session, [(peer, peer_name, callable)], feeds,
                         range(n_fetches), feed_dtypes, True)

    def serve(self, int64_t callable, Step step):
        """Lets linked clients run a step by number."""
        self.check().offer(callable, step.plan)

    def unserve(self, int64_t callable):
        """Ends that; calls in progress go on."""
        self.check().withdraw(callable)


# Their threads must not run while the interpreter ends.
_endpoints = weakref.WeakSet()


def _close_all():
    for endpoint in list(_endpoints):
        endpoint.close()


atexit.register(_close_all)


cdef void release_object(void* object) noexcept nogil:
    if Py_IsInitialized():
        release_with_gil(object)


cdef void release_with_gil(void* object) noexcept with gil:
    Py_DECREF(<object>object)


cdef extern from "unistd.h" nogil:
    int close_descriptor "close"(int)
