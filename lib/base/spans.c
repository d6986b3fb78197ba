/*
 * spans -- free pieces of mapped memory: best fit, joined with their
 * neighbours. A run holds a few dozen large blocks, so lists are searched.
 */
#include "base/spans.h"

static char *end_of(const cfx_span *s)
{
    return (char *)(size_t)s + s->size;
}

void *cfx_spans_take(cfx_spans *s, size_t size)
{
    cfx_span **best = NULL;

    for (cfx_span **at = &s->first; *at; at = &(*at)->next)
        if ((*at)->size >= size && (!best || (*at)->size < (*best)->size))
            best = at;
    if (!best)
        return NULL;
    cfx_span *p = *best;
    if (p->size == size) {
        *best = p->next;
    } else {
        cfx_span *rest = (cfx_span *)(void *)((char *)p + size);
        rest->next = p->next;
        rest->size = p->size - size;
        *best = rest;
    }
    return p;
}

void cfx_spans_give(cfx_spans *s, void *p, size_t size)
{
    cfx_span **at = &s->first, *before = NULL, *piece = p;

    while (*at && (char *)*at < (char *)p) {
        before = *at;
        at = &before->next;
    }
    piece->next = *at;
    piece->size = size;
    if (piece->next && end_of(piece) == (char *)piece->next) {
        piece->size += piece->next->size;
        piece->next = piece->next->next;
    }
    if (before && end_of(before) == (char *)piece) {
        before->size += piece->size;
        before->next = piece->next;
    } else {
        *at = piece;
    }
}

void *cfx_spans_cut(cfx_spans *s, size_t *size)
{
    cfx_span **largest = &s->first;

    for (cfx_span **at = &s->first; *at; at = &(*at)->next)
        if ((*at)->size > (*largest)->size)
            largest = at;
    if (!*largest)
        return NULL;
    if (*size > (*largest)->size)
        *size = (*largest)->size;
    char *p = end_of(*largest) - *size;
    (*largest)->size -= *size;
    if (!(*largest)->size)
        *largest = (*largest)->next;
    return p;
}
