// The Python module headrace.kernels.opencl._table: hands the kernel table out as a capsule, and
// says what was found on this machine.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "api/loader.hpp"
#include "discovery/devices.hpp"
#include "programs/binary_cache.hpp"
#include "programs/program_store.hpp"
#include "programs/source_files.hpp"
#include "table/table.hpp"

namespace cl = hr::cl;

static PyObject* log_warning = nullptr;  // a function of a text

// Tells Python why devices are left out. The thread has no GIL and holds no lock.
static void log_problems() {
  const std::vector<std::string> problems = cl::take_problems();
  if (problems.empty() || !log_warning || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  for (const std::string& problem : problems) {
    PyObject* text = PyUnicode_DecodeUTF8(problem.data(), Py_ssize_t(problem.size()), "replace");
    PyObject* result = text ? PyObject_CallOneArg(log_warning, text) : nullptr;
    if (!result) PyErr_WriteUnraisable(log_warning);
    Py_XDECREF(result);
    Py_XDECREF(text);
  }
  PyGILState_Release(state);
}

static PyObject* configure(PyObject*, PyObject* arguments) {
  const char *sources, *bundled;
  PyObject* log;
  if (!PyArg_ParseTuple(arguments, "ssO", &sources, &bundled, &log)) return nullptr;
  cl::set_source_folder(sources);
  cl::set_bundled_library(bundled);
  Py_INCREF(log);
  Py_XSETREF(log_warning, log);
  Py_RETURN_NONE;
}

static PyObject* capsule(PyObject*, PyObject*) {
  return PyCapsule_New(const_cast<hr_kernel_table*>(hr_opencl_kernel_table(log_problems)),
                       HR_KERNEL_TABLE_CAPSULE, nullptr);
}

static PyObject* builds_from_source(PyObject*, PyObject*) {
  return PyLong_FromLongLong(cl::builds_from_source());
}

static PyObject* cache_folder(PyObject*, PyObject*) {
  return PyUnicode_DecodeFSDefault(cl::cache_folder().c_str());
}

static PyObject* text_of(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
}

static PyObject* described(const cl::Report& report) {
  const cl::Traits& traits = report.candidate.traits;
  return Py_BuildValue(
      "{s:i,s:N,s:N,s:N,s:N,s:N,s:s,s:L,s:N,s:N,s:N}", "index", report.candidate.index, "platform",
      text_of(traits.platform), "platform_version", text_of(traits.platform_version), "name",
      text_of(traits.name), "vendor", text_of(traits.vendor), "driver", text_of(traits.driver),
      "type",
      report.candidate.is_gpu ? "GPU"
      : traits.is_cpu         ? "CPU"
                              : "accelerator",
      "memory_bytes", (long long)traits.memory, "selected", PyBool_FromLong(report.selected),
      "works", PyBool_FromLong(report.works), "problem", text_of(report.problem));
}

static PyObject* examine(PyObject*, PyObject*) {
  std::vector<std::string> problems;
  std::vector<cl::Report> reports;
  Py_BEGIN_ALLOW_THREADS;
  reports = cl::examine(&problems);
  Py_END_ALLOW_THREADS;
  PyObject* devices = PyList_New(0);
  PyObject* texts = PyList_New(0);
  bool failed = !devices || !texts;
  for (size_t i = 0; !failed && i < reports.size(); ++i) {
    PyObject* device = described(reports[i]);
    failed = !device || PyList_Append(devices, device) < 0;
    Py_XDECREF(device);
  }
  for (size_t i = 0; !failed && i < problems.size(); ++i) {
    PyObject* text = text_of(problems[i]);
    failed = !text || PyList_Append(texts, text) < 0;
    Py_XDECREF(text);
  }
  PyObject* result = failed ? nullptr : PyTuple_Pack(2, devices, texts);
  Py_XDECREF(devices);
  Py_XDECREF(texts);
  return result;
}

static PyObject* finish(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  cl::finish_all();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"configure", configure, METH_VARARGS,
     "Sets the folder of sources, the path of a bundled OpenCL loader (or ''), and the function "
     "that gets the texts of warnings."},
    {"capsule", capsule, METH_NOARGS, "The kernel table of the OpenCL library, as a PyCapsule."},
    {"builds_from_source", builds_from_source, METH_NOARGS,
     "How many programs this process has compiled from their sources."},
    {"cache_folder", cache_folder, METH_NOARGS, "Where compiled programs are kept, or ''."},
    {"examine", examine, METH_NOARGS,
     "Probes all OpenCL devices: a list of dicts, and a list of the problems with listing them."},
    {"finish", finish, METH_NOARGS, "Waits for the work of all devices."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             "_table",
                             "The kernels of the OpenCL library.",
                             0,
                             methods,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};

PyMODINIT_FUNC PyInit__table(void) { return PyModule_Create(&module); }
