/*
 * memory_test -- a model is loaded and run while memory runs out: every
 * allocation fails in turn, for good or just once. Lack of memory is told, and
 * all is given back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

static long calls, fails_at = -1, held;
static size_t failed_size;
static bool once;

/* The heap asks again for what it did not get, after giving back what it kept;
 * that counts as the same allocation. */
static void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    void *p = NULL;
    if (failed_size == size) {
        failed_size = 0;
        return NULL;
    }
    long n = calls++;
    if (fails_at >= 0 && (once ? n == fails_at : n >= fails_at)) {
        failed_size = once ? size : 0;
        return NULL;
    }
    if (posix_memalign(&p, align < sizeof(p) ? sizeof(p) : align, size))
        return NULL;
    memset(p, 0xA5, size);
    held += (long)size;
    return p;
}

static void test_free(void *user, void *p, size_t size)
{
    (void)user;
    held -= (long)size;
    free(p);
}

/* ---- What is done ---- */

enum { MOST = 64 };

/* Two layers that are called as one module, and what has overloads, views,
 * several results and an effect. */
static const char encoder[] =
    "Net(\n"
    "  (enc): TransformerEncoder(\n"
    "    (layers): ModuleList(\n"
    "      (0-1): 2 x TransformerEncoderLayer(norm_first=True, "
    "activation='relu'\n"
    "        (self_attn): MultiheadAttention(num_heads=2, batch_first=True\n"
    "          (out_proj): NonDynamicallyQuantizableLinear(in_features=8, "
    "out_features=8, bias=True)\n"
    "        )\n"
    "        (linear1): Linear(in_features=8, out_features=16, bias=True)\n"
    "        (dropout): Dropout(p=0.1, inplace=False)\n"
    "        (linear2): Linear(in_features=16, out_features=8, bias=True)\n"
    "        (norm1): LayerNorm((8,), eps=1e-05, elementwise_affine=True, "
    "bias=True)\n"
    "        (norm2): LayerNorm((8,), eps=1e-05, elementwise_affine=True, "
    "bias=True)\n"
    "        (dropout1): Dropout(p=0.1, inplace=False)\n"
    "        (dropout2): Dropout(p=0.1, inplace=False)\n"
    "      )\n"
    "    )\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %enc : [num_users=1] = call_module[target=enc](args = (%x,), "
    "kwargs = {})\n"
    "    %mean : [num_users=1] = call_function[target=torch.mean](args = "
    "(%enc, 1), kwargs = {keepdim: True})\n"
    "    %topk : [num_users=1] = call_function[target=torch.topk](args = "
    "(%mean, 3), kwargs = {})\n"
    "    %getitem : [num_users=1] = call_function[target=operator.getitem]"
    "(args = (%topk, 0), kwargs = {})\n"
    "    %cat : [num_users=1] = call_function[target=torch.cat](args = "
    "([%getitem, %getitem],), kwargs = {dim: -1})\n"
    "    %view : [num_users=1] = call_method[target=view](args = (%cat, -1), "
    "kwargs = {})\n"
    "    return view\n";

/* A GraphModule that is called as a module, with all kinds of arguments, and
 * others that are arguments themselves. */
static const char control[] =
    "# cfx 1\n"
    "Net(\n"
    "  (f): Sub()\n"
    "  (g): Sub()\n"
    "  (h): Sub()\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %f : [num_users=1] = call_module[target=f](args = (%x, %x), kwargs = "
    "{k: 7})\n"
    "    %g : [num_users=5] = get_attr[target=g]\n"
    "    %h : [num_users=1] = get_attr[target=h]\n"
    "    %cond : [num_users=1] = call_function[target=torch.ops.higher_order."
    "cond](args = (True, %g, %g, (%f, 1)), kwargs = {})\n"
    "    %c0 : [num_users=2] = call_function[target=operator.getitem](args = "
    "(%cond, 0), kwargs = {})\n"
    "    %while_loop : [num_users=1] = call_function[target=torch.ops."
    "higher_order.while_loop](args = (%h, %g, (0, 3), ()), kwargs = {})\n"
    "    %w1 : [num_users=1] = call_function[target=operator.getitem](args = "
    "(%while_loop, 1), kwargs = {})\n"
    "    %map_impl : [num_users=1] = call_function[target=torch.ops."
    "higher_order.map_impl](args = (%g, [%f, %c0], []), kwargs = {})\n"
    "    %m0 : [num_users=1] = call_function[target=operator.getitem](args = "
    "(%map_impl, 0), kwargs = {})\n"
    "    %scan : [num_users=1] = call_function[target=torch.ops.higher_order."
    "scan](args = (%g, [0], [%m0], ()), kwargs = {})\n"
    "    %s1 : [num_users=2] = call_function[target=operator.getitem](args = "
    "(%scan, 1), kwargs = {})\n"
    "    %no_grad : [num_users=1] = call_function[target=torch.ops."
    "higher_order.wrap_with_set_grad_enabled](args = (False, %g, %s1, %c0), "
    "kwargs = {})\n"
    "    %n1 : [num_users=1] = call_function[target=operator.getitem](args = "
    "(%no_grad, 1), kwargs = {})\n"
    "    %all : [num_users=1] = call_function[target=operator.add](args = "
    "(%n1, %w1), kwargs = {})\n"
    "    return %all\n\n"
    "graph g():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %y : [num_users=2] = placeholder[target=y]\n"
    "    %a : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n"
    "    return (%a, %y)\n\n"
    "graph h():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %y : [num_users=0] = placeholder[target=y]\n"
    "    %lt : [num_users=1] = call_function[target=operator.lt](args = "
    "(%x, 10), kwargs = {})\n"
    "    return %lt\n\n"
    "graph f():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %args : [num_users=1] = placeholder[target='*args']\n"
    "    %kw : [num_users=1] = placeholder[target='**kw']\n"
    "    %a : [num_users=1] = call_function[target=operator.getitem](args = "
    "(%args, 0), kwargs = {})\n"
    "    %k : [num_users=1] = call_function[target=operator.getitem](args = "
    "(%kw, 'k'), kwargs = {})\n"
    "    %mul : [num_users=1] = call_function[target=operator.mul](args = "
    "(%x, %a), kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%mul, %k), kwargs = {})\n"
    "    return %add\n";

