/*
 * check_finite -- check every value before it enters the environment.
 */
#include <cfx/check_finite.h>

#include <math.h>
#include <stdio.h>

/* Format the index of an element, as "[1, 0, 3]". */
static void format_place(const cfx_tensor *t, const int64_t *index, char *buf,
                         size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int i = 0; i < t->rank && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? ", " : "",
                              (long long)index[i]);
}

/* Step to the next index in row-major order; false after the last one. */
static bool advance(const cfx_tensor *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < cfx_tensor_size(t, i))
            return true;
        index[i] = 0;
    }
    return false;
}

static cfx_status check_tensor(void *user, cfx_value v)
{
    cfx_interp *it = user;
    int64_t index[CFX_MAX_RANK] = {0};
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor))
        return CFX_OK;
    const cfx_tensor *t = v.u.tensor;
    if (cfx_dtypes[t->dtype].category < CFX_CAT_FLOAT || !cfx_tensor_numel(t))
        return CFX_OK;
    do {
        char place[256];
        double part[2];
        cfx_element_complex((cfx_dtype)t->dtype, cfx_tensor_at(t, index),
                            part);
        double x = isfinite(part[0]) ? part[1] : part[0];
        if (isfinite(x))
            continue;
        format_place(t, index, place, sizeof(place));
        return cfx_interp_fail(it, CFX_ENUMERIC, "element [%s] is %s", place,
                               isnan(x) ? "nan"
                               : x > 0  ? "inf"
                                        : "-inf");
    } while (advance(t, index));
    return CFX_OK;
}

/* The value of such a call is written later, by others. */
static bool is_unwritten(const cfx_node *n)
{
    const cfx_target *t = n->op == CFX_CALL_FUNCTION
                              ? cfx_find_function(cfx_graph_context(n->graph),
                                                  n->target->text)
                              : NULL;
    return t && t->op->flags & CFX_OP_UNWRITTEN;
}

static cfx_status check_finite_run_node(cfx_interp *it, const cfx_node *n,
                                        cfx_value *out)
{
    cfx_status st = CFX_SUPER(&cfx_check_finite_class, run_node)(it, n, out);
    if (st || is_unwritten(n))
        return st;
    st = cfx_value_visit(*out, check_tensor, it);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

const cfx_interp_class cfx_check_finite_class = {
    .size = sizeof(cfx_interp_class),
    .name = "check_finite",
    .super = &cfx_interp_base,
    .run_node = check_finite_run_node,
};

cfx_status cfx_check_finite_init(cfx_check_finite *c, cfx_module *gm,
                                 cfx_error *err)
{
    return cfx_interp_init(&c->base, &cfx_check_finite_class, gm, err);
}
