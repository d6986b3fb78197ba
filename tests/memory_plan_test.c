/*
 * memory_plan_test -- what a plan knows of small graphs, and runs in its arena.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "failing_alloc.h"
#include "memory_check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static cfx_context *ctx;
static cfx_module *gm;
static cfx_memory_plan *plan;
static cfx_error err;

static void setup(void)
{
    cfx_options o = {.size = sizeof(o), .threads = 2,
                     .allocator = {test_alloc, test_free, NULL}};
    err = (cfx_error){0};
    allowed = -1;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    gm = NULL;
    plan = NULL;
}

static void teardown(void)
{
    cfx_memory_plan_free(plan);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

/* ---- Models ---- */

#define X "    %x : [num_users=1] = placeholder[target=x]\n"
#define NODE(name, op, target, args)                            \
    "    %" name " : [num_users=1] = " op "[target=" target "]" \
    "(args = " args ", kwargs = {})\n"
#define CALL(name, target, args) NODE(name, "call_function", target, args)
#define METHOD(name, target, args) NODE(name, "call_method", target, args)
#define RETURN(what) "    return " what "\n"

static void parse(const char *text)
{
    cfx_module_unref(gm);
    gm = NULL;
    ck_assert_msg(!cfx_parse_model(&gm, ctx, text, strlen(text), "test", &err),
                  "%s", err.text);
}

/* A model that is a graph alone. */
static void graph(const char *body)
{
    char text[4096];
    snprintf(text, sizeof(text), "# cfx 1\nNet()\n\ngraph():\n%s", body);
    parse(text);
}

/* Floats 1, 2, 3, ... of n rows of `m`. */
static cfx_value floats(int64_t n, int64_t m)
{
    int64_t shape[] = {n, m};
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err), 0);
    for (int64_t i = 0; i < n * m; i++)
        ((float *)t->data)[i] = (float)(i % 97 + 1);
    return cfx_value_of_tensor(t);
}

static void make_plan(const cfx_value *in, size_t n)
{
    cfx_memory_plan_free(plan);
    ck_assert_msg(!cfx_memory_plan_new(&plan, gm, in, n, NULL, &err), "%s",
                  err.text);
    memory_check c = check_memory(plan);
    ck_assert_msg(!*c.text, "%s", c.text);
    ck_assert_int_eq(c.most, cfx_memory_plan_arena(plan));
}

static void plan_for(int64_t n, int64_t m)
{
    cfx_value x = floats(n, m);
    make_plan(&x, 1);
    cfx_value_unref(x);
}

static const cfx_node *node(const char *name)
{
    const cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_ptr_nonnull(n);
    return n;
}

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

static uint64_t runs_as_elsewhere(cfx_value x);

/* ---- Plans ---- */

static const char chain[] =
    X CALL("a", "torch.relu", "(%x,)") CALL("b", "torch.exp", "(%a,)")
    CALL("c", "torch.neg", "(%b,)") CALL("d", "torch.abs", "(%c,)")
    RETURN("%d");

/* What leaves is not in the arena, but lives. */
START_TEST(a_chain_takes_two_blocks)
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
    ck_assert_int_eq(
        cfx_dim_value(cfx_memory_plan_result_bytes(plan)), 4000);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_input_bytes(plan)), 4000);
}
END_TEST

START_TEST(views_and_results_in_place_are_aliases)
{
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("v", "view", "(%a, 100, 10)")
          METHOD("t", "transpose", "(%v, 0, 1)")
          METHOD("r", "relu_", "(%t,)") CALL("s", "torch.sum", "(%r,)")
          RETURN("%s"));
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
END_TEST

/* Where the result cannot be computed into its place, it is computed apart. */
START_TEST(results_that_are_computed_apart_are_scratch)
{
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("t", "transpose", "(%a, 0, 1)")
          METHOD("r", "add_", "(%a, %t)") RETURN("%r"));
    plan_for(30, 30);
    ck_assert_int_eq(blocks(CFX_BLOCK_SCRATCH), 1);
    ck_assert_int_eq(live("r"), 7200);
    ck_assert(block(CFX_BLOCK_RESULT, 0)->leaves);
}
END_TEST

START_TEST(inputs_that_come_out_take_nothing)
{
    graph(X METHOD("v", "view", "(%x, -1)") RETURN("(%x, %v)"));
    plan_for(10, 100);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 0);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_peak(plan, NULL)), 0);
    ck_assert_int_eq(cfx_dim_value(cfx_memory_plan_result_bytes(plan)), 0);
}
END_TEST

