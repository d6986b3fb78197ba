/*
 * graph_module_test -- GraphModules as torch.fx makes, copies and prunes them.
 */
#include "tests/unit/graph_test.h"

#include <cfx/graph_module.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

/* Registries stay with the context: what it holds is not compared. */
static void end(void)
{
    cfx_graph_free(g);
    cfx_context_free(ctx);
}

/* ---- Short ways ---- */

static cfx_module *new_module(const char *type, const int64_t *n, size_t nargs)
{
    cfx_module *m;
    cfx_value args[2] = {cfx_int(n ? n[0] : 0), cfx_int(n ? n[1] : 0)};
    const cfx_module_type *t = cfx_find_module_type(ctx, type);
    ck_assert_ptr_nonnull(t);
    assert_ok(
        cfx_module_new(&m, ctx, t, NULL, cfx_args_of(args, nargs), &err));
    return m;
}

static cfx_module *linear(int64_t in, int64_t out)
{
    return new_module("Linear", (int64_t[]){in, out}, 2);
}

static cfx_module *plain(const char *type)
{
    return new_module(type, NULL, 0);
}

static cfx_module *container(const char *name)
{
    cfx_module *m;
    assert_ok(cfx_module_new_container(&m, ctx, name, &err));
    return m;
}

static void add(cfx_module *m, const char *path, cfx_module *child)
{
    assert_ok(cfx_module_add_submodule_take(m, path, child, &err));
}

static cfx_tensor *set(cfx_module *m, const char *name)
{
    cfx_tensor *t = new_meta();
    assert_ok(cfx_module_set(m, name, t, &err));
    cfx_tensor_unref(t);
    return t;
}

static cfx_node *call_module(cfx_graph *of, const char *path, cfx_node *x)
{
    cfx_value v = node(x);
    cfx_node *n = cfx_graph_call_module(of, path, CFX_ARGS(v), &err);
    ck_assert_ptr_nonnull(n);
    return n;
}

/* The graph that tests build in, which a module then owns. */
static cfx_graph *take_graph(void)
{
    cfx_graph *taken = g;
    assert_ok(cfx_graph_new(&g, ctx, &err));
    return taken;
}

static cfx_module *graph_module(cfx_module *root)
{
    cfx_module *gm;
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, root, take_graph(),
                                             "Net", &err));
    return gm;
}

/* A tree in one line: Net(sub=Module(lin=Linear[weight bias])). */
static void write_tree(char *to, const cfx_module *m)
{
    strcat(to, cfx_module_class_name(m));
    for (size_t i = 0; i < cfx_module_nstate(m); i++) {
        const cfx_state *s = cfx_module_state_at(m, i);
        strcat(strcat(to, i ? " " : "["), s->name);
        strcat(to, s->is_buffer ? "*" : "");
    }
    strcat(to, cfx_module_nstate(m) ? "]" : "");
    for (size_t i = 0; i < cfx_module_nchildren(m); i++) {
        const cfx_module *child = cfx_module_child_at(m, i);
        ck_assert_ptr_eq(cfx_module_parent(child), m);
        ck_assert_ptr_eq(cfx_module_child(m, cfx_module_name(child)), child);
        strcat(strcat(to, i ? ", " : "("), cfx_module_name(child));
        write_tree(strcat(to, "="), child);
    }
    strcat(to, cfx_module_nchildren(m) ? ")" : "");
}

static const char *tree(const cfx_module *m)
{
    static char text[4096];
    text[0] = '\0';
    write_tree(text, m);
    return text;
}

#define assert_tree(m, text) ck_assert_str_eq(tree(m), text)

/* ---- Construction: the trees are those that torch makes ---- */

