/*
 * error -- an exception for each cfx_status.
 */
#include "py.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static PyObject *base_error;
static PyObject *errors[64]; /* by -status */
enum { NERRORS = sizeof(errors) / sizeof(*errors) };

/* The builtin exception that Python code expects beside cfx.Error. */
static PyObject *builtin_of(cfx_status st)
{
    switch (st) {
    case CFX_ENOMEM: return PyExc_MemoryError;
    case CFX_EDTYPE: return PyExc_TypeError;
    case CFX_ENAME:
    case CFX_EOPERATOR:
    case CFX_EATTR:
    case CFX_EWEIGHT: return PyExc_LookupError;
    case CFX_EIO: return PyExc_OSError;
    case CFX_EUNSUPPORTED: return PyExc_NotImplementedError;
    case CFX_ELIMIT: return PyExc_TimeoutError;
    case CFX_ENUMERIC: return PyExc_ArithmeticError;
    case CFX_ECANCEL:
    case CFX_EUSER: return PyExc_RuntimeError;
    default: return PyExc_ValueError;
    }
}

/* CFX_ESHAPE is ShapeError. Short words of C are written out, and none is the name
 * of a builtin exception. */
static void class_name(char *buf, size_t size, const char *status)
{
    static const char *const words[][2] = {
        {"NOMEM", "OutOfMemory"}, {"INVAL", "Invalid"}, {"IO", "File"},
        {"NAME", "NotFound"},     {"ATTR", "Attr"},     {"DTYPE", "DType"}};
    const char *word = status + strlen("CFX_E");

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!strcmp(word, words[i][0])) {
            snprintf(buf, size, "%sError", words[i][1]);
            return;
        }
    }
    snprintf(buf, size, "%sError", word);
    for (char *s = buf + 1; s < buf + strlen(word); s++)
        *s = (char)tolower((unsigned char)*s);
}

static PyObject *new_error(PyObject *module, cfx_status st)
{
    char name[64], qualified[72];

    class_name(name, sizeof(name), cfx_status_name(st));
    snprintf(qualified, sizeof(qualified), "cfx.%s", name);
    PyObject *bases = PyTuple_Pack(2, base_error, builtin_of(st));
    PyObject *dict = Py_BuildValue("{s:s}", "status", cfx_status_name(st));
    PyObject *error = bases && dict ? PyErr_NewExceptionWithDoc(
                                          qualified, NULL, bases, dict)
                                    : NULL;
    Py_XDECREF(bases);
    Py_XDECREF(dict);
    if (error && PyModule_AddObjectRef(module, name, error))
        Py_CLEAR(error);
    return error;
}

/* The statuses are consecutive; those after the last have another name. */
static bool is_status(cfx_status st)
{
    return !strncmp(cfx_status_name(st), "CFX_E", 5);
}

int py_errors_init(PyObject *module)
{
    base_error = PyErr_NewExceptionWithDoc(
        "cfx.Error", "What cfx reports, in one line. `status` names the code.",
        NULL, NULL);
    if (!base_error || PyModule_AddObjectRef(module, "Error", base_error))
        return -1;
    for (int i = 1; i < NERRORS && is_status((cfx_status)-i); i++) {
        errors[i] = new_error(module, (cfx_status)-i);
        if (!errors[i])
            return -1;
    }
    return 0;
}

PyObject *py_fail(cfx_status st, const cfx_error *err)
{
    int i = -(int)st;

    if (PyErr_Occurred())
        return NULL;
    PyErr_SetString(i > 0 && i < NERRORS && errors[i] ? errors[i] : base_error,
                    err->text[0] ? err->text : cfx_status_name(st));
    return NULL;
}
