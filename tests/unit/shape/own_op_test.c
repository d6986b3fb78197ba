/*
 * own_op_test -- a program's operators read their parameters by names, and keep
 * what infer derived from them in the state of the call.
 */
#include "tests/unit/model_test.h"

#include <cfx/cost.h>
#include <cfx/op.h>
#include <cfx/scope.h>

#include "tests/unit/unit.h"

/* ---- factor * x + offset, in two signatures ---- */

CFX_PARAMS(params, SELF, FACTOR, OFFSET, TIMES);

struct affine {
    double factor, offset;
    int64_t n, times;
    bool scaled; /* the call says by what */
};

static int inferred;

static cfx_status affine_infer(cfx_call *call)
{
    struct affine *a = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);

    inferred++;
    if (a->times || a->scaled)
        return cfx_call_fail(call, CFX_EINVAL, "the state is not clean");
    a->factor = cfx_call_double(call, FACTOR);
    a->offset = cfx_call_double(call, OFFSET);
    a->times = cfx_call_has(call, TIMES) ? cfx_call_int(call, TIMES) : 1;
    a->scaled = cfx_call_place(call, FACTOR) >= 0;
    a->n = cfx_dim_is_int(x->shape[0]) ? cfx_dim_value(x->shape[0]) : -1;
    return cfx_call_out(call, CFX_F32, 1, x->shape);
}

static void affine_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct affine *a = call->state;

    cost->ops = cfx_dim_int(a->n * a->times);
}

static size_t affine_workspace(const cfx_call *call)
{
    const struct affine *a = call->state;

    return (size_t)a->n * sizeof(float);
}

static cfx_status affine_run(cfx_call *call)
{
    const struct affine *a = call->state;
    const float *x = cfx_call_tensor(call, SELF)->data;
    float *y = call->out[0]->data, *work = call->work;

    ck_assert_uint_eq(call->work_size, (size_t)a->n * sizeof(float));
    for (int64_t i = 0; i < a->n; i++) {
        work[i] = x[i];
        for (int64_t k = 0; k < a->times; k++)
            work[i] = (float)((a->scaled ? a->factor : 1) * work[i] +
                              a->offset);
        y[i] = work[i];
    }
    return CFX_OK;
}

#define AFFINE(schema_, next_)                                                \
    {                                                                         \
        .abi = CFX_ABI(cfx_op), .schema = schema_, .params = params,          \
        .aliases = "my.affine",                                               \
        .doc = "factor * x + offset, again and again.",                       \
        .state_size = sizeof(struct affine), .infer = affine_infer,           \
        .cost = affine_cost, .workspace = affine_workspace,                   \
        .run = affine_run, .next = next_,                                     \
    }

/* Its parameters have other places, the first another name, and one is
 * missing. */
static const cfx_op shift = AFFINE("affine.shift(int times, float offset, "
                                   "Tensor input) -> Tensor",
                                   NULL);
static const cfx_op affine = AFFINE("affine(Tensor self, float factor, float "
                                    "offset=0.5) -> Tensor",
                                    &shift);

static void register_affine(void)
{
    ck_assert_msg(!cfx_register_op(ctx, &affine, &err), "%s", err.text);
}

#define GRAPH                                                                 \
    "Net()\n\ngraph():\n"                                                     \
    "    %x : [num_users=1] = placeholder[target=x]\n"                        \
    "    %y : [num_users=1] = call_function[target=my.affine]"

static float run_on(cfx_interp *it, int64_t n, float each)
{
    cfx_value x = floats(n, each), y;

    ck_assert_msg(!cfx_interp_run(it, &x, 1, &y, &err), "%s", err.text);
    ck_assert_int_eq(cfx_tensor_numel(y.u.tensor), n);
    float out = ((float *)y.u.tensor->data)[n - 1];
    ck_assert(first(y) == out);
    cfx_value_unref(x);
    cfx_value_unref(y);
    return out;
}

static float result_of(const char *text, int64_t n, float each)
{
    cfx_interp it = {0};

    model(text);
    ck_assert_msg(!cfx_interp_init(&it, &cfx_interp_base, gm, &err), "%s",
                  err.text);
    float out = run_on(&it, n, each);
    cfx_interp_release(&it);
    return out;
}

TEST_CASE(parameters_are_read_by_names)
{
    register_affine();
    ck_assert(result_of(GRAPH "(args = (%x, 2.0), kwargs = {})\n    return %y",
                        3, 1) == 2.5f);
    ck_assert(result_of(GRAPH "(args = (%x,), kwargs = {offset: 1.0, factor: "
                              "3.0})\n    return %y",
                        3, 1) == 4.0f);
}