TEST_CASE(construct_root_dict)
{
    cfx_node *x = input("x");
    cfx_node *a = call_module(g, "sub.lin", x);
    cfx_node *c = cfx_graph_get_attr(g, "p.q.t", &err);
    cfx_node *d = cfx_graph_get_attr(g, "z", &err);
    cfx_graph_get_attr(g, "sub.lin.weight", &err);
    cfx_graph_output(g, node(call("f", a, c, d, NULL)), &err);
    cfx_tensor *t = new_meta();
    cfx_module *lin = linear(2, 3), *gm;
    const cfx_module_item items[] = {
        {"sub.lin", {.kind = CFX_MODULE, .u.module = lin}, false},
        {"sub.lin.weight", cfx_value_of_tensor(t), true},
        {"p.q.t", cfx_value_of_tensor(t), false},
        {"unused", cfx_value_of_tensor(t), false},
        {"z", cfx_value_of_tensor(t), true},
    };
    cfx_graph *copy;
    assert_ok(cfx_graph_copy(&copy, g, &err));
    assert_ok(cfx_graph_module_from_dict_take_graph(&gm, ctx, items, 5,
                                                    take_graph(), NULL, &err));
    assert_tree(gm, "GraphModule[z](sub=Module(lin=Linear[weight bias]), "
                    "p=Module(q=Module[t*]))");
    ck_assert_ptr_eq(cfx_module_state(gm, "z")->tensor, t);
    cfx_graph *own = cfx_graph_module_graph(gm);
    ck_assert_ptr_eq(cfx_graph_owning_module(own), gm);
    assert_ok(cfx_graph_lint(own, &err));
    cfx_module_unref(gm);
    ck_assert_int_eq(cfx_graph_module_from_dict_take_graph(&gm, ctx, items, 4,
                                                           copy, NULL, &err),
                     CFX_ENAME);
    assert_failed(CFX_ENAME, "Node z referenced target z but that target was "
                             "not provided in ``root``!");
    ck_assert_ptr_null(gm);
    cfx_module_unref(lin);
    cfx_tensor_unref(t);
}

/* Sequential 0: Linear, 1: ReLU, 2: Sequential(ReLU), and state of its own. */
static cfx_module *new_root(void)
{
    cfx_module *r = container("R");
    add(r, "sub", plain("Sequential"));
    add(r, "sub.0", linear(2, 2));
    add(r, "sub.1", plain("ReLU"));
    add(r, "sub.2", plain("Sequential"));
    add(r, "sub.2.0", plain("ReLU"));
    cfx_dim n = cfx_dim_int(1);
    assert_ok(cfx_module_param(r, "w", CFX_F32, 1, &n, &err));
    assert_ok(cfx_module_buffer(r, "b", CFX_F32, 1, &n, &err));
    set(cfx_module_at(r, "sub"), "t");
    return r;
}

TEST_CASE(graph_module_init_buffer_param_copied_mod_init)
{
    cfx_module *r = new_root(), *gm;
    cfx_node *x = input("x");
    cfx_graph_get_attr(g, "sub.0.weight", &err);
    call_module(g, "sub.0", x);
    cfx_graph_get_attr(g, "sub.t", &err);
    call_module(g, "sub.2", x);
    call_module(g, "sub.2", x);
    cfx_graph_get_attr(g, "w", &err);
    cfx_graph_get_attr(g, "w", &err);
    cfx_graph *copy;
    assert_ok(cfx_graph_copy(&copy, g, &err));
    cfx_module_train(r, true);
    assert_ok(cfx_graph_module_from_root_take_graph(&gm, r, take_graph(),
                                                    "Net", &err));
    assert_tree(gm, "Net[w](sub=Module[t*](0=Linear[weight bias], "
                    "2=Sequential(0=ReLU)))");
    ck_assert(cfx_module_training(gm));
    ck_assert_ptr_eq(
        cfx_module_state(cfx_module_at(gm, "sub.0"), "bias")->tensor,
        cfx_module_state(cfx_module_at(r, "sub.0"), "bias")->tensor);
    cfx_module_unref(gm);
    cfx_graph_get_attr(copy, "nope.a", &err);
    ck_assert_int_eq(
        cfx_graph_module_from_root_take_graph(&gm, r, copy, NULL, &err),
        CFX_ENAME);
    assert_failed(CFX_ENAME, "Node referenced nonexistent target nope.a");
    cfx_module_unref(r);
}

