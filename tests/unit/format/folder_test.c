/*
 * folder_test -- modules as Python: names, and failures. What the text says is
 * compared by folder.sh, and run by oracle/folder.py.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfx/file.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/counted.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_module *gm;
static cfx_error err;

static void parse(const char *s)
{
    cfx_module_unref(gm);
    gm = NULL;
    if (cfx_parse_model(&gm, ctx, s, strlen(s), "case.fx", &err))
        ck_abort_msg("%s", err.text);
}

static void setup(void)
{
    size_t len;
    memset(&err, 0, sizeof(err));
    ctx = counted_context();
    char *text = read_file(data_path("golden/folder/children.fx"), &len);
    parse(text);
    free(text);
}

static void teardown(void)
{
    cfx_module_unref(gm);
    gm = NULL;
    free_counted(ctx);
}

/* The text, or what was said against it. */
static const char *text_of(const char *name, bool state)
{
    static char text[1 << 14];
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    memset(&err, 0, sizeof(err));
    cfx_status st = cfx_print_python_module(cfx_sink_buf(&b), gm, name, state,
                                            &err);
    ck_assert_int_eq(st, err.code);
    snprintf(text, sizeof(text), "%s", st ? err.text : cfx_buf_str(&b));
    cfx_buf_release(&b);
    return text;
}

/* It holds the three files, and nothing else. */
static void remove_folder(const char *path)
{
    static const char *const file[] = {"__init__.py", "module.py",
                                       "state.safetensors"};
    for (int i = 0; i < 3; i++) {
        char name[96];
        snprintf(name, sizeof(name), "%s/%s", path, file[i]);
        ck_assert_int_eq(remove(name), 0);
    }
    ck_assert_int_eq(rmdir(path), 0);
}

static cfx_value own_forward(cfx_scope *s, cfx_module *self,
                             const cfx_value *in)
{
    (void)s;
    (void)self;
    return in[0];
}

#define assert_has(text, part)                                                \
    ck_assert_msg(strstr(text, part), "no '%s' in:\n%s", part, text)

TEST_CASE(classes_have_the_names_they_are_given)
{
    assert_has(text_of(NULL, false), "\nclass Net(torch.nn.Module):\n");
    assert_has(text_of("A_1", false), "\nclass A_1(torch.nn.Module):\n");
    assert_has(text_of("A_1", false), "\nclass A_1_0_part(torch.nn.Module):");
    ck_assert_str_eq(text_of("a b", false), "'a b' cannot name a class");
    ck_assert_str_eq(text_of("", false), "'' cannot name a class");
    ck_assert_str_eq(text_of("None", false), "'None' cannot name a class");
    ck_assert_str_eq(text_of("torch", false), "'torch' cannot name a class");
}

TEST_CASE(classes_that_would_have_one_name_get_two)
{
    parse("# cfx 1\nNet(\n"
          "  (a_b): Module(\n    (c): Part()\n  )\n"
          "  (a): Module(\n    (b_c): Part()\n  )\n)\n\n"
          "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    return %x\n\n"
          "graph a_b.c():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    return %x\n\n"
          "graph a.b_c():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    return %x\n");
    assert_has(text_of(NULL, false), "add_module('c', Net_a_b_c())");
    assert_has(text_of(NULL, false), "add_module('b_c', Net_a_b_c_1())");
    assert_has(text_of(NULL, false), "\nclass Net_a_b_c_1(");
}

TEST_CASE(a_class_whose_name_is_none_is_called_fx_module)
{
    parse("graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    return %x\n");
    cfx_graph *g = NULL;
    ck_assert_int_eq(cfx_graph_copy(&g, cfx_graph_module_graph(gm), &err),
                     CFX_OK);
    cfx_module_unref(gm);
    ck_assert_int_eq(
        cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "<lambda>", &err),
        CFX_OK);
    assert_has(text_of(NULL, false), "\nclass FxModule(torch.nn.Module):\n");
}

