/*
 * higher_order_test -- operators whose arguments are graphs: cond, while_loop,
 * map and scan, their errors and their types.
 */
#include "tests/unit/interp/control_test.h"
#include "tests/unit/unit.h"

/* ---- Operators whose arguments are graphs ---- */

enum { ROOM = 8192 };

/* A model whose graph has `body`, with x and p as inputs, and children f and g
 * with the bodies given; what each returns stands in them. */
static void program(const char *body, const char *f, const char *g)
{
    static char text[ROOM];
    int n = snprintf(text, sizeof(text),
                     "# cfx 1\n"
                     "Net(\n"
                     "  (f): Sub()\n"
                     "  (g): Sub()\n"
                     ")\n"
                     "\n"
                     "graph():\n"
                     "    %%x : [num_users=1] = placeholder[target=x]\n"
                     "    %%p : [num_users=1] = placeholder[target=p]"
                     "(default=True)\n"
                     "    %%f : [num_users=1] = get_attr[target=f]\n"
                     "    %%g : [num_users=1] = get_attr[target=g]\n"
                     "%s\n"
                     "graph f():\n%s\n"
                     "graph g():\n%s",
                     body, f, g);
    ck_assert_int_lt(n, ROOM);
    model(text);
}

static const char in_x[] = "    %x : [num_users=1] = placeholder[target=x]\n";

/* A line of a graph that makes %y, and its return. */
static const char *body_of(const char *op, const char *args)
{
    static char text[8][1024];
    static int next;
    char *to = text[next++ % 8];
    snprintf(to, 1024,
             "%s    %%y : [num_users=1] = call_function[target=%s]"
             "(args = %s, kwargs = {})\n    return (%%y,)\n",
             in_x, op, args);
    return to;
}

/* `name` of f and g; the first of its results. */
static const char *first_of(const char *name, const char *args)
{
    static char text[1024];
    snprintf(text, sizeof(text),
             "    %%c : [num_users=1] = call_function["
             "target=torch.ops.higher_order.%s](args = %s, kwargs = {})\n"
             "    %%r : [num_users=1] = call_function[target=operator."
             "getitem](args = (%%c, 0), kwargs = {})\n"
             "    return %%r\n",
             name, args);
    return text;
}

static const char of_cond[] = "(%p, %f, %g, (%x,))";
static const char of_while[] = "(%f, %g, (%x,), ())";

TEST_CASE(cond_takes_the_branch_that_pred_tells)
{
    program(first_of("cond", of_cond), body_of("operator.add", "(%x, 1)"),
            body_of("operator.mul", "(%x, 10)"));
    for (int i = 0; i < 4; i++) {
        cfx_value in[] = {floats(2, 2),
                          i & 1 ? cfx_bool(i > 1) : floats(1, (float)(i > 1))};
        ck_assert_float_eq(run(in, 2), i > 1 ? 3 : 20);
    }
}

