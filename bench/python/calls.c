// What calls.py compares ctypes with: a module for the stable ABI, which calls the C interface without ctypes, and the
// same call in a loop of C.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000  // buffers are part of it since 3.11
#include <Python.h>
#include <time.h>

#include "millrace/c.h"

static millrace_network* network_of(PyObject* address) { return PyLong_AsVoidPtr(address); }

// predict(network, row, outputs): both are buffers.
static PyObject* predict(PyObject* self, PyObject* args) {
  PyObject *address, *row, *outputs;
  (void)self;
  if (!PyArg_ParseTuple(args, "OOO", &address, &row, &outputs)) return NULL;
  Py_buffer from, to;
  if (PyObject_GetBuffer(row, &from, PyBUF_CONTIG_RO) != 0) return NULL;
  if (PyObject_GetBuffer(outputs, &to, PyBUF_CONTIG) != 0) {
    PyBuffer_Release(&from);
    return NULL;
  }
  const void* values[] = {from.buf};
  millrace_network* const network = network_of(address);
  millrace_status status;
  Py_BEGIN_ALLOW_THREADS status = millrace_network_predict(network, values, 1, to.buf, NULL);
  Py_END_ALLOW_THREADS PyBuffer_Release(&from);
  PyBuffer_Release(&to);
  return PyLong_FromLong(status);
}

// seconds(network, row, outputs, calls, answer) of a loop in C; with `answer` it asks for the answers, too.
static PyObject* seconds(PyObject* self, PyObject* args) {
  PyObject *address, *row, *outputs;
  long calls;
  int answer;
  (void)self;
  if (!PyArg_ParseTuple(args, "OOOlp", &address, &row, &outputs, &calls, &answer)) return NULL;
  const void* values[] = {PyLong_AsVoidPtr(row)};
  float* const out = PyLong_AsVoidPtr(outputs);
  millrace_network* const network = network_of(address);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < calls; ++i) {
    int64_t class = 0;
    double value = 0;
    millrace_network_predict(network, values, 1, out, NULL);
    if (answer) millrace_network_answer(network, out, 1, &class, &value, NULL);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return PyFloat_FromDouble((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
}

static PyMethodDef functions[] = {
    {"predict", predict, METH_VARARGS, NULL}, {"seconds", seconds, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "calls_in_c", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_calls_in_c(void) { return PyModule_Create(&module); }
