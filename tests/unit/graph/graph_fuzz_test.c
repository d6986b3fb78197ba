/*
 * graph_fuzz_test -- random edits, each done to a graph and to a plain model
 * of one, which must stay the same; and some of them without memory, which
 * must change neither.
 */
#include "tests/unit/graph_test.h"
#include "tests/unit/unit.h"

enum { NODES = 24, ARGS = 4, ITEMS = 3, STEPS = 2000, SEEDS = 40 };

/* ---- The model ---- */

/* An argument is an integer, a node, a string, or a list of nodes. */
typedef enum model_kind { NUMBER, NODE, TEXT, LIST } model_kind;

typedef struct model_arg {
    model_kind kind;
    int number;            /* also of the text, and the length of a list */
    cfx_node *node[ITEMS]; /* the first one if it is a node */
} model_arg;

typedef struct model_node {
    cfx_node *n;
    char name[32];
    int nargs, nkwargs, nusers;
    model_arg arg[ARGS];
    model_arg kwarg[ARGS]; /* called k0, k1, ... */
    cfx_node *user[NODES];
} model_node;

/* In the order of the list. */
static model_node model[NODES];
static int len;

static uint64_t state;

static int dice(int sides)
{
    return (int)(cfx_mix64(state += UINT64_C(0x9E3779B97F4A7C15)) >> 33) %
           sides;
}

/* Sometimes let memory be lacking: none is left in the graph, and all that was
 * given back is gone, but for some sizes; so one of the next allocations will
 * fail, and not always the first. */
static void starve(void)
{
    if (dice(3))
        return;
    allowed = dice(2);
    g->store.arena.at = g->store.arena.end;
    g->names.memory.at = g->names.memory.end;
    g->names.at = g->names.end;
    for (int i = 0; i < CFX_STORE_CLASSES; i++)
        if (dice(2))
            g->store.spare[i] = NULL;
}

static model_node *model_of(const cfx_node *n)
{
    for (int i = 0; i < len; i++)
        if (model[i].n == n)
            return &model[i];
    return NULL;
}

/* The distinct nodes in the arguments. */
static int model_inputs(const model_node *m, cfx_node **out)
{
    int count = 0;
    for (int i = 0; i < m->nargs + m->nkwargs; i++) {
        const model_arg *a = i < m->nargs ? &m->arg[i]
                                          : &m->kwarg[i - m->nargs];
        int nodes = a->kind == NODE ? 1 : a->kind == LIST ? a->number : 0;
        for (int k = 0; k < nodes; k++) {
            int seen = 0;
            while (seen < count && out[seen] != a->node[k])
                seen++;
            if (seen == count)
                out[count++] = a->node[k];
        }
    }
    return count;
}

static void forget_user(model_node *m, const cfx_node *user)
{
    int kept = 0;
    for (int i = 0; i < m->nusers; i++)
        if (m->user[i] != user)
            m->user[kept++] = m->user[i];
    m->nusers = kept;
}

/* The inputs of `now` take the place of those of `before`. Unless `keep`, it
 * is the last user of all. */
static void model_use(const model_node *before, const model_node *now,
                      bool keep)
{
    cfx_node *old[ARGS * ITEMS * 2], *new[ARGS * ITEMS * 2];
    int nold = model_inputs(before, old), nnew = model_inputs(now, new);
    for (int i = 0; i < nold && !keep; i++)
        forget_user(model_of(old[i]), now->n);
    for (int i = 0; i < nnew; i++) {
        model_node *m = model_of(new[i]);
        int at = 0;
        while (at < m->nusers && m->user[at] != now->n)
            at++;
        if (at == m->nusers)
            m->user[m->nusers++] = now->n;
    }
}

static void model_set(model_node *m, const model_node *now, bool keep)
{
    model_node before = *m;
    memcpy(m->arg, now->arg, sizeof(m->arg));
    memcpy(m->kwarg, now->kwarg, sizeof(m->kwarg));
    m->nargs = now->nargs;
    m->nkwargs = now->nkwargs;
    model_use(&before, m, keep);
}

static void model_move(int from, int to)
{
    model_node moved = model[from];
    memmove(&model[from], &model[from + 1],
            (size_t)(len - 1 - from) * sizeof(*model));
    to -= to > from;
    memmove(&model[to + 1], &model[to],
            (size_t)(len - 1 - to) * sizeof(*model));
    model[to] = moved;
}

/* ---- Between the two ---- */

