/*
 * memory_run_test -- runs in the arena of a plan.
 */
#include <pthread.h>

#include "tests/unit/shape/memory_test.h"
#include "tests/unit/unit.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

TEST_CASE(runs_in_the_arena_give_the_same)
{
    static const char *const bodies[] = {
        /* clang-format off */
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
        X CALL("a", "torch.exp", "(%x,)") CALL("z", "torch.neg", "(%x,)")
        INTO("w", "torch.mul", "(%a, %x)", "%z")
        CALL("s", "torch.softmax", "(%z, 1)")
        INTO("v", "torch.softmax", "(%a, 1)", "%z")
        CALL("r", "torch.neg", "(%z,)") RETURN("(%s, %r)"),
    };
    /* clang-format on */
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

TEST_CASE(other_sizes_run_outside_of_the_arena)
{
    graph(chain);
    plan_for(10, 100);
    for (int64_t n = 1; n < 40; n += 13) {
        cfx_value x = floats(n, 100);
        ck_assert_uint_eq(runs_as_elsewhere(x), 2 * 3);
        cfx_value_unref(x);
    }
}

TEST_CASE(data_that_tell_sizes_run)
{
    cfx_value x = floats(10, 100);
    /* clang-format off */
    graph(X CALL("n", "torch.nonzero", "(%x,)")
          CALL("a", "torch.exp", "(%x,)") CALL("s", "torch.sum", "(%n,)")
          CALL("t", "torch.sum", "(%a,)") CALL("u", "torch.add", "(%s, %t)")
          RETURN("(%u, %n)"));
    /* clang-format on */
    make_plan(&x, 1);
    runs_as_elsewhere(x);
    cfx_value_unref(x);
}

/* Values that stay keep their memory: others go elsewhere. */
TEST_CASE(values_that_are_held_are_not_overwritten)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    arena a;
    cfx_interp plain = {0};
    cfx_interp_options keep = {.size = sizeof(keep), .keep_values = true};
    cfx_value x = floats(10, 100), kept[4];
    graph(chain);
    make_plan(&x, 1);
    open_with(&a, true);
    ck_assert_int_eq(
        cfx_interp_init_with(&plain, &cfx_interp_base, gm, &keep, &err), 0);
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
        /* Tensors in the arena can be viewed. */
        cfx_dim shape[] = {cfx_dim_int(100), cfx_dim_int(10)};
        cfx_dim stride[] = {cfx_dim_int(1), cfx_dim_int(100)};
        ck_assert_int_eq(cfx_tensor_view(&t, kept[i].u.tensor, 2, shape,
                                         stride, cfx_dim_int(0), &err),
                         0);
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

TEST_CASE(a_run_that_fails_harms_no_other)
{
    arena a;
    cfx_value x = floats(10, 100), bad = floats(10, 50), out;
    /* clang-format off */
    graph(X CALL("a", "torch.exp", "(%x,)") METHOD("v", "view", "(%a, 1000)")
          CALL("b", "torch.neg", "(%v,)") CALL("c", "torch.exp", "(%b,)")
          RETURN("%c"));
    /* clang-format on */
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

/* Neither more nor less than a call takes is planned for it: row-major copies
 * where the operator's flags say so, of the weight of linear none. */
TEST_CASE(all_that_is_planned_is_taken)
{
    static const char *const bodies[] = {
        /* clang-format off */
        METHOD("t", "t", "(%y,)")
        CALL("a", "torch.nn.functional.linear", "(%y, %t)"),
        METHOD("t", "t", "(%y,)")
        CALL("a", "torch.nn.functional.linear", "(%t, %y)"),
        METHOD("t", "t", "(%y,)")
        CALL("a", "torch.nn.functional.layer_norm", "(%t, (30,))"),
        METHOD("t", "t", "(%y,)")
        CALL("a", "torch.nn.functional.rms_norm", "(%t, (30,))"),
        METHOD("v", "view", "(%y, 1, 30, 10, 3)")
        METHOD("t", "permute", "(%v, 0, 3, 1, 2)")
        CALL("a", "torch.nn.functional.max_pool2d", "(%t, 2)"),
        METHOD("v", "view", "(%y, 1, 30, 10, 3)")
        METHOD("t", "permute", "(%v, 0, 3, 1, 2)")
        METHOD("w", "view", "(%y, 3, 3, 10, 10)")
        METHOD("u", "permute", "(%w, 0, 1, 3, 2)")
        CALL("a", "torch.nn.functional.conv2d", "(%t, %u)"),
        METHOD("v", "view", "(%y, 1, 30, 10, 3)")
        METHOD("t", "permute", "(%v, 0, 3, 1, 2)")
        CALL("a", "torch.nn.functional.group_norm", "(%t, 3)"),
        METHOD("v", "view", "(%y, 1, 30, 30)")
        CALL("m", "torch.gt", "(%x, 3)")
        CALL("a", "torch.nn.functional.scaled_dot_product_attention",
             "(%v, %v, %v, %m)"),
    };
    /* clang-format on */
    cfx_value x = floats(30, 30);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        char text[2048];
        uint64_t planned = 0;
        arena a;
        /* clang-format off */
        snprintf(text, sizeof(text), "%s%s%s",
                 X CALL("y", "torch.exp", "(%x,)"), bodies[i],
                 CALL("b", "torch.exp", "(%a,)")
                 CALL("s", "torch.sum", "(%b,)") RETURN("%s"));
        /* clang-format on */
        graph(text);
        make_plan(&x, 1);
        for (size_t k = 0; k < cfx_memory_plan_len(plan); k++) {
            const cfx_memory_block *b = cfx_memory_plan_at(plan, k);
            planned += b->kind != CFX_BLOCK_ALIAS && b->offset >= 0;
        }
        open_with(&a, false);
        cfx_value want = run_plain(x), got = run(&a.it, x);
        same(want, got);
        cfx_planned_counts n = cfx_planned_scope_counts(&a.scope);
        ck_assert_msg(n.placed == planned && !n.missed,
                      "%zu: %llu placed of "
                      "%llu, %llu missed",
                      i, (unsigned long long)n.placed,
                      (unsigned long long)planned,
                      (unsigned long long)n.missed);
        cfx_value_unref(want);
        cfx_value_unref(got);
        close_arena(&a);
    }
    cfx_value_unref(x);
}

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

TEST_CASE(graphs_that_are_called_are_planned)
{
    cfx_value x = floats(10, 100);
    /* clang-format off */
    family(NODE("p", "call_module", "f", "(%x,)")
           NODE("q", "call_module", "f", "(%p,)")
           NODE("r", "call_module", "g", "(%q,)")
           CALL("s", "torch.sum", "(%r,)") RETURN("%s"));
    /* clang-format on */
    make_plan(&x, 1);
    ck_assert_uint_eq(cfx_memory_plan_calls(plan), 6);
    /* The caller holds what it gave while the two within are made. */
    ck_assert_int_eq(cfx_memory_plan_arena(plan), 3 * 4032);
    ck_assert_uint_eq(runs_as_elsewhere(x), 0);
    cfx_value_unref(x);
}

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
TEST_CASE(control_flow_runs)
{
    static const char *const bodies[] = {
        /* clang-format off */
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
    /* clang-format on */
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
TEST_CASE(two_threads_run_over_one_plan)
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

TEST_CASE(every_allocation_may_fail)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *around = ctx;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), 0);
    /* clang-format off */
    family(NODE("p", "call_module", "f", "(%x,)")
           METHOD("v", "view", "(%p, -1)") METHOD("w", "relu_", "(%v,)")
           CALL("q", "torch.max", "(%w, 0)") RETURN("%q"));
    /* clang-format on */
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

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE(memory_in_the_arena_is_watched)
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
#endif

TEST_SUITE(memory_run, .setup = setup, .teardown = teardown)