/* A block that a part of the result lies in leaves, whoever made it. */
START_TEST(what_a_view_holds_leaves_with_it)
{
    graph(X CALL("a", "torch.exp", "(%x,)")
          CALL("s", "torch.split", "(%a, 5)")
          CALL("g", "operator.getitem", "(%s, 1)")
          CALL("b", "torch.neg", "(%a,)") CALL("c", "torch.neg", "(%b,)")
          RETURN("{y: [%g], z: %c}"));
    plan_for(10, 100);
    ck_assert(block(CFX_BLOCK_RESULT, 0)->leaves);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 4032);
}
END_TEST

START_TEST(sizes_that_only_data_tell_are_not_planned)
{
    graph(X CALL("n", "torch.nonzero", "(%x,)")
          CALL("a", "torch.exp", "(%x,)") CALL("s", "torch.sum", "(%n,)")
          CALL("t", "torch.sum", "(%a,)") CALL("u", "torch.add", "(%s, %t)")
          RETURN("%u"));
    plan_for(10, 100);
    const cfx_memory_block *n = block(CFX_BLOCK_RESULT, 0);
    ck_assert(n->from_data && n->offset < 0);
    ck_assert(cfx_memory_plan_is_partial(plan));
    ck_assert_int_gt(cfx_memory_plan_arena(plan), 4000);
}
END_TEST

START_TEST(symbols_give_expressions_and_no_arena)
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
END_TEST

/* Sums of sizes that no machine has are not wrapped around. */
START_TEST(blocks_that_are_too_large_have_no_arena)
{
    graph(X CALL("a", "torch.exp", "(%x,)")
          METHOD("e", "expand", "(%a, 72057594037927936, 1)")
          CALL("b", "torch.neg", "(%e,)") CALL("c", "torch.neg", "(%e,)")
          CALL("d", "torch.add", "(%b, %c)") CALL("s", "torch.sum", "(%d,)")
          RETURN("%s"));
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
END_TEST

START_TEST(empty_tensors_have_no_bytes_but_a_place)
{
    graph(X METHOD("n", "narrow", "(%x, 0, 0, 0)")
          CALL("a", "torch.exp", "(%n,)") CALL("b", "torch.neg", "(%a,)")
          CALL("s", "torch.sum", "(%b,)") RETURN("%s"));
    cfx_value x = floats(10, 100);
    make_plan(&x, 1);
    ck_assert_int_eq(live("b"), 0);
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 128);
    ck_assert_uint_eq(runs_as_elsewhere(x), 0);
    cfx_value_unref(x);
}
END_TEST

START_TEST(errors_are_those_of_the_walk)
{
    graph(X CALL("m", "torch.matmul", "(%x, %x)") RETURN("%m"));
    cfx_value x = floats(2, 3);
    ck_assert_int_eq(cfx_memory_plan_new(&plan, gm, &x, 1, NULL, &err),
                     CFX_ESHAPE);
    ck_assert_ptr_nonnull(strstr(err.text, "While executing %m"));
    ck_assert_ptr_null(plan);
    cfx_value_unref(x);
}
END_TEST

/* A checker that finds nothing is none. */
START_TEST(the_checker_finds_what_overlaps)
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
END_TEST

/* ---- Runs ---- */

typedef struct arena {
    cfx_planned_scope scope;
    cfx_interp it;
} arena;

static void open_with(arena *a, bool keep)
{
    cfx_interp_options o = {.size = sizeof(o), .scope = &a->scope.base,
                            .keep_values = keep};
    a->it = (cfx_interp){.self = NULL};
    if (cfx_planned_scope_init(&a->scope, plan, &err) ||
        cfx_interp_init_with(&a->it, &cfx_interp_base, gm, &o, &err))
        ck_abort_msg("%s", err.text);
}

static void close_arena(arena *a)
{
    cfx_interp_release(&a->it);
    cfx_planned_scope_release(&a->scope);
}

static cfx_value run(cfx_interp *it, cfx_value x)
{
    cfx_value out;
    if (cfx_interp_run(it, &x, 1, &out, &err))
        ck_abort_msg("%s", err.text);
    return out;
}

