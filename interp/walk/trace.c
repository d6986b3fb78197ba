/*
 * trace -- the shortest subclass of an interpreter: it wraps run_node.
 */
#include <cfx/trace.h>

#include <time.h>

static cfx_trace *downcast(cfx_interp *it)
{
    return (cfx_trace *)it;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Format "f32[2, 3]", or the kind of a value that is not a tensor. */
static void describe(cfx_value v, char *buf, size_t size)
{
    if (v.kind == CFX_TENSOR)
        cfx_tensor_format_type(v.u.tensor, buf, size);
    else
        snprintf(buf, size, "%s", cfx_kind_name((cfx_kind)v.kind));
}

static cfx_status trace_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out)
{
    char type[128];
    double start = now();
    cfx_status st = CFX_SUPER(&cfx_trace_class, run_node)(it, n, out);
    double seconds = now() - start;
    if (st)
        return st;
    describe(*out, type, sizeof(type));
    fprintf(downcast(it)->to, "%%%s : %s = %s[target=%s] %.1f us\n", n->name,
            type, cfx_opcode_names[n->op], n->target->text, 1e6 * seconds);
    return CFX_OK;
}

const cfx_interp_class cfx_trace_class = {
    .size = sizeof(cfx_interp_class),
    .name = "trace",
    .super = &cfx_interp_base,
    .run_node = trace_run_node,
};

cfx_status cfx_trace_init(cfx_trace *t, cfx_module *gm, FILE *to,
                          cfx_error *err)
{
    t->to = to;
    return cfx_interp_init(&t->base, &cfx_trace_class, gm, err);
}
