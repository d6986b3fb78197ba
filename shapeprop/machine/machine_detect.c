/*
 * machine_detect -- hardware properties from the operating system.
 *
 * Linux has them in files, x86 processors in cpuid; on other systems sysconf
 * knows the sizes. If nothing is known, the smallest usual caches are assumed,
 * so that the measured working sets fit.
 */
#define _GNU_SOURCE 1
#include "shapeprop/machine/machine_impl.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/context_impl.h"

/* ---- Small files ---- */

/* Read the first bytes of a file as text, without a newline at the end; empty
 * if it cannot be read. */
static void read_small(char *to, size_t size, const char *path)
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
    read_small(to, size, path);
}

/* ---- The name ---- */

/* Make printable, without spaces at the ends or repeated ones. */
static void tidy(char *s)
{
    size_t n = 0;

    for (const char *p = s; *p; p++) {
        char c = *p > ' ' && *p < 127 ? *p : ' ';
        if (c != ' ' || (n && s[n - 1] != ' '))
            s[n++] = c;
    }
    while (n && s[n - 1] == ' ')
        n--;
    s[n] = '\0';
}

#if defined(__x86_64__)

static void processor_name(char name[CFX_MACHINE_TEXT])
{
    unsigned max = (unsigned)__get_cpuid_max(0x80000000, NULL);
    unsigned r[12];

    name[0] = '\0';
    if (max < 0x80000004)
        return;
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002 + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2],
                    &r[4 * i + 3]);
    memcpy(name, r, sizeof(r));
    name[sizeof(r)] = '\0';
}

#else

/* Read the line "KEY : VALUE" of /proc/cpuinfo; empty if there is none. */
static void cpuinfo(char *to, size_t size, const char *key)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];
    size_t n = strlen(key);

    to[0] = '\0';
    while (f && !to[0] && fgets(line, sizeof(line), f)) {
        const char *colon = strchr(line, ':');
        if (colon && !strncmp(line, key, n) &&
            strspn(line + n, " \t") == (size_t)(colon - line) - n)
            snprintf(to, size, "%s", colon + 1);
    }
    if (f)
        fclose(f);
    tidy(to);
}

/* Boards have a name; otherwise the processor's model numbers are used. */
static void processor_name(char name[CFX_MACHINE_TEXT])
{
    char maker[32], part[32];

    read_small(name, CFX_MACHINE_TEXT, "/proc/device-tree/model");
    if (!name[0])
        cpuinfo(name, CFX_MACHINE_TEXT, "model name");
    if (name[0])
        return;
    cpuinfo(maker, sizeof(maker), "CPU implementer");
    cpuinfo(part, sizeof(part), "CPU part");
    if (part[0])
        snprintf(name, CFX_MACHINE_TEXT, "processor of maker %s, part %s",
                 maker, part);
}

#endif

/* ---- Processors ---- */

static bool is_in(int cpu, const cpu_set_t *set)
{
    return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, set);
}

/* The processors that this process may run on; the first one if unknown. */
static void our_processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof(*set), set))
        CPU_SET(0, set);
}

/* Count the processors of the set in a list such as "0-3,8-11". */
static int count_shared(const char *list, const cpu_set_t *set)
{
    int n = 0, first, last, used;

    while (sscanf(list, "%d%n", &first, &used) == 1) {
        list += used;
        last = first;
        if (*list == '-' && sscanf(list + 1, "%d%n", &last, &used) == 1)
            list += 1 + used;
        for (int i = first; i <= last && i < CPU_SETSIZE; i++)
            n += is_in(i, set);
        list += *list == ',';
    }
    return n ? n : 1;
}

/* True if a processor is the first of ours in its core. */
static bool leads_core(int cpu, const cpu_set_t *set)
{
    char path[128], list[512];
    cpu_set_t before;

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    read_small(list, sizeof(list), path);
    CPU_ZERO(&before);
    for (int i = 0; i <= cpu; i++) {
        if (is_in(i, set))
            CPU_SET((size_t)i, &before);
    }
    return count_shared(list, &before) == 1;
}

static void order_processors(cfx_machine_hardware *hw, const cpu_set_t *set)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (is_in(i, set) && leads_core(i, set) == !turn &&
                hw->nprocessors < CFX_MACHINE_PROCESSORS)
                hw->processor[hw->nprocessors++] = (short)i;
        }
    }
}

