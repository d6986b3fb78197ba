/*
 * control_test -- GraphModules that are called by others.
 */
#include <cfx/tracer.h>

#include "tests/unit/interp/control_test.h"
#include "tests/unit/unit.h"

/* ---- GraphModules called by GraphModules ---- */

/* b(a(x)) with a child that has a child. */
static const char nested[] =
    "# cfx 1\n"
    "Net(\n"
    "  (a): Sub(\n"
    "    (inner): Inner()\n"
    "  )\n"
    "  (b): Sub()\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = "
    "{})\n"
    "    %b : [num_users=1] = call_module[target=b](args = (%a,), kwargs = "
    "{k: 10})\n"
    "    return %b\n"
    "\n"
    "graph a():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %inner : [num_users=1] = call_module[target=inner](args = (%x, 2), "
    "kwargs = {})\n"
    "    return %inner\n"
    "\n"
    "graph a.inner():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y](default=100)\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n"
    "    return %add\n"
    "\n"
    "graph b():\n"
    "    %v : [num_users=1] = placeholder[target=v]\n"
    "    %k : [num_users=1] = placeholder[target=k](default=3)\n"
    "    %mul : [num_users=1] = call_function[target=operator.mul](args = "
    "(%v, %k), kwargs = {})\n"
    "    return %mul\n";

TEST_CASE(graph_modules_are_called_by_others)
{
    cfx_value x = floats(2, 1);
    model(nested);
    ck_assert_float_eq(run(&x, 1), 30);
}

/* text.h promises it of the superset. */
TEST_CASE(graphs_of_children_are_written_and_read)
{
    char *text = NULL;
    size_t len;
    model(nested);
    FILE *f = open_memstream(&text, &len);
    ck_assert_int_eq(cfx_print_model(cfx_sink_file(f), gm, true, &err), 0);
    fclose(f);
    ck_assert_str_eq(text, nested);
    free(text);
}

/* PyTorch's own text has no such thing: a script may add it. */
TEST_CASE(graphs_of_children_may_follow_the_text_of_torch)
{
    static const char text[] =
        "Net(\n"
        "  (a): Sub(\n"
        "    (inner): GraphModule()\n"
        "  )\n"
        ")\n"
        "\n"
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs "
        "= {})\n"
        "    return a\n"
        "\n"
        "graph a():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %inner : [num_users=1] = call_module[target=inner](args = (%x,), "
        "kwargs = {})\n"
        "    return inner\n"
        "\n"
        "graph a.inner():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    return x\n";
    cfx_value x = floats(2, 7);
    model(text);
    ck_assert_float_eq(run(&x, 1), 7);
}

TEST_CASE(graphs_of_children_lint)
{
    model(nested);
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        ck_assert_msg(!cfx_graph_lint(cfx_graph_module_graph(m), &err), "%s",
                      err.text);
}

TEST_CASE(nested_interpreters_serve_many_runs)
{
    cfx_interp it = {0};
    cfx_value x = floats(2, 1), out;
    model(nested);
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    size_t before = 0;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), 0);
        ck_assert_float_eq(first(out), 30);
        cfx_value_unref(out);
        if (i)
            ck_assert_uint_eq(cfx_context_memory(ctx), before);
        before = cfx_context_memory(ctx);
    }
    cfx_interp_release(&it);
    cfx_value_unref(x);
}

TEST_CASE(errors_tell_the_submodule)
{
    static const char before[] =
        "# cfx 1\n"
        "Net(\n"
        "  (a): Sub(\n"
        "    (inner): Inner()\n"
        "  )\n"
        ")\n"
        "\n"
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs "
        "= {})\n"
        "    return %a\n"
        "\n"
        "graph a():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %inner : [num_users=1] = call_module[target=inner](args = (%x,), "
        "kwargs = {})\n"
        "    return %inner\n"
        "\n"
        "graph a.inner():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n";
    char text[4096];
    snprintf(text, sizeof(text),
             "%s    %%bad : [num_users=1] = "
             "call_function[target=torch.cat](args = (3,), kwargs = {})\n"
             "    return %%bad\n",
             before);
    model(text);
    fails(CFX_EINVAL,
          "; While executing %bad : [num_users=1] = call_function"
          "[target=torch.cat](args = (3,), kwargs = {}) in submodule a.inner");
    snprintf(text, sizeof(text),
             "%s    %%bad : [num_users=1] = "
             "call_method[target=view](args = (%%x, 5), kwargs = {})\n"
             "    return %%bad\n",
             before);
    model(text);
    fails(CFX_ESHAPE, "args = (%x, 5), kwargs = {}) in submodule a.inner");
}