TEST_CASE(cond_refuses_what_is_no_truth)
{
    cfx_interp it = {0};
    cfx_value x = floats(2, 1), out;
    const struct {
        cfx_value p;
        const char *text;
    } cases[] = {
        {x, "cond: Expected pred to be bool or single-element tensor, but got"
            " f32[2]"},
        {cfx_int(1), "cond: Expected pred to be bool or tensor, but got int"}};
    program(first_of("cond", of_cond), body_of("operator.add", "(%x, 1)"),
            body_of("operator.mul", "(%x, 10)"));
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    for (int i = 0; i < 2; i++) {
        cfx_value in[] = {x, cases[i].p};
        err = (cfx_error){0};
        ck_assert_int_eq(cfx_interp_run(&it, in, 2, &out, &err), CFX_EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
    }
    cfx_interp_release(&it);
    cfx_value_unref(x);
}

TEST_CASE(operators_of_graphs_refuse_other_arguments)
{
    program(first_of("cond", "(%p, %x, %g, (%x,))"),
            body_of("operator.add", "(%x, 1)"),
            body_of("operator.mul", "(%x, 10)"));
    fails(CFX_EINVAL, "cond: argument 'true_fn' must be a graph, not Tensor");
    program(first_of("map_impl", "(%f, [], [])"),
            body_of("operator.add", "(%x, 1)"),
            body_of("operator.mul", "(%x, 10)"));
    fails(CFX_EINVAL, "map_impl: there are no mapped xs");
    program(
        first_of("wrap_with_autocast", "('cuda', None, True, False, %f, %x)"),
        body_of("operator.add", "(%x, 1)"), "    return None\n");
    fails(CFX_EUNSUPPORTED,
          "autocast is only supported for the CPU, not for cuda: save "
          "ep.run_decompositions(), which has the casts in the graph");
}

TEST_CASE(errors_in_branches_tell_their_graph)
{
    program(first_of("cond", of_cond), body_of("torch.cat", "(%x,)"),
            body_of("operator.mul", "(%x, 10)"));
    fails(CFX_EINVAL, "(args = (%x,), kwargs = {}) in submodule f");
}

/* ---- In meta scopes ---- */

/* Propagate the types of the two inputs, whose extents may be symbols; gives
 * the type of the result, or the error. */
static const char *propagate(const char *x, const char *p)
{
    static char text[2048];
    cfx_shape_env *env;
    cfx_scope s;
    cfx_interp it = {0};
    cfx_value in[2], out;
    const char *types[] = {x, p};
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), 0);
    for (int i = 0; i < 2; i++) {
        cfx_dim shape[CFX_MAX_RANK];
        cfx_tensor *t;
        cfx_dtype type;
        char name[8] = "";
        int rank = 0;
        memcpy(name, types[i], strcspn(types[i], "["));
        ck_assert(cfx_dtype_parse(&type, name));
        for (const char *at = strchr(types[i], '[') + 1; *at != ']';) {
            char word[16] = "";
            size_t n = strcspn(at, ", ]");
            memcpy(word, at, n);
            shape[rank++] = word[0] >= '0' && word[0] <= '9'
                                ? cfx_dim_int(atoi(word))
                                : cfx_dim_symbol(env, word, 1);
            at += n + strspn(at + n, ", ");
        }
        ck_assert_int_eq(
            cfx_tensor_meta(&t, ctx, type, rank, shape, NULL, &err), 0);
        in[i] = cfx_value_of_tensor(t);
    }
    cfx_scope_init(&s, &cfx_meta_class, ctx, env);
    cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    ck_assert_msg(!cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                  "%s", err.text);
    if (cfx_interp_run(&it, in, 2, &out, &err))
        snprintf(text, sizeof(text), "%s", err.text);
    else if (out.kind == CFX_TENSOR)
        cfx_tensor_format_type(out.u.tensor, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s", cfx_kind_name(out.kind));
    cfx_value_unref(out);
    for (int i = 0; i < 2; i++)
        cfx_value_unref(in[i]);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    cfx_shape_env_free(env);
    err = (cfx_error){0};
    char *end = strstr(text, "; While");
    if (end)
        *end = '\0';
    return text;
}

