/*
 * tensor -- tensors of other libraries as cfx's and back, without a copy.
 *
 * Three ways in, tried in this order: the table of C functions of the object's
 * type (PyTorch has one), the buffer protocol (NumPy), and __dlpack__. Results go
 * back in the way of the library that the first input of the call is from.
 */
#include "py.h"

#include <string.h>

#include "exchange.h"

/* ---- The types of other libraries ---- */

/* The last types that were seen. */
static struct known_type {
    PyTypeObject *type;
    py_kind kind;
    bool wrapper;
} known[16];
enum { NKNOWN = sizeof(known) / sizeof(*known) };

static const DLPackExchangeAPI *find_api(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type,
                                               "__dlpack_c_exchange_api__");
    const DLPackExchangeAPI *api = capsule ? PyCapsule_GetPointer(
                                                 capsule, DL_EXCHANGE_NAME)
                                           : NULL;

    Py_XDECREF(capsule);
    PyErr_Clear();
    while (api && api->version.major > DL_MAJOR)
        api = api->prev_api;
    return api && api->version.major == DL_MAJOR &&
                   api->dltensor_from_py_object_no_sync
               ? api
               : NULL;
}

/* NumPy's arrays take the buffer protocol, which keeps them writable in all of
 * its versions; others have from_dlpack in their namespace. */
static PyObject *find_from(PyObject *o)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(o),
                                              "__module__");
    bool numpy = module && PyUnicode_Check(module) &&
                 !PyUnicode_CompareWithASCIIString(module, "numpy");
    PyObject *space = numpy ? PyImport_ImportModule("numpy")
                            : PyObject_CallMethod(o, "__array_namespace__",
                                                  NULL);
    PyObject *from = space ? PyObject_GetAttrString(
                                 space, numpy ? "asarray" : "from_dlpack")
                           : NULL;

    Py_XDECREF(module);
    Py_XDECREF(space);
    PyErr_Clear();
    return from;
}

/* Subclasses of torch.Tensor with a __torch_dispatch__ of their own, such as
 * FakeTensor and DTensor, have no plain memory. */
static bool is_wrapper(PyTypeObject *type)
{
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *tensor = torch ? PyObject_GetAttrString(torch, "Tensor") : NULL;
    PyObject *plain = tensor ? PyObject_GetAttrString(tensor,
                                                      "__torch_dispatch__")
                             : NULL;
    PyObject *own = plain ? PyObject_GetAttrString((PyObject *)type,
                                                   "__torch_dispatch__")
                          : NULL;
    bool differs = own && own != plain;

    Py_XDECREF(torch);
    Py_XDECREF(tensor);
    Py_XDECREF(plain);
    Py_XDECREF(own);
    PyErr_Clear();
    return differs;
}

static const struct known_type *known_of(PyObject *o)
{
    static unsigned next;
    PyTypeObject *type = Py_TYPE(o);

    for (int i = 0; i < NKNOWN; i++)
        if (known[i].type == type)
            return &known[i];
    struct known_type *k = &known[next++ % NKNOWN];
    struct known_type old = *k;
    k->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    k->kind.api = find_api(type);
    k->kind.from = k->kind.api ? NULL : find_from(o);
    k->wrapper = k->kind.api && is_wrapper(type);
    Py_XDECREF((PyObject *)old.type);
    Py_XDECREF(old.kind.from);
    return k;
}

static void set_kind(py_kind *kind, const py_kind *found)
{
    if (!kind || kind->api || kind->from)
        return;
    kind->api = found->api;
    kind->from = Py_XNewRef(found->from);
}

void py_kind_clear(py_kind *kind)
{
    Py_CLEAR(kind->from);
    kind->api = NULL;
}

/* ---- In ---- */

static void release_object(void *user)
{
    PyGILState_STATE gil = PyGILState_Ensure();

    Py_DECREF((PyObject *)user);
    PyGILState_Release(gil);
}

static int imported(cfx_status st, const cfx_error *err)
{
    if (!st)
        return 1;
    py_fail(st, err);
    return -1;
}

/* The answer of a method or attribute of a tensor; false if it has none. */
static bool says(PyObject *o, PyObject **name, const char *text, bool method)
{
    if (!*name)
        *name = PyUnicode_InternFromString(text);
    PyObject *v = !*name   ? NULL
                  : method ? PyObject_CallMethodObjArgs(o, *name, NULL)
                           : PyObject_GetAttr(o, *name);

    if (!v)
        PyErr_Clear();
    Py_XDECREF(v);
    return v == Py_True;
}

/* Results would lose the gradient without a word. */
static int refuse_gradients(PyObject *o)
{
    static PyObject *name;

    if (!says(o, &name, "requires_grad", false))
        return 0;
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *on = torch ? PyObject_CallMethod(torch, "is_grad_enabled", NULL)
                         : NULL;
    int refused = on ? PyObject_IsTrue(on) : -1;
    Py_XDECREF(on);
    Py_XDECREF(torch);
    if (refused > 0)
        PyErr_SetString(
            PyExc_RuntimeError,
            "an input requires gradients, which cfx does not compute: call it under torch.no_grad(), or give x.detach()");
    return refused ? -1 : 0;
}

