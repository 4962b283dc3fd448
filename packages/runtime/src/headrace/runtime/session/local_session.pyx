# cython: language_level=3
"""The `local` session service: a graph and its state on this machine, in this process."""

import atexit
import os
import threading
import time
import weakref

from headrace.formats import errors
from headrace.formats.fork_lock import ForkLock
from headrace.runtime.passes.fed_values cimport tensor_spec
from headrace.runtime.passes.segments cimport Segments, cut_segments
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.kernels.device_list cimport DeviceList
from headrace.runtime.passes.program cimport Program, ProgramConfig, build_program, is_accelerated
from headrace.runtime.passes.state_devices cimport StateDevices
from headrace.runtime.passes.step_costs cimport NodeCosts
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.state.session_owner cimport SessionOwner, StateOwner

from headrace.runtime.session.function_compiler cimport FunctionCompiler
from headrace.runtime.session.recent_values cimport RecentValues
from headrace.runtime.session.state_reset cimport reset_state

from headrace.runtime.executor.dynamic_step import DynamicPartialStep, DynamicStep, partial_plan
from headrace.runtime.kernels.kernel_libraries import load_kernels
from headrace.runtime.session.moving_step import MovingStep, PlacedStep
from headrace.runtime.session.placement_log import print_placement
from headrace.runtime.session.reported_step import ReportedStep
from headrace.runtime.session.session_devices import (
    device_attributes, is_host_device, session_devices,
)
from headrace.runtime.state.session_options import SessionOptions
from headrace.runtime.executor.static_step import StaticStep
from headrace.runtime.session.function_compiler import close_left, left
from headrace.runtime.threads.pools import count_at_work


# A session keeps this many recent signatures planned, and up to as many older ones.
cdef int RECENT_SIGNATURES = 128

# Sessions that are open.
_open = weakref.WeakSet()


def _end_all():
    """Ends all runs before the interpreter exits, since it unloads libraries that they use."""
    for session in list(_open):
        session.close()
    close_left()
    give_up = time.monotonic() + 10
    while count_at_work() and time.monotonic() < give_up:
        time.sleep(0.001)


atexit.register(_end_all)

# States that sessions of the process share, by the NAME of local://NAME.
_shared = {}
_sharing = ForkLock()


def _after_fork():
    """Clears the parent's sessions and states, which a child cannot use."""
    _shared.clear()
    _open.clear()
    left.clear()


os.register_at_fork(after_in_child=_after_fork)


def open_session(target: str, config: bytes) -> LocalSession:
    """Opens a session on this machine (services.SessionService).

    Args:
      target: "" for a session with state of its own; "local://NAME" for state that all sessions
        of this process with that name share.
      config: a ConfigProto message.
    Raises: InvalidArgumentError for options that no session can have.
    """
    options = SessionOptions(config)
    name = target.removeprefix("local://").removeprefix("local")
    if not name:
        return LocalSession(StateOwner(), options, False)
    with _sharing.current:
        state = _shared.get(name)
        if state is None:
            state = _shared[name] = StateOwner()
    return LocalSession(state, options, True)


