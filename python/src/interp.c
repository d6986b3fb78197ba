/*
 * interp -- cfx.Interpreter, to be subclassed in Python.
 *
 * A subclass becomes a class of cfx_interp in which only the hooks are set that it
 * overrides; the others stay in C. The interpreter lock is held in hooks only.
 */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *py_interp_type;

static py_interp *downcast(PyObject *self)
{
    return (py_interp *)(void *)self;
}

static py_interp *owner_of(cfx_interp *it)
{
    return ((struct walk *)(void *)it)->owner;
}

/* ---- From C to Python ---- */

static cfx_status hook_failed(cfx_interp *it)
{
    return cfx_interp_fail(it, CFX_EUSER, "a hook in Python failed");
}

static PyObject *function_of(const char *name, bool is_function)
{
    static PyObject *find;
    PyObject *text = PyUnicode_FromString(name);

    if (!is_function || !text)
        return text;
    if (!find) {
        PyObject *values = PyImport_ImportModule("cfx._values");
        find = values ? PyObject_GetAttrString(values, "function") : NULL;
        Py_XDECREF(values);
    }
    PyObject *f = find ? PyObject_CallFunctionObjArgs(find, text, NULL) : NULL;
    Py_DECREF(text);
    return f;
}

static int set_arguments(struct arguments *a, const cfx_call *call,
                         bool is_function, const py_kind *kind)
{
    a->call = call;
    a->target = function_of(call->target.u.str->text, is_function);
    a->args = PyTuple_New(call->nargs);
    a->kwargs = PyDict_New();
    if (!a->target || !a->args || !a->kwargs)
        return -1;
    for (uint32_t i = 0; i < call->nargs; i++) {
        PyObject *v = py_value_export(call->args[i], kind);
        if (!v || PyTuple_SetItem(a->args, i, v))
            return -1;
    }
    for (uint32_t i = 0; i < call->nkwargs; i++) {
        PyObject *v = py_value_export(call->kwargs[2 * i + 1], kind);
        int st = v ? PyDict_SetItemString(a->kwargs,
                                          call->kwargs[2 * i].u.str->text, v)
                   : -1;
        Py_XDECREF(v);
        if (st)
            return -1;
    }
    return 0;
}

static void clear_arguments(struct arguments *a)
{
    Py_CLEAR(a->target);
    Py_CLEAR(a->args);
    Py_CLEAR(a->kwargs);
    a->call = NULL;
}

/* Take what a method returned. */
static cfx_status take_result(cfx_interp *it, PyObject *result, cfx_value *out)
{
    py_interp *o = owner_of(it);

    if (result && result == o->last) {
        *out = cfx_value_ref(o->last_value);
        Py_DECREF(result);
        return CFX_OK;
    }
    int st = result ? py_value_import(out, py_model_context(o->model), result,
                                      &o->kind, false)
                    : -1;

    Py_XDECREF(result);
    return st ? hook_failed(it) : CFX_OK;
}

static cfx_status call_method(cfx_interp *it, const cfx_call *call,
                              cfx_value *out, const char *name)
{
    py_interp *o = owner_of(it);
    struct arguments outer;
    PyObject *result = NULL;

    PyEval_RestoreThread(o->run.thread);
    outer = o->now;
    o->now = (struct arguments){0};
    if (!set_arguments(&o->now, call, !strcmp(name, "call_function"),
                       &o->kind))
        result = PyObject_CallMethod((PyObject *)o, name, "OOO", o->now.target,
                                     o->now.args, o->now.kwargs);
    cfx_status st = take_result(it, result, out);
    clear_arguments(&o->now);
    o->now = outer;
    o->run.thread = PyEval_SaveThread();
    return st;
}

static cfx_status run_node_hook(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    py_interp *o = owner_of(it);

    PyEval_RestoreThread(o->run.thread);
    PyObject *node = py_node_new(o->model->gm, n);
    PyObject *result = node ? PyObject_CallMethod((PyObject *)o, "run_node",
                                                  "O", node)
                            : NULL;
    Py_XDECREF(node);
    cfx_status st = take_result(it, result, out);
    o->run.thread = PyEval_SaveThread();
    return st;
}

/* ---- From Python to C ---- */

int py_interp_import(py_call_args *out, py_interp *o, PyObject *args,
                     PyObject *kwargs)
{
    cfx_context *ctx = py_model_context(o->model);
    Py_ssize_t nargs = PyTuple_Size(args), at = 0;
    PyObject *key, *v;

    *out = (py_call_args){calloc((size_t)(nargs + 2 * PyDict_Size(kwargs)) + 1,
                                 sizeof(*out->value)),
                          0, 0};
    if (!out->value) {
        PyErr_NoMemory();
        return -1;
    }
    for (; out->nargs < nargs; out->nargs++)
        if (py_value_import(&out->value[out->nargs], ctx,
                            PyTuple_GetItem(args, out->nargs), &o->kind,
                            false))
            return -1;
    cfx_value *pair = out->value + nargs;
    for (; PyDict_Next(kwargs, &at, &key, &v); pair += 2, out->nkwargs++) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name || py_value_import(&pair[1], ctx, v, &o->kind, false))
            return -1;
        pair[0] = cfx_keyword(ctx, name); /* the context's */
    }
    return 0;
}

