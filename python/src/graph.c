/*
 * graph -- graphs and nodes, to be read. They keep their model.
 */
#include "py.h"

#include <string.h>

typedef struct py_graph {
    PyObject_HEAD cfx_module *gm;
    const cfx_node *node; /* of a node */
} py_graph;

static PyTypeObject *graph_type, *node_type;

static const cfx_graph *graph_of(PyObject *self)
{
    return cfx_graph_module_graph(((py_graph *)(void *)self)->gm);
}

static const cfx_node *node_of(PyObject *self)
{
    return ((py_graph *)(void *)self)->node;
}

static PyObject *new (PyTypeObject *type, cfx_module *gm, const cfx_node *n)
{
    py_graph *o = (py_graph *)(void *)PyType_GenericAlloc(type, 0);

    if (!o)
        return NULL;
    o->gm = cfx_module_ref(gm);
    o->node = n;
    return (PyObject *)o;
}

PyObject *py_graph_new(cfx_module *gm)
{
    return new (graph_type, gm, NULL);
}

PyObject *py_node_new(cfx_module *gm, const cfx_node *n)
{
    return new (node_type, gm, n);
}

const cfx_node *py_node_of(PyObject *o)
{
    if (Py_TYPE(o) == node_type)
        return node_of(o);
    PyErr_SetString(PyExc_TypeError, "a node is expected");
    return NULL;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    cfx_module_unref(((py_graph *)(void *)self)->gm);
    release(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Nodes ---- */

static PyObject *name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(node_of(self)->name);
}

static PyObject *op(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(cfx_opcode_names[node_of(self)->op]);
}

static PyObject *target(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(node_of(self)->target->text);
}

static PyObject *args(PyObject *self, void *closure)
{
    const cfx_node *n = node_of(self);
    PyObject *out = PyTuple_New(n->nargs);

    (void)closure;
    for (uint32_t i = 0; i < n->nargs && out; i++) {
        PyObject *v = py_value_export(n->args[i], NULL);
        if (!v || PyTuple_SetItem(out, i, v))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *kwargs(PyObject *self, void *closure)
{
    const cfx_node *n = node_of(self);
    PyObject *out = PyDict_New();

    (void)closure;
    for (uint32_t i = 0; i < n->nkwargs && out; i++) {
        PyObject *k = py_value_export(n->kwargs[2 * i], NULL);
        PyObject *v = k ? py_value_export(n->kwargs[2 * i + 1], NULL) : NULL;
        if (!v || PyDict_SetItem(out, k, v))
            Py_CLEAR(out);
        Py_XDECREF(k);
        Py_XDECREF(v);
    }
    return out;
}

static PyObject *users(PyObject *self, void *closure)
{
    PyObject *out = PyList_New(0);

    (void)closure;
    for (cfx_use *u = node_of(self)->first_user; u && out; u = u->next) {
        PyObject *n = py_node_new(((py_graph *)(void *)self)->gm, u->user);
        if (!n || PyList_Append(out, n))
            Py_CLEAR(out);
        Py_XDECREF(n);
    }
    return out;
}

/* ---- Meta ---- */

/* The dicts of nodes that Python has seen: by module, then by node. */
static PyObject *metas;

/* The dict at a key, made if there is none; borrowed. */
static PyObject *dict_at(PyObject *dict, const void *at)
{
    PyObject *key = PyLong_FromVoidPtr((void *)at);
    PyObject *v = key ? PyDict_GetItemWithError(dict, key) : NULL;

    if (key && !v && !PyErr_Occurred() && (v = PyDict_New())) {
        int st = PyDict_SetItem(dict, key, v);
        Py_DECREF(v);
        v = st ? NULL : v;
    }
    Py_XDECREF(key);
    return v;
}

/* torch.fx has tensor_meta as a named tuple. */
static PyObject *export_meta(const char *key, cfx_value v)
{
    PyObject *o = py_value_export(v, NULL);

    if (!o || strcmp(key, "tensor_meta"))
        return o;
    PyObject *values = PyImport_ImportModule("cfx._values");
    PyObject *out = values ? PyObject_CallMethod(values, "tensor_meta", "O", o)
                           : NULL;
    Py_XDECREF(values);
    Py_DECREF(o);
    return out;
}

static PyObject *update_meta(cfx_module *gm, const cfx_node *n)
{
    if (!metas)
        metas = PyDict_New();
    PyObject *nodes = metas ? dict_at(metas, gm) : NULL;
    PyObject *dict = nodes ? dict_at(nodes, n) : NULL;
    const cfx_seq *s = n->meta.kind == CFX_DICT ? n->meta.u.seq : NULL;

    for (uint32_t i = 0; dict && s && i + 1 < s->len; i += 2) {
        const char *key = s->item[i].u.str->text;
        PyObject *v = export_meta(key, s->item[i + 1]);
        if (!v || PyDict_SetItemString(dict, key, v))
            dict = NULL;
        Py_XDECREF(v);
    }
    return dict;
}

int py_graph_update_meta(cfx_module *gm)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);

    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (!update_meta(gm, n))
            return -1;
    return 0;
}

void py_graph_drop_meta(cfx_module *gm)
{
    PyObject *key = metas ? PyLong_FromVoidPtr(gm) : NULL;

    if (key && PyDict_GetItemWithError(metas, key))
        (void)PyDict_DelItem(metas, key);
    Py_XDECREF(key);
}

/* What Python wrote stays; what it has not seen comes from the graph. */
static PyObject *meta(PyObject *self, void *closure)
{
    cfx_module *gm = ((py_graph *)(void *)self)->gm;
    PyObject *nodes = metas ? dict_at(metas, gm) : NULL;
    PyObject *key = PyLong_FromVoidPtr((void *)node_of(self));
    PyObject *dict = nodes && key ? PyDict_GetItemWithError(nodes, key) : NULL;

    (void)closure;
    Py_XDECREF(key);
    if (!dict && !PyErr_Occurred())
        dict = update_meta(gm, node_of(self));
    return Py_XNewRef(dict);
}

static PyObject *format_node(PyObject *self, PyObject *unused)
{
    py_text to = {0};
    cfx_error err = {0};
    cfx_status st = cfx_print_node(py_sink(&to), node_of(self), false, &err);

    (void)unused;
    return py_text_take(&to, st, &err);
}

static PyObject *node_repr(PyObject *self)
{
    return PyUnicode_FromString(node_of(self)->name);
}

static PyObject *node_compare(PyObject *a, PyObject *b, int how)
{
    if (Py_TYPE(b) != node_type || (how != Py_EQ && how != Py_NE))
        return Py_NewRef(Py_NotImplemented);
    return PyBool_FromLong((node_of(a) == node_of(b)) == (how == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)node_of(self) >> 4);
}

static PyGetSetDef node_members[] = {
    {"name", name, NULL, NULL, NULL},
    {"op", op, NULL, "One of torch.fx's six opcodes.", NULL},
    {"target", target, NULL, "The qualified name of what is called or read.",
     NULL},
    {"args", args, NULL, NULL, NULL},
    {"kwargs", kwargs, NULL, NULL, NULL},
    {"meta", meta, NULL, "A dict, to be written to as well.", NULL},
    {"users", users, NULL, "The nodes that read it, in order.", NULL},
    {0},
};

static PyMethodDef node_methods[] = {
    {"format_node", format_node, METH_NOARGS, "Its line of the graph's text."},
    {0},
};

static PyType_Slot node_slots[] = {
    {Py_tp_doc, (char *)"A node of a graph."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, node_repr},
    {Py_tp_richcompare, node_compare},
    {Py_tp_hash, node_hash},
    {Py_tp_methods, node_methods},
    {Py_tp_getset, node_members},
    {0, NULL},
};

static PyType_Spec node_spec = {
    .name = "cfx.Node",
    .basicsize = sizeof(py_graph),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = node_slots,
};

/* ---- Graphs ---- */

PyObject *py_print(cfx_status (*print)(cfx_sink, const cfx_graph *,
                                       cfx_error *),
                   const cfx_graph *g)
{
    py_text to = {0};
    cfx_error err = {0};
    cfx_status st = print(py_sink(&to), g, &err);

    return py_text_take(&to, st, &err);
}

static cfx_status print_plain(cfx_sink to, const cfx_graph *g, cfx_error *err)
{
    return cfx_print_graph(to, g, false, err);
}

static PyObject *graph_str(PyObject *self)
{
    return py_print(print_plain, graph_of(self));
}

static PyObject *tabular(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_print(cfx_print_tabular, graph_of(self));
}

static PyObject *nodes(PyObject *self, void *closure)
{
    PyObject *out = PyList_New(0);

    (void)closure;
    for (const cfx_node *n = cfx_graph_first(graph_of(self)); n && out;
         n = cfx_node_next(n)) {
        PyObject *o = py_node_new(((py_graph *)(void *)self)->gm, n);
        if (!o || PyList_Append(out, o))
            Py_CLEAR(out);
        Py_XDECREF(o);
    }
    return out;
}

static Py_ssize_t length(PyObject *self)
{
    return (Py_ssize_t)cfx_graph_len(graph_of(self));
}

static PyMethodDef graph_methods[] = {
    {"tabular", tabular, METH_NOARGS, "The text of print_tabular."},
    {0},
};

static PyGetSetDef graph_members[] = {
    {"nodes", nodes, NULL, "The nodes, in order.", NULL},
    {0},
};

static PyType_Slot graph_slots[] = {
    {Py_tp_doc,
     (char *)"The graph of a model; str() is its text in PyTorch's form."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_str, graph_str},
    {Py_tp_repr, graph_str},
    {Py_tp_methods, graph_methods},
    {Py_tp_getset, graph_members},
    {Py_mp_length, length},
    {0, NULL},
};

static PyType_Spec graph_spec = {
    .name = "cfx.Graph",
    .basicsize = sizeof(py_graph),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = graph_slots,
};

int py_graph_init(PyObject *module)
{
    graph_type = (PyTypeObject *)PyType_FromSpec(&graph_spec);
    node_type = (PyTypeObject *)PyType_FromSpec(&node_spec);
    return graph_type && node_type ? PyModule_AddType(module, graph_type) ||
                                         PyModule_AddType(module, node_type)
                                   : -1;
}
