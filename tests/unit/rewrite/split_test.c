/*
 * split_test -- graphs are split as torch.fx splits them.
 */
#include "tests/unit/graph_test.h"
#include "tests/unit/golden_text.h"

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/partition.h>
#include <cfx/split.h>

#include "tests/unit/unit.h"

static cfx_module *parse(const char *text)
{
    cfx_module *gm;
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "m.fx", &err));
    return gm;
}

/* Ask the effects of a graph's operators and modules. The context keeps them,
 * and tests must not count that memory. */
static void ask_effects(const cfx_module *gm)
{
    const cfx_graph *of = cfx_graph_module_graph(gm);
    size_t before = cfx_context_memory(ctx);
    for (cfx_node *n = cfx_graph_first(of); n; n = cfx_node_next(n)) {
        cfx_effects e;
        assert_ok(cfx_node_effects(n, &e, &err));
    }
    held_before += cfx_context_memory(ctx) - before;
}

/* Set up once, so that the context has read what it reads only once. */
static void warm_up(void)
{
    setup();
    cfx_graph_free(g);
    ck_assert_ptr_nonnull(cfx_find_module_type(ctx, "Linear"));
    ck_assert_ptr_nonnull(cfx_find_function(ctx, "torch.relu"));
    cfx_module *gm = parse(
        "Net(\n"
        "  (a): Linear(in_features=3, out_features=3, bias=True)\n"
        "  (b): ReLU()\n"
        ")\n\ngraph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_module[target=a](args = (%x,), "
        "kwargs = {})\n"
        "    %b : [num_users=1] = call_module[target=b](args = (%a,), "
        "kwargs = {})\n"
        "    return b\n");
    ask_effects(gm);
    cfx_module_unref(gm);
    held_before = cfx_context_memory(ctx);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

static void check_module(cfx_module *gm)
{
    check_graph(cfx_graph_module_graph(gm));
    assert_ok(cfx_graph_lint(cfx_graph_module_graph(gm), &err));
    for (size_t i = 0; i < cfx_module_nchildren(gm); i++) {
        cfx_graph *child = cfx_graph_module_graph(cfx_module_child_at(gm, i));
        if (child) {
            check_graph(child);
            assert_ok(cfx_graph_lint(child, &err));
        }
    }
}

/* ---- Against torch ---- */

/* Lines `NODE PART`. */
typedef struct part_lines {
    const char *text;
    char tag[16];
} part_lines;

static int64_t part_in_text(void *user, const cfx_node *n)
{
    const char *line = ((part_lines *)user)->text;
    size_t len = strlen(n->name);
    while (strncmp(line, n->name, len) || line[len] != ' ') {
        line = strchr(line, '\n');
        ck_assert_ptr_nonnull(line);
        line++;
    }
    return atoll(line + len);
}

static const char *tag_in_text(void *user, const cfx_node *n)
{
    part_lines *p = user;
    snprintf(p->tag, sizeof(p->tag), "t%d", (int)part_in_text(user, n));
    return p->tag;
}

static int by_text(const void *a, const void *b)
{
    const cfx_value *x = a, *y = b;
    return strcmp(x->u.str->text, y->u.str->text);
}

static void print_names(golden_text *to, cfx_value names)
{
    size_t n = names.kind == CFX_DICT ? names.u.seq->len : 0;
    if (!n)
        return;
    cfx_value *pair = malloc((n + 1) * sizeof(*pair));
    memcpy(pair, names.u.seq->item, n * sizeof(*pair));
    qsort(pair, n / 2, 2 * sizeof(*pair), by_text);
    for (size_t i = 0; i < n; i += 2) {
        if (i && !strcmp(pair[i - 2].u.str->text, pair[i].u.str->text))
            continue;
        golden_puts(to, pair[i].u.str->text);
        golden_puts(to, " ");
        golden_puts(to, pair[i + 1].u.str->text);
        golden_puts(to, "\n");
    }
    free(pair);
}

static bool in_parts(void *user, const cfx_node *n)
{
    return n->op != CFX_PLACEHOLDER && n->op != CFX_GET_ATTR &&
           n->op != CFX_OUTPUT && part_in_text(user, n);
}

static cfx_status split_case(cfx_module **out, cfx_module *gm,
                             const char *words, part_lines *p,
                             cfx_value *names)
{
    static const char *const tags[] = {"t0", "t1", "t2", "t3"};
    cfx_split_options o = {
        .size = sizeof(o),
        .keep_original_order = strstr(words, "order"),
        .keep_original_node_name = strstr(words, "names"),
        .tuple_return = strstr(words, "tuple"),
        .number_inputs = strstr(words, "numbers"),
        .partition_affix = strstr(words, "affix") ? "pp" : NULL,
        .qualname_map = names,
    };
    if (strstr(words, "accelerate")) {
        cfx_accelerate_options a = {
            .size = sizeof(a),
            .min_acc_module_size = (uint32_t)atoi(strchr(words, ' ')),
            .allow_non_tensor = !strstr(words, "border"),
            .skip_fusion = strstr(words, "skip"),
        };
        return cfx_split_for_accelerator(out, gm, (cfx_support){in_parts, p},
                                         &a, &err);
    }
    if (strstr(words, "tags"))
        return cfx_split_by_tags(out, gm, tags,
                                 (size_t)(words[strlen(words) - 1] - '0'),
                                 tag_in_text, p, &o, &err);
    return cfx_split_module(out, gm, part_in_text, p, &o, &err);
}

/* Lines `NODE PART KIND`: what some calls give that is no tensor. */
static void set_kinds(const cfx_graph *of, const char *text)
{
    for (const char *line = text; *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        char name[100], kind[10];
        if (sscanf(line, "%99s %*d%*[ ]%9[a-z]", name, kind) != 2)
            continue;
        cfx_value one = cfx_value_of_tensor(new_meta());
        cfx_value v = !strcmp(kind, "int") ? cfx_int(4)
                                           : cfx_tuple_new(ctx, 1, &one);
        assert_ok(cfx_node_set_meta(cfx_graph_find(of, name), "val", v, &err));
        cfx_value_unref(v);
        cfx_value_unref(one);
    }
}

static void split_all(void)
{
    char *all = golden_read("split_module.txt");
    golden_section s = {.next = all}, model, given, want;
    int cases = 0;
    for (; golden_next(&s, s.next); cases++, s.next = want.next) {
        char *words = s.words;
        ck_assert(golden_next(&model, s.next));
        ck_assert(golden_next(&given, model.next));
        ck_assert(golden_next(&want, given.next));
        cfx_module *gm = parse(model.text), *split;
        cfx_value names = CFX_NOTHING;
        part_lines p = {.text = given.text};
        if (strstr(words, "exchange"))
            set_kinds(cfx_graph_module_graph(gm), given.text);
        cfx_status st = split_case(&split, gm, words, &p, &names);
        if (!strcmp(want.name, "error")) {
            ck_assert_int_eq(st, CFX_EGRAPH);
            ck_assert_int_eq(strncmp(err.text, want.text, strlen(err.text)),
                             0);
            memset(&err, 0, sizeof(err));
        } else {
            static golden_text got;
            assert_ok(st);
            got.len = 0;
            golden_print(&got, split);
            print_names(&got, names);
            if (want.next)
                got.s[--got.len] = '\0';
            ck_assert_msg(!strcmp(got.s, want.text),
                          "case %d (%s)\n%s\nis not\n%s\nof\n%s", cases, words,
                          got.s, want.text, model.text);
            check_module(split);
            cfx_value_unref(names);
            cfx_module_unref(split);
        }
        cfx_module_unref(gm);
    }
    ck_assert_int_ge(cases, 60);
    free(all);
}

/* Twice: what the context reads once is there before memory counts. */
TEST_CASE(splits_are_those_that_torch_makes)
{
    size_t before = cfx_context_memory(ctx);
    split_all();
    held_before += cfx_context_memory(ctx) - before;
    split_all();
}

/* ---- By hand ---- */

static const char chain[] =
    "Net(\n"
    "  (a): Module(\n"
    "    (b): Linear(in_features=3, out_features=3, bias=True)\n"
    "  )\n"
    "  (a_b): Linear(in_features=3, out_features=5, bias=True)\n"
    "  (c): Linear(in_features=5, out_features=2, bias=True)\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %one : [num_users=1] = call_module[target=a.b](args = (%x,), kwargs "
    "= {})\n"
    "    %two : [num_users=1] = call_module[target=a_b](args = (%one,), "
    "kwargs = {})\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
    "(%two,), kwargs = {})\n"
    "    %three : [num_users=1] = call_module[target=c](args = (%relu,), "
    "kwargs = {})\n"
    "    return three\n";

static int64_t all_in_one(void *user, const cfx_node *n)
{
    (void)user;
    (void)n;
    return 7;
}

TEST_CASE(modules_that_would_have_one_name_get_two)
{
    cfx_module *gm = parse(chain), *split;
    assert_ok(cfx_split_module(&split, gm, all_in_one, NULL, NULL, &err));
    cfx_module *child = cfx_module_child(split, "submod_7");
    ck_assert_ptr_nonnull(child);
    ck_assert_int_eq(
        cfx_attr_int(cfx_module_child(child, "a_b"), "out_features"), 3);
    ck_assert_int_eq(
        cfx_attr_int(cfx_module_child(child, "a_b_1"), "out_features"), 5);
    cfx_module_unref(split);
    cfx_module_unref(gm);
}

/* ---- The behaviours of torch.fx's tests, by their names ---- */

#define HEAD "graph():\n    %x : [num_users=2] = placeholder[target=x]\n"
#define RELU(name, arg)                                                       \
    "    %" name " : [num_users=1] = call_function[target=torch.relu](args =" \
    " (%" arg ",), kwargs = {})\n"

/* The part of a call is the next digit of `user`. */
static int64_t by_letter(void *user, const cfx_node *n)
{
    const char **at = user;
    (void)n;
    return *(*at)++ - '0';
}

/* Split by such letters; the text of what comes out, without the tree. */
static const char *letters(const char *text, const char *parts,
                           const cfx_split_options *o, cfx_module **out)
{
    static golden_text got;
    cfx_module *gm = parse(text), *split;
    got.len = 0;
    got.s[0] = '\0';
    assert_ok(cfx_split_module(&split, gm, by_letter, &parts, o, &err));
    check_module(split);
    cfx_print_graph(golden_sink(&got), cfx_graph_module_graph(split), false,
                    &err);
    cfx_module_unref(gm);
    if (out)
        *out = split;
    else
        cfx_module_unref(split);
    return got.s;
}

TEST_CASE(split_module_dead_code)
{
    /* clang-format off */
    ck_assert_str_eq(letters(HEAD RELU("a", "x") RELU("b", "a")
                             RELU("dead", "x") "    return b\n", "010", NULL,
                             NULL),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %submod_0 : [num_users=1] = call_module[target=submod_0](args = "
        "(%x,), kwargs = {})\n"
        "    %submod_1 : [num_users=1] = call_module[target=submod_1](args = "
        "(%submod_0,), kwargs = {})\n"
        "    return submod_1");
    /* clang-format on */
}

TEST_CASE(split_module_return_node)
{
    ck_assert_str_eq(letters(HEAD "    return x\n", "", NULL, NULL),
                     "graph():\n"
                     "    %x : [num_users=1] = placeholder[target=x]\n"
                     "    return x");
}

TEST_CASE(split_module_keep_original_order_and_noop_graph)
{
    cfx_split_options o = {.size = sizeof(o), .keep_original_order = true};
    ck_assert_str_eq(letters(HEAD "    return (x, x)\n", "", &o, NULL),
                     "graph():\n"
                     "    %x : [num_users=1] = placeholder[target=x]\n"
                     "    return (x, x)");
}

/* In the original order submod_0 would come before what it takes; torch fails
 * with a KeyError. */
TEST_CASE(split_module_keeps_no_order_that_cannot_be)
{
    cfx_split_options o = {.size = sizeof(o), .keep_original_order = true};
    const char *parts = "010";
    cfx_module *gm = parse(HEAD RELU("a", "x") RELU("b", "x")
                               RELU("c", "b") "    return (a, c)\n"),
               *split;
    ck_assert_int_eq(cfx_split_module(&split, gm, by_letter, &parts, &o, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "submod_0 takes 'b' of submod_1, which comes "
                              "after it in the original order");
    cfx_module_unref(gm);
}

TEST_CASE(split_module_default_arg)
{
    /* clang-format off */
    const char *got = letters(
        "graph():\n    %x : [num_users=1] = placeholder[target=x](default=3)"
        "\n" RELU("a", "x") "    return a\n", "0", NULL, NULL);
    /* clang-format on */
    ck_assert_ptr_nonnull(strstr(got, "placeholder[target=x](default=3)"));
}

TEST_CASE(split_module_kwargs_expansion)
{
    const char *got = letters(
        "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
        "    %kwargs : [num_users=1] = placeholder[target=**kwargs]\n"
        "    %item : [num_users=1] = call_function[target=operator.getitem]("
        "args = (%kwargs, foo), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args ="
        " (%x, %item), kwargs = {})\n    return add\n",
        "00", NULL, NULL);
    ck_assert_ptr_nonnull(strstr(got, "placeholder[target=**kwargs]"));
    ck_assert_msg(strstr(got, "(args = (%_kwargs, %x)"), "%s", got);
}

TEST_CASE(split_preserve_node_meta)
{
    cfx_module *gm = parse(chain), *split;
    cfx_graph *of = cfx_graph_module_graph(gm);
    for (cfx_node *n = cfx_graph_first(of); n; n = cfx_node_next(n)) {
        cfx_value name = str(n->name);
        assert_ok(cfx_node_set_meta(n, "name", name, &err));
        cfx_value_unref(name);
    }
    const char *parts = "0011";
    cfx_split_options o = {.size = sizeof(o), .keep_original_node_name = true};
    assert_ok(cfx_split_module(&split, gm, by_letter, &parts, &o, &err));
    for (int i = 0; i < 2; i++) {
        of = cfx_graph_module_graph(cfx_module_child_at(split, (size_t)i));
        for (cfx_node *n = cfx_graph_first(of); n; n = cfx_node_next(n))
            if (n->op != CFX_OUTPUT)
                ck_assert_str_eq(cfx_node_meta(n, "name").u.str->text,
                                 n->name);
    }
    cfx_module_unref(split);
    cfx_module_unref(gm);
}

TEST_CASE(split_qualname_mapping)
{
    cfx_value names;
    cfx_split_options o = {.size = sizeof(o), .qualname_map = &names};
    cfx_module *split;
    letters(chain, "0111", &o, &split);
    ck_assert_str_eq(cfx_dict_get(names, "submod_0.a_b").u.str->text, "a.b");
    ck_assert_str_eq(cfx_dict_get(names, "submod_1.a_b").u.str->text, "a_b");
    ck_assert_str_eq(cfx_dict_get(names, "submod_1.c").u.str->text, "c");
    cfx_value_unref(names);
    cfx_module_unref(split);
}

/* b, which the host runs, gives a number: who takes it runs there too, and so
 * does who gives the number that it takes. */
static bool not_b(void *user, const cfx_node *n)
{
    (void)user;
    return strcmp(n->name, "b");
}

TEST_CASE(numbers_do_not_cross_the_border)
{
    /* clang-format off */
    cfx_module *gm = parse(HEAD RELU("a", "x") RELU("b", "a") RELU("c", "b")
                           RELU("d", "x") "    return (c, d)\n"), *split;
    /* clang-format on */
    cfx_graph *of = cfx_graph_module_graph(gm);
    cfx_support support = {not_b, NULL};
    cfx_accelerate_options o = {.size = sizeof(o), .max_parts = 2};
    assert_ok(
        cfx_node_set_meta(cfx_graph_find(of, "a"), "val", cfx_int(1), &err));
    assert_ok(
        cfx_node_set_meta(cfx_graph_find(of, "b"), "val", cfx_int(1), &err));
    assert_ok(cfx_split_for_accelerator(&split, gm, support, &o, &err));
    check_module(split);
    ck_assert_uint_eq(cfx_module_nchildren(split), 2);
    ck_assert_uint_eq(cfx_graph_len(cfx_graph_module_graph(
                          cfx_module_child(split, "_run_on_cpu_0"))),
                      5);
    ck_assert_ptr_nonnull(cfx_module_child(split, "_run_on_acc_1"));
    cfx_module_unref(split);
    o.allow_non_tensor = o.skip_fusion = true;
    ck_assert_int_eq(cfx_split_for_accelerator(&split, gm, support, &o, &err),
                     CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Cannot fulfill max_acc_splits limit");
    cfx_module_unref(gm);
}

/* a, b and c exchange numbers, and b is the host's: all of them are. */
TEST_CASE(what_exchanges_numbers_stays_together)
{
    /* clang-format off */
    cfx_module *gm = parse(HEAD RELU("a", "x") RELU("b", "a") RELU("c", "b")
                           RELU("d", "x") "    return (c, d)\n"), *split;
    /* clang-format on */
    cfx_graph *of = cfx_graph_module_graph(gm);
    cfx_accelerate_options o = {.size = sizeof(o), .allow_non_tensor = true};
    assert_ok(
        cfx_node_set_meta(cfx_graph_find(of, "a"), "val", cfx_int(1), &err));
    assert_ok(cfx_split_for_accelerator(&split, gm, (cfx_support){not_b, NULL},
                                        &o, &err));
    check_module(split);
    ck_assert_uint_eq(cfx_module_nchildren(split), 2);
    ck_assert_uint_eq(cfx_graph_len(cfx_graph_module_graph(
                          cfx_module_child(split, "_run_on_cpu_0"))),
                      4);
    cfx_module_unref(split);
    cfx_module_unref(gm);
}

/* A group of two, a way from one to the other over 100000 calls, which it
 * holds too. */
TEST_CASE(long_groups_are_found_in_linear_time)
{
    cfx_node *x = input("x"), *n = call("torch.relu", x, NULL), *at = n;
    for (int i = 0; i < 100000; i++)
        at = call("torch.relu", at, NULL);
    cfx_graph_output(g, node(call("torch.add", at, n, NULL)), &err);
    assert_ok(cfx_node_set_meta(n, "val", cfx_int(1), &err));
    cfx_module *gm, *split;
    cfx_accelerate_options o = {.size = sizeof(o), .allow_non_tensor = true};
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Net", &err));
    assert_ok(cfx_split_for_accelerator(&split, gm, (cfx_support){not_b, NULL},
                                        &o, &err));
    ck_assert_uint_eq(cfx_module_nchildren(split), 1);
    cfx_module_unref(split);
    /* With a call in between that the host must run, all of it runs there. */
    assert_ok(cfx_node_rename(cfx_node_next(n), "b", &err));
    assert_ok(cfx_split_for_accelerator(&split, gm, (cfx_support){not_b, NULL},
                                        &o, &err));
    ck_assert_uint_eq(cfx_module_nchildren(split), 1);
    ck_assert_ptr_nonnull(cfx_module_child(split, "_run_on_cpu_0"));
    cfx_module_unref(split);
    cfx_module_unref(gm);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

/* ---- Stages ---- */

static uint64_t heaviest(const uint64_t *w, const uint32_t *stage, size_t n)
{
    uint64_t most = 0, now = 0;
    for (size_t i = 0; i < n; i++) {
        now = i && stage[i] == stage[i - 1] ? now + w[i] : w[i];
        most = now > most ? now : most;
    }
    return most;
}

/* The best maximum, by trying all cuts. */
static uint64_t best(const uint64_t *w, size_t n, uint32_t most_parts)
{
    uint64_t sum = 0, least = UINT64_MAX;
    if (most_parts == 1 || n <= 1) {
        for (size_t i = 0; i < n; i++)
            sum += w[i];
        return sum;
    }
    for (size_t i = 1; i < n; i++) {
        sum += w[i - 1];
        uint64_t rest = best(w + i, n - i, most_parts - 1);
        uint64_t most = sum > rest ? sum : rest;
        least = most < least ? most : least;
    }
    return least;
}

TEST_CASE(stages_are_as_even_as_can_be)
{
    uint64_t w[9], state = 1;
    uint32_t stage[9];
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + (size_t)(round % 9);
        uint32_t parts = 1 + (uint32_t)round % 4;
        for (size_t i = 0; i < n; i++)
            w[i] = cfx_mix64(state++) % 10;
        cfx_balance(stage, w, n, parts);
        ck_assert_uint_eq(heaviest(w, stage, n), best(w, n, parts));
        ck_assert_uint_eq(stage[0], 0);
        ck_assert_uint_eq(stage[n - 1], (n < parts ? n : parts) - 1);
        for (size_t i = 1; i < n; i++)
            ck_assert(stage[i] == stage[i - 1] ||
                      stage[i] == stage[i - 1] + 1);
    }
}

TEST_CASE(weights_are_those_of_parameters_and_of_arithmetic)
{
    cfx_module *gm = parse(chain);
    cfx_graph *of = cfx_graph_module_graph(gm);
    uint64_t *w = calloc(cfx_graph_ids(of), sizeof(*w));
    assert_ok(cfx_node_weights(w, gm, CFX_BY_SIZE, NULL, 0, &err));
    ck_assert_uint_eq(w[cfx_graph_find(of, "one")->id], 4 * 12);
    ck_assert_uint_eq(w[cfx_graph_find(of, "two")->id], 4 * 20);
    ck_assert_uint_eq(w[cfx_graph_find(of, "relu")->id], 0);
    cfx_dim shape[] = {cfx_dim_int(4), cfx_dim_int(3)};
    cfx_tensor *x;
    assert_ok(cfx_tensor_meta(&x, ctx, CFX_F32, 2, shape, NULL, &err));
    cfx_value in = cfx_value_of_tensor(x);
    assert_ok(cfx_node_weights(w, gm, CFX_BY_FLOPS, &in, 1, &err));
    ck_assert_uint_eq(w[cfx_graph_find(of, "three")->id],
                      4 * 2 * (5 * 2) + 4 * 2);
    ck_assert_int_eq(cfx_node_weights(w, gm, CFX_BY_FLOPS, NULL, 0, &err),
                     CFX_EINVAL);
    assert_failed(CFX_EINVAL, "the shape of the input 'x' is not known");
    cfx_tensor_unref(x);
    free(w);
    cfx_module_unref(gm);
}

TEST_CASE(stages_can_take_the_place_of_the_graph)
{
    cfx_module *gm = parse(chain), *split;
    assert_ok(cfx_split_stages(&split, gm, 2, CFX_BY_SIZE, NULL, 0, &err));
    check_module(split);
    assert_ok(cfx_split_stages_in_place(gm, 2, CFX_BY_SIZE, NULL, 0, &err));
    check_module(gm);
    ck_assert_uint_eq(cfx_graph_len(cfx_graph_module_graph(gm)), 4);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "submod_1" : "submod_0";
        static golden_text a, b;
        a.len = b.len = 0;
        golden_print(&a, cfx_module_child(gm, name));
        golden_print(&b, cfx_module_child(split, name));
        ck_assert_str_eq(a.s, b.s);
    }
    ck_assert_ptr_null(cfx_module_child(gm, "c"));
    ck_assert_int_eq(
        cfx_split_stages_in_place(gm, 2, CFX_BY_SIZE, NULL, 0, &err),
        CFX_EINVAL);
    assert_failed(CFX_EINVAL, "the module has a submod_0 already");
    ck_assert_int_eq(
        cfx_split_stages_in_place(gm, 0, CFX_BY_SIZE, NULL, 0, &err),
        CFX_EINVAL);
    memset(&err, 0, sizeof(err));
    cfx_module_unref(split);
    cfx_module_unref(gm);
}

/* ---- Size and memory ---- */

static int64_t thirds(void *user, const cfx_node *n)
{
    (void)user;
    return n->id % 3000 / 1000;
}

TEST_CASE(a_long_graph_is_split_in_linear_time)
{
    cfx_node *x = input("x"), *at = x;
    for (int i = 0; i < 200000; i++)
        at = call("torch.relu", at, NULL);
    cfx_graph_output(g, node(at), &err);
    cfx_module *gm, *split;
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Net", &err));
    assert_ok(cfx_split_stages(&split, gm, 100, CFX_BY_SIZE, NULL, 0, &err));
    ck_assert_uint_eq(cfx_graph_len(cfx_graph_module_graph(split)), 102);
    cfx_module_unref(split);
    ck_assert_int_eq(cfx_split_module(&split, gm, thirds, NULL, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "cycle exists between partitions!");
    cfx_module_unref(gm);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

static cfx_module *source;

static int64_t halves(void *user, const cfx_node *n)
{
    (void)user;
    return n->id > 2;
}

static bool split_it(void)
{
    cfx_module *split = NULL;
    cfx_value names = CFX_NOTHING;
    cfx_split_options o = {.size = sizeof(o), .qualname_map = &names};
    cfx_status st = cfx_split_module(&split, source, halves, NULL, &o, &err);
    if (st)
        ck_assert_ptr_null(split);
    cfx_value_unref(names);
    cfx_module_unref(split);
    return !st;
}

static const char *tag_half(void *user, const cfx_node *n)
{
    return halves(user, n) ? "b" : "a";
}

static bool split_by_tags(void)
{
    static const char *const tags[] = {"a", "b"};
    cfx_module *split = NULL;
    cfx_value names = CFX_NOTHING;
    cfx_split_options o = {.size = sizeof(o), .qualname_map = &names};
    cfx_status st = cfx_split_by_tags(&split, source, tags, 2, tag_half, NULL,
                                      &o, &err);
    cfx_value_unref(names);
    cfx_module_unref(split);
    return !st;
}

static bool in_half(void *user, const cfx_node *n)
{
    return halves(user, n);
}

static bool split_for_accelerator(void)
{
    cfx_module *split = NULL;
    cfx_status st = cfx_split_for_accelerator(
        &split, source, (cfx_support){in_half, NULL}, NULL, &err);
    cfx_module_unref(split);
    return !st;
}

static bool split_stages(void)
{
    cfx_module *split = NULL;
    cfx_status st = cfx_split_stages(&split, source, 2, CFX_BY_SIZE, NULL, 0,
                                     &err);
    cfx_module_unref(split);
    return !st;
}

TEST_CASE(splitting_survives_lack_of_memory)
{
    source = parse(chain);
    fail_each_allocation(split_it);
    fail_each_allocation(split_by_tags);
    fail_each_allocation(split_stages);
    fail_each_allocation(split_for_accelerator);
    cfx_graph *of = cfx_graph_module_graph(source);
    assert_ok(cfx_node_set_meta(cfx_graph_find(of, "relu"), "val", cfx_int(1),
                                &err));
    fail_each_allocation(split_for_accelerator);
    cfx_module_unref(source);
}

static bool stages_in_place(void)
{
    cfx_module *gm;
    long n = allowed;
    allowed = -1;
    gm = parse(chain);
    allowed = n;
    cfx_status st = cfx_split_stages_in_place(gm, 2, CFX_BY_SIZE, NULL, 0,
                                              &err);
    allowed = -1;
    cfx_error why = {0};
    ck_assert_int_eq(cfx_graph_lint(cfx_graph_module_graph(gm), &why), CFX_OK);
    cfx_module_unref(gm);
    return !st;
}

TEST_CASE(a_graph_stays_well_formed_where_memory_lacks)
{
    fail_each_allocation(stages_in_place);
}

TEST_CASE(tags_must_be_there_and_in_order)
{
    static const char *const tags[] = {"b", "a"}, *const twice[] = {"a", "a"};
    cfx_module *gm = parse(chain), *split;
    ck_assert_int_eq(
        cfx_split_by_tags(&split, gm, tags, 2, tag_half, NULL, NULL, &err),
        CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Component b order must be >= max of its "
                              "upstream components, order=0 and max=1");
    ck_assert_int_eq(
        cfx_split_by_tags(&split, gm, tags, 2, NULL, NULL, NULL, &err),
        CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Node does not have tag: one");
    ck_assert_int_eq(
        cfx_split_by_tags(&split, gm, tags, 1, tag_half, NULL, NULL, &err),
        CFX_EINVAL);
    assert_failed(CFX_EINVAL, "one has the tag 'a', which is not in the list");
    ck_assert_int_eq(
        cfx_split_by_tags(&split, gm, twice, 2, tag_half, NULL, NULL, &err),
        CFX_EINVAL);
    assert_failed(CFX_EINVAL, "the tag 'a' is given twice");
    cfx_module_unref(gm);
}

TEST_SUITE(split, .setup = warm_up, .teardown = teardown, .timeout = 120)
