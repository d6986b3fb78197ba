/*
 * codegen_test -- graphs as C text that is compiled, traced and run.
 *
 * The graphs of golden/code, whose names and literals are odd, come back from
 * their C text as they were.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/file.h>
#include <cfx/interp.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/compile.h"
#include "tests/unit/counted.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    memset(&err, 0, sizeof(err));
    ctx = counted_context();
}

static void teardown(void)
{
    free_counted(ctx);
}

/* ---- There and back ---- */

static int back; /* how many came */

static void assert_same_graph(const char *name, const cfx_module *want,
                              const cfx_module *have)
{
    cfx_buf a, b;
    cfx_buf_init(&a, ctx);
    cfx_buf_init(&b, ctx);
    ck_assert(!cfx_print_graph(cfx_sink_buf(&a), cfx_graph_module_graph(want),
                               false, &err));
    ck_assert(!cfx_print_graph(cfx_sink_buf(&b), cfx_graph_module_graph(have),
                               false, &err));
    if (strcmp(cfx_buf_str(&a), cfx_buf_str(&b)))
        ck_abort_msg("%s:\n%s\n---- is not\n%s", name, cfx_buf_str(&b),
                     cfx_buf_str(&a));
    cfx_buf_release(&a);
    cfx_buf_release(&b);
}

static void assert_same_tree(const char *name, const cfx_module *want,
                             const cfx_module *have)
{
    cfx_buf a, b;
    cfx_buf_init(&a, ctx);
    cfx_buf_init(&b, ctx);
    ck_assert(!cfx_print_modules(cfx_sink_buf(&a), want, &err));
    ck_assert(!cfx_print_modules(cfx_sink_buf(&b), have, &err));
    if (strcmp(cfx_buf_str(&a), cfx_buf_str(&b)))
        ck_abort_msg("%s:\n%s\n---- is not\n%s", name, cfx_buf_str(&b),
                     cfx_buf_str(&a));
    cfx_buf_release(&a);
    cfx_buf_release(&b);
}

/* Only what the library knows can be called, and traced. */
static bool can_run(cfx_module *gm)
{
    cfx_interp it = {0};
    cfx_status st = cfx_graph_lint(cfx_graph_module_graph(gm), NULL);
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, gm, NULL);
    cfx_interp_release(&it);
    return !st;
}

static void check_back(const char *name, cfx_module *gm)
{
    compiled_file f;
    cfx_module *built = NULL, *traced = NULL;
    if (!compile_module(&f, gm, &err))
        ck_abort_msg("%s: %s", name, f.why);
    if (!can_run(gm)) {
        compile_release(&f);
        return;
    }
    if (f.entry->build(&built, ctx, &err))
        ck_abort_msg("%s: %s", name, err.text);
    assert_same_tree(name, gm, built);
    assert_same_graph(name, gm, built);
    if (cfx_compiled_trace(&traced, f.entry, built, &err))
        ck_abort_msg("%s: %s", name, err.text);
    assert_same_graph(name, gm, traced);
    back++;
    cfx_module_unref(traced);
    cfx_module_unref(built);
    compile_release(&f);
}

/* Graphs that C text cannot express, or that no trace gives. */
static const char *const left_out[] = {
    "tensors.txt", /* tensors in arguments */
    "parameter_called_self.txt",
};

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (!strcmp(name, left_out[i]))
            return true;
    return false;
}

static void check_file(const char *name)
{
    char path[512];
    section s[16];
    size_t len;
    snprintf(path, sizeof(path), "golden/code/%s", name);
    char *text = read_file(data_path(path), &len);
    split(text, "==== ", s, 16);
    cfx_module *gm = parsed(ctx, s[0].text);
    check_back(name, gm);
    cfx_module_unref(gm);
    free(text);
}

TEST_CASE(odd_graphs_come_back_from_their_c)
{
    DIR *dir = opendir(data_path("golden/code"));
    int count = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".txt") && !is_left_out(e->d_name)) {
            check_file(e->d_name);
            count++;
        }
    closedir(dir);
    ck_assert_int_gt(count, 35);
    ck_assert_int_gt(back, 20);
}

static const char names[] =
    "# cfx 1\nNet()\n\ngraph():\n"
    "    %short : [num_users=1] = placeholder[target=short]\n"
    "    %I : [num_users=1] = placeholder[target=I]\n"
    "    %linux : [num_users=1] = call_function[target=torch.relu]"
    "(args = (%short,), kwargs = {})\n"
    "    %errno : [num_users=2] = call_function[target=torch.relu]"
    "(args = (%I,), kwargs = {})\n"
    "    %main : [num_users=2] = call_function[target=torch.clamp]"
    "(args = (%errno,), kwargs = {min: -1.5, max: 2})\n"
    "    %s : [num_users=1] = call_method[target=neg](args = (%main,), "
    "kwargs = {})\n"
    "    %add_7 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%s, %linux), kwargs = {})\n"
    "    %add_1 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_7, %main), kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_1, 1), kwargs = {})\n"
    "    %add_8 : [num_users=1] = call_function[target=torch.add]"
    "(args = (%add, %errno), kwargs = {alpha: 2})\n"
    "    %short_ : [num_users=1] = call_function[target=torch.mul]"
    "(args = (%add_8, 3), kwargs = {})\n"
    "    %cfx_relu : [num_users=1] = call_function[target=torch.relu]"
    "(args = (%short_,), kwargs = {})\n"
    "    %__x : [num_users=1] = call_method[target=relu]"
    "(args = (%cfx_relu,), kwargs = {})\n"
    "    return {'out': (%__x, [1, (2, 'th\"ree?\?/')])}\n";

