# cython: language_level=3
"""The part of a session that its steps need: state, pools, limits, and whether it is open."""

import weakref

from libc.stdint cimport int64_t
from libcpp.memory cimport make_shared, shared_ptr

from headrace.formats import errors
from headrace.formats.fork_lock import ForkLock
from headrace.runtime.state.context cimport MemoryAccount, SessionState
from headrace.runtime.memory.kernel_abi cimport HR_CANCELLED, hr_code
from headrace.runtime.threads.pools cimport (
    InterOpPool, end_runs_of, fork_counter, fork_generation, make_inter_op_pool, process_inter_op_pool,
)

# Pools that sessions share by the global_name of a ThreadPoolOptionProto, while one uses them.
_named_pools = weakref.WeakValueDictionary()
_naming = ForkLock()


cdef class PoolHandle:
    """An inter-op pool; its threads end with the last handle."""
    cdef shared_ptr[InterOpPool] pool
    cdef int generation
    cdef object __weakref__

    def __init__(self, int size):
        self.generation = fork_generation()
        if size > 0:
            self.pool = make_inter_op_pool(size)

    def __dealloc__(self):
        if self.pool.get() != NULL and self.generation == fork_generation():
            self.pool.get().close()


cdef PoolHandle pool_named(str name, int size):
    """The pool of that name, made at first use; "" makes a new one."""
    if not name:
        return PoolHandle(size)
    with _naming.current:
        found = _named_pools.get(name)
        if found is None or (<PoolHandle>found).generation != fork_generation():
            found = _named_pools[name] = PoolHandle(size)
        return found


cdef class StateOwner:
    def __cinit__(self):
        self.state = new SessionState()
        self.forks = fork_counter()
        self.generation = self.forks[0]

    def __dealloc__(self):
        # A forked child has neither the threads of the resources nor what holds their locks.
        if self.generation == self.forks[0]:
            del self.state


cdef class SessionOwner:
    def __init__(self, StateOwner shared, int intra_op_threads, int inter_op_threads=0, pools=(),
                 double timeout_s=0.0, int64_t memory_limit=0):
        """inter_op_threads: 0 shares the process's pool, -1 has none, else the size of an own one;
        pools: (threads, global name) by number, instead; memory_limit: bytes that plans may hold,
        0: no limit. Sessions that share a state share the limit that the first of them set."""
        self.shared = shared
        self.state = shared.state
        self.intra_op_threads = intra_op_threads
        self.timeout_s = timeout_s
        self.functions = make_shared[SessionFunctions]()
        self.functions.get().forks = shared.forks
        self.functions.get().generation = shared.generation
        if memory_limit and self.state.memory.get() == NULL:
            self.state.memory = make_shared[MemoryAccount](memory_limit)
        self.numbered_pools = []
        for size, name in pools or ([(inter_op_threads, "")] if inter_op_threads else []):
            self.numbered_pools.append(pool_named(name, size))
        if not self.numbered_pools:
            self.inter_op_pool = process_inter_op_pool()
        else:
            self.inter_op_pool = (<PoolHandle>self.numbered_pools[0]).pool

    cdef shared_ptr[InterOpPool] pool_of(self, int number) except *:
        cdef shared_ptr[InterOpPool] none
        if number == 0:
            return self.inter_op_pool
        if number < 0:
            return none
        if number >= len(self.numbered_pools):
            raise errors.InvalidArgumentError(
                None, None, f"RunOptions.inter_op_thread_pool is {number}, the session has "
                f"{max(1, len(self.numbered_pools))} inter-op pool(s)")
        return (<PoolHandle>self.numbered_pools[number]).pool

    def close(self, str reason="the session was closed"):
        """Ends the runs under way and those that are about to begin."""
        self.closed = True
        self.end_runs(reason)

    def end_runs(self, str reason):
        """Ends the runs under way."""
        encoded = reason.encode()
        cdef const char* why = encoded
        with nogil:
            end_runs_of(<const void*>self, HR_CANCELLED, why)

    def end_runs_of_state(self, str reason):
        """Ends the runs under way of all sessions that share the state."""
        encoded = reason.encode()
        cdef const char* why = encoded
        with nogil:
            end_runs_of(<const void*>self.state, HR_CANCELLED, why)

    cdef int check(self) except -1:
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self.shared.generation != self.shared.forks[0]:
            raise errors.FailedPreconditionError(
                None, None, "this session was made before a fork: threads and locks of the parent "
                "are not in the child; make a new Session in the child")
        return 0
