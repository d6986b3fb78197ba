/*
 * peak_test -- what a run holds at its peak: the weights, the largest set of
 * values that are still wanted, and little besides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/ops.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

#define MIB ((size_t)1 << 20)

/* Most bytes that kernels take for scratch. */
#define SCRATCH (20 * MIB)

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
}

/* ---- The largest set of values that are still wanted ---- */

enum { MAX_VALUES = 4096 };

struct live {
    cfx_interp base;
    uint32_t at;                       /* nodes run */
    const cfx_storage *of[MAX_VALUES]; /* the value that each node gave */
    size_t size[MAX_VALUES];
    uint32_t last[MAX_VALUES]; /* by whom it is used last */
    size_t largest;
};

static cfx_status live_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out);

static const cfx_interp_class live_class = {
    .size = sizeof(cfx_interp_class),
    .name = "live",
    .super = &cfx_interp_base,
    .run_node = live_run_node,
};

/* A view counts for what it views: each storage once, as long as any of its
 * tensors is wanted. */
static size_t wanted_now(const struct live *l)
{
    size_t sum = 0;
    for (uint32_t i = 0; i <= l->at; i++) {
        bool counted = !l->of[i] || l->last[i] < l->at;
        for (uint32_t k = 0; k < i && !counted; k++)
            counted = l->of[k] == l->of[i] && l->last[k] >= l->at;
        sum += counted ? 0 : l->size[i];
    }
    return sum;
}

static cfx_status live_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    struct live *l = (struct live *)it;
    cfx_status st = CFX_SUPER(&live_class, run_node)(it, n, out);
    if (st)
        return st;
    if (out->kind == CFX_TENSOR) {
        const cfx_tensor *t = out->u.tensor;
        l->of[l->at] = t->storage;
        l->size[l->at] = (size_t)cfx_tensor_numel(t) *
                         cfx_dtype_size((cfx_dtype)t->dtype);
    }
    size_t now = wanted_now(l);
    l->largest = now > l->largest ? now : l->largest;
    l->at++;
    return CFX_OK;
}

static void find_last_uses(struct live *l, const cfx_graph *g)
{
    uint32_t at = 0;
    uint32_t *place = calloc(cfx_graph_ids(g), sizeof(*place));
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n), at++) {
        ck_assert_uint_lt(at, MAX_VALUES);
        place[n->id] = l->last[at] = at;
        for (uint32_t i = 0; i < n->ninputs; i++)
            l->last[place[cfx_node_input(n, i)->id]] = at;
    }
    free(place);
}

/* ---- Runs ---- */

/* The peak of a run's memory, less what was held before. */
static size_t peak_of(cfx_module *gm, int rank, const int64_t *shape,
                      struct live *l)
{
    cfx_tensor *x;
    cfx_value out;
    size_t before = cfx_context_memory(ctx);
    ck_assert_uint_eq(cfx_context_peak_memory(ctx) <= before + 2 * MIB, 1);
    if (cfx_tensor_new(&x, ctx, CFX_F32, rank, shape, &err) ||
        cfx_tensor_randomize(x, 1, "x", &err) ||
        cfx_interp_init(&l->base, &live_class, gm, &err))
        ck_abort_msg("%s", err.text);
    find_last_uses(l, cfx_graph_module_graph(gm));
    cfx_value in = cfx_value_of_tensor(x);
    if (cfx_interp_run(&l->base, &in, 1, &out, &err))
        ck_abort_msg("%s", err.text);
    size_t peak = cfx_context_peak_memory(ctx) - before;
    cfx_value_unref(out);
    cfx_interp_release(&l->base);
    cfx_tensor_unref(x);
    return peak;
}

static size_t size_of_state(const cfx_module *gm)
{
    size_t sum = 0;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_tensor *t = cfx_module_state_at(m, i)->tensor;
            sum += t ? (size_t)cfx_tensor_numel(t) *
                           cfx_dtype_size((cfx_dtype)t->dtype)
                     : 0;
        }
    return sum;
}

static void check_model(const char *path, const int64_t *shape)
{
    static struct live l;
    cfx_module *gm;
    cfx_load_options o = {.size = sizeof(o), .random_weights = true};
    memset(&l, 0, sizeof(l));
    if (cfx_model_load(&gm, ctx, path, &o, &err))
        ck_abort_msg("%s", err.text);
    size_t weights = cfx_context_memory(ctx), state = size_of_state(gm);
    size_t peak = peak_of(gm, 4, shape, &l);
    printf("%s: weights %zu KiB, held %zu, values %zu, peak beyond %zu\n",
           path, state >> 10, weights >> 10, l.largest >> 10, peak >> 10);
    /* A module or a node is small. */
    ck_assert_uint_le(weights, state + state / 50 + 2 * MIB);
    ck_assert_uint_gt(l.largest, MIB);
    ck_assert_msg(peak <= l.largest + SCRATCH,
                  "%s: %zu bytes at the peak, "
                  "where %zu are wanted",
                  path, peak, l.largest);
    cfx_module_unref(gm);
}

