/*
 * tracer_test -- functions and modules become graphs: what torch.fx's Tracer
 * and Proxy promise.
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

/* ---- Functions ---- */

FN(relu_mul)
{
    (void)user;
    return cfx_mul(s, cfx_relu(s, in[0]), in[1]);
}

TEST_CASE(trace_function)
{
    assert_ok(trace(relu_mul, "x y"));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
        "(%x,), kwargs = {})\n"
        "    %mul : [num_users=1] = call_function[target=torch.mul](args = "
        "(%relu, %y), kwargs = {})\n"
        "    return mul");
    ck_assert_str_eq(cfx_module_class_name(gm), "GraphModule");
    cfx_value in[] = {row(3, -1), row(3, 2)};
    cfx_value out = run_module(gm, in, 2);
    ck_assert_float_eq(at(out, 0), 0);
    ck_assert_float_eq(at(out, 2), 4);
    cfx_value_unref(out);
    cfx_value_unref(in[0]);
    cfx_value_unref(in[1]);
}

FN(given_arguments)
{
    (void)user;
    cfx_value y = cfx_clamp(s, in[0], .max = cfx_float(1));
    y = cfx_sum(s, y, .dim = cfx_tuple(s, cfx_int(1)),
                .keepdim = cfx_bool(true));
    y = cfx_view(s, y, cfx_list(s, cfx_int(-1)));
    return cfx_gelu(s, y);
}

TEST_CASE(what_is_given_is_recorded_and_nothing_else)
{
    assert_ok(trace(given_arguments, "x"));
    assert_code("    clamp = torch.clamp(x, max = 1.0);  x = None\n"
                "    sum_1 = torch.sum(clamp, (1,), keepdim = True);  "
                "clamp = None\n"
                "    view = sum_1.view([-1]);  sum_1 = None\n"
                "    gelu = torch.nn.functional.gelu(view);  view = None\n"
                "    return gelu\n");
}

FN(overloads)
{
    (void)user;
    cfx_value y = cfx_max(s, in[0]);
    y = cfx_add(s, y, cfx_max(s, in[0], .other = y));
    y = cfx_nth(s, cfx_max(s, y, .dim = cfx_int(1)), 0);
    y = cfx_squeeze(s, y, .dim = cfx_int(0));
    return cfx_scatter(s, y, cfx_int(0), in[0], .value = cfx_int(1),
                       .reduce = cfx_str(s, "add"));
}

TEST_CASE(arguments_choose_the_overload)
{
    assert_ok(trace(overloads, "x"));
    assert_code("    max_1 = torch.max(x)\n"
                "    max_2 = torch.max(x, max_1)\n"
                "    add = torch.add(max_1, max_2);  max_1 = max_2 = None\n"
                "    max_3 = torch.max(add, 1);  add = None\n"
                "    getitem = max_3[0];  max_3 = None\n"
                "    squeeze = torch.squeeze(getitem, 0);  getitem = None\n"
                "    scatter = torch.scatter(squeeze, 0, x, 1, "
                "reduce = 'add');  squeeze = x = None\n"
                "    return scatter\n");
}

FN(no_overload)
{
    (void)user;
    return cfx_max(s, in[0], .dim = cfx_int(1), .other = in[0]);
}

TEST_CASE(arguments_that_no_overload_takes_are_refused)
{
    ck_assert_int_eq(trace(no_overload, "x"), CFX_EINVAL);
    ck_assert_msg(strstr(err.text, "max(): no signature takes the arguments "
                                   "self, dim, other together"),
                  "%s", err.text);
}

FN(in_place)
{
    (void)user;
    cfx_relu_inplace(s, in[0]);
    cfx_add_inplace(s, in[0], cfx_int(1));
    return cfx_dropout_inplace(s, in[0], .training = cfx_bool(false));
}

TEST_CASE(in_place_functions_are_methods_that_write)
{
    assert_ok(trace(in_place, "x"));
    assert_code("    relu_ = x.relu_();  relu_ = None\n"
                "    add_ = x.add_(1);  add_ = None\n"
                "    dropout_ = torch.dropout_(x, training = False);  "
                "x = None\n");
}