static cfx_value run_plain(cfx_value x)
{
    cfx_interp it = {0};
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    cfx_value out = run(&it, x);
    cfx_interp_release(&it);
    return out;
}

static void same(cfx_value a, cfx_value b)
{
    ck_assert_int_eq(a.kind, b.kind);
    if (a.kind == CFX_TENSOR) {
        cfx_tensor *x = NULL, *y = NULL;
        ck_assert_int_eq(cfx_tensor_contiguous(&x, a.u.tensor, &err), 0);
        ck_assert_int_eq(cfx_tensor_contiguous(&y, b.u.tensor, &err), 0);
        int64_t n = cfx_tensor_numel(x);
        ck_assert_int_eq(n, cfx_tensor_numel(y));
        ck_assert(!memcmp(x->data, y->data,
                          (size_t)n * cfx_dtype_size((cfx_dtype)x->dtype)));
        cfx_tensor_unref(x);
        cfx_tensor_unref(y);
    } else if (a.kind >= CFX_TUPLE && a.kind <= CFX_DICT) {
        ck_assert_uint_eq(a.u.seq->len, b.u.seq->len);
        for (uint32_t i = a.kind == CFX_DICT; i < a.u.seq->len;
             i += a.kind == CFX_DICT ? 2 : 1)
            same(a.u.seq->item[i], b.u.seq->item[i]);
    }
}

/* Twice in the arena as elsewhere; gives how many blocks had no place. */
static uint64_t runs_as_elsewhere(cfx_value x)
{
    arena a;
    open_with(&a, false);
    cfx_value want = run_plain(x), got = CFX_NOTHING;
    for (int i = 0; i < 2; i++) {
        cfx_value_unref(got);
        got = run(&a.it, x);
        same(want, got);
    }
    uint64_t missed = cfx_planned_scope_counts(&a.scope).missed;
    close_arena(&a);
    same(want, got);
    cfx_value_unref(want);
    cfx_value_unref(got);
    return missed;
}

START_TEST(runs_in_the_arena_give_the_same)
{
    static const char *const bodies[] = {
        chain,
        X CALL("a", "torch.exp", "(%x,)") METHOD("v", "view", "(%a, 100, 10)")
        METHOD("t", "transpose", "(%v, 0, 1)") METHOD("r", "relu_", "(%t,)")
        CALL("s", "torch.sum", "(%r, 0)") RETURN("(%s, %t)"),
        X CALL("a", "torch.exp", "(%x,)") CALL("s", "torch.split", "(%a, 5)")
        CALL("g", "operator.getitem", "(%s, 1)")
        CALL("b", "torch.neg", "(%a,)") CALL("c", "torch.neg", "(%b,)")
        RETURN("{y: [%g], z: %c}"),
        X METHOD("v", "view", "(%x, -1)") RETURN("(%x, %v)"),
        X METHOD("t", "t", "(%x,)")
        CALL("m", "torch.nn.functional.linear", "(%t, %t)")
        CALL("m2", "torch.matmul", "(%m, %t)")
        CALL("q", "torch.max", "(%m2, 1)") RETURN("%q"),
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        cfx_value x = floats(10, 100);
        graph(bodies[i]);
        if (i == 4) {
            cfx_value_unref(x);
            x = floats(40, 40);
        }
        make_plan(&x, 1);
        ck_assert_uint_eq(runs_as_elsewhere(x), 0);
        cfx_value_unref(x);
    }
}
END_TEST

START_TEST(other_sizes_run_outside_of_the_arena)
{
    graph(chain);
    plan_for(10, 100);
    for (int64_t n = 1; n < 40; n += 13) {
        cfx_value x = floats(n, 100);
        ck_assert_uint_eq(runs_as_elsewhere(x), 2 * 3);
        cfx_value_unref(x);
    }
}
END_TEST

START_TEST(data_that_tell_sizes_run)
{
    cfx_value x = floats(10, 100);
    graph(X CALL("n", "torch.nonzero", "(%x,)")
          CALL("a", "torch.exp", "(%x,)") CALL("s", "torch.sum", "(%n,)")
          CALL("t", "torch.sum", "(%a,)") CALL("u", "torch.add", "(%s, %t)")
          RETURN("(%u, %n)"));
    make_plan(&x, 1);
    runs_as_elsewhere(x);
    cfx_value_unref(x);
}
END_TEST

