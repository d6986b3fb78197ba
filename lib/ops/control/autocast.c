/*
 * autocast -- wrap_with_autocast: within its graph, operators that PyTorch lists for
 * the CPU (aten/src/ATen/autocast_mode.cpp) get their float arguments in another
 * type. The lists are PyTorch's, so they stand here and not with the operators; their
 * names are those of the operators that PyTorch's names are spellings of.
 *
 * While it is on, the scope passes each bound call to call_cast. The calls that an
 * operator makes itself are not cast: composites that PyTorch makes of listed ones
 * are rows here, too.
 */
#include "ops/control/control.h"

#include <string.h>

#include "op/composite.h"
#include "op/scope_impl.h"

typedef enum policy {
    UNLISTED,
    LOWER,      /* all in the type of autocast */
    FLOAT32,    /* all in float32 */
    WIDEST,     /* float32 if one of them is */
    UNSUPPORTED /* PyTorch makes them of operators with other policies */
} policy;

typedef struct row {
    const char *name;
    policy policy;
    policy (*decide)(const cfx_value *in); /* by the arguments; or NULL */
} row;

/* PyTorch computes the inner product of two vectors by dot, which its lists lack,
 * and others by a matrix product. */
static policy decide_inner(const cfx_value *in)
{
    return in[0].u.tensor->rank > 1 ? LOWER : UNLISTED;
}

/* PyTorch calls reflection_pad and replication_pad for these modes; both are on its
 * list for float32. */
static policy decide_pad(const cfx_value *in)
{
    const char *mode = in[2].u.str->text;
    return !strcmp(mode, "reflect") || !strcmp(mode, "replicate") ? FLOAT32
                                                                  : UNLISTED;
}

/* Is the axis of a letter in the subscripts of an operand known to have extent 1? */
static bool has_extent_1(const char *s, const char *end, char letter,
                         const cfx_tensor *t)
{
    int letters = 0, axis = 0;
    for (const char *c = s; c < end; c++)
        letters += *c != ' ' && *c != '.';
    for (; s < end && *s != letter; s++)
        if (*s == '.' && s[1] == '.' && s[2] == '.')
            axis += t->rank - letters;
        else
            axis += *s != ' ' && *s != '.';
    return axis >= 0 && axis < t->rank && cfx_dim_is(t->shape[axis], 1);
}

/* PyTorch calls bmm for two operands if a letter that both have, with other extents
 * than 1, is summed over, and mul otherwise. Several operands are a chain of both. */
static policy decide_einsum(const cfx_value *in)
{
    const char *text = in[0].u.str->text, *comma = strchr(text, ',');
    const char *arrow = strstr(text, "->");
    const char *end = arrow ? arrow : text + strlen(text);
    const cfx_value *x = in[1].u.seq->item;
    if (in[1].u.seq->len != 2 || !comma)
        return in[1].u.seq->len < 2 ? UNLISTED : UNSUPPORTED;
    for (const char *c = text; c < comma; c++)
        if (*c != ' ' && *c != '.' && strchr(comma, *c) &&
            (!arrow || (strchr(comma, *c) < arrow && !strchr(arrow, *c))) &&
            !has_extent_1(text, comma, *c, x[0].u.tensor) &&
            !has_extent_1(comma + 1, end, *c, x[1].u.tensor))
            return LOWER;
    return UNLISTED;
}

