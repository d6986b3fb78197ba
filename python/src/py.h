/*
 * py.h -- what the files of the Python module share.
 *
 * The module is written against the limited API of CPython 3.11, so that one
 * shared object serves that version and all later ones. Functions that return an
 * object or an int follow CPython: NULL or -1 with an exception set on failure.
 * Operators, passes, quantizers and formats are reached by name through the public
 * headers; nothing here knows one of them.
 */
#ifndef CFX_PY_H
#define CFX_PY_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cfx.h>

/* ---- error.c ---- */

/* Add cfx.Error and a class for each status to the module. */
int py_errors_init(PyObject *module);
/* Raise the exception of a status, with the line in `err`, unless one is set: that
 * of a hook, which failed with CFX_EUSER. Returns NULL. */
PyObject *py_fail(cfx_status st, const cfx_error *err);

/* ---- context.c ---- */

int py_contexts_init(void);
/* The context with so many threads (0: as many as there are processors). Contexts
 * live as long as the process. */
cfx_context *py_context(int threads);

/*
 * Between these two the GIL is released. In the main thread, SIGINT cancels the
 * context's work; py_run_end then raises KeyboardInterrupt and returns -1 if `st`
 * says that the work was cancelled.
 */
typedef struct py_run {
    PyThreadState *thread;
    cfx_context *ctx;
    cfx_context *outer; /* of the run around this one */
    bool main;
} py_run;
void py_run_begin(py_run *run, cfx_context *ctx);
int py_run_end(py_run *run, cfx_status st);
/* Keep the exception that is set for the end of this thread's run: an operator in
 * Python failed. */
void py_exception_keep(void);

/* ---- torch_call.c ---- */

extern const cfx_op py_torch_call;

/* ---- tensor.c ---- */

/* The library whose tensors results are converted to: that of the first input. */
typedef struct py_kind {
    const struct DLPackExchangeAPI *api; /* of its type; or NULL */
    PyObject *from;   /* else a function of a cfx.Tensor; or NULL */
    PyObject *walker; /* whose nodes are proxies (borrowed); or NULL */
} py_kind;

extern PyTypeObject *py_tensor_type;
/* The format of the struct module for a type; NULL: none. */
const char *py_format_of(cfx_dtype t);
/* The tensor of a cfx.Tensor, borrowed; and a new one. */
cfx_tensor *py_tensor_of(PyObject *o);
PyObject *py_tensor_wrap_take(cfx_tensor *t);
int py_tensor_init(PyObject *module);
/*
 * Import a tensor of any library without a copy. Returns 1, 0 for an object that
 * is no tensor, -1 on failure. *kind, if not NULL and not yet set, becomes that of
 * the object's library. `writable`: fail for memory that may not be written.
 */
int py_tensor_import(cfx_tensor **out, cfx_context *ctx, PyObject *o,
                     py_kind *kind, bool writable);
/* A tensor as an object of a kind (NULL: cfx.Tensor). Takes the reference. */
PyObject *py_tensor_export_take(cfx_tensor *t, const py_kind *kind);
void py_kind_clear(py_kind *kind);
/* Set the kind to PyTorch's tensors, unless it is set; and the address of such a
 * tensor's memory, NULL if it has none. */
int py_torch_kind(py_kind *kind);
void *py_torch_data(const py_kind *kind, PyObject *o);

/* ---- value.c ---- */

int py_value_import(cfx_value *out, cfx_context *ctx, PyObject *o,
                    py_kind *kind, bool writable);
/* An extent: an int, or the text of an expression. */
PyObject *py_dim_export(cfx_dim d);
PyObject *py_value_export(cfx_value v, const py_kind *kind);

/* A sink that appends to text, and the text as a str. */
typedef struct py_text {
    char *s;
    size_t len, cap;
} py_text;
cfx_sink py_sink(py_text *text);
/* Release the text; a str of it if `st` is CFX_OK. */
PyObject *py_text_take(py_text *text, cfx_status st, const cfx_error *err);

/* ---- graph.c ---- */