/* The messages of PyTorch have a stack trace behind their first line. */
static void shorten_error(void)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    PyObject *lines = text ? PyUnicode_Splitlines(text, 0) : NULL;
    PyObject *first = lines ? PyList_GetItem(lines, 0) : NULL;
    PyErr_Format(PyExc_TypeError, "the tensor cannot be shared: %S",
                 first ? first : Py_None);
    Py_XDECREF(lines);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* Numbers that a view only marks as conjugated or negated are computed. */
static PyObject *resolved(PyObject *o, const DLTensor *d)
{
    static PyObject *is_conj, *is_neg;

    if (d->dtype.code == DL_COMPLEX && says(o, &is_conj, "is_conj", true))
        return PyObject_CallMethod(o, "resolve_conj", NULL);
    if (d->dtype.code == DL_FLOAT && says(o, &is_neg, "is_neg", true))
        return PyObject_CallMethod(o, "resolve_neg", NULL);
    return Py_NewRef(o);
}

static int import_exchange(cfx_tensor **out, cfx_context *ctx, PyObject *o,
                           const py_kind *kind)
{
    const DLPackExchangeAPI *api = kind->api;
    cfx_error err = {0};
    DLTensor d;

    if (refuse_gradients(o))
        return -1;
    if (api->dltensor_from_py_object_no_sync(o, &d)) {
        shorten_error();
        return -1;
    }
    PyObject *own = resolved(o, &d);
    if (own && own != o && api->dltensor_from_py_object_no_sync(own, &d))
        Py_CLEAR(own);
    if (!own)
        return -1;
    return imported(
        cfx_tensor_from_dltensor(out, ctx, &d, release_object, own, &err),
        &err);
}

/* ---- Buffers ---- */

/* A format of the struct module: the code of DLPack; -1 for none. */
static int code_of(const char *format)
{
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    bool complex = *format == 'Z';
    format += complex;
    if (!*format || format[1])
        return -1;
    return complex                     ? DL_COMPLEX
           : strchr("bhilqn", *format) ? DL_INT
           : strchr("BHILQN", *format) ? DL_UINT
           : strchr("efd", *format)    ? DL_FLOAT
           : *format == '?'            ? DL_BOOL
                                       : -1;
}

static void release_buffer(void *user)
{
    PyGILState_STATE gil = PyGILState_Ensure();

    PyBuffer_Release(user);
    PyMem_Free(user);
    PyGILState_Release(gil);
}

/* Can cfx's strides, in elements and not negative, describe it? */
static bool is_regular(const Py_buffer *b, int64_t *strides)
{
    bool regular = (uintptr_t)b->buf % (uintptr_t)b->itemsize == 0;

    for (int i = 0; i < b->ndim; i++) {
        strides[i] = b->strides[i] / b->itemsize;
        regular &= b->strides[i] >= 0 && b->strides[i] % b->itemsize == 0;
    }
    return regular;
}

static int copy_buffer(cfx_tensor **out, cfx_context *ctx, Py_buffer *b,
                       const DLTensor *d)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, b->len);
    DLTensor own = *d;
    cfx_error err = {0};
    /* Not used by others yet, so that it may be written. */
    own.data = bytes ? PyBytes_AsString(bytes) : NULL;
    own.strides = NULL;
    if (!bytes || PyBuffer_ToContiguous(own.data, b, b->len, 'C')) {
        Py_XDECREF(bytes);
        return -1;
    }
    return imported(
        cfx_tensor_from_dltensor(out, ctx, &own, release_object, bytes, &err),
        &err);
}

static int import_view(cfx_tensor **out, cfx_context *ctx, Py_buffer *b,
                       bool writable)
{
    int64_t shape[CFX_MAX_RANK], strides[CFX_MAX_RANK];
    cfx_error err = {0};
    int code = code_of(b->format ? b->format : "B");

    if (code < 0 || b->ndim > CFX_MAX_RANK) {
        PyErr_Format(PyExc_TypeError,
                     code < 0 ? "cfx has no tensors of the format '%s'"
                              : "a buffer of format '%s' has too many axes",
                     b->format);
        release_buffer(b);
        return -1;
    }
    bool regular = is_regular(b, strides);
    for (int i = 0; i < b->ndim; i++)
        shape[i] = b->shape[i];
    DLTensor d = {.data = b->buf,
                  .device = {DL_CPU, 0},
                  .ndim = b->ndim,
                  .dtype = {(uint8_t)code, (uint8_t)(8 * b->itemsize), 1},
                  .shape = shape,
                  .strides = strides};
    if (regular && !(writable && b->readonly))
        return imported(
            cfx_tensor_from_dltensor(out, ctx, &d, release_buffer, b, &err),
            &err);
    int copied = copy_buffer(out, ctx, b, &d);
    release_buffer(b);
    return copied;
}

/* Text and raw bytes are buffers, too, but no tensors. Returns 0 also for a type
 * that has no format, such as NumPy's extension types. */
