/*
 * module -- the C part of the package cfx.
 */
#include "py.h"

#include <string.h>

/* Names of the registries, for completion and messages. */
static PyObject *passes(PyObject *module, PyObject *unused)
{
    cfx_context *ctx = py_context(0);
    PyObject *out = ctx ? PyDict_New() : NULL;
    const cfx_pass *p;

    (void)module;
    (void)unused;
    for (size_t i = 0; out && (p = cfx_pass_at(ctx, i)); i++) {
        PyObject *name = PyUnicode_FromStringAndSize(
            p->schema, (Py_ssize_t)strcspn(p->schema, "("));
        PyObject *doc = PyUnicode_FromFormat("%s\n%s", p->schema, p->doc);
        if (!name || !doc || PyDict_SetItem(out, name, doc))
            Py_CLEAR(out);
        Py_XDECREF(name);
        Py_XDECREF(doc);
    }
    return out;
}

static PyObject *quantizers(PyObject *module, PyObject *unused)
{
    PyObject *out = PyList_New(0);
    const cfx_quantizer_class *q;

    (void)module;
    (void)unused;
    for (size_t i = 0; out && (q = cfx_quantizer_at(i)); i++) {
        PyObject *name = PyUnicode_FromString(q->name);
        if (!name || PyList_Append(out, name))
            Py_CLEAR(out);
        Py_XDECREF(name);
    }
    return out;
}

static PyMethodDef methods[] = {
    {"passes", passes, METH_NOARGS,
     "The passes of Model.transform: a dict from names to what they do."},
    {"quantizers", quantizers, METH_NOARGS,
     "The names of the quantizers of Model.quantize."},
    {0},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "cfx._cfx",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__cfx(void);

PyMODINIT_FUNC PyInit__cfx(void)
{
    PyObject *m = PyModule_Create(&definition);

    if (!m)
        return NULL;
    if (py_errors_init(m) || py_contexts_init() || py_tensor_init(m) ||
        py_graph_init(m) || py_report_init(m) || py_model_init(m) ||
        py_guard_init(m) || py_interp_init(m) || py_transformer_init(m) ||
        PyModule_AddStringConstant(m, "__version__", cfx_version()))
        Py_CLEAR(m);
    return m;
}
