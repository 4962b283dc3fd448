// The Python module headrace.kernels.cpu._table: hands the kernel table out as a capsule.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ops/elementwise/fused/fused.hpp"
#include "table/table.hpp"

static PyObject* capsule(PyObject*, PyObject*) {
  return PyCapsule_New(const_cast<hr_kernel_table*>(hr_cpu_kernel_table()), HR_KERNEL_TABLE_CAPSULE,
                       nullptr);
}

static PyObject* fused_instructions(PyObject*, PyObject*) {
  PyObject* result = PyDict_New();
  for (int i = 0; result && i < hr::fused_instruction_count(); ++i) {
    const hr::FusedInstruction instruction = hr::fused_instruction(i);
    PyObject* operands = PyLong_FromLong(instruction.operands);
    if (!operands || PyDict_SetItemString(result, instruction.name, operands) < 0) Py_CLEAR(result);
    Py_XDECREF(operands);
  }
  return result;
}

static PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The kernel table of the CPU library, as a PyCapsule."},
    {"fused_instructions", fused_instructions, METH_NOARGS,
     "The instructions of _FusedElementwise: op name to number of operands."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             "_table",
                             "The compiled kernels of the CPU library.",
                             0,
                             methods,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};

PyMODINIT_FUNC PyInit__table(void) { return PyModule_Create(&module); }
