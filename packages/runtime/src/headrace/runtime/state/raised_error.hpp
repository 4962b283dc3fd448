// An exception of Python on its way from a thread or a callback to who raises it.
#pragma once
#include <Python.h>

namespace headrace {

// Keeps the first one. To be used, and to end, with the GIL.
class RaisedError {
 public:
  RaisedError() = default;
  RaisedError(const RaisedError&) = delete;
  RaisedError& operator=(const RaisedError&) = delete;
  ~RaisedError() { Py_XDECREF(error_); }
  void keep(PyObject* error) {
    if (error_) return;
    Py_INCREF(error);
    error_ = error;
  }
  // Null: none came.
  PyObject* get() const { return error_; }

 private:
  PyObject* error_ = nullptr;
};

}  // namespace headrace
