#define _POSIX_C_SOURCE 200809L
/*
 * registry_test -- walks all operators and module types: each has what a
 * descriptor must have, and every parameter changes the result of some golden
 * case. Arguments: the golden files.
 *
 * A case shows that a parameter matters: with that parameter at its default it
 * must give something else.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>

#include "tests/cases/case.h"
#include "tests/cases/program.h"

enum { MAX_SIGNATURES = 4096 };

/* A signature and which of its parameters are known to matter. */
struct signature {
    const cfx_schema *schema;
    bool seen; /* a case is bound by it */
    bool matters[CFX_MAX_PARAMS];
};

struct walk {
    cfx_context *ctx;
    struct signature *known;
    size_t n;
    int passed, failed;
};

/* Parameters that cannot change a forward result, in PyTorch as here; of
 * signatures that begin so, "": of all. */
static const struct {
    const char *of, *param, *why;
} idle[] = {
    {"", "requires_grad", "gradients only"},
    {"", "sparse", "the layout of gradients"},
    {"", "scale_grad_by_freq", "gradients only"},
    {"", "sparse_grad", "the layout of gradients"},
    {"", "pin_memory", "where memory lies, for other devices"},
    {"", "non_blocking", "when a copy between devices ends"},
    {"", "cudnn_enabled", "which library computes, elsewhere"},
    {"", "cudnn_enable", "which library computes, elsewhere"},
    {"", "device", "there is one"},
    {"", "layout", "there is one"},
    {"", "generator", "None is the only value"},
    {"", "_stacklevel", "where a warning points to"},
    {"", "implicit", "who asked for it"},
    {"embedding(", "padding_idx", "gradients only"},
    {"torch.nn.functional.embedding(", "padding_idx", "gradients only"},
    {"Embedding(", "padding_idx", "gradients only"},
    {"PReLU(", "init", "weights are loaded"},
    {"Identity(", "unused", "as it says"},
    {"MovingAveragePerChannelMinMaxObserver(", "averaging_constant",
     "from the second call on, see observers_test"},
    {"PlaceholderObserver(", NULL, "nothing is recorded"},
    {"Quantized", "padding_mode", "only zeros are quantized"},
    {"Quantized", "dtype", "that of the weight"},
    {"Quantized", "qscheme", "that of the weight"},
    {"DynamicQuantizedLSTM(", "dropout", "of training"},
    {"DynamicQuantizedGRU(", "dropout", "of training"},
    {"DynamicQuantized", "dtype", "that of the weight"},
    {"DynamicQuantized", "qscheme", "that of the weight"},
    {"QuantizedBatchNorm2d(", "momentum", "statistics are those of training"},
    {"QuantizedBatchNorm2d(", "track_running_stats", "they are always used"},
    {"QuantizedConvReLU", NULL, "scales of cases are negative"},
    {"QuantizedLinearReLU(", NULL, "scales of cases are negative"},
    {"QuantizedBNReLU2d(", NULL, "scales of cases are negative"},
    {"SyncBatchNorm(", "momentum", "of training, which is refused"},
    {"linalg_ldl_", "hermitian", "of complex numbers"},
    {"svd_lowrank(", "niter", "how near a random projection comes"},
    {"pca_lowrank(", "niter", "how near a random projection comes"},
    {"_add_batch_dim(", NULL, "within vmap only: golden/pt2/vmap"},
    {"_remove_batch_dim(", NULL, "within vmap only: golden/pt2/vmap"},
    {"_vmap_increment_nesting(", NULL, "marks compute nothing"},
    {"_ctc_loss", "zero_infinity", "gradients only"},
    {"_lu_with_info(", "check_errors", "PyTorch ignores it"},
    {"BCE", "weight", "a buffer, which no case can give"},
    {"BCEWithLogitsLoss(", "pos_weight", "a buffer"},
    {"NLLLoss(", "weight", "a buffer"},
    {"CrossEntropyLoss(", "weight", "a buffer"},
    {"MultiMarginLoss(", "weight", "a buffer"},
    {"MultiLabelSoftMarginLoss(", "weight", "a buffer"},
    {"Upsampling", "mode", "repr shows it; the constructor has none"},
    {"topk(", "sorted", "otherwise any order will do"},
    {"sort", "stable", "sorting always is"},
    {"argsort", "stable", "sorting always is"},
    {"_histogramdd_bin_edges(", "weight", "edges are those of the points"},
    {"_histogramdd_bin_edges(", "density", "edges are those of the points"},
    {"isin", "assume_unique", "a hint"},
    {"torch.isin", "assume_unique", "a hint"},
    {"aten.isin", "assume_unique", "a hint"},
    {"unique", "sorted", "they always are"},
    {"_unique", "sorted", "they always are"},
    {"unique_dim", "return_inverse", "it always is"},
    {"unique_dim", "return_counts", "they always are"},
    {"py_assert(", "message", "of the error only"},
    {"py_log_usage(", "event", "nothing is logged"},
    {"_check_is_size(", "message", "of the error only"},
    {"_set_grad_enabled(", NULL, "there are no gradients"},
    {"_exit_inference_mode(", NULL, "there are no gradients"},
    {"_record_function_", NULL, "there is no profiler to mark for"},
    {"_backend_from_string(", NULL, "there is one implementation"},
    {"_sdpa_kernel(", NULL, "there is one implementation"},
    {"_enter_autocast(", NULL, "only accepted where it is off"},
    {"_exit_autocast(", NULL, "autocast is off"},
    {"cond(", NULL, "takes graphs, see control_golden_test"},
    {"while_loop(", NULL, "takes graphs"},
    {"map_impl(", NULL, "takes graphs"},
    {"scan(", NULL, "takes graphs"},
    {"associative_scan(", NULL, "takes graphs"},
    {"wrap_with_", NULL, "takes graphs"},
    {"invoke_subgraph(", NULL, "takes graphs"},
    {"_trilinear(", "unroll_dim", "in which order sums are added"},
    {"max_unpool3d.size(", "stride", "ATen only checks it"},
    {"max_unpool3d.size(", "padding", "ATen only checks it"},
    {"istft(", "onesided", "only checked: the extents tell it"},
    {"_scaled_dot_product_flash_attention_for_cpu(", "dropout_p",
     "PyTorch refuses another than 0"},
    {"torchvision.", NULL, "not of PyTorch"},
    {"shifted_window_attention(", "attention_dropout", "random in training"},
    {"shifted_window_attention(", "dropout", "random in training"},
    {"shifted_window_attention(", "training", "random in training"},
};

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && !memcmp(at, word, n))
            return true;
    }
    return false;
}

