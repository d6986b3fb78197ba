#define _POSIX_C_SOURCE 200809L
/*
 * opcases_effects_test -- every case in the golden files does what its effects
 * say, and no more: arguments that are not written keep their numbers, results
 * that are no views share no memory, and the random generator stands still.
 * Arguments: the golden files; -k TEXT: only cases that hold it.
 */
#include <cfx/effects.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/util.h"
#include "tensor/storage.h"
#include "tests/cases/program.h"
#include "tests/cases/case.h"

static int passed, failed;
static const char *file;
static int number;

static void claim(bool ok, const cfx_call *call, const char *what, int k)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("%s:%d: %s: parameter '%s' %s\n", file, number, call->schema->name,
           k < 0 ? "" : call->schema->params[k].name, what);
}

/* ---- What is in an argument ---- */

static uint64_t add_tensor(uint64_t sum, const cfx_tensor *t)
{
    if (cfx_tensor_is_meta(t))
        return sum;
    for (int64_t flat = 0, n = cfx_tensor_numel(t); flat < n; flat++) {
        int64_t index[CFX_MAX_RANK], rest = flat;
        unsigned char bytes[16];
        uint64_t word = 0;
        size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
        for (int i = t->rank - 1; i >= 0; i--) {
            index[i] = rest % cfx_tensor_size(t, i);
            rest /= cfx_tensor_size(t, i);
        }
        memcpy(bytes, cfx_tensor_at(t, index), size);
        for (size_t i = 0; i < size; i++)
            word = word * 257 + bytes[i];
        sum = cfx_mix64(sum ^ word) + 1;
    }
    return sum;
}

static cfx_status sum_value(void *user, cfx_value v)
{
    uint64_t *sum = user;
    if (v.kind == CFX_TENSOR)
        *sum = add_tensor(*sum, v.u.tensor);
    return CFX_OK;
}

static uint64_t sum_of(cfx_value v)
{
    uint64_t sum = 0;
    cfx_value_visit(v, sum_value, &sum);
    return sum;
}

/* Does a tensor of the one share memory with one of the other? */
typedef struct sharing {
    const cfx_tensor *t;
    cfx_value with;
    bool found;
} sharing;

static cfx_status shares_inner(void *user, cfx_value v)
{
    sharing *s = user;
    if (v.kind == CFX_TENSOR && !cfx_tensor_is_meta(v.u.tensor) &&
        !cfx_tensor_is_meta(s->t) && cfx_tensor_shares(v.u.tensor, s->t))
        s->found = true;
    return CFX_OK;
}

static cfx_status shares_outer(void *user, cfx_value v)
{
    sharing *s = user;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    s->t = v.u.tensor;
    return cfx_value_visit(s->with, shares_inner, s);
}

static bool shares(cfx_value a, cfx_value b)
{
    sharing s = {.with = b};
    cfx_value_visit(a, shares_outer, &s);
    return s.found;
}

/* ---- A scope that compares ---- */

static cfx_status watched_call(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_effects e = cfx_call_effects(call);
    uint64_t before[CFX_MAX_PARAMS], counter = s->ctx->random_counter;
    cfx_value in[CFX_MAX_PARAMS];
    int n = call->schema->nparams;
    for (int k = 0; k < n; k++) {
        in[k] = call->in[k];
        before[k] = sum_of(in[k]);
    }
    cfx_status st = cfx_call_eager(call, out);
    if (st)
        return st;
    claim(e.random || s->ctx->random_counter == counter, call,
          "draws random numbers", -1);
    for (int k = 0; k < n; k++) {
        bool written = false; /* through another of them */
        for (int i = 0; i < n && !written; i++)
            written = e.writes >> i & 1 && shares(in[i], in[k]);
        claim(written || before[k] == sum_of(in[k]), call, "is written", k);
        bool viewed = e.views >> k & 1;
        for (int i = 0; i < n && !viewed; i++)
            viewed = e.views >> i & 1 && shares(in[i], in[k]);
        claim(viewed || !shares(*out, in[k]), call, "is viewed", k);
    }
    return CFX_OK;
}

static const cfx_scope_class watched = {
    .size = sizeof(cfx_scope_class),
    .name = "watched",
    .super = &cfx_eager_class,
    .call_op = watched_call,
};

static void check_line(void *user, const char *path, int line_number,
                       const char *line)
{
    cfx_context *ctx = user;
    file = path;
    number = line_number;
    const char *tab = strchr(line, '\t');
    char why[3000] = "";
    op_case c;
    cfx_scope s;
    if (!tab)
        return;
    cfx_scope_init(&s, &watched, ctx, NULL);
    if (case_read(&c, &s, line, (size_t)(tab - line), why, sizeof(why)))
        case_run(&c, &s);
    case_release(&c);
    cfx_scope_release(&s);
}

TEST_PROGRAM(opcases_effects)
{
    const char *only = NULL;
    cfx_context *ctx;
    cfx_error err = {.code = CFX_OK};
    if (cfx_context_new(&ctx, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-k") && i + 1 < argc)
            only = argv[++i];
        else if (!case_lines(argv[i], only, check_line, ctx))
            failed++;
    }
    cfx_context_free(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
