/*
 * input_check_test -- inputs are compared with the declared types, ranges and
 * guards, however a run begins.
 */
#include <cfx/input_check.h>

#include "tests/unit/interp/interp_test.h"
#include "tests/unit/unit.h"

/* x has 2 to 8 times 3 elements, y twice as many rows plus one. */
static const char declared[] =
    "# cfx 1\n"
    "graph():\n"
    "    %x : Tensor \"f32[n]\"[num_users=1] = placeholder[target=x] meta = "
    "{'range_constraints': {'n': (4, 64)}, 'guards': ['n % 3 == 0', "
    "'n*m <= 500', '5 == 6', '(((', 'x.stride()[0] == 1']}\n"
    "    %y : Tensor \"f32[2*n + 1]\"[num_users=1] = placeholder[target=y]\n"
    "    %k : int \"m\"[num_users=0] = placeholder[target=k]\n"
    "    %flag : [num_users=0] = placeholder[target=flag](default=False) meta "
    "= {'val': False}\n"
    "    %sum : [num_users=1] = call_method[target=sum](args = (%x,), kwargs "
    "= {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%sum, %y), kwargs = {})\n"
    "    return %add";

static void inputs(cfx_value in[4], int64_t x, int64_t y)
{
    in[0] = floats(x, 1);
    in[1] = floats(y, 1);
    in[2] = cfx_int(5);
    in[3] = cfx_bool(false);
}

static void drop(cfx_value in[4])
{
    for (int i = 0; i < 4; i++)
        cfx_value_unref(in[i]);
}

static void refuses(cfx_interp *it, int64_t x, int64_t y, const char *part)
{
    cfx_value in[4];
    inputs(in, x, y);
    fails(it, in, 4, CFX_EINPUT, part);
    drop(in);
}

static void accepts(cfx_interp *it, int64_t x, int64_t y)
{
    cfx_value in[4];
    inputs(in, x, y);
    cfx_value_unref(run(it, in, 4));
    drop(in);
}

TEST_CASE(inputs_are_compared_with_declared_extents)
{
    cfx_interp it = {0};
    model(declared);
    ready(&it, &cfx_interp_base);
    for (int round = 0; round < 2; round++) {
        accepts(&it, 6, 13);
        accepts(&it, 6, 13);
        refuses(&it, 6, 12,
                "input y is f32[12]; the model was exported for f32[2*n + 1]");
        accepts(&it, 9, 19);
        refuses(&it, 3, 7,
                "input x is f32[3]; the model was exported for "
                "f32[n], 4 <= n <= 64: export it with");
        refuses(&it, 66, 133, "4 <= n <= 64");
        refuses(&it, 7, 15, ", n % 3 == 0");
        cfx_value in[4];
        inputs(in, 6, 13);
        in[2] = cfx_int(90);
        fails(&it, in, 4, CFX_EINPUT, "n*m <= 500");
        drop(in);
    }
    cfx_interp_release(&it);
}

TEST_CASE(inputs_are_compared_with_declared_kinds)
{
    cfx_interp it = {0};
    cfx_value in[4];
    model(declared);
    ready(&it, &cfx_interp_base);
    inputs(in, 6, 13);
    cfx_value x = in[0];
    in[0] = cfx_int(1);
    fails(&it, in, 4, CFX_EINPUT,
          "input x is 1; the model was exported for "
          "f32[n]: give a tensor of 1 axis");
    in[0] = x;
    in[2] = cfx_str_new(ctx, "k", 1);
    fails(&it, in, 4, CFX_EINPUT, "give an int");
    cfx_value_unref(in[2]);
    in[2] = cfx_int(1);
    in[3] = cfx_bool(true);
    fails(&it, in, 4, CFX_EINPUT,
          "input flag is True; the model was exported "
          "for False: export it for this value");
    in[3] = cfx_int(0); /* equal to False */
    cfx_value_unref(run(&it, in, 4));
    cfx_value_unref(run(&it, in, 3));
    drop(in);
    cfx_interp_release(&it);
}