FN(by_name)
{
    (void)user;
    cfx_value args[] = {in[0], cfx_int(1)};
    cfx_value kwargs[] = {cfx_str(s, "dim"), cfx_int(0)};
    cfx_value y = cfx_call_function(s, "torch.ops.aten.add.Tensor",
                                    cfx_args_of(args, 2));
    y = cfx_call_function(s, "_operator.add", CFX_ARGS(y));
    (void)y;
    y = cfx_call_method(s, "sum", (cfx_args){in, 1, kwargs, 1});
    return y;
}

FN(very_names)
{
    (void)user;
    cfx_value args[] = {in[0], cfx_int(1)};
    cfx_value kwargs[] = {cfx_str(s, "dim"), cfx_int(0)};
    cfx_value y = cfx_call_function(s, "torch.ops.aten.add.Tensor",
                                    cfx_args_of(args, 2));
    return cfx_call_method(s, "sum", (cfx_args){&y, 1, kwargs, 1});
}

TEST_CASE(calls_by_name_keep_their_spelling)
{
    assert_ok(trace(very_names, "x"));
    assert_graph("graph():\n"
                 "    %x : [num_users=1] = placeholder[target=x]\n"
                 "    %add_tensor : [num_users=1] = call_function[target="
                 "torch.ops.aten.add.Tensor](args = (%x, 1), kwargs = {})\n"
                 "    %sum_1 : [num_users=1] = call_method[target=sum](args = "
                 "(%add_tensor,), kwargs = {dim: 0})\n"
                 "    return sum_1");
    assert_fails(trace(by_name, "x"), CFX_EINVAL, "missing required argument");
}

/* A number of one sort, other operators of Python's. */
#define CALL2(s, name, a, b) cfx_call_function((s), (name), CFX_ARGS((a), (b)))

FN(shifts)
{
    (void)user;
    return cfx_tuple(s, CALL2(s, "operator.lshift", in[0], cfx_int(3)),
                     CALL2(s, "operator.rshift", in[0], cfx_int(3)));
}

FN(and_or)
{
    (void)user;
    return cfx_tuple(s, CALL2(s, "operator.and_", in[0], in[0]),
                     CALL2(s, "operator.or_", in[0], in[0]));
}

FN(matmul)
{
    (void)user;
    return CALL2(s, "operator.matmul", in[0], in[0]);
}

FN(sqrt_of_size)
{
    (void)user;
    cfx_value n = cfx_size(s, in[0], 0);
    return cfx_call_function(s, "math.sqrt", CFX_ARGS(n));
}

FN(getattr_shape)
{
    (void)user;
    cfx_value shape = CALL2(s, "builtins.getattr", in[0], cfx_str(s, "shape"));
    return cfx_nth(s, shape, -1);
}

TEST_CASE(fx_operators)
{
    assert_ok(trace(shifts, "x"));
    assert_code("lshift = x << 3\n    rshift = x >> 3;  x = None\n"
                "    return (lshift, rshift)");
    assert_ok(trace(and_or, "x"));
    assert_code("and_ = x & x\n    or_ = x | x;  x = None\n");
    assert_ok(trace(matmul, "x"));
    assert_code("matmul = x @ x;  x = None\n");
    assert_ok(trace(sqrt_of_size, "x"));
    assert_code("size = x.size(0);  x = None\n"
                "    sqrt = math_sqrt(size);  size = None\n");
    assert_ok(trace(getattr_shape, "x"));
    assert_code("getattr_1 = x.shape;  x = None\n"
                "    getitem = getattr_1[-1];  getattr_1 = None\n");
}

FN(sizes)
{
    (void)user;
    cfx_value n = cfx_size(s, in[0], 0);
    n = cfx_int_mul(s, n, cfx_size(s, in[0], 1));
    n = cfx_int_floordiv(s, cfx_int_add(s, n, cfx_int(1)), cfx_int(2));
    return cfx_view(s, in[0], cfx_tuple(s, n, cfx_int(-1)));
}

TEST_CASE(extents_of_proxies_are_recorded)
{
    assert_ok(trace(sizes, "x"));
    assert_code("    size = x.size(0)\n"
                "    size_1 = x.size(1)\n"
                "    mul = size * size_1;  size = size_1 = None\n"
                "    add = mul + 1;  mul = None\n"
                "    floordiv = add // 2;  add = None\n"
                "    view = x.view((floordiv, -1));  x = floordiv = None\n");
}

