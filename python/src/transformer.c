/*
 * transformer -- cfx.Transformer and cfx.ShapeProp: interpreters whose values are
 * proxies of a new graph, and tensors without numbers.
 *
 * cfx/proxy.py has the operators of proxies, each of which records a call here.
 */
#include "interp.h"

PyTypeObject *py_transformer_type, *py_shape_prop_type;
static PyTypeObject *proxy_type;

typedef struct py_proxy {
    PyObject_HEAD py_interp *owner;
    cfx_node *node;
} py_proxy;

static py_interp *downcast(PyObject *self)
{
    return (py_interp *)(void *)self;
}

static py_proxy *proxy_of(PyObject *self)
{
    return (py_proxy *)(void *)self;
}

/* ---- Proxies ---- */

PyObject *py_proxy_new(PyObject *owner, cfx_node *n)
{
    static PyObject *type;

    if (!type) {
        PyObject *module = PyImport_ImportModule("cfx.proxy");
        type = module ? PyObject_GetAttrString(module, "Proxy") : NULL;
        Py_XDECREF(module);
    }
    PyObject *o = type ? PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    if (!o)
        return NULL;
    proxy_of(o)->owner = downcast(Py_NewRef(owner));
    proxy_of(o)->node = n;
    return o;
}

int py_proxy_import(cfx_value *out, PyObject *o)
{
    if (!PyObject_TypeCheck(o, proxy_type))
        return 0;
    if (!proxy_of(o)->owner->depth) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the graph of this proxy is complete");
        return -1;
    }
    *out = cfx_value_of_node(proxy_of(o)->node);
    return 1;
}

static void proxy_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    Py_XDECREF((PyObject *)proxy_of(self)->owner);
    release(self);
    Py_DECREF((PyObject *)type);
}

/* Record a call in the graph: _record(is_method, target, args, kwargs). */
static PyObject *record(PyObject *self, PyObject *arguments)
{
    py_interp *o = proxy_of(self)->owner;
    cfx_scope *s = o->walk.c.it.scope;
    PyObject *args, *kwargs, *out = NULL;
    const char *target;
    int is_method;
    cfx_error err = {0};
    py_call_args a;

    if (!PyArg_ParseTuple(arguments, "psO!O!", &is_method, &target,
                          &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return NULL;
    if (!py_interp_import(&a, o, args, kwargs)) {
        const cfx_args given = {.args = a.value,
                                .nargs = a.nargs,
                                .kwargs = a.value + a.nargs,
                                .nkwargs = a.nkwargs};
        cfx_value v = is_method ? cfx_call_method(s, target, given)
                                : cfx_call_function(s, target, given);
        cfx_status st = cfx_scope_status(s, &err);
        out = st ? py_fail(st, &err) : py_value_export(v, &o->kind);
    }
    py_interp_release(&a);
    return out;
}

static PyObject *proxy_name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(
        proxy_of(self)->owner->depth ? proxy_of(self)->node->name : "?");
}

static PyMethodDef proxy_methods[] = {{"_record", record, METH_VARARGS, NULL},
                                      {0}};

static PyGetSetDef proxy_members[] = {
    {"_name", proxy_name, NULL, NULL, NULL},
    {0},
};

static PyType_Slot proxy_slots[] = {
    {Py_tp_dealloc, proxy_dealloc},
    {Py_tp_methods, proxy_methods},
    {Py_tp_getset, proxy_members},
    {0, NULL},
};

static PyType_Spec proxy_spec = {
    .name = "cfx._cfx._Proxy",
    .basicsize = sizeof(py_proxy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = proxy_slots,
};

/* ---- Transformer ---- */

static PyObject *transform(PyObject *self, PyObject *unused)
{
    py_interp *o = downcast(self);
    cfx_module *gm = NULL;
    cfx_error err = {0};
    py_run outer;

    (void)unused;
    if (!o->model)
        return PyErr_Format(PyExc_RuntimeError,
                            "super().__init__(model) was not called");
    if (!o->walk.c.transformer.graph)
        return PyErr_Format(PyExc_RuntimeError,
                            "transform() was called already");
    py_interp_begin(o, &outer);
    cfx_status st = cfx_transform(&o->walk.c.transformer, &gm, &err);
    if (!py_interp_end(o, &outer, st, &err))
        return py_model_new_take(Py_TYPE((PyObject *)o->model), gm);
    cfx_module_unref(gm);
    return NULL;
}

static PyMethodDef transformer_methods[] = {
    {"transform", transform, METH_NOARGS,
     "Walk the graph, and return the model of the new graph."},
    {0},
};

static PyType_Slot transformer_slots[] = {
    {Py_tp_doc,
     (char *)"An Interpreter whose values are proxies: calls with them are "
             "recorded in a new graph, as in torch.fx.Transformer."},
    {Py_tp_methods, transformer_methods},
    {0, NULL},
};

static PyType_Spec transformer_spec = {
    .name = "cfx.Transformer",
    .basicsize = sizeof(py_interp),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = transformer_slots,
};

/* ---- ShapeProp ---- */

PyObject *py_shape_prop_run(PyObject *self, PyObject *args)
{
    py_interp *o = downcast(self);
    cfx_value result = CFX_NOTHING;
    PyObject *out = NULL, *none = PyDict_New();
    cfx_error err = {0};
    py_inputs in;
    py_run outer;

    if (!o->model)
        PyErr_SetString(PyExc_RuntimeError,
                        "super().__init__(model) was not called");
    if (!none || !o->model)
        return NULL;
    if (!py_inputs_shapes(&in, o->model, args, none)) {
        cfx_interp *it = &o->walk.c.it;
        cfx_shape_env *own = o->walk.c.shapes.env;
        o->walk.c.shapes.env = it->scope->env = in.env;
        py_interp_begin(o, &outer);
        cfx_status st = cfx_interp_run(it, in.value, in.n, &result, &err);
        if (!py_interp_end(o, &outer, st, &err) &&
            !py_graph_update_meta(o->model->gm))
            out = py_value_export(result, &o->kind);
        cfx_value_unref(result);
        o->walk.c.shapes.env = it->scope->env = own;
    }
    py_inputs_release(&in);
    Py_DECREF(none);
    return out;
}

static PyMethodDef shape_prop_methods[] = {
    {"propagate", py_shape_prop_run, METH_VARARGS,
     "Find the types and shapes of all nodes, for inputs like these: their meta "
     "\"tensor_meta\" and \"type\"."},
    {0},
};

static PyType_Slot shape_prop_slots[] = {
    {Py_tp_doc,
     (char *)"An Interpreter whose tensors have no numbers; extents may be "
             "symbols. Inputs are tensors, or text such as \"f32[N, 3]\"."},
    {Py_tp_methods, shape_prop_methods},
    {0, NULL},
};

static PyType_Spec shape_prop_spec = {
    .name = "cfx.ShapeProp",
    .basicsize = sizeof(py_interp),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = shape_prop_slots,
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec,
                              PyTypeObject *base)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpecWithBases(
        spec, (PyObject *)base);

    return type && !PyModule_AddType(module, type) ? type : NULL;
}

int py_transformer_init(PyObject *module)
{
    py_transformer_type = add_type(module, &transformer_spec, py_interp_type);
    py_shape_prop_type = add_type(module, &shape_prop_spec, py_interp_type);
    proxy_type = add_type(module, &proxy_spec, NULL);
    return py_transformer_type && py_shape_prop_type && proxy_type ? 0 : -1;
}