static bool is_idle(const char *signature, const char *param)
{
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
        if (!strncmp(signature, idle[i].of, strlen(idle[i].of)) &&
            (!idle[i].param || !strcmp(idle[i].param, param)))
            return true;
    return false;
}

/* Arguments that are only accepted at their defaults, or only checked: a case
 * that must fail. */
static const struct {
    const char *param, *line;
} refused[] = {
    {"_weight", "EmbeddingBag(10, 3, _weight=1)(i64[2,2]#0:9)"},
    {"options", "torch.nn.functional.linear_cross_entropy(f32[5,3], "
                "f32[4,3], i64[5]#0:4, options=1)"},
    {"mode", "torch.hash_tensor(f32[3], mode=1)"},
    {"bias", "torch._grouped_mm(f32[2,4,8], f32[2,8,4], bias=f32[2,4])"},
    {"bias", "torch.nn.functional.grouped_mm(f32[2,4,8], f32[2,8,4], "
             "bias=f32[2,4])"},
    {"out_dtype", "torch._grouped_mm(f32[2,4,8], f32[2,8,4], "
                  "out_dtype=torch.bfloat16)"},
    {"out_dtype", "torch.nn.functional.grouped_mm(f32[2,4,8], f32[2,8,4], "
                  "out_dtype=torch.bfloat16)"},
    {"driver", "torch.linalg.svdvals(f32[2,2], driver='gesvd')"},
    {"driver", "torch.linalg.svd(f32[2,2], driver='gesvd')"},
    {"driver", "torch.ops.aten._linalg_svd.default(f32[2,2], "
               "driver='gesvd')"},
    {"pivot", "torch.linalg.lu_factor(f32[2,2], pivot=False)"},
    {"pivot", "torch.linalg.lu_factor_ex(f32[2,2], pivot=False)"},
    {"pivot", "torch._lu_with_info(f32[2,2], False)"},
    {"pivot", "torch.functional.lu(f32[2,2], pivot=False)"},
    {"pivot", "torch.linalg.lu(f32[2,2], pivot=False)"},
    {"check_errors", "torch.linalg.cholesky_ex(f32[2,2,2]={4,2,2,3,1,2,2,1}, "
                     "check_errors=True)"},
    {"check_errors", "torch.linalg.lu_factor_ex(f32[2,2]={1,2,2,4}, "
                     "check_errors=True)"},
    {"check_errors", "torch.linalg.ldl_factor_ex(f32[2,2]={0}, "
                     "check_errors=True)"},
    {"check_errors", "torch.linalg.inv_ex(f32[2,2]={1,2,2,4}, "
                     "check_errors=True)"},
    {"check_errors", "torch.linalg.solve_ex(f32[2,2]={1,2,2,4}, f32[2], "
                     "check_errors=True)"},
    {"check_errors", "torch.ops.aten._linalg_solve_ex.default("
                     "f32[2,2]={1,2,2,4}, f32[2], check_errors=True)"},
    {"padding_mode", "ConvTranspose1d(2, 2, 3, padding_mode='reflect')"
                     "(f32[1,2,4])"},
    {"padding_mode", "ConvTranspose2d(2, 2, 3, padding_mode='reflect')"
                     "(f32[1,2,4,4])"},
    {"padding_mode", "ConvTranspose3d(2, 2, 3, padding_mode='reflect')"
                     "(f32[1,2,4,4,4])"},
    {"padding_mode", "ReferenceConv1d(2, 3, 2, padding_mode='mirror')"
                     "(f32[1,2,5])"},
    {"padding_mode", "ReferenceConv2d(2, 3, 2, padding_mode='mirror')"
                     "(f32[1,2,5,4])"},
    {"padding_mode", "ReferenceConv3d(2, 3, 2, padding_mode='mirror')"
                     "(f32[1,2,3,4,3])"},
    {"padding_mode", "ReferenceConvTranspose1d(2, 3, 2, "
                     "padding_mode='reflect')(f32[1,2,5])"},
    {"padding_mode", "ReferenceConvTranspose2d(2, 3, 2, "
                     "padding_mode='reflect')(f32[1,2,5,4])"},
    {"padding_mode", "ReferenceConvTranspose3d(2, 3, 2, "
                     "padding_mode='reflect')(f32[1,2,3,4,3])"},
    {"training", "torch.rrelu(f16[3], training=True)"},
    {"training", "torch.nn.functional.rrelu(f16[3], training=True)"},
    {"dropout_p", "torch.nn.functional.scaled_dot_product_attention("
                  "f32[1,2,3,4], f32[1,2,3,4], f32[1,2,3,4], dropout_p=0.5)"},
    {"dropout", "LSTM(3, 4, 2, dropout=0.5).train()(f32[2,3])"},
    {"dropout", "GRU(3, 4, 2, dropout=0.5).train()(f32[2,3])"},
    {"dropout", "RNN(3, 4, 2, dropout=0.5).train()(f32[2,3])"},
    {"indices", "torch.segment_reduce(f32[6], 'sum', lengths=i64[1]={6}, "
                "indices=i64[6])"},
    {"compute_mode", "torch.cdist(f32[3,4], f32[2,4], compute_mode='x')"},
    {"output_size", "torch.repeat_interleave(f32[3], 2, output_size=7)"},
    {"output_size", "torch.repeat_interleave(f32[2], i64[2]={1,2}, "
                    "output_size=7)"},
    {"output_size", "torch.repeat_interleave(i64[2]={1,2}, output_size=7)"},
    {"size", "torch._assert_tensor_metadata(f32[2], [3])"},
    {"stride", "torch._assert_tensor_metadata(f32[2], stride=[3])"},
    {"dtype", "torch._assert_tensor_metadata(f32[2], dtype=torch.int64)"},
    {"min", "torch.sym_constrain_range(3, min=4)"},
    {"max", "torch.sym_constrain_range(3, max=2)"},
    {"min", "torch.sym_constrain_range_for_size(3, min=4)"},
    {"max", "torch.sym_constrain_range_for_size(8, max=7)"},
    {"max", "torch._check_is_size(3, max=2)"},
};