/* PyTorch's text of a graph that torch.export made under no_grad. */
TEST_CASE(graphs_that_the_text_lacks_are_asked_for)
{
    static const char text[] =
        "GraphModule(\n"
        "  (submod_1): GraphModule()\n"
        ")\n"
        "\n"
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %submod_3 : [num_users=1] = get_attr[target=submod_1]\n"
        "    %add : [num_users=1] = call_function[target=torch.ops."
        "higher_order.wrap_with_set_grad_enabled](args = (False, %submod_3, "
        "%x), kwargs = {})\n"
        "    return add\n"
        "\n";
    static const char graph[] =
        "graph submod_1():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %add : [num_users=1] = call_function[target=torch.ops.aten.add."
        "Tensor](args = (%x, 1), kwargs = {})\n"
        "    return add\n";
    char whole[2048];
    model(text);
    fails(CFX_EUNSUPPORTED,
          "submod_1: the text has no graph of this "
          "GraphModule: append str(gm.submod_1.graph).replace('graph(', "
          "'graph submod_1(', 1); While executing %add");
    snprintf(whole, sizeof(whole), "%s%s", text, graph);
    model(whole);
    cfx_value x = floats(2, 1);
    ck_assert_float_eq(run(&x, 1), 2);
}

/* Dynamo's text of a model with inference_mode, record_function and
 * sdpa_kernel. */
TEST_CASE(switches_of_modes_change_no_result)
{
    static const struct {
        const char *name, *target, *args;
    } calls[] = {
        {"i", "torch.autograd.grad_mode._enter_inference_mode", "True,"},
        {"r", "torch.ops.profiler._record_function_enter_new", "mark, None"},
        {"b", "torch.nn.attention._backend_from_string", "MATH,"},
        {"k", "torch.nn.attention._sdpa_kernel", "[%b], False"},
        {"y", "operator.add", "%x, 1"},
        {"e", "torch.ops.profiler._record_function_exit._RecordFunction",
         "%r,"},
        {"o", "torch.autograd.grad_mode._exit_inference_mode", "%i,"},
        {"d", "torch._C._autograd._get_data_attr", "%y,"},
    };
    char text[4096] = "GraphModule()\n\n"
                      "graph():\n"
                      "    %x : [num_users=1] = placeholder[target=x]\n";
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n,
                 "    %%%s : [num_users=0] = call_function[target=%s](args = "
                 "(%s), kwargs = {})\n",
                 calls[i].name, calls[i].target, calls[i].args);
    }
    strcat(text, "    return d\n");
    model(text);
    cfx_value x = floats(2, 1);
    ck_assert_float_eq(run(&x, 1), 2);
}

/* The arguments of the call, one line of a graph around a child `f` with
 * placeholders `x`, and what `params` adds. */
static void call_child(const char *args, const char *params,
                       const char *result)
{
    char text[8192];
    snprintf(text, sizeof(text),
             "# cfx 1\n"
             "Net(\n"
             "  (f): Sub()\n"
             ")\n"
             "\n"
             "graph():\n"
             "    %%x : [num_users=1] = placeholder[target=x]\n"
             "    %%f : [num_users=1] = call_module[target=f]%s\n"
             "    return %%f\n"
             "\n"
             "graph f():\n"
             "    %%x : [num_users=1] = placeholder[target=x]\n"
             "%s"
             "    return %s\n",
             args, params, result);
    model(text);
}

static const char second[] =
    "    %y : [num_users=1] = placeholder[target=y](default=3)\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n";

