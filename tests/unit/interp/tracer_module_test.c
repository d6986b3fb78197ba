/*
 * tracer_module_test -- modules become graphs: leaves, paths, state, and where
 * in the program each node comes from.
 */
#include "tests/unit/interp/trace_test.h"
#include "tests/unit/unit.h"

static cfx_status trace(cfx_trace_fn *fn, const char *params)
{
    fresh();
    return cfx_trace_function(&gm, ctx, fn, NULL, params, &err);
}

static cfx_status trace_with(cfx_trace_fn *fn, const char *params,
                             cfx_trace_options *o)
{
    fresh();
    o->size = sizeof(*o);
    return cfx_trace_function_with(&gm, ctx, fn, NULL, params, o, &err);
}

#define FN(name)                                                              \
    static cfx_value name(cfx_scope *s, const cfx_value *in, void *user)

static bool no_leaf(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return false;
}

/* ---- Modules of one's own ---- */

static cfx_status net_init(cfx_module *self, cfx_error *e)
{
    cfx_dim n = cfx_dim_int(3);
    cfx_module *fc;
    cfx_value args[] = {cfx_int(3), cfx_int(3)};
    cfx_context *c = cfx_module_context(self);
    cfx_status st = cfx_module_param(self, "scale", CFX_F32, 1, &n, e);
    if (!st)
        st = cfx_module_buffer(self, "offset", CFX_F32, 1, &n, e);
    if (!st)
        st = cfx_module_no_param(self, "none", e);
    if (!st)
        st = cfx_module_param(self, "unused", CFX_F32, 1, &n, e);
    if (!st)
        st = cfx_module_new(&fc, c, cfx_find_module_type(c, "Linear"), NULL,
                            cfx_args_of(args, 2), e);
    if (!st)
        st = cfx_module_add_take(self, "fc", fc, e);
    return st;
}

static cfx_value net_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    cfx_value h = cfx_call_module(s, self, "fc", in[0]);
    h = cfx_mul(s, h, cfx_param_of(s, self, "scale"));
    h = cfx_add(s, h, cfx_param_of(s, self, "offset"));
    if (!cfx_value_is_none(cfx_param_of(s, self, "none")))
        h = cfx_neg(s, h);
    return cfx_mul(s, h, cfx_param_of(s, self, "scale"));
}

static const cfx_module_type net_type = {
    .schema = "Net()",
    .doc = "A layer, scaled and moved.",
    .repr = "",
    .init = net_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = net_forward,
};

static cfx_value block_forward(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    cfx_value h = in[0];
    for (int i = 0; i < 2; i++)
        h = cfx_call_module(s, self, "net", h);
    return cfx_call_module(s, self, "seq", h);
}

static const cfx_module_type block_type = {
    .schema = "Block()",
    .doc = "A net twice, and a row of modules.",
    .repr = "",
    .forward_schema = "forward(Tensor x) -> Tensor",
    .forward = block_forward,
};

static cfx_module *make(const cfx_module_type *type)
{
    cfx_module *m;
    assert_ok(cfx_module_new(&m, ctx, type, NULL, CFX_NO_ARGS, &err));
    return m;
}

static cfx_module *make_block(void)
{
    cfx_module *block = make(&block_type), *seq;
    assert_ok(cfx_module_add_take(block, "net", make(&net_type), &err));
    assert_ok(cfx_module_new_container(&seq, ctx, "x", &err));
    cfx_module_unref(seq);
    seq = build("Sequential", NULL, 0);
    assert_ok(cfx_module_add_take(seq, "0", build("ReLU", NULL, 0), &err));
    assert_ok(cfx_module_add_take(seq, "1", build("Identity", NULL, 0), &err));
    assert_ok(cfx_module_add_take(block, "seq", seq, &err));
    return block;
}

static cfx_status symbolic(cfx_module *root, cfx_trace_options *o)
{
    fresh();
    if (o)
        o->size = sizeof(*o);
    return cfx_symbolic_trace(&gm, root, o, &err);
}

