/*
 * names_test -- nodes get the names that torch.fx gives them.
 */
#include "tests/unit/graph_test.h"
#include "tests/unit/unit.h"

/* ---- torch.fx's own answers ---- */

static cfx_opcode opcode_of(const char *word)
{
    int op = 0;
    while (op < CFX_NOPCODES && strcmp(cfx_opcode_names[op], word))
        op++;
    ck_assert_int_lt(op, CFX_NOPCODES);
    return (cfx_opcode)op;
}

/* Do one line of names.txt; the fields are as names_golden.py says. */
static void replay(char *const *field, int line)
{
    if (!strcmp(field[0], "graph")) {
        cfx_graph_free(g);
        assert_ok(cfx_graph_new(&g, ctx, &err));
    } else if (!strcmp(field[0], "create")) {
        cfx_node *n = cfx_graph_create_node(
            g, opcode_of(field[1]), field[2], CFX_NO_ARGS,
            *field[3] ? field[3] : NULL, NULL, &err);
        ck_assert_msg(n && !strcmp(n->name, field[4]), "%d: %s is not %s",
                      line, n ? n->name : err.text, field[4]);
    } else {
        cfx_node *n = cfx_graph_find(g, field[1]);
        ck_assert_msg(n != NULL, "%d: no %s", line, field[1]);
        if (!strcmp(field[0], "erase")) {
            assert_ok(cfx_graph_erase_node(g, n, &err));
        } else {
            assert_ok(cfx_node_rename(n, field[2], &err));
            ck_assert_msg(!strcmp(n->name, field[3]), "%d: %s is not %s", line,
                          n->name, field[3]);
        }
    }
}

TEST_CASE(names_are_those_that_torch_gives)
{
    const char *dir = getenv("srcdir");
    char path[1024], text[1024];
    snprintf(path, sizeof(path), "%s/tests/golden/names.txt", dir ? dir : ".");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    int line = 0;
    while (fgets(text, sizeof(text), f)) {
        char *field[6] = {text};
        int n = 1;
        text[strcspn(text, "\n")] = '\0';
        for (char *c = text; *c && n < 6; c++)
            if (*c == '\t') {
                *c = '\0';
                field[n++] = c + 1;
            }
        replay(field, ++line);
    }
    fclose(f);
    ck_assert_int_gt(line, 1000);
}

/* ---- Candidates ---- */

static const struct {
    cfx_opcode op;
    const char *target, *name;
} made[] = {
    {CFX_PLACEHOLDER, "*args", "_args"},
    {CFX_PLACEHOLDER, "input", "input_1"},
    {CFX_GET_ATTR, "layer1.0.weight", "layer1_0_weight"},
    {CFX_CALL_MODULE, "features.0", "features_0"},
    {CFX_CALL_MODULE, "0", "_0"},
    {CFX_CALL_METHOD, "__add__", "add"},
    {CFX_CALL_METHOD, "__", "_unnamed"},
    {CFX_CALL_METHOD, "someCamel", "some_camel"},
    {CFX_CALL_METHOD, "ABCDef", "abcdef"},
    {CFX_CALL_FUNCTION, "torch.nn.functional.relu", "relu"},
    {CFX_CALL_FUNCTION, "operator.add", "add"},
    {CFX_CALL_FUNCTION, "builtins.getattr", "getattr_1"},
    {CFX_CALL_FUNCTION, "getattr", "getattr_1"},
    {CFX_CALL_FUNCTION, "torch.ops.aten.add.Tensor", "add_tensor"},
    {CFX_CALL_FUNCTION, "aten.relu.default", "relu_default"},
    {CFX_CALL_FUNCTION, "torch.ops.aten.mm", "mm"},
    {CFX_CALL_FUNCTION, "cfx::conv2d_packed", "conv2d_packed"},
    {CFX_CALL_FUNCTION, ".", "_"},
    {CFX_OUTPUT, "output", "output"},
};

TEST_EACH(names_are_made_from_targets, sizeof(made) / sizeof(*made))
{
    cfx_node *n = cfx_graph_create_node(g, made[_i].op, made[_i].target,
                                        CFX_NO_ARGS, NULL, NULL, &err);
    ck_assert_msg(n != NULL, "%s", err.text);
    ck_assert_str_eq(n->name, made[_i].name);
    ck_assert_str_eq(n->target->text, made[_i].target);
}

TEST_CASE(names_that_python_knows_are_avoided)
{
    /* clang-format off */
    static const char *const words[] = {
        "ArithmeticError", "ZeroDivisionError", "__build_class__", "abs",
        "zip", "None", "lambda", "inf", "nan", "NoneType", "torch", "device",
        "fx_pytree", "pytree", "PythonFinalizationError", "print", "async",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "%s_1", words[i]);
        cfx_node *n = cfx_graph_create_node(g, CFX_CALL_METHOD, "m",
                                            CFX_NO_ARGS, words[i], NULL, &err);
        ck_assert_str_eq(n->name, expected);
    }
    ck_assert(!cfx_name_is_illegal("relu"));
    ck_assert(!cfx_name_is_illegal(""));
}

static const char *create(cfx_names *names, const char *candidate, bool any)
{
    const char *name = cfx_names_create(names, candidate, strlen(candidate),
                                        any);
    must(name);
    return name;
}

TEST_CASE(names_may_be_builtins_where_that_is_meant)
{
    cfx_names names;
    cfx_names_init(&names, ctx);
    ck_assert_str_eq(create(&names, "getattr", true), "getattr");
    ck_assert_str_eq(create(&names, "getattr", false), "getattr_1");
    ck_assert_str_eq(create(&names, "getattr", true), "getattr_2");
    cfx_names_release(&names);
}