TEST_CASE(constructed_modules_may_be_named_after_what_is_in_them)
{
    cfx_module *r = new_root(), *gm;
    cfx_node *x = input("x");
    cfx_graph_get_attr(g, "sub.t", &err);
    call_module(g, "sub.2.0", x);
    call_module(g, "sub", x);
    call_module(g, "sub.1", x);
    assert_ok(cfx_graph_module_from_root_take_graph(&gm, r, take_graph(), NULL,
                                                    &err));
    assert_tree(gm, "R(sub=Sequential[t*](0=Linear[weight bias], 1=ReLU, "
                    "2=Sequential(0=ReLU)))");
    cfx_module_unref(gm);
    cfx_module_unref(r);
}

/* ---- The tree ---- */

TEST_CASE(submodule_manipulation_API)
{
    cfx_module *m = container("Net");
    add(m, "net_b", container("Module"));
    add(m, "net_b.net_c.conv", linear(1, 2));
    set(m, "w");
    assert_tree(m, "Net[w*](net_b=Module(net_c=Module(conv="
                   "Linear[weight bias])))");
    ck_assert_int_eq(
        cfx_module_add_submodule_take(m, "w.x", plain("ReLU"), &err),
        CFX_ENAME);
    assert_failed(CFX_ENAME, "w of Net is not a module");
    ck_assert_int_eq(
        cfx_module_add_submodule_take(m, "w", plain("ReLU"), &err), CFX_ENAME);
    assert_failed(CFX_ENAME, "attribute 'w' already exists");
    const char *bad[] = {"", ".", "a.", ".a", "a..b"};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(
            cfx_module_add_submodule_take(m, bad[i], plain("ReLU"), &err),
            CFX_EINVAL);
        assert_failed(CFX_EINVAL, "'' cannot name a module");
    }
    ck_assert(cfx_module_delete_submodule(m, "a"));
    add(m, "net_b.net_c.conv", plain("ReLU"));
    add(m, "net_b.other", plain("ReLU"));
    add(m, "net_b.third", plain("Tanh"));
    ck_assert(!cfx_module_delete_submodule(m, "net_b.w"));
    ck_assert(!cfx_module_delete_submodule(m, "w"));
    ck_assert(!cfx_module_delete_submodule(m, ""));
    ck_assert(!cfx_module_delete_submodule(m, "net_b.net_c.conv.x"));
    ck_assert(cfx_module_delete_submodule(m, "net_b.net_c"));
    ck_assert(!cfx_module_delete_submodule(m, "net_b.net_c"));
    assert_tree(m, "Net[w*](net_b=Module(other=ReLU, third=Tanh))");
    add(m, "net_b.net_c", plain("ReLU"));
    assert_tree(m, "Net[w*](net_b=Module(other=ReLU, third=Tanh, "
                   "net_c=ReLU))");
    cfx_module_unref(m);
}

static void refuses(cfx_module *m, const char *name, cfx_module *child)
{
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(cfx_module_add_take(m, name, cfx_module_ref(child), &err),
                     CFX_EINVAL);
}

TEST_CASE(modules_have_one_parent)
{
    cfx_module *root = container("Net"), *a = plain("ReLU");
    add(root, "a", a);
    refuses(root, "b", a);
    ck_assert_str_eq(err.text, "'b' cannot be a module that has a parent "
                               "already");
    refuses(root, "a", a);
    refuses(a, "up", root);
    refuses(root, "up", root);
    ck_assert_ptr_eq(cfx_module_child(root, "a"), a);
    ck_assert_uint_eq(cfx_module_nchildren(root), 1);
    cfx_module_unref(root);
}