TEST_CASE(own_module_is_traced_through)
{
    cfx_module *net = make(&net_type);
    assert_ok(symbolic(net, NULL));
    assert_graph(
        "graph():\n"
        "    %input_1 : [num_users=1] = placeholder[target=input]\n"
        "    %fc : [num_users=1] = call_module[target=fc](args = "
        "(%input_1,), kwargs = {})\n"
        "    %scale : [num_users=2] = get_attr[target=scale]\n"
        "    %mul : [num_users=1] = call_function[target=torch.mul](args = "
        "(%fc, %scale), kwargs = {})\n"
        "    %offset : [num_users=1] = get_attr[target=offset]\n"
        "    %add : [num_users=1] = call_function[target=torch.add](args = "
        "(%mul, %offset), kwargs = {})\n"
        "    %mul_1 : [num_users=1] = call_function[target=torch.mul](args = "
        "(%add, %scale), kwargs = {})\n"
        "    return mul_1");
    ck_assert_str_eq(cfx_module_class_name(gm), "Net");
    ck_assert(!cfx_module_state(gm, "scale")->is_buffer);
    ck_assert(cfx_module_state(gm, "offset")->is_buffer);
    ck_assert_ptr_null(cfx_module_state(gm, "unused"));
    ck_assert_ptr_nonnull(cfx_module_child(gm, "fc"));
    assert_ok(cfx_graph_lint(cfx_graph_module_graph(gm), &err));
    cfx_module_unref(net);
}

TEST_CASE(runs_propagates_and_traces_to_one_result)
{
    cfx_module *block = make_block();
    cfx_scope s;
    cfx_value x = matrix(2, 3, -2), y, m;
    assert_ok(cfx_module_randomize(block, 1, &err));
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    assert_ok(cfx_scope_call_module(&s, block, NULL, CFX_ARGS(x), &y));
    cfx_scope_release(&s);
    assert_ok(symbolic(block, NULL));
    cfx_value out = run_module(gm, &x, 1);
    for (int64_t i = 0; i < 6; i++)
        ck_assert_float_eq(at(out, i), at(y, i));
    cfx_dim shape[] = {cfx_dim_int(5), cfx_dim_int(3)};
    cfx_tensor *meta;
    assert_ok(cfx_tensor_meta(&meta, ctx, CFX_F32, 2, shape, NULL, &err));
    cfx_value of = cfx_value_of_tensor(meta);
    cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
    assert_ok(cfx_scope_call_module(&s, block, NULL, CFX_ARGS(of), &m));
    ck_assert_int_eq(cfx_tensor_size(m.u.tensor, 0), 5);
    cfx_scope_release(&s);
    cfx_value_unref(m);
    cfx_value_unref(of);
    cfx_value_unref(out);
    cfx_value_unref(y);
    cfx_value_unref(x);
    cfx_module_unref(block);
}

TEST_CASE(sequential)
{
    cfx_module *block = make_block();
    assert_ok(symbolic(block, NULL));
    assert_code("    net_scale = self.net.scale\n");
    assert_code("    seq_0 = getattr(self.seq, \"0\")(");
    ck_assert_str_eq(cfx_module_class_name(cfx_module_child(gm, "seq")),
                     "Module");
    ck_assert_ptr_nonnull(cfx_module_at(gm, "net.fc"));
    /* A parameter has one node, although the net is called twice. */
    ck_assert_uint_eq(node("net_scale")->nusers, 4);
    cfx_module_unref(block);
}

static bool net_is_leaf(void *user, const cfx_module *m, const char *path)
{
    ck_assert_ptr_eq(user, ctx);
    ck_assert_str_eq(cfx_module_type_of(m) == &net_type ? "net" : path, path);
    return !strcmp(path, "net") || !strcmp(path, "seq");
}

