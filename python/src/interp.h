/*
 * interp.h -- the interpreters of Python: cfx.Interpreter (interp.c), Transformer
 * and ShapeProp (transformer.c).
 */
#ifndef CFX_PY_INTERP_H
#define CFX_PY_INTERP_H

#include "py.h"

typedef struct py_interp py_interp;

/* The interpreter in C, of one of three classes, and where it belongs to. */
struct walk {
    union {
        cfx_interp it;
        cfx_transformer transformer;
        cfx_shape_prop shapes;
    } c;
    py_interp *owner;
};

/* The arguments of a call of a hook in Python. */
struct arguments {
    const cfx_call *call;
    PyObject *target, *args, *kwargs;
};

struct py_interp {
    PyObject_HEAD struct walk walk;
    cfx_interp_class cls; /* its super is the class in C */
    py_model *model;
    py_kind kind;
    py_run run;
    struct arguments now;
    int depth; /* of runs */
    PyObject
        *last; /* what a method of the base returned last; and its value */
    cfx_value last_value;
};

extern PyTypeObject *py_interp_type, *py_transformer_type, *py_shape_prop_type;

/* The run of a ShapeProp. */
PyObject *py_shape_prop_run(PyObject *self, PyObject *args);

/* A run, from its first to its last hook. The second returns -1 if the run, of that
 * status, failed. */
void py_interp_begin(py_interp *o, py_run *outer);
int py_interp_end(py_interp *o, const py_run *outer, cfx_status st,
                  const cfx_error *err);

/* Import the arguments of a call into room for all: those by place, then names and
 * values in turn. Release them with py_interp_release, also on failure. */
typedef struct py_call_args {
    cfx_value *value;
    uint32_t nargs, nkwargs;
} py_call_args;
int py_interp_import(py_call_args *out, py_interp *o, PyObject *args,
                     PyObject *kwargs);
void py_interp_release(py_call_args *a);

#endif
