// Sixteen elements of half at any address, as float.
//
// By way of a private vector: vload_half16 and vstore_half16 take any address of an element, but
// PoCL compiles them to moves that fail unless the address is a multiple of 16.

static inline float16 hr_load_half16(global const ushort *from) {
  const ushort16 bits = vload16(0, from);
  return vload_half16(0, (const half *)&bits);
}

static inline void hr_store_half16(float16 value, global ushort *to) {
  ushort16 bits;
  vstore_half16_rte(value, 0, (half *)&bits);
  vstore16(bits, 0, to);
}
