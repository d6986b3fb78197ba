/*
 * binding -- possible kinds of values, and possible signatures of calls.
 */
#include "interp/rewrite/binding.h"

#include <string.h>

#include "graph/graph_impl.h"
#include "op/op_impl.h"

#define NUMBERS                                                               \
    (1u << CFX_BOOL_VALUE | 1u << CFX_INT | 1u << CFX_SYMINT |                \
     1u << CFX_FLOAT | 1u << CFX_COMPLEX)
#define SEQUENCES (1u << CFX_TUPLE | 1u << CFX_LIST)

/* ---- Return types ---- */

/* Copy a type without the "(a!)" or "(a -> *)" after a word. */
static size_t without_alias(const char *at, char *buf, size_t size)
{
    size_t n = 0;
    for (char last = ' '; *at; last = *at, at++) {
        if (*at == '(' && last != ' ' && last != '(') {
            at += strcspn(at, ")");
            if (!*at)
                break;
            continue;
        }
        if (n + 1 < size)
            buf[n] = *at;
        n++;
    }
    if (size)
        buf[n < size ? n : size - 1] = '\0';
    return n;
}

/* The arrow of the result is the last one outside of brackets. */
static const char *result_text(const cfx_schema *s)
{
    const char *at = s->text + strlen(s->text);
    int depth = 0;
    while (at > s->text) {
        at--;
        depth += (*at == ')') - (*at == '(');
        if (!depth && at > s->text && *at == '>' && at[-1] == '-')
            return at + 1 + strspn(at + 1, " ");
    }
    return "";
}

size_t cfx_schema__returns(const cfx_schema *s, char *buf, size_t size)
{
    return without_alias(result_text(s), buf, size);
}

cfx_kinds cfx_schema__result(const cfx_schema *s)
{
    char type[256];
    size_t n = cfx_schema__returns(s, type, sizeof(type));
    if (!n || n >= sizeof(type))
        return CFX_ANY_KIND;
    if (!strcmp(type, "Tensor"))
        return CFX_TENSOR_KIND;
    if (!strcmp(type, "Tensor[]"))
        return (cfx_kinds){SEQUENCES, 1u << CFX_TENSOR};
    if (!strncmp(type, "(Tensor", 7))
        return (cfx_kinds){1u << CFX_TUPLE, 1u << CFX_TENSOR};
    if (!strcmp(type, "int") || !strcmp(type, "SymInt"))
        return (cfx_kinds){1u << CFX_INT | 1u << CFX_SYMINT, ~1u};
    if (!strcmp(type, "bool"))
        return (cfx_kinds){1u << CFX_BOOL_VALUE, ~1u};
    if (!strcmp(type, "float"))
        return (cfx_kinds){1u << CFX_FLOAT, ~1u};
    if (!strcmp(type, "Scalar"))
        return (cfx_kinds){NUMBERS, ~1u};
    return CFX_ANY_KIND;
}

/* ---- Candidates ---- */

const cfx_target *cfx_node__target(const cfx_node *n)
{
    cfx_context *ctx = cfx_graph_context(n->graph);
    const char *target = n->target->text;
    return n->op == CFX_CALL_FUNCTION ? cfx_find_function(ctx, target)
           : n->op == CFX_CALL_METHOD ? cfx_find_method(ctx, target)
                                      : NULL;
}

enum fit { NEVER, PERHAPS, CERTAIN };

static enum fit fit_node(const cfx_graph_kinds *k, const cfx_node *n,
                         uint32_t kinds, uint32_t item_kinds)
{
    cfx_kinds may = k && n->id < k->ids ? k->of[n->id] : CFX_ANY_KIND;
    if (!(may.self & kinds))
        return NEVER;
    if (may.self & ~kinds)
        return PERHAPS;
    if (!(may.self & SEQUENCES) || !item_kinds)
        return CERTAIN;
    return !(may.item & item_kinds) ? NEVER
           : may.item & ~item_kinds ? PERHAPS
                                    : CERTAIN;
}

/* Check an argument with nodes; its literals were checked by the binder. */
static enum fit fit_value(const cfx_graph_kinds *k, const cfx_target *t,
                          int param, cfx_value v)
{
    const cfx_param *p = &t->schema->params[param];
    enum fit all = CERTAIN;
    if (v.kind == CFX_NODE)
        return fit_node(k, v.u.node, cfx_target__kinds(t, param),
                        p->list ? p->item_kinds : 0);
    if (!p->list || !cfx_value_is_seq(v))
        return CERTAIN;
    for (uint32_t i = 0; i < v.u.seq->len; i++) {
        cfx_value one = v.u.seq->item[i];
        enum fit f = one.kind == CFX_NODE
                         ? fit_node(k, one.u.node, p->item_kinds, 0)
                         : CERTAIN;
        all = f < all ? f : all;
    }
    return all;
}