FN(index_by_slice)
{
    (void)user;
    cfx_value part[] = {cfx_none(), cfx_int(2), cfx_none()};
    cfx_value slice = cfx_scope_take(
        s, cfx_seq_new(s->ctx, CFX_SLICE, 3, part, NULL));
    return CALL2(s, "operator.getitem", in[0],
                 cfx_tuple(s, slice, cfx_ellipsis(), cfx_none()));
}

TEST_CASE(getitem)
{
    assert_ok(trace(index_by_slice, "x"));
    assert_code("getitem = x[(slice(None, 2, None), Ellipsis, None)];");
}

/* ---- Parameters ---- */

FN(first)
{
    (void)s;
    (void)user;
    return in[0];
}

FN(star_args)
{
    (void)user;
    cfx_value y = cfx_add(s, in[0], cfx_nth(s, in[1], 0));
    return cfx_add(s, y,
                   CALL2(s, "operator.getitem", in[2], cfx_str(s, "foo")));
}

TEST_CASE(args_kwargs)
{
    assert_ok(trace(star_args, "x *args **kwargs"));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %_args : [num_users=1] = placeholder[target=*args]\n"
        "    %_kwargs : [num_users=1] = placeholder[target=**kwargs]\n"
        "    %getitem : [num_users=1] = call_function[target="
        "operator.getitem](args = (%_args, 0), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=torch.add](args = "
        "(%x, %getitem), kwargs = {})\n"
        "    %getitem_1 : [num_users=1] = call_function[target="
        "operator.getitem](args = (%_kwargs, foo), kwargs = {})\n"
        "    %add_1 : [num_users=1] = call_function[target=torch.add](args = "
        "(%add, %getitem_1), kwargs = {})\n"
        "    return add_1");
}

TEST_CASE(defaults_are_literals)
{
    assert_ok(trace(first, "  x  flag=None n=-3 s='a' t=(1,2.5) "));
    assert_code("def forward(self, x, flag = None, n = -3, s = 'a', "
                "t = (1, 2.5)):");
    assert_fails(trace(first, "x ="), CFX_EINVAL, "are malformed");
    assert_fails(trace(first, "x=(1"), CFX_EPARSE, "");
}

/* ---- Constants ---- */

static cfx_value three;

FN(add_constant)
{
    (void)user;
    cfx_value y = cfx_add(s, in[0], three);
    return cfx_add(s, y, three);
}

TEST_CASE(tensor_constant)
{
    three = row(1, 3);
    assert_ok(trace(add_constant, "x"));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %_tensor_constant0 : [num_users=1] = get_attr[target="
        "_tensor_constant0]\n"
        "    %add : [num_users=1] = call_function[target=torch.add](args = "
        "(%x, %_tensor_constant0), kwargs = {})\n"
        "    %_tensor_constant0_1 : [num_users=1] = get_attr[target="
        "_tensor_constant0]\n"
        "    %add_1 : [num_users=1] = call_function[target=torch.add](args = "
        "(%add, %_tensor_constant0_1), kwargs = {})\n"
        "    return add_1");
    ck_assert_ptr_eq(cfx_module_state(gm, "_tensor_constant0")->tensor,
                     three.u.tensor);
    ck_assert(cfx_module_state(gm, "_tensor_constant0")->is_buffer);
    cfx_value x = row(2, 1), out = run_module(gm, &x, 1);
    ck_assert_float_eq(at(out, 1), 8);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_value_unref(three);
}

FN(computed_constant)
{
    (void)user;
    cfx_value c = cfx_ones(s, cfx_tuple(s, cfx_int(2)));
    return cfx_mul(s, in[0], cfx_add(s, c, c));
}

FN(random_numbers)
{
    (void)user;
    return cfx_mul(s, in[0], cfx_rand(s, cfx_tuple(s, cfx_int(2))));
}

TEST_CASE(calls_without_proxies_are_computed)
{
    assert_ok(trace(computed_constant, "x"));
    assert_code("    _tensor_constant0 = self._tensor_constant0\n"
                "    mul = torch.mul(x, _tensor_constant0);");
    const cfx_state *c = cfx_module_state(gm, "_tensor_constant0");
    ck_assert_float_eq(((float *)c->tensor->data)[1], 2);
}