/* Result types of operators on and off PyTorch's autocast lists, by input type. */
TEST_CASE(autocast_casts_what_is_listed)
{
    const struct {
        const char *op, *args, *in, *out;
    } cases[] = {
        {"torch.matmul", "(%x, %x)", "f32[2, 2]", "bf16[2, 2]"},
        {"torch.matmul", "(%x, %x)", "f16[2, 2]", "bf16[2, 2]"},
        {"torch.matmul", "(%x, %x)", "f64[2, 2]", "f64[2, 2]"},
        {"torch.matmul", "(%x, %x)", "i64[2, 2]", "i64[2, 2]"},
        {"torch.nn.functional.linear", "(%x, %x)", "f32[2, 2]", "bf16[2, 2]"},
        {"torch.ops.aten.mm.default", "(%x, %x)", "f32[2, 2]", "bf16[2, 2]"},
        {"torch.inner", "(%x, %x)", "f32[2, 2]", "bf16[2, 2]"},
        {"torch.einsum", "('ij,kj->ik', [%x, %x])", "f32[2, 3]", "bf16[2, 2]"},
        {"torch.einsum", "('i...,j...->ij', [%x, %x])", "f32[2, 1]",
         "f32[2, 2]"},
        {"torch.einsum", "('ij,kj->ik', [%x, %x])", "f32[2, 1]", "f32[2, 2]"},
        {"torch.einsum", "('ij,ij->ij', [%x, %x])", "f32[2, 2]", "f32[2, 2]"},
        {"torch.einsum", "('ij->ji', [%x])", "f32[2, 3]", "f32[3, 2]"},
        {"torch.prod", "(%x,)", "bf16[2, 2]", "f32[]"},
        {"torch.linalg.inv", "(%x,)", "bf16[2, 2]", "f32[2, 2]"},
        {"torch.stack", "([%x, %x],)", "bf16[2, 2]", "bf16[2, 2, 2]"},
        {"torch.stack", "([%x, %x],)", "f32[2, 2]", "f32[2, 2, 2]"},
        {"torch.add", "(%x, %x)", "f32[2, 2]", "f32[2, 2]"},
        {"torch.softmax", "(%x, -1)", "bf16[2, 2]", "bf16[2, 2]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        program(first_of("wrap_with_autocast",
                         "('cpu', torch.bfloat16, True, False, %f, %x)"),
                body_of(cases[i].op, cases[i].args), "    return None\n");
        ck_assert_str_eq(propagate(cases[i].in, "b8[]"), cases[i].out);
    }
}

TEST_CASE(cond_has_the_type_of_both_branches)
{
    program(first_of("cond", of_cond), body_of("operator.add", "(%x, 1)"),
            body_of("operator.mul", "(%x, 10)"));
    ck_assert_str_eq(propagate("f32[N,3]", "f32[]"), "f32[N, 3]");
    program(first_of("cond", of_cond), body_of("torch.cat", "([%x, %x],)"),
            body_of("operator.mul", "(%x, 10)"));
    ck_assert_str_eq(propagate("f32[N,3]", "f32[1]"), "f32[u0, 3]");
    program(first_of("cond", of_cond), body_of("torch.sum", "(%x,)"),
            body_of("operator.mul", "(%x, 10)"));
    ck_assert_str_eq(propagate("f32[2]", "f32[]"),
                     "cond: true_fn gives f32[], false_fn gives f32[2]");
    program(first_of("cond", of_cond), body_of("torch.argmax", "(%x,)"),
            body_of("torch.sum", "(%x,)"));
    ck_assert_str_eq(propagate("f32[2]", "f32[]"),
                     "cond: true_fn gives i64[], false_fn gives f32[]");
    ck_assert_str_eq(propagate("f32[2]", "f32[2]"),
                     "cond: Expected pred to be"
                     " bool or single-element tensor, but got f32[2]");
}

TEST_CASE(while_loop_keeps_the_types_it_carries)
{
    char test[256];
    snprintf(test, sizeof(test),
             "%s    %%s : [num_users=1] = call_method["
             "target=sum](args = (%%x,), kwargs = {})\n    return %%s\n",
             in_x);
    program(first_of("while_loop", of_while), test,
            body_of("operator.mul", "(%x, 10)"));
    ck_assert_str_eq(propagate("f32[N,3]", "f32[]"), "f32[N, 3]");
    program(first_of("while_loop", of_while), test,
            body_of("torch.cat", "([%x, %x],)"));
    ck_assert_str_eq(propagate("f32[4,3]", "f32[]"),
                     "while_loop: body_fn "
                     "gives f32[8, 3], carried_inputs[0] gives f32[4, 3]");
}

