// Sets of dtypes, for the constraints of kernel registrations.
#ifndef HEADRACE_LIBRARY_CONSTRAINTS_HPP
#define HEADRACE_LIBRARY_CONSTRAINTS_HPP

#define HR_SMALL_FLOATS "half|bfloat16"
#define HR_WIDE_FLOATS "float|double"
#define HR_FLOATS HR_WIDE_FLOATS "|" HR_SMALL_FLOATS
#define HR_SIGNED "int32|int64|int8|int16"
#define HR_UNSIGNED "uint8|uint16|uint32|uint64"
#define HR_INTEGERS HR_SIGNED "|" HR_UNSIGNED
#define HR_COMPLEXES "complex64|complex128"
#define HR_REALS HR_FLOATS "|" HR_INTEGERS
#define HR_NUMBERS HR_REALS "|" HR_COMPLEXES
#define HR_INDICES "int32|int64"

#endif