TEST_CASE(children_bind_keywords_and_defaults)
{
    static const struct {
        const char *args;
        float y;
    } cases[] = {{"(args = (%x,), kwargs = {})", 4},
                 {"(args = (%x, 5), kwargs = {})", 6},
                 {"(args = (%x,), kwargs = {y: 6})", 7},
                 {"(args = (), kwargs = {y: 7, x: %x})", 8},
                 {"(args = (), kwargs = {x: %x})", 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cfx_value x = floats(2, 1);
        call_child(cases[i].args, second, "%add");
        ck_assert_float_eq(run(&x, 1), cases[i].y);
    }
}

TEST_CASE(children_refuse_arguments_they_do_not_take)
{
    static const struct {
        const char *args, *text;
    } cases[] = {
        {"(args = (%x, 1, 2), kwargs = {})",
         "forward() takes 2 positional arguments but 3 were given; While "
         "executing %f : "},
        {"(args = (%x,), kwargs = {x: 2})",
         "forward() got multiple values for argument 'x'"},
        {"(args = (%x,), kwargs = {z: 2})",
         "forward() got an unexpected keyword argument 'z'"},
        {"(args = (), kwargs = {y: %x})",
         "Expected positional argument for parameter x, but one was not passed"
         " in!; While executing %x : [num_users=1] = placeholder[target=x] in "
         "submodule f"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        call_child(cases[i].args, second, "%add");
        fails(CFX_EINVAL, cases[i].text);
    }
}

TEST_CASE(children_take_the_rest)
{
    cfx_value x = floats(2, 1);
    call_child("(args = (%x, 5, 6), kwargs = {k: 7})",
               "    %args : [num_users=1] = placeholder[target='*args']\n"
               "    %kw : [num_users=1] = placeholder[target='**kw']\n"
               "    %a : [num_users=1] = call_function[target=operator."
               "getitem](args = (%args, 1), kwargs = {})\n"
               "    %k : [num_users=1] = call_function[target=operator."
               "getitem](args = (%kw, 'k'), kwargs = {})\n"
               "    %mul : [num_users=1] = call_function[target=operator.mul]"
               "(args = (%x, %a), kwargs = {})\n"
               "    %add : [num_users=1] = call_function[target=operator.add]"
               "(args = (%mul, %k), kwargs = {})\n",
               "%add");
    ck_assert_float_eq(run(&x, 1), 13);
}

/* ---- From C, in scopes of all classes ---- */

/* A module whose forward calls its child, whatever that is. */
static cfx_value Twice_forward(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    cfx_value y = cfx_call_module(s, self, "f", in[0]);
    return cfx_call_module(s, self, "f", y);
}

static const cfx_module_type Twice = {
    .abi = CFX_ABI(cfx_module_type),
    .schema = "Twice()",
    .repr = "",
    .doc = "Calls its child twice.",
    .forward_schema = "forward(any input) -> any",
    .forward = Twice_forward,
};

static const char twice[] =
    "# cfx 1\n"
    "Net(\n"
    "  (t): Twice(\n"
    "    (f): Sub()\n"
    "  )\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %t : [num_users=1] = call_module[target=t](args = (%x,), kwargs = "
    "{})\n"
    "    return %t\n"
    "\n"
    "graph t.f():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %x), kwargs = {})\n"
    "    return %add\n";

TEST_CASE(forwards_in_c_call_graphs)
{
    cfx_value x = floats(2, 1);
    ck_assert_int_eq(cfx_register_module_type(ctx, &Twice, &err), 0);
    model(twice);
    ck_assert_float_eq(run(&x, 1), 4);
}

/* A type that names its operator: state, arguments, `training` and inputs by the names
 * of its parameters. */
static cfx_status Slope_init(cfx_module *self, cfx_error *e)
{
    cfx_dim n = cfx_attr_dim(self, "n");
    return cfx_module_param(self, "weight", CFX_F32, 1, &n, e);
}

static const cfx_module_type Slope = {
    .abi = CFX_ABI(cfx_module_type),
    .schema = "Slope(int n=1)",
    .repr = "n",
    .doc = "A learned slope.",
    .init = Slope_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.prelu.default",
};

static const char slope[] =
    "# cfx 1\n"
    "Net(\n"
    "  (s): Slope(n=1)\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %s : [num_users=1] = call_module[target=s](args = (%x,), kwargs = {})\n"
    "    return %s\n";

TEST_CASE(a_module_calls_the_operator_of_its_type)
{
    cfx_value x = floats(1, -2);
    ck_assert_int_eq(cfx_register_module_type(ctx, &Slope, &err), 0);
    model(slope);
    cfx_tensor *w = floats(1, 3).u.tensor;
    ck_assert_int_eq(cfx_module_set(cfx_module_at(gm, "s"), "weight", w, &err),
                     0);
    cfx_tensor_unref(w);
    ck_assert_float_eq(run(&x, 1), -6);
}

TEST_CASE(a_type_without_an_operator_fails)
{
    static const cfx_module_type none = {
        .abi = CFX_ABI(cfx_module_type),
        .schema = "Slope(int n=1)",
        .repr = "n",
        .doc = "It names no operator.",
        .forward_schema = "forward(Tensor input) -> Tensor",
        .forward = cfx_forward_operator,
    };
    ck_assert_int_eq(cfx_register_module_type(ctx, &none, &err), 0);
    model(slope);
    fails(CFX_EINVAL, "the module type Slope has no op");
}

TEST_CASE(graphs_are_called_where_nothing_runs)
{
    const cfx_scope_class *classes[] = {&cfx_eager_class, &cfx_meta_class};
    ck_assert_int_eq(cfx_register_module_type(ctx, &Twice, &err), 0);
    model(twice);
    for (int i = 0; i < 2; i++) {
        cfx_scope s;
        cfx_value x = floats(2, 1);
        cfx_scope_init(&s, classes[i], ctx, NULL);
        cfx_value y = cfx_call_module(&s, gm, "t", x);
        ck_assert_int_eq(cfx_scope_status(&s, &err), 0);
        ck_assert_int_eq(y.kind, CFX_TENSOR);
        ck_assert_int_eq(cfx_tensor_size(y.u.tensor, 0), 2);
        ck_assert_int_eq(cfx_tensor_is_meta(y.u.tensor), i);
        if (!i)
            ck_assert_float_eq(first(y), 4);
        cfx_scope_release(&s);
        cfx_value_unref(x);
    }
}

static cfx_status stop_call_module(cfx_scope *s, cfx_module *m,
                                   const char *path, const cfx_value *in,
                                   cfx_value *out)
{
    if (path && !strcmp(path, "f")) {
        ck_assert_int_eq(in[0].kind, CFX_TENSOR);
        ck_assert_int_eq(in[1].kind, CFX_ABSENT);
        *out = cfx_value_ref(in[0]);
        return CFX_OK;
    }
    return cfx_module_forward(s, m, in, out);
}

TEST_CASE(classes_of_scopes_may_stop_at_graphs)
{
    cfx_scope_class stop = cfx_eager_class;
    cfx_scope s;
    cfx_value x = floats(2, 1), y;
    stop.call_module = stop_call_module;
    cfx_scope_init(&s, &stop, ctx, NULL);
    call_child("(args = (%x,), kwargs = {})", second, "%add");
    ck_assert_int_eq(cfx_scope_call_module(&s, gm, NULL, CFX_ARGS(x), &y), 0);
    ck_assert_ptr_eq(y.u.tensor, x.u.tensor);
    cfx_value_unref(y);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

/* Refuses additions, but does not return that. */
static cfx_status quiet_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    if (cfx_call_is(call, "add"))
        cfx_scope_fail(s, CFX_EUSER, "additions are refused");
    return cfx_call_eager(call, out);
}

TEST_CASE(failures_that_only_the_scope_knows_tell_the_submodule)
{
    cfx_scope_class quiet = cfx_eager_class;
    cfx_scope s;
    cfx_interp it = {0};
    const cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    cfx_value x = floats(2, 1), out;
    quiet.call_op = quiet_call_op;
    cfx_scope_init(&s, &quiet, ctx, NULL);
    model(nested);
    ck_assert_int_eq(cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), CFX_EUSER);
    ck_assert_msg(!strncmp(err.text,
                           "additions are refused; While executing "
                           "%add ",
                           44) &&
                      strstr(err.text, " in submodule a.inner"),
                  "%s", err.text);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

/* Trace the model anew in its place; its nodes, "op:target" in a row. */
static const char *retrace(const cfx_trace_options *o)
{
    static char text[512];
    cfx_module *traced;
    text[0] = '\0';
    ck_assert_msg(!cfx_symbolic_trace(&traced, gm, o, &err), "%s", err.text);
    cfx_module_unref(gm);
    gm = traced;
    for (const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n;
         n = cfx_node_next(n)) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s:%s", at ? " " : "",
                 cfx_opcode_names[n->op], n->target->text);
    }
    return text;
}

