"""One execution of a step (run.hpp), and the function table for its kernels."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport (
    hr_code, hr_ctx, hr_ctx_api, hr_done, hr_dtype, hr_object, hr_tensor,
)
from headrace.runtime.memory.relaxed cimport Flag


cdef extern from "memory/memory_account.hpp" namespace "headrace" nogil:
    cdef cppclass MemoryAccount:
        MemoryAccount(int64_t limit) except +
        string text() except +

cdef extern from "state/run.hpp" namespace "headrace" nogil:
    cdef cppclass AtomicCount "std::atomic<int64_t>":
        int64_t load()
        void store(int64_t value)

    cdef cppclass SessionState:
        SessionState() except +
        AtomicCount resets
        shared_ptr[MemoryAccount] memory

    cdef cppclass StepFunctions "headrace::SessionFunctions":   # see session_owner.pxd
        pass

    cdef cppclass Run:
        Run() except +
        hr_ctx ctx
        Flag cancelled
        Flag check_signals
        void (*on_check_signals)(void*) noexcept nogil
        void* check_signals_argument
        SessionState* session
        StepFunctions* functions
        int32_t first_profiled
        Run* first
        int64_t deadline_ns
        char* message

    hr_code fail_not_scalar(Run* run, const hr_tensor* predicate)
    hr_code run_fail_text(Run* run, hr_code code, const char* text)
    # The first error; HR_OK: none yet. Callable from any thread.
    hr_code run_code(const Run* run)
    # Sets the GraphNode of the error; the first one stays.
    void run_blame(Run* run, void* node)
    void* run_blamed(const Run* run)
    void run_clear(Run* run)
    void run_cancel(Run* run)
    # A token; 0: the run is already cancelled, and `cancel` is not called.
    uint64_t run_on_cancel(hr_ctx* ctx, void (*cancel)(void*) noexcept nogil, void* argument)
    void run_forget_cancel(hr_ctx* ctx, uint64_t token)
    cbool run_wants_attention(const Run* run)
    hr_code run_attend(Run* run)
    cbool is_container_name(const string& name)
    hr_code session_lookup(SessionState* session, const char* container, const char* name,
                           const char* kind, hr_object* (*make)(void*) noexcept nogil,
                           void* argument, hr_object** object, string* error)
    vector[hr_object*] session_clear(SessionState* session, const vector[string]& containers)
    int64_t next_step "headrace::next_step"(SessionState* session)


cdef extern from "state/slot.hpp" namespace "headrace" nogil:
    cdef cppclass Mutex "std::mutex":
        void lock()
        cbool try_lock()
        void unlock()

    cdef cppclass Slot:
        Slot() except +
        hr_object object
        Mutex lock
        OwnedTensor value
        cbool initialised
        int64_t version
        void set_shape(const hr_tensor* shape)   # null: no value
        hr_dtype dtype
        int32_t declared_rank        # -1: not fully declared
        int64_t declared_dims[8]
        string name

    # The slot of a reference or a resource scalar; null if it is neither.
    Slot* slot_of(const hr_tensor* ref)
    # The object of that kind that a reference or a resource scalar refers to; null if there is
    # none.
    hr_object* object_of(const hr_tensor* handle, const char* kind)
    string shape_text(const hr_tensor* t)
    bint is_kind(const hr_object* object, const char* kind)
    bint same_shape(const hr_tensor* a, const hr_tensor* b)

# Returned by a kernel if a value does not have the planned shape. Private to the runtime: the run
# is planned again, or ends with ABORTED if it has had an effect.
cdef enum:
    HR_REPLAN = -1

# The plan of a read: the shape that the value must have.
cdef enum:
    READ_AS_PLANNED = 0
    READ_ENDS = 1        # it was unknown, so nothing is planned after the read
    READ_ANY_SHAPE = 2   # any: the value is only an output of the segment


ctypedef void (*Dequeue)(hr_ctx* ctx, const hr_tensor* queue, int32_t n, hr_tensor* const* outputs,
                         hr_done done, void* argument) noexcept nogil

# Sets hr_ctx_api.dequeue: queues are above this module.
cdef void set_dequeue(Dequeue dequeue) noexcept

cdef extern from "headrace/kernel.h" nogil:
    ctypedef struct hr_function_api:
        pass

# Sets hr_ctx_api.functions: calls of functions are above this module.
cdef void set_functions(const hr_function_api* functions) noexcept

# Initialises a run whose kernels may use that many threads.
cdef void run_begin(Run* run, SessionState* session, int threads) noexcept nogil

# Takes a variable's lock. A thread that holds the GIL releases it while waiting, since an update of
# a large variable holds the lock for milliseconds.
cdef void lock_slot(Slot* slot) noexcept nogil
cdef Slot* slot_new(hr_dtype dtype, const char* name) noexcept nogil
# FAILED_PRECONDITION, with the run's error, if the variable of a reference has no value.
cdef hr_code check_has_value(Run* run, const hr_tensor* reference) noexcept nogil
cdef hr_code fail_uninitialised(Run* run, Slot* slot) noexcept nogil
# A pinned value. FAILED_PRECONDITION: uninitialised.
cdef hr_code slot_pin(Slot* slot, OwnedTensor* value) noexcept nogil
cdef hr_code slot_set(Slot* slot, const hr_tensor* value) noexcept nogil
cdef void slot_clear(Slot* slot) noexcept nogil
# Removes the resources of the containers (of all, if none is named) and frees the values of
# variables.
# `dropped`, unless it is null, is called with the removed objects before they are released.
cdef void clear_containers(SessionState* session, const vector[string]& containers,
                           void (*dropped)(void*, const vector[hr_object*]&) noexcept nogil,
                           void* argument) noexcept nogil
