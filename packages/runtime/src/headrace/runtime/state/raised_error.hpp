// A Python exception from another thread or a callback, to be raised by the caller.
#pragma once
#include <Python.h>

namespace headrace {

// Keeps the first one. Use and destroy it with the GIL.
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
  // Null: there is none.
  PyObject* get() const { return error_; }

 private:
  PyObject* error_ = nullptr;
};

}  // namespace headrace