static bool is_graph(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)path;
    return cfx_graph_module_graph(m) != NULL;
}

/* torch.fx's test: a GraphModule is traced through, or is one node. */
TEST_CASE(tracing_graphmodules_as_leaf_submodules)
{
    cfx_trace_options leaf = {.size = sizeof(leaf), .is_leaf = is_graph};
    cfx_value x = floats(2, 1);
    model(nested);
    ck_assert_str_eq(retrace(NULL),
                     "placeholder:x call_function:operator.add "
                     "call_function:operator.mul output:output");
    ck_assert_float_eq(run(&x, 1), 30);
    model(nested);
    ck_assert_str_eq(retrace(&leaf), "placeholder:x call_module:a "
                                     "call_module:b output:output");
    x = floats(2, 1);
    ck_assert_float_eq(run(&x, 1), 30);
}

/* A forward in C that calls a graph, and a graph that is an argument. */
TEST_CASE(graphs_are_traced_where_c_calls_them)
{
    cfx_value x = floats(2, 1);
    ck_assert_int_eq(cfx_register_module_type(ctx, &Twice, &err), 0);
    model(twice);
    ck_assert_str_eq(retrace(NULL),
                     "placeholder:x call_function:operator.add "
                     "call_function:operator.add output:output");
    ck_assert_float_eq(run(&x, 1), 4);
    model("# cfx 1\n"
          "Net(\n"
          "  (f): Sub()\n"
          ")\n\n"
          "graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %f : [num_users=2] = get_attr[target=f]\n"
          "    %c : [num_users=1] = call_function[target=torch.ops."
          "higher_order.cond](args = (True, %f, %f, (%x,)), kwargs = {})\n"
          "    return %c\n\n"
          "graph f():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %neg : [num_users=1] = call_method[target=neg](args = (%x,), "
          "kwargs = {})\n"
          "    return %neg\n");
    ck_assert_ptr_nonnull(strstr(retrace(NULL), "get_attr:f"));
    x = floats(2, 1);
    ck_assert_float_eq(run(&x, 1), -1);
}

