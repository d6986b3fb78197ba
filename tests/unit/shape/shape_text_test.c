/*
 * shape_text_test -- shapes as text: printed, read back and refused; graphs
 * that are annotated with them.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>

#include "tests/unit/shape/shape_prop_test.h"
#include "tests/unit/unit.h"

/* ---- Shapes as text ---- */

TEST_CASE(shapes_print_and_read_back)
{
    /* clang-format off */
    static const char *const same[] = {
        "f32[]", "f32[N, 3, 224, 224]", "i64[2*N + 1, (H + 7)//8]",
        "(f32[2], i64[N])", "(f32[2],)", "()", "[]", "[f32[2], N, 3]",
        "{'a': f32[2], 'b': (N, 'x', True, None)}", "N", "2*N + 1",
        "(H + 1)//2", "-1", "f32[min(H, W)]", "f32[max(H, W), N % 2]",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        cfx_value v = shape(same[i]);
        assert_is(v, false, same[i]);
        cfx_value_unref(v);
    }
    cfx_value v = shape(" ( f32[2,4][4,1]cpu , f32[N , 4][1,N]cuda:0 )");
    assert_is(v, true, "(f32[2, 4][4, 1]cpu, f32[N, 4][1, N]cpu)");
    cfx_value_unref(v);
}

TEST_CASE(what_is_no_shape_is_refused)
{
    /* clang-format off */
    static const char *const bad[] = {
        "", " ", "f32[", "f32]", "f32[2", "f32[2]]", "f32[2,,3]", "f32[-1]",
        "f32[2][1][1]", "f32[2][1, 1]", "q32[2]", "f32[2]CPU!", "(f32[2]",
        "f32[2 3]", "f32[1/2]", "{'a' f32[2]}", "f32[N",
        "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "f32[2] f32[2]", "1 +",
        "f32[-N]", "f32[2, 1 - 2*N]", "(f32[N - 5], f32[4 - N])",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cfx_value v;
        cfx_status st = cfx_parse_shape(&v, ctx, env, bad[i], strlen(bad[i]),
                                        &err);
        ck_assert_msg(st == CFX_EPARSE || st == CFX_ESHAPE, "%s: %d", bad[i],
                      st);
    }
    cfx_value v;
    ck_assert_int_eq(cfx_parse_shape(&v, ctx, NULL, "f32[N]", 6, &err),
                     CFX_EPARSE);
}

TEST_CASE(a_nul_in_a_shape_is_refused)
{
    static const char *const before[] = {"f32[2]cpu", "f32[2", "f32"};
    static const char *const after[] = {"!", "]", "!"};
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        char text[32];
        size_t n = strlen(before[i]);
        cfx_value v;
        snprintf(text, sizeof(text), "%s", before[i]);
        snprintf(text + n + 1, sizeof(text) - n - 1, "%s[2]", after[i]);
        size_t len = n + 1 + strlen(after[i]) + (i == 2 ? 3 : 0);
        ck_assert_int_eq(cfx_parse_shape(&v, ctx, env, text, len, &err),
                         CFX_EPARSE);
    }
}

TEST_CASE(deep_shapes_are_refused)
{
    char text[400];
    cfx_value v;
    memset(text, '[', sizeof(text) / 2);
    memset(text + sizeof(text) / 2, ']', sizeof(text) / 2);
    ck_assert_int_eq(cfx_parse_shape(&v, ctx, env, text, sizeof(text), &err),
                     CFX_EPARSE);
}

/* ---- Annotated graphs ---- */

static void print_annotated(struct text *t, const cfx_module *gm)
{
    t->len = 0;
    if (cfx_print_annotated((cfx_sink){append, t}, gm, &err))
        ck_abort_msg("%s", err.text);
}

