/*
 * tensor_type -- cfx.Tensor, which any library can take over without a copy: it
 * has DLPack and the buffer protocol.
 */
#include "py.h"

#include "exchange.h"

typedef struct py_tensor {
    PyObject_HEAD cfx_tensor *t;
} py_tensor;

PyTypeObject *py_tensor_type;

cfx_tensor *py_tensor_of(PyObject *o)
{
    return ((py_tensor *)o)->t;
}

PyObject *py_tensor_wrap_take(cfx_tensor *t)
{
    PyObject *o = PyType_GenericAlloc(py_tensor_type, 0);

    if (o)
        ((py_tensor *)o)->t = t;
    else
        cfx_tensor_unref(t);
    return o;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    cfx_tensor_unref(py_tensor_of(self));
    release(self);
    Py_DECREF((PyObject *)type);
}

/* ---- What it is ---- */

static PyObject *dims(const cfx_tensor *t, const cfx_dim *d)
{
    PyObject *out = PyTuple_New(t->rank);

    for (int i = 0; i < t->rank && out; i++) {
        PyObject *v = py_dim_export(d[i]);
        if (!v || PyTuple_SetItem(out, i, v))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *shape(PyObject *self, void *closure)
{
    const cfx_tensor *t = py_tensor_of(self);

    (void)closure;
    return dims(t, t->shape);
}

static PyObject *strides(PyObject *self, void *closure)
{
    const cfx_tensor *t = py_tensor_of(self);

    (void)closure;
    return dims(t, t->stride);
}

static PyObject *dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(cfx_dtypes[py_tensor_of(self)->dtype].name);
}

static PyObject *repr(PyObject *self)
{
    const cfx_tensor *t = py_tensor_of(self);
    cfx_error err = {0};
    char *text, type[1024];
    size_t size;

    if (cfx_tensor_is_meta(t)) {
        cfx_tensor_format_type(t, type, sizeof(type));
        return PyUnicode_FromString(type);
    }
    cfx_status st = cfx_tensor_print(&text, &size, t, &err);
    if (st)
        return py_fail(st, &err);
    PyObject *out = PyUnicode_FromString(text);
    cfx_free(t->ctx, text, size);
    return out;
}

static Py_ssize_t length(PyObject *self)
{
    const cfx_tensor *t = py_tensor_of(self);

    if (t->rank && cfx_dim_is_int(t->shape[0]))
        return cfx_tensor_size(t, 0);
    PyErr_SetString(PyExc_TypeError, "len() of a tensor without axes");
    return -1;
}

static PyObject *item(PyObject *self, PyObject *unused)
{
    const cfx_tensor *t = py_tensor_of(self);
    cfx_dtype type = (cfx_dtype)t->dtype;
    double part[2];

    (void)unused;
    if (cfx_tensor_is_meta(t) || cfx_tensor_numel(t) != 1)
        return PyErr_Format(PyExc_ValueError,
                            "only a tensor of one element is a number");
    switch (cfx_dtypes[type].category) {
    case CFX_CAT_BOOL:
        return PyBool_FromLong((long)cfx_element_int(type, t->data));
    case CFX_CAT_INT:
        return PyLong_FromLongLong(cfx_element_int(type, t->data));
    case CFX_CAT_COMPLEX:
        cfx_element_complex(type, t->data, part);
        return PyComplex_FromDoubles(part[0], part[1]);
    default: return PyFloat_FromDouble(cfx_element_double(type, t->data));
    }
}

static PyObject *as_float(PyObject *self)
{
    PyObject *v = item(self, NULL);
    PyObject *out = v ? PyNumber_Float(v) : NULL;

    Py_XDECREF(v);
    return out;
}

static PyObject *as_int(PyObject *self)
{
    PyObject *v = item(self, NULL);
    PyObject *out = v ? PyNumber_Long(v) : NULL;

    Py_XDECREF(v);
    return out;
}

static int truth(PyObject *self)
{
    PyObject *v = item(self, NULL);
    int out = v ? PyObject_IsTrue(v) : -1;

    Py_XDECREF(v);
    return out;
}

/* ---- The buffer protocol ---- */

const char *py_format_of(cfx_dtype t)
{
    static const char *const integers[2][4] = {{"B", "H", "I", "Q"},
                                               {"b", "h", "i", "q"}};
    const cfx_dtype_info *info = &cfx_dtypes[t];
    int log = info->size > 4 ? 3 : info->size / 2;

    switch (info->category) {
    case CFX_CAT_BOOL: return "?";
    case CFX_CAT_INT: return integers[info->is_signed][log];
    case CFX_CAT_COMPLEX: return info->size == 8 ? "Zf" : "Zd";
    default: return !info->npy ? NULL : log == 1 ? "e" : log == 2 ? "f" : "d";
    }
}

static int get_buffer(PyObject *self, Py_buffer *b, int flags)
{
    const cfx_tensor *t = py_tensor_of(self);
    const char *format = py_format_of((cfx_dtype)t->dtype);
    Py_ssize_t size = (Py_ssize_t)cfx_dtype_size((cfx_dtype)t->dtype);
    static Py_ssize_t nothing;

    b->obj = NULL;
    if (cfx_tensor_is_meta(t) || !format ||
        (!(flags & PyBUF_STRIDES) && !cfx_tensor_is_contiguous(t))) {
        PyErr_Format(PyExc_BufferError, "a tensor of %s has no such buffer",
                     cfx_dtypes[t->dtype].name);
        return -1;
    }
    Py_ssize_t *extents = PyMem_Malloc(2 * sizeof(*extents) *
                                       ((size_t)t->rank + 1));
    if (!extents) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < t->rank; i++) {
        extents[i] = cfx_tensor_size(t, i);
        extents[t->rank + i] = cfx_tensor_stride(t, i) * size;
    }
    *b = (Py_buffer){.buf = t->data ? t->data : (void *)&nothing,
                     .obj = Py_NewRef(self),
                     .len = cfx_tensor_numel(t) * size,
                     .itemsize = size,
                     .ndim = t->rank,
                     .format = flags & PyBUF_FORMAT ? (char *)format : NULL,
                     .shape = flags & PyBUF_ND ? extents : NULL,
                     .strides = flags & PyBUF_STRIDES ? extents + t->rank
                                                      : NULL,
                     .internal = extents};
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *b)
{
    (void)self;
    PyMem_Free(b->internal);
}

