/*
 * memory_check.h -- a checker of memory plans that shares nothing with the
 * planner: it puts each block into a map of the arena at its time, takes it out
 * again, and looks whether somebody was there.
 */
#ifndef CFX_MEMORY_CHECK_H
#define CFX_MEMORY_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <cfx/memory_plan.h>

typedef struct memory_check {
    char text[256]; /* what is wrong; empty: nothing */
    long long most; /* bytes in the arena at once, in units of 64 */
    long long live; /* bytes at once, of all that a run makes */
} memory_check;

CFX_INLINE bool is_made_block(const cfx_memory_block *b)
{
    return b->kind == CFX_BLOCK_RESULT || b->kind == CFX_BLOCK_SCRATCH;
}

/* The size of a block in units of 64 bytes, at least 1. */
CFX_INLINE long long units_of(const cfx_memory_block *b)
{
    long long units = (cfx_dim_value(b->bytes) + 63) / 64;
    return units ? units : 1;
}

/* Take (who > 0) or leave (who < 0) the units of a block. */
CFX_INLINE bool mark_units(uint32_t *unit, const cfx_memory_block *b,
                           uint32_t who, bool take)
{
    long long from = b->offset / 64;
    long long to = from + units_of(b);
    for (long long u = from; u < to; u++) {
        if (unit[u] != (take ? 0 : who))
            return false;
        unit[u] = take ? who : 0;
    }
    return true;
}

CFX_INLINE bool check_block(memory_check *c, const cfx_memory_plan *p,
                            size_t i)
{
    const cfx_memory_block *b = cfx_memory_plan_at(p, i);
    const cfx_memory_block *of = b->alias_of < 0 ? NULL
                                                 : cfx_memory_plan_at(
                                                       p, (size_t)b->alias_of);
    const char *wrong = NULL;
    if (b->first > b->last)
        wrong = "ends before it begins";
    else if (of && (of->offset != b->offset || of->alias_of >= 0))
        wrong = "is no alias of its block";
    else if (of && (of->first > b->first || of->last < b->last))
        wrong = "does not live with its block";
    else if (b->leaves && b->offset >= 0)
        wrong = "leaves the run and lies in the arena";
    else if (!of && is_made_block(b) && !b->leaves && !b->from_data &&
             b->offset < 0)
        wrong = "has no place";
    else if (b->offset >= 0 &&
             (b->offset % 64 ||
              b->offset + cfx_dim_value(b->bytes) > cfx_memory_plan_arena(p)))
        wrong = "does not lie well in the arena";
    if (wrong)
        snprintf(c->text, sizeof(c->text), "block %zu %s", i, wrong);
    return !wrong;
}

/* Let what begins at a call begin, and what ends with it end. */
CFX_INLINE bool replay_call(memory_check *c, const cfx_memory_plan *p,
                            uint32_t *unit, uint32_t at)
{
    size_t n = cfx_memory_plan_len(p);
    long long now = 0, live = 0;
    for (uint32_t i = 0; i < n; i++) {
        const cfx_memory_block *b = cfx_memory_plan_at(p, i);
        if (!is_made_block(b) || !cfx_dim_is_int(b->bytes) || b->first > at ||
            b->last < at)
            continue;
        live += cfx_dim_value(b->bytes);
        if (b->offset < 0)
            continue;
        now += units_of(b) * 64;
        if (b->first == at && !mark_units(unit, b, i + 1, true)) {
            snprintf(c->text, sizeof(c->text),
                     "block %u lies where another "
                     "lives at call %u",
                     i, at);
            return false;
        }
    }
    c->most = now > c->most ? now : c->most;
    c->live = live > c->live ? live : c->live;
    for (uint32_t i = 0; i < n; i++) {
        const cfx_memory_block *b = cfx_memory_plan_at(p, i);
        if (is_made_block(b) && b->offset >= 0 && b->last == at &&
            !mark_units(unit, b, i + 1, false)) {
            snprintf(c->text, sizeof(c->text), "block %u was overwritten", i);
            return false;
        }
    }
    return true;
}

CFX_INLINE memory_check check_memory(const cfx_memory_plan *p)
{
    memory_check c = {"", 0, 0};
    long long arena = cfx_memory_plan_arena(p);
    uint32_t *unit = calloc((size_t)arena / 64 + 1, sizeof(*unit));
    bool ok = unit && arena % 64 == 0;
    for (size_t i = 0; ok && i < cfx_memory_plan_len(p); i++)
        ok = check_block(&c, p, i);
    for (uint32_t t = 0; ok && t < cfx_memory_plan_calls(p); t++)
        ok = replay_call(&c, p, unit, t);
    free(unit);
    if (!ok && !*c.text)
        snprintf(c.text, sizeof(c.text), "an arena of %lld bytes", arena);
    else if (ok && (c.most != cfx_memory_plan_bound(p) || arena < c.most))
        snprintf(c.text, sizeof(c.text),
                 "the largest live set has %lld bytes, "
                 "not %lld, and the arena %lld",
                 c.most, (long long)cfx_memory_plan_bound(p), arena);
    else if (ok && c.live != cfx_dim_value(cfx_memory_plan_peak(p, NULL)))
        snprintf(c.text, sizeof(c.text), "%lld bytes live at once, not %lld",
                 c.live,
                 (long long)cfx_dim_value(cfx_memory_plan_peak(p, NULL)));
    return c;
}

#endif
