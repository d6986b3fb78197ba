/*
 * interp_test -- the walk and its hooks: what torch.fx's Interpreter promises.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include <cfx/check_finite.h>
#include <cfx/trace.h>

#include "tests/unit/interp/interp_test.h"
#include "tests/unit/unit.h"

/* ---- Arguments ---- */

TEST_CASE(interpreter_default_args)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &cfx_interp_base);
    cfx_value in[] = {floats(2, 2), cfx_int(-1)};
    cfx_value out = run(&it, in, 1);
    ck_assert_float_eq(first(out), 10);
    cfx_value_unref(out);
    out = run(&it, in, 2);
    ck_assert_float_eq(first(out), 2);
    cfx_value_unref(out);
    fails(&it, NULL, 0, CFX_EINVAL,
          "Expected positional argument for "
          "parameter x, but one was not passed in!; While executing %x : ");
    cfx_value_unref(in[0]);
    cfx_interp_release(&it);
}

TEST_CASE(interpreter_star_args)
{
    cfx_interp it = {0};
    model("graph():\n"
          "    %a : [num_users=0] = placeholder[target=a]\n"
          "    %args : [num_users=1] = placeholder[target=*args]\n"
          "    return args");
    ready(&it, &cfx_interp_base);
    cfx_value in[] = {cfx_int(1), cfx_int(2), cfx_int(3)};
    cfx_value out = run(&it, in, 3);
    ck_assert_int_eq(out.kind, CFX_LIST);
    ck_assert_int_eq(out.u.seq->len, 2);
    ck_assert_int_eq(out.u.seq->item[1].u.i, 3);
    cfx_value_unref(out);
    out = run(&it, in, 1);
    ck_assert_int_eq(out.u.seq->len, 0);
    cfx_value_unref(out);
    /* A dict is an argument like others where there are no **kwargs. */
    in[2] = cfx_dict_new(ctx, 0, NULL);
    out = run(&it, in, 3);
    ck_assert_int_eq(out.u.seq->len, 2);
    ck_assert_int_eq(out.u.seq->item[1].kind, CFX_DICT);
    cfx_value_unref(out);
    cfx_value_unref(in[2]);
    cfx_interp_release(&it);
}

TEST_CASE(signatures_follow_the_values_of_each_run)
{
    cfx_interp it = {0};
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %y : [num_users=1] = placeholder[target=y]\n"
          "    %add : [num_users=1] = call_function[target=operator.add](args "
          "= (%x, %y), kwargs = {})\n"
          "    return add");
    ready(&it, &cfx_interp_base);
    cfx_value t = floats(1, 4);
    cfx_value ints[] = {cfx_int(2), cfx_int(3)}, mixed[] = {cfx_int(2), t};
    cfx_value nothing[] = {cfx_none(), cfx_int(1)};
    for (int i = 0; i < 2; i++) {
        cfx_value out = run(&it, ints, 2);
        ck_assert_int_eq(out.kind, CFX_INT);
        ck_assert_int_eq(out.u.i, 5);
        out = run(&it, mixed, 2);
        ck_assert_float_eq(first(out), 6);
        cfx_value_unref(out);
        fails(&it, nothing, 2, CFX_EINVAL, "While executing %add");
    }
    cfx_value_unref(t);
    cfx_interp_release(&it);
}

TEST_CASE(results_outlive_the_interpreter)
{
    cfx_interp it = {0};
    model("graph():\n"
          "    %x : [num_users=2] = placeholder[target=x]\n"
          "    return {'a': (x, [x, None, 1.5]), 'b': 'text'}");
    ready(&it, &cfx_interp_base);
    cfx_value x = floats(1, 7), out = run(&it, &x, 1);
    cfx_value_unref(x);
    cfx_interp_release(&it);
    ck_assert_int_eq(out.kind, CFX_DICT);
    cfx_value a = out.u.seq->item[1];
    ck_assert_float_eq(first(a.u.seq->item[1].u.seq->item[0]), 7);
    cfx_value_unref(out);
}

/* ---- References ---- */

static int refs(cfx_value v)
{
    return v.u.tensor->refs;
}