TEST_CASE(random_numbers_are_not_baked_in)
{
    assert_ok(trace(random_numbers, "x"));
    assert_code("    rand = torch.rand((2,))\n");
}

FN(nothing_to_do)
{
    (void)in;
    (void)user;
    return cfx_tuple(s, cfx_int(1), cfx_str(s, "two"), cfx_none());
}

TEST_CASE(trace_fn_constant)
{
    assert_ok(trace(nothing_to_do, ""));
    assert_graph("graph():\n    return (1, 'two', None)");
}

/* ---- What cannot be traced ---- */

FN(branch)
{
    (void)user;
    return cfx_truth(s, cfx_gt(s, in[0], cfx_int(0))) ? in[0]
                                                      : cfx_neg(s, in[0]);
}

FN(ask_len)
{
    (void)user;
    return cfx_int(cfx_len(s, in[0]));
}

FN(iterate)
{
    const cfx_value *item;
    (void)user;
    cfx_value y = cfx_int(0);
    for (size_t i = 0, n = cfx_items(s, in[0], &item); i < n; i++)
        y = cfx_add(s, y, item[i]);
    return y;
}

FN(ask_rank)
{
    (void)user;
    return cfx_rank(s, in[0]) == 2 ? cfx_t(s, in[0]) : in[0];
}

FN(unpack_two)
{
    cfx_value part[2];
    (void)user;
    cfx_unpack(s, in[0], 2, part);
    return CALL2(s, "operator.sub", part[1], part[0]);
}

TEST_CASE(control_flow_tracing)
{
    static const char sentence[] = "symbolically traced variables cannot be "
                                   "used as inputs to control flow";
    assert_fails(trace(branch, "x"), CFX_EUNSUPPORTED, sentence);
    assert_fails(trace(ask_rank, "x"), CFX_EUNSUPPORTED, sentence);
    assert_fails(trace(ask_len, "x"), CFX_EUNSUPPORTED,
                 "'len' is not supported in symbolic tracing by default");
}

TEST_CASE(unpack_list_better_error)
{
    assert_fails(trace(iterate, "x"), CFX_EUNSUPPORTED,
                 "Proxy object cannot be iterated. This can be attempted when "
                 "the Proxy is used in a loop or as a *args or **kwargs "
                 "function argument.");
}

TEST_CASE(unpack)
{
    assert_ok(trace(unpack_two, "x"));
    assert_code("    getitem = x[0]\n"
                "    getitem_1 = x[1];  x = None\n"
                "    sub = getitem_1 - getitem;");
}