static const row rows[] = {
    {"_native_multi_head_attention", LOWER, NULL},
    {"adaptive_avg_pool3d", FLOAT32, NULL},
    {"adaptive_max_pool3d", FLOAT32, NULL},
    {"addbmm", LOWER, NULL},
    {"addmm", LOWER, NULL},
    {"avg_pool3d", FLOAT32, NULL},
    {"baddbmm", LOWER, NULL},
    {"binary_cross_entropy", FLOAT32, NULL},
    {"binary_cross_entropy_with_logits", FLOAT32, NULL},
    {"bmm", LOWER, NULL},
    {"cat", WIDEST, NULL},
    {"cdist", FLOAT32, NULL},
    {"chain_matmul", LOWER, NULL},
    {"cholesky", FLOAT32, NULL},
    {"cholesky_inverse", FLOAT32, NULL},
    {"cholesky_solve", FLOAT32, NULL},
    {"conv1d", LOWER, NULL},
    {"conv2d", LOWER, NULL},
    {"conv3d", LOWER, NULL},
    {"conv_tbc", LOWER, NULL},
    {"conv_transpose1d", LOWER, NULL},
    {"conv_transpose2d", LOWER, NULL},
    {"conv_transpose3d", LOWER, NULL},
    {"cosine_embedding_loss", FLOAT32, NULL},
    {"cross_entropy", FLOAT32, NULL},
    {"ctc_loss", FLOAT32, NULL},
    {"einsum", LOWER, decide_einsum},
    {"fake_quantize_per_tensor_affine", FLOAT32, NULL},
    {"fft_fft", FLOAT32, NULL},
    {"fft_fft2", FLOAT32, NULL},
    {"fft_fftn", FLOAT32, NULL},
    {"fft_hfft", FLOAT32, NULL},
    {"fft_ifft", FLOAT32, NULL},
    {"fft_ifft2", FLOAT32, NULL},
    {"fft_ifftn", FLOAT32, NULL},
    {"fft_ihfft", FLOAT32, NULL},
    {"fft_irfft", FLOAT32, NULL},
    {"fft_irfft2", FLOAT32, NULL},
    {"fft_irfftn", FLOAT32, NULL},
    {"fft_rfft", FLOAT32, NULL},
    {"fft_rfft2", FLOAT32, NULL},
    {"fft_rfftn", FLOAT32, NULL},
    {"fractional_max_pool2d", FLOAT32, NULL},
    {"fractional_max_pool3d", FLOAT32, NULL},
    {"geqrf", FLOAT32, NULL},
    {"grid_sample", FLOAT32, NULL},
    {"gru", UNSUPPORTED, NULL},
    {"gru_cell", UNSUPPORTED, NULL},
    {"hinge_embedding_loss", FLOAT32, NULL},
    {"huber_loss", FLOAT32, NULL},
    {"index_copy", WIDEST, NULL},
    {"inner", LOWER, decide_inner},
    {"inverse", FLOAT32, NULL},
    {"kl_div", FLOAT32, NULL},
    {"l1_loss", FLOAT32, NULL},
    {"linalg_cholesky", FLOAT32, NULL},
    {"linalg_cholesky_ex", FLOAT32, NULL},
    {"linalg_cond", FLOAT32, NULL},
    {"linalg_eig", FLOAT32, NULL},
    {"linalg_eigh", FLOAT32, NULL},
    {"linalg_eigvals", FLOAT32, NULL},
    {"linalg_eigvalsh", FLOAT32, NULL},
    {"linalg_householder_product", FLOAT32, NULL},
    {"linalg_inv", FLOAT32, NULL},
    {"linalg_inv_ex", FLOAT32, NULL},
    {"linalg_lstsq", FLOAT32, NULL},
    {"linalg_lu_solve", FLOAT32, NULL},
    {"linalg_matrix_power", UNSUPPORTED, NULL},
    {"linalg_matrix_rank", FLOAT32, NULL},
    {"linalg_multi_dot", LOWER, NULL},
    {"linalg_pinv", UNSUPPORTED, NULL},
    {"linalg_qr", FLOAT32, NULL},
    {"linalg_solve", FLOAT32, NULL},
    {"linalg_svd", FLOAT32, NULL},
    {"linalg_svdvals", FLOAT32, NULL},
    {"linalg_tensorinv", FLOAT32, NULL},
    {"linalg_tensorsolve", FLOAT32, NULL},
    {"linalg_trace", FLOAT32, NULL},
    {"linalg_vecdot", LOWER, NULL},
    {"linear", LOWER, NULL},
    {"lstm", UNSUPPORTED, NULL},
    {"lstm_cell", UNSUPPORTED, NULL},
    {"margin_ranking_loss", FLOAT32, NULL},
    {"matmul", LOWER, NULL},
    {"max_pool3d", FLOAT32, NULL},
    {"max_unpool2d", FLOAT32, NULL},
    {"max_unpool3d", FLOAT32, NULL},
    {"mm", LOWER, NULL},
    {"mse_loss", FLOAT32, NULL},
    {"multi_margin_loss", FLOAT32, NULL},
    {"multilabel_margin_loss", FLOAT32, NULL},
    {"nanquantile", FLOAT32, NULL},
    {"nll_loss", FLOAT32, NULL},
    {"orgqr", FLOAT32, NULL},
    {"ormqr", FLOAT32, NULL},
    {"pad", FLOAT32, decide_pad},
    {"pinverse", FLOAT32, NULL},
    {"poisson_nll_loss", FLOAT32, NULL},
    {"polar", FLOAT32, NULL},
    {"prelu", LOWER, NULL},
    {"prod", FLOAT32, NULL},
    {"qr", FLOAT32, NULL},
    {"quantile", FLOAT32, NULL},
    {"reflection_pad1d", FLOAT32, NULL},
    {"reflection_pad2d", FLOAT32, NULL},
    {"replication_pad1d", FLOAT32, NULL},
    {"replication_pad2d", FLOAT32, NULL},
    {"replication_pad3d", FLOAT32, NULL},
    {"rnn_relu", UNSUPPORTED, NULL},
    {"rnn_relu_cell", UNSUPPORTED, NULL},
    {"rnn_tanh", UNSUPPORTED, NULL},
    {"rnn_tanh_cell", UNSUPPORTED, NULL},
    {"scaled_dot_product_attention", LOWER, NULL},
    {"smooth_l1_loss", FLOAT32, NULL},
    {"soft_margin_loss", FLOAT32, NULL},
    {"stack", WIDEST, NULL},
    {"stft", FLOAT32, NULL},
    {"svd", FLOAT32, NULL},
    {"tensordot", LOWER, NULL},
    {"triangular_solve", FLOAT32, NULL},
    {"triplet_margin_loss", FLOAT32, NULL},
    {"view_as_complex", FLOAT32, NULL},
};

