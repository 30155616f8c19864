"""`nanotorch.compile`: capture a training step once, then replay its calls of NumPy.

tracing   a step runs, and library code sees traced arrays
recorder, proxy, hyper   they note every call on the tape
watch, reach, survey, checks   which Python the step runs, and what that can reach
patching   functions of the library that are replaced
capture   one traced step: tape, effects, guards
passes, memory   a shorter tape, and where its temporaries lie
emit, guards, source, plan   the replay as Python source
undo   an error in the middle of a replay
verify   the first replay beside the step itself
compiler, compiled, optimized   which plan a call takes; `compile`
"""

from nanotorch.compile.compiled import compile as compile
