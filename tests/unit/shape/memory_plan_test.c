/*
 * memory_plan_test -- what a plan knows of small graphs.
 */
#include "shapeprop/memory/memory_impl.h"

#include "tests/unit/shape/memory_test.h"
#include "tests/unit/unit.h"

static int64_t live(const char *name)
{
    return cfx_dim_value(cfx_memory_plan_live(plan, node(name)));
}

/* The i-th block of a kind, in order. */
static const cfx_memory_block *block(cfx_block_kind kind, int i)
{
    for (size_t k = 0; k < cfx_memory_plan_len(plan); k++)
        if (cfx_memory_plan_at(plan, k)->kind == kind && !i--)
            return cfx_memory_plan_at(plan, k);
    ck_abort_msg("there is no such block");
    return NULL;
}

static int blocks(cfx_block_kind kind)
{
    int n = 0;
    for (size_t k = 0; k < cfx_memory_plan_len(plan); k++)
        n += cfx_memory_plan_at(plan, k)->kind == kind;
    return n;
}

/* ---- Plans ---- */

TEST_CASE(a_chain_takes_two_blocks)
{
    graph(chain);
    plan_for(10, 100);
    ck_assert_uint_eq(cfx_memory_plan_calls(plan), 4);
    ck_assert(!cfx_memory_plan_is_partial(plan));
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 2 * 4032);
    ck_assert_int_eq(live("a"), 4000);
    ck_assert_int_eq(live("b"), 8000);
    ck_assert_int_eq(live("d"), 8000);
    ck_assert_ptr_eq(block(CFX_BLOCK_INPUT, 0)->node, node("x"));
    const cfx_memory_block *d = block(CFX_BLOCK_RESULT, 3);
    ck_assert(d->leaves && d->offset < 0 && d->until == node("output"));
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_result_bytes(plan)), 4000);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_input_bytes(plan)), 4000);
}

TEST_CASE(views_and_results_in_place_are_aliases)
{
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("v", "view", "(%a, 100, 10)")
          METHOD("t", "transpose", "(%v, 0, 1)")
          METHOD("r", "relu_", "(%t,)") CALL("s", "torch.sum", "(%r,)")
          RETURN("%s"));
    /* clang-format on */
    plan_for(10, 100);
    ck_assert_int_eq(blocks(CFX_BLOCK_ALIAS), 3);
    for (int i = 0; i < 3; i++) {
        const cfx_memory_block *b = block(CFX_BLOCK_ALIAS, i);
        ck_assert_ptr_eq(cfx_memory_plan_at(plan, (size_t)b->alias_of),
                         block(CFX_BLOCK_RESULT, 0));
    }
    ck_assert_ptr_eq(block(CFX_BLOCK_RESULT, 0)->until, node("s"));
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 4032);
}

/* The blocks that a node's value lies in, as "0:24 1:48": so many bytes. */
static const char *parts(const char *name)
{
    static char text[256];
    size_t n, len = 0;
    const cfx_memory_part *p = cfx_memory__parts(plan, node(name), &n);
    *text = '\0';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:%lld",
                                i ? " " : "", p[i].block,
                                (long long)cfx_dim_value(p[i].bytes));
    return text;
}

TEST_CASE(values_lie_in_blocks)
{
    /* clang-format off */
    graph(X CALL("m", "torch.max", "(%x, 1)")
          CALL("g", "operator.getitem", "(%m, 1)")
          CALL("s", "torch.split", "(%x, 5)")
          METHOD("e", "expand", "(%g, 3, 10)")
          METHOD("w", "view", "(%x, -1)") RETURN("(%e, %s, %w)"));
    /* clang-format on */
    plan_for(10, 100);
    ck_assert_str_eq(parts("x"), "0:4000");
    ck_assert_str_eq(parts("m"), "1:40 2:80");
    ck_assert_str_eq(parts("g"), "2:80");
    ck_assert_str_eq(parts("s"), "0:4000");
    ck_assert_str_eq(parts("e"), "2:80");
    ck_assert_str_eq(parts("w"), "0:4000");
    ck_assert_str_eq(parts("output"), "");
    ck_assert_ptr_nonnull(cfx_memory_plan_at(plan, 0)->tensor);
    ck_assert_ptr_null(cfx_memory_plan_at(plan, 1)->tensor);
}