static model_arg random_arg(void)
{
    model_arg a = {.kind = NUMBER, .number = dice(5)};
    if (!len)
        return a;
    a.kind = (model_kind[]){NUMBER, NODE, NODE, TEXT, LIST}[dice(5)];
    if (a.kind == LIST)
        a.number = dice(ITEMS + 1);
    for (int i = 0; i < ITEMS; i++)
        a.node[i] = model[dice(len)].n;
    return a;
}

/* The value of an argument: a new reference. */
static cfx_value value_of(const model_arg *a)
{
    cfx_value items[ITEMS];
    char text[16];
    switch (a->kind) {
    case NODE: return node(a->node[0]);
    case TEXT:
        snprintf(text, sizeof(text), "text %d", a->number);
        return str(text);
    case LIST:
        for (int i = 0; i < a->number; i++)
            items[i] = node(a->node[i]);
        return cfx_list_new(ctx, (size_t)a->number, items);
    default: return cfx_int(a->number);
    }
}

static void values_of(const model_node *m, cfx_value *args, cfx_value *kwargs)
{
    char key[] = "k0";
    for (int i = 0; i < m->nargs; i++)
        args[i] = value_of(&m->arg[i]);
    for (int i = 0; i < m->nkwargs; i++) {
        key[1] = (char)('0' + i);
        kwargs[2 * i] = str(key);
        kwargs[2 * i + 1] = value_of(&m->kwarg[i]);
    }
}

static void release(cfx_value *v, int n)
{
    for (int i = 0; i < n; i++)
        cfx_value_unref(v[i]);
}

static void compare_node(const model_node *m)
{
    const cfx_node *n = m->n;
    cfx_value args[ARGS], kwargs[2 * ARGS];
    must(!strcmp(n->name, m->name));
    must((int)n->nargs == m->nargs && (int)n->nkwargs == m->nkwargs);
    values_of(m, args, kwargs);
    for (int i = 0; i < m->nargs; i++)
        must(cfx_value_equal(n->args[i], args[i]));
    for (int i = 0; i < 2 * m->nkwargs; i++)
        must(cfx_value_equal(n->kwargs[i], kwargs[i]));
    release(args, m->nargs);
    release(kwargs, 2 * m->nkwargs);
    must((int)n->nusers == m->nusers);
    int i = 0;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        must(u->user == m->user[i++]);
}

static void compare(void)
{
    const cfx_node *n = cfx_graph_first(g);
    check_graph(g);
    for (int i = 0; i < len; i++, n = cfx_node_next(n)) {
        must(n == model[i].n);
        compare_node(&model[i]);
    }
    must(!n);
}

/* ---- Edits: each gives the status of what it did ---- */

static void random_args(model_node *m)
{
    m->nargs = dice(ARGS + 1);
    m->nkwargs = dice(ARGS + 1);
    for (int i = 0; i < ARGS; i++) {
        m->arg[i] = random_arg();
        m->kwarg[i] = random_arg();
    }
}

static void remember(int at, cfx_node *n, const model_node *args)
{
    model_node m = {.n = n};
    snprintf(m.name, sizeof(m.name), "%s", n->name);
    memmove(&model[at + 1], &model[at], (size_t)(len - at) * sizeof(*model));
    model[at] = m;
    len++;
    model_set(&model[at], args, false);
}

/* Set the insert point to where model[at] will be; gives that place. */
static int random_place(void)
{
    int at = dice(len + 1);
    if (at < len && dice(2))
        cfx_graph_inserting_before(g, model[at].n);
    else
        cfx_graph_inserting_after(g, at ? model[at - 1].n : NULL);
    if (!at)
        cfx_graph_inserting_before(g, NULL);
    return at;
}

static cfx_status create_one(void)
{
    static const char *const names[] = {NULL, "a", "a_1", "x.y", "b_7"};
    cfx_value args[ARGS], kwargs[2 * ARGS];
    model_node m = {.nargs = 0};
    if (len == NODES)
        return CFX_OK;
    random_args(&m);
    values_of(&m, args, kwargs);
    int at = random_place();
    starve();
    cfx_node *n = cfx_graph_create_node(
        g, CFX_CALL_FUNCTION, "torch.f",
        (cfx_args){args, (size_t)m.nargs, kwargs, (size_t)m.nkwargs},
        names[dice(5)], NULL, &err);
    allowed = -1;
    release(args, m.nargs);
    release(kwargs, 2 * m.nkwargs);
    if (n)
        remember(at, n, &m);
    return err.code;
}

