/*
 * stop_test -- long kernels heed the time limit and cancelling.
 *
 * Each row takes far longer than the limit, and is to end soon after it. The
 * memory of inputs is not touched beforehand: it costs nothing until it is
 * read. No row takes more than 4 GB: to map and free that costs the sanitizers
 * a second.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "base/context_impl.h"
#include "base/stop.h"
#include "base/util.h"
#include "tests/unit/unit.h"

static cfx_error err;

#ifdef CFX_SANITIZED
enum { SLACK = 10 }; /* they clear shadow memory for gigabytes, too */
#else
enum { SLACK = 2 };
#endif

/* Seconds that a busy machine may add; $CFX_STOP_SLACK on an idle one. */
static double slack(void)
{
    const char *s = getenv("CFX_STOP_SLACK");
    return s ? atof(s) : SLACK;
}

static double now(void)
{
    return (double)cfx_clock_ns() / 1e9;
}

typedef struct row {
    const char *name, *target, *rest; /* target(x + rest) */
    cfx_dtype dtype;
    int rank;
    int64_t shape[5];
    const char *module; /* instead of a function, called with x */
    cfx_cpu cpu;
} row;

/* clang-format off */
static const row rows[] = {
    {"31x31 convolution", NULL, NULL, CFX_F32, 4, {1, 64, 256, 256},
     "Conv2d(64, 64, kernel_size=(31, 31), stride=(1, 1), padding=(15, 15), "
     "bias=False)", CFX_CPU_PLAIN},
    {"transposed convolution", NULL, NULL, CFX_F32, 4, {1, 64, 120, 120},
     "ConvTranspose2d(64, 64, kernel_size=(31, 31), stride=(1, 1), bias=False)",
     CFX_CPU_PLAIN},
    {"depthwise convolution", NULL, NULL, CFX_F32, 4, {1, 64, 1024, 1024},
     "Conv2d(64, 64, kernel_size=(31, 31), stride=(1, 1), padding=(15, 15), "
     "groups=64, bias=False)", CFX_CPU_PLAIN},
    {"product", "torch.matmul", "%x", CFX_F64, 2, {4096, 4096}, NULL,
     CFX_CPU_PLAIN},
    {"product of integers", "torch.matmul", "%x", CFX_I64, 2, {4096, 4096},
     NULL, CFX_CPU_BEST},
    {"batch of products", "torch.matmul", "%x", CFX_F64, 3, {8, 2048, 2048},
     NULL, CFX_CPU_PLAIN},
    {"sort", "torch.sort", NULL, CFX_F32, 1, {100000000}, NULL, CFX_CPU_BEST},
    {"sort of columns", "torch.sort", "0", CFX_I64, 2, {10000000, 4}, NULL,
     CFX_CPU_BEST},
    {"topk", "torch.topk", "10000000", CFX_F32, 1, {100000000}, NULL,
     CFX_CPU_BEST},
    {"cumsum", "torch.cumsum", "0", CFX_F32, 1, {1000000000}, NULL,
     CFX_CPU_BEST},
    {"cumsum of columns", "torch.cumsum", "0", CFX_F32, 2, {100000000, 8},
     NULL, CFX_CPU_BEST},
    {"softmax", "torch.softmax", "0", CFX_F64, 1, {500000000}, NULL,
     CFX_CPU_PLAIN},
    {"norm", "torch.norm", "2.5", CFX_F64, 1, {500000000}, NULL,
     CFX_CPU_PLAIN},
    {"nonzero", "torch.nonzero", NULL, CFX_U8, 1, {1000000000}, NULL,
     CFX_CPU_BEST},
    {"distances", "torch.cdist", "%x, 3.5", CFX_F64, 2, {20000, 64}, NULL,
     CFX_CPU_BEST},
    {"copy", "torch.Tensor.double", NULL, CFX_U8, 1, {400000000}, NULL,
     CFX_CPU_PLAIN},
};
/* clang-format on */
enum { NROWS = sizeof(rows) / sizeof(*rows) };

static cfx_module *module_of(cfx_context *ctx, const row *r)
{
    char text[1024];
    cfx_module *gm = NULL;

    if (r->module)
        snprintf(text, sizeof(text),
                 "Net(\n  (m): %s\n)\n\n\n\ngraph():\n"
                 "    %%x : [num_users=1] = placeholder[target=x]\n"
                 "    %%y : [num_users=1] = call_module[target=m](args = "
                 "(%%x,), kwargs = {})\n    return y\n",
                 r->module);
    else
        snprintf(text, sizeof(text),
                 "Net()\n\n\n\ngraph():\n"
                 "    %%x : [num_users=1] = placeholder[target=x]\n"
                 "    %%y : [num_users=1] = %s[target=%s](args = (%%x%s%s), "
                 "kwargs = {})\n    return y\n",
                 strncmp(r->target, "torch.Tensor.", 13) ? "call_function"
                                                         : "call_method",
                 strncmp(r->target, "torch.Tensor.", 13) ? r->target
                                                         : r->target + 13,
                 r->rest ? ", " : ",", r->rest ? r->rest : "");
    ck_assert_msg(
        !cfx_parse_model(&gm, ctx, text, strlen(text), r->name, &err), "%s",
        err.text);
    return gm;
}