static const char *in_zoo(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s.fx", getenv("CFX_ZOO"), name);
    return path;
}

TEST_EACH(a_run_holds_the_weights_and_what_is_still_wanted, 4)
{
    static const char *const name[] = {"resnet50", "mobilenet_v2", "vgg11",
                                       "efficientnet_b0"};
    if (getenv("CFX_ZOO"))
        check_model(in_zoo(name[_i]), (int64_t[]){2, 3, 224, 224});
}

/* ---- Many layers in one module ---- */

static const char encoder[] =
    "Net(\n"
    "  (enc): TransformerEncoder(\n"
    "    (layers): ModuleList(\n"
    "      (0-%d): %d x TransformerEncoderLayer(norm_first=%s, "
    "activation='relu'\n"
    "        (self_attn): MultiheadAttention(num_heads=4, batch_first=True\n"
    "          (out_proj): NonDynamicallyQuantizableLinear(in_features=128, "
    "out_features=128, bias=True)\n"
    "        )\n"
    "        (linear1): Linear(in_features=128, out_features=512, bias=True)\n"
    "        (dropout): Dropout(p=0.1, inplace=False)\n"
    "        (linear2): Linear(in_features=512, out_features=128, bias=True)\n"
    "        (norm1): LayerNorm((128,), eps=1e-05, elementwise_affine=True, "
    "bias=True)\n"
    "        (norm2): LayerNorm((128,), eps=1e-05, elementwise_affine=True, "
    "bias=True)\n"
    "        (dropout1): Dropout(p=0.1, inplace=False)\n"
    "        (dropout2): Dropout(p=0.1, inplace=False)\n"
    "      )\n"
    "    )\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%enc : [num_users=1] = call_module[target=enc](args = (%%x,), "
    "kwargs = {})\n"
    "    return enc\n";

static size_t peak_of_encoder(int layers, bool norm_first,
                              const int64_t *shape)
{
    static struct live l;
    char text[4096];
    cfx_module *gm;
    setup();
    memset(&l, 0, sizeof(l));
    int n = snprintf(text, sizeof(text), encoder, layers - 1, layers,
                     norm_first ? "True" : "False");
    if (cfx_parse_model(&gm, ctx, text, (size_t)n, "encoder", &err) ||
        cfx_module_randomize(gm, 1, &err))
        ck_abort_msg("%s", err.text);
    size_t peak = peak_of(gm, 3, shape, &l);
    cfx_module_unref(gm);
    teardown();
    return peak;
}

TEST_EACH(twelve_layers_in_one_module_hold_one_layers_values, 2)
{
    static const int64_t shape[] = {8, 512, 128};
    size_t x = 8 * 512 * 128 * sizeof(float);
    teardown();
    size_t two = peak_of_encoder(2, _i, shape);
    size_t twelve = peak_of_encoder(12, _i, shape);
    setup();
    printf("2 layers %zu KiB, 12 layers %zu\n", two >> 10, twelve >> 10);
    ck_assert_uint_le(twelve, two + MIB);
    /* The input, the sum, its norm, and the widest layer before and behind
     * its activation, which are four times as wide each. */
    ck_assert_uint_le(twelve, (size_t)(_i ? 12 : 11) * x + 2 * MIB);
}

/* ---- Values that end early ---- */

TEST_CASE(dropping_a_value_of_an_outer_frame_does_nothing)
{
    cfx_scope s;
    cfx_tensor *t;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    ck_assert_int_eq(
        cfx_tensor_new(&t, ctx, CFX_F32, 1, (int64_t[]){1 << 20}, &err),
        CFX_OK);
    cfx_value x = cfx_scope_take(&s, cfx_value_of_tensor(t));
    size_t frame = cfx_scope_enter(&s);
    cfx_value argument = x, y = cfx_neg(&s, x);
    size_t both = cfx_context_memory(ctx);
    cfx_scope_drop(&s, &argument);
    ck_assert_int_eq(argument.kind, CFX_NONE);
    ck_assert_uint_eq(cfx_context_memory(ctx), both);
    ck_assert_int_eq(t->refs, 1);
    cfx_scope_drop(&s, &y);
    ck_assert_uint_le(cfx_context_memory(ctx), both - 4 * MIB);
    cfx_scope_leave(&s, frame, cfx_none());
    ck_assert_int_eq(t->refs, 1);
    cfx_scope_drop(&s, &x);
    ck_assert_uint_lt(cfx_context_memory(ctx), MIB);
    ck_assert_int_eq(cfx_scope_status(&s, NULL), CFX_OK);
    cfx_scope_release(&s);
}

TEST_SUITE(peak, .setup = setup, .teardown = teardown, .timeout = 120)