TEST_CASE(leaf_module)
{
    cfx_module *block = make_block();
    cfx_trace_options o = {
        .is_leaf = net_is_leaf, .user = ctx, .class_name = "Traced"};
    assert_ok(symbolic(block, &o));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %net : [num_users=1] = call_module[target=net](args = (%x,), "
        "kwargs = {})\n"
        "    %net_1 : [num_users=1] = call_module[target=net](args = "
        "(%net,), kwargs = {})\n"
        "    %seq : [num_users=1] = call_module[target=seq](args = "
        "(%net_1,), kwargs = {})\n"
        "    return seq");
    ck_assert_str_eq(cfx_module_class_name(gm), "Traced");
    ck_assert_ptr_eq(cfx_module_type_of(cfx_module_child(gm, "net")),
                     &net_type);
    cfx_module_unref(block);
}

FN(foreign_module)
{
    cfx_value out;
    (void)user;
    cfx_module *other = make(&net_type);
    cfx_scope_call_module(s, other, NULL, cfx_args_of(in, 1), &out);
    cfx_module_unref(other);
    return cfx_none();
}

TEST_CASE(modules_of_elsewhere_are_refused)
{
    cfx_trace_options o = {.root = make_block()};
    assert_fails(trace_with(foreign_module, "x", &o), CFX_ENAME,
                 "module is not installed as a submodule");
    cfx_module_unref(o.root);
}

static cfx_value call_fc(cfx_scope *s, const cfx_value *in, void *user)
{
    return cfx_relu(s, cfx_call_module(s, user, "net.fc", in[0]));
}

TEST_CASE(trace_multiple_funcs)
{
    cfx_module *block = make_block();
    cfx_trace_options o = {.size = sizeof(o), .root = block};
    assert_ok(
        cfx_trace_function_with(&gm, ctx, call_fc, block, "x", &o, &err));
    assert_code("    net_fc = self.net.fc(x);  x = None\n"
                "    relu = torch.relu(net_fc);  net_fc = None\n");
    ck_assert_str_eq(cfx_module_class_name(gm), "Block");
    cfx_module_unref(block);
}

/* A tensor of the root among the arguments is named by its path. */
static cfx_value use_states(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value w = cfx_value_of_tensor(
        cfx_module_state(cfx_module_at(user, "net"), "offset")->tensor);
    return cfx_add(s, cfx_add(s, in[0], w), w);
}

TEST_CASE(tensor_attribute_coalseced)
{
    cfx_module *block = make_block();
    cfx_trace_options o = {.size = sizeof(o), .root = block};
    assert_ok(
        cfx_trace_function_with(&gm, ctx, use_states, block, "x", &o, &err));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %net_offset : [num_users=1] = get_attr[target=net.offset]\n"
        "    %add : [num_users=1] = call_function[target=torch.add](args = "
        "(%x, %net_offset), kwargs = {})\n"
        "    %net_offset_1 : [num_users=1] = get_attr[target=net.offset]\n"
        "    %add_1 : [num_users=1] = call_function[target=torch.add](args = "
        "(%add, %net_offset_1), kwargs = {})\n"
        "    return add_1");
    ck_assert(
        cfx_module_state(cfx_module_child(gm, "net"), "offset")->is_buffer);
    cfx_module_unref(block);
}

static cfx_value take_slice(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value w = cfx_param_of(s, user, "offset");
    return cfx_add(s, in[0], cfx_nth(s, w, 0));
}

TEST_CASE(trace_buffer_slice)
{
    cfx_module *net = make(&net_type);
    cfx_trace_options o = {.size = sizeof(o), .root = net};
    assert_ok(
        cfx_trace_function_with(&gm, ctx, take_slice, net, "x", &o, &err));
    assert_code("    offset = self.offset\n"
                "    getitem = offset[0];  offset = None\n");
    cfx_module_unref(net);
}

/* The shape of a parameter is known without metas. */
static cfx_value by_weight(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value w = cfx_param_of(s, user, "scale");
    cfx_value n = cfx_size(s, w, 0);
    if (cfx_rank(s, w) == 1 && n.kind == CFX_INT && n.u.i == 3)
        return cfx_mul(s, in[0], w);
    return in[0];
}

