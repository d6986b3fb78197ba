/*
 * own_cost_test -- a program counts calls of operators by rules of its own.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/scope.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;

static void setup(void)
{
    const cfx_options o = {.size = sizeof(o),
                           .threads = 1,
                           .allocator = {test_alloc, test_free, NULL}};

    allowed = -1;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

/* ---- The cost of a call on two matrices of 4 by 4 ---- */

struct counting {
    cfx_scope scope;
    cfx_cost cost;
    cfx_status status;
};

static cfx_status count_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct counting *c = (struct counting *)(void *)s;

    return cfx_call_cost(call, &c->cost, out);
}

static const cfx_scope_class counting_class = {
    .size = sizeof(cfx_scope_class),
    .name = "counting",
    .super = &cfx_meta_class,
    .call_op = count_op,
};

static cfx_cost cost_of(const char *name)
{
    const cfx_dim shape[] = {cfx_dim_int(4), cfx_dim_int(4)};
    struct counting c = {.status = CFX_OK};
    cfx_value x[2];

    cfx_scope_init(&c.scope, &counting_class, ctx, NULL);
    for (int i = 0; i < 2; i++) {
        cfx_tensor *t;
        ck_assert_int_eq(
            cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, NULL), CFX_OK);
        x[i] = cfx_scope_take(&c.scope, cfx_value_of_tensor(t));
    }
    cfx_call_function(&c.scope, name, cfx_args_of(x, 2));
    ck_assert_msg(!cfx_scope_failed(&c.scope), "%s", c.scope.error.text);
    cfx_scope_release(&c.scope);
    return c.cost;
}

static int64_t macs_of(const char *name)
{
    return cfx_dim_value(cost_of(name).macs);
}

static const cfx_op *op_named(const char *name)
{
    const cfx_target *t = cfx_find_function(ctx, name);

    ck_assert_ptr_nonnull(t);
    return t->op;
}

/* ---- Rules ---- */

/* Half of the operator's own. */
static void halved(const cfx_call *call, cfx_cost *cost)
{
    call->op->cost(call, cost);
    cost->macs = cfx_dim_floordiv(call->env, cost->macs, cfx_dim_int(2));
}

static void seven(const cfx_call *call, cfx_cost *cost)
{
    (void)call;
    cost->macs = cfx_dim_int(7);
    cost->bytes_written = cfx_dim_int(0);
}

TEST_CASE(a_rule_takes_the_place_of_the_operators_own)
{
    ck_assert_int_eq(macs_of("torch.mm"), 64);
    ck_assert_int_eq(cfx_set_cost(ctx, op_named("torch.mm"), halved, NULL),
                     CFX_OK);
    ck_assert_int_eq(macs_of("torch.mm"), 32);
    ck_assert_int_eq(macs_of("aten.mm.default"), 32);
    ck_assert_int_eq(macs_of("torch.matmul"), 64);
    ck_assert_int_eq(cfx_set_cost(ctx, op_named("torch.mm"), seven, NULL),
                     CFX_OK);
    ck_assert_int_eq(macs_of("torch.mm"), 7);
}

TEST_CASE(without_a_rule_it_counts_as_before)
{
    const cfx_op *mm = op_named("torch.mm");

    ck_assert_int_eq(cfx_set_cost(ctx, mm, NULL, NULL), CFX_OK);
    ck_assert_int_eq(cfx_set_cost(ctx, mm, halved, NULL), CFX_OK);
    ck_assert_int_eq(cfx_set_cost(ctx, op_named("torch.add"), seven, NULL),
                     CFX_OK);
    ck_assert_int_eq(cfx_set_cost(ctx, mm, NULL, NULL), CFX_OK);
    ck_assert_int_eq(macs_of("torch.mm"), 64);
    ck_assert_int_eq(macs_of("torch.add"), 7);
}

TEST_CASE(bytes_that_a_rule_leaves_open_are_those_of_the_tensors)
{
    ck_assert_int_eq(cfx_set_cost(ctx, op_named("torch.add"), seven, NULL),
                     CFX_OK);
    cfx_cost c = cost_of("torch.add");
    ck_assert_int_eq(cfx_dim_value(c.bytes_read), 2 * 64);
    ck_assert_int_eq(cfx_dim_value(c.bytes_written), 0);
    ck_assert_int_eq(cfx_dim_value(c.ops), 0);
}

TEST_CASE(composites_count_what_they_call_by_it)
{
    ck_assert_int_eq(macs_of("torch.inner"), 64);
    for (size_t i = 0; cfx_op_at(ctx, i); i++) {
        const cfx_op *op = cfx_op_at(ctx, i);
        if (!strncmp(op->schema, "matmul(", 7) ||
            !strncmp(op->schema, "mm(", 3) || !strncmp(op->schema, "bmm(", 4))
            ck_assert_int_eq(cfx_set_cost(ctx, op, halved, NULL), CFX_OK);
    }
    ck_assert_int_eq(macs_of("torch.inner"), 32);
}

TEST_CASE(another_context_is_not_concerned)
{
    cfx_context *first = ctx, *second;

    ck_assert_int_eq(cfx_set_cost(ctx, op_named("torch.mm"), halved, NULL),
                     CFX_OK);
    ck_assert_int_eq(cfx_context_new(&second, NULL, NULL), CFX_OK);
    ctx = second;
    ck_assert_int_eq(macs_of("torch.mm"), 64);
    cfx_context_free(second);
    ctx = first;
}

/* ---- An operator of the program's own ---- */

static cfx_status own_infer(cfx_call *call)
{
    return cfx_call_out_like(call, cfx_call_tensor(call, 0));
}

static cfx_status own_run(cfx_call *call)
{
    (void)call;
    return CFX_OK;
}

static const cfx_op own = {
    .abi = CFX_ABI(cfx_op),
    .schema = "own(Tensor self, Tensor other) -> Tensor",
    .aliases = "my.own",
    .doc = "An operator without a rule.",
    .infer = own_infer,
    .run = own_run,
};

TEST_CASE(an_operator_of_ones_own_can_be_given_one)
{
    ck_assert_int_eq(cfx_register_op(ctx, &own, NULL), CFX_OK);
    ck_assert_int_eq(macs_of("my.own"), 0);
    ck_assert_int_eq(cfx_set_cost(ctx, &own, seven, NULL), CFX_OK);
    ck_assert_int_eq(macs_of("my.own"), 7);
}

TEST_CASE(lack_of_memory_changes_nothing)
{
    const cfx_op *mm = op_named("torch.mm");
    cfx_error err = {0};

    allowed = 0;
    ck_assert_int_eq(cfx_set_cost(ctx, mm, halved, &err), CFX_ENOMEM);
    ck_assert_str_eq(err.text, "out of memory");
    allowed = -1;
    ck_assert_int_eq(macs_of("torch.mm"), 64);
    for (size_t i = 0; i < 40; i++)
        ck_assert_int_eq(cfx_set_cost(ctx, cfx_op_at(ctx, i), seven, NULL),
                         CFX_OK);
    ck_assert_int_eq(macs_of("torch.mm"), 64);
}

TEST_SUITE(own_cost, .setup = setup, .teardown = teardown)
