/*
 * rewrite -- new models from models: passes, the optimizer, quantization, files.
 *
 * Each works on a copy, which shares the tensors of the model.
 */
#include "py.h"

#include <stdlib.h>
#include <string.h>

static py_model *downcast(PyObject *self)
{
    return (py_model *)(void *)self;
}

static cfx_module *copy_of(const py_model *m)
{
    cfx_error err = {0};
    cfx_module *gm;
    cfx_status st = cfx_module_copy(&gm, m->gm, &err);

    if (st)
        py_fail(st, &err);
    return st ? NULL : gm;
}

/* The rewritten copy as a model, or the failure of a run that has ended. */
static PyObject *finish(PyObject *self, cfx_module *gm, py_run *run,
                        cfx_status st, const cfx_error *err)
{
    if (!py_run_end(run, st) && !st)
        return py_model_new_take(Py_TYPE(self), gm);
    cfx_module_unref(gm);
    return py_fail(st, err);
}

PyObject *py_model_transform(PyObject *self, PyObject *args)
{
    cfx_pass_manager_options how = {.size = sizeof(how)};
    cfx_pass_manager *pm = NULL;
    cfx_error err = {0};
    const char *passes;
    int reverse;
    py_run run;

    if (!PyArg_ParseTuple(args, "spi", &passes, &reverse, &how.steps))
        return NULL;
    cfx_module *gm = copy_of(downcast(self));
    if (!gm)
        return NULL;
    how.reverse = reverse;
    py_run_begin(&run, cfx_module_context(gm));
    cfx_status st = cfx_pass_manager_new(&pm, cfx_module_context(gm), &how,
                                         &err);
    if (!st)
        st = cfx_pass_manager_add(pm, passes, &err);
    if (!st)
        st = cfx_pass_manager_run(pm, gm, NULL, &err);
    cfx_pass_manager_free(pm);
    return finish(self, gm, &run, st, &err);
}

PyObject *py_model_optimize(PyObject *self, PyObject *args)
{
    cfx_optimize_options how = {.size = sizeof(how)};
    PyObject *positional, *named, *out = NULL;
    int bfloat16, int8_weights;
    cfx_error err = {0};
    py_inputs in;
    py_run run;

    if (!PyArg_ParseTuple(args, "O!O!ppd", &PyTuple_Type, &positional,
                          &PyDict_Type, &named, &bfloat16, &int8_weights,
                          &how.tune_seconds))
        return NULL;
    how.bfloat16 = bfloat16;
    how.int8_weights = int8_weights;
    cfx_module *gm = py_inputs_shapes(&in, downcast(self), positional, named)
                         ? NULL
                         : copy_of(downcast(self));
    if (gm) {
        how.env = in.env;
        py_run_begin(&run, cfx_module_context(gm));
        cfx_status st = cfx_optimize(gm, in.value, in.n, &how, &err);
        out = finish(self, gm, &run, st, &err);
    }
    py_inputs_release(&in);
    return out;
}

/* ---- Quantization ---- */

typedef struct batches {
    py_inputs *item;
    size_t n;
} batches;

static cfx_status get_batch(void *user, size_t i, const cfx_value **inputs,
                            size_t *ninputs, cfx_error *err)
{
    const batches *b = user;

    (void)err;
    *inputs = b->item[i].value;
    *ninputs = b->item[i].n;
    return CFX_OK;
}

static void batches_release(batches *b)
{
    for (size_t i = 0; i < b->n; i++)
        py_inputs_release(&b->item[i]);
    free(b->item);
}

/* Each batch is a tuple of positional and a dict of named inputs. */
static int batches_bind(batches *b, py_model *m, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *positional, *named;

    b->item = calloc((size_t)n + 1, sizeof(*b->item));
    if (!b->item) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "O!O!", &PyTuple_Type,
                              &positional, &PyDict_Type, &named) ||
            py_inputs_bind(&b->item[b->n++], m, positional, named, NULL))
            return -1;
    }
    return 0;
}

static cfx_status quantize(cfx_module *gm, cfx_quantizer *q, batches *b,
                           bool gptq, cfx_error *err)
{
    const cfx_quant_data data = {
        .batch = get_batch, .user = b, .n = b->n, .sample = NULL};
    cfx_status st = cfx_quantize_prepare(gm, q, b->n ? b->item[0].value : NULL,
                                         b->n ? b->item[0].n : 0, NULL, err);

    if (!st && b->n)
        st = cfx_quantize_calibrate(gm, &data, err);
    if (!st && b->n && gptq)
        st = cfx_quantize_gptq(gm, &data, err);
    return st ? st : cfx_quantize_convert(gm, NULL, err);
}

PyObject *py_model_quantize(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *list, *out = NULL;
    batches b = {0};
    cfx_error err = {0};
    cfx_quantizer q;
    py_run run;
    int gptq;

    if (!PyArg_ParseTuple(args, "O!sp", &PyList_Type, &list, &name, &gptq))
        return NULL;
    const cfx_quantizer_class *cls = cfx_find_quantizer(name);
    if (!cls)
        return PyErr_Format(PyExc_LookupError, "there is no quantizer '%s'",
                            name);
    cfx_quantizer_init(&q, cls);
    cfx_module *gm = batches_bind(&b, downcast(self), list)
                         ? NULL
                         : copy_of(downcast(self));
    if (gm) {
        py_run_begin(&run, cfx_module_context(gm));
        cfx_status st = quantize(gm, &q, &b, gptq, &err);
        out = finish(self, gm, &run, st, &err);
    }
    batches_release(&b);
    return out;
}

/* ---- Files ---- */

/* Save in a format that has the shapes of all values. */
static cfx_status save_shaped(const char *path, cfx_module *gm,
                              const py_inputs *in, bool aten, cfx_error *err)
{
    const cfx_save_options how = {.size = sizeof(how), .env = in->env};
    cfx_module *lowered = NULL;
    cfx_status st = aten ? cfx_to_aten(&lowered, gm, in->env, in->value, in->n,
                                       err)
                         : cfx_to_onnx(&lowered, gm, in->env, in->value, in->n,
                                       err);

    if (!st)
        st = cfx_model_save(path, lowered, aten ? &how : NULL, err);
    cfx_module_unref(lowered);
    return st;
}

PyObject *py_model_save(PyObject *self, PyObject *args)
{
    PyObject *path, *positional, *named;
    cfx_error err = {0};
    py_inputs in = {0};
    py_run run;

    if (!PyArg_ParseTuple(args, "O&O!O!", PyUnicode_FSConverter, &path,
                          &PyTuple_Type, &positional, &PyDict_Type, &named))
        return NULL;
    py_model *m = downcast(self);
    const char *name = PyBytes_AsString(path);
    const cfx_model_format *format = cfx_model_format_of_name(name);
    const cfx_save_options how = {.size = sizeof(how), .lossless = true};
    bool shaped = format && format->options & (CFX_SAVE_ATEN | CFX_SAVE_CALLS);
    int failed = shaped && py_inputs_shapes(&in, m, positional, named);

    if (!failed) {
        py_run_begin(&run, py_model_context(m));
        cfx_status st = shaped ? save_shaped(name, m->gm, &in,
                                             format->options & CFX_SAVE_ATEN,
                                             &err)
                               : cfx_model_save(name, m->gm, &how, &err);
        failed = py_run_end(&run, st) || st;
        if (st)
            py_fail(st, &err);
    }
    py_inputs_release(&in);
    Py_DECREF(path);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}
