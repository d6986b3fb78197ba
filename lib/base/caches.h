/*
 * caches.h -- the data caches of the processor, from the operating system.
 */
#ifndef CFX_BASE_CACHES_H
#define CFX_BASE_CACHES_H

#include <cfx/context.h>

typedef struct cfx_cache {
    int level; /* 1: L1 */
    int64_t bytes;
    int processors; /* of ours that share it, at least 1 */
} cfx_cache;

enum { CFX_CACHE_LEVELS = 4 };

/* The caches of the processor of this number, from L1, each larger than the one
 * before it. Returns how many are known. */
int cfx_cpu_caches(cfx_cache cache[CFX_CACHE_LEVELS], int cpu);

/* The first processor after `cpu` that this thread may run on; -1: there is none. */
int cfx_cpu_next(int cpu);

/* How many of the processors before `end` that this thread may run on are in a list
 * such as "0-3,8-11"; at least 1. */
int cfx_cpu_count_in(const char *list, int end);

/* Read the first line of a file as text; empty if it cannot be read. */
void cfx_read_line(char *to, size_t size, const char *path);

/* The bytes that kernels may expect in the caches: of L1 and L2 for each core, of L3
 * for all. The results of kernels do not depend on them. */
typedef struct cfx_caches {
    int64_t l1, l2, l3;
} cfx_caches;

/* Those of this processor, detected once; the usual sizes of levels that are unknown. */
cfx_caches cfx_detected_caches(void);

/* Read sizes such as "32K,1M,32M". */
bool cfx_read_caches(cfx_caches *out, const char *text);

#endif