TEST_CASE(inputs_of_every_entry_are_compared)
{
    cfx_interp it = {0};
    cfx_value in[4], out;
    model(declared);
    ready(&it, &cfx_interp_base);
    inputs(in, 6, 12);
    ck_assert_int_eq(cfx_interp_begin(&it, in, 4, &err), CFX_EINPUT);
    cfx_interp_end(&it, &out);
    /* A value for y, so that the inputs are x, k and flag. */
    ck_assert_int_eq(cfx_interp_set_env(&it, node("y"), in[1], &err), CFX_OK);
    const cfx_value rest[] = {in[0], in[2], in[3]};
    fails(&it, rest, 3, CFX_EINPUT, "input y is f32[12]");
    ck_assert_int_eq(cfx_interp_run_take(&it, in, 4, &out, &err), CFX_EINPUT);
    ck_assert_int_eq(in[0].kind, CFX_ABSENT);
    cfx_interp_release(&it);
}

TEST_CASE(any_shape_is_the_choice_of_a_context)
{
    cfx_interp it = {0};
    model(declared);
    cfx_context_set_any_shape(ctx, true);
    ck_assert(cfx_context_any_shape(ctx));
    ready(&it, &cfx_interp_base);
    accepts(&it, 2, 3);
    cfx_interp_release(&it);
}

TEST_CASE(one_symbol_of_an_expression_is_solved_for)
{
    static const char text[] =
        "# cfx 1\n"
        "graph():\n"
        "    %y : Tensor \"f32[3*n + 1]\"[num_users=1] = "
        "placeholder[target=y] meta = {'range_constraints': {'n': (4, None)}}\n"
        "    %z : Tensor \"f32[n*n]\"[num_users=0] = placeholder[target=z]\n"
        "    return %y";
    cfx_interp it = {0};
    model(text);
    ready(&it, &cfx_interp_base);
    cfx_value in[] = {floats(13, 0), floats(16, 0)};
    cfx_value_unref(run(&it, in, 2));
    cfx_value y = in[0];
    in[0] = floats(10, 0);
    fails(&it, in, 2, CFX_EINPUT, "input z is f32[16]");
    fails(&it, in, 1, CFX_EINPUT, "4 <= n");
    cfx_value_unref(in[0]);
    in[0] = floats(14, 0);
    fails(&it, in, 2, CFX_EINPUT,
          "input y is f32[14]; the model was exported "
          "for f32[3*n + 1]: export it");
    cfx_value_unref(y);
    cfx_value_unref(in[0]);
    cfx_value_unref(in[1]);
    cfx_interp_release(&it);
}

TEST_CASE(missing_inputs_are_expected_as_the_others_say)
{
    cfx_input_check *check;
    cfx_value in[] = {floats(6, 0), CFX_NOTHING}, want;
    model(declared);
    ck_assert_int_eq(
        cfx_input_check_new(&check, cfx_graph_module_graph(gm), &err), CFX_OK);
    ck_assert_int_eq(cfx_input_check_run(check, NULL, in, 2, &err), CFX_OK);
    ck_assert_int_eq(cfx_input_check_expected(&want, check, 1, &err), CFX_OK);
    ck_assert_int_eq(cfx_dim_value(want.u.tensor->shape[0]), 13);
    cfx_value_unref(want);
    cfx_value_unref(in[0]);
    cfx_input_check_free(check);
    /* Nothing is declared. */
    model(chain);
    ck_assert_int_eq(
        cfx_input_check_new(&check, cfx_graph_module_graph(gm), &err), CFX_OK);
    ck_assert_ptr_null(check);
}

TEST_CASE(a_check_survives_every_failing_allocation)
{
    cfx_input_check *check = NULL;
    cfx_value in[4], want = CFX_NOTHING;
    model(declared);
    inputs(in, 6, 12);
    for (long n = 0;; n++) {
        refused = false;
        allowed = n;
        cfx_status st = cfx_input_check_new(&check, cfx_graph_module_graph(gm),
                                            &err);
        if (!st) {
            cfx_status fit = cfx_input_check_run(check, NULL, in, 4, &err);
            ck_assert(fit == CFX_EINPUT || (refused && fit == CFX_ENOMEM));
            st = cfx_input_check_expected(&want, check, 1, &err);
        }
        allowed = -1;
        ck_assert(!st || (refused && st == CFX_ENOMEM));
        cfx_value_unref(want);
        want = CFX_NOTHING;
        cfx_input_check_free(st && !check ? NULL : check);
        check = NULL;
        if (!st && !refused)
            break;
    }
    drop(in);
}

TEST_SUITE(input_check, .setup = setup, .teardown = teardown, .timeout = 60)
