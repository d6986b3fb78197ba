/*
 * cfx_mpi -- the communicator of MPI jobs, a plugin.
 *
 * MPI is called by one thread (MPI_THREAD_FUNNELED). Counts of MPI 3 are ints:
 * what is larger goes in pieces of $CFX_MPI_CHUNK elements, by default 2^30,
 * which tests make small. 16-bit floats are types of two bytes with operations
 * of their own, by cfx_comm_combine.
 */
#define _GNU_SOURCE 1
#include <cfx/comm.h>

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "watchdog.h"

typedef struct subset {
    struct subset *next;
    char *name;
    MPI_Comm comm;
} subset;

typedef struct mpi_comm {
    cfx_comm base;
    MPI_Comm world;
    MPI_Datatype half;    /* two bytes */
    MPI_Op half_op[2][4]; /* of float16, bfloat16; sum to max */
    subset *subsets;
    int64_t chunk;
    bool finalizes;
    char host[MPI_MAX_PROCESSOR_NAME];
    watchdog dog;
} mpi_comm;

static mpi_comm *downcast(cfx_comm *c)
{
    return (mpi_comm *)(void *)c;
}

/* ---- Errors ---- */

static cfx_status check(int code, const char *what, cfx_error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (code == MPI_SUCCESS)
        return CFX_OK;
    MPI_Error_string(code, text, &len);
    return cfx_fail(err, CFX_EIO, "%s: %.*s", what, len, text);
}

/* Make an MPI call under the watchdog. */
#define WATCHED(m, what, call, err)                                           \
    (watchdog_wait(&(m)->dog, what), check_end(m, call, what, err))

static cfx_status check_end(mpi_comm *m, int code, const char *what,
                            cfx_error *err)
{
    watchdog_wait(&m->dog, NULL);
    return check(code, what, err);
}

/* ---- Types and operations ---- */

static MPI_Datatype type_of(const mpi_comm *m, cfx_dtype type)
{
    switch (type) {
    case CFX_U8: return MPI_UINT8_T;
    case CFX_I8: return MPI_INT8_T;
    case CFX_I16: return MPI_INT16_T;
    case CFX_I32: return MPI_INT32_T;
    case CFX_I64: return MPI_INT64_T;
    case CFX_F32: return MPI_FLOAT;
    case CFX_F64: return MPI_DOUBLE;
    default: return m->half;
    }
}

static MPI_Op op_of(const mpi_comm *m, cfx_reduction how, cfx_dtype type)
{
    if (type == CFX_F16 || type == CFX_BF16)
        return m->half_op[type == CFX_BF16][how];
    switch (how) {
    case CFX_REDUCE_SUM: return MPI_SUM;
    case CFX_REDUCE_PRODUCT: return MPI_PROD;
    case CFX_REDUCE_MIN: return MPI_MIN;
    case CFX_REDUCE_MAX: return MPI_MAX;
    case CFX_REDUCE_BAND: return MPI_BAND;
    case CFX_REDUCE_BOR: return MPI_BOR;
    default: return MPI_BXOR;
    }
}

#define HALF_OP(name, how, type)                                              \
    static void name(void *in, void *acc, int *n, MPI_Datatype *t)            \
    {                                                                         \
        (void)t;                                                              \
        cfx_comm_combine(how, type, acc, in, *n);                             \
    }
HALF_OP(f16_sum, CFX_REDUCE_SUM, CFX_F16)
HALF_OP(f16_product, CFX_REDUCE_PRODUCT, CFX_F16)
HALF_OP(f16_min, CFX_REDUCE_MIN, CFX_F16)
HALF_OP(f16_max, CFX_REDUCE_MAX, CFX_F16)
HALF_OP(bf16_sum, CFX_REDUCE_SUM, CFX_BF16)
HALF_OP(bf16_product, CFX_REDUCE_PRODUCT, CFX_BF16)
HALF_OP(bf16_min, CFX_REDUCE_MIN, CFX_BF16)
HALF_OP(bf16_max, CFX_REDUCE_MAX, CFX_BF16)