static cfx_status copy_one(void)
{
    if (len == NODES)
        return CFX_OK;
    int from = dice(len);
    const model_node m = model[from];
    cfx_graph_inserting_after(g, m.n);
    starve();
    cfx_node *n = cfx_graph_node_copy(g, m.n, NULL, NULL, &err);
    allowed = -1;
    if (n)
        remember(from + 1, n, &m);
    return err.code;
}

/* A graph of its own: p, first = f(p, 7), second = f(first, [p]). */
static cfx_graph *new_part(cfx_node **p, cfx_node **first, cfx_node **second)
{
    cfx_graph *h;
    assert_ok(cfx_graph_new(&h, ctx, &err));
    *p = cfx_graph_placeholder(h, "p", &err);
    cfx_value args[] = {node(*p), cfx_int(7)};
    *first = cfx_graph_call_function(h, "torch.f", cfx_args_of(args, 2), &err);
    cfx_value list = cfx_list_new(ctx, 1, args);
    args[0] = node(*first);
    args[1] = list;
    *second = cfx_graph_call_function(h, "torch.f", cfx_args_of(args, 2),
                                      &err);
    cfx_graph_output(h, list, &err);
    cfx_value_unref(list);
    return h;
}

/* Model the replacement of the two nodes by one whose argument is p. */
static void remember_part(int at, cfx_node *first, cfx_node *second,
                          const model_arg *p)
{
    model_node m = {.nargs = 2};
    m.arg[0] = *p;
    m.arg[1] = (model_arg){.kind = NUMBER, .number = 7};
    remember(at, first, &m);
    m.arg[0] = (model_arg){.kind = NODE, .node = {first}};
    m.arg[1] = (model_arg){.kind = LIST, .number = 1, .node = {p->node[0]}};
    remember(at + 1, second, &m);
}

static cfx_status insert_part(void)
{
    cfx_node *p, *first, *second;
    cfx_node_map map;
    cfx_value out = CFX_NOTHING;
    if (len > NODES - 2)
        return CFX_OK;
    cfx_graph *h = new_part(&p, &first, &second);
    const model_arg a = {.kind = NODE, .node = {model[dice(len)].n}};
    cfx_node_map_init(&map, h);
    assert_ok(cfx_node_map_set(&map, p, node(a.node[0]), &err));
    int at = random_place();
    starve();
    cfx_status st = cfx_graph_insert_graph(g, h, &map, dice(2) ? &out : NULL,
                                           &err);
    allowed = -1;
    first = cfx_node_map_node(&map, first);
    second = cfx_node_map_node(&map, second);
    must(!first == !!st && !second == !!st);
    must(st || out.kind == CFX_ABSENT ||
         out.u.seq->item[0].u.node == a.node[0]);
    if (!st)
        remember_part(at, first, second, &a);
    cfx_value_unref(out);
    cfx_node_map_release(&map);
    cfx_graph_free(h);
    return st;
}

static cfx_status set_some(void)
{
    model_node *m = &model[dice(len)], now = *m;
    cfx_value args[ARGS], kwargs[2 * ARGS];
    bool keywords = dice(2);
    random_args(&now);
    if (keywords)
        now.nargs = m->nargs;
    else
        now.nkwargs = m->nkwargs;
    memcpy(keywords ? now.arg : now.kwarg, keywords ? m->arg : m->kwarg,
           sizeof(m->arg));
    values_of(&now, args, kwargs);
    starve();
    cfx_status st = keywords ? cfx_node_set_kwargs(m->n, kwargs,
                                                   (size_t)now.nkwargs, &err)
                             : cfx_node_set_args(m->n, args, (size_t)now.nargs,
                                                 &err);
    allowed = -1;
    release(args, now.nargs);
    release(kwargs, 2 * now.nkwargs);
    if (!st)
        model_set(m, &now, false);
    return st;
}

