// The Python module headrace.kernels.cpu._table: hands the kernel table out as a capsule, and
// requests for files by URL to the threads that serve them.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "files/remote_files.hpp"
#include "library/elementwise/instruction_table.hpp"
#include "table/table.hpp"

static PyObject* capsule(PyObject*, PyObject*) {
  return PyCapsule_New(const_cast<hr_kernel_table*>(hr_cpu_kernel_table()), HR_KERNEL_TABLE_CAPSULE,
                       nullptr);
}

static PyObject* fused_instructions(PyObject*, PyObject*) {
  PyObject* result = PyDict_New();
  for (int i = 0; result && i < hr::fused::instruction_count(); ++i) {
    const hr::fused::Instruction& instruction = hr::fused::instruction_at(i);
    PyObject* operands = PyLong_FromLong(instruction.operands);
    if (!operands || PyDict_SetItemString(result, instruction.name, operands) < 0) Py_CLEAR(result);
    Py_XDECREF(operands);
  }
  return result;
}

// ---- files by URL -------------------------------------------------------------------------------

static PyObject* starts_thread = nullptr;

static std::string error_text() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* read = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string result = read && *read ? read : "the thread cannot start";
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

static std::string start_thread() {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* result = PyObject_CallNoArgs(starts_thread);
  const std::string problem = result ? "" : error_text();
  Py_XDECREF(result);
  PyGILState_Release(state);
  return problem;
}

static PyObject* serve_files(PyObject*, PyObject* start) {
  Py_INCREF(start);
  Py_XSETREF(starts_thread, start);
  hr::remote::Host host;
  host.start = start_thread;
  host.release_gil = []() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; };
  host.take_gil = [](void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); };
  hr::remote::set_host(host);
  Py_RETURN_NONE;
}

static PyObject* next_file_request(PyObject*, PyObject*) {
  hr::remote::Served served;
  bool found;
  Py_BEGIN_ALLOW_THREADS;
  found = hr::remote::next_request(&served);
  Py_END_ALLOW_THREADS;
  if (!found) Py_RETURN_NONE;
  const hr::remote::Request& r = *served.request;
  return Py_BuildValue("Liy#y#LLLy#N", (long long)served.number, int(r.verb), r.path.data(),
                       Py_ssize_t(r.path.size()), r.other.data(), Py_ssize_t(r.other.size()),
                       (long long)r.handle, (long long)r.offset, (long long)r.count, r.bytes.data(),
                       Py_ssize_t(r.bytes.size()), PyBool_FromLong(served.needs_thread));
}

static PyObject* finish_file_request(PyObject*, PyObject* arguments) {
  long long number, handle, size;
  int code;
  const char* bytes;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(arguments, "LiLLy#", &number, &code, &handle, &size, &bytes, &count))
    return nullptr;
  bool wanted;
  Py_BEGIN_ALLOW_THREADS;
  wanted = hr::remote::finish_request(
      number, {hr_code(code), handle, size, std::string(bytes, size_t(count))});
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(wanted);
}

static PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The kernel table of the CPU library, as a PyCapsule."},
    {"fused_instructions", fused_instructions, METH_NOARGS,
     "The instructions of _FusedElementwise: op name to number of operands."},
    {"serve_files", serve_files, METH_O,
     "Sets the function that starts a thread that serves files by URL."},
    {"next_file_request", next_file_request, METH_NOARGS,
     "Waits for a request (number, verb, path, other, handle, offset, count, bytes, needs_thread); "
     "None: this thread should end."},
    {"finish_file_request", finish_file_request, METH_VARARGS,
     "Replies to a request: number, code, handle, size, bytes. False: nobody waits for it."},
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