static cfx_status make_halves(mpi_comm *m, cfx_error *err)
{
    MPI_User_function *const fn[2][4] = {
        {f16_sum, f16_product, f16_min, f16_max},
        {bf16_sum, bf16_product, bf16_min, bf16_max}};
    cfx_status st = check(MPI_Type_contiguous(2, MPI_BYTE, &m->half),
                          "MPI_Type_contiguous", err);
    if (!st)
        st = check(MPI_Type_commit(&m->half), "MPI_Type_commit", err);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 4 && !st; i++)
            st = check(MPI_Op_create(fn[t][i], 1, &m->half_op[t][i]),
                       "MPI_Op_create", err);
    return st;
}

/* ---- Groups ---- */

static cfx_status make_subset(mpi_comm *m, const cfx_group *g, subset *s,
                              cfx_error *err)
{
    MPI_Group all, some = MPI_GROUP_NULL;
    cfx_status st = check(MPI_Comm_group(m->world, &all), "MPI_Comm_group",
                          err);
    if (st)
        return st;
    st = check(MPI_Group_incl(all, g->size, g->ranks, &some), "MPI_Group_incl",
               err);
    if (!st)
        st = WATCHED(m, "MPI_Comm_create_group",
                     MPI_Comm_create_group(m->world, some, 0, &s->comm), err);
    if (some != MPI_GROUP_NULL)
        MPI_Group_free(&some);
    MPI_Group_free(&all);
    return st;
}

/* The MPI communicator of a group, which is made at its first use. */
static cfx_status find_comm(mpi_comm *m, const cfx_group *g, MPI_Comm *out,
                            cfx_error *err)
{
    *out = m->world;
    if (!g->ranks)
        return CFX_OK;
    for (subset *s = m->subsets; s; s = s->next)
        if (!strcmp(s->name, g->name)) {
            *out = s->comm;
            return CFX_OK;
        }
    size_t len = strlen(g->name) + 1;
    subset *s = cfx_calloc(m->base.ctx, 1, sizeof(*s));
    char *name = cfx_alloc(m->base.ctx, len);
    cfx_status st = s && name ? make_subset(m, g, s, err) : cfx_no_memory(err);
    if (st) {
        cfx_free(m->base.ctx, name, len);
        cfx_free(m->base.ctx, s, sizeof(*s));
        return st;
    }
    s->name = memcpy(name, g->name, len);
    s->next = m->subsets;
    m->subsets = s;
    *out = s->comm;
    return CFX_OK;
}

/* ---- Collectives ---- */

static int piece(const mpi_comm *m, int64_t left)
{
    return (int)(left < m->chunk ? left : m->chunk);
}

static cfx_status mpi_all_reduce(cfx_comm *c, const cfx_group *g,
                                 cfx_reduction how, cfx_dtype type,
                                 const void *in, void *out, int64_t n,
                                 cfx_error *err)
{
    mpi_comm *m = downcast(c);
    MPI_Comm comm;
    cfx_status st = find_comm(m, g, &comm, err);
    const int64_t size = (int64_t)cfx_dtype_size(type);
    for (int64_t i = 0; !st && i < n; i += m->chunk) {
        const void *from = in == out ? MPI_IN_PLACE
                                     : (const char *)in + i * size;
        st = WATCHED(m, "all_reduce",
                     MPI_Allreduce(from, (char *)out + i * size,
                                   piece(m, n - i), type_of(m, type),
                                   op_of(m, how, type), comm),
                     err);
    }
    return st;
}