TEST_CASE(names_that_c_knows_are_changed_and_kept)
{
    cfx_module *gm = parsed(ctx, names);
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_int_eq(cfx_print_c(cfx_sink_buf(&b), gm, NULL, &err), CFX_OK);
    const char *parts[] = {
        "cfx_value short__", "cfx_value I_",
        "cfx_value linux_ = cfx_named(s, \"linux\", cfx_relu(s, short__));",
        "cfx_value errno_ = ", "cfx_value main_ = ",
        "cfx_clamp(s, errno_, .min = cfx_float(-1.5), .max = cfx_int(2))",
        "cfx_value s_ = ", "cfx_value cfx_relu_ = ", "cfx_value v__x_ = ",
        "cfx_value short_ = ", ", .alpha = cfx_int(2))",
        /* of tensors, numbers or lists: which is not known here */
        "cfx_call_function(s, \"operator.add\", CFX_ARGS(s_, linux_))"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        ck_assert_msg(strstr(cfx_buf_str(&b), parts[i]) != NULL,
                      "no '%s' in\n%s", parts[i], cfx_buf_str(&b));
    cfx_buf_release(&b);
    check_back("names", gm);
    cfx_module_unref(gm);
}

static const char defaults[] =
    "# cfx 1\nNet()\n\ngraph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %scale : float [num_users=1] = placeholder[target=scale]"
    "(default=2.5)\n"
    "    %word : [num_users=1] = placeholder[target=word](default='a b\\'c')\n"
    "    %pair : [num_users=1] = placeholder[target=pair](default=(1, None))\n"
    "    %_rest : [num_users=1] = placeholder[target=*rest]\n"
    "    %mul : [num_users=1] = call_function[target=torch.mul]"
    "(args = (%x, %scale), kwargs = {})\n"
    "    return (%mul, %word, %pair, %_rest)\n";

TEST_CASE(defaults_are_taken_when_nothing_is_given)
{
    cfx_module *gm = parsed(ctx, defaults);
    compiled_file f;
    cfx_tensor *x;
    cfx_value in[2], y;
    check_back("defaults", gm);
    ck_assert_msg(compile_module(&f, gm, &err), "%s", f.why);
    ck_assert(!cfx_tensor_new(&x, ctx, CFX_F32, 1, (int64_t[]){1}, &err));
    ((float *)x->data)[0] = 3;
    in[0] = cfx_value_of_tensor(x);
    in[1] = cfx_float(4);
    ck_assert(!cfx_compiled_run(f.entry, gm, in, 1, &y, &err));
    ck_assert_float_eq(((float *)y.u.seq->item[0].u.tensor->data)[0], 7.5f);
    ck_assert_str_eq(y.u.seq->item[1].u.str->text, "a b'c");
    ck_assert_uint_eq(y.u.seq->item[2].u.seq->len, 2);
    ck_assert_uint_eq(y.u.seq->item[3].u.seq->len, 0);
    cfx_value_unref(y);
    ck_assert(!cfx_compiled_run(f.entry, gm, in, 2, &y, &err));
    ck_assert_float_eq(((float *)y.u.seq->item[0].u.tensor->data)[0], 12.0f);
    cfx_value_unref(y);
    ck_assert_int_eq(cfx_compiled_run(f.entry, gm, in, 0, &y, &err),
                     CFX_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "Expected positional argument for "
                                           "parameter x, but one was not "
                                           "passed in!"));
    cfx_tensor_unref(x);
    compile_release(&f);
    cfx_module_unref(gm);
}

static const char nested[] =
    "# cfx 1\n"
    "Net(\n"
    "  (block): Inner(\n"
    "    (fc): Linear(in_features=2, out_features=2, bias=True)\n"
    "    (act): Dropout(p=0.5, inplace=False, training=True)\n"
    "  )\n"
    "  (attn): MultiheadAttention(num_heads=2, batch_first=True\n"
    "    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, "
    "out_features=4, bias=True)\n"
    "  )\n"
    ")\n\n"
    "state:\n"
    "    token: f32[1, 2]\n"
    "    block.scale: f32[] buffer\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %token : [num_users=1] = get_attr[target=token]\n"
    "    %token_1 : [num_users=1] = get_attr[target=token]\n"
    "    %add : [num_users=1] = call_function[target=operator.add]"
    "(args = (%token, %token_1), kwargs = {})\n"
    "    %block : [num_users=1] = call_module[target=block](args = (%x,), "
    "kwargs = {bias: %add})\n"
    "    return %block\n\n"
    "graph block():\n"
    "    %y : [num_users=1] = placeholder[target=y]\n"
    "    %bias : [num_users=1] = placeholder[target=bias](default=0)\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%y,), "
    "kwargs = {})\n"
    "    %scale : [num_users=1] = get_attr[target=scale]\n"
    "    %mul : [num_users=1] = call_function[target=torch.mul]"
    "(args = (%fc, %scale), kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=torch.add]"
    "(args = (%mul, %bias), kwargs = {})\n"
    "    return %add\n";

