/* One device, whose work runs when it is enqueued. */
#ifndef PLAIN_DEVICE_H
#define PLAIN_DEVICE_H

#include "headrace/kernel.h"

hr_device* const* plain_devices(int32_t* n);

/* Where the bytes behind an address of the device are, for its kernels. */
void* plain_host(const void* data);

extern const hr_kernel plain_kernels[];
extern const int32_t plain_n_kernels;

#endif