TEST_CASE(map_and_scan_stack_as_many_as_there_are)
{
    const char *none = "    return None\n";
    program(first_of("map_impl", "(%f, [%x], [])"),
            body_of("torch.cat", "([%x, %x],)"), none);
    ck_assert_str_eq(propagate("f32[N,3]", "f32[]"), "f32[N, 6]");
    ck_assert_str_eq(propagate("f32[0,3]", "f32[]"),
                     "map_impl: Leading "
                     "dimensions of mapped xs cannot be 0");
    ck_assert_str_eq(propagate("f32[]", "f32[]"),
                     "map_impl: mapped xs can "
                     "only consist of tensors that have an axis");
    program(first_of("map_impl", "(%f, [%x, %p], [])"),
            body_of("torch.cat", "([%x, %x],)"), none);
    ck_assert_str_eq(propagate("f32[2,3]", "f32[3]"),
                     "map_impl: Leading "
                     "dimensions of mapped xs must be consistent. Got "
                     "f32[2, 3] and f32[3]");
}

/* ---- Loops ---- */

TEST_CASE(loops_over_known_numbers_are_unrolled_but_not_for_ever)
{
    char text[1024];
    const char *body =
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %a : [num_users=1] = call_function[target=operator.add](args = "
        "(%x, 1), kwargs = {})\n"
        "    return (%a, %y)\n";
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text),
                 "    %%x : [num_users=1] = placeholder[target=x]\n"
                 "    %%y : [num_users=0] = placeholder[target=y]\n"
                 "    %%l : [num_users=1] = call_function[target=operator.lt]"
                 "(args = (%%x, 5), kwargs = {})\n"
                 "    return %s\n",
                 i ? "True" : "%l");
        program(first_of("while_loop", "(%f, %g, (0, %x), ())"), text, body);
        ck_assert_str_eq(propagate("f32[N,3]", "f32[]"), i ? "SymInt" : "int");
    }
}

static cfx_value counted[2];

TEST_CASE(endless_loops_end_with_the_time)
{
    cfx_options o = {.size = sizeof(o), .timeout = 0.05};
    cfx_context *usual = ctx;
    cfx_interp it = {0};
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), 0);
    program(first_of("while_loop", "(%f, %g, (%x,), ())"),
            "    %x : [num_users=0] = placeholder[target=x]\n"
            "    return True\n",
            "    %x : [num_users=1] = placeholder[target=x]\n"
            "    return (%x,)\n");
    counted[0] = floats(1, 1);
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_run(&it, counted, 1, &counted[1], &err),
                     CFX_ELIMIT);
    ck_assert_ptr_nonnull(strstr(err.text, "the time limit of 0.05 s is "
                                           "reached"));
    cfx_interp_release(&it);
    cfx_value_unref(counted[0]);
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
    ctx = usual;
    err = (cfx_error){0};
}

/* Products of all rows so far; PyTorch's own way there is another. */
TEST_CASE(associative_scan_combines_from_the_first_on)
{
    int64_t shape[] = {4, 1};
    float rows[] = {2, 3, 5, 7};
    cfx_interp it = {0};
    cfx_tensor *t;
    cfx_value out, x;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err), 0);
    memcpy(t->data, rows, sizeof(rows));
    x = cfx_value_of_tensor(t);
    program(first_of("associative_scan", "(%f, [%x], ())"),
            "    %x : [num_users=1] = placeholder[target=x]\n"
            "    %y : [num_users=1] = placeholder[target=y]\n"
            "    %z : [num_users=1] = call_function[target=operator.mul](args "
            "= (%x, %y), kwargs = {})\n"
            "    return (%z,)\n",
            "    return None\n");
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    ck_assert_msg(!cfx_interp_run(&it, &x, 1, &out, &err), "%s", err.text);
    const float *y = out.u.tensor->data;
    ck_assert(y[0] == 2 && y[1] == 6 && y[2] == 30 && y[3] == 210);
    ck_assert_str_eq(propagate("f32[N,3]", "f32[]"), "f32[N, 3]");
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

TEST_SUITE(higher_order, .setup = setup, .teardown = teardown, .timeout = 60)