TEST_CASE(param_shape_const)
{
    cfx_module *net = make(&net_type);
    cfx_trace_options o = {
        .size = sizeof(o), .root = net, .known_sizes = true};
    assert_ok(
        cfx_trace_function_with(&gm, ctx, by_weight, net, "x", &o, &err));
    assert_code("    scale = self.scale\n"
                "    mul = torch.mul(x, scale);");
    o.known_sizes = false;
    fresh();
    assert_ok(
        cfx_trace_function_with(&gm, ctx, by_weight, net, "x", &o, &err));
    assert_code("    size = scale.size(0);");
    cfx_module_unref(net);
}

/* ---- Provenance ---- */

static char stack_names[512];

static cfx_status join(void *user, cfx_value v)
{
    (void)user;
    snprintf(stack_names + strlen(stack_names),
             sizeof(stack_names) - strlen(stack_names), "%s ", v.u.str->text);
    return CFX_OK;
}

static const char *stack_of(const char *name)
{
    cfx_value v = cfx_node_meta(node(name), "nn_module_stack");
    *stack_names = '\0';
    for (uint32_t i = 0; v.kind && i < v.u.seq->len; i += 2) {
        snprintf(stack_names + strlen(stack_names),
                 sizeof(stack_names) - strlen(stack_names),
                 "%s: ", v.u.seq->item[i].u.str->text);
        cfx_value_visit(v.u.seq->item[i + 1], join, NULL);
    }
    return stack_names;
}

TEST_CASE(nn_module_stack)
{
    cfx_module *block = make_block();
    assert_ok(symbolic(block, NULL));
    ck_assert_str_eq(stack_of("net_fc"), "net: net Net net.fc: net.fc "
                                         "Linear ");
    ck_assert_str_eq(stack_of("net_fc_1"), "net@1: net Net net.fc@1: net.fc "
                                           "Linear ");
    ck_assert_str_eq(stack_of("mul"), "net: net Net ");
    ck_assert_str_eq(stack_of("net_scale"), "net: net Net ");
    ck_assert_str_eq(stack_of("seq_0"), "seq: seq Sequential seq.0: seq.0 "
                                        "ReLU ");
    ck_assert(!cfx_node_meta(node("x"), "nn_module_stack").kind);
    cfx_module_unref(block);
}

FN(two_lines)
{
    (void)user;
    cfx_value y = cfx_relu(s, in[0]);
    int line = __LINE__ - 1;
    return cfx_clamp(s, y, .min = cfx_int(line));
}

TEST_CASE(stack_traces)
{
    cfx_value at_;
    char want[256], place[512];
    assert_ok(trace(two_lines, "x"));
    int64_t line = node("clamp")->kwargs[1].u.i;
    snprintf(want, sizeof(want), "tracer_module_test.c:%lld in two_lines",
             (long long)line);
    at_ = cfx_node_meta(node("relu"), "stack_trace");
    ck_assert_ptr_nonnull(strstr(at_.u.str->text, want));
    ck_assert(!strncmp(at_.u.str->text, "File: ", 6));
    /* Nodes that modules of the library make have the stack of their call. */
    cfx_module *block = make_block();
    cfx_trace_options o = {.is_leaf = no_leaf};
    assert_ok(symbolic(block, &o));
    at_ = cfx_node_meta(node("linear"), "stack_trace");
    ck_assert_ptr_nonnull(strstr(at_.u.str->text, "in net_forward"));
    snprintf(place, sizeof(place), "%s", at_.u.str->text);
    at_ = cfx_node_meta(node("mul"), "stack_trace");
    ck_assert_str_ne(place, at_.u.str->text);
    o.no_places = true;
    assert_ok(symbolic(block, &o));
    ck_assert(!cfx_node_meta(node("mul"), "stack_trace").kind);
    cfx_module_unref(block);
}

FN(names)
{
    (void)user;
    cfx_value y = cfx_named(s, "hidden state", cfx_relu(s, in[0]));
    return cfx_annotate(s, y, "torch.Tensor");
}