static void check(struct walk *w, bool ok, const char *what, const char *name,
                  const char *detail)
{
    if (ok) {
        w->passed++;
        return;
    }
    w->failed++;
    printf("%.*s: %s%s\n", (int)strcspn(name, "("), name, what, detail);
}

static struct signature *signature_of(struct walk *w, const cfx_schema *s)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->known[i].schema == s)
            return &w->known[i];
    if (w->n == MAX_SIGNATURES)
        abort();
    w->known[w->n] = (struct signature){.schema = s};
    return &w->known[w->n++];
}

/* ---- A case, with some argument at its default ---- */

/* The signature that takes the arguments. */
enum part { CALL, CONSTRUCTOR, FORWARD };

struct trial {
    struct walk *w;
    const char *line;
    enum part part;
    const cfx_target *target; /* of CALL, without the rest of its chain */
    int without;              /* the parameter; -1: none */
    bool training;
};

/* Arguments by signature as a call would give them. */
struct spelled {
    cfx_value args[CFX_MAX_PARAMS], kwargs[2 * CFX_MAX_PARAMS];
    size_t nargs, nkwargs;
};

static void spell(struct spelled *a, cfx_scope *s, const cfx_schema *schema,
                  const cfx_value *in, int without)
{
    *a = (struct spelled){.nargs = (size_t)schema->npositional};
    for (int k = 0; k < schema->nparams; k++) {
        cfx_value v = k == without ? schema->params[k].init : in[k];
        if (k < schema->npositional) {
            a->args[k] = v;
            continue;
        }
        a->kwargs[2 * a->nkwargs] = cfx_str(s, schema->params[k].name);
        a->kwargs[2 * a->nkwargs++ + 1] = v;
    }
}

