/*
 * value -- Python's objects as values of cfx, and back.
 */
#include "py.h"

#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

static cfx_status append(void *user, const char *s, size_t len)
{
    py_text *t = user;

    if (t->cap - t->len < len) {
        size_t cap = 2 * (t->cap + len);
        char *more = realloc(t->s, cap);
        if (!more)
            return CFX_ENOMEM;
        t->s = more;
        t->cap = cap;
    }
    memcpy(t->s + t->len, s, len);
    t->len += len;
    return CFX_OK;
}

cfx_sink py_sink(py_text *text)
{
    return (cfx_sink){append, text};
}

PyObject *py_text_take(py_text *text, cfx_status st, const cfx_error *err)
{
    PyObject *out = st ? py_fail(st, err)
                       : PyUnicode_DecodeUTF8(text->s ? text->s : "",
                                              (Py_ssize_t)text->len,
                                              "replace");

    free(text->s);
    *text = (py_text){0};
    return out;
}

/* ---- In ---- */

/* A value of Python that is converted to one of cfx, and the depth of the part at hand. */
typedef struct import {
    cfx_context *ctx;
    py_kind *kind;
    bool writable;
    int depth;
} import;

static int import_value(cfx_value *out, const import *in, PyObject *o);

static int no_memory(void)
{
    PyErr_NoMemory();
    return -1;
}

static int made(cfx_value *out, cfx_value v)
{
    *out = v;
    return cfx_value_is_absent(v) ? no_memory() : 0;
}

static int import_text(cfx_value *out, const import *in, PyObject *o)
{
    Py_ssize_t len;
    const char *s = PyUnicode_AsUTF8AndSize(o, &len);

    return s ? made(out, cfx_str_new(in->ctx, s, (size_t)len)) : -1;
}

static int import_complex(cfx_value *out, const import *in, PyObject *o)
{
    const cfx_value part[] = {cfx_float(PyComplex_RealAsDouble(o)),
                              cfx_float(PyComplex_ImagAsDouble(o))};

    return made(out, cfx_seq_new(in->ctx, CFX_COMPLEX, 2, part, NULL));
}

/* Import n objects of a list (borrowed) into a value of a kind. */
static int import_items(cfx_value *out, const import *in, cfx_kind kind,
                        PyObject *list)
{
    Py_ssize_t n = PyList_Size(list), done = 0;
import inner = * in;
    cfx_value *item = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*item));
    int st = item ? 0 : no_memory();

    inner.depth++;
    for (; done < n && !st; done++)
        st = import_value(&item[done], &inner, PyList_GetItem(list, done));
    if (!st)
        st = made(out, cfx_seq_new(in->ctx, kind, (size_t)n, item, NULL));
    for (Py_ssize_t i = 0; i < done; i++)
        cfx_value_unref(item[i]);
    free(item);
    return st;
}

static int import_sequence(cfx_value *out, const import *in, PyObject *o)
{
    PyObject *list = PySequence_List(o);
    int st = list ? import_items(out, in,
                                 PyList_Check(o) ? CFX_LIST : CFX_TUPLE, list)
                  : -1;

    Py_XDECREF(list);
    return st;
}

static int import_dict(cfx_value *out, const import *in, PyObject *o)
{
    PyObject *list = PyList_New(0), *key, *v;
    Py_ssize_t at = 0;
    int st = list ? 0 : -1;

    while (!st && PyDict_Next(o, &at, &key, &v))
        st = PyList_Append(list, key) || PyList_Append(list, v) ? -1 : 0;
    if (!st)
        st = import_items(out, in, CFX_DICT, list);
    Py_XDECREF(list);
    return st;
}