static cfx_status mpi_broadcast(cfx_comm *c, const cfx_group *g, int from,
                                void *data, int64_t bytes, cfx_error *err)
{
    mpi_comm *m = downcast(c);
    MPI_Comm comm;
    cfx_status st = find_comm(m, g, &comm, err);
    for (int64_t i = 0; !st && i < bytes; i += m->chunk)
        st = WATCHED(m, "broadcast",
                     MPI_Bcast((char *)data + i, piece(m, bytes - i), MPI_BYTE,
                               from, comm),
                     err);
    return st;
}

static cfx_status mpi_all_gather(cfx_comm *c, const cfx_group *g,
                                 const void *in, void *out, int64_t bytes,
                                 cfx_error *err)
{
    mpi_comm *m = downcast(c);
    MPI_Comm comm;
    cfx_status st = find_comm(m, g, &comm, err);
    if (st || !bytes)
        return st;
    if (bytes <= m->chunk)
        return WATCHED(m, "all_gather",
                       MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes,
                                     MPI_BYTE, comm),
                       err);
    memcpy((char *)out + g->rank * bytes, in, (size_t)bytes);
    for (int r = 0; !st && r < g->size; r++)
        st = mpi_broadcast(c, g, r, (char *)out + r * bytes, bytes, err);
    return st;
}

static cfx_status mpi_reduce_scatter(cfx_comm *c, const cfx_group *g,
                                     cfx_reduction how, cfx_dtype type,
                                     const void *in, void *out, int64_t n,
                                     cfx_error *err)
{
    mpi_comm *m = downcast(c);
    MPI_Comm comm;
    if (n * g->size > m->chunk)
        return cfx_comm_base.reduce_scatter(c, g, how, type, in, out, n, err);
    cfx_status st = find_comm(m, g, &comm, err);
    return st ? st
              : WATCHED(m, "reduce_scatter",
                        MPI_Reduce_scatter_block(in, out, (int)n,
                                                 type_of(m, type),
                                                 op_of(m, how, type), comm),
                        err);
}

/* Messages of one exchange, in pieces. */
static int64_t count_pieces(const mpi_comm *m, const cfx_group *g,
                            const int64_t *bytes)
{
    int64_t n = 0;
    for (int r = 0; r < g->size; r++)
        n += (bytes[r] + m->chunk - 1) / m->chunk;
    return n;
}

static cfx_status mpi_all_to_all(cfx_comm *c, const cfx_group *g,
                                 const void *in, const int64_t *give,
                                 void *out, const int64_t *take,
                                 cfx_error *err)
{
    mpi_comm *m = downcast(c);
    MPI_Comm comm;
    int n = 0;
    char *to = out;
    const char *from = in;
    cfx_status st = find_comm(m, g, &comm, err);
    if (st)
        return st;
    int64_t most = count_pieces(m, g, give) + count_pieces(m, g, take);
    MPI_Request *wait = cfx_calloc(c->ctx, (size_t)most + 1, sizeof(*wait));
    if (!wait)
        return cfx_no_memory(err);
    for (int r = 0; !st && r < g->size; to += take[r++])
        for (int64_t i = 0; !st && i < take[r]; i += m->chunk)
            st = check(MPI_Irecv(to + i, piece(m, take[r] - i), MPI_BYTE, r, 0,
                                 comm, &wait[n++]),
                       "all_to_all", err);
    for (int r = 0; !st && r < g->size; from += give[r++])
        for (int64_t i = 0; !st && i < give[r]; i += m->chunk)
            st = check(MPI_Isend(from + i, piece(m, give[r] - i), MPI_BYTE, r,
                                 0, comm, &wait[n++]),
                       "all_to_all", err);
    if (!st)
        st = WATCHED(m, "all_to_all",
                     MPI_Waitall(n, wait, MPI_STATUSES_IGNORE), err);
    cfx_free(c->ctx, wait, ((size_t)most + 1) * sizeof(*wait));
    return st;
}

/* ---- Life ---- */

