/*
 * observers_test -- what observers choose after several batches.
 *
 * A line of the golden is a module case whose arguments are batches, and behind
 * the TAB scales, zero points, min_val and max_val (tests/oracle/observers.py).
 */
#include <cfx/observer.h>

#include <stdio.h>
#include <string.h>

#include "tests/cases/case.h"
#include "tests/cases/program.h"

struct counts {
    cfx_context *ctx;
    int passed, failed;
};

/* ---- Text ---- */

struct text {
    char *at, *end;
};

static void put(struct text *t, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(t->end - t->at) <= n)
        return;
    memcpy(t->at, word, n + 1);
    t->at += n;
}

/* A tensor of float32 or int64 as the golden has it. */
static void put_tensor(struct text *t, const cfx_tensor *x)
{
    for (int64_t i = 0, n = cfx_tensor_numel(x); i < n; i++) {
        char word[64];
        if (x->dtype == CFX_I64)
            snprintf(word, sizeof(word), "%lld",
                     (long long)((const int64_t *)x->data)[i]);
        else
            snprintf(word, sizeof(word), "%.9g",
                     (double)((const float *)x->data)[i]);
        put(t, i ? " " : "");
        put(t, word);
    }
}

static void put_state(struct text *t, const cfx_module *m, const char *name)
{
    const cfx_state *s = cfx_module_state(m, name);
    if (!s)
        return;
    put(t, " ; ");
    put_tensor(t, s->tensor);
}

/* ---- A line ---- */

/* Show all batches to a new module of the case, since that of the case has
 * random state. */
static cfx_status observe(cfx_scope *s, const op_case *c, cfx_module **out,
                          cfx_error *err)
{
    const cfx_args made = {c->made.args, c->made.nargs, c->made.kwargs,
                           c->made.nkwargs};
    cfx_status st = cfx_module_new(out, s->ctx, cfx_module_type_of(c->module),
                                   NULL, made, err);
    for (size_t i = 0; i < c->ntensors && !st; i++) {
        cfx_value v;
        st = cfx_scope_call_module(
            s, *out, NULL, CFX_ARGS(cfx_value_of_tensor(c->tensor[i])), &v);
        if (st)
            cfx_scope_status(s, err);
        else if (v.kind != CFX_TENSOR || v.u.tensor != c->tensor[i])
            st = cfx_fail(err, CFX_EINVAL, "the result is not the argument");
        cfx_value_unref(v);
    }
    return st;
}

static cfx_status show(cfx_scope *s, const op_case *c, struct text *t,
                       cfx_error *err)
{
    cfx_module *m = NULL;
    cfx_tensor *scale = NULL, *zero = NULL;
    cfx_status st = observe(s, c, &m, err);
    if (!st)
        st = cfx_observer_qparams(m, &scale, &zero, err);
    if (!st) {
        put_tensor(t, scale);
        put(t, " ; ");
        put_tensor(t, zero);
        put_state(t, m, "min_val");
        put_state(t, m, "max_val");
    }
    cfx_tensor_unref(scale);
    cfx_tensor_unref(zero);
    cfx_module_unref(m);
    return st;
}

static void check_line(void *user, const char *file, int number,
                       const char *line)
{
    struct counts *n = user;
    const char *tab = strchr(line, '\t');
    char got[2000] = "", why[500] = "";
    struct text t = {got, got + sizeof(got)};
    cfx_error err = {0};
    op_case c;
    cfx_scope s;
    if (!tab)
        return;
    cfx_scope_init(&s, &cfx_eager_class, n->ctx, NULL);
    bool ok = case_read(&c, &s, line, (size_t)(tab - line), why,
                        sizeof(why)) &&
              !show(&s, &c, &t, &err) && !strcmp(got, tab + 1);
    n->passed += ok;
    n->failed += !ok;
    if (!ok)
        printf("%s:%d: %.*s\n    %s%s\n    %s, not %s\n", file, number,
               (int)(tab - line), line, why, err.text, got, tab + 1);
    case_release(&c);
    cfx_scope_release(&s);
}

TEST_PROGRAM(observers)
{
    struct counts n = {0};
    cfx_error err = {0};
    if (cfx_context_new(&n.ctx, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++)
        if (!case_lines(argv[i], NULL, check_line, &n))
            n.failed++;
    cfx_context_free(n.ctx);
    printf("%d passed, %d failed\n", n.passed, n.failed);
    return n.failed || !n.passed;
}