TEST_CASE(references_keep_a_module_and_what_is_below)
{
    cfx_module *root = container("Net"), *a = container("A");
    cfx_module *kept = cfx_module_ref(a);
    add(a, "fc", linear(2, 3));
    add(root, "a", a);
    ck_assert(cfx_module_delete_submodule(root, "a"));
    ck_assert_ptr_null(cfx_module_parent(kept));
    add(root, "a", kept);
    kept = cfx_module_ref(cfx_module_at(root, "a.fc"));
    cfx_module_unref(root);
    ck_assert_ptr_null(cfx_module_parent(kept));
    ck_assert_str_eq(cfx_module_class_name(kept), "Linear");
    cfx_module_unref(kept);
}

TEST_CASE(delete_all_unused_submodules)
{
    cfx_module *r = new_root();
    cfx_node *x = input("x");
    call_module(g, "sub.2", x);
    cfx_graph_get_attr(g, "attr.deep.t", &err);
    cfx_graph_get_attr(g, "whole", &err);
    call_module(g, "nowhere.x", x);
    add(r, "attr.deep", container("Module"));
    add(r, "attr.deep.gone", plain("ReLU"));
    add(r, "attr.gone.too", plain("ReLU"));
    set(cfx_module_at(r, "attr.deep"), "t");
    add(r, "whole.a.b", plain("ReLU"));
    cfx_module *gm = graph_module(r);
    ck_assert_uint_eq(cfx_graph_module_delete_all_unused_submodules(gm), 5);
    assert_tree(gm, "R[w b*](sub=Sequential[t*](2=Sequential(0=ReLU)), "
                    "attr=Module(deep=Module[t*]), "
                    "whole=Module(a=Module(b=ReLU)))");
    ck_assert_uint_eq(cfx_graph_module_delete_all_unused_submodules(gm), 0);
    cfx_module_unref(gm);
}

TEST_CASE(delete_unused_submodules_leaf)
{
    cfx_module *r = container("Model");
    cfx_node *x = input("x");
    add(r, "submod.linear", linear(2, 2));
    add(r, "submod.relu", plain("ReLU"));
    call_module(g, "submod", x);
    cfx_module *gm = graph_module(r);
    ck_assert_uint_eq(cfx_graph_module_delete_all_unused_submodules(gm), 0);
    ck_assert_ptr_nonnull(cfx_module_at(gm, "submod.linear"));
    cfx_module_unref(gm);
}

TEST_CASE(modules_may_have_much_state)
{
    enum { MANY = 20000 };
    cfx_module *m = container("Net"), *copy;
    cfx_tensor *t[3] = {new_meta(), new_meta(), new_meta()};
    char name[32];
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof(name), "_tensor_constant%d", i % MANY);
        assert_ok(cfx_module_set(m, name, t[i < MANY ? 0 : 1 + i % 2], &err));
    }
    ck_assert_uint_eq(cfx_module_nstate(m), MANY);
    assert_ok(cfx_module_copy(&copy, m, &err));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "_tensor_constant%d", i);
        must(cfx_module_state(copy, name)->tensor == t[1 + i % 2]);
        must(cfx_module_state(copy, name) ==
             cfx_module_state_at(copy, (size_t)i));
    }
    ck_assert_ptr_null(cfx_module_state(m, "_tensor_constant"));
    for (int i = 0; i < 3; i++)
        cfx_tensor_unref(t[i]);
    cfx_module_unref(copy);
    cfx_module_unref(m);
}

static bool set_many(void)
{
    long rest = allowed;
    char name[] = "a";
    allowed = -1;
    cfx_module *m = container("Net");
    cfx_tensor *t = new_meta();
    allowed = rest;
    for (; name[0] <= 'z' && !cfx_module_set(m, name, t, &err); name[0]++)
        continue;
    for (char c[] = "a"; c[0] < name[0]; c[0]++)
        must(cfx_module_state(m, c) != NULL);
    must(!cfx_module_state(m, name));
    cfx_tensor_unref(t);
    cfx_module_unref(m);
    return !err.code;
}

TEST_CASE(state_that_lacks_memory_is_not_there)
{
    fail_each_allocation(set_many);
}

