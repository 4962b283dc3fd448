// The Python module headrace.kernels.cpu._table: hands the kernel table out as a capsule.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "table.hpp"

static PyObject* capsule(PyObject*, PyObject*) {
  return PyCapsule_New(const_cast<hr_kernel_table*>(hr_cpu_kernel_table()),
                       HR_KERNEL_TABLE_CAPSULE, nullptr);
}

static PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The kernel table of the CPU library, as a PyCapsule."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_table", "The compiled kernels of the CPU library.", 0, methods,
    nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__table(void) { return PyModule_Create(&module); }
