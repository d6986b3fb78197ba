/*
 * introsort.h -- sorting and selecting as PyTorch's CPU does, which leaves
 * equal elements in an order of its own.
 */
#ifndef CFX_KERNEL_INTROSORT_H
#define CFX_KERNEL_INTROSORT_H

#include <stdint.h>

/* What an element is sorted by, and where it was. */
typedef struct cfx_sort_pair {
    uint64_t key;
    int64_t index;
} cfx_sort_pair;

/* Sort n pairs by their keys. */
void cfx_introsort(cfx_sort_pair *p, int64_t n);

/* Sort the first k of n pairs to the front; 0 < k <= n. */
void cfx_introselect(cfx_sort_pair *p, int64_t k, int64_t n);

#endif