TEST_CASE(eager_code_asks_freely)
{
    cfx_scope s;
    cfx_value x = row(1, -2);
    const cfx_value *item;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    ck_assert_float_eq(at(branch(&s, &x, NULL), 0), 2);
    cfx_value two = cfx_list(&s, cfx_int(1), cfx_int(2));
    ck_assert_int_eq(cfx_len(&s, two), 2);
    ck_assert_uint_eq(cfx_items(&s, two, &item), 2);
    ck_assert_int_eq(unpack_two(&s, &two, NULL).u.i, 1);
    ck_assert(cfx_truth(&s, cfx_str(&s, "a")));
    ck_assert(!cfx_truth(&s, cfx_float(0)));
    ck_assert(!cfx_scope_failed(&s));
    cfx_unpack(&s, two, 3, (cfx_value[3]){{0}});
    ck_assert_int_eq(s.error.code, CFX_EINVAL);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

FN(asserts)
{
    (void)user;
    CALL2(s, "torch._assert", cfx_gt(s, in[0], cfx_int(0)),
          cfx_str(s, "not positive"));
    CALL2(s, "torch._assert", cfx_bool(true), cfx_str(s, "always"));
    return in[0];
}

TEST_CASE(symbolic_trace_assert)
{
    assert_ok(trace(asserts, "x"));
    assert_code("    gt = torch.gt(x, 0)\n"
                "    _assert = torch._assert(gt, 'not positive');  gt = "
                "_assert = None\n"
                "    _assert_1 = torch._assert(True, 'always');");
}

static cfx_value stolen;

FN(steal)
{
    (void)s;
    (void)user;
    stolen = in[0];
    return in[0];
}

FN(use_stolen)
{
    (void)user;
    return cfx_add(s, in[0], stolen);
}

TEST_CASE(tracers_are_not_mixed)
{
    cfx_module *other;
    assert_ok(trace(steal, "z"));
    other = gm;
    gm = NULL;
    assert_fails(trace(use_stolen, "x"), CFX_EGRAPH,
                 "Found multiple different tracers");
    cfx_module_unref(other);
}

FN(dict_int_keys)
{
    cfx_value item[] = {cfx_int(42), in[0]};
    (void)user;
    return cfx_scope_take(s, cfx_dict_new(s->ctx, 1, item));
}

FN(dict_proxy_keys)
{
    cfx_value item[] = {in[0], in[0]};
    (void)user;
    return cfx_scope_take(s, cfx_dict_new(s->ctx, 1, item));
}

TEST_CASE(trace_dict_proxy_keys)
{
    assert_ok(trace(dict_int_keys, "x"));
    assert_graph("graph():\n"
                 "    %x : [num_users=1] = placeholder[target=x]\n"
                 "    return {42: x}");
    assert_fails(trace(dict_proxy_keys, "x"), CFX_EINVAL,
                 "Keys for dictionaries used as an argument cannot contain a "
                 "Node.");
}

FN(top)
{
    (void)user;
    return cfx_topk(s, in[0], cfx_int(2));
}

TEST_CASE(trace_return_namedtuple)
{
    assert_ok(trace(top, "x"));
    cfx_value x = row(3, 0), out = run_module(gm, &x, 1);
    ck_assert_int_eq(out.kind, CFX_TUPLE);
    ck_assert_ptr_nonnull(out.u.seq->type);
    cfx_value_unref(out);
    cfx_value_unref(x);
}

FN(writes)
{
    (void)user;
    return cfx_add_inplace(s, cfx_relu(s, in[0]), cfx_int(1));
}

TEST_CASE(throw_out_variant)
{
    cfx_trace_options o = {.check_mutable = true};
    assert_fails(trace_with(writes, "x", &o), CFX_EUNSUPPORTED,
                 "Tried to trace mutable operation add.Tensor(");
    assert_ok(trace_with(relu_mul, "x y", &o));
}

FN(wrong_arguments)
{
    (void)user;
    return cfx_softmax(s, in[0], cfx_str(s, "dim"));
}

TEST_CASE(arguments_that_do_not_fit_are_told_at_once)
{
    assert_fails(trace(wrong_arguments, "x"), CFX_EINVAL,
                 "argument 'dim' must be int, not str");
}

/* ---- Concrete arguments ---- */

FN(with_flag)
{
    (void)user;
    return cfx_truth(s, in[1]) ? cfx_neg(s, in[0]) : in[0];
}

TEST_CASE(partial_trace)
{
    cfx_concrete_arg flag = {"flag", cfx_bool(true)};
    cfx_trace_options o = {.concrete = &flag, .nconcrete = 1};
    assert_ok(trace_with(with_flag, "x flag", &o));
    assert_code(
        "def forward(self, x, flag_1):\n"
        "    eq = flag_1 == True;  flag_1 = None\n"
        "    _assert = torch._assert(eq, 'flag has been specialized to have "
        "value True but got another value');  eq = _assert = None\n"
        "    neg = torch.neg(x);  x = None\n"
        "    return neg\n");
    cfx_value in[] = {row(1, 5), cfx_bool(true)};
    cfx_value out = run_module(gm, in, 2);
    ck_assert_float_eq(at(out, 0), -5);
    cfx_value_unref(out);
    in[1] = cfx_bool(false);
    cfx_interp it = {0};
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    ck_assert_int_eq(cfx_interp_run(&it, in, 2, &out, &err), CFX_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text,
                                 "flag has been specialized to have "
                                 "value True but got another value"));
    cfx_interp_release(&it);
    cfx_value_unref(in[0]);
}

FN(with_optional)
{
    (void)user;
    return cfx_value_is_none(in[1]) ? in[0] : cfx_add(s, in[0], in[1]);
}

