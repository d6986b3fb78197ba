/*
 * report -- tables of shapes, and rooflines.
 */
#include "py.h"

#include <limits.h>
#include <string.h>

/* ---- Shapes ---- */

PyObject *py_model_shapes(PyObject *self, PyObject *args)
{
    py_model *m = (py_model *)(void *)self;
    PyObject *positional, *named, *table = NULL, *document = NULL;
    py_text text = {0}, json = {0};
    cfx_shape_prop p = {.env = NULL};
    cfx_value result = CFX_NOTHING;
    cfx_error err = {0};
    py_inputs in;
    int depth;

    if (!PyArg_ParseTuple(args, "O!O!i", &PyTuple_Type, &positional,
                          &PyDict_Type, &named, &depth))
        return NULL;
    if (!py_inputs_shapes(&in, m, positional, named)) {
        const cfx_shape_prop_options how = {.size = sizeof(how),
                                            .env = in.env,
                                            .keep_values = true,
                                            .no_meta = true,
                                            .check = true};
        cfx_status st = cfx_shape_prop_init(&p, NULL, m->gm, &how, &err);
        if (!st)
            st = cfx_interp_run(&p.base, in.value, in.n, &result, &err);
        if (!st)
            st = cfx_print_shapes(py_sink(&text), &p, CFX_SHAPES_TEXT, depth,
                                  &err);
        if (!st)
            st = cfx_print_shapes(py_sink(&json), &p, CFX_SHAPES_JSON, depth,
                                  &err);
        table = py_text_take(&text, st, &err);
        document = py_text_take(&json, st, &err);
    }
    cfx_value_unref(result);
    cfx_interp_release(&p.base);
    py_inputs_release(&in);
    if (table && document)
        return Py_BuildValue("(NN)", table, document);
    Py_XDECREF(table);
    Py_XDECREF(document);
    return NULL;
}

/* ---- Rooflines ---- */

typedef struct py_roofline {
    PyObject_HEAD cfx_roofline *r;
    cfx_machine *machine;
    cfx_module *gm;
    cfx_shape_env *env;
} py_roofline;

static PyTypeObject *roofline_type;

static py_roofline *downcast(PyObject *self)
{
    return (py_roofline *)(void *)self;
}

static void dealloc(PyObject *self)
{
    py_roofline *o = downcast(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);

    cfx_roofline_free(o->r);
    cfx_machine_free(o->machine);
    cfx_shape_env_free(o->env);
    cfx_module_unref(o->gm);
    release(self);
    Py_DECREF((PyObject *)type);
}

typedef cfx_status format_fn(cfx_sink to, const cfx_roofline *r,
                             const cfx_roofline_view *view, cfx_error *err);

static const struct format {
    const char *name;
    format_fn *print;
} formats[] = {
    {"text", cfx_roofline_print},
    {"markdown", cfx_roofline_print_markdown},
    {"csv", cfx_roofline_print_csv},
    {"json", cfx_roofline_print_json},
    {"html", cfx_roofline_print_html},
    {"svg", cfx_roofline_print_svg},
    {"dot", cfx_roofline_print_dot},
    {"trace", cfx_roofline_print_trace},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    PyErr_Format(PyExc_ValueError, "there is no format '%s' of a roofline",
                 name);
    return NULL;
}

static int find_by(cfx_roofline_view *view, const char *by)
{
    static const char *const names[] = {"node", "module", "operator", "bound"};

    view->parts = !*by && !view->columns;
    for (int i = 0; i < 4; i++) {
        if (!strcmp(by, names[i])) {
            view->by = (cfx_roofline_by)i;
            return 0;
        }
    }
    if (*by)
        PyErr_Format(PyExc_ValueError, "a roofline is not by '%s'", by);
    return *by ? -1 : 0;
}

static PyObject *print(PyObject *self, PyObject *args)
{
    const char *name, *by;
    cfx_roofline_view view = {.size = sizeof(view)};
    int top, depth;
    py_text text = {0};
    cfx_error err = {0};

    if (!PyArg_ParseTuple(args, "sszzii", &name, &by, &view.columns,
                          &view.sort, &top, &depth))
        return NULL;
    const struct format *format = find_format(name);
    if (!format || find_by(&view, by))
        return NULL;
    view.top = (size_t)top;
    view.depth = depth;
    cfx_status st = format->print(py_sink(&text), downcast(self)->r, &view,
                                  &err);
    return py_text_take(&text, st, &err);
}

/* A machine of a name or file; without one this machine, which is measured once. */
static cfx_status find_machine(cfx_machine **out, cfx_context *ctx,
                               const char *name, cfx_error *err)
{
    return name ? cfx_machine_find(out, ctx, name, err)
                : cfx_machine_cached(out, ctx, 0, 0, err);
}

/* `runs` below 0: not measured. */
static cfx_status analyse(py_roofline *o, const py_inputs *shapes,
                          const py_inputs *in, const char *machine, int runs,
                          cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(o->gm);
    cfx_roofline_options how = {.size = sizeof(how),
                                .threads = machine && runs < 0 ? INT_MAX : 0,
                                .env = o->env};
    cfx_status st = find_machine(&o->machine, ctx, machine, err);

    how.machine = o->machine;
    if (!st)
        st = cfx_roofline_new(&o->r, o->gm, shapes->value, shapes->n, &how,
                              err);
    if (!st && runs >= 0)
        st = cfx_roofline_measure(o->r, in->value, in->n, runs, NULL, NULL,
                                  err);
    return st;
}

PyObject *py_model_roofline(PyObject *self, PyObject *args)
{
    py_model *m = (py_model *)(void *)self;
    PyObject *positional, *named, *out = NULL;
    const char *machine;
    py_inputs shapes = {0}, in = {0};
    cfx_error err = {0};
    py_run run;
    int runs;

    if (!PyArg_ParseTuple(args, "O!O!zi", &PyTuple_Type, &positional,
                          &PyDict_Type, &named, &machine, &runs))
        return NULL;
    if (!py_inputs_shapes(&shapes, m, positional, named) &&
        (runs < 0 || !py_inputs_bind(&in, m, positional, named, NULL)))
        out = PyType_GenericAlloc(roofline_type, 0);
    if (out) {
        py_roofline *o = downcast(out);
        o->gm = cfx_module_ref(m->gm);
        o->env = shapes.env;
        shapes.env = NULL;
        py_run_begin(&run, py_model_context(m));
        cfx_status st = analyse(o, &shapes, &in, machine, runs, &err);
        if (py_run_end(&run, st) || st) {
            Py_CLEAR(out);
            py_fail(st, &err);
        }
    }
    py_inputs_release(&in);
    py_inputs_release(&shapes);
    return out;
}

static PyMethodDef methods[] = {
    {"print", print, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "cfx._cfx.Roofline",
    .basicsize = sizeof(py_roofline),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int py_report_init(PyObject *module)
{
    (void)module;
    roofline_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return roofline_type ? 0 : -1;
}
