/*
 * context -- creation from options and environment; messages, random numbers.
 */
#include "base/context_impl.h"
#include "base/fork.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { THREADS_MAX = 1024 };

/* ---- Options ---- */

/* The caller may have been compiled with a shorter or a longer struct. */
static cfx_status read_options(cfx_options *o, const cfx_options *from,
                               cfx_error *err)
{
    *o = (cfx_options){.size = sizeof(*o)};
    if (!from)
        return CFX_OK;
    if (from->size < offsetof(cfx_options, allocator))
        return cfx_fail(err, CFX_EINVAL,
                        "options.size is %zu, not sizeof(cfx_options)",
                        from->size);
    memcpy(o, from, from->size < sizeof(*o) ? from->size : sizeof(*o));
    for (size_t i = sizeof(*o); i < from->size; i++)
        if (((const char *)from)[i])
            return cfx_fail(
                err, CFX_EINVAL,
                "options has members that this library, which is older, does not know");
    return CFX_OK;
}

static cfx_status choose_threads(int *threads, int asked, cfx_error *err)
{
    if (asked < 0 || asked > THREADS_MAX)
        return cfx_fail(err, CFX_EINVAL,
                        "%d threads are asked for, not 1 to %d", asked,
                        THREADS_MAX);
    *threads = asked;
#ifdef CFX_NO_THREADS
    if (asked > 1)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "%d threads are asked for, but this library was built without threads",
            asked);
    *threads = 1;
#endif
    if (*threads)
        return CFX_OK;
    int have = cfx_cpu_count();
    *threads = have < THREADS_MAX ? have : THREADS_MAX;
    const char *env = getenv("CFX_THREADS");
    if (!env || !*env)
        return CFX_OK;
    char *end;
    long n = strtol(env, &end, 10);
    if (*end || n < 1)
        return cfx_fail(err, CFX_EINVAL,
                        "CFX_THREADS is '%s', not a number of threads", env);
    if (n < *threads)
        *threads = (int)n;
    return CFX_OK;
}

static bool is_cpu(cfx_cpu cpu, const char *name, size_t len)
{
    return strlen(cfx_cpu_name(cpu)) == len &&
           !memcmp(cfx_cpu_name(cpu), name, len);
}

/* Read a level, which may be empty, and "-FEATURE" for each that is switched off. */
static bool read_cpu(const char *text, cfx_cpu *cpu, unsigned *features)
{
    size_t len = strcspn(text, "-");
    int i = CFX_CPU_BEST;
    while (len && i <= CFX_CPU_AVX512 && !is_cpu((cfx_cpu)i, text, len))
        i++;
    *cpu = (cfx_cpu)i;
    for (text += len; *text; text += len) {
        len = strcspn(++text, "-");
        unsigned off = cfx_cpu_feature_named(text, len);
        *features &= ~off;
        if (!off)
            return false;
    }
    return i <= CFX_CPU_AVX512;
}

/* $CFX_CPU has the level of contexts that ask for none, and features that no context
 * uses. */
static cfx_status choose_cpu(cfx_cpu *cpu, unsigned *features, cfx_cpu asked,
                             cfx_error *err)
{
    const char *env = getenv("CFX_CPU");
    cfx_cpu level = CFX_CPU_BEST;
    *features = cfx_cpu_features();
    if (env && !read_cpu(env, &level, features))
        return cfx_fail(
            err, CFX_EINVAL,
            "CFX_CPU is '%s', not plain, neon, avx2 or avx512, then -fma, -avxvnni, -vnni, -vbmi, -bf16 or -dotprod to switch them off",
            env);
    *cpu = asked == CFX_CPU_BEST ? level : asked;
    if (*cpu == CFX_CPU_BEST)
        *cpu = cfx_cpu_best(*features);
    if (!cfx_cpu_has(*cpu, cfx_cpu_features()))
        return cfx_fail(err, CFX_EINVAL, "this processor has no %s",
                        cfx_cpu_name(*cpu));
    if (!cfx_cpu_has(*cpu, *features))
        return cfx_fail(err, CFX_EINVAL,
                        "CFX_CPU is '%s', without a feature that %s needs",
                        env, cfx_cpu_name(*cpu));
    return CFX_OK;
}

