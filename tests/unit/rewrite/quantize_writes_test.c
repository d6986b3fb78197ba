/*
 * quantize_writes_test -- a quantized copy of a value does not hide what the graph
 * writes to it later.
 */
#include "tests/unit/rewrite/pass_test.h"

#include <math.h>

#include <cfx/compare.h>
#include <cfx/quantize.h>

#include "tests/unit/unit.h"

#define CALL(name, target, args)                                              \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = (" args "), kwargs = {})\n"
#define METHOD(name, target, args)                                            \
    "    %" name " : [num_users=1] = call_method[target=" target              \
    "](args = (" args "), kwargs = {})\n"
#define MODULE(name, args)                                                    \
    "    %" name " : [num_users=1] = call_module[target=" name                \
    "](args = (" args ",), kwargs = {})\n"
#define GET(name, target)                                                     \
    "    %" name " : [num_users=1] = get_attr[target=" target "]\n"
#define LINEAR CALL("fc", "torch.nn.functional.linear", "%x, %w")

/* Between the input x and the weight w, and a linear layer that reads them. */
static const char *const writes[] = {
    CALL("u", "operator.iadd", "%x, %x"),
    CALL("u", "operator.setitem", "%x, 0, 0.25"),
    METHOD("u", "add_", "%x, 1.5"),
    METHOD("u", "copy_", "%x, 1.5"),
    CALL("u", "torch.ops.aten.mul_.Tensor", "%x, %x"),
    CALL("u", "torch.relu_", "%x,"),
    CALL("u", "torch.nn.functional.relu", "%x, True"),
    MODULE("relu", "%x"),
    "    %u : [num_users=0] = call_function[target=torch.neg](args = (%x,), "
    "kwargs = {out: %x})\n",
    CALL("v", "torch.transpose", "%x, 0, 1")
        CALL("u", "torch.ops.aten.mul_.Scalar", "%v, -2.0"),
    CALL("v", "torch.narrow", "%x, 1, 0, 2") METHOD("u", "zero_", "%v,"),
    CALL("v", "torch.chunk", "%x, 3, 1") CALL("g", "operator.getitem", "%v, 1")
        CALL("u", "operator.imul", "%g, 3.0"),
    /* Both signs are in the calibration; quantizing runs the model three times. */
    CALL("u", "operator.imul", "%w, -1.0"),
    GET("v", "w") METHOD("u", "neg_", "%v,"),
    GET("v", "w") CALL("part", "torch.narrow", "%v, 0, 1, 2")
        CALL("u", "operator.imul", "%part, -1.0"),
};

static cfx_value input(void)
{
    static const int64_t shape[] = {6, 6};
    cfx_tensor *t;
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err));
    assert_ok(cfx_tensor_randomize(t, 1, "x", &err));
    return cfx_value_of_tensor(t);
}

/* The result of a model for an input of its own, which the model may overwrite. */
static cfx_value result_of(cfx_module *m)
{
    cfx_value x = input(), y = CFX_NOTHING;
    cfx_interp it = {0};
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, m, &err));
    assert_ok(cfx_interp_run(&it, &x, 1, &y, &err));
    cfx_interp_release(&it);
    cfx_value_unref(x);
    return y;
}

static void quantize(cfx_module *m)
{
    cfx_quantizer q;
    cfx_value x = input();
    cfx_quantizer_init(&q, &cfx_quantizer_x86);
    assert_ok(cfx_quantize_prepare(m, &q, &x, 1, NULL, &err));
    cfx_value_unref(x);
    cfx_value_unref(result_of(m));
    cfx_value_unref(result_of(m));
    assert_ok(cfx_quantize_convert(m, NULL, &err));
}

static cfx_module *load(const char *write)
{
    cfx_module *m;
    char text[2048] = "# cfx 1\nM(\n  (relu): ReLU(inplace=True)\n)\n\n"
                      "state:\n    w: f32[4, 6]\n\ngraph():\n"
                      "    %x : [num_users=1] = placeholder[target=x]\n";
    strcat(text, GET("w", "w"));
    strcat(text, write);
    strcat(text, LINEAR "    return %fc\n");
    assert_ok(cfx_parse_model(&m, ctx, text, strlen(text), "m.fx", &err));
    assert_ok(cfx_module_randomize(m, 1, &err));
    return m;
}

/* Between the results of a model with these lines, before and after it is
 * quantized. */
static double snr_of(const char *write)
{
    const cfx_tolerance any = {.given = true};
    cfx_module *exact = load(write), *quantized = load(write);
    cfx_difference d;
    quantize(quantized);
    cfx_value_unref(result_of(exact));
    cfx_value y = result_of(exact), z = result_of(quantized);
    assert_ok(cfx_value_compare(&d, y, z, &any, &err));
    cfx_value_unref(y);
    cfx_value_unref(z);
    cfx_module_unref(quantized);
    cfx_module_unref(exact);
    return d.differs ? cfx_difference_snr(&d) : INFINITY;
}

TEST_CASE(what_is_written_later_is_not_lost)
{
    for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
        double snr = snr_of(writes[i]);
        ck_assert_msg(snr > 25, "%.1f dB after\n%s", snr, writes[i]);
    }
}

TEST_SUITE(quantize_writes, .setup = setup, .teardown = teardown)