/* ---- Depth ---- */

/* n GraphModules, each the child of the one before it. */
static void tower(size_t n)
{
    cfx_module *m = NULL;
    cfx_module_unref(gm);
    for (size_t i = 0; i < n; i++) {
        cfx_graph *g;
        cfx_module *up;
        ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), 0);
        cfx_value x = cfx_value_of_node(cfx_graph_placeholder(g, "x", &err));
        cfx_value args[] = {x, cfx_int(1)};
        cfx_node *y = m ? cfx_graph_call_module(g, "f", cfx_args_of(args, 1),
                                                &err)
                        : cfx_graph_call_function(g, "operator.add",
                                                  cfx_args_of(args, 2), &err);
        ck_assert_ptr_nonnull(cfx_graph_output(g, cfx_value_of_node(y), &err));
        ck_assert_int_eq(cfx_module_new_container(&up, ctx, "Net", &err), 0);
        if (m)
            ck_assert_int_eq(cfx_module_add_take(up, "f", m, &err), 0);
        ck_assert_int_eq(
            cfx_graph_module_new_take_both(&m, ctx, up, g, NULL, &err), 0);
    }
    gm = m;
}

TEST_CASE(nesting_has_a_limit)
{
    cfx_value x = floats(2, 1);
    tower(257);
    ck_assert_float_eq(run(&x, 1), 2);
    tower(258);
    fails(CFX_EGRAPH, "GraphModules call each other to a depth of more than "
                      "256; While executing %f : ");
}

/* ---- Memory ---- */

/* The inner values end with their last use: a chain in a child holds no more
 * than one in the root. */
static void chain(char *to, size_t size, int n)
{
    size_t at = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(to + at, size - at,
                               "    %%v%d : [num_users=1] "
                               "= call_function[target=operator.add](args = "
                               "(%%%s%.0d, 1), kwargs = {})\n",
                               i + 1, i ? "v" : "x", i);
}