void py_interp_release(py_call_args *a)
{
    for (uint32_t i = 0; i < a->nargs; i++)
        cfx_value_unref(a->value[i]);
    for (uint32_t i = 0; i < a->nkwargs; i++)
        cfx_value_unref(a->value[a->nargs + 2 * i + 1]);
    free(a->value);
}

/* The name of a target: text, or a function. */
static int import_target(cfx_value *out, cfx_context *ctx, PyObject *target)
{
    PyObject *values = PyImport_ImportModule("cfx._values");
    PyObject *text = values
                         ? PyObject_CallMethod(values, "target", "O", target)
                         : NULL;
    int st = text ? py_value_import(out, ctx, text, NULL, false) : -1;

    Py_XDECREF(values);
    Py_XDECREF(text);
    return st;
}

/* The result of a method of the base, which a hook most often returns. Takes it. */
static PyObject *keep_result(py_interp *o, cfx_status st, cfx_value out)
{
    PyObject *result = st ? py_fail(st, o->walk.c.it.err)
                          : py_value_export(out, &o->kind);
    PyObject *before = o->last;
    const cfx_value value = o->last_value;

    o->last = Py_XNewRef(result);
    o->last_value = out;
    Py_XDECREF(before);
    cfx_value_unref(value);
    return result;
}

/* Make the call without the lock, and return its result. */
static PyObject *run_super(py_interp *o, cfx_call_hook *hook,
                           const cfx_call *call)
{
    cfx_value out = CFX_NOTHING;
    PyThreadState *thread = PyEval_SaveThread();

    o->run.thread = thread;
    cfx_status st = hook(&o->walk.c.it, call, &out);
    PyEval_RestoreThread(o->run.thread);
    return keep_result(o, st, out);
}

/* A call with other arguments than those that the hook was called with. */
static PyObject *run_changed(py_interp *o, cfx_call_hook *hook,
                             PyObject *target, PyObject *args,
                             PyObject *kwargs)
{
    cfx_value name = CFX_NOTHING;
    cfx_call call = *o->now.call;
    PyObject *result = NULL;
    py_call_args a;

    if (!py_interp_import(&a, o, args, kwargs) &&
        !import_target(&name, py_model_context(o->model), target)) {
        call.args = a.value;
        call.nargs = a.nargs;
        call.kwargs = a.value + a.nargs;
        call.nkwargs = a.nkwargs;
        call.target = name;
        result = run_super(o, hook, &call);
    }
    cfx_value_unref(name);
    py_interp_release(&a);
    return result;
}

static PyObject *super_call(PyObject *self, PyObject *arguments,
                            cfx_call_hook *hook)
{
    py_interp *o = downcast(self);
    PyObject *target, *args, *kwargs;

    if (!PyArg_ParseTuple(arguments, "OO!O!", &target, &PyTuple_Type, &args,
                          &PyDict_Type, &kwargs))
        return NULL;
    if (!o->now.call)
        return PyErr_Format(PyExc_RuntimeError,
                            "only a hook, in a run, may call this");
    if (target == o->now.target && args == o->now.args &&
        kwargs == o->now.kwargs)
        return run_super(o, hook, o->now.call);
    return run_changed(o, hook, target, args, kwargs);
}

static PyObject *super_run_node(PyObject *self, PyObject *node)
{
    py_interp *o = downcast(self);
    const cfx_node *n = py_node_of(node);
    cfx_value out = CFX_NOTHING;

    if (n && !o->depth)
        PyErr_SetString(PyExc_RuntimeError, "only a run may call this");
    if (!n || !o->depth)
        return NULL;
    o->run.thread = PyEval_SaveThread();
    cfx_status st = CFX_SUPER(&o->cls, run_node)(&o->walk.c.it, n, &out);
    PyEval_RestoreThread(o->run.thread);
    return keep_result(o, st, out);
}

/* ---- The six hooks ---- */

#define HOOKS(X)                                                              \
    X(placeholder)                                                            \
    X(get_attr) X(call_function) X(call_method) X(call_module) X(output)

#define HOOK(name)                                                            \
    static cfx_status name##_hook(cfx_interp *it, const cfx_call *call,       \
                                  cfx_value *out)                             \
    {                                                                         \
        return call_method(it, call, out, #name);                             \
    }                                                                         \
    static PyObject *name##_super(PyObject *self, PyObject *args)             \
    {                                                                         \
        return super_call(self, args, CFX_SUPER(&downcast(self)->cls, name)); \
    }
HOOKS(HOOK)
#undef HOOK

static bool overrides(PyObject *self, const char *name)
{
    PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(self), name);
    PyObject *base = PyObject_GetAttrString((PyObject *)py_interp_type, name);
    bool differs = own != base;

    Py_XDECREF(own);
    Py_XDECREF(base);
    return differs;
}

