"""What a node is to the planner and the executor."""


cdef enum NodeKind:
    KERNEL = 0         # a kernel computes it
    FEED = 1           # the value comes from the caller
    READ_SLOT = 2      # reads the variable that input 0, a reference, refers to (`_ReadSlot`)
    SWITCH = 3         # also RefSwitch
    MERGE = 4          # also RefMerge
    ENTER = 5
    EXIT = 6
    NEXT_ITERATION = 7
    SEND = 8
    RECV = 9
    CALL = 10          # of a function, or If, While, …; programs have the nodes of its body instead
    ARGUMENT = 11      # `_Arg`: the input of a call