TEST_CASE(values_of_children_end_with_their_last_use)
{
    char body[4096];
    cfx_interp it = {0};
    cfx_value x = floats(1 << 20, 1), out;
    chain(body, sizeof(body), 20);
    call_child("(args = (%x,), kwargs = {})", body, "%v20");
    size_t before = cfx_context_memory(ctx);
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), 0);
    ck_assert_uint_lt(cfx_context_peak_memory(ctx), before + (12 << 20));
    ck_assert_float_eq(first(out), 21);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    cfx_value_unref(x);
}

/* ---- Ways to run ---- */

static const char two_inputs[] =
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y](default=3)\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n"
    "    %neg : [num_users=1] = call_method[target=neg](args = (%add,), "
    "kwargs = {})\n"
    "    return neg";

static void ready(cfx_interp *it, const cfx_interp_options *o)
{
    ck_assert_msg(!cfx_interp_init_with(it, &cfx_interp_base, gm, o, &err),
                  "%s", err.text);
}

TEST_CASE(boxed_run_takes_one_value_a_placeholder)
{
    static const char *const texts[] = {
        "Interpreter.boxed_run expected 2 arguments for placeholders but "
        "received 1 (missing arguments)",
        "Interpreter.boxed_run expected 2 arguments for placeholders but "
        "received 3 (extra arguments)"};
    cfx_interp it = {0};
    cfx_value in[3] = {floats(2, 1), cfx_int(5), cfx_none()}, out;
    model(two_inputs);
    ready(&it, NULL);
    for (int i = 0; i < 2; i++) {
        err = (cfx_error){0};
        ck_assert_int_eq(cfx_interp_run_take(&it, in, i ? 3 : 1, &out, &err),
                         CFX_EINVAL);
        ck_assert_str_eq(err.text, texts[i]);
        ck_assert_int_eq(in[0].kind, CFX_TENSOR);
    }
    ck_assert_int_eq(cfx_interp_run_take(&it, in, 2, &out, &err), 0);
    ck_assert_float_eq(first(out), -6);
    ck_assert(in[0].kind == CFX_ABSENT && in[1].kind == CFX_ABSENT);
    cfx_value_unref(out);
    /* Also after a failure all is taken. */
    in[0] = floats(2, 1);
    in[1] = floats(3, 1);
    err = (cfx_error){0};
    ck_assert_int_ne(cfx_interp_run_take(&it, in, 2, &out, &err), 0);
    ck_assert(in[0].kind == CFX_ABSENT && in[1].kind == CFX_ABSENT);
    err = (cfx_error){0};
    cfx_interp_release(&it);
}

/* The input ends with its last use, although the caller had it. */
TEST_CASE(boxed_inputs_end_with_their_last_use)
{
    cfx_interp it = {0};
    cfx_value in[2] = {floats(1 << 20, 1), cfx_int(1)}, out;
    model(two_inputs);
    ready(&it, NULL);
    size_t before = cfx_context_memory(ctx);
    ck_assert_int_eq(cfx_interp_run_take(&it, in, 2, &out, &err), 0);
    ck_assert_uint_lt(cfx_context_peak_memory(ctx), before + (5 << 20));
    cfx_value_unref(out);
    cfx_interp_release(&it);
}

TEST_CASE(interpreter_star_star_kwargs)
{
    static const char text[] =
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %args : [num_users=1] = placeholder[target=*args]\n"
        "    %kwargs : [num_users=1] = placeholder[target=**kwargs]\n"
        "    return (args, kwargs)";
    cfx_interp it = {0};
    cfx_value out, x = floats(1, 1);
    cfx_value pair[] = {cfx_str_new(ctx, "k", 1), cfx_int(4)};
    cfx_value dict = cfx_dict_new(ctx, 1, pair);
    cfx_value in[] = {x, cfx_int(1), cfx_int(2), dict};
    model(text);
    ready(&it, NULL);
    for (size_t n = 1; n <= 4; n++) {
        ck_assert_int_eq(cfx_interp_run(&it, in, n, &out, &err), 0);
        cfx_value args = out.u.seq->item[0], kw = out.u.seq->item[1];
        ck_assert_int_eq(args.kind, CFX_LIST);
        ck_assert_int_eq(kw.kind, CFX_DICT);
        ck_assert_uint_eq(args.u.seq->len, n == 4 ? 2 : n - 1);
        ck_assert_uint_eq(kw.u.seq->len, n == 4 ? 2 : 0);
        cfx_value_unref(out);
    }
    cfx_interp_release(&it);
    cfx_value_unref(dict);
    cfx_value_unref(pair[0]);
    cfx_value_unref(x);
}