int py_graph_init(PyObject *module);
/* The graph of a module, and a node of it, which keep the module. */
PyObject *py_graph_new(cfx_module *gm);
PyObject *py_node_new(cfx_module *gm, const cfx_node *n);
/* Let the meta of nodes in Python follow that of the graph. */
int py_graph_update_meta(cfx_module *gm);
/* Drop that meta: the model has ended. */
void py_graph_drop_meta(cfx_module *gm);
/* The node of an object; NULL with an exception for any other. */
const cfx_node *py_node_of(PyObject *o);
PyObject *py_print(cfx_status (*print)(cfx_sink, const cfx_graph *,
                                       cfx_error *),
                   const cfx_graph *g);

/* ---- model.c ---- */

typedef struct py_model {
    PyObject_HEAD cfx_module *gm;
    struct py_walk *idle; /* interpreters that no thread uses */
    int writes; /* may the graph write to its inputs; -1: not known yet */
    cfx_storage *
        *state; /* of parameters and buffers; NULL: not collected yet */
    size_t nstate;
} py_model;

extern PyTypeObject *py_model_type;
int py_model_init(PyObject *module);
cfx_context *py_model_context(const py_model *m);
/* A new model of the class. Takes the reference to gm, also on failure. */
PyObject *py_model_new_take(PyTypeObject *cls, cfx_module *gm);
/* Call a model with PyTorch's arguments at n places of an array. */
PyObject *py_model_run(py_model *m, PyObject *const *args,
                       const Py_ssize_t *place, Py_ssize_t n);
/* Free the interpreters, whose graph or state has changed. */
void py_model_drop_walks(py_model *m);

/* ---- state.c ---- */

PyObject *py_model_state(PyObject *self, PyObject *unused);
PyObject *py_model_set_state(PyObject *self, PyObject *args);
int py_state_collect(py_model *m);
void py_state_forget(py_model *m);
/* Replace results that lie in the memory of parameters or buffers by copies. */
cfx_status py_state_copy_results(py_model *m, cfx_value *result,
                                 cfx_error *err);

/* ---- guard.c ---- */

int py_guard_init(PyObject *module);

/* ---- inputs.c ---- */

/* The inputs of a call, in the order of the placeholders. */
typedef struct py_inputs {
    cfx_value *value;
    size_t n;
    cfx_shape_env *env; /* of symbols, for shapes; or NULL */
    cfx_value few[8];
} py_inputs;

/* Import the arguments of a call of a model. Release the inputs, also on failure. */
int py_inputs_bind(py_inputs *in, py_model *m, PyObject *args,
                   PyObject *kwargs, py_kind *kind);
/* Likewise, of the arguments at some places of an array. */
int py_inputs_bind_places(py_inputs *in, py_model *m, PyObject *const *args,
                          const Py_ssize_t *place, Py_ssize_t n,
                          py_kind *kind);
/* The types and shapes of arguments, which may be text such as "f32[N, 3]". Those
 * that are not given are as the model declares them. */
int py_inputs_shapes(py_inputs *in, py_model *m, PyObject *args,
                     PyObject *kwargs);
void py_inputs_release(py_inputs *in);

/* ---- interp.c ---- */

int py_interp_init(PyObject *module);

/* ---- transformer.c ---- */

int py_transformer_init(PyObject *module);
/* The proxy of a transformer for a node of its new graph. */
PyObject *py_proxy_new(PyObject *transformer, cfx_node *n);
/* Import a proxy. Returns 1, 0 for any other object, -1 on failure. */
int py_proxy_import(cfx_value *out, PyObject *o);

/* ---- report.c ---- */

int py_report_init(PyObject *module);
PyObject *py_model_shapes(PyObject *self, PyObject *args);
PyObject *py_model_roofline(PyObject *self, PyObject *args);

/* ---- rewrite.c ---- */

PyObject *py_model_transform(PyObject *self, PyObject *args);
PyObject *py_model_optimize(PyObject *self, PyObject *args);
PyObject *py_model_quantize(PyObject *self, PyObject *args);
PyObject *py_model_save(PyObject *self, PyObject *args);

#endif