TEST_CASE(children_may_be_called_module)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_int_eq(cfx_print_model(cfx_sink_buf(&b), gm, true, &err),
                     CFX_OK);
    parse(cfx_buf_str(&b));
    ck_assert_ptr_nonnull(cfx_graph_module_graph(cfx_module_at(gm, "0.part")));
    cfx_buf_release(&b);
}

TEST_CASE(a_child_becomes_a_root)
{
    cfx_module *whole = gm;
    cfx_tensors state;
    char around[] = "/tmp/cfx-folder-XXXXXX", path[64];
    ck_assert_int_eq(cfx_module_randomize(gm, 1, &err), CFX_OK);
    gm = cfx_module_at(gm, "0.part");
    assert_has(text_of("A", true), "        self.add_module('lin', ");
    ck_assert_ptr_nonnull(mkdtemp(around));
    ck_assert_int_eq(cfx_graph_module_to_folder(gm, around, "A", &err),
                     CFX_OK);
    snprintf(path, sizeof(path), "%s/state.safetensors", around);
    ck_assert_int_eq(cfx_safetensors_read(&state, ctx, path, false, &err),
                     CFX_OK);
    ck_assert_ptr_nonnull(cfx_tensors_get(&state, "lin.weight"));
    ck_assert_uint_eq(state.n, 2);
    cfx_tensors_release(&state);
    remove_folder(around);
    gm = whole;
}

TEST_CASE(module_types_of_programs_are_refused)
{
    static const cfx_module_type own = {
        .abi = CFX_ABI(cfx_module_type),
        .schema = "Own()",
        .repr = "",
        .doc = "A type of a program.",
        .forward_schema = "forward(Tensor x) -> Tensor",
        .forward = own_forward,
    };
    ck_assert_int_eq(cfx_register_module_type(ctx, &own, &err), CFX_OK);
    parse("Net(\n  (own): Own()\n)\n\n"
          "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    %own : [num_users=1] = call_module[target=own](args = (%x,), "
          "kwargs = {})\n    return own\n");
    ck_assert_str_eq(text_of(NULL, false),
                     "own: PyTorch has no module type Own");
}

TEST_CASE(guards_of_exported_programs_are_a_class_here)
{
    parse("Net(\n  (_guards_fn): GuardsFn()\n)\n\n"
          "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
          "    %_guards_fn : [num_users=0] = call_module[target=_guards_fn]"
          "(args = (%x,), kwargs = {})\n    return x\n");
    assert_has(text_of(NULL, false), "\nclass GuardsFn(torch.nn.Module):\n");
    assert_has(text_of(NULL, false), "add_module('_guards_fn', GuardsFn())");
}

TEST_CASE(modules_without_a_graph_are_refused)
{
    cfx_module *whole = gm;
    gm = cfx_module_at(gm, "seq");
    ck_assert_str_eq(text_of(NULL, false), "Sequential has no graph");
    gm = whole;
}

/* Whatever is missing, the folder around is empty afterwards: rmdir tells. */
TEST_CASE(every_lack_of_memory_leaves_nothing)
{
    char around[] = "/tmp/cfx-folder-XXXXXX", path[64];
    cfx_status st = CFX_ENOMEM;
    ck_assert_ptr_nonnull(mkdtemp(around));
    snprintf(path, sizeof(path), "%s/made", around);
    ck_assert_int_eq(cfx_module_randomize(gm, 1, &err), CFX_OK);
    for (long n = 0; st; n++) {
        memset(&err, 0, sizeof(err));
        allowed = n;
        st = cfx_graph_module_to_folder(gm, path, NULL, &err);
        allowed = -1;
        ck_assert_int_eq(st, err.code);
        if (!st)
            break;
        ck_assert_msg(st == CFX_ENOMEM, "%ld: %s", n, err.text);
        ck_assert_int_eq(rmdir(around), 0);
        ck_assert_int_eq(mkdir(around, 0700), 0);
    }
    remove_folder(path);
    ck_assert_int_eq(rmdir(around), 0);
}

/* ---- Reading ---- */