/* Values that stay keep their memory: others go elsewhere. */
START_TEST(values_that_are_held_are_not_overwritten)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    arena a;
    cfx_interp plain = {0};
    cfx_interp_options keep = {.size = sizeof(keep), .keep_values = true};
    cfx_value x = floats(10, 100), kept[4];
    graph(chain);
    make_plan(&x, 1);
    open_with(&a, true);
    ck_assert_int_eq(cfx_interp_init_with(&plain, &cfx_interp_base, gm, &keep,
                                          &err), 0);
    cfx_value want = run(&plain, x), got = run(&a.it, x);
    for (int i = 0; i < 4; i++) {
        kept[i] = cfx_value_ref(cfx_interp_env(&a.it, node(names[i])));
        same(kept[i], cfx_interp_env(&plain, node(names[i])));
    }
    ck_assert_uint_eq(cfx_planned_scope_counts(&a.scope).missed, 1);
    cfx_value_unref(run(&a.it, x));
    close_arena(&a);
    cfx_memory_plan_free(plan);
    plan = NULL;
    for (int i = 0; i < 4; i++) {
        cfx_tensor *t = NULL, *copy = NULL;
        same(kept[i], cfx_interp_env(&plain, node(names[i])));
        /* What was made there can be worked with. */
        cfx_dim shape[] = {cfx_dim_int(100), cfx_dim_int(10)};
        cfx_dim stride[] = {cfx_dim_int(1), cfx_dim_int(100)};
        ck_assert_int_eq(cfx_tensor_view(&t, kept[i].u.tensor, 2, shape,
                                         stride, cfx_dim_int(0), &err), 0);
        ck_assert_int_eq(cfx_tensor_contiguous(&copy, t, &err), 0);
        cfx_tensor_unref(t);
        cfx_value_unref(kept[i]);
        cfx_tensor_unref(copy);
    }
    cfx_value_unref(want);
    cfx_value_unref(got);
    cfx_interp_release(&plain);
    cfx_value_unref(x);
}
END_TEST

START_TEST(a_run_that_fails_harms_no_other)
{
    arena a;
    cfx_value x = floats(10, 100), bad = floats(10, 50), out;
    graph(X CALL("a", "torch.exp", "(%x,)") METHOD("v", "view", "(%a, 1000)")
          CALL("b", "torch.neg", "(%v,)") CALL("c", "torch.exp", "(%b,)")
          RETURN("%c"));
    make_plan(&x, 1);
    cfx_value want = run_plain(x);
    open_with(&a, false);
    for (int i = 0; i < 3; i++) {
        cfx_value got = run(&a.it, x);
        same(want, got);
        cfx_value_unref(got);
        ck_assert_int_ne(cfx_interp_run(&a.it, &bad, 1, &out, &err), 0);
    }
    close_arena(&a);
    cfx_value_unref(want);
    cfx_value_unref(x);
    cfx_value_unref(bad);
}
END_TEST

/* ---- Graphs in graphs ---- */

static const char children[] =
    "# cfx 1\n"
    "Net(\n"
    "  (f): Sub()\n"
    "  (g): Sub()\n"
    "  (h): Sub()\n"
    "  (i): Sub()\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "%s"
    "\n"
    "graph f():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%a : [num_users=1] = call_function[target=torch.exp](args = (%%x,), "
    "kwargs = {})\n"
    "    %%b : [num_users=1] = call_function[target=torch.neg](args = (%%a,), "
    "kwargs = {})\n"
    "    return %%b\n"
    "\n"
    "graph g():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%c : [num_users=1] = call_function[target=torch.abs](args = (%%x,), "
    "kwargs = {})\n"
    "    return %%c\n"
    "\n"
    "graph h():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%s : [num_users=1] = call_function[target=torch.sum](args = (%%x,), "
    "kwargs = {})\n"
    "    %%t : [num_users=1] = call_function[target=torch.lt](args = (%%s, "
    "1000000.0), kwargs = {})\n"
    "    return %%t\n"
    "\n"
    "graph i():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%d : [num_users=1] = call_function[target=torch.mul](args = (%%x, "
    "2), kwargs = {})\n"
    "    return (%%d,)\n";

static void family(const char *body)
{
    char text[4096];
    snprintf(text, sizeof(text), children, body);
    parse(text);
}

