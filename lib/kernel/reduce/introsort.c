/*
 * introsort -- sorting and selecting, with ties as PyTorch's CPU breaks them.
 *
 * PyTorch calls std::sort, std::partial_sort and std::nth_element of GNU's
 * libstdc++. The order of equal elements follows from their steps, which are
 * these: quicksort by the median of three, heapsort beyond a depth, insertion
 * sort at the end. Which of two equal boxes a detection model keeps depends on
 * it.
 */
#include "kernel/reduce/introsort.h"

#include <stdbool.h>

enum {
    FEW = 16,  /* sorted by insertion */
    BLOCK = 64 /* compared with the pivot before any are swapped */
};

typedef cfx_sort_pair pair;

static bool is_before(const pair *a, const pair *b)
{
    return a->key < b->key;
}

static void swap(pair *a, pair *b)
{
    pair t = *a;
    *a = *b;
    *b = t;
}

/* ---- Heaps: no pair is before the one at (i - 1) / 2 ---- */

static void push(pair *p, int64_t hole, int64_t top, pair v)
{
    int64_t parent = (hole - 1) / 2;

    while (hole > top && is_before(&p[parent], &v)) {
        p[hole] = p[parent];
        hole = parent;
        parent = (hole - 1) / 2;
    }
    p[hole] = v;
}

/* Move the hole to the bottom, then the pair up from there. */
static void adjust(pair *p, int64_t hole, int64_t n, pair v)
{
    int64_t top = hole, child = hole;

    while (child < (n - 1) / 2) {
        child = 2 * (child + 1);
        if (is_before(&p[child], &p[child - 1]))
            child--;
        p[hole] = p[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * child + 1;
        p[hole] = p[child];
        hole = child;
    }
    push(p, hole, top, v);
}

/* The first k of n in a heap at the front. */
static void select_heap(pair *p, int64_t k, int64_t n)
{
    for (int64_t i = (k - 2) / 2; k > 1 && i >= 0; i--)
        adjust(p, i, k, p[i]);
    for (int64_t i = k; i < n; i++)
        if (is_before(&p[i], &p[0])) {
            pair v = p[i];
            p[i] = p[0];
            adjust(p, 0, k, v);
        }
}

static void sort_heap(pair *p, int64_t n)
{
    while (n-- > 1) {
        pair v = p[n];
        p[n] = p[0];
        adjust(p, 0, n, v);
    }
}

/* ---- Parts ---- */

static void move_median(pair *to, pair *a, pair *b, pair *c)
{
    if (is_before(a, b))
        swap(to, is_before(b, c) ? b : is_before(a, c) ? c : a);
    else
        swap(to, is_before(a, c) ? a : is_before(b, c) ? c : b);
}

/* Those of a block that are to be swapped, by their distance from its end. */
typedef struct misplaced {
    uint8_t at[BLOCK];
    int from, count;
} misplaced;

/* Split blocks from both ends, as split() does one pair after the other, but
 * without jumps that depend on comparisons. */
static void split_blocks(pair *p, uint64_t pivot, int64_t *first,
                         int64_t *last)
{
    misplaced a = {.count = 0}, b = {.count = 0};
    int64_t begin = *first, end = *last;

    while (end - begin >= 2 * BLOCK) {
        if (!a.count)
            for (int i = a.from = 0; i < BLOCK; i++) {
                a.at[a.count] = (uint8_t)i;
                a.count += p[begin + i].key >= pivot;
            }
        if (!b.count)
            for (int i = b.from = 0; i < BLOCK; i++) {
                b.at[b.count] = (uint8_t)i;
                b.count += p[end - 1 - i].key <= pivot;
            }
        int n = a.count < b.count ? a.count : b.count;
        for (int i = 0; i < n; i++)
            swap(&p[begin + a.at[a.from++]], &p[end - 1 - b.at[b.from++]]);
        a.count -= n;
        b.count -= n;
        begin += a.count ? 0 : BLOCK;
        end -= b.count ? 0 : BLOCK;
    }
    *first = a.count ? begin + a.at[a.from] : begin;
    *last = b.count ? end - b.at[b.from] : end;
}

/* Part first..last by a median of three; returns where the second part begins.
 */
static int64_t split(pair *p, int64_t first, int64_t last)
{
    pair *pivot = &p[first];

    move_median(pivot, &p[first + 1], &p[first + (last - first) / 2],
                &p[last - 1]);
    first++;
    split_blocks(p, pivot->key, &first, &last);
    for (;; first++) {
        while (is_before(&p[first], pivot))
            first++;
        last--;
        while (is_before(pivot, &p[last]))
            last--;
        if (first >= last)
            return first;
        swap(&p[first], &p[last]);
    }
}

static void insert_all(pair *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        pair v = p[i];
        int64_t k = i;

        for (; k > 0 && is_before(&v, &p[k - 1]); k--)
            p[k] = p[k - 1];
        p[k] = v;
    }
}

/* Splits that are allowed before a heap takes over. */
static int depth_of(int64_t n)
{
    int depth = 0;

    for (; n > 1; n >>= 1)
        depth += 2;
    return depth;
}

static void split_all(pair *p, int64_t first, int64_t last, int depth)
{
    while (last - first > FEW) {
        if (depth-- == 0) {
            select_heap(p + first, last - first, last - first);
            sort_heap(p + first, last - first);
            return;
        }
        int64_t cut = split(p, first, last);
        split_all(p, cut, last, depth);
        last = cut;
    }
}

void cfx_introsort(cfx_sort_pair *p, int64_t n)
{
    split_all(p, 0, n, depth_of(n));
    insert_all(p, n);
}

/* Place the pair that is number nth in order, those before it to its left. */
static void place_nth(pair *p, int64_t nth, int64_t n)
{
    int64_t first = 0, last = n;

    for (int depth = depth_of(n); last - first > 3; depth--) {
        if (depth == 0) {
            select_heap(p + first, nth + 1 - first, last - first);
            swap(&p[first], &p[nth]);
            return;
        }
        int64_t cut = split(p, first, last);
        if (cut <= nth)
            first = cut;
        else
            last = cut;
    }
    insert_all(p + first, last - first);
}

void cfx_introselect(cfx_sort_pair *p, int64_t k, int64_t n)
{
    if (k <= n / 64) {
        select_heap(p, k, n);
        sort_heap(p, k);
    } else {
        place_nth(p, k - 1, n);
        cfx_introsort(p, k - 1);
    }
}