/* Are all operands certainly numbers, where one must be a tensor? */
static bool lack_tensor(const cfx_graph_kinds *k, const cfx_schema *s,
                        const cfx_value *in)
{
    for (int i = 0; i < s->nparams; i++)
        if (s->operands >> i & 1 &&
            (in[i].kind == CFX_NODE
                 ? fit_node(k, in[i].u.node, 1u << CFX_TENSOR, 0) != NEVER
                 : in[i].kind == CFX_TENSOR))
            return false;
    return s->operands != 0;
}

static enum fit fit_call(const cfx_graph_kinds *k, const cfx_target *t,
                         const cfx_value *in)
{
    enum fit all = lack_tensor(k, t->schema, in) ? NEVER : CERTAIN;
    for (int i = 0; i < t->schema->nparams && all != NEVER; i++) {
        enum fit f = fit_value(k, t, i, in[i]);
        all = f < all ? f : all;
    }
    return all;
}

/* True if a parameter of that type gets a value that is certainly a tensor. */
static bool takes_tensor(const cfx_graph_kinds *k, const cfx_schema *s,
                         const cfx_value *in, cfx_type_base base)
{
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].base == base && in[i].kind == CFX_NODE &&
            in[i].u.node->id < k->ids &&
            k->of[in[i].u.node->id].self == 1u << CFX_TENSOR)
            return true;
    return false;
}

/* Python's sequence operators accept any value last, after the tensor
 * overloads. They do not apply to tensors. */
cfx_status cfx_call__candidates(const cfx_graph_kinds *k,
                                const cfx_target *chain, const cfx_value *args,
                                size_t nargs, const cfx_value *kwargs,
                                size_t nkwargs, cfx_candidate_fn *fn,
                                void *user, cfx_error *err)
{
    enum fit f = NEVER;
    bool for_tensors = false;
    cfx_status st = CFX_OK;
    for (const cfx_target *t = chain; t && f != CERTAIN && !st; t = t->next) {
        cfx_target one = *t;
        cfx_bound b = {0};
        one.next = NULL;
        cfx_status bound = cfx_bind(
            &b, k->ctx, &one, (cfx_args){args, nargs, kwargs, nkwargs}, NULL);
        if (bound == CFX_ENOMEM)
            return cfx_no_memory(err);
        if (bound)
            continue;
        f = for_tensors && takes_tensor(k, t->schema, b.in, CFX_T_ANY)
                ? NEVER
                : fit_call(k, t, b.in);
        if (f != NEVER)
            st = fn(user, t, &b);
        for_tensors |= f != NEVER &&
                       takes_tensor(k, t->schema, b.in, CFX_T_TENSOR);
        cfx_bound_release(&b);
    }
    return st;
}

cfx_status cfx_node__candidates(const cfx_graph_kinds *k, const cfx_node *n,
                                cfx_candidate_fn *fn, void *user,
                                cfx_error *err)
{
    return cfx_call__candidates(k, cfx_node__target(n), n->args, n->nargs,
                                n->kwargs, n->nkwargs, fn, user, err);
}

/* ---- Propagating kinds through a graph ---- */

static cfx_kinds of_value(const cfx_graph_kinds *k, cfx_value v)
{
    return v.kind == CFX_NODE ? k->of[v.u.node->id]
                              : (cfx_kinds){1u << v.kind, ~1u};
}

/* The union of the results of several signatures. */
struct results {
    const cfx_graph_kinds *k;
    cfx_kinds all;
};

/* The kinds of an item of a sequence. An item of a tensor is a tensor. */
static cfx_kinds of_item(const cfx_graph_kinds *k, const cfx_bound *b)
{
    cfx_kinds of = of_value(k, b->in[0]);
    if (of.self == 1u << CFX_TENSOR)
        return CFX_TENSOR_KIND;
    if (!(of.self & ~SEQUENCES) && b->in[1].kind == CFX_INT)
        return (cfx_kinds){of.item, ~1u};
    return CFX_ANY_KIND;
}

extern const cfx_op cfx_op__getitem;

static cfx_status add_result(void *user, const cfx_target *t,
                             const cfx_bound *b)
{
    struct results *r = user;
    cfx_kinds one = t->op == &cfx_op__getitem ? of_item(r->k, b)
                                              : cfx_schema__result(t->schema);
    r->all.self |= one.self;
    r->all.item |= one.item;
    return CFX_OK;
}

static cfx_kinds of_type(const cfx_node *n)
{
    const char *type = n->type ? n->type->text : "";
    if (!strcmp(type, "torch.Tensor"))
        return CFX_TENSOR_KIND;
    if (!strcmp(type, "int"))
        return (cfx_kinds){1u << CFX_INT | 1u << CFX_SYMINT, ~1u};
    return CFX_ANY_KIND;
}