/* Bind and spell again; false where that is not possible. */
static bool respell(struct spelled *a, cfx_bound *b, const struct trial *t,
                    cfx_scope *s, const cfx_schema *schema,
                    const cfx_value *args, size_t nargs,
                    const cfx_value *kwargs, size_t nkwargs, int without)
{
    if (cfx_bind_schema(b, t->w->ctx, schema,
                        (cfx_args){args, nargs, kwargs, nkwargs}, NULL))
        return false;
    spell(a, s, schema, b->in, without);
    return true;
}

static const cfx_schema *schema_of(const struct trial *t, const op_case *c)
{
    const cfx_schema *forward = NULL;
    if (t->part == CALL)
        return t->target->variant;
    if (t->part == CONSTRUCTOR)
        return cfx_module_schema(c->module);
    cfx_schema_parse(&forward, t->w->ctx,
                     cfx_module_type_of(c->module)->forward_schema, NULL);
    return forward;
}

/* Make the module anew with other arguments. */
static bool remake(op_case *c, const struct trial *t, const struct spelled *a)
{
    cfx_module *m;
    if (cfx_module_new(&m, t->w->ctx, cfx_module_type_of(c->module), NULL,
                       (cfx_args){a->args, a->nargs, a->kwargs, a->nkwargs},
                       NULL))
        return false;
    cfx_module_unref(c->module);
    c->module = m;
    return !cfx_module_randomize(m, 1, NULL);
}