TEST_CASE(annotated_graphs_come_back)
{
    struct text first, again;
    cfx_module *gm = parse(
                   "# cfx 1\nM()\n\ngraph():\n"
                   "    %x : 'Tensor' [num_users=1] = placeholder[target=x]\n"
                   "    %t : Any [num_users=1] = "
                   "call_function[target=torch.topk](args = "
                   "(%x, 2), kwargs = {})\n"
                   "    %g : [num_users=1] = "
                   "call_function[target=operator.getitem](args "
                   "= (%t, 0), kwargs = {})\n"
                   "    return %g\n"),
               *back;
    cfx_value x = shape("f32[N, H + 1]");
    if (cfx_propagate_shapes(gm, env, &x, 1, NULL, &err))
        ck_abort_msg("%s", err.text);
    print_annotated(&first, gm);
    ck_assert_str_eq(
        strstr(first.s, "    %x"),
        "    %x : 'Tensor' \"f32[N, H + 1][H + 1, 1]cpu\"[num_users=1] = "
        "placeholder[target=x]\n"
        "    %t : Any \"(f32[N, 2][2, 1]cpu, i64[N, 2][2, 1]cpu)\""
        "[num_users=1] = call_function[target=torch.topk](args = (%x, 2), "
        "kwargs = {})\n"
        "    %g : Tensor \"f32[N, 2][2, 1]cpu\"[num_users=1] = call_function["
        "target=operator.getitem](args = (%t, 0), kwargs = {})\n"
        "    return %g\n");
    back = parse(first.s);
    print_annotated(&again, back);
    ck_assert_str_eq(again.s, first.s);
    cfx_module_unref(back);
    cfx_module_unref(gm);
    cfx_value_unref(x);
}

TEST_CASE(annotations_are_checked)
{
    static const char text[] =
        "# cfx 1\nM()\n\ngraph():\n"
        "    %x : Tensor \"f32[N, 3, H][3*H, H, 1]cpu\"[num_users=1] = "
        "placeholder[target=x]\n"
        "    %t : Tensor \"f32[N, H, 3][3*H, 1, H]cpu\"[num_users=1] = "
        "call_method[target=transpose](args = (%x, 1, 2), kwargs = {})\n"
        "    return %t\n";
    static const struct {
        const char *input;
        const char *says;
    } cases[] = {
        {"f32[2, 3, 5]", NULL},
        {"f32[N, 3, H]", NULL},
        {"f32[B, 3, 7]", NULL},
        {"f32[H, 3, N]", "x is f32[H, 3, N], not f32[N, 3, H] as asserted"},
        {"f32[2, 4, 5]", "input x is f32[2, 4, 5]; the model was exported for "
                         "f32[N, 3, H]: "},
        {"f32[2, 3, 5][15, 1, 3]",
         "t is f32[2, 5, 3][15, 3, 1]cpu, not f32[N, H, 3][3*H, 1, H]cpu as "
         "asserted"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_module *gm = parse(text);
        cfx_shape_env *own;
        cfx_shape_prop p = {.env = NULL};
        cfx_value x, out;
        memset(&err, 0, sizeof(err));
        ck_assert_int_eq(cfx_shape_env_new(&own, ctx, &err), CFX_OK);
        ck_assert_int_eq(cfx_parse_shape(&x, ctx, own, cases[i].input,
                                         strlen(cases[i].input), &err),
                         CFX_OK);
        const cfx_shape_prop_options o = {
            .size = sizeof(o), .env = own, .check = true};
        ck_assert_int_eq(cfx_shape_prop_init(&p, NULL, gm, &o, &err), CFX_OK);
        cfx_status st = cfx_interp_run(&p.base, &x, 1, &out, &err);
        ck_assert_msg(!cases[i].says == !st, "%s: %s", cases[i].input,
                      st ? err.text : "it agrees");
        if (st)
            ck_assert_msg(
                !strncmp(err.text, cases[i].says, strlen(cases[i].says)), "%s",
                err.text);
        else
            cfx_value_unref(out);
        cfx_value_unref(x);
        cfx_interp_release(&p.base);
        cfx_shape_env_free(own);
        cfx_module_unref(gm);
    }
}

TEST_SUITE(shape_text, .setup = setup, .teardown = teardown, .timeout = 60)