TEST_CASE(runs_return_all_references)
{
    cfx_interp it = {0};
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x](default=3)\n"
          "    %w : [num_users=1] = get_attr[target=w]\n"
          "    %mul : [num_users=1] = call_function[target=operator.mul](args"
          " = (%x, %w), kwargs = {})\n"
          "    return mul");
    cfx_value x = floats(1, 2), w = floats(1, 5);
    ck_assert_int_eq(cfx_module_set(gm, "w", w.u.tensor, &err), CFX_OK);
    cfx_node *param = cfx_graph_find(cfx_graph_module_graph(gm), "x");
    ck_assert_int_eq(cfx_node_set_args(param, &x, 1, &err), CFX_OK);
    int x_before = refs(x), w_before = refs(w);
    for (int i = 0; i < 3; i++) {
        ready(&it, &cfx_interp_base);
        if (i == 1)
            ck_assert_int_eq(cfx_interp_set_env(&it, param, x, &err), CFX_OK);
        cfx_value out = run(&it, &x, i == 2);
        ck_assert_float_eq(first(out), 10);
        cfx_value_unref(out);
        cfx_interp_release(&it);
        ck_assert_int_eq(refs(x), x_before);
        ck_assert_int_eq(refs(w), w_before);
    }
    cfx_value_unref(x);
    cfx_value_unref(w);
}

/* ---- The environment ---- */

TEST_CASE(interpreter_partial_eval)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &cfx_interp_base);
    cfx_value x = floats(1, 2), sum = floats(1, 100);
    ck_assert_int_eq(cfx_interp_set_env(&it, node("add"), sum, &err), CFX_OK);
    cfx_value out = run(&it, &x, 1);
    ck_assert_float_eq(first(out), 200);
    cfx_value_unref(out);
    out = run(&it, &x, 1); /* once only */
    ck_assert_float_eq(first(out), 10);
    cfx_value_unref(out);
    /* A placeholder that has a value takes no input. */
    ck_assert_int_eq(cfx_interp_set_env(&it, node("x"), x, &err), CFX_OK);
    out = run(&it, (cfx_value[]){cfx_int(1)}, 1);
    ck_assert_float_eq(first(out), 6);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_value_unref(sum);
    cfx_interp_release(&it);
}

struct watch {
    cfx_interp base;
    int seen, live, most;
};

static cfx_status watch_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out);

static const cfx_interp_class watch_class = {
    .size = sizeof(cfx_interp_class),
    .name = "watch",
    .super = &cfx_interp_base,
    .run_node = watch_run_node,
};

/* Counts the values there are after each node. */
static cfx_status watch_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out)
{
    struct watch *w = (struct watch *)it;
    cfx_status st = CFX_SUPER(&watch_class, run_node)(it, n, out);
    w->seen++;
    w->live = 1;
    for (const cfx_node *at = cfx_graph_first(it->graph); at;
         at = cfx_node_next(at))
        w->live += cfx_interp_env(it, at).kind != CFX_ABSENT;
    if (w->live > w->most)
        w->most = w->live;
    return st;
}

TEST_CASE(values_end_with_their_last_use)
{
    struct watch w = {0};
    model(chain);
    ready(&w.base, &watch_class);
    cfx_value x = floats(1, 2), out = run(&w.base, &x, 1);
    ck_assert_int_eq(w.seen, 6);
    ck_assert_int_eq(w.most, 3); /* x, y and add; x, add and relu */
    ck_assert_int_eq(cfx_interp_env(&w.base, node("add")).kind, CFX_ABSENT);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&w.base);
}

TEST_CASE(nothing_is_left_behind_the_output)
{
    cfx_interp it = {0};
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %neg : [num_users=1] = call_function[target=torch.neg](args = "
          "(%x,), kwargs = {})\n"
          "    return neg");
    cfx_value neg = cfx_value_of_node((cfx_node *)node("neg"));
    cfx_graph_call_function(cfx_graph_module_graph(gm), "torch.abs",
                            CFX_ARGS(neg), &err);
    ready(&it, &cfx_interp_base);
    for (int i = 1; i < 3; i++) {
        cfx_value in = floats(1, (float)i), out = run(&it, &in, 1);
        ck_assert_float_eq(first(out), -(float)i);
        ck_assert_int_eq(cfx_interp_env(&it, node("neg")).kind, CFX_ABSENT);
        cfx_value_unref(out);
        cfx_value_unref(in);
    }
    cfx_interp_release(&it);
}