/* Run; the result belongs to the scope. None after a failure. */
static cfx_value run(struct trial *t, op_case *c, cfx_scope *s)
{
    char why[256];
    cfx_bound b = {0};
    struct spelled a;
    cfx_value out = cfx_none();
    if (!case_read(c, s, t->line, strcspn(t->line, "\t"), why, sizeof(why)))
        return out;
    const cfx_schema *schema = schema_of(t, c);
    bool made = t->part == CONSTRUCTOR;
    cfx_context_seed(t->w->ctx, 1);
    if (!respell(&a, &b, t, s, schema, made ? c->made.args : c->args,
                 made ? c->made.nargs : c->nargs,
                 made ? c->made.kwargs : c->kwargs,
                 made ? c->made.nkwargs : c->nkwargs, t->without)) {
        cfx_scope_fail(s, CFX_EINVAL, "does not bind");
    } else if (t->part == CALL) {
        cfx_status st = cfx_scope_call_target(
            s, t->target, (cfx_args){a.args, a.nargs, a.kwargs, a.nkwargs},
            &out);
        out = st ? cfx_scope_fail(s, st, "fails") : cfx_scope_take(s, out);
    } else if (made && !remake(c, t, &a)) {
        cfx_scope_fail(s, CFX_EINVAL, "is not made");
    } else {
        cfx_module_train(c->module, c->training || t->training);
        cfx_status st = cfx_scope_call_module(
            s, c->module, NULL,
            (cfx_args){made ? c->args : a.args, made ? c->nargs : a.nargs,
                       made ? c->kwargs : a.kwargs,
                       made ? c->nkwargs : a.nkwargs},
            &out);
        out = st ? cfx_scope_fail(s, st, "fails") : cfx_scope_take(s, out);
    }
    cfx_bound_release(&b);
    return out;
}

static bool shares(cfx_value v, const cfx_tensor *t)
{
    return v.kind == CFX_TENSOR && cfx_tensor_shares(v.u.tensor, t);
}

/* Is something else left behind in the arguments and the module's state, or is
 * the result a view of other arguments? */
static bool same_traces(const op_case *a, cfx_value x, const op_case *b,
                        cfx_value y)
{
    for (size_t i = 0; i < a->ntensors; i++)
        if (!case_same(cfx_value_of_tensor(a->tensor[i]),
                       cfx_value_of_tensor(b->tensor[i])) ||
            shares(x, a->tensor[i]) != shares(y, b->tensor[i]))
            return false;
    size_t n = a->module ? cfx_module_nstate(a->module) : 0;
    for (size_t i = 0; i < n; i++) {
        const cfx_state *p = cfx_module_state_at(a->module, i);
        const cfx_state *q = cfx_module_state(b->module, p->name);
        if (p->tensor && q && q->tensor &&
            !case_same(cfx_value_of_tensor(p->tensor),
                       cfx_value_of_tensor(q->tensor)))
            return false;
    }
    return true;
}

/* Does the case give something else with parameter k at its default? */
static bool differs(struct trial *t, int k)
{
    op_case a, b;
    cfx_scope s, z;
    cfx_scope_init(&s, &cfx_eager_class, t->w->ctx, NULL);
    cfx_scope_init(&z, &cfx_eager_class, t->w->ctx, NULL);
    t->without = -1;
    cfx_value x = run(t, &a, &s);
    t->without = k;
    cfx_value y = run(t, &b, &z);
    bool other = !cfx_scope_failed(&s) &&
                 (cfx_scope_failed(&z) || !case_same(x, y) ||
                  !same_traces(&a, x, &b, y));
    case_release(&a);
    case_release(&b);
    cfx_scope_release(&s);
    cfx_scope_release(&z);
    return other;
}