START_TEST(graphs_that_are_called_are_planned)
{
    cfx_value x = floats(10, 100);
    family(NODE("p", "call_module", "f", "(%x,)")
           NODE("q", "call_module", "f", "(%p,)")
           NODE("r", "call_module", "g", "(%q,)")
           CALL("s", "torch.sum", "(%r,)") RETURN("%s"));
    make_plan(&x, 1);
    ck_assert_uint_eq(cfx_memory_plan_calls(plan), 6);
    /* The caller holds what it gave while the two within are made. */
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 3 * 4032);
    ck_assert_uint_eq(runs_as_elsewhere(x), 0);
    cfx_value_unref(x);
}
END_TEST

/* Whoever gets what leaves control flow knows the context it is of. */
static void result_is_of_the_context(cfx_value x)
{
    arena a;
    open_with(&a, false);
    cfx_value got = run(&a.it, x), part = got.u.seq->item[0];
    if (part.kind == CFX_TUPLE)
        part = part.u.seq->item[0];
    ck_assert_int_eq(part.kind, CFX_TENSOR);
    ck_assert_ptr_eq(part.u.tensor->ctx, ctx);
    cfx_value_unref(got);
    close_arena(&a);
}

/* Only the data tell which branch it is, and how often it goes round. */
START_TEST(control_flow_runs)
{
    static const char *const bodies[] = {
        "    %f : [num_users=1] = get_attr[target=f]\n"
        "    %g : [num_users=1] = get_attr[target=g]\n"
        CALL("s", "torch.sum", "(%x,)") CALL("p", "torch.gt", "(%s, 0)")
        CALL("c", "torch.ops.higher_order.cond", "(%p, %f, %g, (%x,))")
        CALL("y", "torch.exp", "(%c,)") CALL("z", "torch.neg", "(%y,)")
        RETURN("(%c, %z)"),
        "    %h : [num_users=1] = get_attr[target=h]\n"
        "    %i : [num_users=1] = get_attr[target=i]\n"
        CALL("a", "torch.exp", "(%x,)") CALL("b", "torch.abs", "(%x,)")
        CALL("c", "torch.ops.higher_order.while_loop", "(%h, %i, (%b,), ())")
        CALL("g", "operator.getitem", "(%c, 0)")
        CALL("y", "torch.add", "(%g, %a)") RETURN("(%c, %y)"),
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        cfx_value x = floats(10, 100);
        family(bodies[i]);
        make_plan(&x, 1);
        for (int sign = 0; sign < 2; sign++) {
            result_is_of_the_context(x);
            runs_as_elsewhere(x);
            for (int k = 0; k < 1000; k++)
                ((float *)x.u.tensor->data)[k] *= -1;
        }
        cfx_value_unref(x);
    }
}
END_TEST

/* ---- Threads, lack of memory, sanitizers ---- */

static void *run_often(void *arg)
{
    arena a;
    cfx_value *x = arg, want;
    want = run_plain(*x);
    open_with(&a, false);
    for (int i = 0; i < 200; i++) {
        cfx_value got = run(&a.it, *x);
        same(want, got);
        cfx_value_unref(got);
    }
    ck_assert_uint_eq(cfx_planned_scope_counts(&a.scope).missed, 0);
    close_arena(&a);
    cfx_value_unref(want);
    return NULL;
}

static void run_two(void)
{
    cfx_value x = floats(10, 100), y = floats(10, 100);
    pthread_t other;
    make_plan(&x, 1);
    ((float *)y.u.tensor->data)[7] = -3;
    ck_assert_int_eq(pthread_create(&other, NULL, run_often, &y), 0);
    run_often(&x);
    pthread_join(other, NULL);
    cfx_value_unref(x);
    cfx_value_unref(y);
}

/* The allocator of these tests is for one thread. */
START_TEST(two_threads_run_over_one_plan)
{
    cfx_context *counted = ctx;
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), 0);
    graph(chain);
    run_two();
    cfx_memory_plan_free(plan);
    plan = NULL;
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
    ctx = counted;
}
END_TEST

/* All of it, with no more than n allocations. */
static cfx_status work(long n, cfx_value x)
{
    arena a = {.it = {.self = NULL}};
    cfx_interp_options o = {.size = sizeof(o), .scope = &a.scope.base};
    cfx_memory_plan *p = NULL;
    cfx_value out = CFX_NOTHING;
    allowed = n;
    cfx_status st = cfx_memory_plan_new(&p, gm, &x, 1, NULL, &err);
    if (!st)
        st = cfx_planned_scope_init(&a.scope, p, &err);
    if (!st)
        st = cfx_interp_init_with(&a.it, &cfx_interp_base, gm, &o, &err);
    if (!st)
        st = cfx_interp_run(&a.it, &x, 1, &out, &err);
    cfx_value_unref(out);
    close_arena(&a);
    cfx_memory_plan_free(p);
    allowed = -1;
    return st;
}

