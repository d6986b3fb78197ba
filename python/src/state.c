/*
 * state -- parameters and buffers of a model.
 *
 * A result that lies in their memory is copied: whoever writes to a result must not
 * change the next one.
 */
#include "py.h"

#include <stdlib.h>
#include <string.h>

static py_model *downcast(PyObject *self)
{
    return (py_model *)(void *)self;
}

static int put_state(PyObject *dict, cfx_module *m, const cfx_state *s,
                     const py_kind *kind)
{
    char path[1024];
    size_t len = cfx_module_path(m, path, sizeof(path));
    PyObject *key = PyUnicode_FromFormat("%s%s%s", path, len ? "." : "",
                                         s->name);
    PyObject *v = key ? py_tensor_export_take(cfx_tensor_ref(s->tensor), kind)
                      : NULL;
    int st = v ? PyDict_SetItem(dict, key, v) : -1;

    Py_XDECREF(key);
    Py_XDECREF(v);
    return st;
}

PyObject *py_model_state(PyObject *self, PyObject *unused)
{
    cfx_module *root = downcast(self)->gm;
    PyObject *dict = PyDict_New();

    (void)unused;
    for (cfx_module *m = root; m && dict; m = cfx_module_next(m, root)) {
        for (size_t i = 0; i < cfx_module_nstate(m) && dict; i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (s->tensor && put_state(dict, m, s, NULL))
                Py_CLEAR(dict);
        }
    }
    return dict;
}

/* Share a tensor as a parameter or buffer. */
PyObject *py_model_set_state(PyObject *self, PyObject *args)
{
    py_model *m = downcast(self);
    const char *path, *name;
    cfx_error err = {0};
    cfx_tensor *t;
    PyObject *o;

    if (!PyArg_ParseTuple(args, "ssO", &path, &name, &o))
        return NULL;
    cfx_module *owner = cfx_module_at(m->gm, path);
    if (!owner)
        return PyErr_Format(PyExc_LookupError, "there is no module '%s'",
                            path);
    int found = py_tensor_import(&t, py_model_context(m), o, NULL, false);
    if (!found)
        PyErr_SetString(PyExc_TypeError, "a parameter has to be a tensor");
    if (found <= 0)
        return NULL;
    cfx_status st = cfx_module_set(owner, name, t, &err);
    cfx_tensor_unref(t);
    py_model_drop_walks(m);
    py_state_forget(m);
    if (st)
        return py_fail(st, &err);
    Py_RETURN_NONE;
}

/* ---- Results ---- */

static int by_address(const void *a, const void *b)
{
    const cfx_storage *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

void py_state_forget(py_model *m)
{
    free(m->state);
    m->state = NULL;
    m->nstate = 0;
}

/* Collect the storages of parameters and buffers, in the order of addresses. */
int py_state_collect(py_model *m)
{
    size_t n = 0;

    if (m->state)
        return 0;
    for (cfx_module *c = m->gm; c; c = cfx_module_next(c, m->gm))
        n += cfx_module_nstate(c);
    m->state = malloc((n + 1) * sizeof(*m->state));
    if (!m->state) {
        PyErr_NoMemory();
        return -1;
    }
    for (cfx_module *c = m->gm; c; c = cfx_module_next(c, m->gm)) {
        for (size_t i = 0; i < cfx_module_nstate(c); i++) {
            const cfx_tensor *t = cfx_module_state_at(c, i)->tensor;
            if (t && t->storage)
                m->state[m->nstate++] = t->storage;
        }
    }
    qsort(m->state, m->nstate, sizeof(*m->state), by_address);
    return 0;
}

static bool is_state(void *user, cfx_value v)
{
    const py_model *m = user;

    return v.kind == CFX_TENSOR &&
           bsearch(&v.u.tensor->storage, m->state, m->nstate,
                   sizeof(*m->state), by_address);
}

struct copying {
    py_model *m;
    cfx_error *err;
};

static cfx_status copy_state(void *user, cfx_value v, cfx_value *out)
{
    const struct copying *c = user;
    cfx_tensor *copy;

    *out = CFX_NOTHING;
    if (!is_state(c->m, v)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    const cfx_tensor *t = v.u.tensor;
    cfx_status st = cfx_tensor_meta(&copy, py_model_context(c->m),
                                    (cfx_dtype)t->dtype, t->rank, t->shape,
                                    t->stride, c->err);
    if (st)
        return st;
    st = cfx_tensor_alloc(copy, c->err);
    if (!st)
        st = cfx_tensor_copy(copy, t, c->err);
    *out = cfx_value_of_tensor(copy);
    return st;
}

cfx_status py_state_copy_results(py_model *m, cfx_value *result,
                                 cfx_error *err)
{
    struct copying c = {m, err};
    cfx_value out;

    if (!cfx_value_any(*result, is_state, m))
        return CFX_OK;
    cfx_status st = cfx_value_map(&out, py_model_context(m), *result,
                                  copy_state, &c, err);
    cfx_value_unref(*result);
    *result = out;
    return st;
}