static cfx_status update_one(void)
{
    model_node *m = &model[dice(len)], now = *m;
    model_arg a = random_arg();
    cfx_value v = value_of(&a);
    char key[] = "k0";
    bool insert = false;
    cfx_status st = CFX_OK;
    starve();
    if (dice(2) && m->nargs) {
        int i = dice(m->nargs);
        now.arg[i] = a;
        st = cfx_node_update_arg(m->n, (size_t)i, v, &err);
    } else if (dice(2) && m->nargs < ARGS) {
        int i = dice(m->nargs + 1);
        insert = true;
        memmove(&now.arg[i + 1], &now.arg[i],
                (size_t)(m->nargs - i) * sizeof(a));
        now.arg[i] = a;
        now.nargs++;
        st = cfx_node_insert_arg(m->n, (size_t)i, v, &err);
    } else {
        int i = dice(m->nkwargs + (m->nkwargs < ARGS));
        key[1] = (char)('0' + i);
        now.kwarg[i] = a;
        now.nkwargs += i == now.nkwargs;
        st = cfx_node_update_kwarg(m->n, key, v, &err);
    }
    allowed = -1;
    cfx_value_unref(v);
    if (!st)
        model_set(m, &now, insert);
    return st;
}

static void model_replace(model_node *m, cfx_node *old, cfx_node *with)
{
    model_node now = *m;
    for (int i = 0; i < ARGS; i++)
        for (int k = 0; k < ITEMS; k++) {
            if (now.arg[i].node[k] == old)
                now.arg[i].node[k] = with;
            if (now.kwarg[i].node[k] == old)
                now.kwarg[i].node[k] = with;
        }
    model_set(m, &now, false);
}

static bool keep_even(void *data, cfx_node *user)
{
    (void)data;
    return user->id % 2 == 0;
}

static int changed_by_graph;

static void count_changed(void *data, cfx_node *user)
{
    must(keep_even(data, user));
    changed_by_graph++;
}

static cfx_status replace_counted(void)
{
    cfx_node *old = model[dice(len)].n, *with = model[dice(len)].n;
    const cfx_replace_options o = {
        .size = sizeof(o),
        .keep = keep_even,
        .changed = count_changed,
    };
    const model_node m = *model_of(old);
    size_t changed, wanted = 0;
    for (int i = 0; i < m.nusers; i++)
        if (keep_even(NULL, m.user[i])) {
            model_replace(model_of(m.user[i]), old, with);
            wanted++;
        }
    changed_by_graph = 0;
    cfx_status st = cfx_node_replace_all_uses(old, with, &o, &changed, &err);
    must(changed == wanted && (size_t)changed_by_graph == wanted);
    return st;
}

static cfx_status replace_some(void)
{
    cfx_node *old = model[dice(len)].n, *with = model[dice(len)].n;
    bool all = dice(2);
    if (dice(2)) {
        model_node *m = &model[dice(len)];
        model_replace(m, old, with);
        return cfx_node_replace_input_with(m->n, old, with, &err);
    }
    const model_node m = *model_of(old);
    for (int i = 0; i < m.nusers; i++)
        if (all || keep_even(NULL, m.user[i]))
            model_replace(model_of(m.user[i]), old, with);
    return cfx_node_replace_all_uses_with(old, with, all ? NULL : keep_even,
                                          NULL, &err);
}

static cfx_status move_one(void)
{
    int from = dice(len), to = dice(len);
    cfx_node *n = model[to].n, *x = model[from].n;
    bool after = dice(2);
    if (from != to)
        model_move(from, to + after);
    return after ? cfx_node_append(n, x, &err) : cfx_node_prepend(n, x, &err);
}

static cfx_status rename_one(void)
{
    static const char *const names[] = {"a", "a_1", "b", "c d", "if", "a_07"};
    model_node *m = &model[dice(len)];
    starve();
    cfx_status st = cfx_node_rename(m->n, names[dice(6)], &err);
    allowed = -1;
    if (!st)
        snprintf(m->name, sizeof(m->name), "%s", m->n->name);
    return st;
}

static cfx_status erase_one(void)
{
    int at = dice(len);
    model_node none = model[at];
    cfx_status st = cfx_graph_erase_node(g, model[at].n, &err);
    if (model[at].nusers) {
        must(st == CFX_EGRAPH);
        err = (cfx_error){.code = CFX_OK};
        return CFX_OK;
    }
    none.nargs = none.nkwargs = 0;
    model_set(&model[at], &none, false);
    len--;
    memmove(&model[at], &model[at + 1], (size_t)(len - at) * sizeof(*model));
    return st;
}

/* Does it use only what comes before it? */
static bool is_defined(const model_node *m)
{
    cfx_node *in[ARGS * ITEMS * 2];
    int n = model_inputs(m, in), k = 0;
    while (k < n && model_of(in[k]) < m)
        k++;
    return k == n;
}