static void mpi_stop(cfx_comm *c, int status)
{
    (void)c;
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void mpi_release(cfx_comm *c)
{
    mpi_comm *m = downcast(c);
    cfx_context *ctx = c->ctx;
    for (subset *s = m->subsets, *next; s; s = next) {
        next = s->next;
        MPI_Comm_free(&s->comm);
        cfx_free(ctx, s->name, strlen(s->name) + 1);
        cfx_free(ctx, s, sizeof(*s));
    }
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 4; i++)
            if (m->half_op[t][i] != MPI_OP_NULL)
                MPI_Op_free(&m->half_op[t][i]);
    if (m->half != MPI_DATATYPE_NULL)
        MPI_Type_free(&m->half);
    watchdog_wait(&m->dog, "MPI_Finalize");
    if (m->world != MPI_COMM_NULL)
        MPI_Comm_free(&m->world);
    if (m->finalizes)
        MPI_Finalize();
    watchdog_stop(&m->dog);
    cfx_free(ctx, c, sizeof(*m));
}

static const cfx_comm_class mpi_class = {
    .size = sizeof(cfx_comm_class),
    .name = "mpi",
    .super = &cfx_comm_base,
    .all_reduce = mpi_all_reduce,
    .all_gather = mpi_all_gather,
    .reduce_scatter = mpi_reduce_scatter,
    .all_to_all = mpi_all_to_all,
    .broadcast = mpi_broadcast,
    .stop = mpi_stop,
    .release = mpi_release,
};

/* Open MPI loads plugins of its own, which look for its symbols among those
 * that are global; this plugin and its libraries are not. */
static void make_global(void)
{
    Dl_info info;
    union {
        int (*function)(int *, char ***);
        void *object;
    } init = {MPI_Init};
    if (dladdr(init.object, &info))
        dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Initialize MPI unless the program has. */
static cfx_status initialize(bool *mine, cfx_error *err)
{
    int have = 0, level;
    MPI_Initialized(&have);
    *mine = !have;
    if (have)
        return CFX_OK;
    make_global();
    return check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level),
                 "MPI_Init_thread", err);
}

static double number_in(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtod(text, NULL) : otherwise;
}

static cfx_status open_world(mpi_comm *m, cfx_error *err)
{
    int len;
    m->world = MPI_COMM_NULL;
    m->half = MPI_DATATYPE_NULL;
    for (int i = 0; i < 8; i++)
        m->half_op[i / 4][i % 4] = MPI_OP_NULL;
    cfx_status st = check(MPI_Comm_dup(MPI_COMM_WORLD, &m->world),
                          "MPI_Comm_dup", err);
    if (st)
        return st;
    MPI_Comm_set_errhandler(m->world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->world, &m->base.rank);
    MPI_Comm_size(m->world, &m->base.size);
    MPI_Get_processor_name(m->host, &len);
    m->chunk = (int64_t)number_in("CFX_MPI_CHUNK", 1 << 30);
    if (m->chunk < 1 || m->chunk > 1 << 30)
        return cfx_fail(err, CFX_EINVAL,
                        "CFX_MPI_CHUNK should be from 1 to 2^30");
    if (!watchdog_start(&m->dog, number_in("CFX_COMM_TIMEOUT", 60),
                        m->base.rank, m->host))
        return cfx_fail(err, CFX_ENOMEM, "no thread for --comm-timeout");
    return make_halves(m, err);
}

CFX_PLUGIN_INIT(ctx, err)
{
    bool mine;
    cfx_status st = initialize(&mine, err);
    mpi_comm *m = st ? NULL : cfx_calloc(ctx, 1, sizeof(*m));
    if (!m)
        return st ? st : cfx_no_memory(err);
    m->base = (cfx_comm){&mpi_class, ctx, 0, 1};
    m->finalizes = mine;
    st = open_world(m, err);
    if (st) {
        mpi_release(&m->base);
        return st;
    }
    return cfx_context_set_comm_take(ctx, &m->base, err);
}