/* ---- Caches ---- */

static int64_t size_of(const char *text)
{
    long long n;
    char unit = ' ';

    if (sscanf(text, "%lld%c", &n, &unit) < 1 || n < 1 || n > 1LL << 40)
        return 0;
    return (int64_t)n << (unit == 'K'   ? 10
                          : unit == 'M' ? 20
                          : unit == 'G' ? 30
                                        : 0);
}

/* Keep the list sorted, with each cache larger than the one below it. */
static void add_cache(cfx_machine_hardware *hw, cfx_machine_cache c)
{
    const cfx_machine_cache *last = hw->ncaches ? &hw->cache[hw->ncaches - 1]
                                                : NULL;

    if (c.bytes < 1024 || hw->ncaches == CFX_MACHINE_CACHES ||
        (last && (c.level <= last->level || c.bytes <= last->bytes)))
        return;
    hw->cache[hw->ncaches++] = c;
}

static void caches_of_files(cfx_machine_hardware *hw, const cpu_set_t *set)
{
    int cpu = hw->processor[0];
    char text[512];

    for (int level = 1; level <= CFX_MACHINE_CACHES; level++) {
        for (int i = 0; i < 2 * CFX_MACHINE_CACHES; i++) {
            cfx_machine_cache c = {.level = level};
            read_cache_file(text, sizeof(text), cpu, i, "level");
            if (text[0] != '0' + level || text[1])
                continue;
            read_cache_file(text, sizeof(text), cpu, i, "type");
            if (!strcmp(text, "Instruction"))
                continue;
            read_cache_file(text, sizeof(text), cpu, i, "size");
            c.bytes = size_of(text);
            read_cache_file(text, sizeof(text), cpu, i, "shared_cpu_list");
            c.processors = count_shared(text, set);
            add_cache(hw, c);
        }
    }
}

/* Sizes that the C library knows; it does not know who shares a cache. */
static void caches_of_sysconf(cfx_machine_hardware *hw)
{
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
    add_cache(hw, (cfx_machine_cache){1, sysconf(_SC_LEVEL1_DCACHE_SIZE), 1});
    add_cache(hw, (cfx_machine_cache){2, sysconf(_SC_LEVEL2_CACHE_SIZE), 1});
    add_cache(
        hw, (cfx_machine_cache){3, sysconf(_SC_LEVEL3_CACHE_SIZE), hw->cores});
#else
    (void)hw;
#endif
}

/* ---- Memory ---- */

/* Return the number after a word at the beginning of a line; 0 if there is
 * none. The word may be empty. */
static int64_t number_in(const char *path, const char *word)
{
    FILE *f = fopen(path, "r");
    char line[256];
    long long n = 0;
    size_t len = strlen(word);

    while (f && !n && fgets(line, sizeof(line), f)) {
        if (!strncmp(line, word, len) && sscanf(line + len, "%lld", &n) != 1)
            n = 0;
    }
    if (f)
        fclose(f);
    return n > 0 ? n : 0;
}

/* Return the free memory within the limit of a container. */
static int64_t available_memory(int64_t all)
{
    int64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    int64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
    int64_t used = number_in("/sys/fs/cgroup/memory.current", "");
    int64_t available = kilobytes && kilobytes < all >> 10 ? kilobytes << 10
                                                           : all;

    if (limit && limit - used < available)
        available = limit > used ? limit - used : 0;
    return available;
}

void cfx_machine__detect(cfx_machine_hardware *hw)
{
    cpu_set_t set;

    *hw = (cfx_machine_hardware){.cores = cfx_cpu_count()};
    processor_name(hw->name);
    tidy(hw->name);
    if (!hw->name[0])
        strcpy(hw->name, "unknown processor");
    our_processors(&set);
    order_processors(hw, &set);
    caches_of_files(hw, &set);
    if (!hw->ncaches)
        caches_of_sysconf(hw);
    if (!hw->ncaches) {
        add_cache(hw, (cfx_machine_cache){1, 32 << 10, 1});
        add_cache(hw, (cfx_machine_cache){2, 512 << 10, hw->cores});
    }
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && page > 0)
        hw->memory = (int64_t)pages * page;
    hw->available = available_memory(hw->memory);
}