cdef class LocalSession:
    """services.SessionService over one SessionGraph."""
    cdef SessionGraph graph
    cdef SessionOwner owner
    cdef object options
    cdef RecentValues steps           # by signature
    cdef RecentValues partial_plans   # by signature
    cdef FunctionCompiler functions
    cdef object lock
    cdef bint closed
    cdef bint shared             # whether the state is
    cdef list devices
    cdef DeviceList device_list
    cdef PlacementConfig placement    # None: there is one device
    cdef StateDevices state_devices   # None: nodes do not move
    cdef object running          # partial runs, to cancel at close
    cdef object __weakref__

    def __init__(self, StateOwner state, options, bint shared):
        load_kernels()
        self.shared = shared
        self.graph = SessionGraph()
        self.owner = SessionOwner(state, options.intra_op_threads, options.inter_op_threads,
                                  options.inter_op_pools, options.timeout_s, options.memory_limit)
        self.options = options
        self.steps = RecentValues(RECENT_SIGNATURES)
        self.partial_plans = RecentValues(RECENT_SIGNATURES)
        self.lock = threading.Lock()
        self.running = weakref.WeakSet()
        self.device_list = session_devices("/job:localhost/replica:0/task:0", options)
        self.devices = self.device_list.names
        if len(self.devices) > 1:
            self.placement = PlacementConfig(
                options.simulate, intra_op_threads=options.intra_op_threads, costs=NodeCosts())
            if options.simulate != "none":
                self.state_devices = StateDevices()
        self.functions = FunctionCompiler(
            self.graph, self.owner, self.function_config(), options.dynamic)
        self.functions.attach()
        _open.add(self)

    def __del__(self):
        # The functions' bodies hold the session's owner, which holds them.
        if not self.closed and self.functions is not None:
            self.functions.close("the session was closed", self.shared)

    def extend(self, bytes graph_def):
        self.check()
        self.graph.extend(graph_def)

    def prepare(self, feeds, fetches, targets):
        self.check()
        signature = (tuple(feeds), tuple(fetches), tuple(targets))
        step = self.steps.get(signature)
        if step is None:
            with self.lock:
                step = self.steps.get(signature)
                if step is None:
                    step = self.make_step(tuple(feeds), tuple(fetches), tuple(targets))
                    self.steps.put(signature, step)
        return step

    cdef object make_step(self, tuple feeds, tuple fetches, tuple targets):
        cdef Program program = self.make_program(feeds, fetches, targets)
        if self.placement is None:
            return self.step_of(program)
        if program.placement_report is None:   # no node has a choice
            return ReportedStep(self.step_of(program),
                                reporting(weakref.ref(self), feeds, fetches, targets),
                                self.placement.costs)
        first = placing_again(weakref.ref(self), feeds, fetches, targets, False)
        return MovingStep(self.placed_step(program),
                          placing_again(weakref.ref(self), feeds, fetches, targets, True),
                          self.placement.costs, self.options.placement_period,
                          first if program.spread else None)

    cdef object placed_step(self, Program program):
        return PlacedStep(self.step_of(program), program.placement(), program.placement_report)

    cdef Program make_program(self, tuple feeds, tuple fetches, tuple targets,
                              bint simulates=True):
        cdef ProgramConfig config = self.program_config(False)
        if not simulates:
            config.placement = PlacementConfig(
                "none", intra_op_threads=self.options.intra_op_threads, costs=self.placement.costs)
            config.explains = True
        return build_program(self.graph, list(feeds), list(fetches), list(targets), config)

    cdef object step_of(self, Program program):
        cdef Segments segments = cut_segments(program, False)
        cdef bint dynamic = self.options.dynamic
        if self.options.log_placement:
            print_placement(program)
        if segments.whole and not dynamic and not is_accelerated(program):
            return StaticStep(self.owner, program, segments, DynamicStep)
        return DynamicStep(self.owner, program, segments, not dynamic)

    def partial_run_setup(self, feeds, fetches, targets):
        self.check()
        signature = (tuple(feeds), tuple(fetches), tuple(targets))
        plan = self.partial_plans.get(signature)
        if plan is None:
            with self.lock:
                program = build_program(self.graph, list(feeds), list(fetches), list(targets),
                                        self.program_config(True))
                plan = partial_plan(self.owner, program, cut_segments(program, True))
                self.partial_plans.put(signature, plan)
        step = DynamicPartialStep(self.owner, plan, list(targets))
        self.running.add(step)
        self.check()
        return step

    cdef ProgramConfig program_config(self, bint partial):
        cdef ProgramConfig config = ProgramConfig()
        config.devices = self.devices
        config.device_list = self.device_list
        config.allow_reference = self.options.allow_reference
        config.allow_soft_placement = self.options.allow_soft_placement
        config.partial_run = partial
        if self.placement is not None:
            config.placement = self.placement
            config.state = self.state_devices
            config.schedule_receives = self.options.schedule_receives
        return config

    cdef ProgramConfig function_config(self):
        """Of programs of functions, which kernels call: each stays on one device."""
        cdef ProgramConfig config = self.program_config(False)
        config.placement = None
        config.state = None
        config.devices = [name for name in self.devices if is_host_device(name)]
        config.device_list = None
        return config

    def tensor_spec(self, str name):
        """Full name, DataType and declared shape of a tensor of the graph."""
        return tensor_spec(self.graph, name)

    def list_devices(self):
        return [device_attributes(self.device_list, i) for i in range(len(self.devices))]

    def reset(self, containers):
        sessions = [other for other in list(_open)
                    if (<LocalSession>other).owner.state == self.owner.state]
        self.owner.end_runs_of_state("the session's resources were reset")
        reset_state(self.owner, containers, [(<LocalSession>other).graph for other in sessions],
                    [(<LocalSession>other).functions for other in sessions])

    def close(self):
        if self.closed:
            return
        self.closed = True
        self.owner.close()
        for step in list(self.running):
            step.cancel("the session was closed")
        self.functions.close("the session was closed", self.shared)
        self.steps.clear()
        self.partial_plans.clear()
        _open.discard(self)

    cdef int check(self) except -1:
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        return 0


def reporting(session, tuple feeds, tuple fetches, tuple targets):
    """A function that returns the PlacementReport of a signature, or None if the session is closed.

    Args:
      session: a weak reference.
    """
    def report():
        cdef LocalSession found = session()
        if found is None or found.closed:
            return None
        with found.lock:
            return found.make_program(feeds, fetches, targets, False).placement_report
    return report


def placing_again(session, tuple feeds, tuple fetches, tuple targets, bint simulates):
    """A function that places a signature again, by what is measured by then.

    Args:
      session: a weak reference.
      simulates: whether a simulation chooses; otherwise each node has the first device that it may
        have.
    Returns: a function that returns a PlacedStep, or None if the session is closed or makes another
      step.
    """
    def place():
        cdef LocalSession found = session()
        cdef Program program
        if found is None or found.closed or not found.lock.acquire(blocking=False):
            return None
        try:
            return found.placed_step(found.make_program(feeds, fetches, targets, simulates))
        finally:
            found.lock.release()
    return place