/* A result that cannot be computed in its place is computed in scratch. */
TEST_CASE(results_that_are_computed_apart_are_scratch)
{
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("t", "transpose", "(%a, 0, 1)")
          METHOD("r", "add_", "(%a, %t)") RETURN("%r"));
    /* clang-format on */
    plan_for(30, 30);
    ck_assert_int_eq(blocks(CFX_BLOCK_SCRATCH), 1);
    ck_assert_int_eq(live("r"), 7200);
    ck_assert(block(CFX_BLOCK_RESULT, 0)->leaves);
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)") CALL("z", "torch.neg", "(%x,)")
          INTO("w", "torch.mul", "(%a, %x)", "%z")
          INTO("v", "torch.softmax", "(%a, 1)", "%z")
          INTO("u", "torch.softmax", "(%z, 1)", "%z") RETURN("%z"));
    /* clang-format on */
    plan_for(30, 30);
    ck_assert_int_eq(blocks(CFX_BLOCK_SCRATCH), 1);
    ck_assert_int_eq(live("w"), 7200);
    ck_assert_int_eq(live("v"), 7200);
    ck_assert_int_eq(live("u"), 7200);
    ck_assert(block(CFX_BLOCK_RESULT, 1)->leaves);
}

TEST_CASE(inputs_that_come_out_take_nothing)
{
    graph(X METHOD("v", "view", "(%x, -1)") RETURN("(%x, %v)"));
    plan_for(10, 100);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 0);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_peak(plan, NULL)), 0);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_result_bytes(plan)), 0);
}

/* A block that a part of the result lies in leaves, whoever made it. */
TEST_CASE(what_a_view_holds_leaves_with_it)
{
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)")
          CALL("s", "torch.split", "(%a, 5)")
          CALL("g", "operator.getitem", "(%s, 1)")
          CALL("b", "torch.neg", "(%a,)") CALL("c", "torch.neg", "(%b,)")
          RETURN("{y: [%g], z: %c}"));
    /* clang-format on */
    plan_for(10, 100);
    ck_assert(block(CFX_BLOCK_RESULT, 0)->leaves);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 4032);
}

TEST_CASE(sizes_that_only_data_tell_are_not_planned)
{
    /* clang-format off */
    graph(X CALL("n", "torch.nonzero", "(%x,)")
          CALL("a", "torch.exp", "(%x,)") CALL("s", "torch.sum", "(%n,)")
          CALL("t", "torch.sum", "(%a,)") CALL("u", "torch.add", "(%s, %t)")
          RETURN("%u"));
    /* clang-format on */
    plan_for(10, 100);
    const cfx_memory_block *n = block(CFX_BLOCK_RESULT, 0);
    ck_assert(n->from_data && n->offset < 0);
    ck_assert(cfx_memory_plan_is_partial(plan));
    ck_assert_int_gt(cfx_memory_plan_arena(plan), 4000);
}

TEST_CASE(symbols_give_expressions_and_no_arena)
{
    cfx_shape_env *env;
    cfx_tensor *t;
    char text[64];
    graph(chain);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), 0);
    cfx_dim shape[] = {cfx_dim_symbol(env, "N", 1), cfx_dim_int(8)};
    ck_assert_int_eq(cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err),
                     0);
    cfx_value x = cfx_value_of_tensor(t);
    const cfx_memory_plan_options o = {.size = sizeof(o), .env = env};
    ck_assert_int_eq(cfx_memory_plan_new(&plan, gm, &x, 1, &o, &err), 0);
    ck_assert(cfx_memory_plan_is_symbolic(plan));
    ck_assert_int_eq(cfx_memory_plan_arena(plan), -1);
    cfx_dim_format(cfx_memory_plan_live(plan, node("b")), text, sizeof(text));
    ck_assert_str_eq(text, "64*N");
    cfx_dim_format(cfx_memory_plan_peak(plan, NULL), text, sizeof(text));
    ck_assert_str_eq(text, "64*N");
    cfx_planned_scope s;
    ck_assert_int_eq(cfx_planned_scope_init(&s, plan, &err), CFX_ESHAPE);
    ck_assert_str_eq(err.text, "an arena needs numbers for the symbols of the "
                               "inputs");
    cfx_memory_plan_free(plan);
    plan = NULL;
    cfx_value_unref(x);
    cfx_shape_env_free(env);
}