/* Paths may be longer than any buffer. */
TEST_CASE(targets_may_be_long)
{
    enum { LEVELS = 200 };
    static char path[LEVELS * 10 + 8];
    for (int i = 0; i < LEVELS; i++)
        strcat(path, "submodule.");
    strcat(path, "t");
    cfx_module *m = container("Net"), *at;
    path[strlen(path) - 2] = '\0';
    add(m, path, container("Module"));
    at = cfx_module_at(m, path);
    path[strlen(path)] = '.';
    set(at, "t");
    cfx_value v;
    assert_ok(cfx_module_fetch_attr(&v, m, path, &err));
    ck_assert_ptr_eq(v.u.tensor, cfx_module_state(at, "t")->tensor);
    cfx_graph_get_attr(g, path, &err);
    cfx_graph_set_owning_module(g, m);
    assert_ok(cfx_graph_lint(g, &err));
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(m);
}

/* ---- Copies ---- */

/* A GraphModule in a module in a GraphModule. */
static cfx_module *nested(void)
{
    cfx_module *r = new_root();
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    assert_ok(cfx_node_set_meta(relu, "tag", cfx_int(3), &err));
    cfx_graph_output(g, node(relu), &err);
    add(r, "mid.gm", graph_module(new_root()));
    x = input("x");
    cfx_graph_output(g, node(call_module(g, "mid.gm", x)), &err);
    return graph_module(r);
}

TEST_CASE(deepcopy_with_submods_params)
{
    cfx_module *gm = nested(), *copy;
    char was[4096];
    strcpy(was, tree(gm));
    cfx_module_train(cfx_module_at(gm, "sub"), true);
    assert_ok(cfx_module_copy(&copy, gm, &err));
    assert_tree(copy, was);
    ck_assert(cfx_module_training(cfx_module_at(copy, "sub.2.0")));
    ck_assert(!cfx_module_training(cfx_module_at(copy, "mid")));
    cfx_graph *inner = cfx_graph_module_graph(cfx_module_at(copy, "mid.gm"));
    ck_assert_ptr_ne(inner,
                     cfx_graph_module_graph(cfx_module_at(gm, "mid.gm")));
    ck_assert_ptr_eq(cfx_graph_owning_module(inner),
                     cfx_module_at(copy, "mid.gm"));
    ck_assert_int_eq(cfx_node_meta(cfx_graph_find(inner, "relu"), "tag").u.i,
                     3);
    /* The two go their own ways. */
    cfx_module_delete_submodule(gm, "sub.0");
    cfx_graph_free(take_graph());
    ck_assert_ptr_nonnull(cfx_module_at(copy, "sub.0"));
    ck_assert_int_eq(
        (int)cfx_attr_int(cfx_module_at(copy, "sub.0"), "out_features"), 2);
    cfx_module_unref(gm);
    assert_tree(copy, was);
    assert_ok(cfx_graph_lint(cfx_graph_module_graph(copy), &err));
    cfx_module_unref(copy);
}

TEST_CASE(module_deepcopy_edit_nodes)
{
    cfx_module *gm = nested(), *copy;
    assert_ok(cfx_module_copy(&copy, gm, &err));
    cfx_graph *h = cfx_graph_module_graph(cfx_module_at(copy, "mid.gm"));
    cfx_graph *was = cfx_graph_module_graph(cfx_module_at(gm, "mid.gm"));
    assert_ok(
        cfx_node_set_target(cfx_graph_find(h, "relu"), "torch.neg", &err));
    ck_assert_str_eq(cfx_graph_find(was, "relu")->target->text, "torch.relu");
    bool same;
    assert_ok(cfx_graph_equal(&same, h, was, &err));
    ck_assert(!same);
    cfx_module_unref(copy);
    cfx_module_unref(gm);
}

