/*
 * matrix_power -- products of many matrices: linalg.matrix_power,
 * linalg.multi_dot, chain_matmul.
 *
 * shape   matrix_power that of the tensor; multi_dot (rows of the first,
 *         columns of the last); a vector before or after has no such axis.
 * cost    that of the products it consists of.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

#define IN(k) call->in[k]

static cfx_value product(cfx_scope *s, cfx_value a, cfx_value b)
{
    return CFX_CALL(s, "torch.matmul", a, b);
}

static cfx_value identity_like(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = x.u.tensor;
    cfx_value n = cfx_size(s, x, -1), shape[CFX_MAX_RANK];
    cfx_value key[] = {cfx_str(s, "dtype"),
                       cfx_value_of_dtype((cfx_dtype)t->dtype)};
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_value_of_dim(t->shape[i]);
    cfx_value one = cfx_call_function(s, "torch.eye",
                                      (cfx_args){(cfx_value[]){n}, 1, key, 1});
    one = CFX_CALL(s, "torch.expand_copy", one,
                   cfx_list_of(s, CFX_TUPLE, (size_t)t->rank, shape));
    return one;
}

/* By squaring: bits of n from the lowest. */
static cfx_value matrix_power_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(0), y = cfx_none();
    const cfx_tensor *t = x.u.tensor;
    int64_t n = IN(1).u.i;
    if (t->rank < 2 ||
        !cfx_dim_eq(s->env, t->shape[t->rank - 1], t->shape[t->rank - 2]))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "linalg.matrix_power: A must be batches of square matrices");
    if (n < 0)
        x = CFX_CALL(s, "torch.linalg.inv", x);
    uint64_t power = n < 0 ? -(uint64_t)n : (uint64_t)n;
    if (!power)
        return identity_like(s, x);
    while (!cfx_scope_failed(s)) {
        if (power & 1)
            y = cfx_value_is_none(y) ? x : product(s, y, x);
        power >>= 1;
        if (!power)
            break;
        x = product(s, x, x);
    }
    return n == 1 ? CFX_CALL(s, "torch.clone", y) : y;
}

/* ---- multi_dot ---- */

enum { MOST = 32 };

/* Multiplications of the product of matrices i to j, and where to part it. */
struct chain {
    double cost[MOST][MOST];
    int part[MOST][MOST];
    double size[MOST + 1]; /* matrix i has size[i] rows, size[i + 1] columns */
};

/* A symbolic extent counts as one number, so that the order of products does
 * not depend on it. */
static double extent(cfx_dim d)
{
    return cfx_dim_is_int(d) ? (double)cfx_dim_value(d) : 1;
}

static void plan(struct chain *c, int n)
{
    for (int i = 0; i < n; i++)
        c->cost[i][i] = 0;
    for (int len = 1; len < n; len++)
        for (int i = 0; i + len < n; i++) {
            int j = i + len;
            c->cost[i][j] = INFINITY;
            for (int k = i; k < j; k++) {
                double all = c->cost[i][k] + c->cost[k + 1][j] +
                             c->size[i] * c->size[k + 1] * c->size[j + 1];
                if (all < c->cost[i][j]) {
                    c->cost[i][j] = all;
                    c->part[i][j] = k;
                }
            }
        }
}

/* At most MOST levels deep. */
static cfx_value of_range(cfx_scope *s, const struct chain *c,
                          const cfx_value *m, int i, int j)
{
    if (i == j)
        return m[i];
    int k = c->part[i][j];
    cfx_value left = of_range(s, c, m, i, k);
    return CFX_CALL(s, "torch.mm", left, of_range(s, c, m, k + 1, j));
}

/* A first vector becomes a row, a last one a column. */
static bool as_matrices(cfx_scope *s, const cfx_seq *list, cfx_value *m)
{
    int n = (int)list->len;
    for (int i = 0; i < n; i++) {
        int rank = list->item[i].u.tensor->rank;
        bool outer = i == 0 || i == n - 1;
        m[i] = list->item[i];
        if (rank == 1 && outer)
            m[i] = CFX_CALL(s, "torch.unsqueeze", m[i], cfx_int(i > 0));
        else if (rank != 2)
            cfx_scope_fail(s, CFX_ESHAPE,
                           "multi_dot(): tensor %d must be %s but got %dD", i,
                           outer ? "1D or 2D" : "2D", rank);
    }
    return !cfx_scope_failed(s);
}

static cfx_value multi_dot_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_seq *list = IN(0).u.seq;
    int n = (int)list->len;
    cfx_value m[MOST];
    struct chain c;
    if (n < 2 || n > MOST)
        return cfx_scope_fail(
            s, n < 2 ? CFX_EINVAL : CFX_EUNSUPPORTED,
            "multi_dot(): expected 2 to %d tensors but got %u", MOST,
            list->len);
    if (!as_matrices(s, list, m))
        return cfx_none();
    for (int i = 0; i < n; i++)
        c.size[i] = extent(m[i].u.tensor->shape[0]);
    c.size[n] = extent(m[n - 1].u.tensor->shape[1]);
    plan(&c, n);
    cfx_value y = of_range(s, &c, m, 0, n - 1);
    if (list->item[n - 1].u.tensor->rank == 1)
        y = CFX_CALL(s, "torch.squeeze", y, cfx_int(1));
    if (list->item[0].u.tensor->rank == 1)
        y = CFX_CALL(s, "torch.squeeze", y, cfx_int(0));
    return y;
}

CFX_COMPOSITE(matrix_power)
CFX_COMPOSITE(multi_dot)

const cfx_op cfx_op__linalg_matrix_power = {
    .schema = "linalg_matrix_power(Tensor self, int n) -> Tensor",
    .aliases = "torch.linalg. torch.matrix_power Tensor.matrix_power aten.",
    .doc = "A square matrix times itself, n times.",
    .flags = CFX_OP_COMPLEX,
    .infer = matrix_power_infer,
    .cost = matrix_power_cost,
    .run = matrix_power_run,
};

static cfx_value chain_matmul_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_seq *list = IN(0).u.seq;
    for (uint32_t i = 0; i < list->len; i++)
        if (list->item[i].u.tensor->rank != 2)
            return cfx_scope_fail(s, CFX_ESHAPE,
                                  "chain_matmul(): tensor %u must be 2D", i);
    return list->len == 1 ? CFX_CALL(s, "torch.clone", list->item[0])
                          : multi_dot_build(s, call);
}

CFX_COMPOSITE(chain_matmul)

static const cfx_variant chain_matmul_variants[] = {
    {"aten.chain_matmul.default(Tensor[] matrices) -> Tensor", NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__chain_matmul = {
    .schema = "chain_matmul(Tensor[*] matrices) -> Tensor",
    .aliases = "torch. torch.functional.chain_matmul",
    .variants = chain_matmul_variants,
    .doc = "The product of matrices, in the order that takes least.",
    .flags = CFX_OP_COMPLEX,
    .infer = chain_matmul_infer,
    .cost = chain_matmul_cost,
    .run = chain_matmul_run,
};

const cfx_op cfx_op__linalg_multi_dot = {
    .schema = "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "The product of matrices, in the order that takes least.",
    .flags = CFX_OP_COMPLEX,
    .infer = multi_dot_infer,
    .cost = multi_dot_cost,
    .run = multi_dot_run,
};