TEST_CASE(graphs_within_modules_are_built_too)
{
    cfx_module *gm = parsed(ctx, nested), *built = NULL;
    compiled_file f;
    cfx_buf a, b;
    cfx_buf_init(&a, ctx);
    cfx_buf_init(&b, ctx);
    check_back("nested", gm);
    ck_assert_msg(compile_module(&f, gm, &err), "%s", f.why);
    ck_assert(!f.entry->build(&built, ctx, &err));
    cfx_module *block = cfx_module_at(built, "block");
    ck_assert_ptr_nonnull(cfx_graph_module_graph(block));
    assert_same_graph("block", cfx_module_at(gm, "block"), block);
    ck_assert(cfx_module_training(cfx_module_at(built, "block.act")));
    ck_assert(!cfx_module_training(cfx_module_at(built, "block.fc")));
    ck_assert(!cfx_module_state(built, "token")->is_buffer);
    ck_assert(cfx_module_state(block, "scale")->is_buffer);
    cfx_module_unref(built);
    cfx_buf_release(&a);
    cfx_buf_release(&b);
    compile_release(&f);
    cfx_module_unref(gm);
}

/* ---- Failures ---- */

static const char twice[] =
    "# cfx 1\nNet()\n\ngraph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %add : [num_users=1] = call_function[target=torch.add]"
    "(args = (%x, %x), kwargs = {})\n"
    "    return %add\n";

TEST_CASE(what_has_no_c_text_is_refused)
{
    cfx_module *gm = parsed(ctx, twice);
    cfx_node *add = cfx_graph_find(cfx_graph_module_graph(gm), "add");
    cfx_tensor *t;
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert(!cfx_tensor_new(&t, ctx, CFX_F32, 1, (int64_t[]){1}, &err));
    ck_assert(!cfx_node_update_arg(add, 1, cfx_value_of_tensor(t), &err));
    ck_assert_int_eq(cfx_print_c(cfx_sink_buf(&b), gm, NULL, &err),
                     CFX_EUNSUPPORTED);
    ck_assert_str_eq(err.text, "a Tensor has no C text");
    cfx_buf_release(&b);
    cfx_tensor_unref(t);
    cfx_module_unref(gm);
}

static const char *const texts[] = {names, defaults, nested};

TEST_EACH(each_failed_allocation_is_told, 3)
{
    cfx_module *gm = parsed(ctx, texts[_i]);
    for (long n = 0;; n = n < 100 ? n + 1 : n + 7) {
        cfx_buf b;
        cfx_buf_init(&b, ctx);
        memset(&err, 0, sizeof(err));
        allowed = n;
        cfx_status st = cfx_print_c(cfx_sink_buf(&b), gm, NULL, &err);
        allowed = -1;
        cfx_buf_release(&b);
        if (!st)
            break;
        ck_assert_int_eq(st, CFX_ENOMEM);
        ck_assert_int_eq(err.code, CFX_ENOMEM);
    }
    cfx_module_unref(gm);
}

TEST_CASE(each_failed_allocation_of_compiled_code_is_told)
{
    cfx_module *gm = parsed(ctx, nested), *m, *traced;
    compiled_file f;
    ck_assert_msg(compile_module(&f, gm, &err), "%s", f.why);
    for (long n = 0;; n++) {
        memset(&err, 0, sizeof(err));
        m = traced = NULL;
        allowed = n;
        cfx_status st = f.entry->build(&m, ctx, &err);
        if (!st)
            st = cfx_compiled_trace(&traced, f.entry, m, &err);
        allowed = -1;
        cfx_module_unref(traced);
        cfx_module_unref(m);
        if (!st)
            break;
        ck_assert_msg(st == CFX_ENOMEM, "%ld: %s", n, err.text);
    }
    compile_release(&f);
    cfx_module_unref(gm);
}

TEST_CASE(a_sink_may_refuse)
{
    cfx_module *gm = parsed(ctx, names);
    for (int n = 0; n < 2; n++) {
        int calls = n;
        ck_assert_int_eq(
            cfx_print_c((cfx_sink){refuse_after, &calls}, gm, NULL, &err),
            CFX_EIO);
    }
    cfx_module_unref(gm);
}

TEST_SUITE(codegen, .setup = setup, .teardown = teardown, .timeout = 600)
