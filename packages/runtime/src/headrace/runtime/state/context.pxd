"""One execution of a step (run.hpp), and the function table that kernels call through."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport (
    hr_code, hr_ctx, hr_ctx_api, hr_dtype, hr_object, hr_tensor,
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

    cdef cppclass Run:
        Run() except +
        hr_ctx ctx
        Flag cancelled
        Flag look_up
        void (*on_look_up)(void*) noexcept nogil
        void* look_up_argument
        SessionState* session
        int64_t deadline_ns
        char* message

    hr_code fail_not_scalar(Run* run, const hr_tensor* predicate)
    hr_code run_fail_text(Run* run, hr_code code, const char* text)
    # The first error; HR_OK: none yet. Any thread may ask.
    hr_code run_code(const Run* run)
    # Names the GraphNode of the error; the first one stays.
    void run_blame(Run* run, void* node)
    void* run_blamed(const Run* run)
    void run_clear(Run* run)
    void run_cancel(Run* run)
    # A token, or 0 where the run is cancelled already: `cancel` will not be called then.
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

    # The slot behind a reference or a resource scalar; null if it is neither.
    Slot* slot_of(const hr_tensor* ref)
    # The object of that kind behind a reference or a resource scalar; null if there is none.
    hr_object* object_of(const hr_tensor* handle, const char* kind)
    string shape_text(const hr_tensor* t)
    bint is_kind(const hr_object* object, const char* kind)
    bint same_shape(const hr_tensor* a, const hr_tensor* b)

# A kernel's answer where a value does not have the shape that the plan was made for. Private to
# the runtime: the run is planned anew, or ends in ABORTED where it had effects already.
cdef enum:
    HR_REPLAN = -1

# The plan of a read: what shape the value must have.
cdef enum:
    READ_AS_PLANNED = 0
    READ_ENDS = 1        # none was known, so nothing is planned behind the read
    READ_ANY_SHAPE = 2   # any: the value only leaves the segment


# Readies a run for kernels; `threads` of the team may be used.
cdef void run_begin(Run* run, SessionState* session, int threads) noexcept nogil

# Takes a variable's lock. A thread that holds the GIL gives it up while it waits: an update of a large
# variable holds the lock for milliseconds.
cdef void lock_slot(Slot* slot) noexcept nogil
cdef Slot* slot_new(hr_dtype dtype, const char* name) noexcept nogil
# FAILED_PRECONDITION, and the run's error, where a reference's variable has no value.
cdef hr_code check_has_value(Run* run, const hr_tensor* reference) noexcept nogil
cdef hr_code fail_uninitialised(Run* run, Slot* slot) noexcept nogil
# A pinned value. FAILED_PRECONDITION: uninitialised.
cdef hr_code slot_pin(Slot* slot, OwnedTensor* value) noexcept nogil
cdef hr_code slot_set(Slot* slot, const hr_tensor* value) noexcept nogil
cdef void slot_clear(Slot* slot) noexcept nogil
# Forgets what the containers hold, all where none is named, and frees what variables hold.
cdef void clear_containers(SessionState* session, const vector[string]& containers) noexcept nogil