static cfx_status choose_caches(cfx_caches *caches, cfx_error *err)
{
    const char *env = getenv("CFX_CACHES");
    if (!env)
        *caches = cfx_detected_caches();
    else if (!cfx_read_caches(caches, env))
        return cfx_fail(
            err, CFX_EINVAL,
            "CFX_CACHES is '%s', not the sizes of L1, L2 and L3, such as 32K,1M,32M",
            env);
    return CFX_OK;
}

/* ---- Life ---- */

cfx_status cfx_context_new(cfx_context **out, const cfx_options *opts,
                           cfx_error *err)
{
    cfx_options o;
    int threads = 0;
    cfx_cpu cpu = CFX_CPU_PLAIN;
    unsigned features = CFX_FEATURE_NONE;
    cfx_caches caches = {0};
    *out = NULL;
    cfx_status st = read_options(&o, opts, err);
    if (!st)
        st = choose_threads(&threads, o.threads, err);
    if (!st)
        st = choose_cpu(&cpu, &features, o.cpu, err);
    if (!st)
        st = choose_caches(&caches, err);
    if (st)
        return st;
    if (!o.allocator.alloc != !o.allocator.free)
        return cfx_fail(err, CFX_EINVAL,
                        "an allocator needs both alloc and free");
    if (!(o.timeout >= 0))
        return cfx_fail(err, CFX_EINVAL, "the time limit is %g s", o.timeout);

    const cfx_allocator *from = o.allocator.alloc ? &o.allocator
                                                  : &cfx_heap_default;
    cfx_context *ctx = from->alloc(from->user, sizeof(*ctx),
                                   _Alignof(cfx_context));
    if (!ctx)
        return cfx_fail(err, CFX_ENOMEM, "no memory for a context");
    memset(ctx, 0, sizeof(*ctx));
    cfx_heap_init(&ctx->heap, from, o.max_memory);
    ctx->parent = ctx;
    ctx->threads = threads;
    ctx->cpu = cpu;
    ctx->features = features;
    ctx->caches = caches;
    cfx_fork_add(ctx);
    if (!cfx_pool_init(ctx)) {
        cfx_context_free(ctx);
        return cfx_fail(err, CFX_ENOMEM, "no memory for a thread pool");
    }
    ctx->timeout = o.timeout;
    ctx->deadline = INT64_MAX;
    if (o.timeout > 0 && o.timeout < 1e9)
        ctx->deadline = cfx_clock_ns() + (int64_t)ceil(o.timeout * 1e9);
    ctx->message = o.message;
    ctx->message_user = o.message_user;
    cfx_context_seed(ctx, o.seed);
    ctx->blas = !o.keep_blas_threads && cfx_blas_one_thread();
    *out = ctx;
    return CFX_OK;
}

void cfx_context_free(cfx_context *ctx)
{
    if (!ctx)
        return;
    cfx_fork_remove(ctx);
    for (int i = CFX_SLOTS; i-- > 0;) {
        const cfx_slot *slot = atomic_load(&ctx->slot[i].of);
        if (slot)
            slot->free(ctx, ctx->slot[i].p);
    }
    cfx_pool_release(ctx);
    cfx_heap_release(&ctx->heap);
    cfx_allocator from = ctx->heap.from;
    from.free(from.user, ctx, sizeof(*ctx));
}

cfx_status cfx_context__child(cfx_context **out, cfx_context *of,
                              const cfx_allocator *from,
                              const cfx_heap_source *source, cfx_error *err)
{
    cfx_context *ctx = cfx_aligned_alloc(of, sizeof(*ctx),
                                         _Alignof(cfx_context));
    *out = ctx;
    if (ctx)
        memset((void *)ctx, 0, sizeof(*ctx));
    else
        return cfx_fail(err, CFX_ENOMEM, "no memory for a context");
    cfx_heap_init(&ctx->heap, from, 0);
    ctx->heap.source = source;
    ctx->parent = of->parent;
    ctx->threads = of->threads;
    ctx->cpu = of->cpu;
    ctx->features = of->features;
    ctx->caches = of->caches;
    ctx->blas = of->blas;
    cfx_fork_add(ctx);
    return CFX_OK;
}