TEST_CASE(kept_values_stay_until_the_next_run)
{
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .keep_values = true};
    model(chain);
    ck_assert_int_eq(cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                     CFX_OK);
    cfx_value x = floats(1, 2), out = run(&it, &x, 1);
    cfx_value_unref(out);
    ck_assert_float_eq(first(cfx_interp_env(&it, node("add"))), 5);
    /* The next run begins with the values that are set, and no others. */
    ck_assert_int_eq(cfx_interp_set_env(&it, node("relu"), x, &err), CFX_OK);
    ck_assert_int_eq(cfx_interp_env(&it, node("add")).kind, CFX_ABSENT);
    out = run(&it, &x, 1);
    ck_assert_float_eq(first(out), 4);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

/* ---- Hooks ---- */

struct counts {
    cfx_interp base;
    int of[CFX_NOPCODES], sub;
};

static const cfx_interp_class counts_class, sub_class;

#define COUNT(hook, op)                                                       \
    static cfx_status count_##hook(cfx_interp *it, const cfx_call *call,      \
                                   cfx_value *out)                            \
    {                                                                         \
        ((struct counts *)it)->of[op]++;                                      \
        ck_assert_ptr_eq(call->node->graph, it->graph);                       \
        return CFX_SUPER(&counts_class, hook)(it, call, out);                 \
    }
COUNT(placeholder, CFX_PLACEHOLDER)
COUNT(get_attr, CFX_GET_ATTR)
COUNT(call_function, CFX_CALL_FUNCTION)
COUNT(call_method, CFX_CALL_METHOD)
COUNT(call_module, CFX_CALL_MODULE)
COUNT(output, CFX_OUTPUT)

static const cfx_interp_class counts_class = {
    .size = sizeof(cfx_interp_class),
    .name = "counts",
    .super = &cfx_interp_base,
    .placeholder = count_placeholder,
    .get_attr = count_get_attr,
    .call_function = count_call_function,
    .call_method = count_call_method,
    .call_module = count_call_module,
    .output = count_output,
};

static cfx_status sub_method(cfx_interp *it, const cfx_call *call,
                             cfx_value *out)
{
    ((struct counts *)it)->sub++;
    return CFX_SUPER(&sub_class, call_method)(it, call, out);
}

static const cfx_interp_class sub_class = {
    .size = sizeof(cfx_interp_class),
    .name = "sub",
    .super = &counts_class,
    .call_method = sub_method,
};

TEST_CASE(each_opcode_has_its_hook_and_classes_chain_up)
{
    struct counts c = {0};
    model("Net(\n"
          "  (act): ReLU()\n"
          ")\n"
          "\n"
          "graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %act : [num_users=1] = call_module[target=act](args = (%x,), "
          "kwargs = {})\n"
          "    %abs_1 : [num_users=1] = call_method[target=abs](args = "
          "(%act,), kwargs = {})\n"
          "    %neg : [num_users=1] = call_function[target=torch.neg](args = "
          "(%abs_1,), kwargs = {})\n"
          "    %neg_1 : [num_users=1] = call_function[target=torch.neg](args "
          "= (%neg,), kwargs = {})\n"
          "    return neg_1");
    ready(&c.base, &sub_class);
    cfx_value x = floats(1, 2), out = run(&c.base, &x, 1);
    ck_assert_float_eq(first(out), 2);
    static const int want[CFX_NOPCODES] = {
        [CFX_PLACEHOLDER] = 1,   [CFX_CALL_MODULE] = 1, [CFX_CALL_METHOD] = 1,
        [CFX_CALL_FUNCTION] = 2, [CFX_OUTPUT] = 1,
    };
    for (int op = 0; op < CFX_NOPCODES; op++)
        ck_assert_int_eq(c.of[op], want[op]);
    ck_assert_int_eq(c.sub, 1);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&c.base);
}

/* torch.fx's own example: call another function, with other arguments. */
struct swap {
    cfx_interp base;
    cfx_value target, arg;
};

static const cfx_interp_class swap_class;