TEST_CASE(values_can_be_named_and_annotated)
{
    cfx_scope s;
    cfx_value x = row(1, -1);
    assert_ok(trace(names, "x"));
    assert_code("    hidden_state : torch.Tensor = torch.relu(x);");
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    ck_assert_float_eq(at(names(&s, &x, NULL), 0), 0);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

FN(names_twice)
{
    (void)user;
    cfx_value y = cfx_relu(s, in[0]);
    cfx_named(s, "max", cfx_named(s, "max", y));
    return cfx_relu(s, cfx_named(s, "hidden-state", y));
}

TEST_CASE(names_given_in_vain_are_free)
{
    assert_ok(trace(names_twice, "x"));
    assert_code("    hidden_state = torch.relu(x);");
    assert_code("    relu = torch.relu(hidden_state);");
}

TEST_CASE(parameters_are_names_and_differ)
{
    static const char *const bad[] = {"x x", "x-y",  "1x",   "*",
                                      "**",  "***x", "x=1=2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(trace(names_twice, bad[i]), "%s", bad[i]);
}

/* ---- GraphModules ---- */

static const char inner_text[] =
    "Net(\n"
    "  (fc): Linear(in_features=3, out_features=3, bias=True)\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y](default=1)\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = "
    "{})\n"
    "    %named : [num_users=1] = call_function[target=operator.add](args = "
    "(%fc, %y), kwargs = {})\n"
    "    return named\n";

FN(call_inner)
{
    cfx_value args[] = {cfx_relu(s, in[0])};
    cfx_value kwargs[] = {cfx_str(s, "y"), in[0]};
    cfx_value a = cfx_call_module_with(s, user, "inner",
                                       (cfx_args){args, 1, kwargs, 1});
    return cfx_call_module(s, user, "inner", a);
}

static cfx_status trace_inner(cfx_module *root, cfx_trace_options *o)
{
    fresh();
    o->size = sizeof(*o);
    o->root = root;
    return cfx_trace_function_with(&gm, ctx, call_inner, root, "x", o, &err);
}

static bool every_leaf(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return true;
}

TEST_CASE(tracing_graphmodules_as_leaf_submodules)
{
    cfx_module *root;
    cfx_trace_options o = {.no_places = true};
    assert_ok(cfx_module_new_container(&root, ctx, "Outer", &err));
    assert_ok(cfx_module_add_take(root, "inner", parse(inner_text), &err));
    assert_ok(trace_inner(root, &o));
    assert_code("    relu = torch.relu(x)\n"
                "    fc = self.inner.fc(relu);  relu = None\n"
                "    named = fc + x;  fc = x = None\n"
                "    fc_1 = self.inner.fc(named);  named = None\n"
                "    named_1 = fc_1 + 1;  fc_1 = None\n");
    o.is_leaf = every_leaf;
    assert_ok(trace_inner(root, &o));
    assert_code("    inner = self.inner(relu, y = x);  relu = x = None\n"
                "    inner_1 = self.inner(inner);  inner = None\n");
    ck_assert_ptr_nonnull(
        cfx_graph_module_graph(cfx_module_child(gm, "inner")));
    cfx_module_unref(root);
}

TEST_CASE(symbolic_trace_of_a_graph_module)
{
    cfx_module *inner = parse(inner_text);
    assert_ok(symbolic(inner, NULL));
    ck_assert_ptr_nonnull(strstr(inner_text, graph_text(gm)));
    cfx_module_unref(inner);
}

TEST_CASE(star_parameters_stay_when_traced_again)
{
    static const char stars[] =
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %_args : [num_users=1] = placeholder[target=*args]\n"
        "    %_kw : [num_users=1] = placeholder[target=**kw]\n"
        "    %getitem : [num_users=1] = call_function[target=operator.getitem]"
        "(args = (%_args, 0), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = "
        "(%x, %getitem), kwargs = {})\n"
        "    %getitem_1 : [num_users=1] = call_function[target="
        "operator.getitem](args = (%_kw, a), kwargs = {})\n"
        "    %add_1 : [num_users=1] = call_function[target=operator.add](args"
        " = (%add, %getitem_1), kwargs = {})\n"
        "    return add_1";
    cfx_module *inner = parse(stars);
    assert_ok(symbolic(inner, NULL));
    assert_graph(stars);
    cfx_module_unref(inner);
}

TEST_CASE(a_copy_is_traced_as_the_original_is)
{
    cfx_module *block = make_block(), *copy;
    char before[sizeof(text)];
    assert_ok(symbolic(block, NULL));
    snprintf(before, sizeof(before), "%s", graph_text(gm));
    assert_ok(cfx_module_copy(&copy, gm, &err));
    assert_ok(symbolic(copy, NULL));
    assert_graph(before);
    assert_ok(cfx_graph_lint(cfx_graph_module_graph(gm), &err));
    cfx_module_unref(copy);
    cfx_module_unref(block);
}

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
    "    return enc\n";

TEST_CASE(an_encoder_is_traced_down_to_operators)
{
    cfx_module *m = parse(encoder);
    cfx_tensor *x;
    assert_ok(cfx_module_randomize(m, 1, &err));
    assert_ok(cfx_tensor_new(&x, ctx, CFX_F32, 3, (int64_t[]){2, 3, 8}, &err));
    assert_ok(cfx_tensor_randomize(x, 1, "x", &err));
    cfx_value in = cfx_value_of_tensor(x);
    cfx_trace_options o = {.is_leaf = no_leaf, .metas = &in, .nmetas = 1};
    assert_ok(symbolic(m, &o));
    for (const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n;
         n = cfx_node_next(n))
        ck_assert_int_ne(n->op, CFX_CALL_MODULE);
    cfx_value a = run_module(m, &in, 1), b = run_module(gm, &in, 1);
    ck_assert_int_eq(cfx_tensor_numel(b.u.tensor), 48);
    ck_assert_int_eq(memcmp(a.u.tensor->data, b.u.tensor->data, 48 * 4), 0);
    cfx_value_unref(a);
    cfx_value_unref(b);
    cfx_value_unref(in);
    cfx_module_unref(m);
}

/* ---- Memory ---- */

static cfx_value three;

FN(add_constant)
{
    (void)user;
    cfx_value y = cfx_add(s, in[0], three);
    return cfx_add(s, y, three);
}

static cfx_module *memory_root;

static cfx_status attempt_module(void)
{
    cfx_value m;
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    cfx_status st = cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err);
    if (st)
        return st;
    m = cfx_value_of_tensor(t);
    cfx_trace_options o = {
        .size = sizeof(o), .is_leaf = no_leaf, .metas = &m, .nmetas = 1};
    st = cfx_symbolic_trace(&gm, memory_root, &o, &err);
    cfx_tensor_unref(t);
    return st;
}

static cfx_status attempt_leaves(void)
{
    return cfx_symbolic_trace(&gm, memory_root, NULL, &err);
}

static cfx_status attempt_constants(void)
{
    cfx_concrete_arg flag = {"y", cfx_bool(true)};
    cfx_trace_options o = {
        .size = sizeof(o), .concrete = &flag, .nconcrete = 1};
    return cfx_trace_function_with(&gm, ctx, add_constant, NULL,
                                   "x y=(1,2) *args", &o, &err);
}

TEST_CASE(lack_of_memory_is_told_everywhere)
{
    three = row(1, 3);
    exhaust(attempt_constants);
    cfx_value_unref(three);
    memory_root = make_block();
    exhaust(attempt_leaves);
    exhaust(attempt_module);
    cfx_module_unref(memory_root);
    memory_root = parse(inner_text);
    exhaust(attempt_leaves);
    cfx_module_unref(memory_root);
}

TEST_SUITE(tracer_module, .setup = setup, .teardown = teardown, .timeout = 60)