static policy policy_of(const char *name, const cfx_value *in)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!strcmp(rows[i].name, name))
            return rows[i].decide ? rows[i].decide(in) : rows[i].policy;
    return UNLISTED;
}

/* float64 stays, as do integers and complex numbers. */
static bool is_cast(cfx_value v)
{
    return v.kind == CFX_TENSOR &&
           (v.u.tensor->dtype == CFX_F32 || v.u.tensor->dtype == CFX_F16 ||
            v.u.tensor->dtype == CFX_BF16);
}

static bool is_float32(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR && v.u.tensor->dtype == CFX_F32;
}

static cfx_dtype type_for(const cfx_scope *s, policy p,
                          const cfx_schema *schema, const cfx_value *in)
{
    if (p == LOWER)
        return s->autocast_type;
    for (int k = 0; p == WIDEST && k < schema->nparams; k++)
        if (cfx_value_any(in[k], is_float32, NULL))
            return CFX_F32;
    return p == WIDEST ? s->autocast_type : CFX_F32;
}

/* A tensor, or the tensors of a list, in a type; owned by the scope. */
static cfx_value cast(cfx_scope *s, cfx_value v, cfx_dtype type)
{
    if (cfx_value_is_seq(v)) {
        control_row cells;
        control c = {s, &(cfx_call){.err = &s->error}};
        if (cfx_control__row(&c, &cells, v.u.seq->len))
            return cfx_none();
        for (size_t i = 0; i < cells.n; i++)
            cells.v[i] = cfx_value_ref(cast(s, v.u.seq->item[i], type));
        v = cfx_list_of(s, (cfx_kind)v.kind, cells.n, cells.v);
        cfx_control__row_release(&c, &cells);
        return v;
    }
    return is_cast(v) && v.u.tensor->dtype != type
               ? CFX_CALL(s, "torch.ops.aten.to.dtype", v,
                          cfx_value_of_dtype(type))
               : v;
}

static cfx_status call_in(cfx_scope *s, const cfx_target *t,
                          const cfx_value *in, policy p, cfx_value *out)
{
    cfx_autocast_hook *outer = s->autocast;
    cfx_value with[CFX_MAX_PARAMS];
    s->autocast = NULL;
    cfx_dtype type = type_for(s, p, t->schema, in);
    size_t frame = cfx_scope_enter(s);
    for (int k = 0; k < t->schema->nparams; k++)
        with[k] = cast(s, in[k], type);
    cfx_status st = cfx_scope_failed(s)
                        ? s->error.code
                        : cfx_scope__call_bound(s, t, with, false, out);
    cfx_scope_leave(s, frame, cfx_none());
    s->autocast = outer;
    return st;
}

static bool call_cast(cfx_scope *s, const cfx_target *t, const cfx_value *in,
                      bool inplace, cfx_value *out, cfx_status *st)
{
    policy p = inplace ? UNLISTED : policy_of(t->schema->name, in);
    if (p == UNSUPPORTED)
        *st = cfx_fail(
            &s->error, CFX_EUNSUPPORTED,
            "%s within autocast is not supported: save ep.run_decompositions(), which has the casts in the graph",
            t->schema->name);
    else if (p != UNLISTED)
        *st = call_in(s, t, in, p, out);
    return p != UNLISTED;
}

cfx_status cfx_control__autocast(control *c, cfx_value *out)
{
    cfx_value device = cfx_call_value(c->call, DEVICE_TYPE);
    bool on = cfx_call_bool(c->call, ENABLED);
    cfx_autocast_hook *outer = c->s->autocast;
    cfx_dtype outer_type = c->s->autocast_type;
    if (on && strcmp(device.u.str->text, "cpu"))
        return cfx_call_fail(
            c->call, CFX_EUNSUPPORTED,
            "autocast is only supported for the CPU, not for %s: save ep.run_decompositions(), which has the casts in the graph",
            device.u.str->text);
    c->s->autocast = on ? call_cast : NULL;
    c->s->autocast_type = cfx_call_dtype(c->call, DTYPE, CFX_BF16);
    cfx_status st = cfx_control__wrap(c, out);
    c->s->autocast = outer;
    c->s->autocast_type = outer_type;
    return st;
}