/* True if shape propagation stored a tensor. */
static bool has_tensor_meta(const cfx_node *n)
{
    static const char *const keys[] = {"val", "tensor_meta", "example_value"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (cfx_node_meta(n, keys[i]).kind == CFX_TENSOR)
            return true;
    return false;
}

static cfx_kinds of_placeholder(const cfx_node *n, bool tensors)
{
    bool star = *n->target->text == '*';
    if (tensors && !star && !n->type && !n->nargs)
        return CFX_TENSOR_KIND;
    return of_type(n);
}

/* Derive the kinds from the forward of the module's type. */
static cfx_kinds of_module(const cfx_node *n)
{
    const cfx_module *root = cfx_graph_owning_module(n->graph);
    const cfx_module *m = root ? cfx_module_at(root, n->target->text) : NULL;
    const cfx_module_type *type = m ? cfx_module_type_of(m) : NULL;
    const cfx_schema *s;
    if (!type || !type->forward_schema || cfx_graph_module_graph(m) ||
        cfx_schema_parse(&s, cfx_graph_context(n->graph), type->forward_schema,
                         NULL))
        return CFX_ANY_KIND;
    return cfx_schema__result(s);
}

static cfx_kinds of_attr(const cfx_node *n)
{
    const cfx_module *root = cfx_graph_owning_module(n->graph);
    cfx_value v = CFX_NOTHING;
    if (!root || cfx_module_fetch_attr(&v, root, n->target->text, NULL))
        return CFX_ANY_KIND;
    return v.kind == CFX_TENSOR ? CFX_TENSOR_KIND : CFX_ANY_KIND;
}

static cfx_status find_kind(cfx_graph_kinds *k, const cfx_node *n,
                            bool tensors, cfx_error *err)
{
    cfx_kinds *out = &k->of[n->id];
    *out = CFX_ANY_KIND;
    if (has_tensor_meta(n))
        *out = CFX_TENSOR_KIND;
    else if (n->op == CFX_PLACEHOLDER)
        *out = of_placeholder(n, tensors);
    else if (n->op == CFX_GET_ATTR)
        *out = of_attr(n);
    else if (n->op == CFX_CALL_MODULE)
        *out = of_module(n);
    else if (n->op != CFX_OUTPUT) {
        struct results r = {k, {0, 0}};
        cfx_status st = cfx_node__candidates(k, n, add_result, &r, err);
        if (st)
            return st;
        if (r.all.self)
            *out = r.all;
    }
    return CFX_OK;
}

cfx_status cfx_graph_kinds__init(cfx_graph_kinds *k, const cfx_graph *g,
                                 bool tensors, cfx_error *err)
{
    *k = (cfx_graph_kinds){.ctx = cfx_graph_context(g),
                           .ids = cfx_graph_ids(g)};
    k->of = cfx_calloc(k->ctx, (size_t)k->ids + 1, sizeof(*k->of));
    cfx_status st = k->of ? CFX_OK : cfx_no_memory(err);
    for (uint32_t i = 0; i < k->ids && !st; i++)
        k->of[i] = CFX_ANY_KIND;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n))
        st = find_kind(k, n, tensors, err);
    return st;
}

void cfx_graph_kinds__release(cfx_graph_kinds *k)
{
    if (k->ctx)
        cfx_free(k->ctx, k->of, ((size_t)k->ids + 1) * sizeof(*k->of));
    *k = (cfx_graph_kinds){0};
}

/* ---- The type of a result ---- */

static cfx_status known_value(void *user, cfx_value v, cfx_value *out)
{
    (void)user;
    *out = cfx_value_ref(v.kind == CFX_NODE ? cfx_node__known(v.u.node) : v);
    return out->kind ? CFX_OK : CFX_EINVAL;
}

/* The values with what is known of nodes, as a tuple; absent: something is not. */
static cfx_value known_values(cfx_context *ctx, const cfx_value *v, size_t n)
{
    cfx_value all = cfx_tuple_new(ctx, n, v), known = CFX_NOTHING;
    if (all.kind && cfx_value_map(&known, ctx, all, known_value, NULL, NULL))
        known = CFX_NOTHING;
    cfx_value_unref(all);
    return known;
}

static bool have_same_type(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]);
    return same;
}

bool cfx_call__gives(cfx_context *ctx, const cfx_target *t, cfx_args a,
                     const cfx_tensor *want)
{
    cfx_value args = known_values(ctx, a.args, a.nargs), y = CFX_NOTHING;
    cfx_value kwargs = known_values(ctx, a.kwargs, 2 * a.nkwargs);
    cfx_scope s;
    cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
    bool same = args.kind && kwargs.kind &&
                !cfx_scope_call_target(&s, t,
                                       (cfx_args){args.u.seq->item, a.nargs,
                                                  kwargs.u.seq->item,
                                                  a.nkwargs},
                                       &y) &&
                y.kind == CFX_TENSOR && have_same_type(y.u.tensor, want);
    cfx_value_unref(y);
    cfx_scope_release(&s);
    cfx_value_unref(kwargs);
    cfx_value_unref(args);
    return same;
}