void cfx_context__beside_free(cfx_context *ctx)
{
    if (!ctx)
        return;
    cfx_fork_remove(ctx);
    cfx_heap_release(&ctx->heap);
    cfx_aligned_free(ctx->parent, ctx, sizeof(*ctx), _Alignof(cfx_context));
}

/* The index of a slot, or the first free one. */
static int find_slot(const cfx_context *ctx, const cfx_slot *slot)
{
    const cfx_slot *at;
    int i = -1;
    do {
        assert(i + 1 < CFX_SLOTS);
        at = atomic_load_explicit(&ctx->slot[++i].of, memory_order_acquire);
    } while (at && at != slot);
    return i;
}

void *cfx_context_slot(cfx_context *ctx, const cfx_slot *slot)
{
    ctx = ctx->parent;
    int i = find_slot(ctx, slot);
    if (CFX_LIKELY(atomic_load(&ctx->slot[i].of)))
        return ctx->slot[i].p;
    void *mine = slot->make(ctx);
    if (!mine)
        return NULL;
    cfx_spin_lock(&ctx->slot_lock);
    i = find_slot(ctx, slot);
    bool first = !atomic_load(&ctx->slot[i].of);
    if (first) {
        ctx->slot[i].p = mine;
        atomic_store_explicit(&ctx->slot[i].of, slot, memory_order_release);
    }
    cfx_spin_unlock(&ctx->slot_lock);
    if (!first)
        slot->free(ctx, mine);
    return ctx->slot[i].p;
}

cfx_status cfx_check_abi(const cfx_abi *abi, size_t size, const char *type,
                         cfx_error *err)
{
    if (abi->size == size && abi->version == CFX_ABI_VERSION)
        return CFX_OK;
    return cfx_fail(
        err, CFX_EINVAL,
        "a %s is of ABI %u with %u bytes, this library has ABI %d with %zu: compile it with this library's headers, and with .abi = CFX_ABI(%s)",
        type, abi->version, abi->size, CFX_ABI_VERSION, size, type);
}

int cfx_context_threads(const cfx_context *ctx)
{
    return ctx->threads;
}

cfx_cpu cfx_context_cpu(const cfx_context *ctx)
{
    return ctx->cpu;
}

/* ---- Messages ---- */

void cfx_message(cfx_context *ctx, cfx_level level, const char *fmt, ...)
{
    ctx = ctx->parent;
    if (!ctx->message)
        return;
    cfx_error line = {0};
    va_list ap;
    va_start(ap, fmt);
    cfx_vfail(&line, CFX_EINVAL, fmt, ap);
    va_end(ap);
    ctx->message(ctx->message_user, level, line.text);
}

void cfx_context_set_strict_devices(cfx_context *ctx, bool strict)
{
    ctx->parent->strict_devices = strict;
}

void cfx_context_set_any_shape(cfx_context *ctx, bool any)
{
    ctx->parent->any_shape = any;
}

bool cfx_context_any_shape(const cfx_context *ctx)
{
    return ctx->parent->any_shape;
}

/* ---- Random numbers ---- */

void cfx_context_seed(cfx_context *ctx, uint64_t seed)
{
    ctx = ctx->parent;
    cfx_spin_lock(&ctx->random_lock);
    ctx->random_key = cfx_mix64(seed + UINT64_C(0x9E3779B97F4A7C15));
    ctx->random_counter = 0;
    cfx_spin_unlock(&ctx->random_lock);
}

cfx_random cfx_context_random(cfx_context *ctx, uint64_t count)
{
    ctx = ctx->parent;
    cfx_spin_lock(&ctx->random_lock);
    cfx_random r = {ctx->random_key, ctx->random_counter};
    ctx->random_counter += count;
    cfx_spin_unlock(&ctx->random_lock);
    /* Bit i of this key is bit counter + i of the context's. */
    r.key += r.counter * UINT64_C(0x9E3779B97F4A7C15);
    return r;
}