/* ---- What a case shows ---- */

/* Look at every parameter that is given something of its own. */
static void learn(struct trial *t, const cfx_schema *schema,
                  const cfx_value *args, size_t nargs, const cfx_value *kwargs,
                  size_t nkwargs)
{
    struct signature *known = signature_of(t->w, schema);
    cfx_bound b = {0};
    if (!cfx_bind_schema(&b, t->w->ctx, schema,
                         (cfx_args){args, nargs, kwargs, nkwargs}, NULL)) {
        known->seen = true;
        for (int k = 0; k < schema->nparams; k++) {
            const cfx_param *p = &schema->params[k];
            if (known->matters[k] ||
                (!p->required && cfx_value_equal(b.in[k], p->init)))
                continue;
            t->training = false;
            known->matters[k] = p->required || differs(t, k);
            t->training = t->part == CONSTRUCTOR;
            if (!known->matters[k] && t->training)
                known->matters[k] = differs(t, k);
        }
    }
    cfx_bound_release(&b);
}

static void learn_call(struct walk *w, const char *line, const op_case *c)
{
    const cfx_target *chain = c->is_method
                                  ? cfx_find_method(w->ctx, c->target + 7)
                                  : cfx_find_function(w->ctx, c->target);
    cfx_bound b = {0};
    if (!chain ||
        cfx_bind(&b, w->ctx, chain,
                 (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, NULL))
        return;
    cfx_target one = *b.target;
    one.next = NULL;
    struct trial t = {.w = w, .line = line, .target = &one};
    learn(&t, one.variant, c->args, c->nargs, c->kwargs, c->nkwargs);
    cfx_bound_release(&b);
}

static void learn_line(void *user, const char *file, int number,
                       const char *line)
{
    struct walk *w = user;
    (void)file;
    (void)number;
    char why[256];
    op_case c;
    cfx_scope s;
    const char *tab = strchr(line, '\t');
    if (!tab || !strcmp(tab + 1, "error"))
        return;
    cfx_scope_init(&s, &cfx_eager_class, w->ctx, NULL);
    bool read = case_read(&c, &s, line, (size_t)(tab - line), why,
                          sizeof(why));
    if (read && !c.module) {
        learn_call(w, line, &c);
    } else if (read && !c.only_made) {
        struct trial t = {.w = w, .line = line, .part = CONSTRUCTOR};
        learn(&t, cfx_module_schema(c.module), c.made.args, c.made.nargs,
              c.made.kwargs, c.made.nkwargs);
        t.part = FORWARD;
        learn(&t, schema_of(&t, &c), c.args, c.nargs, c.kwargs, c.nkwargs);
    }
    case_release(&c);
    cfx_scope_release(&s);
}

static int param_named(const cfx_schema *s, const char *name)
{
    int k = s->nparams - 1;
    while (k >= 0 && strcmp(s->params[k].name, name))
        k--;
    return k;
}

static void mark_one(struct walk *w, const cfx_schema *s, const char *param)
{
    int k = param_named(s, param);
    if (k >= 0)
        signature_of(w, s)->matters[k] = true;
}

static void mark(struct walk *w, const cfx_target *t, const char *param)
{
    for (; t; t = t->next)
        mark_one(w, t->variant, param);
}

/* A case of the list above: it fails, and says so of the parameter. */
static void learn_refused(struct walk *w, const char *param, const char *line)
{
    char why[512];
    op_case c;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, w->ctx, NULL);
    const cfx_target *t = NULL;
    const cfx_module_type *type = NULL;
    const cfx_schema *schema[2] = {NULL};
    if (case_read(&c, &s, line, strlen(line), why, sizeof(why)))
        case_run(&c, &s);
    if (strchr(c.target, '.') && (t = cfx_find_function(w->ctx, c.target)))
        mark(w, t, param);
    else if ((type = cfx_find_module_type(w->ctx, c.target)) &&
             !cfx_schema_parse(&schema[0], w->ctx, type->schema, NULL) &&
             !cfx_schema_parse(&schema[1], w->ctx, type->forward_schema, NULL))
        for (int i = 0; i < 2; i++)
            mark_one(w, schema[i], param);
    check(w, cfx_scope_failed(&s), "should be refused: ", line, param);
    check(w, s.error.code != CFX_EUNSUPPORTED || strstr(s.error.text, param),
          "the error does not name it: ", line, s.error.text);
    case_release(&c);
    cfx_scope_release(&s);
}