TEST_CASE(copies_of_deep_trees_do_not_recurse)
{
    enum { DEPTH = 100000 };
    cfx_module *root = container("M"), *at = root, *copy;
    for (int i = 0; i < DEPTH; i++) {
        cfx_module *child = container("M");
        assert_ok(cfx_module_add_take(at, "m", child, &err));
        at = child;
    }
    assert_ok(cfx_module_copy(&copy, root, &err));
    size_t n = 0;
    for (cfx_module *m = copy; m; m = cfx_module_next(m, copy))
        n++;
    ck_assert_uint_eq(n, DEPTH + 1);
    cfx_module_unref(copy);
    cfx_module_unref(root);
}

/* ---- Text and back ---- */

static char text[65536];
static size_t text_len;

static cfx_status append(void *user, const char *s, size_t len)
{
    (void)user;
    must(len < sizeof(text) - text_len);
    memcpy(text + text_len, s, len);
    text_len += len;
    text[text_len] = '\0';
    return CFX_OK;
}

static cfx_module *through_text(const cfx_module *gm)
{
    cfx_module *back;
    text_len = 0;
    assert_ok(cfx_print_model((cfx_sink){append, NULL}, gm, true, &err));
    assert_ok(cfx_parse_model(&back, ctx, text, text_len, "text", &err));
    return back;
}

/* Trees, flags and graphs with all meta; weights go to a file of their own. */
static void assert_same(const cfx_module *a, const cfx_module *b)
{
    char was[4096];
    const cfx_module *m = a, *n = b;
    strcpy(was, tree(a));
    assert_tree(b, was);
    for (; m; m = cfx_module_next(m, a), n = cfx_module_next(n, b)) {
        const cfx_graph *h = cfx_graph_module_graph(m);
        const cfx_graph *k = cfx_graph_module_graph(n);
        bool same;
        ck_assert_int_eq(cfx_module_training(m), cfx_module_training(n));
        ck_assert(!h == !k);
        if (!h)
            continue;
        assert_ok(cfx_graph_equal(&same, h, k, &err));
        ck_assert(same);
        const cfx_node *x = cfx_graph_first(h), *y = cfx_graph_first(k);
        for (; x; x = cfx_node_next(x), y = cfx_node_next(y)) {
            ck_assert_str_eq(x->name, y->name);
            ck_assert(cfx_value_equal(x->meta, y->meta));
        }
    }
}

TEST_CASE(pickle_graphmodule)
{
    cfx_module *gm = nested(), *back;
    cfx_graph *h = cfx_graph_module_graph(gm);
    cfx_node *sub = cfx_graph_find(h, "mid_gm");
    cfx_value three = cfx_int(3), odd = str("a, b)'\"\n%x");
    cfx_value key = str("a, b)'\"%x");
    cfx_graph_inserting_before(h, sub);
    cfx_node *y = cfx_graph_create_node(h, CFX_PLACEHOLDER, "y",
                                        CFX_ARGS(three), NULL,
                                        "typing.List[int]", &err);
    cfx_value args[] = {node(y), odd, cfx_float(-0.0), cfx_none()};
    cfx_value list = cfx_list_new(ctx, 4, args);
    cfx_value kwargs[] = {key, list};
    cfx_node *f = cfx_graph_create_node(h, CFX_CALL_FUNCTION, "my.odd",
                                        (cfx_args){args, 4, kwargs, 1},
                                        "odd_7", NULL, &err);
    ck_assert_ptr_nonnull(f);
    assert_ok(cfx_node_set_meta(f, "stack_trace", odd, &err));
    assert_ok(cfx_node_inherit(sub, f, &err));
    cfx_module_train(cfx_module_at(gm, "sub"), true);
    cfx_value_unref(list);
    cfx_value_unref(odd);
    cfx_value_unref(key);
    back = through_text(gm);
    assert_same(gm, back);
    cfx_module_unref(back);
    cfx_module_unref(gm);
}