TEST_CASE(interpreter_other_graph)
{
    cfx_interp it = {0};
    cfx_graph *g;
    cfx_value x = floats(2, 1), out;
    model(nested);
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), 0);
    cfx_value in = cfx_value_of_node(cfx_graph_placeholder(g, "x", &err));
    cfx_node *n = cfx_graph_call_module(g, "a.inner", CFX_ARGS(in), &err);
    ck_assert_ptr_nonnull(cfx_graph_output(g, cfx_value_of_node(n), &err));
    ready(&it, &(cfx_interp_options){.size = sizeof(cfx_interp_options),
                                     .graph = g});
    ck_assert_msg(!cfx_interp_run(&it, &x, 1, &out, &err), "%s", err.text);
    ck_assert_float_eq(first(out), 101);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    cfx_graph_free(g);
    cfx_value_unref(x);
}

/* torch.fx's Interpreter.fetch_attr: a path may name what is in a child. */
TEST_CASE(fetch)
{
    static const char text[] =
        "# cfx 1\n"
        "Net(\n"
        "  (a): Sub(\n"
        "    (fc): Linear(in_features=2, out_features=3, bias=True)\n"
        "  )\n"
        ")\n\n"
        "graph():\n"
        "    %m : [num_users=1] = get_attr[target=a]\n"
        "    %w : [num_users=1] = get_attr[target=a.fc.weight]\n"
        "    return (%m, %w)\n";
    cfx_interp it = {0};
    cfx_scope s;
    cfx_value out;
    model(text);
    cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
    ready(&it, &(cfx_interp_options){.size = sizeof(cfx_interp_options),
                                     .scope = &s});
    ck_assert_int_eq(cfx_interp_run(&it, NULL, 0, &out, &err), 0);
    ck_assert_int_eq(out.u.seq->item[0].kind, CFX_MODULE);
    ck_assert_ptr_eq(out.u.seq->item[0].u.module, cfx_module_at(gm, "a"));
    ck_assert_int_eq(cfx_tensor_size(out.u.seq->item[1].u.tensor, 0), 3);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
}

static size_t told[2], times;

static void tell(void *user, size_t done, size_t total)
{
    ck_assert_ptr_eq(user, &times);
    told[0] = done;
    told[1] = total;
    ck_assert_uint_eq(done, ++times);
}

TEST_CASE(progress_is_told_after_each_node)
{
    cfx_interp it = {0};
    cfx_value x = floats(2, 1), out;
    times = 0;
    model(two_inputs);
    ready(&it, &(cfx_interp_options){.size = sizeof(cfx_interp_options),
                                     .progress = tell,
                                     .progress_user = &times});
    ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), 0);
    ck_assert(told[0] == 5 && told[1] == 5);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    cfx_value_unref(x);
}

TEST_CASE(runs_may_stop_after_each_node)
{
    static const char *const names[] = {"x", "y", "add", "neg", "output"};
    cfx_interp it = {0};
    const cfx_node *n;
    cfx_value x = floats(2, 1), v, out;
    model(two_inputs);
    ready(&it, NULL);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(cfx_interp_begin(&it, &x, 1, &err), 0);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(cfx_interp_step(&it, &n, &v, &err), 0);
            ck_assert_str_eq(n->name, names[i]);
            if (i == 2)
                ck_assert_float_eq(first(v), 4);
        }
        ck_assert_int_eq(cfx_interp_step(&it, &n, &v, &err), 0);
        ck_assert_ptr_null(n);
        cfx_interp_end(&it, &out);
        ck_assert_float_eq(first(out), -4);
        cfx_value_unref(out);
    }
    /* Half a run gives nothing, and keeps nothing. */
    ck_assert_int_eq(cfx_interp_begin(&it, &x, 1, &err), 0);
    ck_assert_int_eq(cfx_interp_step(&it, &n, &v, &err), 0);
    cfx_interp_end(&it, &out);
    ck_assert_int_eq(out.kind, CFX_NONE);
    cfx_interp_release(&it);
    cfx_value_unref(x);
}

TEST_SUITE(control, .setup = setup, .teardown = teardown, .timeout = 60)