static cfx_status swap_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    struct swap *self = (struct swap *)it;
    cfx_call other = *call;
    cfx_value args[] = {call->args[0], self->arg};
    other.target = self->target;
    other.args = args;
    return CFX_SUPER(&swap_class, call_function)(it, &other, out);
}

static const cfx_interp_class swap_class = {
    .size = sizeof(cfx_interp_class),
    .name = "swap",
    .super = &cfx_interp_base,
    .call_function = swap_function,
};

TEST_CASE(hook_may_chain_up_with_another_call)
{
    struct swap s = {.arg = cfx_int(10)};
    model(chain);
    ready(&s.base, &swap_class);
    s.target = cfx_str_new(ctx, "operator.sub", 12);
    cfx_value x = floats(1, 25), out = run(&s.base, &x, 1);
    ck_assert_float_eq(first(out), 5);
    cfx_value_unref(out);
    cfx_value_unref(s.target);
    s.target = cfx_str_new(ctx, "no.such", 7);
    fails(&s.base, &x, 1, CFX_EOPERATOR,
          "unknown function 'no.such': no "
          "registered operator has this alias; While executing %add : ");
    cfx_value_unref(s.target);
    cfx_value_unref(x);
    cfx_interp_release(&s.base);
}

/* A module that fails is skipped. */
static cfx_status skip_module(cfx_interp *it, const cfx_call *call,
                              cfx_value *out);

static const cfx_interp_class skip_class = {
    .size = sizeof(cfx_interp_class),
    .name = "skip",
    .super = &cfx_interp_base,
    .call_module = skip_module,
};

static cfx_status skip_module(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    if (CFX_SUPER(&skip_class, call_module)(it, call, out)) {
        cfx_error_clear(it->err);
        *out = cfx_value_ref(call->args[0]);
    }
    return CFX_OK;
}

TEST_CASE(hook_may_handle_an_error)
{
    cfx_interp it = {0};
    model("Net(\n"
          "  (act): Softmax(dim=5)\n"
          "  (abs): ReLU()\n"
          ")\n"
          "\n"
          "graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %act : [num_users=1] = call_module[target=act](args = (%x,), "
          "kwargs = {})\n"
          "    %abs_1 : [num_users=1] = call_module[target=abs](args = "
          "(%act,), kwargs = {})\n"
          "    return abs_1");
    ready(&it, &skip_class);
    cfx_value x = floats(1, -2);
    for (int i = 0; i < 2; i++) {
        cfx_value out = run(&it, &x, 1);
        ck_assert_float_eq(first(out), 0);
        cfx_value_unref(out);
    }
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

static cfx_status ones_for_x(cfx_interp *it, const cfx_node *n,
                             cfx_call *call);

static const cfx_interp_class ones_class = {
    .size = sizeof(cfx_interp_class),
    .name = "ones",
    .super = &cfx_interp_base,
    .fetch_args = ones_for_x,
};

static cfx_status ones_for_x(cfx_interp *it, const cfx_node *n, cfx_call *call)
{
    static cfx_value args[2];
    cfx_status st = CFX_SUPER(&ones_class, fetch_args)(it, n, call);
    if (!st && !strcmp(n->name, "add")) {
        args[0] = call->args[0];
        args[1] = cfx_int(1);
        call->args = args;
    }
    return st;
}

/* Another graph over the same module. */
TEST_CASE(interpreter_other_graph)
{
    cfx_interp it = {0};
    cfx_graph *other;
    model(chain);
    ck_assert_int_eq(cfx_graph_copy(&other, cfx_graph_module_graph(gm), &err),
                     CFX_OK);
    cfx_node *mul = cfx_graph_find(other, "mul");
    ck_assert_int_eq(cfx_node_set_target(mul, "operator.sub", &err), CFX_OK);
    cfx_interp_options o = {.size = sizeof(o), .graph = other};
    ck_assert_int_eq(cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                     CFX_OK);
    cfx_value x = floats(2, 2), out = run(&it, &x, 1);
    ck_assert_float_eq(first(out), 3);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&it);
    cfx_graph_free(other);
}

TEST_CASE(arguments_may_be_fetched_otherwise)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &ones_class);
    cfx_value x = floats(1, 2), out = run(&it, &x, 1);
    ck_assert_float_eq(first(out), 6);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