#ifdef HAVE_LIBZIP

static const char net[] = "golden/to_folder/net";

TEST_CASE(what_torch_fx_writes_has_its_modules_and_state)
{
    cfx_module_unref(gm);
    ck_assert_msg(!cfx_model_load(&gm, ctx, data_path(net), NULL, &err), "%s",
                  err.text);
    ck_assert_str_eq(cfx_module_class_name(gm), "Net");
    const cfx_module *step = cfx_module_at(gm, "steps.2");
    ck_assert_ptr_nonnull(step);
    ck_assert(!cfx_tensor_is_meta(cfx_module_state(step, "bias")->tensor));
    ck_assert_ptr_nonnull(cfx_module_at(gm, "body.2.1"));
    ck_assert(!cfx_module_state(gm, "scale")->is_buffer);
    ck_assert(cfx_module_state(gm, "shift")->is_buffer);
    ck_assert_int_eq(cfx_module_state(gm, "shift")->tensor->dtype, CFX_I64);
}

/* A folder, and texts with quantized tensors. */
static const char *const lacking[] = {net, "golden/quantize/reference.fx",
                                      "golden/quantize/lowered.fx"};

TEST_EACH(reading_gives_all_back_where_memory_is_lacking, 3)
{
    cfx_status st = CFX_ENOMEM;
    cfx_module *read;
    for (long n = 0; st; n++) {
        memset(&err, 0, sizeof(err));
        allowed = n;
        st = cfx_model_load(&read, ctx, data_path(lacking[_i]), NULL, &err);
        allowed = -1;
        ck_assert_msg(!st || st == CFX_ENOMEM, "%ld: %s", n, err.text);
    }
    cfx_module_unref(read);
}

#endif

/* The error of a class whose __init__ has one line more. */
static const char *said_of(const char *line, const char *more)
{
    static char text[1024];
    cfx_module *read;
    snprintf(text, sizeof(text),
             "class A(torch.nn.Module):\n"
             "    def __init__(self):\n"
             "        super().__init__()\n"
             "        setattr(self, 'a', ReLU())\n"
             "        %s\n"
             "    def forward(self, x):\n"
             "        return x\n%s",
             line, more);
    memset(&err, 0, sizeof(err));
    if (!cfx_parse_python(&read, ctx, text, strlen(text), "m.py", &err))
        cfx_module_unref(read);
    return err.text;
}

TEST_CASE(what_cannot_be_made_is_refused)
{
    static const char *const cases[][2] = {
        {"setattr(self, 'a', ReLU())", "'a' stands there twice"},
        {"setattr(self, 'b', Foo(1))", "module type Foo is unknown"},
        {"setattr(self, 'b.c', ReLU())", "and has no dot"},
        {"setattr(self, 'b', ReLU(", "a module such as ReLU() should"},
        {"setattr(self, 'b', 3)", "a module such as ReLU() should"},
        {"setattr(self, b, ReLU())", "a name in quotes should"},
        {"setattr(it, 'b', ReLU())", "'self' should"},
        {"setattr(self, 'b', torch.load(r'b.pt'))", "write its repr after"},
        {"self.get_submodule('c').add_module('b', torch.nn.ReLU())",
         "no module 'c' yet"},
        {"self.register_buffer('b', torch.empty(3))", "a list of numbers"},
        {"self.register_buffer('b', torch.empty([-3]))", "negative"},
        {"self.register_buffer('b', torch.rand([3]))", "torch.empty(shape"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_has(said_of(cases[i][0], ""), cases[i][1]);
        assert_has(err.text, "m.py:5:");
    }
    assert_has(said_of("pass", "class B(torch.nn.Module):\n"
                               "    def forward(self, x):\n"
                               "        return x\n"),
               "m.py:8:7: a file has one model: this is the second");
    ck_assert_str_eq(
        said_of("self.add_module('b', torch.nn.Conv2d(1, 2, 3))", ""), "");
}

TEST_SUITE(folder, .setup = setup, .teardown = teardown, .timeout = 60)
