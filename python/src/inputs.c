/*
 * inputs -- the arguments of a Python call as inputs of a graph.
 */
#include "py.h"

#include <stdlib.h>
#include <string.h>

static const cfx_graph *graph_of(const py_model *m)
{
    return cfx_graph_module_graph(m->gm);
}

static size_t count_placeholders(const cfx_graph *g)
{
    const cfx_node *n = NULL;
    size_t count = 0;

    while ((n = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, n)))
        count++;
    return count;
}

static int reserve(py_inputs *in, size_t n)
{
    in->n = n;
    in->value = n <= sizeof(in->few) / sizeof(*in->few)
                    ? in->few
                    : calloc(n, sizeof(*in->value));
    if (in->value)
        return 0;
    in->n = 0;
    PyErr_NoMemory();
    return -1;
}

/* The name of a placeholder without the stars of `*args`. */
static const char *plain_name(const cfx_node *n)
{
    const char *name = n->target->text;

    return name + strspn(name, "*");
}

static int put(py_inputs *in, py_model *m, size_t i, PyObject *o,
               py_kind *kind)
{
    return py_value_import(&in->value[i], py_model_context(m), o, kind,
                           m->writes);
}

/* ---- Keywords ---- */

static int wrong_keyword(const py_model *m, PyObject *kwargs)
{
    PyObject *key, *v;
    Py_ssize_t at = 0;

    while (PyDict_Next(kwargs, &at, &key, &v)) {
        const cfx_node *n = NULL;
        bool known = false;
        while (
            (n = cfx_graph_find_nodes(graph_of(m), CFX_PLACEHOLDER, NULL, n)))
            known |= PyUnicode_Check(key) &&
                     !PyUnicode_CompareWithASCIIString(key, plain_name(n));
        if (!known)
            PyErr_Format(PyExc_TypeError, "the model has no input '%S'", key);
        if (!known)
            return -1;
    }
    return 0;
}

/* One object for each placeholder, borrowed: positional, by its name, or NULL. */
static int match(PyObject **out, const py_model *m, PyObject *args,
                 PyObject *kwargs)
{
    size_t given = (size_t)PyTuple_Size(args), i = 0;
    const cfx_node *n = NULL;

    if (kwargs && wrong_keyword(m, kwargs))
        return -1;
    for (; (n = cfx_graph_find_nodes(graph_of(m), CFX_PLACEHOLDER, NULL, n));
         i++) {
        out[i] = kwargs ? PyDict_GetItemString(kwargs, plain_name(n)) : NULL;
        if (out[i] && i < given) {
            PyErr_Format(PyExc_TypeError, "the input '%s' is given twice",
                         plain_name(n));
            return -1;
        }
        if (i < given)
            out[i] = PyTuple_GetItem(args, (Py_ssize_t)i);
    }
    if (given <= i)
        return 0;
    PyErr_Format(PyExc_TypeError, "the model has %zu inputs, not %zu", i,
                 given);
    return -1;
}

/* The objects of all placeholders, to be freed. */
static PyObject **match_all(size_t *n, const py_model *m, PyObject *args,
                            PyObject *kwargs)
{
    *n = count_placeholders(graph_of(m));
    PyObject **o = calloc(*n + 1, sizeof(PyObject *));

    if (!o)
        PyErr_NoMemory();
    if (o && match(o, m, args, kwargs)) {
        free(o);
        return NULL;
    }
    return o;
}

/* ---- Values ---- */

int py_inputs_bind_places(py_inputs *in, py_model *m, PyObject *const *args,
                          const Py_ssize_t *place, Py_ssize_t n, py_kind *kind)
{
    memset(in, 0, sizeof(*in));
    int st = reserve(in, (size_t)n);
    for (Py_ssize_t i = 0; i < n && !st; i++)
        st = put(in, m, (size_t)i, args[place[i]], kind);
    return st;
}