START_TEST(every_allocation_may_fail)
{
    cfx_options o = {.size = sizeof(o), .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *around = ctx;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), 0);
    family(NODE("p", "call_module", "f", "(%x,)")
           METHOD("v", "view", "(%p, -1)") METHOD("w", "relu_", "(%v,)")
           CALL("q", "torch.max", "(%w, 0)") RETURN("%q"));
    cfx_value x = floats(30, 100);
    ck_assert_int_eq(work(-1, x), 0);
    long before = held, n = 0;
    while (work(n++, x)) {
        ck_assert_int_eq(err.code, CFX_ENOMEM);
        ck_assert_int_eq(held, before);
        ck_assert_int_lt(n, 2000);
    }
    ck_assert_int_gt(n, 30);
    cfx_value_unref(x);
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
    ctx = around;
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
START_TEST(memory_in_the_arena_is_watched)
{
    arena a;
    const cfx_node *n;
    cfx_value v, x = floats(10, 100);
    const void *data[8];
    int k = 0;
    graph(chain);
    make_plan(&x, 1);
    open_with(&a, false);
    ck_assert_int_eq(cfx_interp_begin(&a.it, &x, 1, &err), 0);
    while (!cfx_interp_step(&a.it, &n, &v, &err) && n) {
        data[k++] = v.u.tensor->data;
        ck_assert(!__asan_address_is_poisoned(data[k - 1]));
        /* a, while c is looked at: b is its argument. */
        if (k == 4)
            ck_assert_ptr_eq(data[3], data[1]);
        if (k == 5)
            ck_assert(__asan_address_is_poisoned(data[2]));
    }
    ck_assert(__asan_address_is_poisoned(data[1]));
    cfx_interp_end(&a.it, &v);
    cfx_value_unref(v);
    close_arena(&a);
    cfx_value_unref(x);
}
END_TEST
#endif

/* ---- Text ---- */

START_TEST(a_plan_is_printed)
{
    char *text = NULL;
    size_t len;
    graph(chain);
    plan_for(10, 100);
    FILE *f = open_memstream(&text, &len);
    ck_assert_int_eq(cfx_print_memory(cfx_sink_file(f), plan, CFX_MEMORY_TABLE,
                                      &err), 0);
    fclose(f);
    ck_assert_str_eq(text,
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
END_TEST

int main(void)
{
    Suite *s = suite_create("memory_plan");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_chain_takes_two_blocks);
    tcase_add_test(t, views_and_results_in_place_are_aliases);
    tcase_add_test(t, results_that_are_computed_apart_are_scratch);
    tcase_add_test(t, inputs_that_come_out_take_nothing);
    tcase_add_test(t, what_a_view_holds_leaves_with_it);
    tcase_add_test(t, sizes_that_only_data_tell_are_not_planned);
    tcase_add_test(t, symbols_give_expressions_and_no_arena);
    tcase_add_test(t, blocks_that_are_too_large_have_no_arena);
    tcase_add_test(t, empty_tensors_have_no_bytes_but_a_place);
    tcase_add_test(t, errors_are_those_of_the_walk);
    tcase_add_test(t, the_checker_finds_what_overlaps);
    tcase_add_test(t, runs_in_the_arena_give_the_same);
    tcase_add_test(t, other_sizes_run_outside_of_the_arena);
    tcase_add_test(t, data_that_tell_sizes_run);
    tcase_add_test(t, values_that_are_held_are_not_overwritten);
    tcase_add_test(t, a_run_that_fails_harms_no_other);
    tcase_add_test(t, graphs_that_are_called_are_planned);
    tcase_add_test(t, control_flow_runs);
    tcase_add_test(t, two_threads_run_over_one_plan);
    tcase_add_test(t, every_allocation_may_fail);
#if defined(__SANITIZE_ADDRESS__)
    tcase_add_test(t, memory_in_the_arena_is_watched);
#endif
    tcase_add_test(t, a_plan_is_printed);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
