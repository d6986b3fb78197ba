/*
 * pack_recurrent -- compute recurrent layers by packed weights:
 * torch.ops.cfx.packed_lstm, packed_gru, packed_rnn_tanh and packed_rnn_relu.
 *
 * Modules LSTM, GRU and RNN are inlined first. Then calls of torch.lstm and its like
 * whose weights are float32 and constant get packed copies of them; those with
 * projections stay. What computed a weight from parameters (the readers of ONNX order
 * gates) is computed once.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/lower/frozen.h"
#include "interp/passes/lower/pack_weight.h"
#include "interp/rewrite/retrace.h"
#include "ops/blocked/blocked_ops.h"

/* An operator, its packed one, and the gates of a unit. */
typedef struct form {
    const char *op, *packed;
    int gates;
} form;

static const form forms[] = {
    {"lstm", "torch.ops.cfx.packed_lstm.default", 4},
    {"gru", "torch.ops.cfx.packed_gru.default", 3},
    {"rnn_tanh", "torch.ops.cfx.packed_rnn_tanh.default", 1},
    {"rnn_relu", "torch.ops.cfx.packed_rnn_relu.default", 1},
};
enum { FORMS = sizeof(forms) / sizeof(*forms) };

typedef struct packer {
    cfx_pass_call *p;
    cfx_frozen frozen;
    cfx_arena memory;
    /* The get_attr nodes that were made, by the path of the weight, for each
     * form. */
    cfx_map made[FORMS];
} packer;

/* The arguments of the operators. */
enum {
    PARAMS = 2,
    HAS_BIASES = 3,
    NUM_LAYERS = 4,
    BIDIRECTIONAL = 7,
    ARGS = 9
};
static const char *const names[ARGS] = {
    "input",   "hx",    "params",        "has_biases", "num_layers",
    "dropout", "train", "bidirectional", "batch_first"};

/* A call, and its weights. */
typedef struct layers {
    cfx_node *n;
    int form;
    cfx_value args[ARGS];
    uint32_t count;
    cfx_tensor **weight; /* new references */
    cfx_value *packed;   /* get_attr nodes */
} layers;

/* ---- Calls ---- */

static bool find_layers(cfx_node *n, layers *a)
{
    const cfx_schema *schema = cfx_pass__signature(n);
    *a = (layers){.n = n};
    while (a->form < FORMS && !cfx_node_is(n, forms[a->form].op))
        a->form++;
    if (a->form == FORMS || !schema)
        return false;
    for (int i = 0; i < ARGS; i++)
        a->args[i] = cfx_pass__arg(n, schema, names[i]);
    return cfx_value_is_seq(a->args[PARAMS]) &&
           a->args[HAS_BIASES].kind == CFX_BOOL_VALUE &&
           a->args[NUM_LAYERS].kind == CFX_INT &&
           a->args[BIDIRECTIONAL].kind == CFX_BOOL_VALUE;
}

/* The weights of a direction of a layer without projections. */
static int weights_each(const layers *a)
{
    return a->args[HAS_BIASES].u.i ? 4 : 2;
}

/* The node of weight i; NULL: there is none. */
static cfx_node *param(const layers *a, uint32_t i)
{
    cfx_value v = a->args[PARAMS].u.seq->item[i];
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* ---- Weights ---- */

/* Weight i: a matrix (gates * units, depth), or a bias. */
static bool has_shape(const layers *a, uint32_t i, const cfx_tensor *t)
{
    return t->rank == ((int)i % weights_each(a) < 2 ? 2 : 1) &&
           cfx_tensor_numel(t) > 0 &&
           cfx_tensor_size(t, 0) % forms[a->form].gates == 0;
}

/* Zeros that fill up the units of a gate. */
static int64_t filling_of(const layers *a, const cfx_tensor *t)
{
    return -(cfx_tensor_size(t, 0) / forms[a->form].gates) & (CFX_BLOCK - 1);
}

/* (gates * units, ...) with whole blocks of units. */
static cfx_value fill_up(cfx_scope *s, const layers *a, const cfx_tensor *t)
{
    cfx_value w = cfx_value_of_tensor((cfx_tensor *)t), none = cfx_int(0);
    cfx_value more = cfx_int(filling_of(a, t));
    if (!more.u.i)
        return w;
    w = cfx_unflatten(s, w, none,
                      cfx_list(s, cfx_int(forms[a->form].gates), cfx_int(-1)));
    w = cfx_pad(s, w,
                t->rank == 1 ? cfx_list(s, none, more)
                             : cfx_list(s, none, none, none, more));
    return cfx_flatten(s, w, .start_dim = none, .end_dim = cfx_int(1));
}

static cfx_value pack(cfx_scope *s, const layers *a, const cfx_tensor *t)
{
    cfx_value w = fill_up(s, a, t);
    return cfx_pack__contiguous(s, t->rank == 2 ? cfx_pack__blocks(s, w) : w);
}

/* The get_attr node of a packed weight. */
static cfx_status make(packer *k, const layers *a, const cfx_tensor *t,
                       cfx_node **out)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, k->p->ctx, NULL);
    cfx_value w = pack(&s, a, t);
    cfx_status st = cfx_scope_status(&s, k->p->err);
    if (!st) {
        *out = cfx_pass_add_tensor(k->p, t->rank == 2 ? "_packed_" : "_bias_",
                                   w.u.tensor);
        st = *out ? CFX_OK : k->p->err->code;
    }
    cfx_scope_release(&s);
    return st;
}