static int import_slice(cfx_value *out, const import *in, PyObject *o)
{
    static const char *const names[] = {"start", "stop", "step"};
    PyObject *list = PyList_New(0);
    int st = list ? 0 : -1;

    for (int i = 0; i < 3 && !st; i++) {
        PyObject *v = PyObject_GetAttrString(o, names[i]);
        st = v ? PyList_Append(list, v) : -1;
        Py_XDECREF(v);
    }
    if (!st)
        st = import_items(out, in, CFX_SLICE, list);
    Py_XDECREF(list);
    return st;
}

/* Types, devices, layouts and memory formats of PyTorch are read from their text:
 * torch.float32, device(type='cpu'). */
static int import_named(cfx_value *out, const import *in, PyObject *o)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(o),
                                              "__module__");
    bool torch = module && PyUnicode_Check(module) &&
                 !PyUnicode_CompareWithASCIIString(module, "torch");
    PyObject *text = torch ? PyObject_Str(o) : NULL;
    cfx_error err = {0};
    Py_ssize_t len;
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    int done = 0;

    PyErr_Clear();
    if (s) {
        bool named = !strncmp(s, "torch.", 6);
        PyObject *call = named ? Py_NewRef(text)
                               : PyUnicode_FromFormat("device('%s')", s);
        s = call ? PyUnicode_AsUTF8AndSize(call, &len) : NULL;
        done = s && !cfx_parse_value(out, in->ctx, s, (size_t)len, &err);
        Py_XDECREF(call);
    }
    Py_XDECREF(text);
    Py_XDECREF(module);
    PyErr_Clear();
    return done;
}

static int import_int(cfx_value *out, PyObject *o)
{
    long long v = PyLong_AsLongLong(o);

    if (v == -1 && PyErr_Occurred())
        return -1;
    *out = cfx_int(v);
    return 0;
}

static int import_tensor(cfx_value *out, const import *in, PyObject *o)
{
    cfx_tensor *t;
    int found = py_proxy_import(out, o);

    if (found)
        return found < 0 ? -1 : 0;
    found = py_tensor_import(&t, in->ctx, o, in->kind, in->writable);
    if (found > 0)
        *out = cfx_value_of_tensor(t);
    else if (!found && !import_named(out, in, o)) {
        PyObject *name = PyType_GetName(Py_TYPE(o));
        PyErr_Format(PyExc_TypeError, "cfx has no values of type %S",
                     name ? name : Py_None);
        Py_XDECREF(name);
        return -1;
    }
    return found < 0 ? -1 : 0;
}

static int import_value(cfx_value *out, const import *in, PyObject *o)
{
    *out = CFX_NOTHING;
    if (in->depth > CFX_MAX_DEPTH) {
        PyErr_Format(PyExc_ValueError, "a value has more than %d levels",
                     CFX_MAX_DEPTH);
        return -1;
    }
    if (o == Py_None)
        *out = cfx_none();
    else if (o == Py_True || o == Py_False)
        *out = cfx_bool(o == Py_True);
    else if (o == Py_Ellipsis)
        *out = cfx_ellipsis();
    else if (PyLong_Check(o))
        return import_int(out, o);
    else if (PyFloat_Check(o))
        *out = cfx_float(PyFloat_AsDouble(o));
    else if (PyUnicode_Check(o))
        return import_text(out, in, o);
    else if (PyTuple_Check(o) || PyList_Check(o))
        return import_sequence(out, in, o);
    else if (PyDict_Check(o))
        return import_dict(out, in, o);
    else if (PySlice_Check(o))
        return import_slice(out, in, o);
    else if (PyComplex_Check(o))
        return import_complex(out, in, o);
    else
        return import_tensor(out, in, o);
    return 0;
}

int py_value_import(cfx_value *out, cfx_context *ctx, PyObject *o,
                    py_kind *kind, bool writable)
{
    const import in = {ctx, kind, writable, 0};

    return import_value(out, &in, o);
}

/* ---- Out ---- */

