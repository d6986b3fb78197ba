/*
 * model -- a GraphModule that Python calls.
 *
 * A call takes an interpreter that no thread uses, or makes one, so that several
 * threads may call a model at a time. The Python class (cfx/__init__.py) adds what
 * needs no C.
 */
#include "py.h"

#include <stdlib.h>

PyTypeObject *py_model_type;

struct py_walk {
    cfx_interp it;
    struct py_walk *next;
};

static py_model *downcast(PyObject *self)
{
    return (py_model *)(void *)self;
}

cfx_context *py_model_context(const py_model *m)
{
    return cfx_module_context(m->gm);
}

PyObject *py_model_new_take(PyTypeObject *cls, cfx_module *gm)
{
    PyObject *o = PyType_GenericAlloc(cls, 0);

    if (!o) {
        cfx_module_unref(gm);
        return NULL;
    }
    downcast(o)->gm = gm;
    downcast(o)->writes = -1;
    return o;
}

void py_model_drop_walks(py_model *m)
{
    while (m->idle) {
        struct py_walk *w = m->idle;
        m->idle = w->next;
        cfx_interp_release(&w->it);
        free(w);
    }
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    py_model_drop_walks(downcast(self));
    py_state_forget(downcast(self));
    py_graph_drop_meta(downcast(self)->gm);
    cfx_module_unref(downcast(self)->gm);
    release(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Calls ---- */

static struct py_walk *take_walk(py_model *m)
{
    struct py_walk *w = m->idle;
    cfx_error err = {0};

    if (w) {
        m->idle = w->next;
        return w;
    }
    w = calloc(1, sizeof(*w));
    if (!w) {
        PyErr_NoMemory();
        return NULL;
    }
    cfx_status st = cfx_interp_init(&w->it, &cfx_interp_base, m->gm, &err);
    if (!st)
        return w;
    cfx_interp_release(&w->it);
    free(w);
    py_fail(st, &err);
    return NULL;
}

/* Memory that may not be written is copied for a graph that could write to it. */
static int find_writes(py_model *m)
{
    cfx_error err = {0};

    for (const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(m->gm));
         n && m->writes < 1; n = cfx_node_next(n)) {
        cfx_effects e;
        cfx_status st = cfx_node_effects(n, &e, &err);
        if (st) {
            py_fail(st, &err);
            return -1;
        }
        m->writes = e.writes || e.input_writes;
    }
    m->writes = m->writes > 0;
    return 0;
}

/* Resolve operators and bind arguments, which a first call does otherwise. */
static PyObject *prepare(PyObject *self, PyObject *unused)
{
    py_model *m = downcast(self);
    struct py_walk *w = take_walk(m);

    (void)unused;
    if (!w)
        return NULL;
    w->next = m->idle;
    m->idle = w;
    Py_RETURN_NONE;
}

/* The arguments of a call: those at some places of an array, or a tuple and dict. */
struct given {
    PyObject *const *args;
    const Py_ssize_t *place;
    Py_ssize_t n;
    PyObject *tuple, *kwargs;
};

static int bind(py_inputs *in, py_model *m, const struct given *g,
                py_kind *kind)
{
    return g->tuple
               ? py_inputs_bind(in, m, g->tuple, g->kwargs, kind)
               : py_inputs_bind_places(in, m, g->args, g->place, g->n, kind);
}

static PyObject *run(py_model *m, const struct given *g)
{
    py_kind kind = {0};
    py_inputs in = {0};
    cfx_value result = CFX_NOTHING;
    cfx_error err;
    py_run run;
    PyObject *out = NULL;
    struct py_walk *w = (m->writes < 0 && find_writes(m)) ||
                                py_state_collect(m)
                            ? NULL
                            : take_walk(m);

    if (!w)
        return NULL;
    cfx_error_clear(&err);
    if ((g->tuple || !py_torch_kind(&kind)) && !bind(&in, m, g, &kind)) {
        py_run_begin(&run, py_model_context(m));
        cfx_status st = cfx_interp_run(&w->it, in.value, in.n, &result, &err);
        if (!st)
            st = py_state_copy_results(m, &result, &err);
        if (py_run_end(&run, st) || st)
            py_fail(st, &err);
        else
            out = py_value_export(result, &kind);
        cfx_value_unref(result);
    }
    w->next = m->idle;
    m->idle = w;
    py_inputs_release(&in);
    py_kind_clear(&kind);
    return out;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return run(downcast(self),
               &(struct given){.tuple = args, .kwargs = kwargs});
}

PyObject *py_model_run(py_model *m, PyObject *const *args,
                       const Py_ssize_t *place, Py_ssize_t n)
{
    return run(m, &(struct given){.args = args, .place = place, .n = n});
}

/* ---- Loading ---- */

static PyObject *load(PyObject *cls, PyObject *args)
{
    const char *weights;
    PyObject *path, *random;
    int threads, assume_defaults, no_weights;
    cfx_error err = {0};
    cfx_module *gm;
    py_run run;

    if (!PyArg_ParseTuple(args, "O&zOppi", PyUnicode_FSConverter, &path,
                          &weights, &random, &assume_defaults, &no_weights,
                          &threads))
        return NULL;
    cfx_load_options how = {.size = sizeof(how),
                            .weights = weights,
                            .no_weights = no_weights,
                            .random_weights = random != Py_None,
                            .assume_defaults = assume_defaults};
    if (how.random_weights)
        how.seed = PyLong_AsUnsignedLongLong(random);
    cfx_context *ctx = PyErr_Occurred() ? NULL : py_context(threads);
    if (!ctx) {
        Py_DECREF(path);
        return NULL;
    }
    py_run_begin(&run, ctx);
    cfx_status st = cfx_model_load(&gm, ctx, PyBytes_AsString(path), &how,
                                   &err);
    int stopped = py_run_end(&run, st);
    if (st)
        cfx_fail_at(&err, "%s", PyBytes_AsString(path));
    Py_DECREF(path);
    return st || stopped ? py_fail(st, &err)
                         : py_model_new_take((PyTypeObject *)cls, gm);
}

static PyObject *parse(PyObject *cls, PyObject *args)
{
    const char *text, *name;
    Py_ssize_t len;
    int threads;
    cfx_error err = {0};
    cfx_module *gm;

    if (!PyArg_ParseTuple(args, "s#si", &text, &len, &name, &threads))
        return NULL;
    cfx_context *ctx = py_context(threads);
    if (!ctx)
        return NULL;
    cfx_status st = cfx_parse_model(&gm, ctx, text, (size_t)len, name, &err);
    return st ? py_fail(st, &err) : py_model_new_take((PyTypeObject *)cls, gm);
}

static PyObject *copy(PyObject *self, PyObject *unused)
{
    cfx_error err = {0};
    cfx_module *gm;
    cfx_status st = cfx_module_copy(&gm, downcast(self)->gm, &err);

    (void)unused;
    return st ? py_fail(st, &err) : py_model_new_take(Py_TYPE(self), gm);
}

/* ---- What it is ---- */

static PyObject *graph(PyObject *self, void *closure)
{
    (void)closure;
    return py_graph_new(downcast(self)->gm);
}

static PyObject *code(PyObject *self, void *closure)
{
    (void)closure;
    return py_print(cfx_print_code,
                    cfx_graph_module_graph(downcast(self)->gm));
}

static PyObject *text(PyObject *self, void *closure)
{
    py_text to = {0};
    cfx_error err = {0};
    cfx_status st = cfx_model_print(py_sink(&to), downcast(self)->gm, true,
                                    &err);

    (void)closure;
    return py_text_take(&to, st, &err);
}

static PyObject *repr(PyObject *self)
{
    py_text to = {0};
    cfx_error err = {0};
    cfx_status st = cfx_print_modules(py_sink(&to), downcast(self)->gm, &err);

    return py_text_take(&to, st, &err);
}

static PyObject *shape_text(cfx_value v)
{
    py_text to = {0};
    cfx_error err = {0};

    if (cfx_value_is_absent(v))
        Py_RETURN_NONE;
    cfx_status st = cfx_print_shape(py_sink(&to), v, false, &err);
    return py_text_take(&to, st, &err);
}

static PyObject *inputs(PyObject *self, void *closure)
{
    cfx_model_inputs in = {0};
    cfx_error err = {0};
    cfx_status st = cfx_model_inputs_list(&in, downcast(self)->gm, NULL, &err);
    PyObject *dict = st ? py_fail(st, &err) : PyDict_New();

    (void)closure;
    for (size_t i = 0; i < in.n && dict; i++) {
        PyObject *v = shape_text(in.item[i].type);
        if (!v || PyDict_SetItemString(dict, in.item[i].name, v))
            Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    cfx_model_inputs_release(&in);
    return dict;
}

static PyObject *threads(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(
        cfx_context_threads(py_model_context(downcast(self))));
}

/* ---- The type ---- */

static PyMethodDef methods[] = {
    {"_load", load, METH_VARARGS | METH_CLASS, NULL},
    {"_parse", parse, METH_VARARGS | METH_CLASS, NULL},
    {"_prepare", prepare, METH_NOARGS, NULL},
    {"_set_state", py_model_set_state, METH_VARARGS, NULL},
    {"_save", py_model_save, METH_VARARGS, NULL},
    {"_shapes", py_model_shapes, METH_VARARGS, NULL},
    {"_roofline", py_model_roofline, METH_VARARGS, NULL},
    {"_transform", py_model_transform, METH_VARARGS, NULL},
    {"_optimize", py_model_optimize, METH_VARARGS, NULL},
    {"_quantize", py_model_quantize, METH_VARARGS, NULL},
    {"copy", copy, METH_NOARGS,
     "A copy of the model that shares its tensors."},
    {"state", py_model_state, METH_NOARGS,
     "Parameters and buffers by name, as cfx.Tensors on the model's memory."},
    {0},
};

static PyGetSetDef members[] = {
    {"graph", graph, NULL, "The graph, as torch.fx has it.", NULL},
    {"code", code, NULL, "The Python code of the graph.", NULL},
    {"text", text, NULL, "The model file's text.", NULL},
    {"inputs", inputs, NULL,
     "The inputs by name, and the types and shapes that the model declares.",
     NULL},
    {"threads", threads, NULL, "The number of threads that it runs on.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_call, call},      {Py_tp_repr, repr},
    {Py_tp_methods, methods}, {Py_tp_getset, members}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "cfx._cfx.Model",
    .basicsize = sizeof(py_model),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int py_model_init(PyObject *module)
{
    py_model_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return py_model_type ? PyModule_AddType(module, py_model_type) : -1;
}