static bool is_sorted(void)
{
    int i = 0;
    while (i < len && is_defined(&model[i]))
        i++;
    return i == len;
}

/* Take the arguments of all that use what comes later. */
static void untangle(void)
{
    for (int i = 0; i < len; i++) {
        model_node none = model[i];
        if (is_defined(&model[i]))
            continue;
        assert_ok(cfx_node_set_args(model[i].n, NULL, 0, &err));
        assert_ok(cfx_node_set_kwargs(model[i].n, NULL, 0, &err));
        none.nargs = none.nkwargs = 0;
        model_set(&model[i], &none, false);
    }
}

static bool is_divisible_by_3(void *user, const cfx_node *n)
{
    (void)user;
    return n->id % 3 == 0;
}

/* Functions that nobody knows are pure; most graphs here are not sorted. */
static cfx_status erase_dead(void)
{
    size_t erased, wanted = 0;
    const cfx_dce_options o = {
        .size = sizeof(o),
        .is_impure = dice(4) ? is_divisible_by_3 : NULL,
    };
    if (!dice(4))
        untangle();
    bool sorted = is_sorted();
    cfx_status st = cfx_graph_eliminate_dead_code(g, &o, &erased, &err);
    must(st == (sorted ? CFX_OK : CFX_EGRAPH));
    err.code = CFX_OK;
    for (int at = len - 1; at >= 0 && sorted; at--) {
        model_node none = model[at];
        if (model[at].nusers ||
            (o.is_impure && is_divisible_by_3(NULL, model[at].n)))
            continue;
        none.nargs = none.nkwargs = 0;
        model_set(&model[at], &none, false);
        len--;
        memmove(&model[at], &model[at + 1],
                (size_t)(len - at) * sizeof(*model));
        wanted++;
    }
    must(erased == wanted);
    return CFX_OK;
}

/* ---- Watching ---- */

static int alive; /* created, but not erased yet, by the hooks */

static void on_created(void *data, cfx_node *n)
{
    (void)data;
    must(!n->erased && cfx_graph_find(g, n->name) == n);
    alive++;
}

static void on_erased(void *data, cfx_node *n)
{
    (void)data;
    must(!n->erased && !n->first_user);
    alive--;
}

static void on_replaced(void *data, cfx_node *old, cfx_node *with,
                        const char *name, cfx_node *user)
{
    (void)data;
    must(!with || !strcmp(name, with->name));
    must(!old->erased && !user->erased);
}

static const cfx_graph_hooks hooks = {
    .size = sizeof(cfx_graph_hooks),
    .created = on_created,
    .erased = on_erased,
    .replaced = on_replaced,
};

/* Meta is only stirred: its own test says what it keeps. */
static cfx_status change_meta(void)
{
    model_node *m = &model[dice(len)];
    model_arg a = {.kind = TEXT, .number = dice(3)};
    cfx_value v = dice(3) ? value_of(&a) : CFX_NOTHING;
    starve();
    cfx_status st = cfx_node_set_meta(
        m->n, (const char *[]){"x", "y", "z"}[dice(3)], v, &err);
    allowed = -1;
    cfx_value_unref(v);
    return st;
}

/* Effects are asked of the registry, which is made when it is first used and
 * stays. */
static void setup_registry(void)
{
    setup();
    cfx_graph_free(g);
    cfx_find_function(ctx, "torch.f");
    held_before = cfx_context_memory(ctx);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

static cfx_status edit(void)
{
    static cfx_status (*const edits[])(void) = {
        create_one, copy_one,    set_some,     set_some,     update_one,
        update_one, insert_part, replace_some, replace_some, replace_counted,
        move_one,   rename_one,  erase_one,    erase_one,    erase_one,
        erase_dead, change_meta,
    };
    return len ? edits[dice(sizeof(edits) / sizeof(*edits))]() : create_one();
}

TEST_EACH(edits_do_to_a_graph_what_they_do_to_a_model, SEEDS)
{
    state = (uint64_t)_i;
    len = alive = 0;
    assert_ok(cfx_graph_add_hooks(g, &hooks, NULL, &err));
    for (int step = 0; step < STEPS; step++) {
        cfx_status st = edit();
        must(st == err.code && (!st || st == CFX_ENOMEM));
        must(alive == len);
        err.code = CFX_OK;
        if (step % 8 == 0 || st)
            compare();
    }
}

TEST_SUITE(graph_fuzz, .setup = setup_registry, .teardown = teardown,
           .timeout = 60)
