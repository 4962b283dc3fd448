/* The table of the library, as a capsule. */
#include <Python.h>

#include "device.h"

static hr_kernel_table table = {.size = sizeof(hr_kernel_table),
                                .abi = HR_KERNEL_ABI,
                                .library = "plain_device",
                                .version = "0.1.0",
                                .kernel_size = sizeof(hr_kernel),
                                .kernels = plain_kernels,
                                .devices = plain_devices};

static PyObject* capsule(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  table.n_kernels = plain_n_kernels;
  return PyCapsule_New(&table, HR_KERNEL_TABLE_CAPSULE, NULL);
}

static PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The kernel table, for the runtime."}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "library", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_library(void) { return PyModule_Create(&module); }
