# cython: language_level=3
# distutils: language = c++
"""The state machine of a master's step, for programs and tests in Python."""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.string cimport string

from headrace.distributed.native.endpoint_types cimport text
from headrace.distributed.native.memory cimport hr_code

cdef extern from "native/step_machine.hpp" namespace "headrace::distributed" nogil:
    cdef cppclass Orders "headrace::distributed::StepMachine::Orders":
        cbool abort
        cbool finish
    cdef cppclass CStepMachine "headrace::distributed::StepMachine":
        CStepMachine(int32_t) except +
        Orders started()
        Orders ended(int32_t, hr_code, const string&, const string&)
        Orders cancelled(hr_code, const string&)
        Orders expired()
        cbool running(int32_t)
        cbool finished()
        hr_code code()
        const string& message()
        const string& node()


cdef class StepMachine:
    """What the master decides in one step.

    An event returns (abort, finish): whether the participants that still run are to be told to
    abort, and whether the step is over.

    Args:
      n: the number of participants.
    """
    cdef CStepMachine* machine
    cdef readonly int n

    def __cinit__(self, int n):
        if n < 0:
            raise ValueError(f"{n} participants")
        self.n = n
        self.machine = new CStepMachine(n)

    def __dealloc__(self):
        del self.machine

    def started(self):
        """All participants have the order to run."""
        return orders(self.machine.started())

    def ended(self, int participant, int code, str node="", str message=""):
        """A participant reported its end, or its link was lost."""
        return orders(self.machine.ended(participant, code, node.encode(), message.encode()))

    def cancelled(self, int code, str message=""):
        """The caller or its time limit ends the step."""
        return orders(self.machine.cancelled(code, message.encode()))

    def expired(self):
        """The participants were told to abort a while ago."""
        return orders(self.machine.expired())

    def running(self, int participant):
        if not 0 <= participant < self.n:
            raise IndexError(participant)
        return self.machine.running(participant)

    @property
    def finished(self):
        return self.machine.finished()

    @property
    def code(self):
        return self.machine.code()

    @property
    def message(self):
        return text(self.machine.message())

    @property
    def node(self):
        return text(self.machine.node())


cdef tuple orders(Orders given):
    return given.abort, given.finish