/* A model, or one of what torch.fx has in its place: a GraphModule, a module. */
static py_model *model_of(PyObject *o)
{
    if (PyObject_TypeCheck(o, py_model_type))
        return (py_model *)(void *)Py_NewRef(o);
    PyObject *capture = PyImport_ImportModule("cfx.capture");
    PyObject *m = capture ? PyObject_CallMethod(capture, "from_fx", "O", o)
                          : NULL;
    Py_XDECREF(capture);
    return (py_model *)(void *)m;
}

static bool is_a(PyObject *self, PyTypeObject *type)
{
    return PyObject_TypeCheck(self, type);
}

/* Fill the class, which inherits from that of the type, and make the walk. */
static cfx_status start(py_interp *o, PyObject *self, cfx_error *err)
{
    const cfx_shape_prop_options keep = {.size = sizeof(keep)};

    o->walk.owner = o;
    o->cls = (cfx_interp_class){
        .size = sizeof(o->cls), .name = "python", .super = &cfx_interp_base};
#define SET(hook)                                                             \
    if (overrides(self, #hook))                                               \
        o->cls.hook = hook##_hook;
    HOOKS(SET)
    SET(run_node)
#undef SET
    if (is_a(self, py_transformer_type)) {
        o->cls.super = &cfx_transformer_class;
        o->kind.walker = self;
        return cfx_transformer_init(&o->walk.c.transformer, &o->cls,
                                    o->model->gm, NULL, err);
    }
    if (is_a(self, py_shape_prop_type)) {
        o->cls.super = &cfx_shape_prop_class;
        return cfx_shape_prop_init(&o->walk.c.shapes, &o->cls, o->model->gm,
                                   &keep, err);
    }
    return cfx_interp_init(&o->walk.c.it, &o->cls, o->model->gm, err);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    py_interp *o = downcast(self);
    cfx_error err = {0};
    PyObject *model;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &model))
        return -1;
    if (o->model) {
        PyErr_SetString(PyExc_RuntimeError, "it is initialized already");
        return -1;
    }
    o->model = model_of(model);
    if (!o->model)
        return -1;
    cfx_status st = start(o, self, &err);
    if (st)
        py_fail(st, &err);
    return st ? -1 : 0;
}

static void dealloc(PyObject *self)
{
    py_interp *o = downcast(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    if (is_a(self, py_transformer_type))
        cfx_transformer_release(&o->walk.c.transformer);
    else
        cfx_interp_release(&o->walk.c.it);
    py_kind_clear(&o->kind);
    Py_XDECREF((PyObject *)o->model);
    release(self);
    Py_DECREF((PyObject *)type);
}

void py_interp_begin(py_interp *o, py_run *outer)
{
    *outer = o->run;
    o->depth++;
    py_run_begin(&o->run, py_model_context(o->model));
}

int py_interp_end(py_interp *o, const py_run *outer, cfx_status st,
                  const cfx_error *err)
{
    int failed = py_run_end(&o->run, st) || st;

    if (failed)
        py_fail(st, err);
    o->run = *outer;
    o->depth--;
    Py_CLEAR(o->last);
    cfx_value_unref(o->last_value);
    o->last_value = CFX_NOTHING;
    return failed ? -1 : 0;
}

static PyObject *run(PyObject *self, PyObject *args)
{
    py_interp *o = downcast(self);
    cfx_value result = CFX_NOTHING;
    PyObject *out = NULL;
    cfx_error err = {0};
    py_inputs in;
    py_run outer;

    if (!o->model)
        return PyErr_Format(PyExc_RuntimeError,
                            "super().__init__(model) was not called");
    if (is_a(self, py_shape_prop_type))
        return py_shape_prop_run(self, args);
    if (is_a(self, py_transformer_type))
        return PyErr_Format(PyExc_RuntimeError,
                            "a Transformer does not run: call transform()");
    if (!py_inputs_bind(&in, o->model, args, NULL, &o->kind)) {
        py_interp_begin(o, &outer);
        cfx_status st = cfx_interp_run(&o->walk.c.it, in.value, in.n, &result,
                                       &err);
        if (!py_interp_end(o, &outer, st, &err))
            out = py_value_export(result, &o->kind);
        cfx_value_unref(result);
    }
    py_inputs_release(&in);
    return out;
}

static PyObject *get_model(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)downcast(self)->model);
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "Run the graph, and return its result."},
    {"run_node", super_run_node, METH_O, "Run one node."},
#define METHOD(name)                                                          \
    {#name, name##_super, METH_VARARGS, "Do what a " #name " node does."},
    HOOKS(METHOD)
#undef METHOD
        {0},
};

static PyGetSetDef members[] = {
    {"module", get_model, NULL, "The model.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (char *)"Walks a graph node by node, as torch.fx.Interpreter. "
                        "A subclass overrides methods; the others stay in C."},
    {Py_tp_init, init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "cfx.Interpreter",
    .basicsize = sizeof(py_interp),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int py_interp_init(PyObject *module)
{
    py_interp_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return py_interp_type ? PyModule_AddType(module, py_interp_type) : -1;
}