TEST_CASE(concrete_arg_none_assert)
{
    cfx_concrete_arg val = {"val", cfx_none()};
    cfx_trace_options o = {.concrete = &val, .nconcrete = 1};
    assert_ok(trace_with(with_optional, "x val=None", &o));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %val_1 : [num_users=1] = placeholder[target=val_1](default=None)"
        "\n"
        "    %_assert_is_none : [num_users=0] = call_function[target="
        "torch.fx._symbolic_trace._assert_is_none](args = (%val_1, val has "
        "been specialized to have value None but got another value), kwargs "
        "= {})\n"
        "    return x");
    cfx_value in[] = {cfx_int(1), cfx_int(2)}, out = run_module(gm, in, 1);
    ck_assert_int_eq(out.u.i, 1);
    cfx_interp it = {0};
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    ck_assert_int_eq(cfx_interp_run(&it, in, 2, &out, &err), CFX_EINVAL);
    cfx_interp_release(&it);
    /* Without it, a proxy is not None. */
    assert_ok(trace(with_optional, "x val=None"));
    assert_code("add = torch.add(x, val);");
}

FN(add_items)
{
    (void)user;
    cfx_value y = cfx_add(s, cfx_nth(s, in[0], 0), cfx_nth(s, in[0], 1));
    return cfx_mul(s, y, cfx_nth(s, in[0], 2));
}

FN(add_star)
{
    (void)user;
    return cfx_add(s, cfx_nth(s, in[0], 0), cfx_nth(s, in[0], 1));
}

TEST_CASE(varargs_concrete)
{
    cfx_value item[] = {cfx_ph(), cfx_ph()};
    cfx_concrete_arg args = {"args", cfx_tuple_new(ctx, 2, item)};
    cfx_trace_options o = {.concrete = &args, .nconcrete = 1};
    assert_ok(trace_with(add_star, "*args", &o));
    assert_code("def forward(self, args_1, args_2):\n"
                "    add = torch.add(args_1, args_2);");
    cfx_value_unref(args.value);
}

TEST_CASE(pytree_concrete)
{
    cfx_value item[] = {cfx_ph(), cfx_ph(), cfx_int(3)};
    cfx_concrete_arg x = {"x", cfx_list_new(ctx, 3, item)};
    cfx_trace_options o = {.concrete = &x, .nconcrete = 1};
    assert_ok(trace_with(add_items, "x", &o));
    assert_code("def forward(self, x_1, x_2, x_3):\n"
                "    eq = x_3 == 3;  x_3 = None\n");
    assert_code("    add = torch.add(x_1, x_2);  x_1 = x_2 = None\n"
                "    mul = torch.mul(add, 3);  add = None\n");
    cfx_value_unref(x.value);
}

/* ---- How calls are spelled ---- */

/* A call through an operator's C function, written down, is the same operator
 * again, with the same parameters. */
static void check_spelling(const cfx_op *op, bool inplace)
{
    char name[128];
    bool method;
    size_t n = cfx_op_call_name(op, inplace, &method, name, sizeof(name));
    const cfx_schema *schema = cfx_op_schema(ctx, op);
    ck_assert_msg(n && n < sizeof(name), "%s has no name", schema->text);
    const cfx_target *t = method ? cfx_find_method(ctx, name)
                                 : cfx_find_function(ctx, name);
    while (t && t->op != op)
        t = t->next;
    ck_assert_msg(t != NULL, "%s does not find %s", name, schema->text);
    ck_assert_msg(t->inplace == inplace, "%s does not write", name);
    int k = 0;
    for (; k < schema->nparams && schema->params[k].required; k++)
        ck_assert_msg(k < t->variant->nparams, "%s takes no %s", name,
                      schema->params[k].name);
    for (; k < schema->nparams; k++) {
        int i = 0;
        while (i < t->variant->nparams &&
               strcmp(t->variant->params[i].name, schema->params[k].name))
            i++;
        /* A parameter that this name lacks is refused. */
        if (i == t->variant->nparams)
            continue;
        ck_assert_msg(cfx_value_equal(t->variant->params[i].init,
                                      schema->params[k].init),
                      "%s: another default of %s", name,
                      schema->params[k].name);
    }
}

TEST_CASE(every_operator_is_found_under_its_spelling)
{
    for (size_t i = 0; cfx_op_at(ctx, i); i++)
        for (const cfx_op *op = cfx_op_at(ctx, i); op; op = op->next) {
            check_spelling(op, false);
            if (op->flags & CFX_OP_INPLACE)
                check_spelling(op, true);
        }
}

TEST_SUITE(tracer, .setup = setup, .teardown = teardown, .timeout = 60)