static int import_buffer(cfx_tensor **out, cfx_context *ctx, PyObject *o,
                         bool writable)
{
    if (!PyObject_CheckBuffer(o) || PyBytes_Check(o) || PyByteArray_Check(o))
        return 0;
    Py_buffer *b = PyMem_Malloc(sizeof(*b));
    if (!b) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(o, b, PyBUF_FORMAT | PyBUF_STRIDES)) {
        PyErr_Clear();
        PyMem_Free(b);
        return 0;
    }
    return import_view(out, ctx, b, writable);
}

/* ---- __dlpack__ ---- */

static void release_managed(void *user)
{
    DLManagedTensorVersioned *managed = user;

    if (managed->deleter)
        managed->deleter(managed);
}

static PyObject *ask_dlpack(PyObject *o)
{
    PyObject *method = PyObject_GetAttrString(o, "__dlpack__");
    PyObject *none = PyTuple_New(0);
    PyObject *how = Py_BuildValue("{s:(ii)}", "max_version", DL_MAJOR,
                                  DL_MINOR);
    PyObject *capsule = method && none && how
                            ? PyObject_Call(method, none, how)
                            : NULL;

    if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(how);
    return capsule;
}

static int import_dlpack(cfx_tensor **out, cfx_context *ctx, PyObject *o)
{
    cfx_error err = {0};
    cfx_status st;

    if (!PyObject_HasAttrString(o, "__dlpack__"))
        return 0;
    PyObject *capsule = ask_dlpack(o);
    if (!capsule)
        return -1;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(
            capsule, "dltensor_versioned");
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        st = cfx_tensor_from_dltensor(out, ctx, &managed->dl_tensor,
                                      release_managed, managed, &err);
    } else {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        if (!managed) {
            Py_DECREF(capsule);
            return -1;
        }
        PyCapsule_SetName(capsule, "used_dltensor");
        st = cfx_tensor_from_dlpack_take(out, ctx, managed, &err);
    }
    Py_DECREF(capsule);
    return imported(st, &err);
}

int py_tensor_import(cfx_tensor **out, cfx_context *ctx, PyObject *o,
                     py_kind *kind, bool writable)
{
    if (Py_TYPE(o) == py_tensor_type) {
        *out = cfx_tensor_ref(py_tensor_of(o));
        return 1;
    }
    const struct known_type *found = known_of(o);
    if (found->wrapper) {
        PyObject *name = PyType_GetName(Py_TYPE(o));
        PyErr_Format(PyExc_TypeError,
                     "a tensor of the subclass %S has no memory of its own",
                     name ? name : Py_None);
        Py_XDECREF(name);
        return -1;
    }
    int done = found->kind.api ? import_exchange(out, ctx, o, &found->kind)
                               : import_buffer(out, ctx, o, writable);
    if (!done)
        done = import_dlpack(out, ctx, o);
    if (done > 0)
        set_kind(kind, &found->kind);
    return done;
}

int py_torch_kind(py_kind *kind)
{
    static py_kind torch;

    if (!torch.api && !torch.from) {
        PyObject *values = PyImport_ImportModule("cfx._values");
        PyObject *example = values ? PyObject_CallMethod(values,
                                                         "torch_tensor", NULL)
                                   : NULL;
        const struct known_type *found = example ? known_of(example) : NULL;
        if (found)
            set_kind(&torch, &found->kind);
        Py_XDECREF(example);
        Py_XDECREF(values);
        if (!found)
            return -1;
    }
    set_kind(kind, &torch);
    return 0;
}

void *py_torch_data(const py_kind *kind, PyObject *o)
{
    DLTensor d;

    if (kind->api && !kind->api->dltensor_from_py_object_no_sync(o, &d))
        return (char *)d.data + d.byte_offset;
    PyErr_Clear();
    PyObject *v = PyObject_CallMethod(o, "data_ptr", NULL);
    void *data = v ? PyLong_AsVoidPtr(v) : NULL;

    Py_XDECREF(v);
    PyErr_Clear();
    return data;
}

/* ---- Out ---- */

static PyObject *export_exchange(const cfx_tensor *t,
                                 const DLPackExchangeAPI *api)
{
    DLManagedTensorVersioned *managed;
    cfx_error err = {0};
    cfx_status st = cfx_tensor_to_dlpack_versioned(&managed, t, &err);
    void *o = NULL;

    if (st)
        return py_fail(st, &err);
    return api->managed_tensor_to_py_object_no_sync(managed, &o) ? NULL : o;
}

PyObject *py_tensor_export_take(cfx_tensor *t, const py_kind *kind)
{
    PyObject *o;

    if (kind && kind->api && !cfx_tensor_is_meta(t)) {
        o = export_exchange(t, kind->api);
        cfx_tensor_unref(t);
        return o;
    }
    bool has_format = py_format_of((cfx_dtype)t->dtype) &&
                      !cfx_tensor_is_meta(t);
    o = py_tensor_wrap_take(t);
    if (!o || !kind || !kind->from || !has_format)
        return o;
    PyObject *other = PyObject_CallFunctionObjArgs(kind->from, o, NULL);
    Py_DECREF(o);
    return other;
}