/* ---- The walk ---- */

static bool matters(struct walk *w, const cfx_schema *s, const char *param)
{
    int k = s ? param_named(s, param) : -1;
    return k >= 0 && signature_of(w, s)->matters[k];
}

static bool seen(struct walk *w, const cfx_schema *s)
{
    return s && signature_of(w, s)->seen;
}

static const cfx_schema *variant_schema(struct walk *w, const cfx_op *op,
                                        const cfx_variant *v)
{
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(v->schema, "("),
             v->schema);
    const cfx_target *t = strncmp(name, "Tensor.", 7)
                              ? cfx_find_function(w->ctx, name)
                              : cfx_find_method(w->ctx, name + 7);
    while (t && (t->op != op || t->how != v))
        t = t->next;
    return t ? t->variant : NULL;
}

/* Does a parameter matter in a case of the operator, by whatever signature it
 * is called? Variants without `lower` map by name. What every call must give
 * matters where there is one. */
static bool matters_anywhere(struct walk *w, const cfx_op *op,
                             const cfx_param *p)
{
    const cfx_schema *own = cfx_op_schema(w->ctx, op);
    if (p->required ? seen(w, own) : matters(w, own, p->name))
        return true;
    for (const cfx_variant *v = op->variants; v && v->schema; v++) {
        const cfx_schema *s = variant_schema(w, op, v);
        if (p->required ? seen(w, s) : !v->lower && matters(w, s, p->name))
            return true;
    }
    return false;
}

static void walk_params(struct walk *w, const cfx_op *op, const cfx_schema *s,
                        const cfx_variant *v)
{
    const cfx_schema *own = cfx_op_schema(w->ctx, op);
    bool only_lowered = !v && !op->aliases && !op->inplace_aliases;
    for (int k = 0; k < s->nparams; k++) {
        const char *name = s->params[k].name;
        /* A parameter of a variant that its operator lacks is refused. */
        bool lacking = v && !v->lower && param_named(own, name) < 0 &&
                       strcmp(name, "inplace");
        if (is_idle(s->text, name) || lacking || only_lowered)
            continue;
        check(w,
              v && (v->lower || !strcmp(name, "inplace"))
                  ? matters(w, s, name)
                  : matters_anywhere(w, op, &s->params[k]),
              "no case depends on ", s->text, name);
    }
}