TEST_CASE(an_overload_may_have_them_in_another_order)
{
    register_affine();
    ck_assert(result_of(GRAPH "(args = (2, 1.0, %x), kwargs = {})\n    return "
                              "%y",
                        3, 1) == 3.0f);
}

TEST_CASE(state_is_of_one_call)
{
    cfx_interp it = {0};

    register_affine();
    model(GRAPH "(args = (%x, 2.0), kwargs = {})\n    return %y");
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), CFX_OK);
    inferred = 0;
    for (int64_t n = 1; n < 6; n++)
        ck_assert(run_on(&it, n, (float)n) == (float)(2 * n) + 0.5f);
    ck_assert_int_eq(inferred, 5);
    cfx_interp_release(&it);
}

TEST_CASE(costs_see_the_state)
{
    cfx_cost_prop p = {0};
    cfx_value x;

    register_affine();
    model(GRAPH "(args = (3, 1.0, %x), kwargs = {})\n    return %y");
    ck_assert_int_eq(cfx_cost_prop_init(&p, NULL, gm, NULL, &err), CFX_OK);
    x = floats(7, 1);
    ck_assert_msg(!cfx_cost_prop_run(&p, &x, 1, &err), "%s", err.text);
    int64_t ops = 0;
    for (size_t i = 0; i < p.nnodes; i++)
        ops += cfx_dim_value(p.node[i].cost.ops);
    ck_assert_int_eq(ops, 21);
    cfx_value_unref(x);
    cfx_cost_prop_release(&p);
}

/* ---- A state that is too large for the stack ---- */

enum { LARGE = 1 << 16 };

static cfx_status large_infer(cfx_call *call)
{
    memset(call->state, 7, LARGE);
    return cfx_call_out_like(call, cfx_call_tensor(call, 0));
}

static cfx_status large_run(cfx_call *call)
{
    const unsigned char *state = call->state;
    *(float *)call->out[0]->data = (float)(state[0] + state[LARGE - 1]);
    return CFX_OK;
}

static const cfx_op large = {
    .abi = CFX_ABI(cfx_op),
    .schema = "large(Tensor self) -> Tensor",
    .aliases = "my.affine",
    .doc = "A large state, and a parameter that is read by its place.",
    .state_size = LARGE,
    .infer = large_infer,
    .run = large_run,
};

TEST_CASE(a_state_may_be_large)
{
    ck_assert_int_eq(cfx_register_op(ctx, &large, &err), CFX_OK);
    ck_assert(result_of(GRAPH "(args = (%x,), kwargs = {})\n    return %y", 1,
                        1) == 14.0f);
}

TEST_CASE(a_parameter_that_the_list_lacks_is_refused)
{
    const cfx_op wrong = AFFINE("affine(Tensor self, float faktor) -> Tensor",
                                NULL);

    ck_assert_int_eq(cfx_register_op(ctx, &wrong, &err), CFX_EINVAL);
    ck_assert_str_eq(err.text,
                     "schema 'affine(Tensor self, float faktor) -> "
                     "Tensor': parameter 'faktor' is not in the operator's "
                     "list of parameters (SELF, FACTOR, OFFSET, TIMES)");
    ck_assert_ptr_null(cfx_find_function(ctx, "my.affine"));
}

TEST_CASE(operators_of_one_signature_have_their_own_lists)
{
    const cfx_op same = {
        .abi = CFX_ABI(cfx_op),
        .schema = affine.schema,
        .params = "NONE, OFFSET, FACTOR, OTHER, SELF",
        .aliases = "my.same",
        .doc = "The signature of another.",
        .infer = affine_infer,
    };

    register_affine();
    ck_assert_msg(!cfx_register_op(ctx, &same, &err), "%s", err.text);
    const cfx_schema *a = cfx_op_schema(ctx, &affine);
    const cfx_schema *b = cfx_op_schema(ctx, &same);
    ck_assert_int_eq(a->place[0], 0);
    ck_assert_int_eq(a->place[1], 1);
    ck_assert_int_eq(a->place[3], -1);
    ck_assert_int_eq(b->place[1], 2);
    ck_assert_int_eq(b->place[4], 0);
    ck_assert_ptr_eq(b, cfx_op_schema(ctx, &same));
}

TEST_SUITE(own_op, .setup = setup, .teardown = teardown)
