/*
 * context -- contexts by number of threads, and runs without the GIL.
 */
#include "py.h"

#include <signal.h>
#include <string.h>

/* ---- Contexts ---- */

enum { MOST_CONTEXTS = 64 };
static struct {
    int threads;
    cfx_context *ctx;
} contexts[MOST_CONTEXTS];
static int ncontexts;

/* Messages come from any thread, with or without the GIL. */
static void message(void *user, cfx_level level, const char *text)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *trace;

    (void)user;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *cfx = PyImport_ImportModule("cfx");
    PyObject *done = cfx ? PyObject_CallMethod(cfx, "_message", "is",
                                               level == CFX_WARNING, text)
                         : NULL;
    if (!done)
        PyErr_WriteUnraisable(NULL);
    Py_XDECREF(done);
    Py_XDECREF(cfx);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(gil);
}

cfx_context *py_context(int threads)
{
    const cfx_options how = {
        .size = sizeof(how), .threads = threads, .message = message};
    cfx_error err = {0};
    cfx_context *ctx;

    for (int i = 0; i < ncontexts; i++)
        if (contexts[i].threads == threads)
            return contexts[i].ctx;
    if (threads < 0 || ncontexts == MOST_CONTEXTS) {
        PyErr_Format(PyExc_ValueError, "%d threads: %s", threads,
                     threads < 0 ? "should be 0 or more"
                                 : "too many different numbers of threads");
        return NULL;
    }
    cfx_status st = cfx_context_new(&ctx, &how, &err);
    if (st) {
        py_fail(st, &err);
        return NULL;
    }
    st = cfx_register_op(ctx, &py_torch_call, &err);
    if (st) {
        cfx_context_free(ctx);
        py_fail(st, &err);
        return NULL;
    }
    contexts[ncontexts].threads = threads;
    contexts[ncontexts++].ctx = ctx;
    return ctx;
}

/* ---- Runs ---- */

static unsigned long main_thread;
/* The context that SIGINT cancels. */
static cfx_context *volatile running;
static PyOS_sighandler_t handler_before;

/* Python's own handler only notes the signal, until bytecode runs again. */
static void interrupt(int number)
{
    cfx_context *ctx = running;

    if (ctx)
        cfx_context_cancel(ctx);
    handler_before(number);
}

/* A program that sets a handler by `signal` removes this one, so that every run
 * looks. What ignores the signal, or ends the process, is left alone. */
static void watch_interrupts(void)
{
    PyOS_sighandler_t now = PyOS_getsig(SIGINT);

    if (now == interrupt || now == SIG_DFL || now == SIG_IGN || now == SIG_ERR)
        return;
    handler_before = now;
    PyOS_setsig(SIGINT, interrupt);
}

int py_contexts_init(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading,
                                                       "main_thread", NULL)
                                 : NULL;
    PyObject *id = thread ? PyObject_GetAttrString(thread, "ident") : NULL;

    main_thread = id ? PyLong_AsUnsignedLong(id) : 0;
    Py_XDECREF(threading);
    Py_XDECREF(thread);
    Py_XDECREF(id);
    return PyErr_Occurred() ? -1 : 0;
}

/* The exception of an operator in this thread's run; NULL: none. */
static _Thread_local struct {
    PyObject *type, *value, *trace;
} kept;

void py_exception_keep(void)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(kept.type);
    Py_XDECREF(kept.value);
    Py_XDECREF(kept.trace);
    kept.type = type;
    kept.value = value;
    kept.trace = trace;
}

/* Raise the kept exception, or drop it if the run went on without the operator. */
static void raise_kept(cfx_status st)
{
    if (!kept.type)
        return;
    if (st == CFX_EUSER && !PyErr_Occurred()) {
        PyErr_Restore(kept.type, kept.value, kept.trace);
    } else {
        Py_DECREF(kept.type);
        Py_XDECREF(kept.value);
        Py_XDECREF(kept.trace);
    }
    kept.type = kept.value = kept.trace = NULL;
}

void py_run_begin(py_run *run, cfx_context *ctx)
{
    run->ctx = ctx;
    run->main = PyThread_get_thread_ident() == main_thread;
    if (run->main) {
        watch_interrupts();
        run->outer = running;
        running = ctx;
    }
    run->thread = PyEval_SaveThread();
}

int py_run_end(py_run *run, cfx_status st)
{
    PyEval_RestoreThread(run->thread);
    raise_kept(st);
    if (!run->main)
        return 0;
    running = run->outer;
    if (!running && cfx_context_check(run->ctx, NULL) == CFX_ECANCEL)
        cfx_context_resume(run->ctx);
    return st == CFX_ECANCEL ? PyErr_CheckSignals() : 0;
}