/* The node of weight i, packed. A parameter is packed once. */
static cfx_status pack_weight(packer *k, const layers *a, uint32_t i,
                              cfx_node **out)
{
    cfx_node *from = param(a, i);
    const char *path = from->target->text;
    if (from->op != CFX_GET_ATTR)
        return make(k, a, a->weight[i], out);
    cfx_map_entry *e = cfx_map_put(&k->made[a->form], path, strlen(path),
                                   NULL);
    if (!e)
        return cfx_no_memory(k->p->err);
    *out = e->v.p;
    cfx_status st = *out ? CFX_OK : make(k, a, a->weight[i], out);
    e->v.p = *out;
    return st;
}

/* Find all weights; *found is false where one is not constant, or there are
 * projections. */
static cfx_status load_weights(packer *k, layers *a, bool *found)
{
    int64_t directions = a->args[BIDIRECTIONAL].u.i ? 2 : 1;
    int64_t each = weights_each(a) * directions;
    cfx_status st = CFX_OK;
    uint32_t n = (uint32_t)a->args[PARAMS].u.seq->len;
    a->weight = cfx_arena_alloc(&k->memory, n * sizeof(*a->weight));
    a->packed = cfx_arena_alloc(&k->memory, n * sizeof(*a->packed));
    if (!a->weight || !a->packed)
        return cfx_no_memory(k->p->err);
    *found = n > 0 && n % each == 0 && n / each == a->args[NUM_LAYERS].u.i;
    for (uint32_t i = 0; i < n && *found && !st; i++) {
        *found = param(a, i) != NULL;
        if (*found)
            st = cfx_frozen__load(&k->frozen, param(a, i), CFX_F32,
                                  &a->weight[a->count++]);
        if (*found && !st)
            *found = a->weight[i] && has_shape(a, i, a->weight[i]);
    }
    return st;
}

/* ---- The pass ---- */

static cfx_status replace(packer *k, const layers *a, cfx_node **out)
{
    cfx_pass_call *p = k->p;
    cfx_value args[ARGS];
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < a->count && !st; i++) {
        cfx_node *w = NULL;
        st = pack_weight(k, a, i, &w);
        a->packed[i] = cfx_value_of_node(w);
    }
    if (st)
        return st;
    memcpy(args, a->args, sizeof(args));
    args[PARAMS] = cfx_list_new(p->ctx, a->count, a->packed);
    if (!args[PARAMS].kind)
        return cfx_no_memory(p->err);
    *out = cfx_graph_call_function(p->graph, forms[a->form].packed,
                                   cfx_args_of(args, ARGS), p->err);
    cfx_value_unref(args[PARAMS]);
    return *out ? cfx_node__keep_meta(*out, a->n, p->err) : p->err->code;
}

static cfx_status pack_layers(packer *k, layers *a)
{
    cfx_pass_call *p = k->p;
    cfx_node *y = NULL;
    bool found = false;
    cfx_status st = load_weights(k, a, &found);
    if (!st && !found)
        cfx_pass_missed(
            p, a->n, "it has projections, or weights that are not constant");
    if (!st && found) {
        cfx_insert_point at = cfx_graph_inserting_before(p->graph, a->n);
        st = replace(k, a, &y);
        cfx_graph_restore(p->graph, at);
        if (!st)
            st = cfx_pass__replace(p, a->n, y);
    }
    for (uint32_t i = 0; i < a->count; i++)
        cfx_tensor_unref(a->weight[i]);
    return st;
}

static cfx_status pack_all(packer *k)
{
    cfx_status st = CFX_OK;
    layers a;
    for (cfx_node *n = cfx_graph_first(k->p->graph), *next; n && !st;
         n = next) {
        next = cfx_node_next(n);
        if (find_layers(n, &a))
            st = pack_layers(k, &a);
    }
    return st;
}

/* Does n call a module that pack_layers can take? */
static bool is_module(cfx_pass_call *p, const cfx_node *n)
{
    static const char *const classes[] = {"LSTM", "GRU", "RNN"};
    const cfx_module *m = cfx_pass__module(p, n);
    bool found = false;
    for (int i = 0; m && i < 3 && !found; i++)
        found = !strcmp(cfx_module_class_name(m), classes[i]);
    return found && !cfx_attr_int(m, "proj_size");
}

static cfx_status inline_modules(cfx_pass_call *p)
{
    cfx_retracer r = {.p = p};
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph), *next; n && !st; n = next) {
        bool done;
        next = cfx_node_next(n);
        if (is_module(p, n))
            st = cfx_retracer__inline(&r, n, &next, &done);
    }
    cfx_retracer__release(&r);
    return st;
}

static cfx_status pack_recurrent_run(cfx_pass_call *p)
{
    packer k = {.p = p};
    cfx_arena_init(&k.memory, p->ctx);
    for (int i = 0; i < FORMS; i++)
        cfx_map_init(&k.made[i], p->ctx);
    cfx_status st = inline_modules(p);
    if (!st)
        st = cfx_frozen__init(&k.frozen, p);
    if (!st)
        st = pack_all(&k);
    cfx_frozen__release(&k.frozen);
    for (int i = 0; i < FORMS; i++)
        cfx_map_release(&k.made[i]);
    cfx_arena_release(&k.memory);
    if (!st && p->changed)
        st = cfx_graph_eliminate_dead_code(p->graph, NULL, NULL, p->err);
    if (!st && p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

const cfx_pass cfx_pass__pack_recurrent = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "pack_recurrent()",
    .doc = "Compute recurrent layers with constant weights by packed weights.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = pack_recurrent_run,
};