/* Parameters get memory, whatever is in it. */
static void give_weights(cfx_module *gm, cfx_context *ctx)
{
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            int64_t shape[CFX_MAX_RANK];
            cfx_tensor *t;
            if (!s->tensor)
                continue;
            for (int k = 0; k < s->tensor->rank; k++)
                shape[k] = cfx_tensor_size(s->tensor, k);
            ck_assert_int_eq(
                cfx_tensor_new(&t, ctx, CFX_F32, s->tensor->rank, shape, &err),
                CFX_OK);
            ck_assert_int_eq(cfx_module_set(m, s->name, t, &err), CFX_OK);
            cfx_tensor_unref(t);
        }
}

static void *cancel_later(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    cfx_context_cancel(arg);
    return NULL;
}

/* Run a row until its context stops: how long it took after it was to stop. */
static double overrun(const row *r, bool cancel)
{
    cfx_context *ctx;
    cfx_tensor *x;
    cfx_interp it = {0};
    cfx_value in, out;
    pthread_t thread;
    double begin = now();
    const cfx_options o = {
        .size = sizeof(o), .cpu = r->cpu, .timeout = cancel ? 0 : 0.3};

    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    cfx_module *gm = module_of(ctx, r);
    give_weights(gm, ctx);
    ck_assert_msg(!cfx_tensor_new(&x, ctx, r->dtype, r->rank, r->shape, &err),
                  "%s", err.text);
    in = cfx_value_of_tensor(x);
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), CFX_OK);
    if (cancel)
        ck_assert(!pthread_create(&thread, NULL, cancel_later, ctx));
    cfx_status st = cfx_interp_run(&it, &in, 1, &out, &err);
    double took = now() - begin;
    if (cancel)
        pthread_join(thread, NULL);
    ck_assert_msg(st == (cancel ? CFX_ECANCEL : CFX_ELIMIT), "%s: %d %s",
                  r->name, st, err.text);
    cfx_interp_release(&it);
    cfx_value_unref(in);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return took - 0.3;
}

static void assert_stops(const row *r, bool cancel)
{
    double late = overrun(r, cancel);

    if (getenv("CFX_STOP_SLACK"))
        printf("%-24s %s %.3f s late\n", r->name, cancel ? "cancel" : "limit ",
               late);
    ck_assert_msg(late < slack(), "%s: %.3f s late", r->name, late);
}

TEST_EACH(long_kernels_heed_the_time_limit, NROWS)
{
    assert_stops(&rows[_i], false);
}

TEST_EACH(long_kernels_heed_cancelling, NROWS)
{
    assert_stops(&rows[_i], true);
}

/* ---- What is left out ---- */

static void count_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    __atomic_fetch_add((int64_t *)arg, end - begin, __ATOMIC_RELAXED);
}

TEST_CASE(pieces_are_left_out_once_a_context_stops)
{
    for (int threads = 1; threads <= 3; threads++) {
        cfx_context *ctx;
        int64_t done = 0;
        const cfx_options o = {.size = sizeof(o), .threads = threads};

        ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
        cfx_parallel_for(ctx, 1000, 10, count_piece, &done);
        ck_assert_int_eq(done, 1000);
        ck_assert(!cfx_context_stops(ctx));
        cfx_context_cancel(ctx);
        ck_assert(cfx_context_stops(ctx));
        cfx_parallel_for(ctx, 1000, 10, count_piece, &done);
        ck_assert_int_eq(done, 1000);
        cfx_context_free(ctx);
    }
}

TEST_CASE(long_fills_are_whole_unless_a_context_stops)
{
    cfx_context *ctx;
    size_t n = (3 << 20) + 7;
    char *a = malloc(n);

    ck_assert(a);
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    cfx_fill_bytes(ctx, a, 5, n);
    for (size_t i = 0; i < n; i++)
        assert_each_eq(a[i], 5);
    cfx_context_cancel(ctx);
    cfx_fill_bytes(ctx, a, 6, n);
    for (size_t i = 0; i < n; i++)
        assert_each_eq(a[i], 5);
    cfx_context_free(ctx);
    free(a);
}

TEST_SUITE(stop, .timeout = 120)