TEST_CASE(names_with_endless_numbers_are_names)
{
    cfx_names names;
    cfx_names_init(&names, ctx);
    const char *big = "a_99999999999999999999999999";
    ck_assert_str_eq(create(&names, big, false), big);
    ck_assert_str_eq(create(&names, big, false),
                     "a_99999999999999999999999999_1");
    ck_assert_str_eq(create(&names, "a_999999999999999999", false),
                     "a_999999999999999999");
    ck_assert_str_eq(create(&names, "a", false), "a");
    ck_assert_str_eq(create(&names, "a", false), "a_1000000000000000000");
    cfx_names_release(&names);
}

/* Each pair sets the count back to a number that has the whole run before it,
 * in which a plain search would take two thousand million steps. */
TEST_CASE(names_that_set_the_count_back_take_no_quadratic_time)
{
    enum { RUN = 100000, PAIRS = 20000 };
    cfx_names names;
    char text[32];
    cfx_names_init(&names, ctx);
    for (int i = 1; i <= RUN; i++) {
        snprintf(text, sizeof(text), "a_%d", i);
        must(!strcmp(create(&names, text, false), text));
    }
    for (int i = 1; i <= PAIRS; i++) {
        snprintf(text, sizeof(text), "a_0%d", i);
        must(!strcmp(create(&names, text, false), text));
        snprintf(text, sizeof(text), "a_%d", RUN + i);
        must(!strcmp(create(&names, "a_1", false), text));
    }
    cfx_names_release(&names);
}

/* ---- Names of nodes ---- */

TEST_CASE(names_of_erased_and_renamed_nodes_stay_taken)
{
    cfx_node *a = input("a");
    assert_ok(cfx_node_rename(a, "b", &err));
    ck_assert_ptr_null(cfx_graph_find(g, "a"));
    ck_assert_ptr_eq(cfx_graph_find(g, "b"), a);
    assert_ok(cfx_graph_erase_node(g, a, &err));
    ck_assert_ptr_null(cfx_graph_find(g, "b"));
    ck_assert_str_eq(input("a")->name, "a_1");
    ck_assert_str_eq(input("b")->name, "b_1");
}

TEST_CASE(names_do_not_change_when_renamed_to_what_they_are)
{
    cfx_node *a = input("a");
    assert_ok(cfx_node_rename(a, "a", &err));
    ck_assert_str_eq(a->name, "a");
    input("x");
    assert_ok(cfx_node_rename(a, "x", &err));
    ck_assert_str_eq(a->name, "x_1");
}

static bool make_many_names(void)
{
    static const char *const candidates[] = {"a",   "a",         "b_2", "é",
                                             "a_1", "some.path", "if"};
    cfx_names names;
    bool done = true;
    cfx_names_init(&names, ctx);
    for (int i = 0; done && i < 3000; i++) {
        const char *c = candidates[i % 7];
        done = cfx_names_create(&names, c, strlen(c), false);
        err.code = done ? CFX_OK : CFX_ENOMEM;
    }
    cfx_names_release(&names);
    return done;
}

TEST_CASE(names_survive_lack_of_memory)
{
    fail_each_allocation(make_many_names);
}

/* Numbers that are near stand in an array, those that are far in a map. */
TEST_CASE(names_are_found_whatever_their_number)
{
    static const char *const candidates[] = {
        "a_7", "a_1000", "a",   "a_0", "a_00", "a_07",
        "a_5", "a_8",    "a_6", "a_9", "b",    "b_3",
    };
    cfx_names names;
    const char *name[64];
    size_t n = 0;
    cfx_names_init(&names, ctx);
    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
        name[n++] = create(&names, candidates[i], false);
        ck_assert_str_eq(name[n - 1], candidates[i]);
    }
    ck_assert_str_eq(create(&names, "a_1000", false), "a_10");
    ck_assert_str_eq(create(&names, "a_998", false), "a_998");
    ck_assert_str_eq(create(&names, "a", false), "a_999");
    ck_assert_str_eq(create(&names, "a", false), "a_1001");
    ck_assert_str_eq(create(&names, "a_1", false), "a_1");
    for (int i = 2; i < 5; i++)
        name[n++] = create(&names, "a", false);
    ck_assert_str_eq(name[n - 1], "a_4");
    ck_assert_str_eq(create(&names, "a", false), "a_11");
    for (size_t i = 0; i < n; i++)
        ck_assert_ptr_eq(cfx_names_find(&names, name[i]), name[i]);
    ck_assert_ptr_null(cfx_names_find(&names, "a_010"));
    ck_assert_ptr_null(cfx_names_find(&names, "a_12"));
    ck_assert_ptr_null(cfx_names_find(&names, "c_1"));
    cfx_names_release(&names);
}

TEST_CASE(names_are_not_lost_where_one_could_not_be_made)
{
    cfx_names names;
    cfx_names_init(&names, ctx);
    for (int i = 1; i <= 2000; i++) {
        char expected[32];
        allowed = 0;
        if (!cfx_names_create(&names, "x_y.z", 5, false)) {
            allowed = -1;
            ck_assert_ptr_nonnull(cfx_names_create(&names, "x_y.z", 5, false));
        }
        snprintf(expected, sizeof(expected), i > 1 ? "x_y_z_%d" : "x_y_z",
                 i - 1);
        ck_assert_ptr_nonnull(cfx_names_find(&names, expected));
    }
    ck_assert_ptr_null(cfx_names_find(&names, "x_y_z_2000"));
    ck_assert_ptr_null(cfx_names_find(&names, "x_y_z_01"));
    allowed = -1;
    cfx_names_release(&names);
}

TEST_SUITE(names, .setup = setup, .teardown = teardown, .timeout = 60)