static cfx_status load_digits(cfx_module **out, cfx_context *ctx,
                              cfx_error *err)
{
    char path[512];
    const char *src = getenv("srcdir");
    snprintf(path, sizeof(path), "%s/models/digits.fx", src ? src : ".");
    return cfx_model_load(out, ctx, path, NULL, err);
}

static cfx_status load_encoder(cfx_module **out, cfx_context *ctx,
                               cfx_error *err)
{
    cfx_status st = cfx_parse_model(out, ctx, encoder, sizeof(encoder) - 1,
                                    "encoder", err);
    if (!st)
        st = cfx_module_randomize(*out, 1, err);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    return st;
}

static cfx_status load_control(cfx_module **out, cfx_context *ctx,
                               cfx_error *err)
{
    return cfx_parse_model(out, ctx, control, sizeof(control) - 1, "control",
                           err);
}

static const struct {
    cfx_status (*load)(cfx_module **out, cfx_context *ctx, cfx_error *err);
    int rank;
    int64_t shape[4];
} tasks[] = {
    {load_digits, 4, {2, 1, 8, 8}},
    {load_encoder, 3, {2, 5, 8}},
    {load_control, 2, {3, 4}},
};

enum { NTASKS = sizeof(tasks) / sizeof(tasks[0]) };

/* Load a model and run it; gives what comes out. */
static cfx_status do_task(int task, float *result, cfx_error *err)
{
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_status st = cfx_context_new(&ctx, &o, err);
    if (!st)
        st = tasks[task].load(&model, ctx, err);
    if (!st)
        st = cfx_tensor_new(&x, ctx, CFX_F32, tasks[task].rank,
                            tasks[task].shape, err);
    if (!st)
        st = cfx_tensor_randomize(x, 1, "x", err);
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, model, err);
    if (!st)
        st = cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &y,
                            err);
    memset(result, 0, MOST * sizeof(*result));
    if (!st)
        memcpy(result, y.u.tensor->data,
               (size_t)cfx_tensor_numel(y.u.tensor) * sizeof(*result));
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return st;
}

static void fail_each(int task, bool just_once)
{
    float want[MOST], have[MOST];
    cfx_error err = {0};
    long total, told = 0;
    ck_assert_msg(!do_task(task, want, &err), "%s", err.text);
    ck_assert_int_eq(held, 0);
    total = calls;
    ck_assert_int_gt(total, 50);
    once = just_once;
    for (long n = 0; n < total; n++) {
        cfx_error e = {0};
        calls = 0;
        fails_at = n;
        failed_size = 0;
        cfx_status st = do_task(task, have, &e);
        ck_assert_msg(!held, "allocation %ld: %ld bytes are lost", n, held);
        ck_assert_msg(st == CFX_ENOMEM || (!st && once),
                      "allocation %ld: %s (%s)", n, cfx_status_name(st),
                      e.text);
        ck_assert_msg(!st || e.code == st, "allocation %ld has no text", n);
        ck_assert(st || !memcmp(have, want, sizeof(want)));
        told += st != CFX_OK;
    }
    /* At most 5 % of the allocations may fail without an error. */
    ck_assert_int_ge(told, total - total / 20);
    printf("%ld allocations, %ld told\n", total, told);
}

TEST_EACH(every_allocation_of_a_model_may_be_the_last, NTASKS)
{
    fail_each(_i, false);
}

TEST_EACH(every_allocation_of_a_model_may_fail_once, NTASKS)
{
    fail_each(_i, true);
}

TEST_SUITE(memory, .timeout = 600)