static void walk_op(struct walk *w, const cfx_op *op, const char *header)
{
    const cfx_schema *s = cfx_op_schema(w->ctx, op);
    check(w, s != NULL, "the schema does not parse", op->schema, "");
    if (!s)
        return;
    size_t n = op->doc ? strlen(op->doc) : 0;
    check(w, n && strchr(".?", op->doc[n - 1]), "has no sentence of doc",
          s->text, "");
    check(w, !op->infer != !op->call_graphs,
          "has neither or both of infer and call_graphs", s->text, "");
    /* Without run the results are views, no tensors, or numbers that stood in
     * the arguments. */
    const char *returns = strrchr(s->text, '>');
    check(w,
          op->run || s->returns_alias || !returns ||
              !strstr(returns, "Tensor") || strstr(s->text, "any data"),
          "has no run", s->text, "");
    check(w,
          (op->aliases && *op->aliases) || op->variants || op->inplace_aliases,
          "has no name", s->text, "");
    char function[128];
    snprintf(function, sizeof(function), " cfx_%s%s",
             *s->name == '_' ? "aten" : "", s->name);
    for (char *p = function; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    check(w, strstr(header, function), "has no C function", s->text, "");
    walk_params(w, op, s, NULL);
    for (const cfx_variant *v = op->variants; v && v->schema; v++) {
        const cfx_schema *vs = variant_schema(w, op, v);
        check(w, vs, "is not found by its name: ", s->text, v->schema);
        if (vs)
            walk_params(w, op, vs, v);
    }
}

/* Modules whose content only the text of a model tells (the zoo and
 * undecided.sh have some), or that only exports have. */
static bool has_no_case(const cfx_module_type *type)
{
    static const char *const name[] = {"TransformerEncoder(", "GuardsFn(",
                                       "ParametrizationList(", "_WeightNorm("};
    for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
        if (!strncmp(type->schema, name[i], strlen(name[i])))
            return true;
    return false;
}

/* Is it read only where an observer chooses parameters? observers_test has
 * cases of these. */
static bool is_of_qparams(const cfx_module_type *type, const char *name)
{
    return type->calculate_qparams &&
           (has_word(type->lazy, name) || has_word(type->implied, name));
}

static void walk_module(struct walk *w, const cfx_module_type *type)
{
    const char *const text[] = {type->schema, type->forward_schema};
    size_t n = type->doc ? strlen(type->doc) : 0;
    check(w, n && strchr(".?", type->doc[n - 1]), "has no sentence of doc",
          type->schema, "");
    check(w, type->container || (type->forward && type->forward_schema),
          "has no forward", type->schema, "");
    for (int i = 0; i < 2 && !type->container; i++) {
        const cfx_schema *s = NULL;
        for (size_t j = 0; j < w->n && !s; j++)
            if (!strcmp(w->known[j].schema->text, text[i]))
                s = w->known[j].schema;
        check(w, s || has_no_case(type), "no case has ", type->schema,
              text[i]);
        for (int k = 0; s && k < s->nparams; k++)
            if (!is_idle(type->schema, s->params[k].name) &&
                !is_of_qparams(type, s->params[k].name))
                check(w, matters(w, s, s->params[k].name),
                      "no case depends on ", type->schema, s->params[k].name);
    }
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = 0, cap = 1 << 22;
    char *text = malloc(cap);
    if (f && text)
        n = fread(text, 1, cap - 1, f);
    if (f)
        fclose(f);
    if (text)
        text[n] = '\0';
    return text;
}

TEST_PROGRAM(registry)
{
    static struct signature known[MAX_SIGNATURES];
    struct walk w = {.known = known};
    cfx_error err = {0};
    char path[512];
    const char *dir = getenv("builddir");
    if (cfx_context_new(&w.ctx, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++)
        w.failed += !case_lines(argv[i], NULL, learn_line, &w);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        learn_refused(&w, refused[i].param, refused[i].line);
    snprintf(path, sizeof(path), "%s/lib/cfx/ops.h", dir ? dir : ".");
    char *header = read_all(path);
    const cfx_op *op;
    for (size_t i = 0; header && (op = cfx_op_at(w.ctx, i)); i++)
        for (; op; op = op->next)
            walk_op(&w, op, header);
    const cfx_module_type *type;
    for (size_t i = 0; (type = cfx_module_type_at(w.ctx, i)); i++)
        walk_module(&w, type);
    free(header);
    cfx_context_free(w.ctx);
    printf("%d passed, %d failed\n", w.passed, w.failed);
    return w.failed || !w.passed;
}