TEST_CASE(preserve_unused_attr_after_unpickle)
{
    cfx_node *x = input("x");
    cfx_graph_output(g, node(x), &err);
    cfx_module *gm = graph_module(new_root()), *back = through_text(gm);
    ck_assert_ptr_nonnull(cfx_module_state(back, "b"));
    ck_assert_ptr_nonnull(cfx_module_at(back, "sub.2.0"));
    assert_same(gm, back);
    cfx_module_unref(back);
    cfx_module_unref(gm);
}

/* ---- Targets ---- */

TEST_CASE(missing_targets_are_warned_of)
{
    cfx_module *r = new_root();
    cfx_graph_set_owning_module(g, r);
    last_message[0] = '\0';
    cfx_node *x = input("x");
    call_module(g, "sub.0", x);
    cfx_graph_get_attr(g, "sub.0.weight", &err);
    cfx_graph_get_attr(g, "sub", &err);
    ck_assert_str_eq(last_message, "");
    cfx_graph_get_attr(g, "nope", &err);
    ck_assert_str_eq(last_message,
                     "Attempted to insert a get_attr Node with "
                     "no underlying reference in the owning GraphModule! "
                     "'nope' has to be added to it");
    call_module(g, "w", x);
    ck_assert_str_eq(last_message,
                     "Attempted to insert a call_module Node "
                     "with no underlying reference in the owning GraphModule! "
                     "'w' has to be added to it");
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(r);
}

/* ---- Dead code ---- */

TEST_CASE(dce_goes_into_children_once)
{
    cfx_module *r = container("Net");
    cfx_node *x = input("x");
    call("torch.neg", x, NULL);
    cfx_graph_output(g, node(x), &err);
    add(r, "a.child", graph_module(NULL));
    x = input("x");
    call("torch.abs", x, NULL);
    cfx_graph_output(g, node(x), &err);
    add(r, "unnamed", graph_module(NULL));
    x = input("x");
    cfx_node *y = call_module(g, "a.child", x);
    call_module(g, "unnamed", x);
    y = call_module(g, "a.child", y);
    cfx_graph_output(g, node(y), &err);
    cfx_module *gm = graph_module(r);
    cfx_graph *top = cfx_graph_module_graph(gm);
    cfx_dce_options o = {.size = sizeof(o), .keep_children = true};
    size_t n;
    assert_ok(cfx_graph_eliminate_dead_code(top, &o, &n, &err));
    ck_assert_uint_eq(n, 1);
    assert_ok(cfx_graph_eliminate_dead_code(top, NULL, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(
        cfx_graph_len(cfx_graph_module_graph(cfx_module_at(gm, "unnamed"))),
        3);
    cfx_module_unref(gm);
}

/* ---- Memory ---- */

static bool make_all(void)
{
    long rest = allowed;
    cfx_graph *h = NULL;
    cfx_module *gm = NULL, *copy = NULL;
    allowed = -1;
    cfx_module *r = nested();
    cfx_node *x = input("x");
    call_module(g, "sub.2.0", x);
    call_module(g, "sub.2", x);
    cfx_graph_get_attr(g, "sub.t", &err);
    call_module(g, "mid.gm", x);
    allowed = rest;
    if (!cfx_graph_copy(&h, g, &err) &&
        !cfx_graph_module_from_root_take_graph(&gm, r, h, NULL, &err) &&
        !cfx_module_copy(&copy, gm, &err)) {
        cfx_module *taken = gm;
        gm = NULL;
        if (!cfx_module_add_submodule_take(copy, "x.y.z", taken, &err))
            cfx_graph_eliminate_dead_code(cfx_graph_module_graph(copy), NULL,
                                          NULL, &err);
    }
    must(!err.code || err.code == CFX_ENOMEM);
    rest = allowed;
    allowed = -1;
    cfx_graph_free(take_graph());
    allowed = rest;
    cfx_module_unref(copy);
    cfx_module_unref(gm);
    cfx_module_unref(r);
    return !err.code;
}

TEST_CASE(modules_survive_lack_of_memory)
{
    fail_each_allocation(make_all);
}

TEST_SUITE(graph_module, .setup = setup, .teardown = end, .timeout = 60)