/* ---- DLPack ---- */

static void capsule_free(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(
            capsule, "dltensor_versioned");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    }
}

static PyObject *dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {(char *)"stream", (char *)"max_version",
                            (char *)"dl_device", (char *)"copy", NULL};
    PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL;
    cfx_error err = {0};
    long major = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO", names, &stream,
                                     &version, &device, &copy))
        return NULL;
    if (copy == Py_True)
        return PyErr_Format(PyExc_BufferError, "cfx shares tensors only");
    if (version && version != Py_None) {
        PyObject *first = PySequence_GetItem(version, 0);
        major = first ? PyLong_AsLong(first) : -1;
        Py_XDECREF(first);
        if (PyErr_Occurred())
            return NULL;
    }
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *plain;
    const cfx_tensor *t = py_tensor_of(self);
    cfx_status st = major ? cfx_tensor_to_dlpack_versioned(&versioned, t, &err)
                          : cfx_tensor_to_dlpack(&plain, t, &err);
    if (st)
        return py_fail(st, &err);
    return major ? PyCapsule_New(versioned, "dltensor_versioned", capsule_free)
                 : PyCapsule_New(plain, "dltensor", capsule_free);
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyObject *taken_by(PyObject *self, const char *library,
                          const char *function)
{
    PyObject *module = PyImport_ImportModule(library);
    PyObject *out = module ? PyObject_CallMethod(module, function, "O", self)
                           : NULL;

    Py_XDECREF(module);
    return out;
}

static PyObject *numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return taken_by(self, "numpy", "asarray");
}

static PyObject *torch(PyObject *self, PyObject *unused)
{
    (void)unused;
    return taken_by(self, "torch", "from_dlpack");
}

static PyObject *tolist(PyObject *self, PyObject *unused)
{
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *out = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;

    (void)unused;
    Py_XDECREF(view);
    return out;
}

/* ---- The type ---- */

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, NULL},
    {"item", item, METH_NOARGS, "The number of a tensor of one element."},
    {"tolist", tolist, METH_NOARGS, "The numbers in nested lists."},
    {"numpy", numpy, METH_NOARGS, "A NumPy array on the same memory."},
    {"torch", torch, METH_NOARGS, "A torch.Tensor on the same memory."},
    {0},
};

static PyGetSetDef members[] = {
    {"shape", shape, NULL, "Extents: ints, or text of symbols.", NULL},
    {"strides", strides, NULL, "Strides, in elements.", NULL},
    {"dtype", dtype, NULL, "The name of the type, such as 'float32'.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (char *)"A tensor of cfx. numpy.asarray and torch.from_dlpack share its "
             "memory."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_bf_getbuffer, get_buffer},
    {Py_bf_releasebuffer, release_buffer},
    {Py_mp_length, length},
    {Py_nb_float, as_float},
    {Py_nb_int, as_int},
    {Py_nb_bool, truth},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "cfx.Tensor",
    .basicsize = sizeof(py_tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int py_tensor_init(PyObject *module)
{
    py_tensor_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return py_tensor_type ? PyModule_AddType(module, py_tensor_type) : -1;
}