/* ---- Errors, and who shares what ---- */

TEST_CASE(errors_tell_the_node)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &cfx_interp_base);
    cfx_value in[] = {floats(2, 1), floats(3, 1)};
    fails(&it, in, 2, CFX_ESHAPE,
          "While executing %add : [num_users=1] = "
          "call_function[target=operator.add](args = (%x, %y), kwargs = {})");
    cfx_value out = run(&it, in, 1); /* and the next run is as new */
    ck_assert_float_eq(first(out), 4);
    cfx_value_unref(out);
    cfx_value_unref(in[0]);
    cfx_value_unref(in[1]);
    cfx_interp_release(&it);
    model("graph():\n"
          "    %p : [num_users=1] = get_attr[target=a.b]\n"
          "    return p");
    err = (cfx_error){0};
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, &err);
    if (!st)
        fails(&it, NULL, 0, CFX_EATTR, "nonexistent target a.b");
    else
        ck_assert_msg(strstr(err.text, "a.b") != NULL, "%s", err.text);
    cfx_interp_release(&it);
}

TEST_CASE(output_without_a_value_is_an_error)
{
    cfx_interp it = {0};
    cfx_value in = floats(1, 1);
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    return x");
    ck_assert_int_eq(
        cfx_node_set_args((cfx_node *)node("output"), NULL, 0, &err), CFX_OK);
    ready(&it, &cfx_interp_base);
    fails(&it, &in, 1, CFX_EGRAPH, "an output without a value");
    cfx_value_unref(in);
    cfx_interp_release(&it);
}

TEST_CASE(run_stops_when_it_is_cancelled)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &cfx_interp_base);
    cfx_value x = floats(1, 2);
    cfx_context_cancel(ctx);
    fails(&it, &x, 1, CFX_ECANCEL, "cancelled");
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

static void *run_often(void *arg)
{
    cfx_interp it = {0};
    cfx_value x = *(cfx_value *)arg, out;
    cfx_error e = {0};
    bool ok = !cfx_interp_init(&it, &cfx_interp_base, gm, &e);
    for (int i = 0; i < 200 && ok; i++) {
        ok = !cfx_interp_run(&it, &x, 1, &out, &e) && first(out) == 10;
        cfx_value_unref(out);
    }
    cfx_interp_release(&it);
    return ok ? arg : NULL;
}

TEST_CASE(two_threads_walk_one_graph)
{
    pthread_t thread[2];
    model(chain);
    cfx_value x = floats(5, 2);
    for (int i = 0; i < 2; i++)
        ck_assert(!pthread_create(&thread[i], NULL, run_often, &x));
    for (int i = 0; i < 2; i++) {
        void *ok;
        pthread_join(thread[i], &ok);
        ck_assert_ptr_nonnull(ok);
    }
    cfx_value_unref(x);
}

/* ---- The classes that are shipped ---- */

TEST_CASE(check_finite_names_the_first_that_is_not)
{
    cfx_check_finite c = {0};
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %log : [num_users=1] = call_function[target=torch.log](args = "
          "(%x,), kwargs = {})\n"
          "    %exp : [num_users=1] = call_function[target=torch.exp](args = "
          "(%log,), kwargs = {})\n"
          "    return exp");
    ck_assert_int_eq(cfx_check_finite_init(&c, gm, &err), CFX_OK);
    cfx_value good = floats(3, 2), bad = floats(3, 0);
    cfx_value_unref(run(&c.base, &good, 1));
    fails(&c.base, &bad, 1, CFX_ENUMERIC, "While executing %log");
    cfx_value_unref(good);
    cfx_value_unref(bad);
    cfx_interp_release(&c.base);
}

static void *filled(void *user, size_t size, size_t align)
{
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
    (void)user;
    return p ? memset(p, 0xFF, size) : NULL;
}

