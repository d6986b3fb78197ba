/*
 * machine_detect -- hardware properties from the operating system.
 *
 * Linux has them in files, x86 processors in cpuid. If no cache is known, the
 * smallest usual ones are assumed, so that the measured working sets fit.
 */
#include "shapeprop/machine/machine_impl.h"

#include <stdio.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/context_impl.h"

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

    cfx_read_line(name, CFX_MACHINE_TEXT, "/proc/device-tree/model");
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

/* True if a processor is the first of ours in its core. */
static bool leads_core(int cpu)
{
    char path[128], list[512];

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    cfx_read_line(list, sizeof(list), path);
    return cfx_cpu_count_in(list, cpu + 1) == 1;
}

static void order_processors(cfx_machine_hardware *hw)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = cfx_cpu_next(-1); i >= 0; i = cfx_cpu_next(i)) {
            if (leads_core(i) == !turn &&
                hw->nprocessors < CFX_MACHINE_PROCESSORS)
                hw->processor[hw->nprocessors++] = (short)i;
        }
    }
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
    *hw = (cfx_machine_hardware){.cores = cfx_cpu_count()};
    processor_name(hw->name);
    tidy(hw->name);
    if (!hw->name[0])
        strcpy(hw->name, "unknown processor");
    order_processors(hw);
    hw->ncaches = cfx_cpu_caches(hw->cache, hw->processor[0]);
    if (!hw->ncaches) {
        hw->cache[hw->ncaches++] = (cfx_cache){1, 32 << 10, 1};
        hw->cache[hw->ncaches++] = (cfx_cache){2, 512 << 10, hw->cores};
    }
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && page > 0)
        hw->memory = (int64_t)pages * page;
    hw->available = available_memory(hw->memory);
}
