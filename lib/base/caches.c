/*
 * caches.c -- the data caches of the processor, from the operating system.
 *
 * Linux has them in files; on other systems sysconf knows the sizes.
 */
#define _GNU_SOURCE 1
#include "base/caches.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/context_impl.h"

/* ---- Small files ---- */

void cfx_read_line(char *to, size_t size, const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(to, 1, size - 1, f) : 0;

    if (f)
        fclose(f);
    to[n] = '\0';
    to[strcspn(to, "\n")] = '\0';
}

static void read_cache_file(char *to, size_t size, int cpu, int index,
                            const char *what)
{
    char path[128];

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index,
             what);
    cfx_read_line(to, size, path);
}

/* ---- Processors ---- */

/* The processors that this thread may run on; the first one if unknown. */
static void our_processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof(*set), set))
        CPU_SET(0, set);
}

int cfx_cpu_next(int cpu)
{
    cpu_set_t set;

    our_processors(&set);
    while (++cpu < CPU_SETSIZE)
        if (CPU_ISSET((size_t)cpu, &set))
            return cpu;
    return -1;
}

int cfx_cpu_count_in(const char *list, int end)
{
    cpu_set_t set;
    int n = 0, first, last, used;

    our_processors(&set);
    while (sscanf(list, "%d%n", &first, &used) == 1 && first >= 0) {
        list += used;
        last = first;
        if (*list == '-' && sscanf(list + 1, "%d%n", &last, &used) == 1)
            list += 1 + used;
        for (int i = first; i <= last && i < end && i < CPU_SETSIZE; i++)
            n += CPU_ISSET((size_t)i, &set) != 0;
        list += *list == ',';
    }
    return n ? n : 1;
}

/* ---- Caches ---- */

/* Read a number of bytes such as "32K", and set *end after it; 0 if there is none. */
static int64_t read_size(const char *text, const char **end)
{
    static const char units[] = "KMG";
    long long n;
    int used = 0;

    *end = text;
    if (sscanf(text, "%lld%n", &n, &used) < 1 || n < 1 || n > 1LL << 30)
        return 0;
    *end += used;
    const char *unit = **end ? strchr(units, **end) : NULL;
    if (!unit)
        return n;
    ++*end;
    return n << 10 * (unit - units + 1);
}

/* Append a cache that is larger than the last one. */
static void add_cache(cfx_cache *cache, int *n, cfx_cache c)
{
    if (c.bytes >= 1024 && *n < CFX_CACHE_LEVELS &&
        (*n == 0 ||
         (c.level > cache[*n - 1].level && c.bytes > cache[*n - 1].bytes)))
        cache[(*n)++] = c;
}

/* The files list the caches of a level one after another, from L1. */
static int caches_of_files(cfx_cache *cache, int cpu)
{
    char text[512];
    const char *end;
    int n = 0;

    for (int i = 0; i < 2 * CFX_CACHE_LEVELS; i++) {
        cfx_cache c = {0};
        read_cache_file(text, sizeof(text), cpu, i, "type");
        if (!text[0])
            break;
        if (!strcmp(text, "Instruction"))
            continue;
        read_cache_file(text, sizeof(text), cpu, i, "level");
        c.level = text[0] - '0';
        read_cache_file(text, sizeof(text), cpu, i, "size");
        c.bytes = read_size(text, &end);
        read_cache_file(text, sizeof(text), cpu, i, "shared_cpu_list");
        c.processors = cfx_cpu_count_in(text, CPU_SETSIZE);
        add_cache(cache, &n, c);
    }
    return n;
}

/* Sizes that the C library knows; it does not know who shares a cache. */
static int caches_of_sysconf(cfx_cache *cache)
{
    int n = 0;

#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
    add_cache(cache, &n, (cfx_cache){1, sysconf(_SC_LEVEL1_DCACHE_SIZE), 1});
    add_cache(cache, &n, (cfx_cache){2, sysconf(_SC_LEVEL2_CACHE_SIZE), 1});
    add_cache(cache, &n,
              (cfx_cache){3, sysconf(_SC_LEVEL3_CACHE_SIZE), cfx_cpu_count()});
#else
    (void)cache;
#endif
    return n;
}

int cfx_cpu_caches(cfx_cache cache[CFX_CACHE_LEVELS], int cpu)
{
    int n = caches_of_files(cache, cpu);

    return n ? n : caches_of_sysconf(cache);
}

/* ---- The sizes that kernels expect ---- */

static int64_t within(int64_t bytes, int64_t least, int64_t most)
{
    return bytes < least ? least : bytes > most ? most : bytes;
}

/* Virtual machines report nonsense. */
static cfx_caches limited(cfx_caches c)
{
    return (cfx_caches){within(c.l1, 16 << 10, 256 << 10),
                        within(c.l2, 128 << 10, 16 << 20),
                        within(c.l3, 2 << 20, 256 << 20)};
}

static cfx_caches detect(void)
{
    cfx_cache cache[CFX_CACHE_LEVELS];
    cfx_caches found = {32 << 10, 1 << 20, 32 << 20};
    int n = cfx_cpu_caches(cache, cfx_cpu_next(-1));

    for (int i = 0; i < n; i++) {
        /* Processors that share L1 are one core. */
        int64_t own = cache[i].bytes * cache[0].processors /
                      cache[i].processors;
        if (cache[i].level == 1)
            found.l1 = cache[i].bytes;
        else if (cache[i].level == 2)
            found.l2 = own;
        else if (cache[i].level == 3)
            found.l3 = cache[i].bytes;
    }
    return limited(found);
}

cfx_caches cfx_detected_caches(void)
{
    static _Atomic int64_t l1, l2, l3; /* l1 is set last */

    if (!l1) {
        cfx_caches found = detect();
        l2 = found.l2;
        l3 = found.l3;
        l1 = found.l1;
    }
    return (cfx_caches){l1, l2, l3};
}

bool cfx_read_caches(cfx_caches *out, const char *text)
{
    int64_t *to[] = {&out->l1, &out->l2, &out->l3};

    for (int i = 0; i < 3; i++, text++) {
        *to[i] = read_size(text, &text);
        if (!*to[i] || *text != (i < 2 ? ',' : '\0'))
            return false;
    }
    *out = limited(*out);
    return true;
}