int py_inputs_bind(py_inputs *in, py_model *m, PyObject *args,
                   PyObject *kwargs, py_kind *kind)
{
    size_t n = (size_t)PyTuple_Size(args);
    int st = 0;

    memset(in, 0, sizeof(*in));
    if (!kwargs || !PyDict_Size(kwargs)) {
        st = reserve(in, n);
        for (size_t i = 0; i < n && !st; i++)
            st = put(in, m, i, PyTuple_GetItem(args, (Py_ssize_t)i), kind);
        return st;
    }
    PyObject **o = match_all(&n, m, args, kwargs);
    while (o && n && !o[n - 1]) /* defaults */
        n--;
    st = o ? reserve(in, n) : -1;
    for (size_t i = 0; i < n && !st; i++)
        if (o[i])
            st = put(in, m, i, o[i], kind);
    free(o);
    return st;
}

/* ---- Shapes ---- */

/* A meta for a tensor; of few integers themselves, which may decide shapes. */
static int to_meta(cfx_value *v)
{
    cfx_tensor *t = v->u.tensor, *meta;
    cfx_error err = {0};

    if (v->kind != CFX_TENSOR ||
        (cfx_dtypes[t->dtype].category == CFX_CAT_INT &&
         cfx_tensor_numel(t) <= CFX_KNOWN_MAX))
        return 0;
    cfx_status st = cfx_tensor_meta(&meta, t->ctx, (cfx_dtype)t->dtype,
                                    t->rank, t->shape, t->stride, &err);
    if (st) {
        py_fail(st, &err);
        return -1;
    }
    cfx_value_unref(*v);
    *v = cfx_value_of_tensor(meta);
    return 0;
}

static int put_shape(py_inputs *in, py_model *m, size_t i, PyObject *o)
{
    cfx_error err = {0};
    Py_ssize_t len;

    if (!PyUnicode_Check(o)) {
        int st = put(in, m, i, o, NULL);
        return st ? st : to_meta(&in->value[i]);
    }
    const char *text = PyUnicode_AsUTF8AndSize(o, &len);
    if (!text)
        return -1;
    cfx_status st = cfx_parse_shape(&in->value[i], py_model_context(m),
                                    in->env, text, (size_t)len, &err);
    if (st)
        py_fail(st, &err);
    return st ? -1 : 0;
}

static int put_declared(py_inputs *in, const cfx_model_inputs *known, size_t i)
{
    const cfx_model_input *input = &known->item[i];
    cfx_value v = !cfx_value_is_absent(input->fallback) ? input->fallback
                                                        : input->type;

    if (cfx_value_is_absent(v)) {
        PyErr_Format(PyExc_TypeError, "the shape of the input '%s' is missing",
                     input->name);
        return -1;
    }
    in->value[i] = cfx_value_ref(v);
    return 0;
}

int py_inputs_shapes(py_inputs *in, py_model *m, PyObject *args,
                     PyObject *kwargs)
{
    cfx_model_inputs known = {0};
    cfx_error err = {0};
    size_t n;

    memset(in, 0, sizeof(*in));
    PyObject **o = match_all(&n, m, args, kwargs);
    if (!o)
        return -1;
    cfx_status st = cfx_shape_env_new(&in->env, py_model_context(m), &err);
    if (!st)
        st = cfx_model_inputs_list(&known, m->gm, NULL, &err);
    int failed = st ? -1 : reserve(in, n);
    if (st)
        py_fail(st, &err);
    for (size_t i = 0; i < n && !failed; i++)
        failed = o[i] ? put_shape(in, m, i, o[i])
                      : put_declared(in, &known, i);
    cfx_model_inputs_release(&known);
    free(o);
    return failed;
}

void py_inputs_release(py_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        cfx_value_unref(in->value[i]);
    if (in->value != in->few)
        free(in->value);
    cfx_shape_env_free(in->env);
    in->n = 0;
    in->value = NULL;
    in->env = NULL;
}
