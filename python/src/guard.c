/*
 * guard -- calls of a model some of whose arguments are its parameters.
 *
 * torch.compile passes parameters with each call. The optimizer packed them, so that
 * each call looks whether one has changed: its memory, or PyTorch's count of writes
 * to it. Then `refresh(args)` makes another model.
 */
#include "py.h"

typedef struct parameter {
    Py_ssize_t place; /* among the arguments */
    void *data;
    long long version; /* -1: writes do not matter, or are not counted */
} parameter;

typedef struct py_guard {
    PyObject_HEAD py_model *model;
    PyObject *refresh;
    Py_ssize_t nparameters, ninputs;
    parameter *parameter;
    Py_ssize_t *input; /* the places of the other arguments */
} py_guard;

static PyTypeObject *guard_type;
static PyObject *version_name;
static py_kind torch_kind;

static py_guard *downcast(PyObject *self)
{
    return (py_guard *)(void *)self;
}

/* PyTorch does not count writes to tensors of inference mode. */
static long long version_of(PyObject *o)
{
    PyObject *v = PyObject_GetAttr(o, version_name);
    long long version = v ? PyLong_AsLongLong(v) : -1;

    Py_XDECREF(v);
    PyErr_Clear();
    return version;
}

static bool has_changed(const parameter *p, PyObject *o)
{
    return py_torch_data(&torch_kind, o) != p->data ||
           (p->version >= 0 && version_of(o) != p->version);
}

/* ---- Calls ---- */

static PyObject *pack(PyObject *const *args, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);

    for (Py_ssize_t i = 0; i < n && tuple; i++)
        if (PyTuple_SetItem(tuple, i, Py_NewRef(args[i])))
            Py_CLEAR(tuple);
    return tuple;
}

static int refresh(py_guard *g, PyObject *const *args, Py_ssize_t n)
{
    PyObject *tuple = pack(args, n);
    PyObject *done = tuple ? PyObject_CallFunctionObjArgs(g->refresh, tuple,
                                                          NULL)
                           : NULL;

    Py_XDECREF(tuple);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    py_guard *g = downcast(self);

    if (n != g->nparameters + g->ninputs)
        return PyErr_Format(PyExc_TypeError, "%zd arguments, not %zd",
                            g->nparameters + g->ninputs, n);
    for (Py_ssize_t i = 0; i < g->nparameters; i++) {
        const parameter *p = &g->parameter[i];
        if (!has_changed(p, args[p->place]))
            continue;
        if (refresh(g, args, n))
            return NULL;
        break;
    }
    /* A refresh of another thread may replace it. */
    py_model *m = (py_model *)(void *)Py_NewRef((PyObject *)g->model);
    PyObject *out = py_model_run(m, args, g->input, g->ninputs);
    Py_DECREF((PyObject *)m);
    return out;
}

/* ---- Parameters ---- */

/* _set(model, parameters, packed): a model, the tensors that it was made of, and of
 * each whether the model has other numbers made of it. */
static PyObject *set(PyObject *self, PyObject *args)
{
    py_guard *g = downcast(self);
    PyObject *model, *tensors, *packed;

    if (!PyArg_ParseTuple(args, "O!O!O!", py_model_type, &model, &PyTuple_Type,
                          &tensors, &PyTuple_Type, &packed))
        return NULL;
    if (PyTuple_Size(tensors) != g->nparameters ||
        PyTuple_Size(packed) != g->nparameters)
        return PyErr_Format(PyExc_ValueError, "%zd parameters, not %zd",
                            g->nparameters, PyTuple_Size(tensors));
    for (Py_ssize_t i = 0; i < g->nparameters; i++) {
        PyObject *o = PyTuple_GetItem(tensors, i);
        g->parameter[i].data = py_torch_data(&torch_kind, o);
        g->parameter[i].version = PyTuple_GetItem(packed, i) == Py_True
                                      ? version_of(o)
                                      : -1;
    }
    py_model *before = g->model;
    g->model = (py_model *)(void *)Py_NewRef(model);
    Py_XDECREF((PyObject *)before);
    Py_RETURN_NONE;
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    py_guard *g = downcast(self);
    PyObject *places, *inputs, *function;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyTuple_Type, &places, &PyTuple_Type,
                          &inputs, &function))
        return -1;
    if (g->refresh) {
        PyErr_SetString(PyExc_RuntimeError, "it is initialized already");
        return -1;
    }
    if (py_torch_kind(&torch_kind))
        return -1;
    g->refresh = Py_NewRef(function);
    g->nparameters = PyTuple_Size(places);
    g->ninputs = PyTuple_Size(inputs);
    g->parameter = PyMem_Calloc((size_t)g->nparameters + 1, sizeof(parameter));
    g->input = PyMem_Calloc((size_t)g->ninputs + 1, sizeof(*g->input));
    if (!g->parameter || !g->input) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < g->nparameters; i++)
        g->parameter[i].place = PyLong_AsSsize_t(PyTuple_GetItem(places, i));
    for (Py_ssize_t i = 0; i < g->ninputs; i++)
        g->input[i] = PyLong_AsSsize_t(PyTuple_GetItem(inputs, i));
    return PyErr_Occurred() ? -1 : 0;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)Py_TYPE(self));
    Py_VISIT(downcast(self)->refresh);
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(downcast(self)->refresh);
    return 0;
}

static void dealloc(PyObject *self)
{
    py_guard *g = downcast(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    clear(self);
    Py_XDECREF((PyObject *)g->model);
    PyMem_Free(g->parameter);
    PyMem_Free(g->input);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *get_model(PyObject *self, void *closure)
{
    (void)closure;
    return Py_XNewRef((PyObject *)downcast(self)->model);
}

static PyMethodDef methods[] = {
    {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL},
    {"_set", set, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef members[] = {
    {"model", get_model, NULL, "The model that runs.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, init},       {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},     {Py_tp_methods, methods},
    {Py_tp_getset, members},  {0, NULL},
};

static PyType_Spec spec = {
    .name = "cfx._cfx._Guard",
    .basicsize = sizeof(py_guard),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int py_guard_init(PyObject *module)
{
    version_name = PyUnicode_InternFromString("_version");
    guard_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return version_name && guard_type ? PyModule_AddType(module, guard_type)
                                      : -1;
}