/* Sums of sizes that no machine has are not wrapped around. */
TEST_CASE(blocks_that_are_too_large_have_no_arena)
{
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("e", "expand", "(%a, 72057594037927936, 1)")
          CALL("b", "torch.neg", "(%e,)") CALL("c", "torch.neg", "(%e,)")
          CALL("d", "torch.add", "(%b, %c)") CALL("s", "torch.sum", "(%d,)")
          RETURN("%s"));
    /* clang-format on */
    cfx_value x = floats(1, 1);
    ck_assert_int_eq(cfx_memory_plan_new(&plan, gm, &x, 1, NULL, &err), 0);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), -1);
    ck_assert_int_lt(block(CFX_BLOCK_RESULT, 0)->offset, 0);
    cfx_planned_scope s;
    ck_assert_int_eq(cfx_planned_scope_init(&s, plan, &err), CFX_ESHAPE);
    ck_assert_str_eq(err.text, "the blocks are too large for an arena: more "
                               "than 72057594037927936 bytes together");
    cfx_value_unref(x);
}

TEST_CASE(empty_tensors_have_no_bytes_but_a_place)
{
    /* clang-format off */
    graph(X METHOD("n", "narrow", "(%x, 0, 0, 0)")
          CALL("a", "torch.exp", "(%n,)") CALL("b", "torch.neg", "(%a,)")
          CALL("s", "torch.sum", "(%b,)") RETURN("%s"));
    /* clang-format on */
    cfx_value x = floats(10, 100);
    make_plan(&x, 1);
    ck_assert_int_eq(live("b"), 0);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 128);
    ck_assert_uint_eq(runs_as_elsewhere(x), 0);
    cfx_value_unref(x);
}

TEST_CASE(errors_are_those_of_the_walk)
{
    graph(X CALL("m", "torch.matmul", "(%x, %x)") RETURN("%m"));
    cfx_value x = floats(2, 3);
    ck_assert_int_eq(cfx_memory_plan_new(&plan, gm, &x, 1, NULL, &err),
                     CFX_ESHAPE);
    ck_assert_ptr_nonnull(strstr(err.text, "While executing %m"));
    ck_assert_ptr_null(plan);
    cfx_value_unref(x);
}

/* A checker that finds nothing is none. */
TEST_CASE(the_checker_finds_what_overlaps)
{
    graph(chain);
    plan_for(10, 100);
    cfx_memory_block *b = (cfx_memory_block *)block(CFX_BLOCK_RESULT, 1);
    const cfx_memory_block was = *b;
    for (int64_t at = 0; at < 4032; at += 64) {
        b->offset = at;
        ck_assert_str_eq(check_memory(plan).text,
                         "block 2 lies where another lives at call 1");
    }
    *b = was;
    b->offset += 64;
    ck_assert_str_eq(check_memory(plan).text,
                     "block 2 does not lie well in the arena");
    *b = was;
    b->last++;
    ck_assert_str_eq(check_memory(plan).text,
                     "12000 bytes live at once, not 8000");
    *b = was;
}

/* ---- Text ---- */

TEST_CASE(a_plan_is_printed)
{
    char *text = NULL;
    size_t len;
    graph(chain);
    plan_for(10, 100);
    FILE *f = open_memstream(&text, &len);
    ck_assert_int_eq(
        cfx_print_memory(cfx_sink_file(f), plan, CFX_MEMORY_TABLE, &err), 0);
    fclose(f);
    ck_assert_str_eq(
        text,
        "block  kind    of  node  until   op    bytes  offset\n"
        "    0  input       x     output         4000       -\n"
        "    1  result      a     b       relu   4000       0\n"
        "    2  result      b     c       exp    4000    4032\n"
        "    3  result      c     d       neg    4000       0\n"
        "    4  result      d     output  abs    4000  leaves\n"
        "\n"
        "arena:    8064 bytes, the largest live set: no plan is smaller\n"
        "peak:     8000 bytes at b\n"
        "inputs:   4000 bytes\n"
        "state:    0 bytes\n"
        "results:  4000 bytes\n");
    free(text);
}

TEST_SUITE(memory_plan, .setup = setup, .teardown = teardown)