static void freed(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

/* All bits of new memory are set: as floats they are NaN. */
TEST_CASE(check_finite_passes_over_what_is_written_later)
{
    cfx_options o = {.size = sizeof(o), .allocator = {filled, freed, NULL}};
    cfx_context *before = ctx;
    cfx_check_finite c = {0};
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %u : [num_users=1] = call_function[target=torch.ops.cfx."
          "uninitialized.default](args = ([3],), kwargs = {})\n"
          "    %y : [num_users=1] = call_function[target=torch.ops.aten.exp."
          "out](args = (%x,), kwargs = {out: %u})\n"
          "    return y");
    ck_assert_int_eq(cfx_check_finite_init(&c, gm, &err), CFX_OK);
    cfx_value x = floats(3, 0), y = run(&c.base, &x, 1);
    ck_assert_float_eq(first(y), 1);
    cfx_value_unref(x);
    cfx_value_unref(y);
    cfx_interp_release(&c.base);
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
    ctx = before;
}

TEST_CASE(trace_tells_a_line_a_node)
{
    cfx_trace t = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    model(chain);
    ck_assert_int_eq(cfx_trace_init(&t, gm, f, &err), CFX_OK);
    cfx_value x = floats(2, 2);
    cfx_value_unref(run(&t.base, &x, 1));
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "%add : f32[2] = "));
    int lines = 0;
    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    ck_assert_int_eq(lines, 6);
    free(text);
    cfx_value_unref(x);
    cfx_interp_release(&t.base);
}

/* ---- States ---- */

static const char stateful[] =
    "# cfx 1\n"
    "Net(\n"
    "  (a): Module()\n"
    ")\n"
    "\n"
    "state:\n"
    "    w: f32[1] buffer\n"
    "    a.v: f32[1] buffer\n"
    "\n"
    "graph():\n"
    "    %w : [num_users=1] = get_attr[target=w]\n"
    "    %v : [num_users=1] = get_attr[target=a.v]\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%w, %v), kwargs = {})\n"
    "    return %add";

static void set_state(cfx_module *m, const char *name, float x)
{
    cfx_value v = floats(1, x);
    ck_assert_msg(!cfx_module_set(m, name, v.u.tensor, &err), "%s", err.text);
    cfx_value_unref(v);
}

static void gives(cfx_interp *it, float want)
{
    cfx_value out = run(it, NULL, 0);
    ck_assert_float_eq(first(out), want);
    cfx_value_unref(out);
}

TEST_CASE(states_and_modules_may_change_between_runs)
{
    cfx_interp it;
    cfx_module *a, *b;
    size_t removed;
    char name[8];
    model(stateful);
    ready(&it, &cfx_interp_base);
    fails(&it, NULL, 0, CFX_EWEIGHT, "missing weight: w");
    a = cfx_module_at(gm, "a");
    set_state(gm, "w", 1);
    set_state(a, "v", 2);
    gives(&it, 3);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "z%d", i);
        set_state(gm, name, 0);
        set_state(a, name, 0);
    }
    set_state(gm, "w", 10);
    gives(&it, 12);
    ck_assert(!cfx_graph_module_delete_all_unused_state(gm, &removed, &err));
    ck_assert_uint_eq(removed, 80);
    gives(&it, 12);
    ck_assert(!cfx_module_new_container(&b, ctx, "Module", &err));
    set_state(b, "v", 100);
    ck_assert(!cfx_module_add_take(gm, "a", b, &err));
    gives(&it, 110);
    cfx_interp_release(&it);
}

struct fetches {
    cfx_interp base;
    int n;
};

static const cfx_interp_class fetches_class;

static cfx_status count_fetch(cfx_interp *it, const char *path, cfx_value *out)
{
    ((struct fetches *)it)->n++;
    return CFX_SUPER(&fetches_class, fetch_attr)(it, path, out);
}

static const cfx_interp_class fetches_class = {
    .size = sizeof(cfx_interp_class),
    .name = "fetches",
    .super = &cfx_interp_base,
    .fetch_attr = count_fetch,
};

TEST_CASE(a_class_fetches_each_get_attr_node)
{
    struct fetches f = {0};
    model(stateful);
    set_state(gm, "w", 1);
    set_state(cfx_module_at(gm, "a"), "v", 2);
    ready(&f.base, &fetches_class);
    gives(&f.base, 3);
    ck_assert_int_eq(f.n, 2);
    cfx_interp_release(&f.base);
}

TEST_SUITE(interp, .setup = setup, .teardown = teardown, .timeout = 60)