static PyObject *helper(const char *name, PyObject *args)
{
    PyObject *cfx = args ? PyImport_ImportModule("cfx._values") : NULL;
    PyObject *f = cfx ? PyObject_GetAttrString(cfx, name) : NULL;
    PyObject *out = f ? PyObject_CallObject(f, args) : NULL;

    Py_XDECREF(f);
    Py_XDECREF(cfx);
    Py_XDECREF(args);
    return out;
}

static PyObject *export_items(const cfx_seq *s, const py_kind *kind)
{
    PyObject *out = PyTuple_New((Py_ssize_t)s->len);

    for (uint32_t i = 0; i < s->len && out; i++) {
        PyObject *v = py_value_export(s->item[i], kind);
        if (!v || PyTuple_SetItem(out, (Py_ssize_t)i, v))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *export_dict(const cfx_seq *s, const py_kind *kind)
{
    PyObject *out = PyDict_New();

    for (uint32_t i = 0; i + 1 < s->len && out; i += 2) {
        PyObject *k = py_value_export(s->item[i], kind);
        PyObject *v = k ? py_value_export(s->item[i + 1], kind) : NULL;
        if (!v || PyDict_SetItem(out, k, v))
            Py_CLEAR(out);
        Py_XDECREF(k);
        Py_XDECREF(v);
    }
    return out;
}

static PyObject *export_seq(cfx_value v, const py_kind *kind)
{
    const cfx_seq *s = v.u.seq;
    PyObject *items = v.kind == CFX_DICT ? export_dict(s, kind)
                                         : export_items(s, kind);

    if (!items)
        return NULL;
    switch (v.kind) {
    case CFX_LIST: {
        PyObject *list = PySequence_List(items);
        Py_DECREF(items);
        return list;
    }
    case CFX_SLICE:
    case CFX_RANGE:
        return helper(v.kind == CFX_SLICE ? "slice" : "range", items);
    case CFX_TUPLE:
        return s->type ? helper("named", Py_BuildValue("(ssN)", s->type->name,
                                                       s->type->fields, items))
                       : items;
    default: return items;
    }
}

/* Types, devices and other names: of PyTorch where it is imported. */
static PyObject *export_named(cfx_value v)
{
    py_text text = {0};
    cfx_error err = {0};
    cfx_status st = cfx_print_value(py_sink(&text), v, CFX_STYLE_REPR, &err);
    PyObject *s = py_text_take(&text, st, &err);

    return s ? helper("name", Py_BuildValue("(N)", s)) : NULL;
}

PyObject *py_dim_export(cfx_dim d)
{
    char text[1024];

    if (cfx_dim_is_int(d))
        return PyLong_FromLongLong(cfx_dim_value(d));
    cfx_dim_format(d, text, sizeof(text));
    return PyUnicode_FromString(text);
}

PyObject *py_value_export(cfx_value v, const py_kind *kind)
{
    double part[2];

    switch (v.kind) {
    case CFX_ABSENT:
    case CFX_NONE: Py_RETURN_NONE;
    case CFX_BOOL_VALUE: return PyBool_FromLong(v.u.b);
    case CFX_INT: return PyLong_FromLongLong(v.u.i);
    case CFX_SYMINT: return py_dim_export(v.u.dim);
    case CFX_FLOAT: return PyFloat_FromDouble(v.u.f);
    case CFX_COMPLEX:
        cfx_value_parts(v, part);
        return PyComplex_FromDoubles(part[0], part[1]);
    case CFX_STR:
    case CFX_NAME:
        return PyUnicode_FromStringAndSize(v.u.str->text,
                                           (Py_ssize_t)v.u.str->len);
    case CFX_ELLIPSIS: return Py_NewRef(Py_Ellipsis);
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT: return export_seq(v, kind);
    case CFX_NODE:
        if (kind && kind->walker)
            return py_proxy_new(kind->walker, v.u.node);
        return py_node_new(cfx_graph_owning_module(v.u.node->graph), v.u.node);
    case CFX_TENSOR:
        return py_tensor_export_take(cfx_tensor_ref(v.u.tensor), kind);
    default: return export_named(v);
    }
}
